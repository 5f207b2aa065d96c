"""Lattices as HTML pages that need nothing from anywhere else.

In:   one lattice or many, each with a title and the sentences to show; the steps in which one came about; any drawing.
Out:  a page on which a reference or a sentence that is pointed at lights up in its map. With many lattices it has
      contents, a search and filters, and most of them are folded. Steps are shown one at a time, with a slider.
Not:  the map (svg.py), which examples and sentences are shown (cli/lattice.py, cli/demo.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polyref.draw.figure import Figure, Highlight, Panel, caption, check_size, highlighted, linked_nodes, size_of
from polyref.draw.layout import lay_out
from polyref.draw.network import network_of, reference_texts, way_of, word_twice
from polyref.draw.style import DARK, FONTS, LIGHT, THEMES, Theme, ThemeName, letter, runs_leftward, shortened
from polyref.draw.svg import MOST_IN_TITLE, as_svg, dark_style, visible
from polyref.errors import SettingsError
from polyref.lattice import Sentence

if TYPE_CHECKING:
    from polyref.draw.aligned import Step
    from polyref.lattice import Lattice

BEST = 6  # sentences under a map
_OPEN = 8  # of many lattices; the others are folded
_MOST_CHOICES = 60  # of a filter; more are better searched
HOW_TO_READ = (
    "Each coloured line is a reference that a person wrote; words that several share are one station. Any way along "
    "the lines is a sentence. The marked way is one that nobody wrote: a pseudo-reference.",
    "Under each map: the references, and new sentences with their BLEU against them. Each part of a new sentence has "
    "the letter and the colour of a reference that has it there. Point at a line of text to see its way.",
    "A word that stands twice in a map is two stations, since what comes before or after it differs. A white capsule "
    "without a word is a crossing: any line on its left can be left there for any line on its right.",
)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One lattice; the first of the sentences is marked in its map.

    `note`: where it comes from. `facets`: what it can be filtered by; `language` also chooses its font. `failures`:
    texts of sentences that a reader found wanting.
    """

    title: str
    note: str
    lattice: Lattice
    sentences: Sequence[Sentence]
    facets: Mapping[str, str] = field(default_factory=dict)
    failures: frozenset[str] = frozenset()


def sentences_of(lattice: Lattice, highlight: Highlight, best: Sequence[Sentence]) -> list[Sentence]:
    """The sentence to mark, and behind it the best ones."""
    first = highlighted(lattice, highlight)
    return [first, *(one for one in best if one.words != first.words)] if first else list(best)


class Drawn(NamedTuple):
    """What a page needs of an exhibit: the lattice itself may go."""

    title: str
    note: str
    facets: Mapping[str, str]
    body: str


def as_page(drawn: Sequence[Drawn], title: str, theme: ThemeName = "auto") -> str:
    """A page under a title: one lattice, or many, each with its own."""
    how = ["<summary>How to read this</summary>", *(f"<p>{line}</p>" for line in HOW_TO_READ), "</details>"]
    if len(drawn) == 1:
        [one] = drawn
        heading = [f"<h1>{_in_full(title)}</h1>", _note(one)]
        return document(title, ['<div class="one">', *heading, one.body, "</div>", "<details>", *how], theme)
    if any('class="failure"' in one.body for one in drawn):
        how.insert(
            -1, "<p>A failure is a sentence that a reader found wrong: nobody writes so, or it says something else.</p>"
        )
    body = [f"<h1>{_in_full(title)}</h1>", "<details open>", *how]
    choices = _choices([one.facets for one in drawn])
    body += [*_find(choices), '<nav aria-label="Contents">']
    body += [f'<a href="#n{n}">{_in_full(one.title)} {_note(one)}</a>' for n, one in enumerate(drawn)]
    body.append("</nav>")
    for n, one in enumerate(drawn):
        language = one.facets.get("language", "")
        state = f' lang="{language}"' if re.fullmatch("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", language) else ""
        state += " open" if n < _OPEN else ""
        chosen = (texts.index(one.facets[name]) if name in one.facets else "-" for name, texts in choices.items())
        body.append(f'<details class="one" id="n{n}" data-facets="{" ".join(map(str, chosen))}"{state}>')
        body += [f'<summary><h2 dir="auto">{_in_full(one.title)}</h2>{_note(one)}</summary>', one.body, "</details>"]
    return document(title, body, theme)


