"""Write a figure as SVG.

In:   a figure and a theme.
Out:  an <svg> element without ids, so that several can stand in one page.
Not:  where things are (layout.py, figure.py), files (save.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from polyref.draw import ThemeName
from polyref.draw.colours import DARK, LIGHT, THEMES, Theme, letter
from polyref.draw.figure import Figure, Panel, Text
from polyref.draw.layout import BADGE, FONT, Badge, Station, Stretch, strokes
from polyref.draw.measure import is_certain, text_width

FONTS = "system-ui, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', sans-serif"


def as_svg(figure: Figure, theme: ThemeName = "auto", *, ways: Sequence[Sequence[int]] = ()) -> str:
    """The figure as one <svg> element. "auto" is light, and dark where the reader's system is set to dark.

    `ways` are sentences that a page can show in the first map: their strokes are there, each with its `data-way`.
    """
    light = THEMES.get(theme, LIGHT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="polyref polyref-{theme}" role="img" '
        f'width="{figure.width:.0f}" height="{figure.height:.0f}" '
        f'viewBox="0 0 {figure.width:.0f} {figure.height:.0f}" font-family={quoteattr(FONTS)}>',
        f"<title>{visible(figure.description)}</title>",
    ]
    if theme == "auto":
        parts.append(f"<style>@media (prefers-color-scheme: dark) {{{_dark_rules()}}}</style>")
    parts.append(f'<rect class="paper" width="100%" height="100%" fill="{light.paper}"/>')
    parts.extend(
        f'<path class="rule" d="M26 {y:.1f}H{figure.width - 26:.1f}" stroke="{light.rule}" stroke-width="1"/>'
        for y in figure.rules
    )
    parts.extend(
        f'<rect class="marker" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="5" fill="{light.marker}"/>'
        for box in figure.markers
    )
    for number, panel in enumerate(figure.panels):
        parts.extend(_panel(panel, light, () if number else ways))
    parts.extend(_badge(badge, light) for badge in figure.badges)
    parts.extend(_text(text, light) for text in figure.texts)
    return "\n".join([*parts, "</svg>"]) + "\n"


def visible(text: str) -> str:
    """A text as XML takes it: escaped, and what XML has no room for replaced."""
    allowed = (c if c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else "�" for c in text)
    return escape("".join(allowed))


def _dark_rules() -> str:
    """The same classes on dark paper."""
    rules = {
        ".paper": f"fill:{DARK.paper}",
        ".ink": f"fill:{DARK.ink}",
        ".faint": f"fill:{DARK.faint}",
        ".rule": f"stroke:{DARK.rule}",
        ".way": f"stroke:{DARK.marker}",
        ".pill": f"fill:{DARK.paper}",
        ".shared": f"stroke:{DARK.ink}",
        ".marker": f"fill:{DARK.marker}",
        ".end": f"fill:{DARK.ink}",
    }
    for number in range(len(DARK.lines)):
        rules[f".line{number}"] = f"stroke:{DARK.line(number)}"
        rules[f".dot{number}"] = f"fill:{DARK.line(number)}"
        rules[f".on{number}"] = f"fill:{DARK.on_line(number)}"
    return dark_style(rules)


def dark_style(rules: Mapping[str, str]) -> str:
    """What classes look like in a drawing that follows the reader's system, where that is dark."""
    return "".join(f".polyref-auto {name}{{{rule}}}" for name, rule in rules.items())


def _panel(panel: Panel, theme: Theme, ways: Sequence[Sequence[int]]) -> Iterator[str]:
    drawn = panel.map
    thick = drawn.pitch - 1.6
    yield f'<g transform="translate({panel.x:.1f} {panel.y:.1f})">'
    if panel.way:
        yield _way_path(panel, panel.way, theme)
    for number, way in enumerate(ways):
        yield _way_path(panel, way, theme, f' data-way="{number}"')
    yield f'<g fill="none" stroke-width="{thick:.1f}" stroke-linejoin="round">'
    for reference in sorted({stretch.reference for stretch in drawn.stretches}):
        path = _path(stretch for stretch in drawn.stretches if stretch.reference == reference)
        dashed = ' stroke-dasharray="9 3"' if reference >= len(theme.lines) else ""
        yield (
            f'<path class="line{reference % len(theme.lines)}" data-reference="{reference}" d="{path}" '
            f'stroke="{theme.line(reference)}"{dashed}/>'
        )
    yield "</g>"
    on_way = set(panel.way)
    for station in drawn.stations:
        yield _station(station, theme, marked=station.node in on_way or station.node in panel.marked)
    for badge in drawn.badges:
        yield _badge(badge, theme)
    yield "</g>"


