"""The n-grams of an example's references, as an automaton that a sentence is walked through.

In:   the references, as lists of whole numbers (one number a distinct word).
Out:  for each next word, the longest reference n-gram (n <= 4) that ends there, and how often it may count.
Not:  the score (sentence_bleu.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

MAX_ORDER = 4
ROOT = 0


class NgramTrie:
    """A trie of reference n-grams with Aho-Corasick links; each node is one n-gram.

    Every part of a reference n-gram is a reference n-gram too, so the link of a node is always the same
    n-gram without its first word. Nodes are numbered as the references are read.
    """

    def __init__(self, references: Sequence[Sequence[int]]):
        self.children: list[dict[int, int]] = [{}]
        self.word = [-1]  # the last word of each n-gram
        self.depth = [0]
        self.link = [ROOT]
        self.limit = [0]  # how often the n-gram stands in the reference that has most of it
        for reference in references:
            counts = Counter(node for start in range(len(reference)) for node in self._insert(reference, start))
            for node, count in counts.items():
                self.limit[node] = max(self.limit[node], count)
        self._add_links()

    def _insert(self, reference: Sequence[int], start: int) -> list[int]:
        node, path = ROOT, []
        for word in reference[start : start + MAX_ORDER]:
            if word not in self.children[node]:
                self.children[node][word] = len(self.depth)
                self.children.append({})
                self.word.append(word)
                self.depth.append(self.depth[node] + 1)
                self.link.append(ROOT)
                self.limit.append(0)
            node = self.children[node][word]
            path.append(node)
        return path

    def _add_links(self) -> None:
        level = list(self.children[ROOT].values())
        while level:
            below = []
            for node in level:
                for word, child in self.children[node].items():
                    self.link[child] = self.children[self.link[node]][word]
                    below.append(child)
            level = below

    def __contains__(self, ngram: Sequence[int]) -> bool:
        """Whether a reference has these words in a row."""
        node: int | None = ROOT
        for word in ngram:
            node = self.children[node].get(word) if node is not None else None
        return node is not None

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
