"""How alike words are, in whole numbers that every machine agrees on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from polyref.align import UNIT, soft_similarity, whole_units
from polyref.align.similarity import hard_similarity
from polyref.encode import unit_vectors


def random_vectors(words: int, size: int, seed: int = 0) -> npt.NDArray[np.float16]:
    return unit_vectors(np.random.default_rng(seed).normal(size=(words, size)))


def all_known(words: int) -> npt.NDArray[np.bool_]:
    return np.ones(words, np.bool_)


@pytest.mark.parametrize(("value", "units"), [(0.6, 6_000), (0.35, 3_500), (0.29999999, 3_000), (1, UNIT), (0, 0)])
def test_units_are_ten_thousandths(value: float, units: int) -> None:
    assert whole_units(value) == units


def test_hard_similarity_is_1_for_equal_words() -> None:
    assert hard_similarity([7, 3, 7]).tolist() == [[UNIT, 0, UNIT], [0, UNIT, 0], [UNIT, 0, UNIT]]


def test_soft_similarity_is_the_cosine() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8], [-1, 0]], np.float16)
    found = soft_similarity([0, 1, 2], vectors, all_known(3), 0.0)
    assert found[0].tolist() == pytest.approx([UNIT, 6_000, -UNIT], abs=3)
    assert found[1, 2] == -found[0, 1]


def test_a_word_is_exactly_as_similar_to_itself_as_can_be() -> None:
    """However its vector was rounded."""
    found = soft_similarity(range(40), random_vectors(40, 300), all_known(40), 0.0)
    assert found.diagonal().tolist() == [UNIT] * 40


def test_rescaling_takes_the_baseline_for_zero() -> None:
    vectors = np.array([[1, 0], [0.5, 0.75**0.5], [0, 1]], np.float16)
    plain = soft_similarity([0, 1, 2], vectors, all_known(3), 0.0)
    rescaled = soft_similarity([0, 1, 2], vectors, all_known(3), 0.5)
    assert rescaled[0].tolist() == [UNIT, 2 * plain[0, 1] - UNIT, -UNIT]


def test_a_word_without_vector_is_alike_to_itself_only() -> None:
    known = np.array([True, False, False, False])
    vectors = np.array([[1, 0], [0, 0], [0, 0], [0, 0]], np.float16)
    found = soft_similarity([0, 1, 1, 2], vectors, known, 0.25)
    assert found.tolist() == [[UNIT, 0, 0, 0], [0, UNIT, UNIT, 0], [0, UNIT, UNIT, 0], [0, 0, 0, UNIT]]


def test_a_zero_vector_is_alike_to_nothing() -> None:
    vectors = np.array([[0, 0], [0, 0], [1, 0]], np.float16)
    found = soft_similarity([5, 5, 6], vectors, all_known(3), 0.0)
    assert found.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, UNIT]]


def test_products_of_float16_are_exact() -> None:
    vectors = random_vectors(4, 300)
    exact = vectors.astype(np.float64)
    for left in range(4):
        for right in range(4):
            terms = zip(vectors[left].tolist(), vectors[right].tolist(), strict=True)
            total = sum((Fraction(a) * Fraction(b) for a, b in terms), start=Fraction(0))
            assert Fraction(float(exact[left] @ exact[right])) == total


def test_the_order_of_summation_changes_no_byte() -> None:
    """Of so many similarities, some lie so close to a half that the slightest error would round them elsewhere."""
    vectors = random_vectors(200, 768, seed=1)
    generator = np.random.default_rng(2)
    similarities, products = set(), set()
    for _ in range(10):
        shuffled = vectors[:, generator.permutation(768)]
        similarities.add(soft_similarity(range(200), shuffled, all_known(200), 0.1).tobytes())
        products.add((shuffled.astype(np.float64) @ shuffled.astype(np.float64).T).tobytes())
    assert len(similarities) == len(products) == 1
