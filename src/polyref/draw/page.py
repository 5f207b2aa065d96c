"""Lattices as HTML pages that need nothing from anywhere else.

In:   a lattice, several with a title and the sentences to show, or any drawing.
Out:  a page of one lattice, on which a reference or a sentence that is pointed at lights up; a gallery of several.
Not:  the map (svg.py), which examples and sentences a gallery shows (cli/demo.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from polyref.draw.figure import Figure, Highlight, Panel, check_size, draw_one, highlighted, size_of
from polyref.draw.layout import lay_out
from polyref.draw.network import network_of, reference_texts, way_of
from polyref.draw.style import DARK, FONTS, LIGHT, THEMES, Theme, ThemeName, letter, shortened
from polyref.draw.svg import MOST_IN_TITLE, as_svg, visible
from polyref.lattice import Sentence

if TYPE_CHECKING:
    from polyref.lattice import Lattice

_BEST = 12


def as_page(lattice: Lattice, highlight: Highlight, theme: ThemeName, title: str | None) -> str:
    """The map over its references and its best sentences; the highlighted one is shown at first."""
    check_size(lattice)
    network = network_of(lattice)
    drawn = lay_out(network)
    figure = Figure(drawn.width + 8, drawn.height + 8, size_of(lattice), [Panel(4, 4, drawn)])
    first = highlighted(lattice, highlight)
    best = lattice.best(_BEST)
    sentences = [first, *(s for s in best if s.words != first.words)] if first else best
    ways = [way_of(lattice, network, sentence.words) for sentence in sentences]
    body = [f"<h1>{_in_full(title or 'Lattice')}</h1>", f"<p>{visible(figure.description)}</p>"]
    body += ['<div class="map">', as_svg(figure, theme, ways=ways), "</div>", "<h2>References</h2>", "<ol>"]
    for number, (text, line) in enumerate(zip(reference_texts(lattice), network.lines, strict=True)):
        body.append(_item("reference", number, line, _badge(number), text))
    body += ["</ol>", "<h2>Best new sentences</h2>" if sentences else "", "<ol>"]
    for number, (sentence, way) in enumerate(zip(sentences, ways, strict=True)):
        body.append(_item("way", number, way, f"<i>{sentence.bleu:.1f}</i>", sentence.text))
    return _document(title or "Lattice", [*body, "</ol>", f"<script>{_file('page.js')}</script>"], theme)


def picture_page(svg: str, theme: ThemeName, title: str | None) -> str:
    """Any drawing as a page, with nothing to point at."""
    return _document(title or "Lattice", ['<div class="map">', svg, "</div>"], theme)


def _item(kind: str, number: int, nodes: Iterable[int], mark: str, text: str) -> str:
    shown = " ".join(map(str, nodes))
    return f'<li tabindex="0" data-{kind}="{number}" data-nodes="{shown}">{mark}{_in_full(text)}</li>'


def _in_full(text: str) -> str:
    """A text with all but enormous words as they are."""
    return visible(" ".join([shortened(word, MOST_IN_TITLE) for word in text.split(" ")]))


def _badge(reference: int) -> str:
    return f'<b class="badge{reference % len(LIGHT.lines)}">{letter(reference)}</b>'


def _file(name: str) -> str:
    """A style sheet or script beside this module."""
    return "\n" + Path(__file__).with_name(name).read_text("utf-8")


def _document(title: str, body: Iterable[str], theme: ThemeName, more_style: str = "") -> str:
    """A page in the colours of the drawings."""
    head = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{visible(shortened(title, MOST_IN_TITLE))}</title>",
        f"<style>{_themed(_colours, theme)}{_file('page.css').replace('FONTS', FONTS)}{more_style}</style>",
    ]
    return "\n".join([*head, *body, "</html>"]) + "\n"


def _themed(rules: Callable[[Theme], str], theme: ThemeName) -> str:
    """Rules in a theme's colours; those of auto follow the reader's system."""
    dark = f"@media (prefers-color-scheme: dark) {{{rules(DARK)}}}" if theme == "auto" else ""
    return rules(THEMES[theme]) + dark


def _colours(theme: Theme) -> str:
    named = {"paper": theme.paper, "ink": theme.ink, "faint": theme.faint, "marker": theme.marker}
    rules = ":root{" + "".join(f"--{name}:{colour};" for name, colour in named.items()) + "}"
    return rules + "".join(
        f".badge{number}{{background:{theme.line(number)};color:{theme.on_line(number)}}}"
        for number in range(len(theme.lines))
    )


def _word_colours(theme: Theme) -> str:
    return f":root{{--rule:{theme.rule};}}" + "".join(
        f".said{number}{{color:{colour}}}" for number, colour in enumerate(theme.lines)
    )


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One lattice; the first of the sentences is marked in its map."""

    title: str
    note: str  # where it comes from
    lattice: Lattice
    sentences: Sequence[Sentence]


def as_gallery(exhibits: Iterable[Exhibit], title: str, introduction: Sequence[str]) -> str:
    """A page in the theme auto. Each word of a new sentence has the colour of a reference that says it there."""
    body = ["<main>", "<header>", f"<h1>{visible(title)}</h1>"]
    body += [f"<p>{visible(line)}</p>" for line in introduction]
    body.append("</header>")
    for exhibit in exhibits:
        body += _section(exhibit)
    return _document(title, [*body, "</main>"], "auto", _file("gallery.css") + _themed(_word_colours, "auto"))


def _section(exhibit: Exhibit) -> list[str]:
    lattice = exhibit.lattice
    highlight = exhibit.sentences[0] if exhibit.sentences else None
    rows = [
        f'<tr class="gold"><td class="score">{_badge(number)}</td>'
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
        f'<div class="map">{as_svg(draw_one(lattice, highlight, None, legend=False))}</div>',
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
    """How many words in a row, from this one on, the reference has."""
    return len(list(takewhile(lambda origins: reference in origins, sentence.origins[number:])))
