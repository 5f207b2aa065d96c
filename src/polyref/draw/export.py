"""Write a lattice for other programs: TeX, Graphviz, OpenFst, and whatever reads JSON.

In:   a figure and a theme for TeX; a lattice for the others.
Out:  text. TeX is a TikZ document for pdflatex; for scripts that it has no letters for, for lualatex or xelatex. DOT
      and JSON show the lattice as it is; the FST is the automaton in which each sentence is one path.
Not:  where things are (layout.py, figure.py), files (__init__.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from polyref.data.formats.jsonl import decimal_text
from polyref.draw.figure import MARGIN, Figure, Panel
from polyref.draw.layout import BADGE, FONT, Badge, Box, Station, Stretch, strokes
from polyref.draw.network import arc_surfaces, reference_texts
from polyref.draw.style import LIGHT, Theme, letter, shortened

if TYPE_CHECKING:
    from polyref.lattice import Lattice

JSON_VERSION = 1
_EPSILON = "<eps>"
_SCALE = 0.75  # TeX's letters are smaller than a screen's
_SPECIAL = {
    **{character: f"\\{character}" for character in "{}$&#%_"},
    "\\": r"\textbackslash{}",
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
    parts += [rf"\draw[rule] ({MARGIN},{y:.1f}) -- ({figure.width - MARGIN:.1f},{y:.1f});" for y in figure.rules]
    parts += [rf"\fill[mark,rounded corners={5 * _SCALE}bp] {_rectangle(box)};" for box in figure.markers]
    for panel in figure.panels:
        parts += [rf"\begin{{scope}}[shift={{({panel.x:.1f},{panel.y:.1f})}}]", *_panel(panel, theme), r"\end{scope}"]
    parts += [_badge(badge, theme) for badge in figure.badges]
    for text in figure.texts:
        content = (r"\bfseries " if text.bold else "") + in_tex(text.text)
        anchor = "base east" if text.leftward else "base west"
        parts.append(_node(text.x, text.y, anchor, text.size, text.tone, content))
    return "\n".join([*parts, r"\end{tikzpicture}", r"\end{document}"]) + "\n"


def in_tex(text: str) -> str:
    """A text whose special characters TeX prints as they are."""
    return "".join(_SPECIAL.get(c, c if c >= " " else "?") for c in text)


def _panel(panel: Panel, theme: Theme) -> Iterator[str]:
    drawn = panel.map
    if panel.way:
        yield rf"\draw[mark,line width={(drawn.pitch + 9) * _SCALE:.1f}bp] {_path(drawn.along(panel.way))};"
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
        content = (r"\bfseries " if marked else "") + in_tex(shortened(station.label))
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


def as_dot(lattice: Lattice) -> str:
    """For Graphviz: states are circles, and an arc has a stripe in the colour of each reference that says its word."""
    lines = [
        "digraph lattice {",
        "  rankdir=LR;",
        '  node [shape=circle, label="", width=0.18, fixedsize=true, color="#1c1f24"];',
        '  edge [fontname="Helvetica", fontsize=12, arrowsize=0.5];',
        "  0 [style=filled, fillcolor=black];",
    ]
    lines += [f"  {state} [shape=doublecircle];" for state in sorted(lattice.finals)]
    for arc in lattice.arcs:
        references = arc.references[: len(LIGHT.lines)]  # more stripes than colours say nothing
        stripes = ":".join(LIGHT.line(reference) for reference in references)
        lines.append(f'  {arc.source} -> {arc.target} [label="{_in_dot(arc.word)}", color="{stripes}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _in_dot(word: str) -> str:
    # Graphviz reads backslashes as escapes and &...; as characters, inside quotes too.
    escaped = word.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return "".join(character if character >= " " else "�" for character in escaped)


def as_fst(lattice: Lattice) -> tuple[str, str]:
    """The automaton of distinct sentences as OpenFst's text, and its table of symbols.

    Start state 0; each accepted path is one sentence, unless the lattice was too intricate to tell them apart.
    """
    automaton = lattice.automaton
    lines = []
    for state in range(automaton.states):
        for arc in range(automaton.first[state], automaton.first[state + 1]):
            symbol = fst_symbol(lattice.numbering.vocabulary[automaton.word[arc]])
            lines.append(f"{state}\t{automaton.target[arc]}\t{symbol}\t{symbol}")
    lines += [str(state) for state in range(automaton.states) if automaton.final[state]]
    symbols = [_EPSILON, *map(fst_symbol, lattice.numbering.vocabulary)]
    table = [f"{symbol}\t{number}" for number, symbol in enumerate(symbols)]
    return "\n".join(lines) + "\n", "\n".join(table) + "\n"


def fst_symbol(word: str) -> str:
    """A word as a symbol: without spaces, and never the empty symbol's name.

    A space or another character that cannot be seen is written \\u0020, a backslash is doubled, and the word "<eps>"
    gets a backslash before it. So different words stay different.
    """
    written = "".join(
        "\\\\" if character == "\\" else character if character.isprintable() and character != " " else _code(character)
        for character in word
    )
    return "\\" + written if written == _EPSILON else written


def _code(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def as_json(lattice: Lattice) -> str:
    """The lattice with everything that is known about it; docs/drawing.md names the keys."""
    content = {
        "format": "polyref.lattice",
        "version": JSON_VERSION,
        "references": reference_texts(lattice),
        "states": lattice.states,
        "start": 0,
        "finals": sorted(lattice.finals),
        "arcs": [
            {
                "source": arc.source,
                "target": arc.target,
                "word": arc.word,
                "surface": surface,
                "references": arc.references,
            }
            for arc, surface in zip(lattice.arcs, arc_surfaces(lattice), strict=True)
        ],
        # Text, since many readers of JSON keep no more than 53 bits of a number.
        "sentences": decimal_text(lattice.count),
        "new": decimal_text(lattice.new),
        "pieces": lattice.pieces,
        "penalty": lattice.penalty,
        "deterministic": lattice.deterministic,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
