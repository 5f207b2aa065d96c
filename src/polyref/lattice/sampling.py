"""Draw new sentences of a lattice, uniformly and each at most once.

In:   a lattice, a floor, and a source of chance.
Out:  sentences that are no gold reference and that the search would admit too, one after the other.
Not:  the best ones (search.py), how many are drawn and for what (fresh.py).

Every sentence has a number, so a draw is a number that was not drawn yet: it needs no list of the lattice, repeats
nothing, and ends where the lattice does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from polyref.lattice.ranking import Candidate
from polyref.score import MAX_ORDER, BleuScale, Matches, NgramTrie

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice


class Admission:
    """Which sentences are admitted, as the search has it: new ones, above the floor, with marks that people set so."""

    def __init__(self, references: Sequence[tuple[int, ...]], marks: Sequence[bool], lowest_order: int):
        self.trie = NgramTrie(references)
        self._gold = set(references)
        self._ends = {reference[-1] for reference in references}
        self._marks = marks
        self._any_marks = any(marks)
        self._lowest_order = lowest_order

    def matches(self, words: tuple[int, ...]) -> Matches | None:
        """What a sentence shares with the references; None if it is not admitted whatever its score."""
        if words in self._gold or (self._any_marks and not self._is_punctuated(words)):
            return None
        matches = Matches(len(words), self.trie.matches(words))
        return None if matches.order < self._lowest_order else matches

    def _is_punctuated(self, words: tuple[int, ...]) -> bool:
        """Whether no two marks meet that meet in no reference, and none is the end that ends no reference."""
        marks = self._marks
        if marks[words[-1]] and words[-1] not in self._ends:
            return False
        return not any(marks[last] and marks[word] and (last, word) not in self.trie for last, word in pairwise(words))


def numbers_once(count: int, generator: random.Random) -> Iterator[int]:
    """The numbers below `count` in a random order. It costs only what is taken of it, however large the count is."""
    moved: dict[int, int] = {}  # where the numbers stand that no longer stand in their own place
    left = count
    while left:
        place = generator.randrange(left)
        left -= 1
        last = moved.pop(left, left)
        if place == left:
            yield last
        else:
            yield moved.get(place, place)
            moved[place] = last


class Draws:
    """Sentences of a lattice that score at least `min_bleu`, in a random order; none comes twice.

    At most `tries` sentences are looked at. `ended` says, once nothing more comes, whether that was all of the lattice.
    """

    def __init__(self, lattice: Lattice, generator: random.Random, *, min_bleu: float, tries: int):
        self._lattice = lattice
        self._min_bleu = min_bleu
        self._numbers = islice(numbers_once(lattice.count, generator), tries)
        self._seen: set[tuple[int, ...]] = set()
        self.ended = lattice.count <= tries

    def __iter__(self) -> Iterator[Candidate]:
        automaton = self._lattice.automaton
        for number in self._numbers:
            path = self._lattice.path_of(number)
            words = tuple([automaton.word[arc] for arc in path])
            matches = self._admission.matches(words)
            if matches is None or (self._min_bleu and not self._reaches(matches)):
                continue
            if not automaton.deterministic:
                # The same sentence may have several numbers.
                if words in self._seen:
                    continue
                self._seen.add(words)
            yield Candidate(tuple(path), matches.order, matches.product(), 0, words)

    def _reaches(self, matches: Matches) -> bool:
        return self._scale.value(matches.length, matches.product()) >= self._min_bleu

    @cached_property
    def _admission(self) -> Admission:
        numbering = self._lattice.numbering
        return Admission(numbering.references, numbering.marks().tolist(), MAX_ORDER if self._min_bleu else 1)

    @cached_property
    def _scale(self) -> BleuScale:
        return BleuScale(map(len, self._lattice.numbering.references))
