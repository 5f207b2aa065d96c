"""Draw sentences of a lattice at random: new ones, each at most once; or the best of some, where a search is too much.

In:   an automaton of sentences, the references, and a source of chance.
Out:  sentences that are no gold reference and that the search would admit too.
Not:  the exact search (search.py), how many are drawn and for what (fresh.py).

Every sentence has a number, so a draw is a number that was not drawn yet: it needs no list of the lattice, repeats
nothing, and ends where the lattice does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from polyref.lattice.plain.automaton import Automaton
from polyref.lattice.plain.ranking import Candidate, Ranking, sentence_hash
from polyref.lattice.plain.rules import Pieces, Rules
from polyref.lattice.plain.search import Found, Task
from polyref.score import MAX_ORDER, BleuScale, Matches

Counts = tuple[int, int, int, int]  # the clipped matches of each order
Matcher = Callable[[Sequence[Sequence[int]]], list[Counts]]

_BATCH = 24  # sentences that are scored at a time, which the kernels like
_DRAWS = 1000  # of which the best are taken


class Admission:
    """Which sentences the search admits whatever their score: new ones, with marks that people set so, by the rules."""

    def __init__(self, references: Sequence[tuple[int, ...]], marks: Sequence[bool], rules: Rules | None):
        self.references = references
        self._gold = set(references)
        self._rules, self._cores = rules, set() if rules is None else set(map(rules.core, references))
        self._pieces = Pieces(references)
        self._marks = marks
        self._ends = {reference[-1] for reference in references}
        self._meet = {pair for reference in references for pair in pairwise(reference) if marks[pair[0]]}

    def __contains__(self, words: tuple[int, ...]) -> bool:
        if words in self._gold:
            return False
        marks, rules = self._marks, self._rules
        if marks[words[-1]] and words[-1] not in self._ends:
            return False
        if rules is not None and (rules.broken(words) is not None or rules.core(words) in self._cores):
            return False
        # Two marks must not meet that meet in no reference; most sentences have no two.
        if sum(map(marks.__getitem__, words)) < 2:
            return True
        return all(pair in self._meet for pair in pairwise(words) if marks[pair[0]] and marks[pair[1]])

    def candidate(self, path: Sequence[int], words: tuple[int, ...], counts: Counts) -> Candidate:
        """An admitted sentence, without its hash."""
        matches, rules = Matches(len(words), counts), self._rules
        found = Candidate(tuple(path), matches.order, matches.product(), 0, words)
        return (
            found if rules is None else replace(found, crossings=self._pieces.crossings(words), core=rules.core(words))
        )


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


def _admitted(
    automaton: Automaton, numbers: Iterable[int], admission: Admission, count_matches: Matcher
) -> Iterator[Candidate]:
    """The sentences of these numbers that the search admits, without their hashes."""
    word, waiting = automaton.word, iter(numbers)
    while some := list(islice(waiting, _BATCH)):
        paths = list(map(automaton.path, some))
        spelled = [tuple([word[arc] for arc in path]) for path in paths]
        admitted = [k for k, words in enumerate(spelled) if words in admission]
        counted = count_matches([spelled[k] for k in admitted])
        for k, counts in zip(admitted, counted, strict=True):
            yield admission.candidate(paths[k], spelled[k], counts)


def draw_new(
    automaton: Automaton,
    admission: Admission,
    count_matches: Matcher,
    generator: random.Random,
    *,
    min_bleu: float,
    tries: int,
) -> Iterator[Candidate]:
    """New sentences that score at least `min_bleu`, in a random order; none comes twice. `tries` are looked at."""
    scale = BleuScale(map(len, admission.references))
    seen: set[tuple[int, ...]] = set()  # where what counts as the same sentence may have several numbers
    numbers = islice(numbers_once(automaton.count, generator), tries)
    for found in _admitted(automaton, numbers, admission, count_matches):
        if min_bleu and (found.order < MAX_ORDER or scale.value(found.length, found.product) < min_bleu):
            continue
        if found.identity not in seen:
            yield found
            if found.core is not None or not automaton.deterministic:
                seen.add(found.identity)


def best_of_sample(
    automaton: Automaton,
    references: Sequence[tuple[int, ...]],
    task: Task,
    count_matches: Matcher,
    generator: random.Random,
) -> Found:
    """The best of a fixed number of drawn sentences that the exact search would have admitted; never exact."""
    ranking = Ranking(task.wanted, map(len, references))
    hashes = task.word_hashes.tolist()
    numbers = (generator.randrange(automaton.count) for _ in range(_DRAWS))
    admission = Admission(references, task.marks.tolist(), task.rules)
    for found in _admitted(automaton, numbers, admission, count_matches):
        if found.order >= task.lowest_order and found.product >= task.floors[found.length]:
            ranking.add(replace(found, hash=sentence_hash(found.words, hashes)))
    return Found.of(ranking.best, task.rules, exact=False, nodes=0)
