"""How many references each example has, and where each pair stands."""

import pickle

import numpy as np
import pytest

from polyref.errors import SettingsError
from polyref.schedule import Sizes


def test_pairs_are_numbered_example_after_example():
    sizes = Sizes([1, 2, 1], [3, 2, 1])
    assert (sizes.examples, sizes.pairs) == (3, 6)
    assert sizes.starts.tolist() == [0, 3, 5, 6]
    assert sizes.example_of(np.arange(6)).tolist() == [0, 0, 0, 1, 1, 2]


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
    assert sizes.example_of(np.array([0, each - 1, each, 100 * each - 1])).tolist() == [0, 0, 1, 99]


def test_many_pairs_take_little_memory():
    sizes = Sizes(np.full(1_000_000, 5, np.uint32))
    assert sizes.starts.nbytes + sizes.gold.nbytes + sizes.total.nbytes < 7_000_000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([],), "there are no examples"),
        (([0],), "an example has no gold reference"),
        (([1, 0], [1, 1]), "an example has no gold reference"),
        (([2], [1]), "fewer references than gold ones"),
        (([-1],), "a count of references is below 0"),
        (([1], [-1]), "a count of references is below 0"),
        (([1, 1], [1]), "two lists of the same length"),
        (([[1]],), "not one number an example"),
        (([1.5],), "no whole number"),
        (([1], [2], np.ones(3)), "3 weights for 2 pairs"),
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
