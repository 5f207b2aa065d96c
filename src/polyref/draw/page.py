"""Write a lattice as a page of its own: point at a reference or at a sentence, and its way lights up.

In:   a lattice or a figure.
Out:  HTML that needs nothing from anywhere else.
Not:  the map (svg.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyref.draw import Highlight, ThemeName
from polyref.draw.colours import DARK, LIGHT, THEMES, Theme, letter
from polyref.draw.figure import Figure, draw_map, highlighted, size_of, way_of
from polyref.draw.network import network_of
from polyref.draw.surfaces import reference_texts
from polyref.draw.svg import FONTS, as_svg, visible

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice

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


def as_page(lattice: Lattice, highlight: Highlight, theme: ThemeName, title: str | None) -> str:
    """The map over its references and its best sentences; the highlighted one is shown at first."""
    figure = draw_map(lattice)
    network = network_of(lattice)
    first = highlighted(lattice, highlight)
    best = lattice.best(_BEST)
    sentences = [first, *(s for s in best if s.words != first.words)] if first else best
    ways = [way_of(lattice, network, sentence.words) for sentence in sentences]
    body = [f"<h1>{visible(title or 'Lattice')}</h1>", f"<p>{visible(size_of(lattice))}</p>"]
    body += ['<div class="map">', as_svg(figure, theme, ways=ways), "</div>", "<h2>References</h2>", "<ol>"]
    for reference, (text, line) in enumerate(zip(reference_texts(lattice), network.lines, strict=True)):
        badge = f'<b class="badge{reference % len(LIGHT.lines)}">{letter(reference)}</b>'
        body.append(f'<li tabindex="0" data-reference="{reference}" {_nodes(line)}>{badge}{visible(text)}</li>')
    body += ["</ol>", "<h2>Best new sentences</h2>" if sentences else "", "<ol>"]
    for number, (sentence, way) in enumerate(zip(sentences, ways, strict=True)):
        score = f"<i>{sentence.bleu:.1f}</i>"
        body.append(f'<li tabindex="0" data-way="{number}" {_nodes(way)}>{score}{visible(sentence.text)}</li>')
    return document(title or "Lattice", [*body, "</ol>", f"<script>{_SCRIPT}</script>"], theme)


def figure_page(figure: Figure, theme: ThemeName, title: str | None) -> str:
    """A figure as a page, with nothing to point at."""
    return picture_page(as_svg(figure, theme), theme, title)


def picture_page(svg: str, theme: ThemeName, title: str | None) -> str:
    """Any drawing as a page."""
    return document(title or "Lattice", ['<div class="map">', svg, "</div>"], theme)


def _nodes(way: list[int] | tuple[int, ...]) -> str:
    return f'data-nodes="{" ".join(map(str, way))}"'


def document(title: str, body: list[str], theme: ThemeName, more_style: str = "") -> str:
    """A page of its own, in the colours of the drawings."""
    style = _colours(THEMES.get(theme, LIGHT))
    if theme == "auto":
        style += f"@media (prefers-color-scheme: dark) {{{_colours(DARK)}}}"
    head = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{visible(title)}</title>",
        f"<style>{style}{_STYLE % {'fonts': FONTS}}{more_style}</style>",
    ]
    return "\n".join([*head, *body, "</html>"]) + "\n"


def _colours(theme: Theme) -> str:
    named = {"paper": theme.paper, "ink": theme.ink, "faint": theme.faint, "marker": theme.marker}
    rules = ":root{" + "".join(f"--{name}:{colour};" for name, colour in named.items()) + "}"
    return rules + "".join(
        f".badge{number}{{background:{theme.line(number)};color:{theme.on_line(number)}}}"
        for number in range(len(theme.lines))
    )
