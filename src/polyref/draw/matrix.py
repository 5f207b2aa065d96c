"""Two references word by word: how alike their words are, and how they were aligned (Figures 4 and 5).

In:   a lattice, and which two of its references.
Out:  a Comparison: the matrix, the links, the way of the dynamic programme through it; as JSON, as a text table and as
      SVG: a heat map. The way runs along its cells' edges where a word has no partner, and across a cell at a link.
      A crossed-out cell is a pair that is never linked.
Not:  the alignment (align/), writing files whole (save.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from polyref.align import UNIT, Links
from polyref.align.alignment import Table, fill, trace_back
from polyref.draw import ThemeName
from polyref.draw.colours import DARK, LIGHT, THEMES, Theme, letter
from polyref.draw.measure import text_width
from polyref.draw.page import picture_page
from polyref.draw.png import as_png
from polyref.draw.save import check_theme, suffix_of, write
from polyref.draw.steps import similarity_of
from polyref.draw.svg import FONTS, dark_style, fixed, visible
from polyref.errors import SettingsError

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice

JSON_VERSION = 1
VETOED = "×"  # stands for the similarity of words that are never linked
MOST_CELLS = 10_000
SUFFIXES = ("svg", "png", "html", "json")
_CELL = 38.0
_FONT = 13.0
_MARGIN = 24.0
_SHADES = 10


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows are words of the left reference, columns of the right one. Numbers are what they stand for, -1 to 1.

    `path` leads from corner to corner: (u, v) means that u words on the left and v on the right are done. A step in
    both is a link; a step in one is a word without a partner. `penalty` is None where equal words were linked.
    `vetoed` pairs are never linked, whatever their vectors; their similarity is -1.
    """

    pair: tuple[int, int]
    left: tuple[str, ...]
    right: tuple[str, ...]
    similarity: tuple[tuple[float, ...], ...]
    penalty: float | None
    links: Links
    path: tuple[tuple[int, int], ...]
    worth: float
    vetoed: frozenset[tuple[int, int]] = frozenset()

    def as_json(self) -> str:
        content = {
            "format": "polyref.matrix",
            "version": JSON_VERSION,
            "pair": self.pair,
            "left": self.left,
            "right": self.right,
            "similarity": self.similarity,
            "penalty": self.penalty,
            "links": self.links,
            "path": self.path,
            "worth": self.worth,
            "vetoed": sorted(self.vetoed),
        }
        return json.dumps(content, ensure_ascii=False) + "\n"

    def as_table(self) -> str:
        """For a terminal: a row a word on the left, and a star at each link."""
        names = max(map(len, self.left))
        widths = [max(5, len(word)) for word in self.right]
        linked = set(self.links)
        lines = [" " * names + "".join(f"  {word:>{width}} " for word, width in zip(self.right, widths, strict=True))]
        for u, (word, row) in enumerate(zip(self.left, self.similarity, strict=True)):
            cells = (
                f"  {self._cell(u, v, value):>{width}}{'*' if (u, v) in linked else ' '}"
                for v, (value, width) in enumerate(zip(row, widths, strict=True))
            )
            lines.append(f"{word:<{names}}" + "".join(cells))
        return "\n".join(line.rstrip() for line in [*lines, self.caption()]) + "\n"

    def caption(self) -> str:
        """The alignment in one line."""
        links = f"{len(self.links)} link{'' if len(self.links) == 1 else 's'}"
        if self.penalty is None:
            return f"{links} between equal words"
        never = f"; {VETOED} never linked" if self.vetoed else ""
        return f"{links}, worth {self.worth:.2f} over the penalty {self.penalty:g}{never}"

    def _cell(self, u: int, v: int, value: float) -> str:
        if (u, v) in self.vetoed:
            return VETOED
        return ("1" if value else ".") if self.penalty is None else f"{value:.2f}"


def compare(lattice: Lattice, first: int, second: int) -> Comparison:
    """How two gold references, counted from 0, were aligned when the lattice was made."""
    if lattice.aligned is None:
        raise SettingsError("this lattice does not know how it was aligned; make it from references")
    count = len(lattice.tokens)
    for reference in (first, second):
        if not 0 <= reference < count:
            raise SettingsError(f"there is no reference {reference}; they are counted from 0 to {count - 1}")
    same = lattice.numbering.same
    if same[first] == same[second]:
        raise SettingsError(f"references {first} and {second} are the same; choose two that differ")
    if same[first] > same[second]:
        first, second = second, first
    starts = list(accumulate(map(len, lattice.numbering.references), initial=0))
    rows, columns = (slice(starts[same[r]], starts[same[r] + 1]) for r in (first, second))
    units = similarity_of(lattice)[rows, columns].tolist()
    opt = fill(units, lattice.aligned.penalty)
    vetoed: frozenset[tuple[int, int]] = frozenset()
    if lattice.aligned.exclusions is not None:
        left, right = (lattice.numbering.references[same[r]] for r in (first, second))
        vetoed = frozenset((u, v) for u, v in np.argwhere(lattice.aligned.exclusions.between(left, right)).tolist())
    return Comparison(
        (first, second),
        lattice.tokens[first].surfaces,
        lattice.tokens[second].surfaces,
        tuple(tuple(value / UNIT for value in row) for row in units),
        lattice.penalty,
        trace_back(opt),
        _path(opt),
        opt[-1][-1] / UNIT,
        vetoed,
    )


