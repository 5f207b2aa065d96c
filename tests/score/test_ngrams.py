"""The trie of reference n-grams, in plain Python and compiled."""

from __future__ import annotations

import numpy as np
import pytest

from polyref.score import NgramTrie
from polyref.score.ngrams import ROOT

A, B, C, D, E, UNKNOWN = range(6)
REFERENCES = [[A, B, C, D, E], [A, A, A, B], [B, C, A, B]]

Ngrams = dict[tuple[int, ...], tuple[int, tuple[int, ...]]]


def plain_ngrams(references: list[list[int]]) -> Ngrams:
    """Each n-gram with its limit, and the n-gram that its link leads to."""
    trie = NgramTrie(references)
    spelled: dict[int, tuple[int, ...]] = {ROOT: ()}
    for node in range(len(trie.depth)):
        spelled.update({child: (*spelled[node], word) for word, child in trie.children[node].items()})
    return {words: (trie.limit[node], spelled[trie.link[node]]) for node, words in spelled.items() if node != ROOT}


def compiled_ngrams(references: list[list[int]]) -> Ngrams:
    from polyref.score.kernels import LIMIT, LINK, build_trie, find_child

    words = np.concatenate(references).astype(np.int32)
    trie, root = build_trie(words, np.cumsum([0, *map(len, references)]), UNKNOWN)
    spelled: dict[int, tuple[int, ...]] = {}
    waiting = [(0, ())]
    for node, said in waiting:
        spelled[node] = said
        children = [(find_child(trie, root, node, word), (*said, word)) for word in range(UNKNOWN)]
        waiting += [(child, longer) for child, longer in children if child]
    assert len(spelled) == len(trie)
    return {said: (int(trie[node, LIMIT]), spelled[trie[node, LINK]]) for node, said in spelled.items() if node}


@pytest.fixture
def ngrams(engine_name: str) -> Ngrams:
    """What the plain trie holds, and what the compiled one does."""
    return (plain_ngrams if engine_name == "plain" else compiled_ngrams)(REFERENCES)


def test_all_ngrams_up_to_four_words_are_there(ngrams: Ngrams) -> None:
    assert set(ngrams) == {
        tuple(reference[start:end])
        for reference in REFERENCES
        for start in range(len(reference))
        for end in range(start + 1, min(start + 4, len(reference)) + 1)
    }


def test_limit_is_the_most_that_one_reference_has(ngrams: Ngrams) -> None:
    assert ngrams[A,][0] == 3
    assert ngrams[A, A][0] == 2
    assert ngrams[A, B][0] == 1
    assert ngrams[B,][0] == 2


def test_link_drops_the_first_word(ngrams: Ngrams) -> None:
    assert all(link == words[1:] for words, (_, link) in ngrams.items())


def test_context_of_four_words_is_the_last_three() -> None:
    trie = NgramTrie(REFERENCES)
    node = ROOT
    for word in (A, B, C, D):
        node = trie.step(node, word)
    assert trie.depth[node] == 4
    assert trie.step(trie.context(node), E) == trie.step(trie.link[node], E)
    assert trie.depth[trie.step(trie.context(node), E)] == 4


def test_an_unknown_word_leads_back_to_the_root() -> None:
    trie = NgramTrie(REFERENCES)
    assert trie.step(trie.step(ROOT, A), UNKNOWN) == ROOT
    assert trie.matches([A, UNKNOWN, B]) == (2, 0, 0, 0)
    assert trie.matches([A, B]) == (2, 1, 0, 0)
