"""What the kernels compute is what plain Python computes, to the last number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from generated import Case, cases, searches
from hypothesis import given
from hypothesis import strategies as st

from polyref.lattice import CompiledEngine, Lattice, PlainEngine, SearchSettings
from polyref.lattice.plain.ranking import least_product
from polyref.score import BleuScale
from polyref.score.sentence_bleu import totals_product

MakeLattice = Callable[..., Lattice]

Twins = tuple[PlainEngine, CompiledEngine]

# Few words over and over, where sets of states abound; and many words, where those sets take several machine words.
any_size = cases("abc", 6, 9) | cases("ab", 5, 40) | cases("abcdefghijklmnop", 5, 40)

BUDGETS = (1_000, 50, 5, 1)
TIE_LIMITS = (100_000, 5, 1)


@pytest.fixture(scope="session")
def twins(plain: PlainEngine, compiled: CompiledEngine) -> Twins:
    return plain, compiled


@given(any_size)
def test_lattices_are_the_same(twins: Twins, lattice_of: MakeLattice, case: Case) -> None:
    plain, compiled = (lattice_of(engine, *case) for engine in twins)
    assert plain.after == compiled.after
    for part in ("states", "first", "target", "word", "origin", "final", "deterministic", "count", "suffix_counts"):
        assert getattr(plain.automaton, part) == getattr(compiled.automaton, part)
    for array, other in zip(plain.automaton.arrays, compiled.automaton.arrays, strict=True):
        assert array.dtype == other.dtype


@pytest.mark.usefixtures("way")
@given(any_size, searches(node_budgets=BUDGETS, tie_limits=TIE_LIMITS), st.sampled_from([1, 3, 20, 100]))
def test_searches_are_the_same(
    twins: Twins, lattice_of: MakeLattice, case: Case, settings: SearchSettings, size: int
) -> None:
    plain, compiled = (lattice_of(engine, *case) for engine in twins)
    found = plain.search(size, settings)
    assert compiled.search(size, settings) == found
    assert compiled.texts(found) == plain.texts(found)
    assert compiled.bleus(found) == plain.bleus(found)


lengths = st.integers(4, 400)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 4), lengths, lengths, st.data())
def test_comparisons_are_the_same(
    compiled: CompiledEngine, gold: list[int], order: int, length: int, other: int, data: st.DataObject
) -> None:
    from polyref.lattice.compiled import ranking as ranking_kernels

    scale = BleuScale(gold, order)
    product, other_product = (data.draw(st.integers(1, totals_product(number, order))) for number in (length, other))
    table = ranking_kernels.length_table(np.cumsum([0, *gold]), 400)
    undecided = np.zeros(1, np.bool_)
    compared = ranking_kernels.compare_scores(table, order, length, product, other, other_product, undecided)
    assert compared == scale.compare(length, product, other, other_product)
    least, rank = ranking_kernels.least_product(table, order, length, other, other_product, undecided)
    assert least == least_product(scale, length, other, other_product)
    assert (rank == 0) == (scale.compare(length, least, other, other_product) == 0)
    assert not undecided[0]
