"""How references are merged into one lattice, and made one path per sentence; counts of any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polyref.align import UNIT
from polyref.lattice import Arc, Engine, Lattice, SearchSettings
from polyref.lattice import engine as engine_module

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


# -- one path per sentence ----------------------------------------------------------------------------------------

# 46 sentences on 89 paths.
MANY_PATHS = ["a b b b a b b b", "b b c c b c", "c c c b c c", "b c c c c", "a b b c c c"]
SENTENCES, PATHS = 46, 89


@pytest.fixture
def undetermined(engine: Engine, lattice_of: MakeLattice, monkeypatch: pytest.MonkeyPatch) -> Lattice:
    monkeypatch.setattr(engine_module, "MAX_STATES", 3)
    return lattice_of(engine, MANY_PATHS)


def diamonds(number: int) -> list[str]:
    """Two references that can be crossed over at each of so many words."""
    return [" ".join(f"{side}{n} w{n}" for n in range(number)) for side in "lr"]


def test_every_sentence_is_one_path(engine: Engine, lattice_of: MakeLattice) -> None:
    lattice = lattice_of(engine, MANY_PATHS)
    assert lattice.deterministic
    assert lattice.count == SENTENCES == len({sentence.words for sentence in lattice.sentences()})


def test_over_the_limit_the_lattice_itself_is_used_and_says_so(undetermined: Lattice) -> None:
    assert not undetermined.deterministic
    assert undetermined.count == PATHS
    assert len({sentence.words for sentence in undetermined.sentences()}) == SENTENCES


def test_over_the_limit_a_search_is_not_exact(undetermined: Lattice) -> None:
    assert not undetermined.search(20, SearchSettings()).exact
    assert not undetermined.search(0, SearchSettings()).exact


@pytest.mark.usefixtures("way")
def test_over_the_limit_the_best_are_all_different(undetermined: Lattice) -> None:
    best = [sentence.words for sentence in undetermined.best(PATHS, SearchSettings(min_bleu=0))]
    gold = {tuple(reference.split()) for reference in MANY_PATHS}
    assert len(best) == len(set(best)) == SENTENCES - len(gold)


def test_over_the_limit_a_sentence_is_still_found(undetermined: Lattice) -> None:
    assert all(reference in undetermined for reference in MANY_PATHS)
    assert "a a a" not in undetermined


def test_as_many_states_as_needed_are_enough(
    engine: Engine, lattice_of: MakeLattice, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = lattice_of(engine, MANY_PATHS).automaton.states
    monkeypatch.setattr(engine_module, "MAX_STATES", needed)
    assert lattice_of(engine, MANY_PATHS).deterministic
    monkeypatch.setattr(engine_module, "MAX_STATES", needed - 1)
    assert not lattice_of(engine, MANY_PATHS).deterministic


@pytest.mark.parametrize("number", [1, 61, 62, 63, 64, 200])
def test_counts_are_whole_numbers_of_any_size(engine: Engine, lattice_of: MakeLattice, number: int) -> None:
    assert lattice_of(engine, diamonds(number)).count == 2**number


def test_samples_come_from_lattices_of_any_size(engine: Engine, lattice_of: MakeLattice) -> None:
    lattice = lattice_of(engine, diamonds(100))
    drawn = lattice.sample(20, seed=5)
    assert len({sentence.text for sentence in drawn}) == 20
    assert all(sentence.text in lattice for sentence in drawn)
    crossed = sum(word.startswith("r") for sentence in drawn for word in sentence.words)
    assert 900 < crossed < 1100
