"""Align the references of an example, word by word and pair by pair (equation 3 of the paper), in plain Python.

In:   the words of all references as numbers, each reference different from the others; their vectors; AlignSettings.
Out:  one square matrix of similarities over all those words, of which only what lies between two references is
      filled, the earlier one's words as rows; the pairs of references to merge, with their links.
Not:  vectors (encode/), words never linked (veto.py), merging states (lattice/), the compiled twin (kernels.py).

Similarities are whole numbers of 1e-4. Vectors come as unit vectors rounded to float16. Products of two float16
numbers no larger than 1 are whole multiples of 2**-48, and their sums stay below 2**5 here, so a dot product in float64
is exact, in whatever order a machine adds it up: the same words get the same similarity everywhere.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, combinations, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.align.veto import VETO_KINDS, Exclusions, VetoKind
from polyref.errors import SettingsError
from polyref.settings import setting, settings

UNIT = 10_000
_ROWS_AT_ONCE = 64  # of the similarity: memory for what it is made from stays small
_LARGE = 1000  # words
_SOFT, _ADAPTIVE = ("align", "soft"), ("penalty", "adaptive")
Alignment = Literal["hard", "soft"]
Similarity = Literal["cosine", "rescaled"]
MergeOrder = Literal["tree", "paper"]
Matrix = npt.NDArray[np.int32]
Links = list[tuple[int, int]]
Table = list[list[int]]


class Merge(NamedTuple):
    left: int
    right: int
    links: Links


def whole_units(value: float) -> int:
    """A similarity or a penalty as a whole number of 1e-4."""
    return round(value * UNIT)


def _in_one_order(kinds: Any) -> Any:
    """Equal settings are equal, and are written alike, in whatever order the kinds were given."""
    is_known = all(kind in VETO_KINDS for kind in kinds)
    return tuple(kind for kind in VETO_KINDS if kind in kinds) if is_known else kinds


@settings(group="Alignment")
class AlignSettings:
    """How references are aligned. Hard alignment depends on the merge order alone."""

    align: Alignment = setting(
        "hard", "Link equal words, or (soft) similar ones.", more="Soft: words with similar vectors in their contexts."
    )
    similarity: Similarity = setting(
        "rescaled", "rescaled: unrelated words have 0.", more="cosine: of two vectors as it is.", needs=_SOFT
    )
    penalty: float | Literal["adaptive"] = setting(
        0.5,
        "Similarity links must exceed, or adaptive.",
        more="Adaptive: lowered until there are enough sentences.",
        at_least=0,
        at_most=1,
        metavar="P",
        needs=_SOFT,
    )
    penalty_start: float = setting(
        0.9, "Adaptive penalty: the first one tried.", at_least=0, at_most=1, metavar="P", needs=_ADAPTIVE
    )
    penalty_step: float = setting(
        0.05, "Adaptive penalty: how much it is lowered.", at_least=0.0001, at_most=1, metavar="P", needs=_ADAPTIVE
    )
    penalty_floor: float = setting(
        0.3, "Adaptive penalty: the last one tried.", at_least=0, at_most=1, metavar="P", needs=_ADAPTIVE
    )
    at_least: int = setting(100, "Adaptive penalty: enough sentences.", at_least=1, metavar="N", needs=_ADAPTIVE)
    merge_order: MergeOrder = setting("tree", "Join all references, or as in the paper.", more="tree or paper.")
    veto: tuple[VetoKind, ...] = setting(
        VETO_KINDS,
        "Kinds of words never linked with each other, or none.",
        clean=_in_one_order,
        metavar="KINDS",
        needs=_SOFT,
    )
    position: float = setting(
        0.02,
        "Similarity lost between opposite ends.",
        at_least=0,
        at_most=1,
        metavar="W",
        needs=_SOFT,
    )
    baseline: float | None = setting(
        None,
        "Similarity of unrelated words.",
        unset="the encoder's",
        above=-1,
        below=1,
        metavar="B",
        needs=_SOFT,
    )

    def check_together(self) -> None:
        if self.penalty_floor > self.penalty_start:
            problem = f"is {self.penalty_floor}, above the penalty_start of {self.penalty_start}"
            raise SettingsError(problem, "swap them", key="penalty_floor", also=("penalty_start",))
        if self.align == "soft" and self.baseline is not None and self.similarity == "cosine":
            problem, cure = "does not belong to the raw cosine", "leave it out, or set similarity to rescaled"
            raise SettingsError(problem, cure, key="baseline", also=("similarity",))

    def penalties(self) -> list[int]:
        """The penalties to try, in units of 1e-4, until the lattice holds `enough` sentences."""
        if self.align == "hard":
            return [UNIT // 2]
        if isinstance(self.penalty, float):
            return [whole_units(self.penalty)]
        floor = whole_units(self.penalty_floor)  # it is the last one, whatever the steps
        return [*range(whole_units(self.penalty_start), floor, -whole_units(self.penalty_step)), floor]

    @property
    def enough(self) -> int:
        """The number of sentences that ends the search for a penalty."""
        return self.at_least if self.penalty == "adaptive" else 0

    def shown_penalty(self, units: int) -> float | None:
        return None if self.align == "hard" else units / UNIT


# By key, also those of encode/. The paper's raw cosine of the states alone, with its penalty for captions; it has no
# veto and does not look at positions.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "similarity": "cosine",
        "penalty": 0.6,
        "veto": (),
        "position": 0.0,
        "word_share": 0.0,
        "centre": False,
        "judge": "bleu",
    },
}


# -- how alike two words are ----------------------------------------------------------------------------------------


def hard_similarity(left: npt.ArrayLike, right: npt.ArrayLike) -> Matrix:
    """1 for equal words, else 0; one row per word on the left, one column per word on the right."""
    return np.where(np.asarray(left)[:, None] == np.asarray(right)[None, :], UNIT, 0).astype(np.int32)


def soft_similarity(
    words: Sequence[int],
    vectors: npt.NDArray[np.float16],
    known: npt.NDArray[np.bool_],
    baseline: float,
    starts: Sequence[int],
) -> Matrix:
    """The cosine of each two words' vectors, less what unrelated words have in common.

    (cos - b) / (1 - b); with a baseline b of 0 it is the plain cosine. A word without a vector is alike to itself
    and to nothing else; a vector of length 0 is alike to nothing. Only words of an earlier reference (rows) are
    compared with those of a later one: the rest is 0. `starts`: where each reference begins, and the last one ends.
    """
    numbers, exact = np.asarray(words), vectors.astype(np.float64)
    squares = np.einsum("ij,ij->i", exact, exact)
    scaled = _square(len(exact))
    for rows, columns in _strips(starts):
        products = exact[rows] @ exact[columns].T
        lengths = np.sqrt(squares[rows, None] * squares[None, columns])
        cosines: npt.NDArray[Any] = np.zeros_like(products)
        np.divide(products, lengths, out=cosines, where=lengths > 0)
        alike = np.rint((cosines - baseline) * (UNIT / (1.0 - baseline))).astype(np.int32)
        both = known[rows, None] & known[None, columns]
        scaled[rows, columns] = np.where(both, alike, hard_similarity(numbers[rows], numbers[columns]))
    return scaled


def _square(size: int) -> Matrix:
    """All 0. A large one has memory only where it is written to: huge pages would be written to everywhere."""
    if size < _LARGE:
        return np.zeros((size, size), np.int32)
    pages = mmap.mmap(-1, 4 * size * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, np.int32).reshape(size, size)


def _strips(starts: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """The words of each reference, some at a time, with the words of all later references."""
    for first, end in pairwise(starts[:-1]):
        for row in range(first, end, _ROWS_AT_ONCE):
            yield slice(row, min(row + _ROWS_AT_ONCE, end)), slice(end, None)


def places(length: int, weight: int) -> list[int]:
    """The places of a reference's words: 0 for the first one, the weight for the last, and evenly between.

    Word u of m stands at weight * u / (m - 1), to the nearest whole unit, a half upwards; a word that is alone
    stands in the middle. Whole numbers, so that every machine and both engines find the same.
    """
    steps = length - 1
    if not steps:
        return [weight // 2]
    return [(2 * weight * u + steps) // (2 * steps) for u in range(length)]


def restrain(references: Sequence[Sequence[int]], similarity: Matrix, exclusions: Exclusions, weight: int) -> Matrix:
    """The similarity, less what the places of the two words differ by (`weight` units at most); vetoed pairs are -1.

    In place; between words of different references.
    """
    words = np.array([word for reference in references for word in reference])
    place = np.array([place for reference in references for place in places(len(reference), weight)], np.int32)
    for rows, columns in _strips(_starts(references)):
        here, apart = similarity[rows, columns], np.abs(place[rows, None] - place[None, columns])
        here[:] = np.where(exclusions.between(words[rows], words[columns]), np.int32(-UNIT), here - apart)
    return similarity


def _starts(references: Sequence[Sequence[int]]) -> list[int]:
    """Where each reference begins among the words of all, and where the last one ends."""
    return list(accumulate(map(len, references), initial=0))


def blocks(references: Sequence[Sequence[int]], similarity: Matrix | None) -> Callable[[int, int], Matrix]:
    """How alike the words of two references are, an earlier one and a later one.

    Without a similarity, equal words are alike and no others.
    """
    if similarity is None:
        return lambda left, right: hard_similarity(references[left], references[right])
    part = [slice(*ends) for ends in pairwise(_starts(references))]
    return lambda left, right: similarity[part[left], part[right]]


# -- two references -------------------------------------------------------------------------------------------------


def fill(similarity: Sequence[Sequence[int]], penalty: int) -> Table:
    """opt[u][v] is the worth of the best alignment of the first u words on the left with the first v on the right.

    Rows of the similarity are words on the left.
    """
    above = [0] * (len(similarity[0]) + 1)
    opt = [above]
    for row in similarity:
        best = 0
        here = [0]
        for v, alike in enumerate(row):
            # max(), written out: this is the innermost line of everything.
            linked = above[v] + alike - penalty
            if above[v + 1] > best:
                best = above[v + 1]
            if linked > best:
                best = linked
            here.append(best)
        opt.append(here)
        above = here
    return opt


def trace_back(opt: Table) -> list[tuple[int, int]]:
    """The way of the best alignment from corner to corner: (u, v) says how many words are done on either side.

    A tie goes to the gap: a link worth nothing is no evidence that two words mean the same. The left word is
    dropped if that loses nothing, else the right one.
    """
    u, v = len(opt) - 1, len(opt[0]) - 1
    path = [(u, v)]
    while u or v:
        if v == 0 or (u and opt[u - 1][v] == opt[u][v]):
            u -= 1
        elif u == 0 or opt[u][v - 1] == opt[u][v]:
            v -= 1
        else:
            u, v = u - 1, v - 1
        path.append((u, v))
    path.reverse()
    return path


def links_of(path: Sequence[tuple[int, int]]) -> Links:
    """The links of an alignment: where its way goes on in both references at once."""
    return [(u, v) for (u, v), after in pairwise(path) if after == (u + 1, v + 1)]


def plan_merges(
    references: Sequence[Sequence[int]], similarity: Matrix | None, penalty: int, merge_order: MergeOrder
) -> list[Merge]:
    """The pairs to merge, best first, with their links.

    Pairs are taken by the worth of their alignment, ties by position. "tree" merges a pair unless merged pairs
    already join its two references by a chain; "paper" unless both its references have been merged with something.
    """
    block = blocks(references, similarity)
    tables = {pair: fill(block(*pair).tolist(), penalty) for pair in combinations(range(len(references)), 2)}
    by_worth = sorted(tables, key=lambda pair: (-tables[pair][-1][-1], pair))

    merges = []
    piece = list(range(len(references)))
    merged = [False] * len(references)
    for left, right in by_worth:
        if tables[left, right][-1][-1] == 0:
            break  # no links from here on, so there is nothing to join
        joined = merged[left] and merged[right] if merge_order == "paper" else piece[left] == piece[right]
        if joined:
            continue
        merges.append(Merge(left, right, links_of(trace_back(tables[left, right]))))
        merged[left] = merged[right] = True
        old, new = piece[right], piece[left]
        piece = [new if number == old else number for number in piece]
    return merges
