"""The order of candidates, the hashes that break ties, and the least product that reaches a score."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from polyref.lattice.plain.ranking import (
    Candidate,
    Ranking,
    floors_for,
    least_product,
    mix,
    sentence_hash,
    word_hash,
    word_hashes,
)
from polyref.score import BleuScale
from polyref.score.sentence_bleu import totals_product

LENGTHS = [5, 8, 9]


def candidate(words: str, product: int, *, order: int = 4, hashed: int = 0) -> Candidate:
    numbers = tuple(map(ord, words))
    return Candidate(numbers, order, product, hashed, numbers)


def ranked(size: int, *candidates: Candidate) -> list[Candidate]:
    ranking = Ranking(size, LENGTHS)
    for each in candidates:
        ranking.add(each)
    return ranking.best


def linear_least(scale: BleuScale, length: int, than: tuple[int, int]) -> int:
    """The least product by trying all; one more than any sentence has, if none is enough."""
    for product in range(1, totals_product(length, scale.order) + 1):
        if scale.compare(length, product, *than) >= 0:
            return product
    return totals_product(length, scale.order) + 1


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_least_product_is_what_trying_all_finds(order: int) -> None:
    scale = BleuScale(LENGTHS, order)
    for than_length in range(4, 11):
        totals = totals_product(than_length, order)
        for than_product in {1, 2, totals // 3 + 1, totals // 2 + 1, totals - 1, totals}:
            for length in range(4, 11):
                found = least_product(scale, length, than_length, than_product)
                expected = linear_least(scale, length, (than_length, than_product))
                none = totals_product(length, order) + 1
                assert min(found, none) == expected


@pytest.mark.parametrize("min_bleu", [0.1, 20.0, 50.0, 97.1, 100.0])
def test_floors_are_the_least_products_that_score_enough(min_bleu: float) -> None:
    scale = BleuScale(LENGTHS)
    floors = floors_for(min_bleu, LENGTHS)
    assert len(floors) == sum(LENGTHS) + 1
    for length in range(1, 13):
        totals = totals_product(length, 4)
        enough = (product for product in range(1, totals + 1) if scale.value(length, product) >= min_bleu)
        assert floors[length] == next(enough, totals + 1)


def test_a_score_above_0_comes_before_all_that_are_0() -> None:
    low, high = candidate("abcdef", 1), candidate("abcdeg", 120, order=3)
    assert ranked(2, high, low) == [low, high]


def test_the_higher_score_comes_first() -> None:
    better, worse = candidate("abcde", 120, hashed=9), candidate("abcdf", 119, hashed=1)
    assert ranked(2, worse, better) == [better, worse]


def test_equal_scores_go_by_hash_then_by_words() -> None:
    first = candidate("bbbbb", 60, hashed=1)
    second, third = candidate("aaaaa", 60, hashed=2), candidate("aaaab", 60, hashed=2)
    assert ranked(3, third, second, first) == [first, second, third]


def test_equal_scores_of_different_lengths_go_by_hash() -> None:
    # Half of all products each, and neither is too short.
    long, short = candidate("a" * 10, 5_040 // 2, hashed=1), candidate("a" * 9, 3_024 // 2, hashed=2)
    assert ranked(2, short, long) == [long, short]


def test_a_second_path_of_a_sentence_counts_once() -> None:
    one, other = candidate("abcde", 60), Candidate((1, 2, 3, 4, 5), 4, 60, 0, tuple(map(ord, "abcde")))
    assert ranked(2, one, other) == [one]


def test_only_the_best_are_kept() -> None:
    candidates = [candidate("abcde", product, hashed=product) for product in (5, 3, 9, 1, 7)]
    assert [each.product for each in ranked(3, *candidates)] == [9, 7, 5]


# -- hashes that are the same everywhere, since they decide which sentences are chosen --------------------------------

SCRIPT = """
from polyref import Lattice
lattice = Lattice.from_references(["a b c d e f g", "a c b d f e g", "b a c d e g f"], engine="plain")
print([sentence.text for sentence in lattice.best(20)], [sentence.text for sentence in lattice.sample(5)])
"""


def test_hashes_never_change() -> None:
    """These numbers decide ties in files that people keep."""
    assert word_hash("cat", 0) == (4961136902985907950).to_bytes(8, "little")
    assert word_hash("Café", -1) == (6289243690096446843).to_bytes(8, "little")
    assert mix(1, 2) == 12686692678866068389
    assert sentence_hash([0, 1, 0], [11, 22]) == 14523423018146095037


def test_a_seed_gives_other_hashes() -> None:
    assert len({word_hash("cat", seed) for seed in (-(2**63), -1, 0, 1, 2**63 - 1)}) == 5


def test_the_order_of_words_counts() -> None:
    hashes = word_hashes(["a", "b"], seed=0).tolist()
    assert len({sentence_hash(words, hashes) for words in ([0, 1], [1, 0], [0], [0, 0], [])}) == 5


def test_the_choice_does_not_depend_on_pythons_own_hash() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


@pytest.mark.compiled
def test_the_kernel_mixes_alike() -> None:
    from polyref.lattice.compiled import ranking

    for left, right in [(0, 0), (1, 2), (2**64 - 1, 2**63), (0x243F6A8885A308D3, 12345678901234567890)]:
        assert int(ranking.mix(np.uint64(left), np.uint64(right))) == mix(left, right)
