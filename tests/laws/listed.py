"""The order of a lattice's sentences, for tests that list them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

from polyref.lattice import SearchSettings
from polyref.score import MAX_ORDER, BleuScale, Matches, NgramTrie

Words = tuple[int, ...]


class Scores:
    """Sentence BLEU of numbered words against gold references, compared exactly."""

    def __init__(self, gold: Sequence[Words]):
        self._trie = NgramTrie(gold)
        self._scales = {order: BleuScale(map(len, gold), order) for order in range(1, MAX_ORDER + 1)}

    def matches(self, words: Words) -> Matches:
        return Matches(len(words), self._trie.matches(words))

    def is_admitted(self, words: Words, settings: SearchSettings) -> bool:
        matches = self.matches(words)
        if matches.order < MAX_ORDER:
            return settings.min_bleu == 0
        return self._scales[MAX_ORDER].value(matches.length, matches.product()) >= (settings.min_bleu or 0)

    def best_first(self, sentences: Sequence[Words], key: Callable[[Words], Any]) -> list[Words]:
        """Sorted by score, and by the key where scores are equal."""

        def compare(first: Words, second: Words) -> int:
            left, right = self.matches(first), self.matches(second)
            if left.order != right.order:
                return right.order - left.order
            scale = self._scales[left.order]
            by_score = scale.compare(left.length, left.product(), right.length, right.product())
            left_key, right_key = key(first), key(second)
            return -by_score or (left_key > right_key) - (left_key < right_key)

        return sorted(sentences, key=cmp_to_key(compare))
