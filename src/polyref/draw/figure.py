"""A whole picture: maps one under the other, what is written over and under them, and a legend.

In:   a lattice and the sentence to highlight, or the steps in which a lattice comes about.
Out:  a Figure: maps, texts and letters with their places, in points.
Not:  the map itself (layout.py), file formats (svg.py, export.py, page.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from polyref.draw.layout import BADGE, Badge, Box, Map, lay_out
from polyref.draw.network import Network, network_of, reference_texts, way_of, word_twice
from polyref.draw.style import broken_into_lines, letter, text_width
from polyref.errors import SettingsError
from polyref.lattice import Sentence

if TYPE_CHECKING:
    from polyref.draw.aligned import Step
    from polyref.lattice import Lattice

Highlight = int | str | Sentence | None
MOST_REFERENCES = 20
MOST_WORDS = 1000
MARGIN = 16.0
_TITLE = 17.0
_SMALL = 13.0
_CAPTION = 14.0
_LEAST_WIDTH = 620.0
_LEADING = 1.5


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text that begins at `x`; `y` is its baseline. A leftward one runs from there to the left."""

    x: float
    y: float
    text: str
    size: float
    tone: Literal["ink", "faint"] = "ink"
    bold: bool = False
    leftward: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """A map at its place. `way`: the nodes of the highlighted sentence. `marked`: words to point out."""

    x: float
    y: float
    map: Map
    way: tuple[int, ...] = ()
    marked: frozenset[int] = frozenset()


@dataclass(slots=True)
class Figure:
    """`markers`: patches in the highlight's colour. `rules`: heights at which a thin line runs across."""

    width: float
    height: float = 0.0
    description: str = ""
    panels: list[Panel] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    badges: list[Badge] = field(default_factory=list)
    markers: list[Box] = field(default_factory=list)
    rules: list[float] = field(default_factory=list)


def check_size(lattice: Lattice) -> None:
    """Refuse what nobody could read."""
    references, words = len(lattice.tokens), sum(map(len, lattice.tokens))
    if references > MOST_REFERENCES or words > MOST_WORDS:
        raise SettingsError(
            f"a drawing has room for {MOST_REFERENCES} references with {MOST_WORDS:,} words in all, and these are "
            f"{references:,} with {words:,}; draw some of them, or write dot, fst or json"
        )


def highlighted(lattice: Lattice, wanted: Highlight) -> Sentence | None:
    """The sentence to highlight: the N-th best new one, or a text. None where there is none, or none was wanted."""
    if wanted is None or wanted == 0:
        return None
    if isinstance(wanted, Sentence):
        return wanted
    if isinstance(wanted, str):
        sentence = lattice.sentence(wanted)
        if sentence is None:
            raise SettingsError(f'the lattice has no sentence "{wanted}"; highlight one that it has')
        return sentence
    if wanted < 0:
        raise SettingsError(f"highlight is {wanted}; give 1 for the best sentence, 2 for the second, or a text")
    best = lattice.best(wanted)
    if len(best) < wanted and wanted > 1:
        raise SettingsError(f"highlight is {wanted}, and there are {len(best)} sentences to choose from")
    return best[wanted - 1] if best else None


def draw_one(lattice: Lattice, highlight: Highlight, title: str | None, *, legend: bool = True) -> Figure:
    """One lattice with its title and, if wanted, its legend."""
    check_size(lattice)
    network = network_of(lattice)
    drawn = lay_out(network)
    figure = Figure(max(drawn.width, _LEAST_WIDTH) + 2 * MARGIN)
    sentence = highlighted(lattice, highlight)
    y = _title(figure, title, size_of(lattice))
    way = way_of(lattice, network, sentence.words) if sentence else ()
    figure.panels.append(_panel(figure, network, y, drawn, way))
    figure.height = y + drawn.height + MARGIN
    if legend:
        _legend(figure, y + drawn.height + 30, lattice, network, sentence)
    return figure


def _panel(
    figure: Figure,
    network: Network,
    y: float,
    drawn: Map,
    way: tuple[int, ...] = (),
    marked: frozenset[int] = frozenset(),
) -> Panel:
    """A map where its language begins: at the left margin, or at the right one."""
    return Panel(figure.width - MARGIN - drawn.width if network.leftward else MARGIN, y, drawn, way, marked)


