"""A kept lattice is the lattice, whatever it was made of."""

from __future__ import annotations

from collections.abc import Callable

from generated import Case, cases, searches
from hypothesis import given

from polyref.lattice import Engine, Lattice, SearchSettings, keep, restore

MakeLattice = Callable[..., Lattice]


@given(cases("abc", 5, 9) | cases("abcdefghijklmnop", 5, 30), searches())
def test_a_lattice_built_again_counts_lists_samples_and_searches_as_the_first_did(
    engine: Engine, lattice_of: MakeLattice, case: Case, settings: SearchSettings
) -> None:
    first = lattice_of(engine, *case)
    again = restore(case.references, keep(first), engine=engine)
    assert (again.count, again.states, again.pieces) == (first.count, first.states, first.pieces)
    assert again.arcs == first.arcs
    assert [array.tolist() for array in again.automaton.arrays] == [array.tolist() for array in first.automaton.arrays]
    assert again.best(20, settings) == first.best(20, settings)
    assert again.sample(5, seed=1) == first.sample(5, seed=1)
    assert keep(again) == keep(first)
