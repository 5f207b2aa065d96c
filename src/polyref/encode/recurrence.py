"""Run an LSTM over sentences without torch: numpy, and a compiled kernel where there is one.

In:   what each word adds to the gates, the numbers of the words, the weights of one direction.
Out:  the state behind each word.
Not:  what is read and what is made of the states (context.py).

States are rounded to multiples of 2**-12, so that every matrix product is exact (grid.py); everything else works number
by number. So a sentence's states are the same bits alone and in any batch, compiled or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.encode.grid import STATE_STEP

Floats = npt.NDArray[np.float32]
Step = Callable[[Floats, Floats, npt.NDArray[np.int64], Floats, Floats], None]


@dataclass(frozen=True)
class Direction:
    """The weights of one direction: for what is read (size x gates), for the last state (states x gates), the bias."""

    read: Floats
    state: Floats
    bias: Floats


def plain_step(product: Floats, read: Floats, rows: npt.NDArray[np.int64], cell: Floats, state: Floats) -> None:
    """One step behind the matrix product, written into `cell` and `state`."""
    size = cell.shape[1]
    gates = product + read[rows]
    enter, keep, leave = (_sigmoid(gates[:, k * size : (k + 1) * size]) for k in (0, 1, 3))
    new = _tanh(gates[:, 2 * size : 3 * size])
    cell[:] = keep * cell + enter * new
    state[:] = np.rint(leave * _tanh(cell) * np.float32(1 / STATE_STEP)) * np.float32(STATE_STEP)


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


class States(NamedTuple):
    """The states of some sentences: the distinct ones, and for each word of each sentence which one is behind it."""

    distinct: Floats
    of_word: npt.NDArray[np.int64]


def run(
    direction: Direction, read: Floats, sentences: Sequence[npt.NDArray[np.int64]], step: Step, *, backwards: bool
) -> States:
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
