"""The best sentences of a lattice by BLEU, found exactly and without listing the lattice.

In:   an automaton of sentences, the references, and a Task.
Out:  Found: the best sentences that are no gold reference, best first.
Not:  bounds (product.py), the order of candidates (ranking.py).

For each total length, the automaton is searched depth first with the clipped counts so far; a branch is left as
soon as not even its upper bound reaches what is needed: what the last sentence of a full ranking has. That lists all
that are tied at the cut, too, so that a seeded hash decides among equals. Where more are tied than can be listed, the
score at the cut is found again without caring for ties; then the tied are listed, if they are few enough after all, or
drawn: each draw walks depth first with the arcs in an order of its own, given by a seeded hash, to the first sentence
that is not taken yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod

import numpy as np
import numpy.typing as npt

from polyref.lattice.plain.automaton import Automaton
from polyref.lattice.plain.product import Bound, Product, longest_suffixes, multiply, suffix_bounds
from polyref.lattice.plain.ranking import Candidate, Ranking, least_product, mix, sentence_hash
from polyref.score import MAX_ORDER, BleuScale, Matches, NgramTrie
from polyref.score.sentence_bleu import ROOT
from polyref.settings import setting, settings


@settings
class SearchSettings:
    """How sentences are chosen."""

    seed: int = setting(0, "Decides between sentences with equal scores.", at_least=-(2**63), below=2**63, metavar="N")
    min_bleu: float | None = setting(
        None,
        "Keep sentences from this BLEU on; 0 also keeps those that score 0.",
        unset="all that score above 0",
        at_least=0,
        at_most=100,
        metavar="B",
    )
    node_budget: int = setting(
        10_000_000,
        "Search nodes per example before the best sentences so far are taken.",
        at_least=1,
        below=2**62,
        metavar="N",
    )
    tie_limit: int = setting(
        10_000,
        "Draw between sentences with equal scores, instead of listing them, where there are more.",
        at_least=1,
        below=2**62,
        metavar="N",
    )
    unseen_marks: bool = setting(
        False, 'Keep sentences with punctuation as in no reference: ", ." inside, or "," at the end.'
    )


@dataclass(frozen=True, slots=True)
class Task:
    """One search. `floors[l]` is the least product that a sentence of l words needs; without floors it is 1.

    `max_bounds` is the largest table of bounds, in states times lengths; None lists every sentence and needs none.
    """

    wanted: int
    lowest_order: int  # 4: only sentences that score above 0; 1: all
    floors: Sequence[int]
    word_hashes: npt.NDArray[np.uint64]
    marks: npt.NDArray[np.bool_]  # for each word, whether it is punctuation
    node_budget: int
    tie_limit: int
    max_bounds: int | None

    def floor(self, length: int) -> int:
        return self.floors[length] if self.floors else 1


@dataclass(frozen=True)
class Found:
    """The best sentences, best first: their lengths and the counts behind their scores.

    `path` are the automaton's arcs that spell them, all behind each other, with -1 behind each sentence (so that they
    can be written in one go); `arcs` the same, one list per sentence.
    """

    path: list[int]
    lengths: list[int]
    orders: list[int]
    products: list[int]
    exact: bool
    nodes: int

    @classmethod
    def of(cls, candidates: Sequence[Candidate], *, exact: bool, nodes: int) -> Found:
        return cls(
            [arc for candidate in candidates for arc in (*candidate.arcs, -1)],
            [candidate.length for candidate in candidates],
            [candidate.order for candidate in candidates],
            [candidate.product for candidate in candidates],
            exact,
            nodes,
        )

    @cached_property
    def arcs(self) -> list[list[int]]:
        following = iter(self.path)
        return [list(islice(following, length + 1))[:-1] for length in self.lengths]


class _OverBudgetError(Exception):
    pass


class _EnoughError(Exception):
    pass


def search(automaton: Automaton, references: Sequence[Sequence[int]], task: Task) -> Found | None:
    """The best sentences; None where the table of bounds would be too large."""
    walker = _Walker(automaton, references, task)
    if task.max_bounds is None:
        return Found.of(walker.list_all(), exact=automaton.deterministic, nodes=0)
    if sum(longest_suffixes(walker.product)) + walker.product.states > task.max_bounds:
        return None
    walker.bounds = suffix_bounds(walker.product, walker.trie)
    candidates: list[Candidate] = []
    exact = automaton.deterministic
    for order in range(MAX_ORDER, task.lowest_order - 1, -1):
        found, complete = walker.best_of_order(order, task.wanted - len(candidates))
        candidates += found
        exact = exact and complete
        if len(candidates) >= task.wanted:
            break
    return Found.of(candidates, exact=exact, nodes=walker.nodes)


class _Walker:
    """A path through the product automaton with its clipped counts, which steps forward and back."""

    def __init__(self, automaton: Automaton, references: Sequence[Sequence[int]], task: Task):
        self.automaton = automaton
        self.task = task
        self.word_hashes: list[int] = task.word_hashes.tolist()
        self.reference_lengths = [len(reference) for reference in references]
        self.gold = {tuple(reference) for reference in references}
        self.trie = NgramTrie(references)
        self.product: Product = multiply(
            automaton, self.trie, task.marks.tolist(), {reference[-1] for reference in references}
        )
        self.bounds: list[list[Bound | None]] = []
        self.counts = [0] * len(self.trie.depth)
        self.matches = [0, 0, 0, 0]
        self.path: list[int] = []
        self.nodes = 0
        self.spent = 0

    # -- one step ---------------------------------------------------------------------------------------------

    def gains(self, node: int) -> list[int]:
        """Which orders would gain a match, clipping included, if the n-gram `node` ended here."""
        gained = [0, 0, 0, 0]
        while node != ROOT:
            gained[self.trie.depth[node] - 1] = int(self.counts[node] < self.trie.limit[node])
            node = self.trie.link[node]
        return gained

    def forward(self, arc: int) -> None:
        node = self.product.node[arc]
        while node != ROOT:
            if self.counts[node] < self.trie.limit[node]:
                self.matches[self.trie.depth[node] - 1] += 1
            self.counts[node] += 1
            node = self.trie.link[node]
        self.path.append(arc)

    def back(self) -> None:
        node = self.product.node[self.path.pop()]
        while node != ROOT:
            self.counts[node] -= 1
            if self.counts[node] < self.trie.limit[node]:
                self.matches[self.trie.depth[node] - 1] -= 1
            node = self.trie.link[node]

    def candidate(self, order: int, product: int) -> Candidate | None:
        """The sentence of the path; None if a person wrote it."""
        arcs = tuple(self.product.arc[arc] for arc in self.path)
        words = tuple(self.automaton.word[arc] for arc in arcs)
        if words in self.gold:
            return None
        return Candidate(arcs, order, product, sentence_hash(words, self.word_hashes), words)

    # -- everything -------------------------------------------------------------------------------------------

    def list_all(self) -> list[Candidate]:
        ranking = Ranking(self.task.wanted, self.reference_lengths)
        waiting = [iter(range(self.product.first[0], self.product.first[1]))]
        while waiting:
            arc = next(waiting[-1], None)
            if arc is None:
                waiting.pop()
                if self.path:
                    self.back()
                continue
            self.forward(arc)
            target = self.product.target[arc]
            if self.product.final[target]:
                self._rank(ranking)
            waiting.append(iter(range(self.product.first[target], self.product.first[target + 1])))
        return ranking.best

    def _rank(self, ranking: Ranking) -> None:
        counts = (self.matches[0], self.matches[1], self.matches[2], self.matches[3])
        matches = Matches(len(self.path), counts)
        if matches.order < self.task.lowest_order or matches.product() < self.task.floor(matches.length):
            return
        candidate = self.candidate(matches.order, matches.product())
        if candidate is not None:
            ranking.add(candidate)

    # -- the best of one order --------------------------------------------------------------------------------

    def best_of_order(self, order: int, wanted: int) -> tuple[list[Candidate], bool]:
        """The best `wanted` sentences of one order, and whether the search went to its end."""
        roots = self.root_bounds(order)
        ranking = Ranking(wanted, self.reference_lengths)
        try:
            self._find(order, roots, ranking, above=False)
            return ranking.best, True
        except (_OverBudgetError, _EnoughError):
            self.rewind()
        ranking = Ranking(wanted, self.reference_lengths)
        try:
            self._find(order, roots, ranking, above=True)
        except _OverBudgetError:
            return ranking.best, False
        if not ranking.full:
            return ranking.best, True  # nothing was cut off, so nothing is tied at a cut
        listed = self._list_tied(order, roots, ranking)
        if listed is not None:
            return listed, True
        return self._draw_tied(order, roots, ranking), True

    def root_bounds(self, order: int) -> list[tuple[int, int]]:
        """Each possible length with the bound of its product; most promising first."""
        scale = BleuScale(self.reference_lengths, order)
        roots: list[tuple[int, int]] = []
        for length, bound in enumerate(self.bounds[0]):
            if bound is None or length == 0 or (order < MAX_ORDER and length <= order):
                continue
            best = prod(bound[: min(order, length)])
            if best < self.task.floor(length):
                continue
            # By insertion, so that the same comparisons decide here and in the kernel.
            place = len(roots)
            while place and scale.compare(length, best, *roots[place - 1]) > 0:
                place -= 1
            roots.insert(place, (length, best))
        return roots

    def _find(self, order: int, roots: list[tuple[int, int]], ranking: Ranking, *, above: bool) -> None:
        """Rank the best sentences; `above` passes over what is just as good as the last one ranked."""
        scale = ranking.scales[order]
        cut = (-1, -1)  # the length and product of the last one ranked, and how many were seen that equal it
        tied = 0
        self.spent = 0

        def needed(length: int) -> int:
            if not ranking.full:
                return self.task.floor(length)
            last = ranking.best[-1]
            return max(self.task.floor(length), least_product(scale, length, last.length, last.product, above=above))

        def leaf(product: int) -> int:
            nonlocal cut, tied
            length = len(self.path)
            candidate = self.candidate(order, product)
            if candidate is not None:
                ranking.add(candidate)
                if ranking.full:
                    if (ranking.best[-1].length, ranking.best[-1].product) != cut:
                        cut, tied = (ranking.best[-1].length, ranking.best[-1].product), 0
                    if not above and scale.compare(length, product, *cut) == 0:
                        tied += 1
                        if tied > self.task.tie_limit:
                            raise _EnoughError
            return needed(length)

        for length, best in roots:
            need = needed(length)
            if best >= need:
                self.explore(length, order, need, leaf, draw=None)

    def _list_tied(self, order: int, roots: list[tuple[int, int]], ranking: Ranking) -> list[Candidate] | None:
        """The ranking with ties at the cut broken by hash; None where the tied are too many to list."""
        scale, last = ranking.scales[order], ranking.best[-1]
        listed = Ranking(ranking.size, self.reference_lengths)
        tied = 0
        self.spent = 0

        def leaf(product: int) -> int:
            nonlocal tied
            candidate = self.candidate(order, product)
            if candidate is not None:
                listed.add(candidate)
                if scale.compare(len(self.path), product, last.length, last.product) == 0:
                    tied += 1
                    if tied > self.task.tie_limit:
                        raise _EnoughError
            return need

        try:
            for length, best in roots:
                need = least_product(scale, length, last.length, last.product, above=False)
                if best >= need:
                    self.explore(length, order, need, leaf, draw=None)
        except (_OverBudgetError, _EnoughError):
            self.rewind()
            return None
        return listed.best

    def _draw_tied(self, order: int, roots: list[tuple[int, int]], ranking: Ranking) -> list[Candidate]:
        """What is better than the cut, and then one draw after the other from what is tied there."""
        scale, last = ranking.scales[order], ranking.best[-1]
        lengths = []
        for length, best in roots:
            need = least_product(scale, length, last.length, last.product, above=False)
            if best >= need and scale.compare(length, need, last.length, last.product) == 0:
                lengths.append((length, need))
        better = [c for c in ranking.best if scale.compare(c.length, c.product, last.length, last.product) > 0]
        drawn: list[Candidate] = []
        taken: set[tuple[int, ...]] = set()
        self.spent = 0

        def leaf(product: int) -> int:
            candidate = self.candidate(order, product)
            if product == need and candidate is not None and candidate.words not in taken:
                drawn.append(candidate)
                taken.add(candidate.words)
                raise _EnoughError
            return need

        try:
            for draw in range(ranking.size - len(better)):
                for length, need in sorted(lengths, key=lambda at: (mix(mix(draw, at[0]), 1), at[0])):
                    try:
                        self.explore(length, order, need, leaf, draw=draw)
                    except _EnoughError:
                        self.rewind()
                        break
        except _OverBudgetError:
            self.rewind()
        # Out of budget: fill up with the tied that the first pass came across.
        spare = [c for c in ranking.best[len(better) :] if c.words not in taken]
        return better + drawn + spare[: ranking.size - len(better) - len(drawn)]

    def rewind(self) -> None:
        while self.path:
            self.back()

    # -- depth first ------------------------------------------------------------------------------------------

    def explore(self, length: int, order: int, need: int, leaf: Callable[[int], int], *, draw: int | None) -> None:
        """Visit every sentence of `length` words whose product can reach `need`; `leaf` may raise what is needed.

        Most promising arcs first; in the order of a hash if this is a draw.
        """
        waiting = [self.branches(0, length, order, need, draw)]
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                if self.path:
                    self.back()
                continue
            bound, arc = waiting[-1].pop()
            if bound < need:
                continue
            self.nodes += 1
            self.spent += 1
            if self.spent > self.task.node_budget:
                self.rewind()
                raise _OverBudgetError
            self.forward(arc)
            remaining = length - len(self.path)
            if remaining == 0:
                need = leaf(bound)
                self.back()
            else:
                waiting.append(self.branches(self.product.target[arc], remaining, order, need, draw))

    def branches(self, state: int, remaining: int, order: int, need: int, draw: int | None) -> list[tuple[int, int]]:
        """The arcs worth following, the best one last, each with the bound of its product."""
        orders = min(order, len(self.path) + remaining)
        found = []
        for arc in range(self.product.first[state], self.product.first[state + 1]):
            bounds = self.bounds[self.product.target[arc]]
            bound = bounds[remaining - 1] if remaining - 1 < len(bounds) else None
            if bound is None:
                continue
            gained = self.gains(self.product.node[arc])
            if order < MAX_ORDER and self.matches[order] + gained[order]:
                continue  # it belongs to a higher order
            best = prod(self.matches[n] + gained[n] + bound[n] for n in range(orders))
            if best >= need:
                found.append((best, arc))
        if draw is None:
            # The reader pops from the end: of equals, the first arc comes first.
            found.reverse()
            found.sort(key=lambda at: at[0])
        else:
            words, hashes = self.automaton.word, self.word_hashes
            found.sort(key=lambda at: mix(draw, hashes[words[self.product.arc[at[1]]]]), reverse=True)
        return found
