"""One path a sentence; what happens where that would take too many states; and counts of any size."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polyref.lattice import Engine, Lattice, SearchSettings
from polyref.lattice import engine as engine_module

MakeLattice = Callable[..., Lattice]

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
