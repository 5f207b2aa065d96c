"""What holds for every alignment of two references (equation 3 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations

from generated import PENALTIES, matrices
from hypothesis import given
from hypothesis import strategies as st

from polyref.align.alignment import Links

Align = Callable[[list[list[int]], int], tuple[int, Links]]

penalties = st.sampled_from(PENALTIES)


@cache
def monotone_link_sets(rows: int, columns: int) -> list[Links]:
    """All sets of links in which no two cross or share a word."""
    return [
        list(zip(lefts, rights, strict=True))
        for size in range(min(rows, columns) + 1)
        for lefts in combinations(range(rows), size)
        for rights in combinations(range(columns), size)
    ]


def brute_force(similarity: list[list[int]], penalty: int) -> tuple[int, Links]:
    """The best worth, and of the link sets that earn it the one that the tie rule names.

    Dropping words from the end wherever that loses nothing, the left one first, leaves the last link as early
    as it can be in the left reference, and then in the right one; and so on with the link before it.
    """
    worth = {
        tuple(links): sum(similarity[u][v] - penalty for u, v in links)
        for links in monotone_link_sets(len(similarity), len(similarity[0]))
    }
    best = max(worth.values())
    chosen = min((links for links in worth if worth[links] == best), key=lambda links: links[::-1])
    return best, list(chosen)


@given(matrices(), penalties)
def test_alignment_is_what_brute_force_finds(aligned: Align, similarity: list[list[int]], penalty: int) -> None:
    assert aligned(similarity, penalty) == brute_force(similarity, penalty)


@given(matrices(longest=12), penalties)
def test_every_link_beats_the_penalty(aligned: Align, similarity: list[list[int]], penalty: int) -> None:
    worth, links = aligned(similarity, penalty)
    assert all(similarity[u][v] > penalty for u, v in links)
    assert worth == sum(similarity[u][v] - penalty for u, v in links)


@given(matrices(longest=12), penalties, penalties)
def test_raising_the_penalty_never_raises_the_worth(
    aligned: Align, similarity: list[list[int]], penalty: int, other: int
) -> None:
    low, high = sorted((penalty, other))
    assert aligned(similarity, high)[0] <= aligned(similarity, low)[0]
