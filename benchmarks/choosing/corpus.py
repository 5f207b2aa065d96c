"""What the gold references of a whole file tell: which words are common, which words stand for each other.

In:   for each example of the file, its references as words.
Out:  in how many examples a word occurs; for two words, whether they are said of the same thing (each in another
      reference of one example) and whether one reference says both.
Not:  judging a sentence (rules.py), what the file tells about seams (polyref.judge.seams).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from polyref.text.tokens import is_mark

MOST_WORDS = 3000  # for which pairs are counted

References = Sequence[Sequence[str]]


@lru_cache(maxsize=1 << 16)
def parts(word: str) -> tuple[str, ...]:
    """What is compared: "family-friendly" is two words, punctuation is none."""
    return tuple([piece for piece in word.split("-") if piece and not is_mark(piece)])


@dataclass(frozen=True)
class Pairs:
    """Of words a and b, summed over the examples that have both in some reference:

    `together`: references with both; `expected`: how many there were if the two were spread over the references
    independently; `across`: pairs of different references, one with a, the other with b.
    """

    row: dict[str, int]
    together: npt.NDArray[np.float32]
    expected: npt.NDArray[np.float32]
    across: npt.NDArray[np.float32]
    single: npt.NDArray[np.float64]  # references with the word, each counted once per other reference
    chances: float  # pairs of different references in all


@dataclass(frozen=True)
class Corpus:
    """The counts of one file."""

    examples: int
    frequency: Counter[str]  # examples with a word
    said: Counter[str]  # references with a word
    said_again: Counter[str]  # references that have it more than once
    pairs: Pairs

    @staticmethod
    def of(examples: Iterable[References]) -> Corpus:
        frequency: Counter[str] = Counter()
        once: Counter[str] = Counter()
        again: Counter[str] = Counter()
        said = []
        for references in examples:
            for one in references:
                counts = Counter(part for word in one for part in parts(word))
                once.update(counts.keys())
                again.update([part for part, count in counts.items() if count > 1])
            sets = [frozenset(part for word in one for part in parts(word)) for one in references]
            frequency.update(frozenset().union(*sets))
            said.append(sets)
        return Corpus(len(said), frequency, once, again, _pairs(said, frequency))

    def lift(self, a: str, b: str) -> float:
        """How much likelier a reference says a, if another one of the example says b."""
        pairs = self.pairs
        i, j = pairs.row.get(a), pairs.row.get(b)
        if i is None or j is None:
            return 0.0
        return float(pairs.across[i, j] * pairs.chances / max(pairs.single[i] * pairs.single[j], 1.0))

    def exclusion(self, a: str, b: str, own: float = 0.0) -> float:
        """log of how much rarer one reference says both than chance has it; 0 without evidence.

        `own` is what the example itself adds to the expected number.
        """
        pairs = self.pairs
        i, j = pairs.row.get(a), pairs.row.get(b)
        if i is None or j is None:
            return 0.0
        return float(np.log((max(pairs.expected[i, j] - own, 0) + 1) / (pairs.together[i, j] + 1)))


def _pairs(said: Sequence[Sequence[frozenset[str]]], frequency: Counter[str]) -> Pairs:
    words = sorted([word for word, count in frequency.items() if count > 1], key=lambda w: (-frequency[w], w))
    row = {word: number for number, word in enumerate(words[:MOST_WORDS])}
    size = len(row)
    together, expected, across = (np.zeros((size, size), np.float32) for _ in range(3))
    single, chances = np.zeros(size), 0.0
    for sets in said:
        used = sorted({row[word] for one in sets for word in one if word in row})
        place = {number: k for k, number in enumerate(used)}
        has = np.zeros((len(sets), len(used)), np.float32)
        for k, one in enumerate(sets):
            has[k, [place[row[word]] for word in one if word in row]] = 1
        counts, both, others = has.sum(0), has.T @ has, len(sets) - 1
        grid = np.ix_(used, used)
        together[grid] += both
        expected[grid] += np.outer(counts, counts) / len(sets)
        across[grid] += np.outer(counts, counts) - both
        single[used] += counts * others
        chances += len(sets) * others
    return Pairs(row, together, expected, across, single, chances)
