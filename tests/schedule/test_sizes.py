"""How many references each example has, where each pair stands, and which are drawn."""

import pickle

import numpy as np
import pytest
from scipy import stats

from polyref.errors import SettingsError
from polyref.schedule import Sizes
from polyref.schedule.mixing import hashes, key_of

DRAWS = 20_000
LEAST = 1e-4  # a chance below this is no chance


def test_pairs_are_numbered_example_after_example():
    sizes = Sizes([1, 2, 1], [3, 2, 1])
    assert (sizes.examples, sizes.pairs) == (3, 6)
    assert sizes.starts.tolist() == [0, 3, 5, 6]
    assert sizes.pair_at(np.arange(6))[0].tolist() == [0, 0, 0, 1, 1, 2]


def test_all_references_are_gold_unless_more_are_counted():
    assert Sizes([2, 3]).total.tolist() == [2, 3]


@pytest.mark.parametrize(("largest", "kind"), [(255, np.uint8), (256, np.uint16), (65536, np.uint32)])
def test_counts_take_as_few_bytes_as_hold_them(largest, kind):
    sizes = Sizes([1, 1, 1], np.array([largest, 1, largest], np.int64))
    assert sizes.total.dtype == kind
    assert sizes.starts.tolist() == [0, largest, largest + 1, 2 * largest + 1]


def test_sums_of_small_counts_do_not_overflow():
    sizes = Sizes(np.full(1000, 200, np.uint8))
    assert sizes.pairs == 200_000
    assert sizes.starts[:4].tolist() == [0, 200, 400, 600]


@pytest.mark.parametrize("each", [10**8, 2**32 - 1, 2**33])
def test_more_pairs_than_32_bits_hold_are_found(each):
    sizes = Sizes(np.ones(100, np.int64), np.full(100, each))
    assert sizes.pairs == 100 * each
    assert sizes.pair_at(np.array([0, each - 1, each, 100 * each - 1]))[0].tolist() == [0, 0, 1, 99]


def test_many_pairs_take_little_memory():
    sizes = Sizes(np.full(1_000_000, 5, np.uint32))
    assert sizes.starts.nbytes + sizes.gold.nbytes + sizes.total.nbytes < 7_000_000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([],), "there are no examples"),
        (([0],), "an example has no gold reference"),
        (([1, 0], [1, 1]), "an example has no gold reference"),
        (([2], None, np.array([1.0, 0.0])), "give each a number above 0"),
        (([2], None, np.array([1.0, -1.0])), "give each a number above 0"),
        (([2], None, np.array([1.0, np.nan])), "give each a number above 0"),
        (([2], None, np.array([1.0, np.inf])), "give each a number above 0"),
    ],
)
def test_counts_and_weights_that_make_no_sense_are_refused(arguments, says):
    with pytest.raises(SettingsError) as refused:
        Sizes(*arguments)
    assert says in str(refused.value)


def test_the_weights_of_an_example_make_1_together():
    sizes = Sizes([2, 1, 3], None, np.array([1.0, 3.0, 5.0, 1e300, 1e300, 2e300]))
    assert np.diff(sizes.heaps) == pytest.approx([0.25, 0.75, 1, 0.25, 0.25, 0.5])
    assert sizes.heaps[0] == 0


def test_counts_go_to_another_process():
    sizes = Sizes([1, 2], [2, 2], np.array([1.0, 2.0, 3.0, 4.0]))
    copy = pickle.loads(pickle.dumps(sizes))
    assert copy.starts.tolist() == sizes.starts.tolist()
    assert copy.heaps.tolist() == sizes.heaps.tolist()


# -- draws, by weight and by the share of gold; the seeds were chosen once, before any run ----------------------------


def drawn(sizes: Sizes, gold_share: float | None = None, example: int = 0) -> np.ndarray:
    """How often each reference of an example is drawn."""
    hashed = hashes(key_of("a test", 1), np.arange(DRAWS, dtype=np.int64))
    found = sizes.draw(np.full(DRAWS, example), hashed, gold_share)
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
    found = sizes.draw(examples, hashes(key_of("a test", 2), examples), None)
    table = np.zeros((4, 4), np.int64)
    np.add.at(table, (found[:-1], found[1:]), 1)
    assert stats.chi2_contingency(table).pvalue > LEAST


def test_late_examples_of_a_large_set_are_drawn_by_weight_as_early_ones():
    examples = 300_000
    sizes = Sizes(np.full(examples, 2), None, np.tile([1.0, 3.0], examples))
    assert agrees(drawn(sizes, example=examples - 1), [1, 3])
