"""What the gold references of a file tell about its words: which are said twice, and which stand for each other.

In:   the references of some examples, as words.
Out:  Usage: words that people often say twice in one reference; pairs of words of which a reference says one or the
      other ("cheap" and "inexpensive", "two" and "couple"). All that is known of words as tables for the kernels.
Not:  judging a sentence (content.py).

Nothing here knows a language. Two words are alternatives if references of one example often have one of them each, and
one reference has both much more rarely than it would by chance.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import e, inf
from threading import local
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.align.veto import traits_of
from polyref.text.tokens import is_mark

EXAMPLES_READ = 1000  # the first ones of a file: enough to know its words, and soon read
MOST_AGAIN = 10  # a word may be repeated if more than one in so many references that say it say it again
MOST_WORDS = 1000  # the commonest, of which pairs are counted
ENOUGH = 20  # references with a word that tell whether it is repeated
SHORT = 3  # letters
MOST_KEPT = 1 << 16  # words whose relatives are kept
_AT_ONCE = 2_000_000  # pairs of words that are summed together: some 60 MB
COMMON_WORDS = 60  # in which grammar is: "a", "is", "of"
STEM = 4  # letters that words of one stem share at least
ENDING = 3  # letters that they differ in at most
LIFT = 1.2  # how much likelier a reference says one word if another reference of the example says the other

BRACKETS = dict(zip("([{（［｛「『《〈【‘‹", ")]}）］｝」』》〉】’›", strict=True))
# Quotes that come in pairs, whichever opens: English has “...”, German „...“, French «...» and »...«.
QUOTES = ('"', "„“”", "«»")
_PAIRED = frozenset([*BRACKETS, *BRACKETS.values(), *"".join(QUOTES)])


@lru_cache(maxsize=1 << 16)
def parts(word: str) -> tuple[str, ...]:
    """What is compared: "Family-friendly" is two words, punctuation is none."""
    return tuple([piece for piece in word.casefold().split("-") if piece and not is_mark(piece)])


class Facts(NamedTuple):
    """What is known of a word by itself."""

    parts: tuple[str, ...]
    negates: bool
    is_mark: bool
    is_paired: bool  # a bracket or a quote


@lru_cache(maxsize=1 << 16)
def facts_of(word: str) -> Facts:
    negates = any(traits_of(part, ("negation",))[0] == "not" for part in (word, *parts(word)))
    return Facts(parts(word), negates, is_mark(word), word in _PAIRED)


class _OfThread(local):
    tables: WordTables | None = None


@dataclass(frozen=True)
class Usage:
    """What is known of a file's words; without any, nothing.

    `repeated` tells whether people often say a word twice in one reference, where enough references have it. `common`
    are the words that most examples have, with the number of those.
    `alternatives` has for each word those that stand for it, with the evidence: how many more references than it takes
    were expected to have both, had words been drawn by chance. An example's own references are no evidence.
    """

    repeated: Mapping[str, bool] = field(default_factory=dict)
    common: Mapping[str, int] = field(default_factory=dict)
    alternatives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        # What is remembered stays behind when a copy goes to another process.
        return Usage, (self.repeated, self.common, self.alternatives)

    def may_repeat(self, word: str) -> bool:
        """Whether people may say a word twice in one reference. Without evidence: short words, as in "a" and "of"."""
        known = self.repeated.get(word)
        return len(word) <= SHORT and word.upper() != word.lower() if known is None else known

    @cached_property
    def relatives(self) -> Relatives:
        """For each word, those that count as the same in an example; see there."""
        return Relatives(self)

    @property
    def tables(self) -> WordTables:
        """What is known of each word, for the kernels. Each thread has its own: words are added, and kernels write."""
        own = self._of_thread
        if own.tables is None:
            own.tables = WordTables(self)
        return own.tables

    @cached_property
    def _of_thread(self) -> _OfThread:
        return _OfThread()

    @staticmethod
    def of(examples: Iterable[Sequence[Sequence[str]]]) -> Usage:
        """What the first examples tell."""
        said: Counter[str] = Counter()
        again: Counter[str] = Counter()
        frequency: Counter[str] = Counter()
        kept: list[list[frozenset[str]]] = []
        for references in islice(examples, EXAMPLES_READ):
            sets = []
            for reference in references:
                heard = list(chain.from_iterable(map(parts, reference)))
                once = frozenset(heard)
                said.update(once)
                if len(once) < len(heard):
                    again.update([part for part in once if heard.count(part) > 1])
                sets.append(once)
            frequency.update(frozenset().union(*sets))
            kept.append(sets)
        repeated = {word: MOST_AGAIN * again[word] > n for word, n in sorted(said.items()) if n >= ENOUGH}
        # Of words that are equally common, the first ones by the alphabet: sets have no order.
        words = sorted(frequency, key=lambda word: (-frequency[word], word))
        common = {word: frequency[word] for word in words[:COMMON_WORDS]}
        known = [word for word in words[:MOST_WORDS] if frequency[word] > 1]
        return Usage(repeated, common, _alternatives(kept, known))


class Relatives(dict[str, dict[str, float]]):
    """For each word that was learned those of its stem, and those that stand for it with their evidence: a stem needs
    none. A word that people repeat stands for no other.
    """

    def __init__(self, usage: Usage):
        super().__init__()
        self._usage = usage
        self._stems: dict[str, list[str]] = {}
        self.alternatives: dict[str, dict[str, float]] = {}
        for word, others in usage.alternatives.items():
            for other, evidence in others.items():
                if not usage.may_repeat(word) and not usage.may_repeat(other):
                    for one, two in ((word, other), (other, word)):
                        known = self.alternatives.setdefault(one, {})
                        known[two] = max(evidence, known.get(two, evidence))

    def learn(self, words: Set[str]) -> None:
        """Know the relatives that the words of an example have among them."""
        if words <= self.keys():
            return
        if len(self) > MOST_KEPT:
            self.clear()
            self._stems.clear()
        for word in [word for word in words if word not in self]:
            self[word] = {}
            if not self._usage.may_repeat(word):
                self[word] |= self.alternatives.get(word, {})
                stem = self._stems.setdefault(word[:STEM], []) if len(word) >= STEM else []
                for other in stem:
                    if is_one_stem(word, other):
                        self[word][other] = self[other][word] = inf
                stem.append(word)


def is_one_stem(a: str, b: str) -> bool:
    """Whether two words share a stem, as "moderate" and "moderately" do."""
    if len(a) > len(b):
        a, b = b, a
    shared = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    return shared >= STEM and len(b) - shared <= ENDING


def _alternatives(examples: Sequence[Sequence[frozenset[str]]], words: Sequence[str]) -> dict[str, dict[str, float]]:
    """Pairs of words with their evidence. What is not a whole number is summed in a fixed order."""
    row = {word: number for number, word in enumerate(words)}
    size = len(row)
    # For each pair of words: references with both, pairs of references with one each, references expected with both.
    together, across, expected = (np.zeros(size * size) for _ in range(3))
    single, chances = np.zeros(size), 0
    waiting: list[tuple[npt.NDArray[Any], ...]] = []
    held = 0
    for number, sets in enumerate(examples, 1):
        known = [[row[word] for word in one if word in row] for one in sets]
        used = sorted(set().union(*known))
        place = {row_number: k for k, row_number in enumerate(used)}
        has = np.zeros((len(sets), len(used)), np.int64)
        for k, one in enumerate(known):
            has[k, [place[row_number] for row_number in one]] = 1
        counts, both, others = has.sum(0), has.T @ has, len(sets) - 1
        pairs = counts[:, None] * counts
        rows = np.array(used, np.int64)
        cells = rows[:, None] * size + rows
        waiting.append((cells.ravel(), both.ravel(), (pairs - both).ravel(), (pairs / len(sets)).ravel()))
        single[rows] += counts * others
        chances += len(sets) * others
        held += len(rows) ** 2
        if held > _AT_ONCE or number == len(examples):
            where, *sums = map(np.concatenate, zip(*waiting, strict=True))
            for total, added in zip((together, across, expected), sums, strict=True):
                total += np.bincount(where, added, size * size)
            waiting, held = [], 0
    evidence = expected + 1 - e * (together + 1)
    standing = (evidence >= 0) & (across * chances >= LIFT * np.outer(single, single).ravel())
    standing[:: size + 1] = False
    found: dict[str, dict[str, float]] = {}
    for cell in np.flatnonzero(standing).tolist():
        found.setdefault(words[cell // size], {})[words[cell % size]] = float(evidence[cell])
    return found


# -- for the kernels --------------------------------------------------------------------------------------------------


class WordTables(dict[str, int]):
    """The row of each word, made when it is first asked for; the kernels' `Tables` tells what the tables hold."""

    def __init__(self, usage: Usage):
        super().__init__()
        self._usage = usage
        self._begin()

    def _begin(self) -> None:
        self.clear()
        self.paired: set[int] = set()  # the rows of brackets and quotes
        self._parts: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._flags, self._parts_first, self._of_word = array("B"), array("i", [0]), array("i")
        self._part_flags, self._stem = array("B"), array("i")
        self._letters_first, self._letters = array("i", [0]), array("i")
        # Words that have alternatives come first, so that the list of those never grows.
        known = self._usage.relatives.alternatives
        rows = [self._part(word) for word in known]
        others = [(self._part(other), evidence) for word in known for other, evidence in known[word].items()]
        ends = np.cumsum([0, *[len(known[word]) for word in known]], dtype=np.int64)
        assert rows == list(range(len(known)))
        self._others = (
            ends,
            np.array([row for row, _ in others], np.int32),
            np.array([evidence for _, evidence in others], np.float64),
        )
        self._arrays: tuple[npt.NDArray[Any], ...] | None = None

    def __missing__(self, word: str) -> int:
        facts, row = facts_of(word), len(self)
        self._flags.append(facts.negates | facts.is_mark << 1 | facts.is_paired << 2)
        self._of_word.extend([self._part(part) for part in facts.parts])
        self._parts_first.append(len(self._of_word))
        if facts.is_paired:
            self.paired.add(row)
        self._arrays = None
        self[word] = row
        return row

    def _part(self, part: str) -> int:
        row = self._parts.setdefault(part, len(self._parts))
        if row == len(self._stem):
            may_repeat = self._usage.may_repeat(part)
            self._part_flags.append(may_repeat | bool(self._usage.repeated.get(part)) << 1)
            has_stem = len(part) >= STEM and not may_repeat
            self._stem.append(self._stems.setdefault(part[:STEM], len(self._stems)) if has_stem else -1)
            self._letters.extend(map(ord, part))
            self._letters_first.append(len(self._letters))
        return row

    def rows(self, words: Sequence[str]) -> list[int]:
        """The rows of some words, which are known from now on."""
        if len(self) > MOST_KEPT:
            self._begin()
        return list(map(self.__getitem__, words))

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The tables, in the order in which the kernels' `Tables` has them."""
        if self._arrays is None:
            columns = (
                self._flags, self._parts_first, self._of_word,
                self._part_flags, self._stem, self._letters_first, self._letters,
            )  # fmt: skip
            numbers = np.full(len(self._stem), -1, np.int32)  # for the kernel to write to
            self._arrays = (*map(np.array, columns), numbers, *self._others)
        return self._arrays
