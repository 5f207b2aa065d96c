"""Numbers that look random, and orders without a list."""

import numpy as np
import pytest
from scipy import stats

from polyref.schedule import mixing
from polyref.schedule.mixing import SORTED_UP_TO, below, encipher, fractions, hashes, key_of, mix, permute

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 1023, 1024, 1025, 4097]


def numbers(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.int64)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("way", [permute, encipher])
def test_each_thing_stands_at_one_place(way, size):
    for key in (0, 1, 2**64 - 1):
        found = way(numbers(size), size, key)
        assert found.dtype == np.int64
        assert sorted(found.tolist()) == list(range(size))


@pytest.mark.parametrize("size", [SORTED_UP_TO - 1, SORTED_UP_TO, SORTED_UP_TO + 1])
def test_both_sides_of_the_border_are_orders(size):
    found = permute(numbers(size), size, key=5)
    assert np.array_equal(np.sort(found), numbers(size))
    assert np.count_nonzero(found == numbers(size)) < 20  # one is expected


@pytest.mark.parametrize("size", [10, 100])
def test_any_places_can_be_asked_for_in_any_order(size, monkeypatch: pytest.MonkeyPatch):
    for limit in (SORTED_UP_TO, 0):
        monkeypatch.setattr(mixing, "SORTED_UP_TO", limit)
        whole = permute(numbers(size), size, key=3)
        places = np.array([size - 1, 0, 5, 5, 2])
        assert permute(places, size, key=3).tolist() == whole[places].tolist()
        assert permute(numbers(0), size, key=3).tolist() == []


def test_the_cipher_begins_where_the_list_becomes_too_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mixing, "SORTED_UP_TO", 8)
    listed = permute(numbers(8), 8, key=1).tolist()
    assert listed != encipher(numbers(8), 8, key=1).tolist()
    assert permute(numbers(9), 9, key=1).tolist() == encipher(numbers(9), 9, key=1).tolist()


@pytest.mark.parametrize("size", [2**20 + 1, 2**32, 2**32 + 1, 10**12, 2**62])
def test_places_of_a_huge_order_need_no_list(size):
    places = np.array([place * (size - 1) // 999 for place in range(1000)])
    found = permute(places, size, key=9)
    assert found.min() >= 0
    assert found.max() < size
    assert len(set(found.tolist())) == len(set(places.tolist()))
    assert not np.array_equal(found, places)


def test_another_key_is_another_order():
    for way in (permute, encipher):
        orders = {tuple(way(numbers(50), 50, key).tolist()) for key in range(100)}
        assert len(orders) == 100


def test_what_stands_at_two_places_of_the_cipher_is_anything_equally_often():
    # A size that is hardly half of the next power of two: the cipher is often applied again.
    size, keys = 2**20 + 3, 1500
    found = np.array([encipher(np.array([700, 701]), size, key) for key in range(keys)])
    parts = found * 4 // size
    counts = np.bincount(parts[:, 0] * 4 + parts[:, 1], minlength=16)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_few_things_stand_in_every_order_equally_often():
    orders: dict[tuple[int, ...], int] = {}
    for key in range(12_000):
        found = tuple(permute(numbers(4), 4, key).tolist())
        orders[found] = orders.get(found, 0) + 1
    assert len(orders) == 24
    assert stats.chisquare(list(orders.values())).pvalue > 1e-4


def test_neighbours_do_not_stay_neighbours():
    size = 100_000
    found = encipher(numbers(size), size, key=2)
    assert np.count_nonzero(np.abs(np.diff(found)) == 1) < 20  # two are expected
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.02  # five standard errors are 0.016


def test_what_is_remembered_cannot_be_changed():
    found = permute(numbers(10), 10, key=4)
    found[:] = 0
    assert sorted(permute(numbers(10), 10, key=4).tolist()) == list(range(10))


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
