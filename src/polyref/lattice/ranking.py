"""Keep the best sentences found so far, in one total order.

In:   sentences with the exact counts behind their scores.
Out:  the best of them: by score, then by a seeded hash, then by their words.
Not:  finding sentences (search.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp

from polyref.score import MAX_ORDER, BleuScale
from polyref.score.sentence_bleu import totals_product


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of the lattice: the automaton's arcs that spell it, and the counts behind its score.

    `order` is 4 where BLEU is above 0, else the highest order that matches (Matches.order).
    """

    arcs: tuple[int, ...]
    order: int
    product: int
    hash: int
    words: tuple[int, ...]

    @property
    def length(self) -> int:
        return len(self.arcs)


class Ranking:
    """The best `size` candidates so far, best first."""

    def __init__(self, size: int, reference_lengths: Iterable[int]):
        self.size = size
        self.lengths = list(reference_lengths)
        self.best: list[Candidate] = []
        self.scales = {order: BleuScale(self.lengths, order) for order in range(1, MAX_ORDER + 1)}

    @property
    def full(self) -> bool:
        return len(self.best) == self.size

    def compare(self, first: Candidate, second: Candidate) -> int:
        """Above 0 if the first ranks before the second; 0 only if they are the same sentence."""
        if first.order != second.order:
            return first.order - second.order
        scale = self.scales[first.order]
        by_score = scale.compare(first.length, first.product, second.length, second.product)
        if by_score:
            return by_score
        if first.hash != second.hash:
            return 1 if first.hash < second.hash else -1
        return (second.words > first.words) - (second.words < first.words)

    def add(self, candidate: Candidate) -> None:
        low, high = 0, len(self.best)
        while low < high:
            middle = (low + high) // 2
            rank = self.compare(candidate, self.best[middle])
            if rank == 0:
                return  # a second path of the same sentence
            if rank > 0:
                high = middle
            else:
                low = middle + 1
        if low < self.size:
            self.best.insert(low, candidate)
            del self.best[self.size :]


def least_product(scale: BleuScale, length: int, than_length: int, than_product: int, *, above: bool) -> int:
    """The least product with which a sentence of `length` scores as high as the other one, or above it."""
    wanted = 1 if above else 0
    if length == than_length:
        return than_product + wanted
    behind = scale.log(than_length, than_product) - min(0.0, 1.0 - scale.closest(length) / length)
    totals = totals_product(length, scale.order)
    if behind > 1e-6:
        return totals + 1  # more than any sentence has
    # A little under the estimate, so that rounding cannot step over the answer; then upwards by exact comparison.
    product = max(1, int(totals * exp(scale.order * behind) * (1 - 1e-12)) - 1)
    while scale.compare(length, product, than_length, than_product) < wanted:
        product += 1
    return product
