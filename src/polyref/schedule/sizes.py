"""What a data set is to a schedule: how many references each example has, and what they weigh.

In:   counts per example; weights; a hash for each draw.
Out:  where each pair stands if all pairs stood in a row; a reference drawn by weight and by the share of gold.
Not:  the order in which pairs come (schedules.py), their texts (data/).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from polyref.errors import SettingsError
from polyref.schedule.mixing import Hashes, Numbers, below, fractions, mix

Counts = npt.NDArray[np.unsignedinteger]
Weights = npt.NDArray[np.float64]


class Sizes:
    """For each example, how many references it has: gold ones, and all of them, gold ones first.

    Pairs are numbered example after example. `weights` has a number for each pair, None where all weigh the same. The
    arrays are kept as small as their numbers allow: 100 million pairs take 400 MB at most.
    """

    def __init__(self, gold: npt.ArrayLike, total: npt.ArrayLike | None = None, weights: Weights | None = None):
        self.gold = _smallest(np.asarray(gold))
        self.total = self.gold if total is None else _smallest(np.asarray(total))
        self.weights = weights
        if not self.gold.size:
            raise SettingsError("there are no examples; give at least one")
        if not self.gold.all():
            raise SettingsError("an example has no gold reference; give each at least one")
        if weights is not None and not (weights.min() > 0 and weights.max() < np.inf):
            raise SettingsError("a weight is not above 0, or has no end; give each a number above 0")

    @property
    def examples(self) -> int:
        return len(self.gold)

    @cached_property
    def pairs(self) -> int:
        return int(self.total.sum(dtype=np.uint64))

    @cached_property
    def _same(self) -> int | None:
        """How many references each example has, where all have as many."""
        least, most = int(self.total.min()), int(self.total.max())
        return least if least == most else None

    @cached_property
    def starts(self) -> Counts:
        """The number of each example's first pair, and behind them the number of all pairs."""
        starts: Counts = np.zeros(self.examples + 1, np.uint32 if self.pairs < 2**32 else np.uint64)
        np.cumsum(self.total, out=starts[1:])
        return starts

    @cached_property
    def heaps(self) -> Weights:
        """The weights of all pairs before each pair, and behind them those of all; an example's make 1 together."""
        return self._heaped(self.starts[:-1].astype(np.int64))

    @cached_property
    def heaps_apart(self) -> Weights:
        """The same where an example's gold references make 1 together, and its pseudo-references 1 more."""
        starts = self.starts[:-1].astype(np.int64)
        return self._heaped(np.union1d(starts, (starts + self.gold)[self.total > self.gold]))

    def _heaped(self, starts: Numbers) -> Weights:
        assert self.weights is not None
        counts = np.diff(starts, append=self.pairs)
        # By the heaviest first, so that no sum is too large for a float.
        weights = self.weights / np.repeat(np.maximum.reduceat(self.weights, starts), counts)
        weights /= np.repeat(np.add.reduceat(weights, starts), counts)
        return np.concatenate([[0.0], np.cumsum(weights)])

    def pair_at(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """The examples that pairs belong to, and which of its references each takes."""
        if self._same is not None:
            examples = numbers // self._same
        else:  # a number of another kind would make searchsorted copy the starts
            examples = np.searchsorted(self.starts, numbers.astype(self.starts.dtype), side="right") - 1
        return examples, numbers - self.start_of(examples)

    def start_of(self, examples: Numbers) -> Numbers:
        """The number of the first pair of each of these examples."""
        return examples * self._same if self._same is not None else self.starts[examples].astype(np.int64)

    def draw(self, examples: Numbers, hashed: Hashes, gold_share: float | None) -> Numbers:
        """For each example one of its references: equally likely, or by weight where the references have any."""
        low = np.zeros(len(examples), np.int64)
        high = self.total[examples].astype(np.int64)
        if gold_share is not None:
            gold = self.gold[examples].astype(np.int64)
            is_gold = (fractions(mix(hashed)) < gold_share) | (gold == high)
            low, high = np.where(is_gold, low, gold), np.where(is_gold, gold, high)
        if self.weights is None:
            return low + below(hashed, high - low)
        starts = self.start_of(examples)
        # Beside a heavy pseudo-reference, gold ones may weigh next to nothing; among themselves they do not.
        heaps = self.heaps if gold_share is None else self.heaps_apart
        bottom, top = heaps[starts + low], heaps[starts + high]
        found = np.searchsorted(heaps, bottom + fractions(hashed) * (top - bottom), side="right") - 1
        # Sums of weights are rounded: what falls over an edge by that stays inside.
        drawn: Numbers = np.clip(found - starts, low, high - 1)
        return drawn


def _smallest(counts: npt.NDArray[np.generic]) -> Counts:
    """The same numbers in as few bytes as hold them."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))), copy=False)
