"""Equation 3 on matrices small enough to see through."""

from __future__ import annotations

from collections.abc import Callable

from polyref.align import UNIT, Links

Align = Callable[[list[list[int]], int], tuple[int, Links]]

HALF = UNIT // 2


def hard(left: str, right: str) -> list[list[int]]:
    return [[UNIT if u == v else 0 for v in right] for u in left]


def test_equal_words_are_linked_in_order(aligned: Align) -> None:
    assert aligned(hard("abcd", "xbyd"), HALF) == (UNIT, [(1, 1), (3, 3)])


def test_a_tie_goes_to_the_gap(aligned: Align) -> None:
    assert aligned([[6_000]], 6_000) == (0, [])
    assert aligned([[6_001]], 6_000) == (1, [(0, 0)])


def test_left_word_is_dropped_first(aligned: Align) -> None:
    assert aligned(hard("xx", "x"), HALF)[1] == [(0, 0)]
    # Either "a" or "b" can be linked, not both. Dropping the left reference's last word, "b", leaves "a".
    assert aligned(hard("ab", "ba"), HALF)[1] == [(0, 1)]


def test_right_word_is_dropped_where_the_left_one_is_needed(aligned: Align) -> None:
    assert aligned(hard("x", "xx"), HALF)[1] == [(0, 0)]
    assert aligned(hard("ax", "axx"), HALF)[1] == [(0, 0), (1, 1)]


def test_links_never_cross(aligned: Align) -> None:
    assert aligned([[0, 9_000], [9_500, 0]], HALF) == (4_500, [(1, 0)])


def test_two_weak_links_beat_a_strong_one(aligned: Align) -> None:
    assert aligned([[6_000, 9_000], [0, 7_000]], HALF)[1] == [(0, 1)]
    assert aligned([[8_000, 9_000], [0, 7_000]], HALF)[1] == [(0, 0), (1, 1)]


def test_similarities_below_zero_are_no_links(aligned: Align) -> None:
    assert aligned([[-3_000, -1]], 0) == (0, [])
