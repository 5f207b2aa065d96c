"""Precision, recall and F1 of links, with intervals.

In:   for each pair, the links that were found and those that people gave.
Out:  Scores; 95 % intervals by drawing the pairs anew, for a method alone and against another.
Not:  aligning (evaluate.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.alignment.pairs import Links

DRAWS = 5000
Counts = npt.NDArray[np.int64]  # one row a pair: right links, links found, links given


@dataclass(frozen=True)
class Scores:
    precision: float
    recall: float
    f1: float


def count(found: Sequence[Links], given: Sequence[Links]) -> Counts:
    """What the scores are made of, pair by pair."""
    return np.array([[len(f & g), len(f), len(g)] for f, g in zip(found, given, strict=True)])


def scores(counts: Counts) -> Scores:
    """Over all links of all pairs together."""
    right, found, given = counts.sum(0)
    return Scores(right / max(found, 1), right / max(given, 1), 2 * right / max(found + given, 1))


def interval(counts: Counts, other: Counts | None = None, seed: int = 0) -> tuple[float, float]:
    """95 % of the F1 of drawn sets of pairs; with another method's counts, of the difference on the same draws."""
    drawn = np.random.default_rng(seed).integers(len(counts), size=(DRAWS, len(counts)))
    values = _f1(counts[drawn].sum(1)) - (0 if other is None else _f1(other[drawn].sum(1)))
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _f1(sums: Counts) -> npt.NDArray[np.float64]:
    result: npt.NDArray[np.float64] = 2 * sums[:, 0] / np.maximum(sums[:, 1] + sums[:, 2], 1)
    return result
