"""Keep the best sentences found so far, in one total order: by score, by crossings, by a seeded hash, by their words.

In:   sentences with the exact counts behind their scores.
Out:  the best of them; what another sentence needs to be among them.
Not:  finding sentences (search.py).

The hashes are the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp

import numpy as np
import numpy.typing as npt

from polyref.score import MAX_ORDER, BleuScale
from polyref.score.sentence_bleu import totals_product

_MASK = (1 << 64) - 1
_EMPTY = 0x243F6A8885A308D3
_MOST_KNOWN = 1 << 16


def word_hash(word: str, seed: int) -> bytes:
    """The hash of one word: eight bytes, the lowest first."""
    key = seed.to_bytes(16, "little", signed=True)
    return hashlib.blake2b(word.encode("utf-8"), digest_size=8, key=key).digest()


class _Known(dict[str, bytes]):
    """The hashes of words with one seed, each made when it is first asked for; forgotten when they are many."""

    def __init__(self, seed: int):
        super().__init__()
        self._seed = seed

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[word] = hashed = word_hash(word, self._seed)
        return hashed


_known = lru_cache(maxsize=4)(_Known)


def word_hashes(words: Iterable[str], seed: int) -> npt.NDArray[np.uint64]:
    """The hashes of many words, as numbers."""
    # From a bytearray, because the kernels take only arrays that could be written to.
    return np.frombuffer(bytearray().join(map(_known(seed).__getitem__, words)), "<u8")


def mix(state: int, value: int) -> int:
    """Stir a value into a hash."""
    state = ((state ^ value) * 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 32)) * 0xBF58476D1CE4E5B9) & _MASK
    return state ^ (state >> 29)


def sentence_hash(sentence: Iterable[int], hashes: Sequence[int]) -> int:
    """The hash of a sentence, word by word; `hashes` are those of the numbered words."""
    state = _EMPTY
    for word in sentence:
        state = mix(state, hashes[word])
    return state


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of the lattice: the automaton's arcs that spell it, and the counts behind its score.

    `order` is 4 where BLEU is above 0, else the highest order that matches (Matches.order). Under rules, `crossings` is
    how often it changes from one reference to another, and of sentences with the same `core` only the best is ranked.
    """

    arcs: tuple[int, ...]
    order: int
    product: int
    hash: int
    words: tuple[int, ...]
    crossings: int = 0
    core: tuple[int, ...] | None = None

    @property
    def length(self) -> int:
        return len(self.arcs)

    @property
    def identity(self) -> tuple[int, ...]:
        """What no other chosen sentence may share with it."""
        return self.words if self.core is None else self.core


class Ranking:
    """The best `size` candidates so far, best first."""

    def __init__(self, size: int, reference_lengths: Iterable[int]):
        self.size = size
        self.best: list[Candidate] = []
        lengths = list(reference_lengths)
        self.scales = {order: BleuScale(lengths, order) for order in range(1, MAX_ORDER + 1)}

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
        if first.crossings != second.crossings:
            return second.crossings - first.crossings
        if first.hash != second.hash:
            return 1 if first.hash < second.hash else -1
        return (second.words > first.words) - (second.words < first.words)

    def add(self, candidate: Candidate) -> None:
        if candidate.core is not None:
            for other in self.best:
                if other.core == candidate.core:
                    if self.compare(candidate, other) <= 0:
                        return
                    self.best.remove(other)
                    break
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


def least_product(scale: BleuScale, length: int, than_length: int, than_product: int) -> int:
    """The least product with which a sentence of `length` scores as high as the other one."""
    if length == than_length:
        return than_product
    behind = scale.log(than_length, than_product) - min(0.0, 1.0 - scale.closest(length) / length)
    totals = totals_product(length, scale.order)
    if behind > 1e-6:
        return totals + 1  # more than any sentence has
    # A little under the estimate, so that rounding cannot step over the answer; then upwards by exact comparison.
    product = max(1, int(totals * exp(scale.order * behind) * (1 - 1e-12)) - 1)
    while scale.compare(length, product, than_length, than_product) < 0:
        product += 1
    return product


@lru_cache(maxsize=1024)
def _no_floors(most: int) -> npt.NDArray[np.int64]:
    return np.ones(most + 1, np.int64)


def floors_for(min_bleu: float | None, reference_lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    """For each length that a sentence can have, the least product whose score is at least `min_bleu` (of order 4)."""
    floors = _no_floors(sum(reference_lengths))
    if not min_bleu:
        return floors
    floors, scale = floors.copy(), BleuScale(reference_lengths)
    for length in range(1, len(floors)):
        totals = totals_product(length, MAX_ORDER)
        at_most = scale.value(length, totals)
        product = totals + 1  # more than any sentence has
        if at_most >= min_bleu:
            product = max(1, int(totals * (min_bleu / at_most) ** MAX_ORDER * (1 - 1e-12)) - 1)
            while scale.value(length, product) < min_bleu:
                product += 1
        floors[length] = product
    return floors
