"""Draw how alike the words of two references are, and the way of the alignment through them (Figures 4 and 5).

In:   a comparison of two references.
Out:  SVG: a heat map; the way runs along its cells' edges where a word has no partner, and across a cell at a link.
      A crossed-out cell is a pair that is never linked.
Not:  the alignment (align/), writing files whole (save.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from polyref.errors import SettingsError
from polyref.lattice.drawing.colours import DARK, LIGHT, THEMES, Theme, ThemeName, letter
from polyref.lattice.drawing.measure import text_width
from polyref.lattice.drawing.page import picture_page
from polyref.lattice.drawing.png import as_png
from polyref.lattice.drawing.save import check_theme, suffix_of, write
from polyref.lattice.drawing.svg import FONTS, dark_style, fixed, visible

if TYPE_CHECKING:
    from polyref.lattice.comparison import Comparison

MOST_CELLS = 10_000
SUFFIXES = ("svg", "png", "html", "json")
_CELL = 38.0
_FONT = 13.0
_MARGIN = 24.0
_SHADES = 10


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
