"""References over tiny alphabets, so that ties, repeated words and clipping are the rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from polyref.align import Matrix, MergeOrder
from polyref.lattice import SearchSettings

LEVELS = [-2_000, 0, 3_000, 5_000, 6_000, 7_000, 10_000]
PENALTIES = [0, 3_000, 5_000, 6_000, 10_000]


class Case(NamedTuple):
    """The arguments of `lattice_of`, behind the engine."""

    references: list[str]
    similarity: Matrix | None
    penalty: int
    merge_order: MergeOrder


def references(alphabet: str = "abc", most: int = 5, longest: int = 7) -> st.SearchStrategy[list[str]]:
    """Texts of one-letter words. Hypothesis likes them short and few; every second time it must not."""

    def texts(least: int, shortest: int) -> st.SearchStrategy[list[str]]:
        text = st.lists(st.sampled_from(alphabet), min_size=shortest, max_size=longest).map(" ".join)
        return st.lists(text, min_size=least, max_size=most)

    return texts(1, 1) | texts(most - 2, longest - 3)


def matrices(longest: int = 6) -> st.SearchStrategy[list[list[int]]]:
    """Similarities of the words of two references; few values, so that alignments tie."""
    sides = st.integers(1, longest)

    def of_shape(shape: tuple[int, int]) -> st.SearchStrategy[list[list[int]]]:
        row = st.lists(st.sampled_from(LEVELS), min_size=shape[1], max_size=shape[1])
        return st.lists(row, min_size=shape[0], max_size=shape[0])

    return st.tuples(sides, sides).flatmap(of_shape)


@st.composite
def cases(draw: st.DrawFn, alphabet: str = "abc", most: int = 5, longest: int = 7) -> Case:
    """References, aligned hard or by a random similarity, in either merge order."""
    drawn = draw(references(alphabet, most, longest))
    merge_order = draw(st.sampled_from(["tree", "paper"]))
    seed = draw(st.none() | st.integers(0, 2**32 - 1))
    if seed is None:
        return Case(drawn, None, 5_000, merge_order)
    size = sum(len(reference.split()) for reference in dict.fromkeys(drawn))
    similarity = np.random.default_rng(seed).choice(LEVELS, (size, size), p=[0.3, 0.3, *[0.08] * 5])
    penalty = draw(st.sampled_from(PENALTIES[1:]))
    return Case(drawn, similarity.astype(np.int32), penalty, merge_order)


def searches(
    *, node_budgets: tuple[int, ...] = (100_000,), tie_limits: tuple[int, ...] = (100_000,)
) -> st.SearchStrategy[SearchSettings]:
    """Ways to search; the first budget and tie limit are the simplest ones."""
    return st.builds(
        SearchSettings,
        seed=st.integers(0, 3),
        min_bleu=st.sampled_from([None, 0.0, 50.0]),
        node_budget=st.sampled_from(node_budgets),
        tie_limit=st.sampled_from(tie_limits),
    )
