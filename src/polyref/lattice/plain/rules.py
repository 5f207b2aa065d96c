"""What a sentence must say and must not say, and how often it changes from one reference to another.

In:   rules: which words add to a counter, and what it must hold at the end; which words are the same but for case.
Out:  while a sentence grows, whether it can still pass; of a whole sentence, the rule that it breaks.
Not:  which rules an example has (judge/), the walk through the lattice (search.py).

A branch ends as soon as a counter that cannot fall holds too much, or where a word that must come cannot come any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import islice
from operator import or_
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.lattice.plain.product import Product

# Why a sentence is left out: it says too much or too little of something, its marks are not balanced, or it differs
# from a gold reference by punctuation and case alone.
CAUSES = ("twice", "lost", "marks", "same")
TWICE, LOST, MARKS, SAME = range(4)
NO_LIMIT = 2**31 - 1
_MOST_WATCHED = 64  # words that must come are watched by the bits of one number; further ones are missed at the end


class Rule(NamedTuple):
    """A counter: each of `adding` adds 1 to it, each of `taking` takes 1 away; a word may stand there several times.

    At the end it must hold at least `least` and at most `most`. With `parity`, only whether it is odd counts. The cause
    is MARKS, or TWICE, which too little turns into LOST.
    """

    cause: int
    least: int
    most: int
    adding: tuple[int, ...]
    taking: tuple[int, ...] = ()
    parity: bool = False

    @property
    def falls(self) -> bool:
        return bool(self.taking) or self.parity

    def holds(self, words: Sequence[int]) -> int:
        """What the counter holds at the end of a sentence."""
        held = sum(map(words.count, self.adding)) - sum(map(words.count, self.taking))
        return held % 2 if self.parity else held

    def cause_of(self, held: int) -> int:
        """Why a sentence is left out with which the counter holds so much."""
        return LOST if self.cause == TWICE and held < self.least else self.cause


Shared = tuple[tuple[tuple[int, ...], int], ...]


class Rules:
    """The rules of one example, over its numbered words.

    `same` has for each word the first one that differs by case alone, and -1 for punctuation. `shared` is what most of
    the references say: words that count as one, and how many references say one of them. The kernels read the arrays:
    all rules behind each other; same; what is shared, with the sum of its counts before it. Either is made from the
    other when it is asked for.
    """

    def __init__(self, rules: tuple[Rule, ...], same: tuple[int, ...], shared: Shared = ()):
        self.rules, self.same, self.shared = rules, same, shared

    @classmethod
    def of_arrays(cls, *arrays: npt.NDArray[np.int32]) -> Rules:
        made = cls.__new__(cls)
        made.arrays = arrays
        return made

    @cached_property
    def arrays(self) -> tuple[npt.NDArray[np.int32], ...]:
        shared = [sum([count for _, count in self.shared])] if self.shared else []
        for words, count in self.shared:
            shared += (count, len(words), *words)
        return numbered(self.rules), np.array(self.same, np.int32), np.array(shared, np.int32)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        found, numbers = [], iter(self.arrays[0].tolist())
        for cause, least, most, parity, adding, taking in zip(*[numbers] * 6, strict=False):
            words = tuple(islice(numbers, adding)), tuple(islice(numbers, taking))
            found.append(Rule(cause, least, most, *words, parity=bool(parity)))
        return tuple(found)

    @cached_property
    def same(self) -> tuple[int, ...]:
        return tuple(self.arrays[1].tolist())

    @cached_property
    def shared(self) -> Shared:
        numbers = iter(self.arrays[2].tolist()[1:])
        return tuple([(tuple(islice(numbers, words)), count) for count, words in zip(numbers, numbers, strict=False)])

    def core(self, words: Iterable[int]) -> tuple[int, ...]:
        """What is left of a sentence without punctuation and case. Of sentences with one core, only the best is new."""
        same = self.same
        return tuple([same[word] for word in words if same[word] >= 0])

    def broken(self, words: Sequence[int]) -> Rule | None:
        """The first rule that a sentence breaks."""
        return next((rule for rule in self.rules if not rule.least <= rule.holds(words) <= rule.most), None)

    def covered(self, words: Sequence[int]) -> int:
        """What a sentence says of what most references share: each of it counts as many as there are that say it."""
        return sum([count for alike, count in self.shared if not set(alike).isdisjoint(words)])

    def contents(self, covered: Sequence[int]) -> list[float] | None:
        """The same as shares of all that they share; None if that is nothing."""
        shared = self.arrays[2]
        return [share(one, int(shared[0])) for one in covered] if len(shared) else None

    @cached_property
    def steps(self) -> list[list[tuple[int, int]]]:
        """For each word, the counters that it moves, and by how much."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.same]
        for number, rule in enumerate(self.rules):
            for words, step in ((rule.adding, 1), (rule.taking, -1)):
                for word in words:
                    before = found[word].pop()[1] if found[word] and found[word][-1][0] == number else 0
                    found[word].append((number, before + step))
        return found

    @cached_property
    def watched(self) -> list[int]:
        """The rules whose words must come."""
        needing = [number for number, rule in enumerate(self.rules) if rule.least > 0 and not rule.falls]
        return needing[:_MOST_WATCHED]

    @cached_property
    def bits(self) -> list[int]:
        """For each word, the watched rules that it serves, one bit each."""
        found = [0] * len(self.same)
        for bit, number in enumerate(self.watched):
            for word in self.rules[number].adding:
                found[word] |= 1 << bit
        return found


