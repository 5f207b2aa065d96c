"""How probable words are in their places: the output side of the language model, without torch.

In:   what the states around each place expect there, and the words that stand there.
Out:  the logarithm of each word's probability.
Not:  the states (context.py), what is made of the probabilities (expand.py).

Expectations are rounded to multiples of 2**-7 and bounded, so that the products with the output weights are exact
(grid.py), like those of the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from polyref.encode.grid import on_grid
from polyref.encode.recurrence import Floats

EXPECTATION_STEP = 2.0**-7
LARGEST_EXPECTATION = 16.0
_PLACES_AT_ONCE = 512


def bounded(expected: Floats) -> Floats:
    """On the grid, and no larger than the exactness of the products allows."""
    return np.clip(on_grid(expected, EXPECTATION_STEP), -LARGEST_EXPECTATION, LARGEST_EXPECTATION)


@dataclass(frozen=True)
class Full:
    """One softmax over all words."""

    weight: Floats  # words x size
    bias: Floats

    def log_probabilities(self, expected: Floats, words: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return _picked(expected @ self.weight.T + self.bias, words)


@dataclass(frozen=True)
class Adaptive:
    """Frequent words by themselves; rarer ones in clusters: first the cluster, then the word in it."""

    head: Floats  # (frequent words + clusters) x size
    tails: tuple[tuple[Floats, Floats], ...]  # for each cluster: size x smaller, words x smaller
    cutoffs: tuple[int, ...]  # where the clusters begin, and where the last one ends

    def log_probabilities(self, expected: Floats, words: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        frequent = self.cutoffs[0]
        cluster = np.searchsorted(self.cutoffs, words, side="right")  # 0: a frequent word
        found = _picked(expected @ self.head.T, np.where(cluster == 0, words, frequent + cluster - 1))
        for k, (first, _) in enumerate(pairwise(self.cutoffs), 1):
            inside = cluster == k
            if inside.any():
                smaller, weight = self.tails[k - 1]
                found[inside] += _picked(bounded(expected[inside] @ smaller.T) @ weight.T, words[inside] - first)
        return found


def output_of(weights: dict[str, npt.NDArray[Any]], predicted: int, cutoffs: list[int] | None) -> Full | Adaptive:
    """The output side of a folder's weights."""

    def array(name: str) -> Floats:
        return weights[f"output.{name}"].astype(np.float32)

    if cutoffs is None:
        return Full(array("weight"), array("bias"))
    tails = tuple((array(f"tail.{k}.0.weight"), array(f"tail.{k}.1.weight")) for k in range(len(cutoffs)))
    return Adaptive(array("head.weight"), tails, (*cutoffs, predicted + 1))


def output_shapes(predicted: int, size: int, cutoffs: list[int] | None) -> dict[str, tuple[int, ...]]:
    """What the output side of a folder's weights consists of."""
    if cutoffs is None:
        return {"output.weight": (predicted + 1, size), "output.bias": (predicted + 1,)}
    shapes: dict[str, tuple[int, ...]] = {"output.head.weight": (cutoffs[0] + len(cutoffs), size)}
    for k, (first, end) in enumerate(pairwise([*cutoffs, predicted + 1])):
        smaller = size // 4 ** (k + 1)
        shapes |= {f"output.tail.{k}.0.weight": (smaller, size), f"output.tail.{k}.1.weight": (end - first, smaller)}
    return shapes


def log_probabilities(
    output: Full | Adaptive, expected: Floats, words: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Of each word in its place; so many places at once that memory stays small."""
    parts = [
        output.log_probabilities(expected[start : start + _PLACES_AT_ONCE], words[start : start + _PLACES_AT_ONCE])
        for start in range(0, len(words), _PLACES_AT_ONCE)
    ]
    return np.concatenate([np.zeros(0), *parts])


def _picked(scores: Floats, words: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Log of the softmax of each row, at one place of it."""
    largest = scores.max(1, keepdims=True)
    total = np.exp(scores - largest).sum(1, dtype=np.float64)
    chosen = scores[np.arange(len(words)), words].astype(np.float64)
    result: npt.NDArray[np.float64] = chosen - largest[:, 0] - np.log(total)
    return result