def draw_steps(steps: Sequence[Step], title: str | None = None) -> Figure:
    """How a lattice comes about, as the paper's Figure 1 shows it: one map per step, with the linked words marked."""
    networks = [network_of(step.lattice) for step in steps]
    maps = [lay_out(network) for network in networks]
    figure = Figure(max([_LEAST_WIDTH, *(drawn.width for drawn in maps)]) + 2 * MARGIN)
    y = _title(figure, title, "")
    for number, (step, network, drawn) in enumerate(zip(steps, networks, maps, strict=True)):
        name = f"({chr(ord('a') + number)})"
        indent = text_width(name, _CAPTION, bold=True) + 8
        figure.texts.append(Text(MARGIN, y + 6, name, _CAPTION, bold=True))
        for line in broken_into_lines(caption(step), _CAPTION, figure.width - 2 * MARGIN - indent):
            figure.texts.append(Text(MARGIN + indent, y + 6, line, _CAPTION))
            y += _LEADING * _CAPTION
        figure.panels.append(_panel(figure, network, y, drawn, marked=linked_nodes(step, network)))
        y += drawn.height + 50
        figure.rules.append(y - 24)
    _legend(figure, y, steps[-1].lattice, networks[-1], None)
    figure.markers.append(Box(MARGIN, figure.height - MARGIN + 8, 2 * BADGE, 2 * BADGE))
    x, baseline = MARGIN + 2 * BADGE + 10, figure.height - MARGIN + 8 + BADGE + 0.35 * _SMALL
    figure.texts.append(Text(x, baseline, "words that are linked in the step", _SMALL))
    figure.height += 2 * BADGE + 8
    return figure


def linked_nodes(step: Step, network: Network) -> frozenset[int]:
    """The words that a step linked."""
    return frozenset(network.word_nodes[arc] for arc in step.linked_arcs)


def caption(step: Step) -> str:
    """What a step did, in words."""
    if step.pair is None:
        return f"{len(step.lattice.tokens)} references side by side"
    left, right = map(letter, step.pair)
    links = f"{len(step.links)} link{'s' if len(step.links) > 1 else ''}"
    soft = "" if step.lattice.penalty is None else f", worth {step.worth:.2f} over the penalty {step.lattice.penalty:g}"
    numbers = size_of(step.lattice).partition(", ")[2]
    return f"{left} and {right} merged: {links}{soft}; {numbers}"


def size_of(lattice: Lattice) -> str:
    """A lattice in numbers."""
    count, new = (
        f"{value:,}" if value < 10**15 else f"{value:.2e}" if value < 10**300 else "more than 1e300"
        for value in (lattice.count, lattice.new)
    )
    return f"{len(lattice.tokens)} references, {count} sentences, {new} of them new"


def _title(figure: Figure, title: str | None, subtitle: str) -> float:
    """Write title and subtitle over a figure; returns the height under them."""
    y = MARGIN
    if title:
        for line in broken_into_lines(title, _TITLE * 1.12, figure.width - 2 * MARGIN):
            figure.texts.append(Text(MARGIN, y + 0.8 * _TITLE, line, _TITLE, bold=True))
            y += _LEADING * _TITLE
    if subtitle:
        figure.texts.append(Text(MARGIN, y + 0.8 * _SMALL, subtitle, _SMALL, "faint"))
        y += _LEADING * _SMALL
    figure.description = ". ".join(part for part in (title, subtitle) if part)
    return y + 10 if y > MARGIN else y


def _legend(figure: Figure, y: float, lattice: Lattice, network: Network, sentence: Sentence | None) -> None:
    """Each reference in full, and the highlighted sentence with its score; sets the figure's height."""
    indent = 2 * BADGE + 10
    room = figure.width - 2 * MARGIN - indent
    leftward = network.leftward
    edge = figure.width - MARGIN if leftward else MARGIN  # where lines begin
    x, badge, box = (edge - indent, edge - BADGE, edge - 2 * BADGE) if leftward else (edge + indent, edge + BADGE, edge)

    def write(text: str, tone: Literal["ink", "faint"] = "ink", *, bold: bool = False) -> None:
        nonlocal y
        for line in broken_into_lines(text, _SMALL * (1.12 if bold else 1), room):
            figure.texts.append(Text(x, y + BADGE + 0.35 * _SMALL, line, _SMALL, tone, bold, leftward))
            y += _LEADING * _SMALL

    for reference, text in enumerate(reference_texts(lattice)):
        figure.badges.append(Badge(reference, badge, y + BADGE))
        write(text)
        y += 3
    if sentence is not None:
        y += 6
        top = y
        write(sentence.text, bold=True)
        figure.markers.append(Box(box, top, 2 * BADGE, y - top - 3))
        is_gold = any(sentence.words == tokens.words for tokens in lattice.tokens)
        write(f"{'' if is_gold else 'New sentence: '}BLEU {sentence.bleu:.1f} against the references", "faint")
    if why := word_twice(network):
        y += 6
        write(why, "faint")
    figure.height = y + MARGIN - 6
