"""Sentence BLEU by hand, the trie of its n-grams, and scores compared by exact counts where floats cannot tell."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from polyref.score import BleuScale, Matches, NgramTrie, sentence_bleu
from polyref.score.sentence_bleu import CLOSE, ROOT, totals_product

REFERENCES = ["the cat sat on the mat", "there is a cat on the mat"]


def bleu(sentence: str) -> float:
    return sentence_bleu(sentence.split(), [reference.split() for reference in REFERENCES])


def closest_pair(length: int, other: int, order: int = 4) -> tuple[int, int]:
    """Two products whose shares of the two lengths' totals differ as little as whole numbers can: the first is more.

    p / t - q / s = gcd(t, s) / (t * s), solved by the inverse of s / gcd modulo t / gcd.
    """
    totals, others = totals_product(length, order), totals_product(other, order)
    divisor = math.gcd(totals, others)
    product = pow(others // divisor, -1, totals // divisor)
    return product, (product * others // divisor - 1) // (totals // divisor)


def test_score_of_a_gold_reference_is_100() -> None:
    assert bleu("the cat sat on the mat") == 100.0


def test_score_is_the_geometric_mean_of_four_precisions() -> None:
    # "is a cat sat on the mat": 7 of 7 words, 6 of 6 pairs, 4 of 5 triples, 2 of 4 fours; nothing is too short.
    expected = 100 * (7 / 7 * 6 / 6 * 4 / 5 * 2 / 4) ** (1 / 4)
    assert bleu("is a cat sat on the mat") == pytest.approx(expected, rel=1e-12)


def test_a_word_counts_no_more_often_than_in_one_reference() -> None:
    # "the" counts twice of three times: 5 of 6 words, 4 of 5 pairs, 2 of 4 triples, 1 of 3 fours.
    expected = 100 * (5 / 6 * 4 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    assert bleu("the the cat on the mat") == pytest.approx(expected, rel=1e-12)


def test_a_short_sentence_is_scored_by_the_orders_it_has() -> None:
    assert bleu("on the mat") == pytest.approx(100 * math.exp(1 - 6 / 3), rel=1e-12)
    assert bleu("cat") == pytest.approx(100 * math.exp(1 - 6 / 1), rel=1e-12)


def test_an_empty_sentence_scores_0() -> None:
    assert bleu("") == 0.0


def test_no_match_of_four_words_scores_0() -> None:
    assert bleu("the cat on the hat") == 0.0


@pytest.mark.parametrize(
    ("length", "closest"), [(1, 4), (4, 4), (5, 4), (6, 4), (7, 8), (8, 8), (9, 8), (10, 8), (11, 12), (30, 12)]
)
def test_the_closest_length_is_the_shorter_one_on_a_tie(length: int, closest: int) -> None:
    assert BleuScale([12, 4, 8]).closest(length) == closest


def test_brevity_is_never_a_bonus() -> None:
    assert BleuScale([4]).brevity(9) == 0
    assert BleuScale([4]).brevity(3) == Fraction(-1, 3)


@pytest.mark.parametrize(
    ("length", "counts", "order", "product"),
    [
        (5, (5, 4, 3, 2), 4, 120),
        (5, (5, 4, 3, 0), 3, 60),
        (5, (5, 0, 0, 0), 1, 5),
        (5, (0, 0, 0, 0), 0, 1),
        (3, (3, 2, 1, 0), 4, 6),
        (3, (3, 1, 0, 0), 2, 3),
        (1, (1, 0, 0, 0), 4, 1),
    ],
)
def test_order_is_4_or_the_highest_that_matches(
    length: int, counts: tuple[int, int, int, int], order: int, product: int
) -> None:
    matches = Matches(length, counts)
    assert (matches.order, matches.product()) == (order, product)


def test_equal_shares_tie_at_different_lengths() -> None:
    scale = BleuScale([4])
    assert scale.compare(5, 40, 6, 120) == 0
    assert scale.compare(5, 40, 6, 119) == 1
    assert scale.compare(5, 40, 6, 121) == -1


def test_equal_shares_tie_where_both_are_as_much_too_short() -> None:
    scale = BleuScale([6, 12])
    assert scale.brevity(5) == scale.brevity(10)
    assert scale.compare(5, 40, 10, totals_product(10, 4) // 3) == 0


def test_products_decide_where_floats_tie() -> None:
    scale = BleuScale([4])
    product, other = closest_pair(1000, 1013)
    assert scale.log(1000, product) == scale.log(1013, other)
    assert scale.compare(1000, product, 1013, other) == 1
    assert scale.compare(1013, other, 1000, product) == -1


def test_brevity_decides_where_floats_tie() -> None:
    scale = BleuScale([11_000, 13_000])
    length, other = 9_000, 12_500
    product = totals_product(length, 4) // 2
    with localcontext(prec=60):
        gap = scale.brevity(length) - scale.brevity(other)
        factor = (Decimal(4 * gap.numerator) / gap.denominator).exp()
        below = int(factor * product * totals_product(other, 4) / totals_product(length, 4))
    assert abs(scale.log(length, product) - scale.log(other, below)) < CLOSE
    assert abs(scale.log(length, product) - scale.log(other, below + 1)) < CLOSE
    assert scale.compare(length, product, other, below) == 1
    assert scale.compare(length, product, other, below + 1) == -1


@pytest.mark.compiled
def test_the_kernel_says_where_it_cannot_decide() -> None:
    from polyref.lattice.compiled.ranking import compare_scores, length_table

    table = length_table(np.cumsum([0, 1_100, 1_300]), 1_300)
    undecided = np.zeros(1, np.bool_)
    product, other = closest_pair(1_100, 1_213)
    assert compare_scores(table, 4, 1_100, product, 1_213, other, undecided) == 1
    assert not undecided[0]
    scale = BleuScale([1_100, 1_300])
    product = totals_product(1_300, 4) // 2
    tied = round(product / totals_product(1_300, 4) * math.exp(-4 * scale.brevity(1_250)) * totals_product(1_250, 4))
    compare_scores(table, 4, 1_300, product, 1_250, tied, undecided)
    assert undecided[0]


# -- the trie, in plain Python and compiled --------------------------------------------------------------------------

A, B, C, D, E, UNKNOWN = range(6)
NUMBERED = [[A, B, C, D, E], [A, A, A, B], [B, C, A, B]]

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
    return (plain_ngrams if engine_name == "plain" else compiled_ngrams)(NUMBERED)


def test_all_ngrams_up_to_four_words_are_there(ngrams: Ngrams) -> None:
    assert set(ngrams) == {
        tuple(reference[start:end])
        for reference in NUMBERED
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
    trie = NgramTrie(NUMBERED)
    node = ROOT
    for word in (A, B, C, D):
        node = trie.step(node, word)
    assert trie.depth[node] == 4
    assert trie.step(trie.context(node), E) == trie.step(trie.link[node], E)
    assert trie.depth[trie.step(trie.context(node), E)] == 4


def test_an_unknown_word_leads_back_to_the_root() -> None:
    trie = NgramTrie(NUMBERED)
    assert trie.step(trie.step(ROOT, A), UNKNOWN) == ROOT
    assert trie.matches([A, UNKNOWN, B]) == (2, 0, 0, 0)
    assert trie.matches([A, B]) == (2, 1, 0, 0)
