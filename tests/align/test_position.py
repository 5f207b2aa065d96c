"""Where words stand, and what that does to their similarity."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from polyref import AlignSettings, Lattice, WordVectors
from polyref.align.position import distances, places
from polyref.draw.matrix import compare


def test_the_first_word_stands_at_0_and_the_last_one_at_the_weight() -> None:
    assert places(2, 500) == [0, 500]
    assert places(5, 500) == [0, 125, 250, 375, 500]
    assert places(4, 500) == [0, 167, 333, 500]


def test_a_half_is_rounded_upwards() -> None:
    assert places(3, 5) == [0, 3, 5]


def test_a_word_that_is_alone_stands_in_the_middle() -> None:
    assert places(1, 500) == [250]


def test_a_weight_of_nothing_keeps_all_words_together() -> None:
    assert places(7, 0) == [0] * 7
    assert not distances([3, 1, 5], 0).any()


def test_words_are_as_far_apart_as_their_places() -> None:
    found = distances([3, 2], 500)
    assert found.tolist()[:3] == [[0, 250, 500, 0, 500], [250, 0, 250, 250, 250], [500, 250, 0, 500, 0]]
    assert found.dtype == np.int32


@pytest.mark.compiled
@pytest.mark.parametrize("weight", [0, 1, 37, 500, 10_000])
def test_the_kernel_finds_the_same_places(weight: int) -> None:
    from polyref.align import kernels

    lengths = [1, 2, 3, 7, 50, 1, 999]
    starts = np.array(list(accumulate(lengths, initial=0)), np.int64)
    expected = [place for length in lengths for place in places(length, weight)]
    assert kernels.places(starts, weight).tolist() == expected


@pytest.mark.parametrize(
    ("left", "right", "plain", "by_position"),
    [
        # Two of three "a" could be the one; the vectors do not tell which.
        ("a cat sits", "a cat near a dog near a wall", [(0, 0), (1, 1)], [(0, 0), (1, 1)]),
        ("cats on a wall", "a horse near a wall", [(2, 0), (3, 4)], [(2, 3), (3, 4)]),
        ("he sleeps .", "he eats . then he sleeps .", [(0, 0), (1, 5), (2, 6)], [(0, 0), (1, 5), (2, 6)]),
        ("it sees it . it runs .", "nobody swims .", [(3, 2)], [(6, 2)]),
    ],
)
def test_a_word_that_occurs_twice_is_linked_where_it_stands_alike(
    left: str, right: str, plain: Any, by_position: Any, engine_name: Any
) -> None:
    encoder = WordVectors(["x"], np.ones((1, 1)))  # none of the words: equal ones are alike, and no others
    for position, links in ((0.0, plain), (AlignSettings().position, by_position)):
        align = AlignSettings("soft", "cosine", 0.5, position=position)
        lattice = Lattice.from_references([left, right], align=align, encoder=encoder, engine=engine_name)
        assert compare(lattice, 0, 1).links == links


def test_equal_words_at_opposite_ends_lose_no_more_than_the_weight(engine_name: Any) -> None:
    encoder = WordVectors(["x"], np.ones((1, 1)))
    for penalty, links in ((0.94, [(0, 4)]), (0.95, [])):
        align = AlignSettings("soft", "cosine", penalty, position=0.05)
        references = ["cat a b c d", "e f g h cat"]
        lattice = Lattice.from_references(references, align=align, encoder=encoder, engine=engine_name)
        assert compare(lattice, 0, 1).links == links
