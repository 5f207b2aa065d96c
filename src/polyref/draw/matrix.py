"""Draw how alike the words of two references are, and the way of the alignment through them (Figures 4 and 5).

In:   a comparison of two references.
Out:  SVG: a heat map; the way runs along its cells' edges where a word has no partner, and across a cell at a link.
      A crossed-out cell is a pair that is never linked.
Not:  the alignment (aligned.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from polyref.draw.aligned import Comparison, check_cells
from polyref.draw.style import DARK, THEMES, Theme, ThemeName, shortened, text_width
from polyref.draw.svg import MOST_IN_TITLE, svg_badge, svg_head, svg_text, visible

_CELL = 38.0
_FONT = 13.0
_MARGIN = 24.0
_SHADES = 10


def draw_matrix(comparison: Comparison, theme_name: ThemeName = "auto", title: str | None = None) -> str:
    """The heat map as one <svg> element without ids."""
    rows, columns = len(comparison.left), len(comparison.right)
    check_cells(rows, columns)
    theme, caption = THEMES[theme_name], comparison.caption()
    left_widths, right_widths = (
        [text_width(shortened(word), _FONT) for word in words] for words in (comparison.left, comparison.right)
    )
    left = _MARGIN + 26 + max(left_widths) + 8
    top = _MARGIN + (30 if title else 0) + 26 + 0.71 * max(right_widths) + 16
    # Column labels lean to the right: the last one sticks out.
    lean = max(width * 0.71 - (columns - v - 1) * _CELL for v, width in enumerate(right_widths))
    width = max(left + columns * _CELL + max(lean, 0.0), left + text_width(caption, _FONT)) + _MARGIN
    height = top + rows * _CELL + 34 + _MARGIN
    description = f"{title or 'Similarity of two references'}. {caption}"
    parts = svg_head(width, height, description, theme_name, _dark_rules())
    if title:
        parts.append(svg_text(_MARGIN, _MARGIN + 14, title, 17, "ink", theme.ink, ' font-weight="bold"'))
    parts.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    for u, word in enumerate(comparison.left):
        parts.append(_label(-8, (u + 0.5) * _CELL + 4.5, word, theme, ' text-anchor="end"'))
    for v, word in enumerate(comparison.right):
        x = (v + 0.5) * _CELL + 3
        parts.append(_label(x, -8, word, theme, f' transform="rotate(-45 {x:.1f} -8)"'))
    parts.append(svg_badge(-max(left_widths) - 22, rows * _CELL / 2, 9.5, comparison.pair[0], theme))
    parts.append(svg_badge(columns * _CELL / 2, -0.71 * max(right_widths) - 28, 9.5, comparison.pair[1], theme))
    parts += [*_cells(comparison, theme), *_way(comparison, theme), *_values(comparison, theme)]
    parts.append(svg_text(0, rows * _CELL + 30, caption, _FONT, "faint", theme.faint, " "))
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _label(x: float, y: float, word: str, theme: Theme, more: str) -> str:
    drawn = shortened(word)
    tail = "" if drawn == word else f"<title>{visible(shortened(word, MOST_IN_TITLE))}</title>"
    return svg_text(x, y, drawn, _FONT, "ink", theme.ink, more, tail=tail)


def _cells(comparison: Comparison, theme: Theme) -> Iterator[str]:
    for u, row in enumerate(comparison.similarity):
        for v, value in enumerate(row):
            shade = _shade(value)
            yield (
                f'<rect class="shade{shade}" x="{v * _CELL + 0.75:.2f}" y="{u * _CELL + 0.75:.2f}" '
                f'width="{_CELL - 1.5}" height="{_CELL - 1.5}" rx="4" fill="{_shade_colour(shade, theme)}"/>'
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
            yield svg_text(x, y, written, 11, name, colour, ' text-anchor="middle"', bold=at_link)


def _shade(value: float) -> int:
    return round(min(max(value, 0.0), 1.0) * _SHADES)


def _shade_colour(shade: int, theme: Theme) -> str:
    """Between the paper and the first line's colour; nothing at all is still a cell."""
    share = 0.06 + 0.94 * (shade / _SHADES) ** 1.2
    pairs = [(int(theme.paper[n : n + 2], 16), int(theme.line(0)[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(paper + (full - paper) * share):02x}" for paper, full in pairs)


def _dark_rules() -> dict[str, str]:
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
    for number, colour in enumerate(DARK.lines):
        rules[f".dot{number}"] = f"fill:{colour}"
        rules[f".on{number}"] = f"fill:{DARK.on_line(number)}"
    for shade in range(_SHADES + 1):
        rules[f".shade{shade}"] = f"fill:{_shade_colour(shade, DARK)}"
    return rules
