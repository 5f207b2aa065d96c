"""Write a figure as SVG, and SVG as PNG.

In:   a figure and a theme.
Out:  an <svg> element without ids, so that several can stand in one page; its parts, for other drawings.
Not:  where things are (layout.py, figure.py), files (__init__.py).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from polyref.draw.figure import MARGIN, Figure, Panel
from polyref.draw.layout import BADGE, FONT, Badge, Map, Station, Stretch, strokes
from polyref.draw.style import (
    DARK,
    FONTS,
    THEMES,
    Theme,
    ThemeName,
    is_certain,
    letter,
    runs_leftward,
    shortened,
    text_width,
)
from polyref.errors import MissingExtraError, OutputError, SettingsError

MOST_IN_TITLE = 1000  # characters of a word that shows when it is pointed at
_MOST_PIXELS = 50_000_000  # 200 MB while it is drawn
_UNSHOWN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufffe\\uffff]")
_SIZE = re.compile(r'^<svg [^>]* width="(\d+)" height="(\d+)"')
_RENDER = """
import sys, resvg_py
sys.stdout.buffer.write(bytes(resvg_py.svg_to_bytes(svg_string=sys.stdin.buffer.read().decode(), zoom=2.0)))
"""


def as_svg(figure: Figure, theme_name: ThemeName = "auto", *, ways: Sequence[Sequence[int]] | None = None) -> str:
    """The figure as one <svg> element. "auto" is light, and dark where the reader's system is set to dark.

    `ways`: for a page, which has the style of `dark_style` itself. They are sentences that it can show in the first
    map: their strokes are there, each with its `data-way`, and the first one is on.
    """
    theme = THEMES[theme_name]
    dark = _dark_rules() if ways is None else {}
    parts = svg_head(figure.width, figure.height, figure.description, theme_name, dark)
    parts += [
        f'<path class="rule" d="M{MARGIN} {y:.1f}H{figure.width - MARGIN:.1f}" stroke="{theme.rule}" stroke-width="1"/>'
        for y in figure.rules
    ]
    parts += [
        f'<rect class="marker" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="5" fill="{theme.marker}"/>'
        for box in figure.markers
    ]
    for number, panel in enumerate(figure.panels):
        parts += _panel(panel, theme, () if number else ways or ())
    parts += [_badge(badge, theme) for badge in figure.badges]
    for text in figure.texts:
        colour = theme.ink if text.tone == "ink" else theme.faint
        written = svg_text(
            text.x, text.y, text.text, text.size, text.tone, colour, bold=text.bold, leftward=text.leftward
        )
        parts.append(written)
    return "\n".join([*parts, "</svg>"]) + "\n"


def as_png(svg: str) -> bytes:
    """The picture with two pixels to a point; resvg draws it, with the fonts of the system.

    It draws in a process of its own: in this one, no signal would be seen until it is done.
    """
    try:
        import resvg_py
    except ImportError:
        raise MissingExtraError(
            'PNG needs resvg-py; install it with: pip install "polyref[png]", or write SVG'
        ) from None
    width, height = (2 * int(size) for size in _SIZE.findall(svg)[0])
    if width * height > _MOST_PIXELS:
        problem = f"PNG has room for {_MOST_PIXELS:,} pixels, and these are {width:,} by {height:,}"
        raise SettingsError(problem, "write svg, or draw fewer references")
    place = {"PYTHONPATH": str(Path(resvg_py.__file__).parent.parent)}
    # -P: nothing is taken from the folder that we are in.
    command = [sys.executable, "-P", "-c", _RENDER]
    done = subprocess.run(command, input=svg.encode(), capture_output=True, env=os.environ | place)
    if done.returncode:
        why = (done.stderr.decode(errors="replace").strip().splitlines() or ["it was ended"])[-1]
        raise OutputError(f"PNG cannot be drawn ({why}); write SVG")
    return done.stdout


def svg_head(width: float, height: float, description: str, theme: ThemeName, dark: Mapping[str, str]) -> list[str]:
    """The opening tag and the paper. `dark`: what classes look like where the theme is auto and the system dark."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="polyref polyref-{theme}" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONTS}">',
        f"<title>{visible(shortened(description, MOST_IN_TITLE))}</title>",
    ]
    if theme == "auto" and dark:
        parts.append(f"<style>{when_dark(dark)}</style>")
    return [*parts, f'<rect class="paper" width="100%" height="100%" fill="{THEMES[theme].paper}"/>']


def dark_style() -> str:
    """What a page needs for maps of the theme auto."""
    return when_dark(_dark_rules())


def when_dark(rules: Mapping[str, str]) -> str:
    written = "".join(f".polyref-auto {name}{{{rule}}}" for name, rule in rules.items())
    return f"@media (prefers-color-scheme: dark) {{{written}}}"