def _way_path(panel: Panel, way: Iterable[int], theme: Theme, data: str = "") -> str:
    """A broad stroke under the lines that a sentence runs along."""
    edges = set(pairwise(way))
    stretches = [stretch for stretch in panel.map.stretches if stretch.edge in edges]
    return (
        f'<path class="way"{data} d="{_path(stretches)}" fill="none" stroke="{theme.marker}" '
        f'stroke-width="{panel.map.pitch + 9:.1f}" stroke-linejoin="round"/>'
    )


def _path(stretches: Iterable[Stretch]) -> str:
    """Stretches as one path; those that go on from each other are one stroke."""
    parts: list[str] = []
    for begins, s in strokes(stretches):
        if begins:
            parts.append(f"M{s.x1:.1f} {s.y1:.1f}")
        if abs(s.y1 - s.y2) < 0.05:
            parts.append(f"H{s.x2:.1f}")
        else:
            middle = (s.x1 + s.x2) / 2
            parts.append(f"C{middle:.1f} {s.y1:.1f} {middle:.1f} {s.y2:.1f} {s.x2:.1f} {s.y2:.1f}")
    return "".join(parts)


def _station(station: Station, theme: Theme, *, marked: bool) -> str:
    box = station.box
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    if station.kind == "end":
        return f'<rect class="end" {place} rx="1.5" fill="{theme.ink}"/>'
    alone = len(station.references) == 1 and station.kind == "word"
    name, colour = (
        (f"line{station.references[0] % len(theme.lines)}", theme.line(station.references[0]))
        if alone
        else ("shared", theme.ink)
    )
    fill = theme.marker if marked and station.kind == "word" else theme.paper
    classes = f"{'pill' if fill == theme.paper else 'marker'} {name}"
    corner = min(box.width, box.height, 25.0) / 2
    pill = f'<rect class="{classes}" {place} rx="{corner:.1f}" fill="{fill}" stroke="{colour}" stroke-width="1.8"/>'
    if station.kind != "word":
        return pill
    names = ", ".join(letter(reference) for reference in sorted(station.references))
    text = _label(station, theme, bold=marked)
    return f'<g data-node="{station.node}"><title>{visible(station.label)}: {names}</title>{pill}{text}</g>'


def _label(station: Station, theme: Theme, *, bold: bool) -> str:
    box = station.box
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text class="ink" x="{box.x + box.width / 2:.1f}" y="{box.y + box.height / 2 + 0.35 * FONT:.1f}" '
        f'font-size="{FONT:.0f}" text-anchor="middle"{weight}{fixed(station.label, FONT, bold)} '
        f'fill="{theme.ink}">{visible(station.label)}</text>'
    )


def fixed(text: str, size: float, bold: bool) -> str:
    """Where the width is a guess, the reader's font must keep to it."""
    if is_certain(text):
        return ""
    return f' textLength="{text_width(text, size, bold=bold):.1f}" lengthAdjust="spacingAndGlyphs"'


def _badge(badge: Badge, theme: Theme) -> str:
    number = badge.reference % len(theme.lines)
    return (
        f'<g data-reference="{badge.reference}"><circle class="dot{number}" cx="{badge.x:.1f}" cy="{badge.y:.1f}" '
        f'r="{BADGE}" fill="{theme.line(badge.reference)}"/>'
        f'<text class="on{number}" x="{badge.x:.1f}" y="{badge.y + 4:.1f}" font-size="11" font-weight="bold" '
        f'text-anchor="middle" fill="{theme.on_line(badge.reference)}">{letter(badge.reference)}</text></g>'
    )


def _text(text: Text, theme: Theme) -> str:
    colour = theme.ink if text.tone == "ink" else theme.faint
    weight = ' font-weight="bold"' if text.bold else ""
    tail = ""
    if text.tail:
        tail = f'<tspan class="faint" dx="9" font-weight="normal" fill="{theme.faint}">{visible(text.tail)}</tspan>'
    return (
        f'<text class="{text.tone}" x="{text.x:.1f}" y="{text.y:.1f}" font-size="{text.size:.0f}"{weight}'
        f'{fixed(text.text, text.size, text.bold)} fill="{colour}">{visible(text.text)}{tail}</text>'
    )