@lru_cache(maxsize=1 << 12)
def share(covered: int, total: int) -> float:
    """What a sentence covers of a total, in four digits."""
    return round(covered / total, 4)


def numbered(rules: Iterable[Rule]) -> npt.NDArray[np.int32]:
    """Rules as numbers, all behind each other: six for each, and the numbers of their words."""
    numbers: list[int] = []
    for cause, least, most, adding, taking, parity in rules:
        numbers += (cause, least, most, parity, len(adding), len(taking), *adding, *taking)
    return np.array(numbers, np.int32)


class Standing:
    """How a growing sentence stands with the rules. Each step forward is taken back in turn."""

    def __init__(self, rules: Rules, product: Product, words: Sequence[int]):
        self.rules = rules
        self.held = [0] * len(rules.rules)
        self.said = [0]  # for each number of words, the watched rules that are served
        self.left_out = [0] * len(CAUSES)
        self._all = reduce(or_, rules.bits, 0)
        # For each state, what can still be said behind it.
        self._reach = [0] * product.states
        for state in range(product.states - 1, -1, -1):
            for arc in range(product.first[state], product.first[state + 1]):
                self._reach[state] |= rules.bits[words[product.arc[arc]]] | self._reach[product.target[arc]]

    def forward(self, word: int, target: int) -> bool:
        """Say a word that leads to a state. False, and nothing is said, where no sentence behind it can pass."""
        rules, cause = self.rules.rules, -1
        for number, step in self.rules.steps[word]:
            self.held[number] += step
            if cause < 0 and self.held[number] > rules[number].most and not rules[number].falls:
                cause = rules[number].cause
        said = self.said[-1] | self.rules.bits[word]
        if cause < 0 and said | self._reach[target] != self._all:
            cause = LOST
        self.said.append(said)
        if cause >= 0:
            self.left_out[cause] += 1
            self.back(word)
        return cause < 0

    def back(self, word: int) -> None:
        self.said.pop()
        for number, step in self.rules.steps[word]:
            self.held[number] -= step

    def passes(self) -> bool:
        """Whether the sentence may end here."""
        for rule, held in zip(self.rules.rules, self.held, strict=True):
            if not rule.least <= (held % 2 if rule.parity else held) <= rule.most:
                self.left_out[rule.cause_of(held)] += 1
                return False
        return True


class Pieces:
    """Cuts a sentence into as few pieces as possible, each of which stands in one reference.

    A place in a reference is a bit: of a piece, all places are known where its last word may stand.
    """

    def __init__(self, references: Iterable[Sequence[int]]):
        self._places: dict[int, int] = {}
        starts, self._ends, place = 0, 0, 1
        for reference in references:
            starts |= 1 << place
            for word in reference:
                self._places[word] = self._places.get(word, 0) | 1 << place
                place += 1
            self._ends |= 1 << (place - 1)
            place += 1  # a gap, so that no piece runs on into the next reference
        self.start = (starts >> 1, 0)  # where a piece stands before the first word, and the crossings so far

    def forward(self, at: tuple[int, int], word: int) -> tuple[int, int]:
        places, crossings = at
        here = self._places[word]
        goes_on = (places << 1) & here
        return (goes_on, crossings) if goes_on else (here, crossings + 1)

    def at_end(self, at: tuple[int, int]) -> int:
        """The crossings of a sentence that ends here: one more where no reference ends."""
        return at[1] + (not at[0] & self._ends)

    def crossings(self, words: Iterable[int]) -> int:
        """How often a sentence changes from one reference to another, at least."""
        at = self.start
        for word in words:
            at = self.forward(at, word)
        return self.at_end(at)
