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

Rules leave out sentences, and end branches that cannot pass (rules.py). Then the order knows more than scores: of
sentences with equal scores, those with fewer crossings come first, and only those with equal crossings are tied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod

import numpy as np
import numpy.typing as npt

from polyref.lattice.plain.automaton import Automaton
from polyref.lattice.plain.product import Bound, Product, longest_suffixes, multiply, suffix_bounds
from polyref.lattice.plain.ranking import Candidate, Ranking, least_product, mix, sentence_hash
from polyref.lattice.plain.rules import CAUSES, SAME, Pieces, Rules, Standing
from polyref.score import MAX_ORDER, BleuScale, Matches, NgramTrie
from polyref.score.sentence_bleu import ROOT
from polyref.settings import setting, settings


@settings(group="Search")
class SearchSettings:
    """How sentences are chosen."""

    seed: int = setting(0, "Decides between equal scores.", at_least=-(2**63), below=2**63, metavar="N")
    min_bleu: float | None = setting(
        None,
        "Lowest BLEU that is kept; 0 keeps all.",
        more="0 admits sentences that score 0.",
        unset="above 0",
        at_least=0,
        at_most=100,
        metavar="B",
    )
    node_budget: int = setting(
        10_000_000,
        "Search nodes per example, then stop.",
        more="The best sentences so far are taken.",
        at_least=1,
        below=2**62,
        metavar="N",
    )
    example_seconds: float | None = setting(
        None,
        "Seconds per example, then stop.",
        more="The best so far are taken: the result depends on the machine.",
        above=0,
        at_most=1e6,
        metavar="S",
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
    """One search. `floors[l]` is the least product that a sentence of l words needs, 1 if any will do.

    `max_bounds` is the largest table of bounds, in states times lengths; None lists every sentence and needs none.
    """

    wanted: int
    lowest_order: int  # 4: only sentences that score above 0; 1: all
    floors: npt.NDArray[np.int64]
    word_hashes: npt.NDArray[np.uint64]
    marks: npt.NDArray[np.bool_]  # for each word, whether it is punctuation
    node_budget: int
    tie_limit: int
    max_bounds: int | None
    rules: Rules | None = None


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
    crossings: list[int]  # 0 without rules
    exact: bool
    nodes: int
    left_out: tuple[int, ...] = (0,) * len(CAUSES)  # beginnings of sentences that cannot pass, by cause
    covered: tuple[int, ...] = ()  # for each sentence, what it says of what most references share (Rules.covered)

    @classmethod
    def of(
        cls,
        candidates: Sequence[Candidate],
        rules: Rules | None,
        *,
        exact: bool,
        nodes: int,
        left_out: Sequence[int] = (0,) * len(CAUSES),
    ) -> Found:
        return cls(
            [arc for candidate in candidates for arc in (*candidate.arcs, -1)],
            [candidate.length for candidate in candidates],
            [candidate.order for candidate in candidates],
            [candidate.product for candidate in candidates],
            [candidate.crossings for candidate in candidates],
            exact,
            nodes,
            tuple(left_out),
            tuple([0 if rules is None else rules.covered(candidate.words) for candidate in candidates]),
        )

    @cached_property
    def arcs(self) -> list[list[int]]:
        following = iter(self.path)
        return [list(islice(following, length + 1))[:-1] for length in self.lengths]


class _OverBudgetError(Exception):
    pass


def search(automaton: Automaton, references: Sequence[Sequence[int]], task: Task) -> Found | None:
    """The best sentences; None where the table of bounds would be too large."""
    walker = _Walker(automaton, references, task)
    if task.max_bounds is None:
        everything = walker.list_all()
        return Found.of(everything, task.rules, exact=automaton.deterministic, nodes=0, left_out=walker.left_out)
    if sum(longest_suffixes(walker.product)) + walker.product.states > task.max_bounds:
        return None
    walker.bounds = suffix_bounds(walker.product, walker.trie)
    candidates: list[Candidate] = []
    exact = automaton.deterministic
    for order in range(MAX_ORDER, task.lowest_order - 1, -1):
        found, complete = walker.best_of_order(order, task.wanted - len(candidates))
        candidates += found
        exact = exact and complete
        walker.cores.update([one.core for one in found if one.core is not None])
        if len(candidates) >= task.wanted:
            break
    return Found.of(candidates, task.rules, exact=exact, nodes=walker.nodes, left_out=walker.left_out)


class _Walker:
    """A path through the product automaton with its clipped counts, which steps forward and back."""

    def __init__(self, automaton: Automaton, references: Sequence[Sequence[int]], task: Task):
        self.automaton = automaton
        self.task = task
        self.word_hashes: list[int] = task.word_hashes.tolist()
        self.floors: list[int] = task.floors.tolist()
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
        self.need = 1  # the product that a sentence must reach to be visited
        self.at_need: int | None = None  # the most crossings that it may have where it only just does; None for any
        self.rules = task.rules
        self.standing: Standing | None = None
        self.cores: set[tuple[int, ...]] = set()  # of gold references, and of what was found in higher orders
        if self.rules is not None:
            self.standing = Standing(self.rules, self.product, automaton.word)
            self.pieces, self.cores = Pieces(references), set(map(self.rules.core, references))
            self.pieced = [self.pieces.start]

    @property
    def left_out(self) -> Sequence[int]:
        return (0,) * len(CAUSES) if self.standing is None else self.standing.left_out

    # -- one step ---------------------------------------------------------------------------------------------

    def gains(self, node: int) -> list[int]:
        """Which orders would gain a match, clipping included, if the n-gram `node` ended here."""
        gained = [0, 0, 0, 0]
        while node != ROOT:
            gained[self.trie.depth[node] - 1] = int(self.counts[node] < self.trie.limit[node])
            node = self.trie.link[node]
        return gained

    def forward(self, arc: int) -> bool:
        """Follow an arc. False, and nothing is done, where rules leave out all that is behind it."""
        if self.standing is not None:
            word = self.automaton.word[self.product.arc[arc]]
            if not self.standing.forward(word, self.product.target[arc]):
                return False
            self.pieced.append(self.pieces.forward(self.pieced[-1], word))
        node = self.product.node[arc]
        while node != ROOT:
            if self.counts[node] < self.trie.limit[node]:
                self.matches[self.trie.depth[node] - 1] += 1
            self.counts[node] += 1
            node = self.trie.link[node]
        self.path.append(arc)
        return True

    def back(self) -> None:
        arc = self.path.pop()
        if self.standing is not None:
            self.standing.back(self.automaton.word[self.product.arc[arc]])
            self.pieced.pop()
        node = self.product.node[arc]
        while node != ROOT:
            self.counts[node] -= 1
            if self.counts[node] < self.trie.limit[node]:
                self.matches[self.trie.depth[node] - 1] -= 1
            node = self.trie.link[node]

    def candidate(self, order: int, product: int) -> Candidate | None:
        """The sentence of the path; None if a person wrote it, or if rules leave it out."""
        arcs = tuple(self.product.arc[arc] for arc in self.path)
        words = tuple(self.automaton.word[arc] for arc in arcs)
        if words in self.gold:
            return None
        hashed = sentence_hash(words, self.word_hashes)
        if self.rules is None or self.standing is None:
            return Candidate(arcs, order, product, hashed, words)
        if not self.standing.passes():
            return None
        core = self.rules.core(words)
        if core in self.cores:
            self.standing.left_out[SAME] += 1
            return None
        return Candidate(arcs, order, product, hashed, words, self.pieces.at_end(self.pieced[-1]), core)

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
            if not self.forward(arc):
                continue
            target = self.product.target[arc]
            if self.product.final[target]:
                counts = (self.matches[0], self.matches[1], self.matches[2], self.matches[3])
                matches = Matches(len(self.path), counts)
                if matches.order >= self.task.lowest_order and matches.product() >= self.floors[matches.length]:
                    candidate = self.candidate(matches.order, matches.product())
                    if candidate is not None:
                        ranking.add(candidate)
            waiting.append(iter(range(self.product.first[target], self.product.first[target + 1])))
        return ranking.best

    # -- the best of one order --------------------------------------------------------------------------------

    def best_of_order(self, order: int, wanted: int) -> tuple[list[Candidate], bool]:
        """The best `wanted` sentences of one order, and whether the search went to its end."""
        roots = self.root_bounds(order)
        ranking = Ranking(wanted, self.reference_lengths)
        with suppress(_OverBudgetError):
            if self._find(order, roots, ranking, above=False):
                return ranking.best, True
        ranking = Ranking(wanted, self.reference_lengths)
        try:
            self._find(order, roots, ranking, above=True)
        except _OverBudgetError:
            return ranking.best, False
        if not ranking.full:
            return ranking.best, True  # nothing was cut off, so nothing is tied at a cut
        with suppress(_OverBudgetError):
            listed = Ranking(wanted, self.reference_lengths)
            if self._find(order, roots, listed, above=False, last=ranking.best[-1]):
                return listed.best, True
        return self._draw_tied(order, roots, ranking), True

    def root_bounds(self, order: int) -> list[tuple[int, int]]:
        """Each possible length with the bound of its product; most promising first."""
        scale = BleuScale(self.reference_lengths, order)
        roots: list[tuple[int, int]] = []
        for length, bound in enumerate(self.bounds[0]):
            if bound is None or length == 0 or (order < MAX_ORDER and length <= order):
                continue
            best = prod(bound[: min(order, length)])
            if best < self.floors[length]:
                continue
            # By insertion, so that the same comparisons decide here and in the kernel.
            place = len(roots)
            while place and scale.compare(length, best, *roots[place - 1]) > 0:
                place -= 1
            roots.insert(place, (length, best))
        return roots

    def _find(
        self, order: int, roots: list[tuple[int, int]], ranking: Ranking, *, above: bool, last: Candidate | None = None
    ) -> bool:
        """Rank the best sentences; `above` passes over what is just as good as the last one ranked.

        `last` is what is known to be the last one: everything that is as good is ranked. False where too many are.
        """
        scale = ranking.scales[order]
        cut = (-1, -1, -1)  # of the last one: length, product, crossings; and how many were seen that equal it
        tied = 0
        self.spent = 0

        def set_need(length: int) -> None:
            self.need, self.at_need = self.floors[length], None
            if last is None and not ranking.full:
                return
            found = last or ranking.best[-1]
            product = least_product(scale, length, found.length, found.product)
            if product >= self.need and scale.compare(length, product, found.length, found.product) == 0:
                self.at_need = found.crossings - above
            self.need = max(self.need, product)

        for length, _ in roots:
            set_need(length)
            for product in self.explore(length, order):
                candidate = self.candidate(order, product)
                if candidate is None:
                    continue
                ranking.add(candidate)
                set_need(length)
                if (ranking.full or last is not None) and not above:
                    at_cut = last or ranking.best[-1]
                    if (at_cut.length, at_cut.product, at_cut.crossings) != cut:
                        cut, tied = (at_cut.length, at_cut.product, at_cut.crossings), 0
                    tied += candidate.crossings == cut[2] and scale.compare(length, product, *cut[:2]) == 0
                    if tied > self.task.tie_limit:
                        self.rewind()
                        return False
        return True

    def _draw_tied(self, order: int, roots: list[tuple[int, int]], ranking: Ranking) -> list[Candidate]:
        """What is better than the cut, and then one draw after the other from what is tied there."""
        scale, last = ranking.scales[order], ranking.best[-1]
        lengths = []
        for length, best in roots:
            need = least_product(scale, length, last.length, last.product)
            if best >= need and scale.compare(length, need, last.length, last.product) == 0:
                lengths.append((length, need))

        def is_tied(candidate: Candidate) -> bool:
            compared = scale.compare(candidate.length, candidate.product, last.length, last.product)
            return compared == 0 and candidate.crossings == last.crossings

        taken = {c.identity: c for c in ranking.best if not is_tied(c)}
        self.spent = 0
        with suppress(_OverBudgetError):
            for draw in range(ranking.size - len(taken)):
                for length, need in sorted(lengths, key=lambda at: (mix(mix(draw, at[0]), 1), at[0])):
                    self.need, self.at_need = need, last.crossings
                    products = self.explore(length, order, draw)
                    tied = (self.candidate(order, product) for product in products if product == need)
                    new = next((c for c in tied if c and is_tied(c) and c.identity not in taken), None)
                    self.rewind()
                    if new is not None:
                        taken[new.identity] = new
                        break
        # Out of budget: fill up with the tied that the first pass came across.
        spare = [c for c in ranking.best if c.identity not in taken]
        return [*taken.values(), *spare][: ranking.size]

    @property
    def crossed(self) -> int:
        """The crossings of the path."""
        return 0 if self.rules is None else self.pieced[-1][1]

    def rewind(self) -> None:
        while self.path:
            self.back()

    # -- depth first ------------------------------------------------------------------------------------------

    def explore(self, length: int, order: int, draw: int | None = None) -> Iterator[int]:
        """Walk to every sentence of `length` words whose product can reach `need`, which may grow meanwhile.

        Most promising arcs first; in the order of a hash if this is a draw. Yields the product at each sentence.
        """
        waiting = [self.branches(0, length, order, draw)]
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                if self.path:
                    self.back()
                continue
            bound, arc = waiting[-1].pop()
            if bound < self.need or (bound == self.need and self.at_need is not None and self.crossed > self.at_need):
                continue
            self.nodes += 1
            self.spent += 1
            if self.spent > self.task.node_budget:
                self.rewind()
                raise _OverBudgetError
            if not self.forward(arc):
                continue
            remaining = length - len(self.path)
            if remaining == 0:
                yield bound
                self.back()
            else:
                waiting.append(self.branches(self.product.target[arc], remaining, order, draw))

    def branches(self, state: int, remaining: int, order: int, draw: int | None) -> list[tuple[int, int]]:
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
            if best >= self.need:
                found.append((best, arc))
        if draw is None:
            # The reader pops from the end: of equals, the first arc comes first.
            found.reverse()
            found.sort(key=lambda at: at[0])
        else:
            words, hashes = self.automaton.word, self.word_hashes
            found.sort(key=lambda at: mix(draw, hashes[words[self.product.arc[at[1]]]]), reverse=True)
        return found
