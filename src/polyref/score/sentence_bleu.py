"""Sentence BLEU-4 without smoothing, compared by exact counts.

In:   the references of an example, as lists of whole numbers (one number per distinct word); a sentence.
Out:  its matches, by an automaton of the references' n-grams; the score as a number to show; an order in which two
      sentences tie only if their scores are equal.
Not:  corpus BLEU (bleu.py), the automaton compiled (kernels.py).

The score is what sacreBLEU gives with smooth_method="none", tokenize="none": closest reference length (the
shorter on a tie), clipped against all references, 0 to 100. A sentence of fewer than four words is scored by
the orders it has. Where the score is 0, sentences rank by the orders that do match: see `Matches.order`.
"""

from __future__ import annotations

import decimal
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

MAX_ORDER = 4
ROOT = 0
# Where the logarithms of two scores are further apart than this, floats order them without doubt.
CLOSE = 1e-12


class NgramTrie:
    """A trie of reference n-grams (n <= 4) with Aho-Corasick links; each node is one n-gram.

    Every part of a reference n-gram is a reference n-gram too, so the link of a node is always the same n-gram without
    its first word.
    """

    def __init__(self, references: Sequence[Sequence[int]]):
        self.children: list[dict[int, int]] = [{}]
        self.word = [-1]  # the last word of each n-gram
        self.depth = [0]
        self.link = [ROOT]
        self.limit = [0]  # how often the n-gram stands in the reference that has most of it
        for reference in references:
            counts: Counter[int] = Counter()
            behind: list[int] = []  # the n-grams that begin one word later: what those of a word link to
            for start in reversed(range(len(reference))):
                node, found = ROOT, []
                for word, link in zip(reference[start : start + MAX_ORDER], [ROOT, *behind], strict=False):
                    node = self._child(node, word, link)
                    found.append(node)
                counts.update(found)
                behind = found
            for node, count in counts.items():
                self.limit[node] = max(self.limit[node], count)

    def _child(self, node: int, word: int, link: int) -> int:
        child = self.children[node].setdefault(word, len(self.depth))
        if child == len(self.depth):
            self.children.append({})
            self.word.append(word)
            self.depth.append(self.depth[node] + 1)
            self.link.append(link)
            self.limit.append(0)
        return child

    def context(self, node: int) -> int:
        """What a next word can be joined to: the node itself, or its last three words if it has four."""
        return node if self.depth[node] < MAX_ORDER else self.link[node]

    def step(self, context: int, word: int) -> int:
        """The longest n-gram that ends with `word` behind `context`; ROOT if no reference has the word."""
        while True:
            child = self.children[context].get(word)
            if child is not None:
                return child
            if context == ROOT:
                return ROOT
            context = self.link[context]

    def matches(self, sentence: Sequence[int]) -> tuple[int, int, int, int]:
        """How many n-grams of each order the sentence shares with the references, clipped as BLEU clips."""
        found = [0, 0, 0, 0]
        counts: Counter[int] = Counter()
        context = ROOT
        for word in sentence:
            node = self.step(context, word)
            context = self.context(node)
            while node != ROOT:
                if counts[node] < self.limit[node]:
                    found[self.depth[node] - 1] += 1
                counts[node] += 1
                node = self.link[node]
        return (found[0], found[1], found[2], found[3])


@dataclass(frozen=True, slots=True)
class Matches:
    """What BLEU is made of: a sentence's length, and how many of its n-grams match."""

    length: int
    counts: tuple[int, int, int, int]

    @property
    def order(self) -> int:
        """4 if the score is above 0; else the highest order that matches, and the sentence ranks by that one."""
        matching = sum(1 for count in self.counts if count)
        return MAX_ORDER if matching == min(MAX_ORDER, self.length) else matching

    def product(self) -> int:
        """The matches of all orders that count, multiplied."""
        return math.prod(self.counts[: min(self.order, self.length)])


@lru_cache(maxsize=4096)
def totals_product(length: int, order: int) -> int:
    """How many n-grams a sentence of this length has of each order up to `order`, multiplied."""
    return math.prod(length - n for n in range(min(order, length)))


