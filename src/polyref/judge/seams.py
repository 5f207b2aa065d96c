"""How well a sentence holds together where it changes from one reference to another.

In:   lattices, sentences of each as words, what is known of the file's words, a language model.
Out:  the risk of each sentence: 0 is what gold references have, higher is worse. Above a limit, leave it out.
Not:  what a sentence says (content.py), the language model (encode/), the search (lattice/).

Every word of a sentence stands in a reference, too. If a change fits, the word is about as likely as there, and the
model is in about the same states. Nobody needs to know which place: each word is compared with the same word in all
references.

    drop   how much less likely it is, as log p(word | all the others), than where the references have it least likely
    shift  the distance of its states from those at the nearest place: 1 - cosine, of what comes before the word or of
           what comes behind it, whichever is further
    risk   the sum over all words of drop + 3 shift; words that are not common in the file count half

Grammar is in the common words and the marks. The numbers were fitted on benchmarks/choosing with the built-in model,
then rounded; another model may need another limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import fsum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from polyref.encode import Reading
from polyref.judge.usage import Usage
from polyref.lattice import Lattice
from polyref.text.tokens import is_mark

LIMIT = 4.0
SHIFT_WEIGHT = 3.0
WEIGHT_OF_OTHERS = 0.5  # of words that are not common
_AT_ONCE = 640  # sentences that are read together: more are hardly faster, and their states need memory

Floats = npt.NDArray[np.float64]
States = npt.NDArray[np.float32]
Words = Sequence[str]


@runtime_checkable
class SeamModel(Protocol):
    """A language model that tells what it makes of each word; the same whatever other sentences are asked about."""

    def readings(self, sentences: Sequence[Sequence[str]]) -> list[Reading]: ...


def _weight(word: str, usage: Usage) -> float:
    return 1.0 if is_mark(word) or word.casefold() in usage.common else WEIGHT_OF_OTHERS


def risks(
    lattices: Sequence[Lattice], sentences: Sequence[Sequence[tuple[str, ...]]], usage: Usage, model: SeamModel
) -> list[list[float]]:
    """For each lattice, the risk of each of its sentences, to four digits. References are read once."""
    found: list[list[float]] = []
    for block in _blocks(lattices, sentences):
        readings = iter(model.readings([words for golds, own in block for words in (*golds, *own)]))
        for golds, own in block:
            if not own:
                found.append([])
                continue
            there, here = _Places.of(golds, readings), _Places.of(own, readings)
            each = iter(_word_risks(here, there, usage).tolist())
            found.append([round(fsum(islice(each, len(words))), 4) for words in own])
    return found


def _blocks(
    lattices: Sequence[Lattice], sentences: Sequence[Sequence[tuple[str, ...]]]
) -> Iterator[list[tuple[list[Words], Sequence[Words]]]]:
    """The references and the sentences of some lattices at a time. Without sentences, references are not needed."""
    block: list[tuple[list[Words], Sequence[Words]]] = []
    size = 0
    for lattice, own in zip(lattices, sentences, strict=True):
        golds: list[Words] = [lattice.tokens[gold].words for gold in lattice.numbering.firsts] if own else []
        block.append((golds, own))
        size += len(golds) + len(own)
        if size >= _AT_ONCE:
            yield block
            block, size = [], 0
    if block:
        yield block


class _Places(NamedTuple):
    """The words of some sentences, one after another."""

    rows: dict[str, list[int]]  # of each distinct word
    log_probabilities: Floats
    sides: tuple[States, States]  # the states in which the word was read forwards and backwards

    @staticmethod
    def of(sentences: Sequence[Words], readings: Iterator[Reading]) -> _Places:
        rows: dict[str, list[int]] = {}
        for row, word in enumerate([word for words in sentences for word in words]):
            rows.setdefault(word, []).append(row)
        some = list(islice(readings, len(sentences)))
        sides = np.concatenate([one.forward for one in some]), np.concatenate([one.backward for one in some])
        return _Places(rows, np.concatenate([one.log_probabilities for one in some]), sides)


def _word_risks(here: _Places, there: _Places, usage: Usage) -> Floats:
    """What each word of the sentences adds."""
    found = np.zeros(len(here.log_probabilities))
    for word, rows in here.rows.items():
        golds = there.rows[word]
        drop = np.maximum(there.log_probabilities[golds].min() - here.log_probabilities[rows], 0.0)
        sides = zip(here.sides, there.sides, strict=True)
        forward, backward = (_distances(own[rows], gold[golds]) for own, gold in sides)
        found[rows] = _weight(word, usage) * (drop + SHIFT_WEIGHT * np.maximum(forward, backward).min(1))
    return found


def _distances(states: States, others: States) -> Floats:
    """1 - cosine of every two rows.

    The built-in model's states are multiples of 2**-12, so their products are exact, whatever the order of the sum.
    """
    left, right = states.astype(np.float64), others.astype(np.float64)
    lengths, of_others = (np.sqrt(np.einsum("ij,ij->i", rows, rows)) for rows in (left, right))
    cosines = (left @ right.T) / np.maximum(lengths[:, None] * of_others, 1e-12)
    distances: Floats = np.maximum(1.0 - cosines, 0.0)
    return distances
