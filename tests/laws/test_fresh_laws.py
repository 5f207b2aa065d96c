"""Fresh paths, for every lattice: what the search admits, each once, whatever the engine."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice

import pytest
from generated import Case, cases
from hypothesis import given
from hypothesis import strategies as st

from polyref.example import Example, LatticeSummary, Reference
from polyref.expansion import Tools
from polyref.fresh import By, FreshSettings, draw_fresh
from polyref.lattice import CompiledEngine, Engine, Lattice, PlainEngine, SearchSettings, keep
from polyref.lattice.plain.sampling import numbers_once

MakeLattice = Callable[..., Lattice]
FLOORS = st.sampled_from([0.0, 20.0, 50.0, 90.0])
some_cases = cases("abc", 4, 7) | cases("ab,.", 4, 6)


def example_of(case: Case, lattice: Lattice) -> Example:
    summary = LatticeSummary(lattice.count, None, exact=True, kept=keep(lattice))
    return Example("x", None, tuple(map(Reference, case.references)), lattice=summary)


@given(some_cases, FLOORS, st.integers(0, 3))
def test_all_fresh_paths_are_all_that_the_search_admits(
    plain: PlainEngine, lattice_of: MakeLattice, case: Case, floor: float, epoch: int
) -> None:
    lattice = lattice_of(plain, *case)
    if lattice.count > 640_000:
        return
    admitted = lattice.best(10_000, SearchSettings(min_bleu=floor))
    settings = FreshSettings(10_000, min_bleu=floor)
    [found] = draw_fresh([example_of(case, lattice)], settings, epoch=epoch, seed=1, tools=Tools(plain))
    assert sorted((pseudo.text, pseudo.bleu) for pseudo in found) == sorted(
        (sentence.text, pytest.approx(sentence.bleu)) for sentence in admitted
    )


@given(some_cases, FLOORS, st.integers(0, 3), st.sampled_from(["uniform", "rank"]), st.integers(1, 9))
def test_fresh_paths_are_the_same_by_either_engine(
    plain: PlainEngine,
    compiled: CompiledEngine,
    lattice_of: MakeLattice,
    case: Case,
    floor: float,
    epoch: int,
    by: By,
    size: int,
) -> None:
    example = example_of(case, lattice_of(plain, *case))
    settings = FreshSettings(size, by, min_bleu=floor)
    one, other = (
        draw_fresh([example], settings, epoch=epoch, seed=1, tools=Tools(engine)) for engine in (plain, compiled)
    )
    assert one == other
    assert len({pseudo.text for pseudo in one[0]}) == len(one[0])


@given(some_cases, FLOORS, st.integers(1, 9))
def test_epochs_by_rank_are_the_ranking_over_and_over(
    engine: Engine, lattice_of: MakeLattice, case: Case, floor: float, size: int
) -> None:
    lattice = lattice_of(engine, *case)
    ranking = [sentence.text for sentence in lattice.best(1000, SearchSettings(1, floor))]
    example, settings = example_of(case, lattice), FreshSettings(size, "rank", min_bleu=floor)
    for epoch in range(4):
        [found] = draw_fresh([example], settings, epoch=epoch, seed=1, tools=Tools(engine))
        places = range(epoch * size, epoch * size + min(size, len(ranking)))
        assert [pseudo.text for pseudo in found] == [ranking[place % len(ranking)] for place in places]


@given(st.integers(0, 300), st.integers())
def test_numbers_come_once_each(count: int, seed: int) -> None:
    assert sorted(numbers_once(count, random.Random(seed))) == list(range(count))


@given(st.integers(1, 10**40), st.integers())
def test_a_few_of_very_many_numbers_cost_little(count: int, seed: int) -> None:
    few = list(islice(numbers_once(count, random.Random(seed)), 50))
    assert len(set(few)) == len(few) == min(50, count)
    assert all(0 <= number < count for number in few)
