"""Draw how alike the words of two references are, and the way of the alignment through them (Figures 4 and 5).

In:   a comparison of two references.
Out:  SVG: a heat map; the way runs along its cells' edges where a word has no partner, and across a cell at a link.
      Grey bars are pairs that are never linked.
Not:  the alignment (aligned.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from polyref.draw.aligned import Comparison, check_cells
from polyref.draw.style import (
    DARK,
    THEMES,
    Theme,
    ThemeName,
    broken_into_lines,
    letter,
    readable_on,
    shortened,
    text_width,
)
from polyref.draw.svg import MOST_IN_TITLE, svg_badge, svg_head, svg_text, visible, when_dark

CELL = 38.0
_FONT = 13.0
_MARGIN = 24.0
_SHADES = 10
_TITLE = 17.0
_AXIS = 30.0  # for the words beside an axis
_BAR = 100.0  # for the colour bar
_HOW_TO_READ = "A ring is a link. Where the line runs along an edge, a word has no partner."
_LEAST_WRITTEN = 0.1  # below it, the shade says enough


def matrix_style() -> str:
    """What a page needs for matrices of the theme auto."""
    return when_dark(_dark_rules())


def draw_matrix(
    comparison: Comparison, theme_name: ThemeName = "auto", title: str | None = None, *, in_page: bool = False
) -> str:
    """The heat map as one <svg> element without ids; `in_page`: the page has the style of `matrix_style` itself."""
    rows, columns = len(comparison.left), len(comparison.right)
    check_cells(rows, columns)
    theme, caption = THEMES[theme_name], comparison.caption("grey:")
    left_widths, right_widths = (
        [text_width(shortened(word), _FONT) for word in words] for words in (comparison.left, comparison.right)
    )
    left = _MARGIN + _AXIS + max(left_widths) + 8
    # Column labels lean to the right: the last one sticks out.
    lean = max(width * 0.71 - (columns - v - 1) * CELL for v, width in enumerate(right_widths))
    grid = columns * CELL
    written = max(text_width(text, _FONT) for text in (caption, _HOW_TO_READ, _axis(0)))
    width = left + max(grid + max(lean, _BAR), written) + _MARGIN
    headings = broken_into_lines(title, _TITLE * 1.12, width - 2 * _MARGIN) if title else []
    top = _MARGIN + len(headings) * 1.5 * _TITLE + _AXIS + 0.71 * max(right_widths) + 16
    height = top + rows * CELL + 54 + _MARGIN
    description = f"{title or 'Similarity of two references'}. {caption}"
    parts = svg_head(width, height, description, theme_name, {} if in_page else _dark_rules())
    for n, line in enumerate(headings):
        parts.append(svg_text(_MARGIN, _MARGIN + 14 + n * 1.5 * _TITLE, line, _TITLE, "ink", theme.ink, bold=True))
    parts.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    grey_rows, grey_columns = (Counter(place[side] for place in comparison.vetoed) for side in (0, 1))
    for u, word in enumerate(comparison.left):
        at = (u + 0.5) * CELL + 4.5
        parts.append(_label(-8, at, word, theme, ' text-anchor="end"', faint=grey_rows[u] == columns))
    for v, word in enumerate(comparison.right):
        x = (v + 0.5) * CELL + 3
        parts.append(_label(x, -8, word, theme, f' transform="rotate(-45 {x:.1f} -8)"', faint=grey_columns[v] == rows))
    down, across = comparison.pair
    y, x = -0.71 * max(right_widths) - 30, _MARGIN + 9.5 - left
    parts += [svg_badge(9.5, y, 9.5, across, theme), svg_badge(x, rows * CELL - 9.5, 9.5, down, theme)]
    turned = f' transform="rotate(-90 {x + 4.5:.1f} {rows * CELL - 26:.1f})"'
    parts.append(svg_text(26, y + 4.5, _axis(across), _FONT, "faint", theme.faint))
    parts.append(svg_text(x + 4.5, rows * CELL - 26, _axis(down), _FONT, "faint", theme.faint, turned))
    parts += [*_cells(comparison, theme), *_way(comparison, theme), *_values(comparison, theme)]
    if comparison.penalty is not None:
        parts += _colour_bar(grid + 24, theme)
    for n, text in enumerate((caption, _HOW_TO_READ)):
        parts.append(svg_text(0, rows * CELL + 30 + n * 20, text, _FONT, "faint", theme.faint))
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _axis(reference: int) -> str:
    return f"words of reference {letter(reference)}"


def _colour_bar(x: float, theme: Theme) -> Iterator[str]:
    """What the shades stand for, beside the cells."""
    yield svg_text(x, 10, "similarity", 11, "faint", theme.faint)
    for n in range(_SHADES + 1):
        shade = _SHADES - n
        place = f'x="{x:.1f}" y="{18 + n * 12}" width="16" height="12"'
        yield f'<rect class="shade{shade}" {place} fill="{_shade_colour(shade, theme)}"/>'
        if shade % 5 == 0:
            yield svg_text(x + 22, 28 + n * 12, f"{shade / _SHADES:g}", 11, "faint", theme.faint)


def _label(x: float, y: float, word: str, theme: Theme, more: str, *, faint: bool) -> str:
    drawn = shortened(word)
    tail = "" if drawn == word else f"<title>{visible(shortened(word, MOST_IN_TITLE))}</title>"
    name, colour = ("faint", theme.faint) if faint else ("ink", theme.ink)
    return svg_text(x, y, drawn, _FONT, name, colour, more, tail=tail)


def _cells(comparison: Comparison, theme: Theme) -> Iterator[str]:
    """A shade for each pair; pairs that are never linked are grey bars."""
    for u, row in enumerate(comparison.similarity):
        for v, value in enumerate(row):
            if (u, v) in comparison.vetoed:
                continue
            shade = _shade(value)
            yield (
                f'<rect class="shade{shade}" x="{v * CELL + 0.75:.2f}" y="{u * CELL + 0.75:.2f}" '
                f'width="{CELL - 1.5}" height="{CELL - 1.5}" rx="4" fill="{_shade_colour(shade, theme)}"/>'
            )
    for u, v, down, across in _grey_bars(comparison):
        yield (
            f'<rect class="grey" x="{v * CELL + 0.75:.2f}" y="{u * CELL + 0.75:.2f}" '
            f'width="{across * CELL - 1.5}" height="{down * CELL - 1.5}" rx="4" fill="{theme.rule}"/>'
        )


def _grey_bars(comparison: Comparison) -> list[tuple[int, int, int, int]]:
    """Pairs that are never linked, as (row, column, rows, columns): along rows that are mostly so; else downwards."""
    grey = set(comparison.vetoed)
    in_row = Counter(u for u, _ in grey)
    bars = []
    for u in sorted(u for u, count in in_row.items() if 2 * count > len(comparison.right)):
        of_row = [v for v in range(len(comparison.right)) if (u, v) in grey]
        bars += [(u, first, 1, count) for first, count in _runs(of_row)]
        grey -= {(u, v) for v in of_row}
    for v in sorted({v for _, v in grey}):
        bars += [(first, v, count, 1) for first, count in _runs(sorted(u for u, w in grey if w == v))]
    return bars


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Where numbers follow each other: the first one, and how many."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return runs


def _way(comparison: Comparison, theme: Theme) -> Iterator[str]:
    points = " ".join(f"{v * CELL:.1f},{u * CELL:.1f}" for u, v in comparison.path)
    common = 'fill="none" stroke-linejoin="round" stroke-linecap="round"'
    yield f'<polyline class="case" points="{points}" {common} stroke="{theme.paper}" stroke-width="7"/>'
    yield f'<polyline class="line1" points="{points}" {common} stroke="{theme.line(1)}" stroke-width="3.6"/>'
    for u, v in comparison.links:
        x, y = v * CELL + CELL / 2, u * CELL + CELL / 2
        yield (
            f'<circle class="pill line1" cx="{x:.1f}" cy="{y:.1f}" r="{CELL / 2 - 3.5:.1f}" '
            f'fill="{theme.paper}" stroke="{theme.line(1)}" stroke-width="2.4"/>'
        )


def _values(comparison: Comparison, theme: Theme) -> Iterator[str]:
    linked = set(comparison.links)
    for u, row in enumerate(comparison.similarity):
        for v, value in enumerate(row):
            at_link = (u, v) in linked
            if value < _LEAST_WRITTEN or (u, v) in comparison.vetoed:
                continue  # there is nothing to read in it
            written = f"{value:.2f}".replace("0.", ".", 1) if value < 1 else "1"
            shade = _shade(value)
            name, colour = ("ink", theme.ink) if at_link else (f"on-shade{shade}", _on_shade(shade, theme))
            x, y = v * CELL + CELL / 2, u * CELL + CELL / 2 + 4
            yield svg_text(x, y, written, 11, name, colour, ' text-anchor="middle"', bold=at_link)


def _shade(value: float) -> int:
    return round(min(max(value, 0.0), 1.0) * _SHADES)


def _shade_colour(shade: int, theme: Theme) -> str:
    """Between the paper and the first line's colour; nothing at all is still a cell."""
    share = 0.06 + 0.94 * (shade / _SHADES) ** 1.2
    pairs = [(int(theme.paper[n : n + 2], 16), int(theme.line(0)[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(paper + (full - paper) * share):02x}" for paper, full in pairs)


def _on_shade(shade: int, theme: Theme) -> str:
    """The colour of a number on a shade."""
    return readable_on(_shade_colour(shade, theme))


def _dark_rules() -> dict[str, str]:
    rules = {
        ".paper": f"fill:{DARK.paper}",
        ".pill": f"fill:{DARK.paper}",
        ".ink": f"fill:{DARK.ink}",
        ".faint": f"fill:{DARK.faint}",
        ".case": f"stroke:{DARK.paper}",
        ".line1": f"stroke:{DARK.line(1)}",
        ".grey": f"fill:{DARK.rule}",
    }
    for number, colour in enumerate(DARK.lines):
        rules[f".dot{number}"] = f"fill:{colour}"
        rules[f".on{number}"] = f"fill:{DARK.on_line(number)}"
    for shade in range(_SHADES + 1):
        rules[f".shade{shade}"] = f"fill:{_shade_colour(shade, DARK)}"
        rules[f".on-shade{shade}"] = f"fill:{_on_shade(shade, DARK)}"
    return rules