def _path(opt: Table) -> tuple[tuple[int, int], ...]:
    """The way that `trace_back` takes, with the words that it drops, from the first word to the last."""
    u, v = len(opt) - 1, len(opt[0]) - 1
    path = [(u, v)]
    while u or v:
        if v == 0 or (u and opt[u - 1][v] == opt[u][v]):
            u -= 1
        elif u == 0 or opt[u][v - 1] == opt[u][v]:
            v -= 1
        else:
            u, v = u - 1, v - 1
        path.append((u, v))
    return tuple(reversed(path))


def save_matrix(comparison: Comparison, path: str, theme: ThemeName = "auto", title: str | None = None) -> None:
    """Write a comparison as svg, png, html or json, by the suffix of the path."""
    suffix = suffix_of(path, SUFFIXES)
    check_theme(theme)
    if suffix == "json":
        write(path, comparison.as_json())
    elif suffix == "png":
        write(path, as_png(draw_matrix(comparison, "light" if theme == "auto" else theme, title)))
    elif suffix == "html":
        write(path, picture_page(draw_matrix(comparison, theme, title), theme, title))
    else:
        write(path, draw_matrix(comparison, theme, title))


def draw_matrix(comparison: Comparison, theme: ThemeName = "auto", title: str | None = None) -> str:
    """The heat map as one <svg> element without ids."""
    rows, columns = len(comparison.left), len(comparison.right)
    if rows * columns > MOST_CELLS:
        raise SettingsError(f"a matrix of {rows} by {columns} words is too large to be read; write json")
    light = THEMES.get(theme, LIGHT)
    left = _MARGIN + 26 + max(text_width(word, _FONT) for word in comparison.left) + 8
    longest = max(text_width(word, _FONT) for word in comparison.right)
    top = _MARGIN + (30 if title else 0) + 26 + 0.71 * longest + 16
    caption = comparison.caption()
    # Column labels lean to the right: the last one sticks out.
    lean = max(text_width(word, _FONT) * 0.71 - (columns - v - 1) * _CELL for v, word in enumerate(comparison.right))
    width = max(left + columns * _CELL + max(lean, 0.0), left + text_width(caption, _FONT)) + _MARGIN
    height = top + rows * _CELL + 34 + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="polyref polyref-{theme}" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" font-family={quoteattr(FONTS)}>',
        f"<title>{visible(title or 'Similarity of two references')}. {visible(caption)}</title>",
    ]
    if theme == "auto":
        parts.append(f"<style>@media (prefers-color-scheme: dark) {{{_dark_rules()}}}</style>")
    parts.append(f'<rect class="paper" width="100%" height="100%" fill="{light.paper}"/>')
    if title:
        parts.append(_text(_MARGIN, _MARGIN + 14, title, light, "ink", 17, 'font-weight="bold"'))
    parts.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    parts.extend(_names(comparison, light))
    parts.extend(_cells(comparison, light))
    parts.extend(_way(comparison, light))
    parts.extend(_values(comparison, light))
    parts.append(_text(0, rows * _CELL + 30, caption, light, "faint", _FONT, ""))
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _names(comparison: Comparison, theme: Theme) -> Iterator[str]:
    for u, word in enumerate(comparison.left):
        yield _text(-8, u * _CELL + _CELL / 2 + 4.5, word, theme, "ink", _FONT, 'text-anchor="end"')
    for v, word in enumerate(comparison.right):
        x = v * _CELL + _CELL / 2 + 3
        yield _text(x, -8, word, theme, "ink", _FONT, f'transform="rotate(-45 {x:.1f} -8)"')
    longest = max(text_width(word, _FONT) for word in comparison.left)
    middle = len(comparison.left) * _CELL / 2
    yield _badge(-longest - 22, middle, comparison.pair[0], theme)
    upper = -0.71 * max(text_width(word, _FONT) for word in comparison.right) - 28
    yield _badge(len(comparison.right) * _CELL / 2, upper, comparison.pair[1], theme)


def _badge(x: float, y: float, reference: int, theme: Theme) -> str:
    number = reference % len(theme.lines)
    name = letter(reference) if reference < 26 else str(reference)
    return (
        f'<circle class="dot{number}" cx="{x:.1f}" cy="{y:.1f}" r="9.5" fill="{theme.line(reference)}"/>'
        f'<text class="on{number}" x="{x:.1f}" y="{y + 4:.1f}" font-size="11" font-weight="bold" '
        f'text-anchor="middle" fill="{theme.on_line(reference)}">{name}</text>'
    )


