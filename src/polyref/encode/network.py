"""The language model's arithmetic without torch: the LSTM and the softmax, exact whatever the batch.

In:   weights as trained; then words as numbers, what each word adds to the gates, the weights of a folder.
Out:  weights on their grids; the state behind each word; the log-probability of each word in its place.
Not:  words, folders and vectors (context.py), training (language_model.py), the compiled step (kernels.py).

A sum of float32 products comes out the same in any order, and with any rounding on the way, if it needs no rounding:
if all its terms are multiples of one number and no part of the sum can reach 2**24 times that number. So weights,
states and expectations are whole multiples of small powers of two, and everything else works number by number. Then a
word's vector does not depend on its batch, on the number of threads, on the machine, or on whether it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

INPUT_STEP = 2.0**-11  # float16 holds all multiples of it up to 1
STATE_STEP = 2.0**-12
EXPECTATION_STEP = 2.0**-7
LARGEST_EXPECTATION = 16.0
EXACT = 2**24
_PLACES_AT_ONCE = 512

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Weights = Mapping[str, npt.NDArray[Any]]
Part = tuple[Floats, Floats, Ints, float]  # rows, what is taken from each, the row of each word, and a share
Step = Callable[[Floats, Floats, Ints, Floats, Floats], None]


# -- grids ----------------------------------------------------------------------------------------------------------


def on_grid(values: npt.NDArray[Any], step: float) -> Floats:
    """The nearest multiples of a step."""
    return (np.rint(values.astype(np.float64) / step) * step).astype(np.float32)


def for_vectors(weights: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    """Weights, one row per output, for products with unit vectors on the grid; rounding makes those a little longer."""
    longest = 1.0 + 0.5 * INPUT_STEP * np.sqrt(weights.shape[1])
    return _exact(weights, longest=longest, largest=1.0, step=INPUT_STEP)


def for_states(weights: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    """The same for products with states."""
    return _exact(weights, longest=np.sqrt(weights.shape[1]), largest=1.0, step=STATE_STEP)


def for_expectations(weights: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    """The same for products with expectations."""
    longest = LARGEST_EXPECTATION * np.sqrt(weights.shape[1])
    return _exact(weights, longest=longest, largest=LARGEST_EXPECTATION, step=EXPECTATION_STEP)


def _exact(weights: npt.NDArray[Any], *, longest: float, largest: float, step: float) -> npt.NDArray[np.float16]:
    """Weights rounded so that products are exact with vectors of multiples of `step`, no number above `largest`, in all
    no longer than `longest`: each row to multiples of the finest power of two that allows it.

    Rounding to float16 on top keeps them on their grids: its own steps are powers of two as well.
    """
    exact = weights.astype(np.float64)
    # Rounding may make a row a little larger.
    reach = _reach(exact, longest, largest) * 1.01 + exact.shape[1] * 2.0**-12
    finest = np.exp2(np.ceil(np.log2(np.maximum(reach, 2.0**-20) / (step * EXACT))))
    # Many weights of one size may all be rounded up. Steps twice as wide leave room for that.
    for steps in (finest, 2 * finest):
        rounded: npt.NDArray[np.float16] = (np.rint(exact / steps[:, None]) * steps[:, None]).astype(np.float16)
        if (_reach(rounded, longest, largest) < EXACT * steps * step).all():
            return rounded
    raise AssertionError("weights that no grid makes exact")


def _reach(weights: npt.NDArray[Any], longest: float, largest: float) -> Doubles:
    """The largest sum that each row can come to."""
    exact = np.abs(weights.astype(np.float64))
    reach: Doubles = np.minimum(exact.sum(1) * largest, np.sqrt((exact**2).sum(1)) * longest)
    return reach


# -- the recurrence -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Direction:
    """The weights of one direction: for what is read (size x gates), for the last state (states x gates), the bias."""

    read: Floats
    state: Floats
    bias: Floats

    @staticmethod
    def of(weights: Weights, side: str) -> Direction:
        read, state, bias = (weights[f"{side}.{name}"].astype(np.float32) for name in ("read", "state", "bias"))
        return Direction(np.ascontiguousarray(read.T), np.ascontiguousarray(state.T), bias)


class States(NamedTuple):
    """The states of some sentences: the distinct ones, and for each word of each sentence which one is behind it."""

    distinct: Floats
    of_word: Ints


def run(direction: Direction, read: Floats, sentences: Sequence[Ints], *, backwards: bool, compiled: bool) -> States:
    """The state behind each word of each sentence, in the order of the sentences and their words.

    A sentence begins with the boundary, or ends with it if it is read backwards. `read` has a row for each number.
    Sentences that begin alike share their states as far as they do: each beginning is worked out once.
    """
    lengths = np.array([len(sentence) for sentence in sentences])
    order = np.argsort(-lengths, kind="stable")
    # Longest first: the sentences that are still running are always the first ones, and nothing is padded.
    running = (lengths[order][None, :] > np.arange(lengths.max(initial=0))[:, None]).sum(1).tolist()
    words = np.zeros((len(running), len(sentences)), np.int64)
    for place, k in enumerate(order.tolist()):
        words[: lengths[k], place] = sentences[k][::-1] if backwards else sentences[k]
    size = direction.state.shape[0]
    state = cell = np.zeros((1, size), np.float32)
    beginning = np.zeros(len(sentences), np.int64)  # of each sentence, which of the beginnings so far it has
    numbers = np.zeros(words.shape, np.int64)  # the same for all steps, counted through
    distinct, done = [], 0
    step: Step = plain_step
    if compiled:
        from polyref.encode import kernels  # which needs the compiler

        step = kernels.step
    for t, count in enumerate(running):
        longer, beginning = np.unique(beginning[:count] * len(read) + words[t, :count], return_inverse=True)
        before, word = np.divmod(longer, len(read))
        product = state[before] @ direction.state
        cell, state = cell[before], np.empty((len(longer), size), np.float32)
        step(product, read, word, cell, state)
        distinct.append(state)
        numbers[t, :count] = done + beginning
        done += len(longer)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if backwards:
        within = np.repeat(lengths, lengths) - 1 - within
    return States(np.concatenate([state[:0], *distinct]), numbers[within, np.repeat(places, lengths)])


def plain_step(product: Floats, read: Floats, rows: Ints, cell: Floats, state: Floats) -> None:
    """One step behind the matrix product, written into `cell` and `state`; kernels.py has its compiled twin."""
    size = cell.shape[1]
    gates = product + read[rows]
    enter, keep, leave = (_sigmoid(gates[:, k * size : (k + 1) * size]) for k in (0, 1, 3))
    new = _tanh(gates[:, 2 * size : 3 * size])
    cell[:] = keep * cell + enter * new
    state[:] = np.rint(leave * _tanh(cell) * np.float32(1 / STATE_STEP)) * np.float32(STATE_STEP)


def side_by_side(parts: Sequence[Part], count: int, *, compiled: bool) -> npt.NDArray[np.float16]:
    """Vectors, one row per word, of some parts, each as long as the square root of its share."""
    halves, first = np.empty((count, sum(rows.shape[1] for rows, *_ in parts)), np.uint16), 0
    place: Callable[..., None] = place_scaled
    if compiled:
        from polyref.encode import kernels  # which needs the compiler

        place = kernels.place_scaled
    for rows, centre, places, share in parts:
        place(rows, centre, np.sqrt(share), places, halves, first)
        first += rows.shape[1]
    return halves.view(np.float16)


def place_scaled(
    rows: Floats, centre: Floats, length: float, places: Ints, halves: npt.NDArray[np.uint16], first: int
) -> None:
    """Rows less the centre, scaled to this length, as the bits of float16 numbers: each in its places.

    The squares are exact in float64, and so is their sum. kernels.py has the compiled twin.
    """
    centred = rows - centre
    squares = np.einsum("ij,ij->i", centred, centred, dtype=np.float64)
    factors = (length / np.sqrt(np.maximum(squares, 1e-30))).astype(np.float32)
    scaled = (centred * factors[:, None]).astype(np.float16)
    halves[:, first : first + rows.shape[1]] = scaled.view(np.uint16)[places]


def _tanh(x: Floats) -> Floats:
    """To 1e-6: the continued fraction of half the angle, five levels deep, and tanh 2t = 2 tanh t / (1 + tanh t ** 2).

    Only sums, products and quotients, which every machine computes alike.
    """
    t = np.minimum(np.maximum(x * np.float32(0.5), np.float32(-4.5)), np.float32(4.5))
    s = t * t
    above = t * (34459425.0 + s * (4729725.0 + s * (135135.0 + s * (990.0 + s))))
    below = 34459425.0 + s * (16216200.0 + s * (945945.0 + s * (13860.0 + s * 45.0)))
    half: Floats = above / below
    doubled: Floats = 2.0 * half / (1.0 + half * half)
    return doubled


def _sigmoid(x: Floats) -> Floats:
    result: Floats = 0.5 + 0.5 * _tanh(x * np.float32(0.5))
    return result


# -- predicting words -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    """What predicts words from the states around them: a projection, then one softmax over all words; or over the
    frequent words and the clusters of rarer ones, with a softmax in each cluster."""

    projection: Floats  # both states x size
    projection_bias: Floats
    head: Floats  # (words + clusters) x size
    bias: Floats | None
    tails: tuple[tuple[Floats, Floats], ...]  # for each cluster: smaller x size, words x smaller
    cutoffs: tuple[int, ...]  # where the clusters begin, and where the last one ends

    @staticmethod
    def of(weights: Weights, predicted: int, cutoffs: Sequence[int] | None) -> Output:
        def array(name: str) -> Floats:
            return weights[name].astype(np.float32)

        projection = np.ascontiguousarray(array("projection.weight").T), array("projection.bias")
        if cutoffs is None:
            return Output(*projection, array("output.weight"), array("output.bias"), (), (predicted + 1,))
        tails = [(array(f"output.tail.{k}.0.weight"), array(f"output.tail.{k}.1.weight")) for k in range(len(cutoffs))]
        return Output(*projection, array("output.head.weight"), None, tuple(tails), (*cutoffs, predicted + 1))

    def log_probabilities(self, around: Floats, words: Ints) -> Doubles:
        """Of each word, given the states around its place. Some places at a time: memory stays small."""
        parts = [
            self._some(around[start : start + _PLACES_AT_ONCE], words[start : start + _PLACES_AT_ONCE])
            for start in range(0, len(words), _PLACES_AT_ONCE)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _some(self, around: Floats, words: Ints) -> Doubles:
        expected = _bounded(around @ self.projection + self.projection_bias)
        cluster = np.searchsorted(self.cutoffs, words, side="right")  # 0: a frequent word
        scores = expected @ self.head.T
        if self.bias is not None:
            scores += self.bias
        found = _picked(scores, np.where(cluster == 0, words, self.cutoffs[0] + cluster - 1))
        for k, (smaller, weight) in enumerate(self.tails):
            inside = cluster == k + 1
            if inside.any():
                scores = _bounded(expected[inside] @ smaller.T) @ weight.T
                found[inside] += _picked(scores, words[inside] - self.cutoffs[k])
        return found


def output_shapes(predicted: int, size: int, cutoffs: Sequence[int] | None) -> dict[str, tuple[int, ...]]:
    """The arrays that predict words from expectations, as a folder holds them."""
    if cutoffs is None:
        return {"output.weight": (predicted + 1, size), "output.bias": (predicted + 1,)}
    shapes: dict[str, tuple[int, ...]] = {"output.head.weight": (cutoffs[0] + len(cutoffs), size)}
    for k, (first, end) in enumerate(pairwise([*cutoffs, predicted + 1])):
        smaller = size // 4 ** (k + 1)
        shapes |= {f"output.tail.{k}.0.weight": (smaller, size), f"output.tail.{k}.1.weight": (end - first, smaller)}
    return shapes


def _bounded(expected: Floats) -> Floats:
    """On the grid, and no larger than the exactness of the products allows."""
    return np.clip(on_grid(expected, EXPECTATION_STEP), -LARGEST_EXPECTATION, LARGEST_EXPECTATION)


def _picked(scores: Floats, words: Ints) -> Doubles:
    """Log of the softmax of each row, at one place of it."""
    largest = scores.max(1, keepdims=True)
    total = np.exp(scores - largest).sum(1, dtype=np.float64)
    chosen = scores[np.arange(len(words)), words].astype(np.float64)
    result: Doubles = chosen - largest[:, 0] - np.log(total)
    return result
