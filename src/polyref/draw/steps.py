"""The lattice as it comes about: the references side by side, and what each merge makes of them (Figure 1).

In:   a lattice.
Out:  one step for the beginning and one for each merge; the last one is the lattice itself. A figure of them.
Not:  which pairs are merged, and why in that order (align/alignment.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from polyref.align import UNIT, Links, Merge, plan_merges
from polyref.align.alignment import Matrix, hard_similarity
from polyref.draw.colours import letter
from polyref.draw.figure import Figure, draw_panels, size_of
from polyref.errors import SettingsError
from polyref.lattice.engine import PlainEngine, alignment_cells, compressed_by

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice


_MOST_CELLS = 1_000_000  # a few seconds in plain Python


@dataclass(frozen=True, slots=True)
class Step:
    """`pair`: the gold references that this step merged, None at the beginning. `worth`: of their links, less penalty.

    `linked_arcs` are the arcs, of this step's lattice, on which the linked words stand.
    """

    lattice: Lattice
    pair: tuple[int, int] | None
    links: Links
    worth: float
    linked_arcs: frozenset[int]


def steps_of(lattice: Lattice) -> list[Step]:
    """The beginning, and the state after each merge."""
    if lattice.aligned is None:
        raise SettingsError("this lattice does not know how it was aligned; make it from references")
    references = lattice.numbering.references
    if alignment_cells(list(map(len, references))) > _MOST_CELLS:
        raise SettingsError("these references are too many or too long to be followed step by step; take some of them")
    matrix = similarity_of(lattice)
    merges = plan_merges(references, matrix, lattice.aligned.penalty, lattice.aligned.merge_order)
    return [_step(lattice, matrix, merges[:done]) for done in range(len(merges) + 1)]


def similarity_of(lattice: Lattice) -> Matrix:
    """The similarity that a lattice was aligned by, over all words of its distinct references."""
    if lattice.aligned is None or lattice.aligned.similarity is None:
        return hard_similarity(list(chain.from_iterable(lattice.numbering.references)))
    return lattice.aligned.similarity


def _step(lattice: Lattice, matrix: Matrix, merges: list[Merge]) -> Step:
    references = lattice.numbering.references
    now = lattice.with_states(compressed_by(references, merges), PlainEngine())
    if not merges or lattice.aligned is None:
        return Step(now, None, [], 0.0, frozenset())
    left, right, links = merges[-1]
    starts = list(accumulate(map(len, references), initial=0))
    alike = [int(matrix[starts[left] + u, starts[right] + v]) for u, v in links]
    pair = lattice.numbering.same.index(left), lattice.numbering.same.index(right)
    arcs = {now.ways[gold][position] for link in links for gold, position in zip(pair, link, strict=True)}
    worth = sum(alike) - len(links) * lattice.aligned.penalty
    return Step(now, pair, links, worth / UNIT, frozenset(arcs))


def draw_steps(steps: Iterable[Step], title: str | None = None) -> Figure:
    """Steps one under the other, each with what was merged; the words that it linked are marked."""
    captions = [(step.lattice, caption(step), step.linked_arcs) for step in steps]
    return draw_panels(captions, title)


def caption(step: Step) -> str:
    """What a step did, in words."""
    if step.pair is None:
        return f"{len(step.lattice.tokens)} references side by side"
    left, right = map(letter, step.pair)
    links = f"{len(step.links)} link{'s' if len(step.links) > 1 else ''}"
    soft = "" if step.lattice.penalty is None else f", worth {step.worth:.2f} over the penalty {step.lattice.penalty:g}"
    numbers = size_of(step.lattice).partition(", ")[2]
    return f"{left} and {right} merged: {links}{soft}; {numbers}"
