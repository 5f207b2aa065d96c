"""What a search is asked for, and what it finds.

In:   settings as numbers. Out: Task, Found. Not: searching (search.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from polyref.lattice.ranking import Candidate
from polyref.score import MAX_ORDER, BleuScale
from polyref.score.sentence_bleu import totals_product


@dataclass(frozen=True, slots=True)
class Task:
    """One search. `floors[l]` is the least product that a sentence of l words needs (1: any score above 0)."""

    wanted: int
    lowest_order: int  # 4: only sentences that score above 0; 1: all
    floors: Sequence[int] | None
    word_hashes: npt.NDArray[np.uint64]
    marks: npt.NDArray[np.bool_]  # for each word, whether it is punctuation
    node_budget: int
    tie_limit: int


@dataclass(frozen=True)
class Found:
    """The best sentences, best first: their lengths and the counts behind their scores.

    `path` are the automaton's arcs that spell them, all behind each other, with -1 behind each sentence (so that they
    can be written in one go); `arcs` the same, a list a sentence.
    """

    path: list[int]
    lengths: list[int]
    orders: list[int]
    products: list[int]
    exact: bool
    nodes: int

    @classmethod
    def of(cls, candidates: Sequence[Candidate], *, exact: bool, nodes: int) -> Found:
        return cls(
            [arc for candidate in candidates for arc in (*candidate.arcs, -1)],
            [candidate.length for candidate in candidates],
            [candidate.order for candidate in candidates],
            [candidate.product for candidate in candidates],
            exact,
            nodes,
        )

    @cached_property
    def arcs(self) -> list[list[int]]:
        following = iter(self.path)
        return [list(islice(following, length + 1))[:-1] for length in self.lengths]


def floors_for(min_bleu: float, reference_lengths: Sequence[int], longest: int) -> list[int]:
    """For each length up to `longest`, the least product whose score is at least `min_bleu` (of order 4)."""
    scale = BleuScale(reference_lengths)
    floors = [1]
    for length in range(1, longest + 1):
        totals = totals_product(length, MAX_ORDER)
        at_most = scale.value(length, totals)
        product = totals + 1  # more than any sentence has
        if at_most >= min_bleu:
            product = max(1, int(totals * (min_bleu / at_most) ** MAX_ORDER * (1 - 1e-12)) - 1)
            while scale.value(length, product) < min_bleu:
                product += 1
        floors.append(product)
    return floors
