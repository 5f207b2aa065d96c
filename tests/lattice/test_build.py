"""How references are merged into one lattice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyref.align import UNIT
from polyref.lattice import Arc, Engine, Lattice

MakeLattice = Callable[..., Lattice]


def texts(lattice: Lattice) -> set[str]:
    return {sentence.text for sentence in lattice.sentences()}


def test_references_share_the_start_and_nothing_else(engine: Engine, lattice_of: MakeLattice) -> None:
    lattice = lattice_of(engine, ["a b", "c d"])
    assert (lattice.states, lattice.pieces, lattice.count) == (5, 2, 2)
    assert [arc.word for arc in lattice.arcs if arc.source == 0] == ["a", "c"]


def test_a_link_merges_the_states_before_and_behind_it(engine: Engine, lattice_of: MakeLattice) -> None:
    lattice = lattice_of(engine, ["x a y", "u a v"])
    assert (lattice.states, lattice.pieces) == (5, 1)
    assert texts(lattice) == {"x a y", "x a v", "u a y", "u a v"}


def test_the_papers_order_can_leave_pieces(engine: Engine, lattice_of: MakeLattice) -> None:
    # Two good pairs; what joins them is worth less, and all four have been merged by then.
    references = ["a b c x", "a b c y", "d e f x", "d e f y"]
    assert lattice_of(engine, references).pieces == 1
    assert lattice_of(engine, references, merge_order="paper").pieces == 2


def test_a_merge_that_closes_a_cycle_is_not_made_but_the_other_is(engine: Engine, lattice_of: MakeLattice) -> None:
    # The start, before the first "a", leads to the state before the other "a": only those behind it are merged.
    lattice = lattice_of(engine, ["a b", "c a"])
    assert texts(lattice) == {"a b", "a", "c a", "c a b"}


def test_equal_words_between_the_same_states_are_one_arc(engine: Engine, lattice_of: MakeLattice) -> None:
    lattice = lattice_of(engine, ["a b", "a c", "a b"])
    assert lattice.arcs[0] == Arc(0, 1, "a", (0, 1, 2))
    assert {arc[2:] for arc in lattice.arcs[1:]} == {("b", (0, 2)), ("c", (1,))}


def test_linked_words_that_differ_are_two_arcs_between_the_same_states(engine: Engine, lattice_of: MakeLattice) -> None:
    similarity = np.zeros((4, 4), np.int32)
    similarity[1, 3] = UNIT
    lattice = lattice_of(engine, ["the cat", "a dog"], similarity)
    assert texts(lattice) == {"the cat", "the dog", "a cat", "a dog"}
    assert {arc[:3] for arc in lattice.arcs} == {(0, 1, "the"), (0, 1, "a"), (1, 2, "cat"), (1, 2, "dog")}


def test_a_final_state_may_have_arcs_going_out(engine: Engine, lattice_of: MakeLattice) -> None:
    lattice = lattice_of(engine, ["a", "a b"])
    assert lattice.finals == {1, 2}
    assert texts(lattice) == {"a", "a b"}


def test_links_are_merged_from_left_to_right(engine: Engine, lattice_of: MakeLattice) -> None:
    # Behind the two "d" first: then "c" in "d c" cannot begin behind "a" any more.
    lattice = lattice_of(engine, ["d a c", "d c", "b a"])
    assert texts(lattice) == {"d a c", "d c", "b a", "d a", "b c", "b a c"}


def test_references_of_hundreds_of_words_merge_as_short_ones_do(engine: Engine, lattice_of: MakeLattice) -> None:
    """Sets of states take several machine words here."""
    left = " ".join(f"w{n} l{n}" for n in range(150))
    right = " ".join(f"w{n} r{n}" for n in range(150))
    lattice = lattice_of(engine, [left, right])
    assert lattice.states == 301 + 1
    assert lattice.count == 2**150