@lru_cache(maxsize=1 << 16)
def bleu_value(length: int, closest: int, product: int) -> float:
    """The score of a sentence, given the closest reference length. Few are so different that they are not met again."""
    brevity = 100.0 * math.exp(min(0.0, 1.0 - closest / length))
    return brevity * math.sqrt(math.sqrt(product / totals_product(length, MAX_ORDER)))


class BleuScale:
    """Scores against references of given lengths. Two sentences are compared within one order.

    The score of a sentence of `length` words whose matches multiply to `product` is
    exp(brevity(length)) * (product / totals) ** (1 / order).
    """

    def __init__(self, reference_lengths: Iterable[int], order: int = MAX_ORDER):
        self.lengths = sorted(set(reference_lengths))
        self.order = order
        self._closest: dict[int, int] = {}

    def closest(self, length: int) -> int:
        """The closest reference length; the shorter one if two are as close."""
        closest = self._closest.get(length)
        if closest is None:
            above = bisect_left(self.lengths, length)
            closest = self.lengths[min(above, len(self.lengths) - 1)]
            if above and length - self.lengths[above - 1] <= abs(closest - length):
                closest = self.lengths[above - 1]
            self._closest[length] = closest
        return closest

    def brevity(self, length: int) -> Fraction:
        """1 - r/l for the closest reference length r if the sentence is shorter than that, else 0."""
        return min(Fraction(0), 1 - Fraction(self.closest(length), length))

    def log(self, length: int, product: int) -> float:
        """The logarithm of the score; product must be above 0."""
        brevity = min(0.0, 1.0 - self.closest(length) / length)
        return brevity + math.log(product / totals_product(length, self.order)) / self.order

    def value(self, length: int, product: int) -> float:
        """The score of a sentence of order 4, 0 to 100."""
        return bleu_value(length, self.closest(length), product)

    def score(self, matches: Matches) -> float:
        """The score of a sentence; 0 where an order has no match."""
        return self.value(matches.length, matches.product()) if matches.length and matches.order == MAX_ORDER else 0.0

    def values(self, lengths: Sequence[int], orders: Sequence[int], products: Sequence[int]) -> list[float]:
        """The scores of many sentences; those of a lower order score 0."""
        closest = {length: self.closest(length) for length in set(lengths)}
        return [
            bleu_value(length, closest[length], product) if order == MAX_ORDER else 0.0
            for length, order, product in zip(lengths, orders, products, strict=True)
        ]

    def compare(self, length: int, product: int, other_length: int, other_product: int) -> int:
        """1 if the first score is the higher one, -1 if the second, 0 only if they are equal."""
        if length == other_length:
            return (product > other_product) - (product < other_product)
        apart = self.log(length, product) - self.log(other_length, other_product)
        if abs(apart) > CLOSE:
            return 1 if apart > 0 else -1
        brevity, other_brevity = self.brevity(length), self.brevity(other_length)
        left = product * totals_product(other_length, self.order)
        right = other_product * totals_product(length, self.order)
        if brevity == other_brevity:
            return (left > right) - (left < right)
        # Powers of e with different rational exponents are never in a rational proportion, so this ends.
        return _compare_exponentials((brevity - other_brevity) * self.order, left, right)


def _compare_exponentials(exponent: Fraction, left: int, right: int) -> int:
    """Compare exp(exponent) * left with right."""
    digits = 50
    while True:
        with decimal.localcontext(prec=digits):
            power = (decimal.Decimal(exponent.numerator) / exponent.denominator).exp()
            apart = power * left / right - 1
            if abs(apart) > decimal.Decimal(10) ** (10 - digits):
                return 1 if apart > 0 else -1
        digits *= 2


def sentence_bleu(sentence: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The score of one tokenised sentence against tokenised references, 0 to 100."""
    numbers: dict[str, int] = {}
    numbered = [[numbers.setdefault(word, len(numbers)) for word in reference] for reference in references]
    trie = NgramTrie(numbered)
    matches = Matches(len(sentence), trie.matches([numbers.get(word, -1) for word in sentence]))
    return BleuScale(map(len, references)).score(matches)
