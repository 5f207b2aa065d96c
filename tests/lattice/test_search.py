"""The best sentences: what is left out, what happens when it gets too much, and how ties fall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polyref import SettingsError
from polyref.lattice import CompiledEngine, Engine, Lattice, PlainEngine, SearchSettings
from polyref.lattice import lattice as lattice_module

MakeLattice = Callable[..., Lattice]

MANY = [
    "a man rides a brown horse on the beach",
    "a man is riding a horse along the sandy beach",
    "the man rides his horse on a beach near the sea",
    "someone rides on a brown horse along the sea",
]
FEW = ["a b c d", "a x c d e"]
LISTED = 100  # what is small enough to be listed here


@pytest.fixture(autouse=True)
def list_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice_module, "LIST_LIMIT", LISTED)


@pytest.fixture
def bounds_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice_module, "MAX_BOUNDS", 10)


@pytest.fixture
def many(engine: Engine, lattice_of: MakeLattice) -> Lattice:
    """A lattice that is searched."""
    lattice = lattice_of(engine, MANY)
    assert lattice.count > LISTED
    return lattice


def texts(lattice: Lattice, size: int, **settings: Any) -> list[str]:
    return [sentence.text for sentence in lattice.best(size, SearchSettings(**settings))]


def test_gold_references_are_never_among_the_best(many: Lattice) -> None:
    everything = texts(many, many.count, min_bleu=0)
    assert len(everything) == len(set(everything)) == many.new
    assert not set(everything) & set(MANY)


def test_no_more_are_found_than_wanted(many: Lattice) -> None:
    assert [len(texts(many, size)) for size in (-1, 0, 1, 7)] == [0, 0, 1, 7]


def test_a_sentence_that_scores_0_is_left_out(many: Lattice) -> None:
    best = many.best(many.count)
    assert 0 < len(best) < many.new
    assert all(sentence.bleu > 0 for sentence in best)


def test_min_bleu_0_admits_what_scores_0_behind_the_rest(many: Lattice) -> None:
    admitted = many.best(many.count, SearchSettings(min_bleu=0))
    above = many.best(many.count)
    assert admitted[: len(above)] == above
    assert {sentence.bleu for sentence in admitted[len(above) :]} == {0.0}


@pytest.mark.parametrize("min_bleu", [50, 75.5, 100])
def test_min_bleu_leaves_out_what_scores_less(many: Lattice, min_bleu: float) -> None:
    above = [sentence for sentence in many.best(many.count) if sentence.bleu >= min_bleu]
    assert many.best(many.count, SearchSettings(min_bleu=min_bleu)) == above
    assert 0 < len(above) < len(many.best(many.count))


def test_the_seed_decides_among_ties_and_nothing_else(many: Lattice) -> None:
    one, other = many.best(30, SearchSettings(seed=1)), many.best(30, SearchSettings(seed=2))
    assert [sentence.bleu for sentence in one] == [sentence.bleu for sentence in other]
    assert one != other
    assert one == many.best(30, SearchSettings(seed=1))


def test_out_of_budget_is_not_exact(many: Lattice) -> None:
    hurried = many.search(20, SearchSettings(node_budget=30))
    assert not hurried.exact
    assert 0 < len(hurried.arcs) <= 20
    assert many.search(20, SearchSettings()).exact


def test_out_of_time_is_not_exact_and_enough_time_changes_nothing(many: Lattice, monkeypatch) -> None:
    monkeypatch.setattr(lattice_module, "_FIRST_NODES", 30)
    hurried = many.search(20, SearchSettings(example_seconds=1e-9))
    assert hurried.arcs == many.search(20, SearchSettings(node_budget=30)).arcs
    assert not hurried.exact
    assert many.search(20, SearchSettings(example_seconds=1000)) == many.search(20, SearchSettings())


def test_drawn_ties_are_exact_and_all_different(many: Lattice) -> None:
    drawn = many.search(5, SearchSettings(tie_limit=1))
    assert drawn.exact
    assert many.bleus(drawn) == many.bleus(many.search(5, SearchSettings()))
    assert len(set(many.texts(drawn))) == 5


@pytest.mark.usefixtures("bounds_too_large")
def test_bounds_that_are_too_large_give_the_best_of_a_sample(many: Lattice) -> None:
    found = many.search(20, SearchSettings(seed=4))
    assert (found.exact, found.nodes) == (False, 0)
    chosen = many.texts(found)
    assert len(set(chosen)) == 20
    assert all(text in many and text not in MANY for text in chosen)
    scores = many.bleus(found)
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx([many.bleu(text) for text in chosen])


@pytest.mark.usefixtures("bounds_too_large")
def test_the_best_of_a_sample_heeds_min_bleu(many: Lattice) -> None:
    assert all(sentence.bleu >= 60 for sentence in many.best(50, SearchSettings(min_bleu=60)))
    assert min(sentence.bleu for sentence in many.best(many.count, SearchSettings(min_bleu=0))) == 0


@pytest.mark.usefixtures("bounds_too_large")
def test_both_engines_draw_the_same_sample(
    plain: PlainEngine, compiled: CompiledEngine, lattice_of: MakeLattice
) -> None:
    one, other = (lattice_of(engine, MANY).search(20, SearchSettings()) for engine in (plain, compiled))
    assert one == other


@pytest.mark.usefixtures("bounds_too_large")
def test_a_lattice_that_is_listed_needs_no_bounds(engine: Engine, lattice_of: MakeLattice) -> None:
    found = lattice_of(engine, FEW).search(20, SearchSettings(min_bleu=0))
    assert found.exact
    assert len(found.arcs) == lattice_of(engine, FEW).new > 0


@pytest.mark.parametrize("size", [5, 100])
def test_a_large_lattice_is_searched_to_the_end(
    plain: PlainEngine, compiled: CompiledEngine, lattice_of: MakeLattice, size: int
) -> None:
    references = [" ".join(f"{side}{n} w{n}" for n in range(40)) for side in "lr"]
    one, other = (lattice_of(engine, references) for engine in (plain, compiled))
    assert one.count == 2**40
    found = other.search(size, SearchSettings())
    assert found.exact
    assert len(found.arcs) == size
    assert found == one.search(size, SearchSettings())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_bleu": 101}, "min_bleu is 101; give a number from 0 to 100"),
        ({"min_bleu": -1}, "min_bleu is -1; give a number from 0 to 100"),
        ({"seed": 2**63}, "seed is 9223372036854775808; give a whole number from -2"),
        ({"node_budget": 0}, "node_budget is 0; give a whole number from 1 to less than 2"),
        ({"tie_limit": 0}, "tie_limit is 0; give a whole number from 1 to less than 2"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SearchSettings(**wrong)