def svg_text(
    x: float,
    y: float,
    text: str,
    size: float,
    css_class: str,
    colour: str,
    more: str = "",
    *,
    bold: bool = False,
    leftward: bool = False,
    tail: str = "",
) -> str:
    """A line of text. Where its width is a guess, the reader's font must keep to it."""
    shown = visible(text)
    if leftward:
        # Characters, not the attribute "direction": renderers that do not know it turn the text as well.
        turn = "\u2067" if runs_leftward([text]) else "\u2066"
        shown, more = f"{turn}{shown}\u2069", more + ' text-anchor="end"'
    if bold:
        more += ' font-weight="bold"'
    if not is_certain(text):
        more += f' textLength="{text_width(text, size, bold=bold):.1f}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text class="{css_class}" x="{x:.1f}" y="{y:.1f}" font-size="{size:.0f}"{more} fill="{colour}">'
        f"{shown}{tail}</text>"
    )


def svg_badge(x: float, y: float, radius: float, reference: int, theme: Theme) -> str:
    """A reference's letter in a disc of its colour."""
    number = reference % len(theme.lines)
    centred = ' font-weight="bold" text-anchor="middle"'
    return (
        f'<circle class="dot{number}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{theme.line(reference)}"/>'
        + svg_text(x, y + 4, letter(reference), 11, f"on{number}", theme.on_line(reference), centred)
    )


def visible(text: str) -> str:
    """A text as XML takes it: escaped. What XML has no room for, and what turns the text around it, is replaced."""
    return escape(_UNSHOWN.sub("�", text), quote=False)


def _dark_rules() -> dict[str, str]:
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
    for number, colour in enumerate(DARK.lines):
        rules[f".line{number}"] = f"stroke:{colour}"
        rules[f".dot{number}"] = f"fill:{colour}"
        rules[f".on{number}"] = f"fill:{DARK.on_line(number)}"
    return rules


def _panel(panel: Panel, theme: Theme, ways: Sequence[Sequence[int]]) -> Iterator[str]:
    drawn = panel.map
    yield f'<g transform="translate({panel.x:.1f} {panel.y:.1f})">'
    if panel.way:
        yield _way_path(panel, panel.way, theme)
    for number, way in enumerate(ways):
        yield _way_path(panel, way, theme, f'"way{"" if number else " on"}" data-way="{number}"')
    first = ways[0] if ways else ()
    yield f'<g fill="none" stroke-width="{drawn.pitch - 1.6:.1f}" stroke-linejoin="round">'
    for reference in sorted({stretch.reference for stretch in drawn.stretches}):
        path = _path(stretch for stretch in drawn.stretches if stretch.reference == reference)
        dashed = ' stroke-dasharray="9 3"' if reference >= len(theme.lines) else ""
        yield (
            f'<path class="line{reference % len(theme.lines)}" data-reference="{reference}" d="{path}" '
            f'stroke="{theme.line(reference)}"{dashed}/>'
        )
    yield "</g>"
    for station in drawn.stations:
        marked = station.node in panel.way or station.node in panel.marked
        yield _station(station, theme, marked=marked, on=station.node in first)
    yield from (_badge(badge, theme) for badge in drawn.badges)
    yield "</g>"


def _way_path(panel: Panel, way: Sequence[int], theme: Theme, named: str = '"way"') -> str:
    """A broad stroke under the lines that a sentence runs along."""
    return (
        f'<path class={named} d="{way_path(panel.map, way)}" fill="none" stroke="{theme.marker}" '
        f'stroke-width="{panel.map.pitch + 9:.1f}" stroke-linejoin="round"/>'
    )


def way_path(drawn: Map, way: Sequence[int]) -> str:
    """The path of a sentence, as the attribute `d` has it."""
    return _path(drawn.along(way))


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


def _station(station: Station, theme: Theme, *, marked: bool, on: bool) -> str:
    """`marked` is drawn so; `on` is what a page can turn off."""
    box = station.box
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    if station.kind == "end":
        return f'<rect class="end" {place} rx="1.5" fill="{theme.ink}"/>'
    is_word = station.kind == "word"
    first = station.references[0]
    name, colour = f"line{first % len(theme.lines)}", theme.line(first)
    if not is_word or len(station.references) > 1:
        name, colour = "shared", theme.ink
    pill, fill = ("marker", theme.marker) if marked and is_word else ("pill", theme.paper)
    corner = min(box.width, box.height, 25.0) / 2
    rim = f'rx="{corner:.1f}" fill="{fill}" stroke="{colour}" stroke-width="1.8"'
    drawn = f'<rect class="{pill} {name}" {place} {rim}/>'
    if not is_word:
        return drawn
    names = ", ".join(letter(reference) for reference in sorted(station.references))
    x, y = box.x + box.width / 2, box.y + box.height / 2 + 0.35 * FONT
    text = svg_text(x, y, shortened(station.label), FONT, "ink", theme.ink, ' text-anchor="middle"', bold=marked)
    title = f"{visible(shortened(station.label, MOST_IN_TITLE))}: {names}"
    state = ' class="on"' if on else ""
    return f'<g{state} data-node="{station.node}"><title>{title}</title>{drawn}{text}</g>'


def _badge(badge: Badge, theme: Theme) -> str:
    disc = svg_badge(badge.x, badge.y, BADGE, badge.reference, theme)
    return f'<g data-reference="{badge.reference}">{disc}</g>'
