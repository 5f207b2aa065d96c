"""A slow, plain twin of the whole way from references to pseudo-references.

In:   references as lists of words; for soft alignment a similarity matrix for each pair.
Out:  links, the lattice, its sentences, how many they are, and the best of them by BLEU.
Not:  speed. Every step follows docs/specification.md, 3.2 to 3.5, word for word: others are checked against it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import total_ordering
from itertools import combinations
from typing import Literal

ONE = 10_000  # similarities and penalties are whole numbers of 1e-4; this is 1.0
HIGHEST_ORDER = 4  # BLEU looks at n-grams of one to four words

Matrix = list[list[int]]
Link = tuple[int, int]
Arc = tuple[int, int, str]
Sentence = tuple[str, ...]


def hard_similarity(left: Sequence[str], right: Sequence[str]) -> Matrix:
    """1 for equal words, else 0; a row for each left word, a column for each right one."""
    return [[ONE if u == v else 0 for v in right] for u in left]


def restrained(
    left: Sequence[str], right: Sequence[str], similarity: Matrix, vetoed: Callable[[str, str], bool], weight: int
) -> Matrix:
    """The similarity less what places differ by, each rounded to whole units; vetoed pairs are at -1."""

    def place(number: int, words: Sequence[str]) -> int:
        way = Fraction(number, len(words) - 1) if len(words) > 1 else Fraction(1, 2)
        return math.floor(weight * way + Fraction(1, 2)) if len(words) > 1 else math.floor(weight * way)

    return [
        [
            -ONE if vetoed(word, other) else similarity[u][v] - abs(place(u, left) - place(v, right))
            for v, other in enumerate(right)
        ]
        for u, word in enumerate(left)
    ]


def align(left: Sequence[str], right: Sequence[str], similarity: Matrix, penalty: int) -> tuple[int, list[Link]]:
    """The best score of equation 3, and the links that earn it, from left to right."""
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for u in range(1, len(left) + 1):
        for v in range(1, len(right) + 1):
            linked = best[u - 1][v - 1] + similarity[u - 1][v - 1] - penalty
            best[u][v] = max(linked, best[u - 1][v], best[u][v - 1])

    links: list[Link] = []
    u, v = len(left), len(right)
    while u > 0 and v > 0:
        # A tie goes to the gap, and to the gap on the left first.
        if best[u - 1][v] == best[u][v]:
            u -= 1
        elif best[u][v - 1] == best[u][v]:
            v -= 1
        else:
            u, v = u - 1, v - 1
            links.append((u, v))
    return best[len(left)][len(right)], links[::-1]


@dataclass(frozen=True)
class NaiveLattice:
    """Words on arcs (from, to, word). States are 0, 1, ..., states - 1."""

    arcs: set[Arc]
    start: int
    finals: set[int]
    pieces: int
    states: int

    def leaving(self) -> dict[int, list[tuple[str, int]]]:
        """For each state, the words that can follow and where they lead."""
        table: dict[int, list[tuple[str, int]]] = {state: [] for state in range(self.states)}
        for source, target, word in sorted(self.arcs):
            table[source].append((word, target))
        return table


@dataclass
class _Draft:
    """A lattice in the making: the state at each place between the words of each reference."""

    references: list[Sentence]
    states: list[list[int]]

    @classmethod
    def unmerged(cls, references: list[Sentence]) -> _Draft:
        """The references side by side, with nothing in common but the start, state 0."""
        states: list[list[int]] = []
        unused = 1
        for reference in references:
            states.append([0, *range(unused, unused + len(reference))])
            unused += len(reference)
        return cls(references, states)

    def arcs(self) -> set[Arc]:
        """All arcs; as a set, so that equal words between the same two states are one."""
        return {
            (places[n], places[n + 1], word)
            for reference, places in zip(self.references, self.states, strict=True)
            for n, word in enumerate(reference)
        }

    def reaches(self, source: int, target: int) -> bool:
        """Whether arcs lead from one state to the other: plain depth-first search."""
        following: dict[int, list[int]] = {}
        for a, b, _ in self.arcs():
            following.setdefault(a, []).append(b)
        seen, stack = {source}, [source]
        while stack:
            state = stack.pop()
            if state == target:
                return True
            for after in following.get(state, []):
                if after not in seen:
                    seen.add(after)
                    stack.append(after)
        return False

    def merge(self, a: int, b: int) -> None:
        """Make two states one, unless that closes a cycle."""
        if a == b or self.reaches(a, b) or self.reaches(b, a):
            return
        kept, dropped = min(a, b), max(a, b)
        self.states = [[kept if s == dropped else s for s in places] for places in self.states]

    def merge_along(self, i: int, j: int, links: list[Link]) -> None:
        """Merge before and after each link of references i and j; either may fail alone."""
        for u, v in links:
            self.merge(self.states[i][u], self.states[j][v])
            self.merge(self.states[i][u + 1], self.states[j][v + 1])

    def finish(self, pieces: int) -> NaiveLattice:
        """Number the states from 0 without holes, in the order of first use."""
        number: dict[int, int] = {0: 0}
        for places in self.states:
            for state in places:
                number.setdefault(state, len(number))
        return NaiveLattice(
            arcs={(number[a], number[b], word) for a, b, word in self.arcs()},
            start=0,
            finals={number[places[-1]] for places in self.states},
            pieces=pieces,
            states=len(number),
        )


def lattice(
    references: Sequence[Sequence[str]],
    similarity: Callable[[int, int], Matrix] | None,
    penalty: int = 5000,
    merge_order: Literal["tree", "paper"] = "tree",
) -> NaiveLattice:
    """Compress references into a lattice. `similarity` counts distinct references; None means hard."""
    distinct = list(dict.fromkeys(tuple(reference) for reference in references))
    aligned: list[tuple[int, int, int, list[Link]]] = []
    for i, j in combinations(range(len(distinct)), 2):
        matrix = similarity(i, j) if similarity else hard_similarity(distinct[i], distinct[j])
        score, links = align(distinct[i], distinct[j], matrix, penalty)
        aligned.append((score, i, j, links))
    aligned.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))

    draft = _Draft.unmerged(distinct)
    piece_of = list(range(len(distinct)))
    touched: set[int] = set()
    for _, i, j, links in aligned:
        joined = piece_of[i] == piece_of[j]
        wanted = not joined if merge_order == "tree" else not {i, j} <= touched
        if not links or not wanted:
            continue
        draft.merge_along(i, j, links)
        touched |= {i, j}
        old, new = piece_of[j], piece_of[i]
        piece_of = [new if piece == old else piece for piece in piece_of]
    return draft.finish(pieces=len(set(piece_of)))


def sentences(lattice: NaiveLattice) -> set[Sentence]:
    """All distinct sentences, by walking every path."""
    leaving = lattice.leaving()
    found: set[Sentence] = set()
    stack: list[tuple[int, Sentence]] = [(lattice.start, ())]
    while stack:
        state, words = stack.pop()
        if state in lattice.finals:
            found.add(words)
        stack.extend((target, (*words, word)) for word, target in leaving[state])
    return found


def count(lattice: NaiveLattice) -> int:
    """How many distinct sentences, without listing them.

    All beginnings of one length are counted by the set of states that they lead to. A beginning
    leads to exactly one such set, so no sentence is counted twice.
    """
    leaving = lattice.leaving()
    beginnings: dict[frozenset[int], int] = {frozenset({lattice.start}): 1}
    total = 0
    while beginnings:
        longer: Counter[frozenset[int]] = Counter()
        for states, number in beginnings.items():
            if states & lattice.finals:
                total += number
            targets: dict[str, set[int]] = {}
            for state in states:
                for word, target in leaving[state]:
                    targets.setdefault(word, set()).add(target)
            for reached in targets.values():
                longer[frozenset(reached)] += number
        beginnings = dict(longer)
    return total


def _ngrams(words: Sequence[str], order: int) -> Counter[Sentence]:
    return Counter(tuple(words[n : n + order]) for n in range(len(words) - order + 1))


def precisions(sentence: Sequence[str], references: Sequence[Sequence[str]]) -> list[Fraction]:
    """The clipped precision of each order that the sentence is long enough to have."""
    found: list[Fraction] = []
    for order in range(1, min(HIGHEST_ORDER, len(sentence)) + 1):
        allowed: Counter[Sentence] = Counter()
        for reference in references:
            allowed |= _ngrams(reference, order)
        matches = (_ngrams(sentence, order) & allowed).total()
        found.append(Fraction(matches, len(sentence) - order + 1))
    return found


def brevity_exponent(length: int, references: Sequence[Sequence[str]]) -> Fraction:
    """The logarithm of the brevity penalty: 0, or 1 - r / c for a sentence that is too short."""
    closest = min((abs(len(r) - length), len(r)) for r in references)[1]
    return min(Fraction(0), 1 - Fraction(closest, length))


def bleu(sentence: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Unsmoothed sentence BLEU, 0 to 100."""
    terms = precisions(sentence, references)
    if not terms or 0 in terms:
        return 0.0
    mean = sum(math.log(term) for term in terms) / len(terms)
    return 100 * math.exp(brevity_exponent(len(sentence), references) + mean)


