"""Draw a reference of an example, by weight and by the share of gold. The seeds were chosen once, before any run."""

import numpy as np
import pytest
from scipy import stats

from polyref.schedule import Sizes
from polyref.schedule.drawing import draw
from polyref.schedule.mixing import below, fractions, hashes, key_of, mix

DRAWS = 20_000
LEAST = 1e-4  # a chance below this is no chance


def drawn(sizes: Sizes, gold_share: float | None = None, example: int = 0) -> np.ndarray:
    """How often each reference of an example is drawn."""
    hashed = hashes(key_of("a test", 1), np.arange(DRAWS, dtype=np.int64))
    found = draw(np.full(DRAWS, example), hashed, sizes, gold_share)
    assert found.dtype == np.int64
    return np.bincount(found, minlength=int(sizes.total[example]))


def agrees(counts: np.ndarray, shares: list[float]) -> bool:
    assert len(counts) == len(shares)
    return stats.chisquare(counts, np.array(shares) / sum(shares) * counts.sum()).pvalue > LEAST


@pytest.mark.parametrize("references", [1, 2, 3, 5, 7, 100])
def test_references_without_weights_are_equally_likely(references):
    counts = drawn(Sizes([2, references, 4]), example=1)
    assert references == 1 or agrees(counts, [1] * references)
    assert counts.sum() == DRAWS


def test_references_are_drawn_by_weight():
    weights = np.array([9.0, 1.0, 2.0, 5.0, 1.0, 1.0])
    sizes = Sizes([1, 3, 2], None, weights)
    assert agrees(drawn(sizes, example=1), [1, 2, 5])
    assert agrees(drawn(sizes, example=2), [1, 1])
    assert drawn(sizes, example=0).tolist() == [DRAWS]


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_only_the_ratio_of_weights_counts(scale):
    sizes = Sizes([2, 3, 1], None, np.array([1e300, 1e-300, scale, 2 * scale, scale, 1.0]))
    assert agrees(drawn(sizes, example=1), [1, 2, 1])
    assert drawn(sizes, example=0).tolist() == [DRAWS, 0]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_so_large_a_share_of_what_is_drawn_is_gold(share):
    counts = drawn(Sizes([1, 2, 1], [9, 10, 9]), share, example=1)
    assert agrees(np.array([counts[:2].sum(), counts[2:].sum()]), [share, 1 - share])
    assert agrees(counts[:2], [1] * 2)
    assert agrees(counts[2:], [1] * 8)


def test_a_share_of_none_and_of_all():
    sizes = Sizes([2], [5])
    assert drawn(sizes, 0.0)[:2].tolist() == [0, 0]
    assert drawn(sizes, 1.0)[2:].tolist() == [0, 0, 0]
    assert agrees(drawn(sizes, 0.0)[2:], [1] * 3)
    assert agrees(drawn(sizes, 1.0)[:2], [1] * 2)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_an_example_without_pseudo_references_gives_gold_whatever_the_share(share):
    for weights in (None, np.array([1.0, 1.0, 1.0, 1.0])):
        assert agrees(drawn(Sizes([2, 1], [2, 2], weights), share), [1, 1])


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e20, 1e300])
def test_beside_the_share_gold_references_are_drawn_by_their_weights(scale):
    weights = np.array([1.0, 3 * scale, 1 * scale, 1.0, 1.0, 2.0, 5.0])
    sizes = Sizes([1, 2, 1], [1, 5, 1], weights)
    counts = drawn(sizes, 0.5, example=1)
    assert agrees(np.array([counts[:2].sum(), counts[2:].sum()]), [1, 1])
    assert agrees(counts[:2], [3, 1])
    assert agrees(counts[2:], [1, 1, 2])


def test_whether_it_is_gold_and_which_one_have_nothing_to_do_with_each_other():
    counts = drawn(Sizes([4], [8]), 0.5).reshape(2, 4)
    assert stats.chi2_contingency(counts).pvalue > LEAST


def test_one_draw_says_nothing_of_the_next():
    sizes = Sizes(np.full(DRAWS, 4))
    examples = np.arange(DRAWS, dtype=np.int64)
    found = draw(examples, hashes(key_of("a test", 2), examples), sizes, None)
    table = np.zeros((4, 4), np.int64)
    np.add.at(table, (found[:-1], found[1:]), 1)
    assert stats.chi2_contingency(table).pvalue > LEAST


def test_late_examples_of_a_large_set_are_drawn_by_weight_as_early_ones():
    examples = 300_000
    sizes = Sizes(np.full(examples, 2), None, np.tile([1.0, 3.0], examples))
    assert agrees(drawn(sizes, example=examples - 1), [1, 3])


# -- the numbers behind it ------------------------------------------------------------------------------------------


def test_different_parts_make_different_keys():
    keys = {key_of(*parts) for parts in [("a", 1, 2), ("a", 12), ("a", 1, -2), ("a", -1, 2), ("b", 1, 2), ("a1", 2)]}
    assert len(keys) == 6
    assert all(0 <= key < 2**64 for key in keys)


def test_keys_and_hashes_are_the_same_on_every_machine():
    assert key_of("pairs", 1, 0) == 0x3EBAA8601DB13078
    assert hashes(7, np.arange(2), np.arange(2)).tolist() == [
        13309476754707697221,
        5280711224908191826,
    ]


def test_mixing_keeps_different_numbers_different():
    assert len(np.unique(mix(np.arange(100_000, dtype=np.uint64)))) == 100_000


def test_numbers_below_a_size_and_fractions_keep_their_bounds():
    ends = np.array([0, 2**64 - 1], np.uint64)
    assert below(ends, np.array([5, 5])).tolist() == [0, 4]
    assert below(ends, np.array([2**32, 2**32])).tolist() == [0, 2**32 - 1]
    assert below(ends, np.array([1, 1])).tolist() == [0, 0]
    assert fractions(ends)[0] == 0
    assert 0.999 < fractions(ends)[1] < 1