def _note(one: Drawn) -> str:
    return f'<span class="from" dir="auto">{_in_full(one.note)}</span>' if one.note else ""


def _choices(facets: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """The filters of a page, each with its values: those that tell examples apart."""
    names = dict.fromkeys(name for one in facets for name in one)
    values = {name: sorted({one[name] for one in facets if name in one}) for name in names}
    return {name: texts for name, texts in values.items() if 1 < len(texts) <= _MOST_CHOICES}


def _find(choices: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield '<form class="find" hidden><input type="search" placeholder="Search" aria-label="Search">'
    for name, texts in choices.items():
        options = "".join(f'<option value="{n}">{_in_full(text)}</option>' for n, text in enumerate(texts))
        yield f'<label>{_in_full(name)} <select><option value="">all</option>{options}</select></label>'
    yield '<output></output><button type="button">Open or fold all</button></form>'


def draw_exhibit(exhibit: Exhibit, theme: ThemeName = "auto") -> Drawn:
    """Its map and its texts; one that is too large has no map."""
    lattice = exhibit.lattice
    # Where a language begins at the right, so do its map, which may have to be scrolled, and its texts.
    direction = "rtl" if runs_leftward(reference_texts(lattice)) else "ltr"
    parts = [f"<p>{size_of(lattice)}</p>", f'<div dir="{direction}">']
    ways: list[tuple[int, ...]] = []
    lines: list[list[int]] = []
    try:
        check_size(lattice)
    except SettingsError as error:
        parts.append(f"<p>Not drawn: {visible(str(error))}</p>")
    else:
        network = network_of(lattice)
        lines = network.lines
        ways = [way_of(lattice, network, sentence.words) for sentence in exhibit.sentences]
        drawn = lay_out(network)
        figure = Figure(drawn.width + 8, drawn.height + 16, size_of(lattice), [Panel(4, 8, drawn)])
        parts.append(f'<div class="map">{as_svg(figure, theme, ways=ways)}</div>')
    parts.append("<table><tr><th></th><th>references</th></tr>")
    for number, text in enumerate(reference_texts(lattice)):
        parts.append(_row("reference", number, lines, _badge(number), _in_full(text)))
    if exhibit.sentences:
        parts.append("<tr><th>BLEU</th><th>new sentences</th></tr>")
    for number, sentence in enumerate(exhibit.sentences):
        failure = ' <span class="failure">failure</span>' if sentence.text in exhibit.failures else ""
        parts.append(_row("way", number, ways, f"{sentence.bleu:.1f}", _in_runs(sentence) + failure))
    return Drawn(exhibit.title, exhibit.note, exhibit.facets, "\n".join([*parts, "</table>", "</div>"]))


def _row(kind: str, number: int, ways: Sequence[Sequence[int]], mark: str, text: str) -> str:
    state = ' class="on"' if kind == "way" and ways and not number else ""
    nodes = f' tabindex="0" data-{kind}="{number}" data-nodes="{" ".join(map(str, ways[number]))}"' if ways else ""
    return f'<tr{state}{nodes}><td>{mark}</td><td dir="auto">{text}</td></tr>'


def steps_page(steps: Sequence[Step], highlight: Highlight, theme: ThemeName, title: str | None) -> str:
    """How a lattice came about, one step at a time; the last one marks a sentence."""
    last = steps[-1].lattice
    title = title or f"{len(last.tokens)} references become a lattice"
    direction = "rtl" if runs_leftward(reference_texts(last)) else "ltr"
    body = [f"<h1>{_in_full(title)}</h1>", f'<div dir="{direction}"><table>']
    body += [_row("reference", n, (), _badge(n), _in_full(text)) for n, text in enumerate(reference_texts(last))]
    body.append(
        '<tr><td><span class="linked"></span></td><td>words that are linked in the step</td></tr></table></div>'
    )
    body.append('<form class="stepper" hidden><button type="button" aria-label="Back">◀</button>')
    sentence = highlighted(last, highlight)
    body.append(f'<input type="range" min="0" max="{len(steps) - (sentence is None)}" value="0" aria-label="Step">')
    body.append('<button type="button" aria-label="On">▶</button></form>')
    network = network_of(last)
    for n, step in enumerate(steps):
        network = network_of(step.lattice)
        panel = Panel(4, 8, lay_out(network), marked=linked_nodes(step, network))
        body.append(_figure(f"({chr(ord('a') + n)}) {caption(step)}", panel, theme, direction))
    if sentence is not None:
        way = way_of(last, network, sentence.words)
        said = f"The marked sentence, BLEU {sentence.bleu:.1f}: {sentence.text}"
        body.append(_figure(said, Panel(4, 8, lay_out(network), way), theme, direction))
    if why := word_twice(network):
        body.append(f'<p class="from">{_in_full(why)}</p>')
    return document(title, body, theme)


def _figure(said: str, panel: Panel, theme: ThemeName, direction: str) -> str:
    figure = Figure(panel.map.width + 8, panel.map.height + 16, said, [panel])
    said = f'<figcaption dir="auto">{_in_full(said)}</figcaption>'
    return f'<figure>{said}<div class="map" dir="{direction}">{as_svg(figure, theme, ways=())}</div></figure>'


def picture_page(svg: str, theme: ThemeName, title: str | None) -> str:
    """Any drawing as a page, with nothing to point at."""
    return document(title or "polyref", ['<div class="map wide">', svg, "</div>"], theme)


def _in_full(text: str) -> str:
    """A text with all but enormous words as they are."""
    return visible(" ".join([shortened(word, MOST_IN_TITLE) for word in text.split(" ")]))


def _badge(reference: int) -> str:
    return f'<b class="line{reference % len(LIGHT.lines)}">{letter(reference)}</b>'


def _file(name: str) -> str:
    """A style sheet or script beside this module."""
    return "\n" + Path(__file__).with_name(name).read_text("utf-8")


def document(title: str, body: Iterable[str], theme: ThemeName) -> str:
    """A page in the colours of the drawings."""
    head = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{visible(shortened(title, MOST_IN_TITLE))}</title>",
        f"<style>{page_style(theme)}</style>",
        "<main>",
    ]
    return "\n".join([*head, *body, "</main>", f"<script>{_file('page.js')}</script>", "</html>"]) + "\n"


def page_style(theme: ThemeName) -> str:
    """The style sheet of a page with maps."""
    style = _colours(THEMES[theme])
    if theme == "auto":  # it follows the reader's system
        style += f"@media (prefers-color-scheme: dark) {{{_colours(DARK)}}}" + dark_style()
    return (style + _file("page.css")).replace("FONTS", FONTS)


def _colours(theme: Theme) -> str:
    names = ("paper", "ink", "faint", "rule", "marker")
    scheme = f"color-scheme:{'dark' if theme is DARK else 'light'};"
    rules = ":root{" + scheme + "".join(f"--{name}:{getattr(theme, name)};" for name in names) + "}"
    return rules + "".join(
        f".line{number}{{--line:{theme.line(number)};--on-line:{theme.on_line(number)}}}"
        for number in range(len(theme.lines))
    )


def _in_runs(sentence: Sentence) -> str:
    """A sentence, each part of it underlined in the colour of a reference that says it."""
    return "".join(
        f'<span class="run line{reference % len(LIGHT.lines)}" data-by="{letter(reference)}">{visible(text)}</span>'
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
