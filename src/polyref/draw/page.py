"""Lattices as HTML pages that need nothing from anywhere else.

In:   a lattice, several with a title and the sentences to show, or any drawing.
Out:  a page of one lattice, on which a reference or a sentence that is pointed at lights up; a gallery of several.
Not:  the map (svg.py), which examples and sentences a gallery shows (cli/demo.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from polyref.draw.figure import Figure, Highlight, Panel, check_size, draw_one, highlighted, size_of
from polyref.draw.layout import lay_out
from polyref.draw.network import network_of, reference_texts, way_of
from polyref.draw.style import DARK, FONTS, LIGHT, THEMES, Theme, ThemeName, letter
from polyref.draw.svg import as_svg, visible
from polyref.lattice import Sentence

if TYPE_CHECKING:
    from polyref.lattice import Lattice

_BEST = 12
_STYLE = """
body { margin: 2rem; background: var(--paper); color: var(--ink); font: 16px/1.5 %(fonts)s; }
h1 { font-size: 1.3rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p { margin: .2rem 0 1.4rem; color: var(--faint); }
.map { overflow-x: auto; }
.polyref { max-width: 100%%; height: auto; min-width: 46rem; }
ol { list-style: none; margin: 0; padding: 0; }
li { width: fit-content; padding: .12rem .5rem; border-radius: .4rem; cursor: default; }
li b { display: inline-block; min-width: 1.55em; margin-right: .6em; border-radius: 1em; text-align: center;
  font-size: .8em; }
li i { display: inline-block; min-width: 3.4em; font-style: normal; color: var(--faint);
  font-variant-numeric: tabular-nums; }
li.on { background: var(--marker); }
[data-way] { visibility: hidden; }
li[data-way], [data-way].on { visibility: visible; }
.on > .pill { fill: var(--marker) !important; }
.on > text { font-weight: bold; }
.dim [data-reference]:not(.on), .dim [data-node]:not(.on) { opacity: .16; }
svg [data-reference], svg [data-node] { transition: opacity .15s; }
"""
_SCRIPT = """
const svg = document.querySelector('.map svg'), items = [...document.querySelectorAll('li')];
const mark = (selector) => svg.querySelectorAll(selector).forEach((part) => part.classList.add('on'));
function show(item) {
  document.querySelectorAll('.on').forEach((part) => part.classList.remove('on'));
  svg.classList.toggle('dim', item.dataset.reference !== undefined);
  item.classList.add('on');
  item.dataset.nodes.split(' ').forEach((node) => mark(`[data-node="${node}"]`));
  if (item.dataset.way !== undefined) mark(`[data-way="${item.dataset.way}"]`);
  else mark(`[data-reference="${item.dataset.reference}"]`);
}
let kept = items.find((item) => item.dataset.way !== undefined);
items.forEach((item) => {
  item.addEventListener('mouseenter', () => show(item));
  item.addEventListener('focus', () => show(item));
  item.addEventListener('click', () => show(kept = item));
  item.addEventListener('mouseleave', () => kept && show(kept));
});
if (kept) show(kept);
"""
_GALLERY_STYLE = """
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
    body = [f"<h1>{visible(title or 'Lattice')}</h1>", f"<p>{visible(figure.description)}</p>"]
    body += ['<div class="map">', as_svg(figure, theme, ways=ways), "</div>", "<h2>References</h2>", "<ol>"]
    for number, (text, line) in enumerate(zip(reference_texts(lattice), network.lines, strict=True)):
        body.append(_item("reference", number, line, _badge(number), text))
    body += ["</ol>", "<h2>Best new sentences</h2>" if sentences else "", "<ol>"]
    for number, (sentence, way) in enumerate(zip(sentences, ways, strict=True)):
        body.append(_item("way", number, way, f"<i>{sentence.bleu:.1f}</i>", sentence.text))
    return _document(title or "Lattice", [*body, "</ol>", f"<script>{_SCRIPT}</script>"], theme)


def picture_page(svg: str, theme: ThemeName, title: str | None) -> str:
    """Any drawing as a page, with nothing to point at."""
    return _document(title or "Lattice", ['<div class="map">', svg, "</div>"], theme)


def _item(kind: str, number: int, nodes: Iterable[int], mark: str, text: str) -> str:
    shown = " ".join(map(str, nodes))
    return f'<li tabindex="0" data-{kind}="{number}" data-nodes="{shown}">{mark}{visible(text)}</li>'


def _badge(reference: int) -> str:
    return f'<b class="badge{reference % len(LIGHT.lines)}">{letter(reference)}</b>'


def _document(title: str, body: Iterable[str], theme: ThemeName, more_style: str = "") -> str:
    """A page in the colours of the drawings."""
    head = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{visible(title)}</title>",
        f"<style>{_themed(_colours, theme)}{_STYLE % {'fonts': FONTS}}{more_style}</style>",
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
    return _document(title, [*body, "</main>"], "auto", _GALLERY_STYLE + _themed(_word_colours, "auto"))


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
