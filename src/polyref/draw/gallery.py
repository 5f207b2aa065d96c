"""Several lattices on one page, each with its map and some of its sentences.

In:   lattices with a title and the sentences to show.
Out:  HTML that needs nothing from anywhere else.
Not:  one lattice to explore (page.py), which examples and sentences (cli/demo.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyref.draw import ThemeName
from polyref.draw.colours import DARK, LIGHT, THEMES, Theme, letter
from polyref.draw.page import document
from polyref.draw.surfaces import reference_texts
from polyref.draw.svg import visible
from polyref.lattice.parts import Sentence

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice

_STYLE = """
main { max-width: 108rem; margin: 0 auto; }
header p { max-width: 46rem; color: var(--ink); margin: .6rem 0; }
section { border-top: 1px solid var(--rule); margin-top: 2.4rem; padding-top: 1.4rem; }
section h2 { margin: 0; font-size: 1.15rem; }
.from { font-size: .9rem; margin: .1rem 0 1rem; }
.polyref { min-width: 0; }
table { border-spacing: 0; margin-top: .8rem; }
td { padding: .14rem .9rem .14rem 0; vertical-align: top; }
td.score { color: var(--faint); font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
tr.new td { font-weight: 600; }
tr.gold td b { display: inline-block; min-width: 1.55em; border-radius: 1em; text-align: center; font-size: .8em; }
td[dir] { unicode-bidi: isolate; }
"""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One lattice; the first of the sentences is marked in its map."""

    title: str
    note: str  # where it comes from
    lattice: Lattice
    sentences: Sequence[Sentence]


def as_gallery(exhibits: Iterable[Exhibit], title: str, introduction: Sequence[str], theme: ThemeName = "auto") -> str:
    """The page. Each word of a new sentence has the colour of a reference that says it there."""
    body = ["<main>", "<header>", f"<h1>{visible(title)}</h1>"]
    body += [f"<p>{visible(line)}</p>" for line in introduction]
    body.append("</header>")
    for exhibit in exhibits:
        body += _section(exhibit, theme)
    style = _STYLE + _word_colours(THEMES.get(theme, LIGHT))
    if theme == "auto":
        style += f"@media (prefers-color-scheme: dark) {{{_word_colours(DARK)}}}"
    return document(title, [*body, "</main>"], theme, style)


def _section(exhibit: Exhibit, theme: ThemeName) -> list[str]:
    lattice = exhibit.lattice
    highlight = exhibit.sentences[0] if exhibit.sentences else None
    rows = [
        f'<tr class="gold"><td class="score"><b class="badge{number % len(LIGHT.lines)}">{letter(number)}</b></td>'
        f'<td dir="auto" class="said{number % len(LIGHT.lines)}">{visible(text)}</td></tr>'
        for number, text in enumerate(reference_texts(lattice))
    ]
    rows += [
        f'<tr class="new"><td class="score">{sentence.bleu:.1f}</td><td dir="auto">{_in_colours(sentence)}</td></tr>'
        for sentence in exhibit.sentences
    ]
    return [
        "<section>",
        f"<h2>{visible(exhibit.title)}</h2>",
        f'<p class="from">{visible(exhibit.note)}</p>',
        f'<div class="map">{lattice.draw(highlight=highlight, theme=theme, legend=False)}</div>',
        f"<table>{''.join(rows)}</table>",
        "</section>",
    ]


def _in_colours(sentence: Sentence) -> str:
    return "".join(
        f'<span class="said{reference % len(LIGHT.lines)}">{visible(text)}</span>'
        for text, reference in runs_of(sentence)
    )


def runs_of(sentence: Sentence) -> list[tuple[str, int]]:
    """A sentence's text in parts, each with a reference that says it; as few parts as a look ahead by one allows.

    A word stays with the reference of the word before it as long as that goes on; then the one that says most of what
    follows takes over.
    """
    found: list[tuple[str, int]] = []
    current, position, start = -1, 0, 0
    for number, (surface, origins) in enumerate(zip(sentence.surfaces, sentence.origins, strict=True)):
        begin = sentence.text.index(surface, position)
        if current not in origins:
            if current >= 0:
                found.append((sentence.text[start:begin], current))
                start = begin
            current = max(origins, key=lambda reference: (_how_far(sentence, number, reference), -reference))
        position = begin + len(surface)
    return [*found, (sentence.text[start:], current)]


def _how_far(sentence: Sentence, number: int, reference: int) -> int:
    """How many words from this one on the reference says."""
    length = 0
    for origins in sentence.origins[number:]:
        if reference not in origins:
            break
        length += 1
    return length


def _word_colours(theme: Theme) -> str:
    return f":root{{--rule:{theme.rule};}}" + "".join(
        f".said{number}{{color:{colour}}}" for number, colour in enumerate(theme.lines)
    )
