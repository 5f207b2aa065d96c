"""Write a lattice for other tools: Graphviz, OpenFst, and whatever reads JSON.

In:   a lattice.
Out:  text. DOT and JSON show the lattice as it is; the FST is the automaton in which each sentence is one path.
Not:  pictures (figure.py), files (save.py).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from polyref.data.jsonl import decimal_text
from polyref.draw.colours import LIGHT
from polyref.draw.surfaces import arc_surfaces, reference_texts

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice

JSON_VERSION = 1
_EPSILON = "<eps>"


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
