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
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from polyref.lattice.ranking import Candidate
from polyref.score import MAX_ORDER, BleuScale, Matches

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice


# Sentences are scored so many at a time, which the kernels like.
_BATCH = 24


class Admission:
    """Which sentences the search admits whatever their score: new ones, with marks that people set so."""

    def __init__(self, references: Sequence[tuple[int, ...]], marks: Sequence[bool]):
        self._gold = set(references)
        self._marks = marks
        self._ends = {reference[-1] for reference in references}
        self._meet = {pair for reference in references for pair in pairwise(reference) if marks[pair[0]]}

    def __contains__(self, words: tuple[int, ...]) -> bool:
        if words in self._gold:
            return False
        marks = self._marks
        if marks[words[-1]] and words[-1] not in self._ends:
            return False
        # Two marks must not meet that meet in no reference; most sentences have no two.
        if sum(map(marks.__getitem__, words)) < 2:
            return True
        return all(pair in self._meet for pair in pairwise(words) if marks[pair[0]] and marks[pair[1]])


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
        self.ended = lattice.count <= tries

    def __iter__(self) -> Iterator[Candidate]:
        numbering = self._lattice.numbering
        word, is_deterministic = self._lattice.automaton.word, self._lattice.automaton.deterministic
        admission = Admission(numbering.references, numbering.marks().tolist())
        count_matches = self._lattice.matcher()
        scale = BleuScale(map(len, numbering.references))
        seen: set[tuple[int, ...]] = set()
        while numbers := list(islice(self._numbers, _BATCH)):
            paths = list(map(self._lattice.path_of, numbers))
            spelled = [tuple([word[arc] for arc in path]) for path in paths]
            admitted = [k for k, words in enumerate(spelled) if words in admission]
            counted = count_matches([spelled[k] for k in admitted])
            for k, counts in zip(admitted, counted, strict=True):
                matches = Matches(len(spelled[k]), counts)
                order, product = matches.order, matches.product()
                if self._min_bleu and (order < MAX_ORDER or scale.value(matches.length, product) < self._min_bleu):
                    continue
                if not is_deterministic:
                    # The same sentence may have several numbers.
                    if spelled[k] in seen:
                        continue
                    seen.add(spelled[k])
                yield Candidate(tuple(paths[k]), order, product, 0, spelled[k])
