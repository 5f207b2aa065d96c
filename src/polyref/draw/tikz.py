"""Write a figure as a TeX document that draws it with TikZ.

In:   a figure and a theme.
Out:  a document for pdflatex; for scripts that it has no letters for, for lualatex or xelatex.
Not:  where things are (layout.py, figure.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from polyref.draw.colours import Theme, letter
from polyref.draw.figure import Figure, Panel
from polyref.draw.layout import BADGE, FONT, Badge, Box, Station, Stretch, strokes

_SCALE = 0.75  # TeX's letters are smaller than a screen's
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "-": "{-}",  # or two of them become a dash
    "'": "{'}",
    "`": "{`}",
}
_HEAD = r"""\documentclass[tikz,border=0pt]{standalone}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \usepackage{textcomp}
\else
  \usepackage{fontspec}
\fi
\renewcommand{\familydefault}{\sfdefault}
"""


def as_tikz(figure: Figure, theme: Theme) -> str:
    """The document."""
    colours = {"paper": theme.paper, "ink": theme.ink, "faint": theme.faint, "rule": theme.rule, "mark": theme.marker}
    colours |= {f"line{n}": colour for n, colour in enumerate(theme.lines)}
    colours |= {f"on{n}": theme.on_line(n) for n in range(len(theme.lines))}
    parts = [_HEAD]
    parts += [rf"\definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}" for name, colour in colours.items()]
    parts += [r"\begin{document}", rf"\begin{{tikzpicture}}[x={_SCALE}bp,y=-{_SCALE}bp,inner sep=0pt]"]
    parts.append(rf"\fill[paper] (0,0) rectangle ({figure.width:.1f},{figure.height:.1f});")
    parts += [rf"\draw[rule] (26,{y:.1f}) -- ({figure.width - 26:.1f},{y:.1f});" for y in figure.rules]
    parts += [rf"\fill[mark,rounded corners={5 * _SCALE}bp] {_rectangle(box)};" for box in figure.markers]
    for panel in figure.panels:
        parts += [rf"\begin{{scope}}[shift={{({panel.x:.1f},{panel.y:.1f})}}]", *_panel(panel, theme), r"\end{scope}"]
    parts += [_badge(badge, theme) for badge in figure.badges]
    for text in figure.texts:
        tail = rf"\hspace{{0.6em}}\normalfont\color{{faint}}{in_tex(text.tail)}" if text.tail else ""
        content = (r"\bfseries " if text.bold else "") + in_tex(text.text) + tail
        parts.append(_node(text.x, text.y, "base west", text.size, text.tone, content))
    return "\n".join([*parts, r"\end{tikzpicture}", r"\end{document}"]) + "\n"


def in_tex(text: str) -> str:
    """A text whose special characters TeX prints as they are."""
    return "".join(_SPECIAL.get(c, c if c >= " " else "?") for c in text)


def _panel(panel: Panel, theme: Theme) -> Iterator[str]:
    drawn = panel.map
    edges = set(pairwise(panel.way))
    if edges:
        marked = [stretch for stretch in drawn.stretches if stretch.edge in edges]
        yield rf"\draw[mark,line width={(drawn.pitch + 9) * _SCALE:.1f}bp] {_path(marked)};"
    for reference, stretches in groupby(sorted(drawn.stretches, key=lambda s: s.reference), lambda s: s.reference):
        dashed = ",dash pattern=on 7bp off 2bp" if reference >= len(theme.lines) else ""
        style = f"line{reference % len(theme.lines)},line width={(drawn.pitch - 1.6) * _SCALE:.1f}bp{dashed}"
        yield rf"\draw[{style}] {_path(stretches)};"
    on_way = set(panel.way) | panel.marked
    for station in drawn.stations:
        yield from _station(station, theme, marked=station.node in on_way)
    for badge in drawn.badges:
        yield _badge(badge, theme)


def _path(stretches: Iterable[Stretch]) -> str:
    parts: list[str] = []
    for begins, s in strokes(stretches):
        if begins:
            parts.append(f"({s.x1:.1f},{s.y1:.1f})")
        middle = (s.x1 + s.x2) / 2
        bend = f" .. controls ({middle:.1f},{s.y1:.1f}) and ({middle:.1f},{s.y2:.1f}) .. "
        parts.append(f"{' -- ' if abs(s.y1 - s.y2) < 0.05 else bend}({s.x2:.1f},{s.y2:.1f})")
    return "".join(parts)


def _station(station: Station, theme: Theme, *, marked: bool) -> Iterator[str]:
    box = station.box
    if station.kind == "end":
        yield rf"\fill[ink] {_rectangle(box)};"
        return
    is_word = station.kind == "word"
    alone = is_word and len(station.references) == 1
    colour = f"line{station.references[0] % len(theme.lines)}" if alone else "ink"
    fill = "mark" if marked and is_word else "paper"
    corner = min(box.width, box.height, 25.0) / 2 * _SCALE - 0.1
    style = f"draw={colour},fill={fill},line width={1.8 * _SCALE:.2f}bp,rounded corners={corner:.1f}bp"
    yield rf"\path[{style}] {_rectangle(box)};"
    if is_word:
        content = (r"\bfseries " if marked else "") + in_tex(station.label)
        baseline = box.y + box.height / 2 + 0.35 * FONT
        yield _node(box.x + box.width / 2, baseline, "base", FONT, "ink", content)


def _badge(badge: Badge, theme: Theme) -> str:
    number = badge.reference % len(theme.lines)
    circle = rf"\fill[line{number}] ({badge.x:.1f},{badge.y:.1f}) circle[radius={BADGE * _SCALE:.2f}bp];"
    return circle + _node(badge.x, badge.y + 4, "base", 11, f"on{number}", rf"\bfseries {letter(badge.reference)}")


def _node(x: float, y: float, anchor: str, size: float, colour: str, content: str) -> str:
    font = rf"\fontsize{{{size * _SCALE:.1f}bp}}{{{size * _SCALE:.1f}bp}}\selectfont"
    return rf"\node[anchor={anchor},text={colour},font={font}] at ({x:.1f},{y:.1f}) {{{content}}};"


def _rectangle(box: Box) -> str:
    return f"({box.x:.1f},{box.y:.1f}) rectangle ({box.x + box.width:.1f},{box.y + box.height:.1f})"