@total_ordering
@dataclass(frozen=True, eq=False)
class ExactKey:
    """A score that compares without error; a greater key is a better sentence.

    Worth exp(exponent) * product ** (1 / orders). If the score is 0, of the leading orders alone.
    """

    rank: int  # 5 for a score above 0, else how many leading orders have matches
    orders: int
    product: Fraction
    exponent: Fraction

    def _logarithm(self, digits: int) -> Decimal:
        with localcontext() as context:
            context.prec = digits
            product = Decimal(self.product.numerator) / self.product.denominator
            exponent = Decimal(self.exponent.numerator) / self.exponent.denominator
            return exponent + product.ln() / self.orders

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactKey):
            return NotImplemented
        # e to a rational power other than 0 is transcendental: different exponents never tie.
        if (self.rank, self.exponent) != (other.rank, other.exponent):
            return False
        return self.product**other.orders == other.product**self.orders

    def __lt__(self, other: ExactKey) -> bool:
        if self.rank != other.rank:
            return self.rank < other.rank
        if self.exponent == other.exponent:
            return self.product**other.orders < other.product**self.orders
        digits = 50
        while True:
            gap = self._logarithm(digits) - other._logarithm(digits)
            if abs(gap) > Decimal(10) ** (10 - digits):
                return gap < 0
            digits *= 2


def exact_key(sentence: Sequence[str], references: Sequence[Sequence[str]]) -> ExactKey:
    """The key to sort a sentence by."""
    terms = precisions(sentence, references)
    leading = [term for term in terms if term > 0]  # a match of n words holds one of n - 1
    if not leading:
        return ExactKey(0, 0, Fraction(1), Fraction(0))
    rank = HIGHEST_ORDER + 1 if leading == terms else len(leading)
    exponent = brevity_exponent(len(sentence), references)
    return ExactKey(rank, len(leading), math.prod(leading, start=Fraction(1)), exponent)


def top_scores(references: Sequence[Sequence[str]], lattice: NaiveLattice, k: int) -> list[tuple[float, Sentence]]:
    """The best k new sentences that score more than 0, best first."""
    new = sentences(lattice) - {tuple(reference) for reference in references}
    keys = {sentence: exact_key(sentence, references) for sentence in new}
    worthy = [sentence for sentence in sorted(new) if keys[sentence].rank > HIGHEST_ORDER]
    worthy.sort(key=keys.__getitem__, reverse=True)
    return [(bleu(sentence, references), sentence) for sentence in worthy[:k]]