def _cells(comparison: Comparison, theme: Theme) -> Iterator[str]:
    for u, row in enumerate(comparison.similarity):
        for v, value in enumerate(row):
            shade = _shade(value)
            yield (
                f'<rect class="shade{shade}" x="{v * _CELL + 0.75:.2f}" y="{u * _CELL + 0.75:.2f}" '
                f'width="{_CELL - 1.5}" height="{_CELL - 1.5}" rx="4" fill="{shade_colour(shade, theme)}"/>'
            )
    for u, v in sorted(comparison.vetoed):
        x, y, arm = v * _CELL + _CELL / 2, u * _CELL + _CELL / 2, _CELL / 8
        yield (
            f'<path class="cross" d="M{x - arm:.2f} {y - arm:.2f}l{2 * arm:.2f} {2 * arm:.2f}m0 {-2 * arm:.2f}'
            f'l{-2 * arm:.2f} {2 * arm:.2f}" stroke="{theme.faint}" stroke-width="1.6" stroke-linecap="round"/>'
        )


def _way(comparison: Comparison, theme: Theme) -> Iterator[str]:
    points = " ".join(f"{v * _CELL:.1f},{u * _CELL:.1f}" for u, v in comparison.path)
    common = 'fill="none" stroke-linejoin="round" stroke-linecap="round"'
    yield f'<polyline class="case" points="{points}" {common} stroke="{theme.paper}" stroke-width="7"/>'
    yield f'<polyline class="line1" points="{points}" {common} stroke="{theme.line(1)}" stroke-width="3.6"/>'
    for u, v in comparison.links:
        x, y = v * _CELL + _CELL / 2, u * _CELL + _CELL / 2
        yield (
            f'<circle class="pill line1" cx="{x:.1f}" cy="{y:.1f}" r="{_CELL / 2 - 3.5:.1f}" '
            f'fill="{theme.paper}" stroke="{theme.line(1)}" stroke-width="2.4"/>'
        )


def _values(comparison: Comparison, theme: Theme) -> Iterator[str]:
    linked = set(comparison.links)
    for u, row in enumerate(comparison.similarity):
        for v, value in enumerate(row):
            at_link = (u, v) in linked
            if (comparison.penalty is None and not value) or (u, v) in comparison.vetoed:
                continue  # equal words or not: there is nothing to read in the others; what is vetoed is crossed out
            written = f"{value:.2f}".replace("0.", ".", 1) if value < 1 else "1"
            on_paper = at_link or _shade(value) < 6
            name, colour = ("ink", theme.ink) if on_paper else ("on-shade", theme.paper)
            x, y = v * _CELL + _CELL / 2, u * _CELL + _CELL / 2 + 4
            weight = ' font-weight="bold"' if at_link else ""
            yield (
                f'<text class="{name}" x="{x:.1f}" y="{y:.1f}" font-size="11" '
                f'text-anchor="middle"{weight} fill="{colour}">{written}</text>'
            )


def _shade(value: float) -> int:
    return round(min(max(value, 0.0), 1.0) * _SHADES)


def shade_colour(shade: int, theme: Theme) -> str:
    """Between the paper and the first line's colour; nothing at all is still a cell."""
    share = 0.06 + 0.94 * (shade / _SHADES) ** 1.2
    pairs = [(int(theme.paper[n : n + 2], 16), int(theme.line(0)[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(paper + (full - paper) * share):02x}" for paper, full in pairs)


def _text(x: float, y: float, text: str, theme: Theme, tone: str, size: float, more: str) -> str:
    colour = theme.ink if tone == "ink" else theme.faint
    return (
        f'<text class="{tone}" x="{x:.1f}" y="{y:.1f}" font-size="{size:.0f}" {more}{fixed(text, size, False)} '
        f'fill="{colour}">{visible(text)}</text>'
    )


def _dark_rules() -> str:
    rules = {
        ".paper": f"fill:{DARK.paper}",
        ".pill": f"fill:{DARK.paper}",
        ".ink": f"fill:{DARK.ink}",
        ".faint": f"fill:{DARK.faint}",
        ".case": f"stroke:{DARK.paper}",
        ".line1": f"stroke:{DARK.line(1)}",
        ".cross": f"stroke:{DARK.faint}",
        ".on-shade": f"fill:{DARK.paper}",
    }
    for number in range(len(DARK.lines)):
        rules[f".dot{number}"] = f"fill:{DARK.line(number)}"
        rules[f".on{number}"] = f"fill:{DARK.on_line(number)}"
    for shade in range(_SHADES + 1):
        rules[f".shade{shade}"] = f"fill:{shade_colour(shade, DARK)}"
    return dark_style(rules)
