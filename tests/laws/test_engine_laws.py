"""What the kernels compute is what plain Python computes, to the last number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from generated import Case, cases, references, searches
from hypothesis import given
from hypothesis import strategies as st

from polyref.lattice import CompiledEngine, Lattice, PlainEngine, SearchSettings
from polyref.lattice.ranking import least_product
from polyref.score import BleuScale, NgramTrie
from polyref.score.sentence_bleu import totals_product

MakeLattice = Callable[..., Lattice]

Twins = tuple[PlainEngine, CompiledEngine]

BUDGETS = (1_000, 50, 5, 1)
TIE_LIMITS = (100_000, 5, 1)


@pytest.fixture(scope="session")
def twins(plain: PlainEngine, compiled: CompiledEngine) -> Twins:
    return plain, compiled


@given(cases(most=6, longest=9))
def test_lattices_are_the_same(twins: Twins, lattice_of: MakeLattice, case: Case) -> None:
    plain, compiled = (lattice_of(engine, *case) for engine in twins)
    assert (plain.arcs, plain.finals) == (compiled.arcs, compiled.finals)
    for number in ("states", "pieces", "count", "deterministic"):
        assert getattr(plain, number) == getattr(compiled, number)


@given(cases(most=6, longest=9))
def test_automata_are_the_same(twins: Twins, case: Case) -> None:
    numbers = list(dict.fromkeys(tuple(map(ord, reference.split())) for reference in case.references))
    plain, compiled = (engine.compress(numbers, *case[1:]) for engine in twins)
    assert plain.automaton == compiled.automaton
    assert plain.arcs == compiled.arcs
    assert list(plain.after) == list(compiled.after)


@pytest.mark.usefixtures("way")
@given(
    cases(most=6, longest=9),
    searches(node_budgets=BUDGETS, tie_limits=TIE_LIMITS),
    st.sampled_from([1, 3, 20, 100]),
)
def test_searches_are_the_same(
    twins: Twins, lattice_of: MakeLattice, case: Case, settings: SearchSettings, size: int
) -> None:
    plain, compiled = (lattice_of(engine, *case) for engine in twins)
    found = plain.search(size, settings)
    assert compiled.search(size, settings) == found
    assert compiled.texts(found) == plain.texts(found)
    assert compiled.bleus(found) == plain.bleus(found)


@given(references(alphabet="ab"), references(alphabet="abc"))
def test_matches_are_the_same(compiled: CompiledEngine, gold: list[str], sentences: list[str]) -> None:
    from polyref.score.kernels import build_trie, match_sentences

    numbered = [["abc".index(word) for word in text.split()] for text in (*gold, *sentences)]
    trie, root = build_trie(*flattened(numbered[: len(gold)]), 2)
    found = match_sentences(trie, root, *flattened(numbered[len(gold) :]))
    plain = NgramTrie(numbered[: len(gold)])
    assert found.tolist() == [list(plain.matches(sentence)) for sentence in numbered[len(gold) :]]


def flattened(numbered: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """All words one behind the other, and where each sentence begins."""
    return np.concatenate(numbered).astype(np.int32), np.cumsum([0, *map(len, numbered)])


lengths = st.integers(4, 40)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 4), lengths, lengths, st.data())
def test_comparisons_are_the_same(
    compiled: CompiledEngine, gold: list[int], order: int, length: int, other: int, data: st.DataObject
) -> None:
    from polyref.lattice import ranking_kernels

    scale = BleuScale(gold, order)
    product, other_product = (
        data.draw(st.integers(1, totals_product(number, order))) for number in (length, other)
    )
    table = ranking_kernels.length_table(np.cumsum([0, *gold]), 40)
    undecided = np.zeros(1, np.bool_)
    compared = ranking_kernels.compare_scores(table, order, length, product, other, other_product, undecided)
    assert compared == scale.compare(length, product, other, other_product)
    for wanted in (0, 1):
        least = ranking_kernels.least_product(table, order, length, other, other_product, wanted, undecided)
        assert least == least_product(scale, length, other, other_product, above=bool(wanted))
    assert not undecided[0]
