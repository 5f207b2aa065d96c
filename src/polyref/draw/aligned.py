"""How the references of a lattice were aligned: merge by merge (Figure 1), and two of them word by word (Figures 4, 5).

In:   a lattice.
Out:  Steps: one for the beginning and one for each merge; the last one is the lattice itself. A Comparison of two
      references: how alike their words are, the links, and the way of the dynamic programme; as JSON and as a table.
Not:  which pairs are merged, and why in that order (align/alignment.py), pictures (figure.py, matrix.py).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyref.align import UNIT
from polyref.align.alignment import Links, Merge, blocks, fill, links_of, plan_merges, trace_back
from polyref.draw.style import shortened
from polyref.errors import SettingsError
from polyref.lattice.engine import alignment_cells
from polyref.lattice.lattice import Aligned
from polyref.lattice.plain.automaton import build
from polyref.text.terminal import printable

if TYPE_CHECKING:
    from polyref.lattice import Lattice

JSON_VERSION = 1
VETOED = "×"  # stands for the similarity of words that are never linked
_MOST_CELLS = 1_000_000  # a few seconds in plain Python
_MOST_DRAWN = 10_000


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
    references = lattice.numbering.references
    if alignment_cells(list(map(len, references))) > _MOST_CELLS:
        raise SettingsError("these references are too many or too long to be followed step by step; take some of them")
    aligned = _aligned(lattice)
    merges = plan_merges(references, aligned.similarity, aligned.penalty, aligned.merge_order)
    return [_step(lattice, aligned, merges[:done]) for done in range(len(merges) + 1)]


def _aligned(lattice: Lattice) -> Aligned:
    """What a lattice was aligned by."""
    if lattice.aligned is None:
        raise SettingsError("this lattice does not know how it was aligned; make it from references")
    return lattice.aligned


def _step(lattice: Lattice, aligned: Aligned, merges: list[Merge]) -> Step:
    references = lattice.numbering.references
    now = lattice.with_states(build(references, merges))
    if not merges:
        return Step(now, None, [], 0.0, frozenset())
    left, right, links = merges[-1]
    matrix = blocks(references, aligned.similarity)(left, right)
    alike = [int(matrix[link]) for link in links]
    pair = lattice.numbering.firsts[left], lattice.numbering.firsts[right]
    arcs = {now.ways[gold][position] for link in links for gold, position in zip(pair, link, strict=True)}
    worth = sum(alike) - len(links) * aligned.penalty
    return Step(now, pair, links, worth / UNIT, frozenset(arcs))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows are words of the left reference, columns of the right one. Numbers are what they stand for, -1 to 1.

    `path` leads from corner to corner: (u, v) means that u words on the left and v on the right are done. A step in
    both is a link; a step in one is a word without a partner. `penalty` is None where equal words were linked.
    `vetoed` pairs are never linked, whatever their vectors; their similarity is -1.
    """

    pair: tuple[int, int]
    left: tuple[str, ...]
    right: tuple[str, ...]
    similarity: tuple[tuple[float, ...], ...]
    penalty: float | None
    links: Links
    path: tuple[tuple[int, int], ...]
    worth: float
    vetoed: frozenset[tuple[int, int]] = frozenset()

    def as_json(self) -> str:
        content = {"format": "polyref.matrix", "version": JSON_VERSION, **asdict(self), "vetoed": sorted(self.vetoed)}
        return json.dumps(content, ensure_ascii=False) + "\n"

    def as_table(self) -> str:
        """For a terminal: one row per word on the left, and a star at each link."""
        left, right = ([shortened(printable(word)) for word in words] for words in (self.left, self.right))
        names = max(map(len, left))
        widths = [max(5, len(word)) for word in right]
        linked = set(self.links)
        lines = [" " * names + "".join(f"  {word:>{width}} " for word, width in zip(right, widths, strict=True))]
        for u, (word, row) in enumerate(zip(left, self.similarity, strict=True)):
            cells = (
                f"  {self._cell(u, v, value):>{width}}{'*' if (u, v) in linked else ' '}"
                for v, (value, width) in enumerate(zip(row, widths, strict=True))
            )
            lines.append(f"{word:<{names}}" + "".join(cells))
        return "\n".join(line.rstrip() for line in [*lines, self.caption()]) + "\n"

    def caption(self, vetoed: str = VETOED) -> str:
        """The alignment in one line; `vetoed` is what words that are never linked look like."""
        links = f"{len(self.links)} link{'' if len(self.links) == 1 else 's'}"
        if self.penalty is None:
            return f"{links} between equal words"
        never = f"; {vetoed} never linked" if self.vetoed else ""
        return f"{links}, worth {self.worth:.2f} over the penalty {self.penalty:g}{never}"

    def _cell(self, u: int, v: int, value: float) -> str:
        if (u, v) in self.vetoed:
            return VETOED
        return ("1" if value else ".") if self.penalty is None else f"{value:.2f}"


def check_cells(rows: int, columns: int) -> None:
    """Refuse a picture that nobody could read."""
    if rows * columns > _MOST_DRAWN:
        raise SettingsError(f"a matrix of {rows} by {columns} words is too large to be read; write json")


def compare(lattice: Lattice, first: int, second: int, *, drawn: bool = False) -> Comparison:
    """How two gold references, counted from 0, were aligned when the lattice was made; `drawn`: for a picture."""
    aligned = _aligned(lattice)
    count = len(lattice.tokens)
    for reference in (first, second):
        if not 0 <= reference < count:
            raise SettingsError(f"there is no reference {reference}; they are counted from 0 to {count - 1}")
    same = lattice.numbering.same
    if same[first] == same[second]:
        raise SettingsError(f"references {first} and {second} are the same; choose two that differ")
    if drawn:
        check_cells(len(lattice.tokens[first]), len(lattice.tokens[second]))
    if same[first] > same[second]:
        first, second = second, first
    units = blocks(lattice.numbering.references, aligned.similarity)(same[first], same[second]).tolist()
    opt = fill(units, aligned.penalty)
    path = trace_back(opt)
    vetoed: frozenset[tuple[int, int]] = frozenset()
    if aligned.exclusions is not None:
        left, right = (lattice.numbering.references[same[r]] for r in (first, second))
        vetoed = frozenset((u, v) for u, v in np.argwhere(aligned.exclusions.between(left, right)).tolist())
    return Comparison(
        (first, second),
        lattice.tokens[first].surfaces,
        lattice.tokens[second].surfaces,
        tuple(tuple(value / UNIT for value in row) for row in units),
        lattice.penalty,
        links_of(path),
        tuple(path),
        opt[-1][-1] / UNIT,
        vetoed,
    )
