"""Fresh paths: other pseudo-references in every epoch."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from judges import Drawn, Table
from samples import CAT, captions
from scipy.stats import chisquare

from polyref import Example, ExpandSettings, InputError, Lattice, Reference, SearchSettings, SettingsError, expand
from polyref import fresh as fresh_module
from polyref.example import KeptLattice, PseudoReference
from polyref.expansion import Tools
from polyref.fresh import FreshSettings, draw_fresh
from polyref.judge import JudgeSettings
from polyref.lattice import Engine, PlainEngine

ELEPHANTS = [
    "Two elephants in an enclosure next to a brick building",
    "Two elephants try to fit through a small entry",
    "Two big elephants walk through a small gate next to a building",
]


def kept(texts: Sequence[str], id: str = "cat", settings: ExpandSettings | None = None) -> Example:
    """An example of some texts, expanded with its lattice."""
    settings = replace(settings or ExpandSettings(judging=JudgeSettings("bleu")), keep_lattice=True)
    [example] = expand([Example(id, None, tuple(map(Reference, texts)))], settings=settings, engine=PlainEngine())
    return example


def drawn(
    example: Example, size: int, *, epoch: int = 0, seed: int = 0, engine: Engine | None = None, **settings: object
) -> list[str]:
    """The texts of one example."""
    tools = Tools(engine or PlainEngine())
    [found] = draw_fresh([example], FreshSettings(size, **settings), epoch=epoch, seed=seed, tools=tools)  # type: ignore[arg-type]
    return [pseudo.text for pseudo in found]


CAT_EXAMPLE = kept(CAT)


def test_fresh_paths_are_new_sentences_of_the_lattice_above_the_floor(engine: Engine) -> None:
    lattice = Lattice.from_references(CAT)
    [found] = draw_fresh([CAT_EXAMPLE], FreshSettings(200, min_bleu=70), epoch=0, seed=0, tools=Tools(engine))
    assert len({pseudo.text for pseudo in found}) == 200
    for pseudo in found:
        assert pseudo.text in lattice
        assert pseudo.text not in CAT
        assert pseudo.bleu == pytest.approx(lattice.bleu(pseudo.text))
        assert pseudo.bleu >= 70 - 1e-9
        assert pseudo.fluency is None
        assert not pseudo.repeat


def test_an_epoch_repeats_itself_and_no_other_one() -> None:
    assert drawn(CAT_EXAMPLE, 15, epoch=3, seed=7) == drawn(CAT_EXAMPLE, 15, epoch=3, seed=7)
    assert not set(drawn(CAT_EXAMPLE, 15, epoch=3, seed=7)) >= set(drawn(CAT_EXAMPLE, 15, epoch=4, seed=7))
    assert not set(drawn(CAT_EXAMPLE, 15, epoch=3, seed=7)) >= set(drawn(CAT_EXAMPLE, 15, epoch=3, seed=8))


def test_epochs_go_on_into_the_lattice() -> None:
    seen: set[str] = set()
    for epoch in range(10):
        seen.update(drawn(CAT_EXAMPLE, 15, epoch=epoch))
    assert len(seen) > 100


def test_two_examples_with_the_same_references_are_drawn_for_apart() -> None:
    assert drawn(CAT_EXAMPLE, 15) != drawn(kept(CAT, "another cat"), 15)


@pytest.mark.parametrize("by", ["uniform", "rank"])
@pytest.mark.parametrize("fluency", [None, 0.0])
def test_what_an_example_gets_does_not_depend_on_its_neighbours(by: fresh_module.By, fluency: float | None) -> None:
    examples = [kept(texts, str(number)) for number, texts in enumerate(captions(140))]
    settings = FreshSettings(5, by, min_bleu=40, fluency=fluency)
    tools = Tools(PlainEngine(), language_model=Drawn())
    together = draw_fresh(examples, settings, epoch=2, seed=3, tools=tools)
    backwards = draw_fresh(examples[::-1], settings, epoch=2, seed=3, tools=tools)
    assert backwards[::-1] == together
    assert draw_fresh(examples[77:78], settings, epoch=2, seed=3, tools=tools) == together[77:78]
    assert sum(map(len, together)) > 140


def test_what_an_example_gets_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import polyref\n"
        "from polyref.fresh import FreshSettings, draw_fresh\n"
        f"texts = {CAT!r}\n"
        "example = polyref.Example('cat', None, tuple(map(polyref.Reference, texts)))\n"
        "settings = polyref.ExpandSettings(keep_lattice=True)\n"
        "[example] = polyref.expand([example], settings=settings)\n"
        "[found] = draw_fresh([example], FreshSettings(15), epoch=1, seed=2)\n"
        "print(*[pseudo.text for pseudo in found], sep='\\n', end='')"
    )
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
        )
        assert done.stdout.split("\n") == drawn(CAT_EXAMPLE, 15, epoch=1, seed=2)


# -- uniformly ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tries", [1000, 3], ids=["drawn", "where few pass"])
@pytest.mark.parametrize("floor", [0.0, 60.0])
def test_every_sentence_that_passes_is_as_likely(tries: int, floor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first draw, and as the second; whether the draws suffice, or the best are searched for the rest."""
    monkeypatch.setattr(fresh_module, "LEAST_TRIES", tries)
    monkeypatch.setattr(fresh_module, "TRIES", 1)
    example = kept(ELEPHANTS)
    admitted = Lattice.from_references(ELEPHANTS).best(1000, SearchSettings(min_bleu=floor))
    counts = [Counter[str](), Counter[str]()]
    for epoch in range(800):
        first, second = drawn(example, 2, epoch=epoch, min_bleu=floor)
        counts[0][first] += 1
        counts[1][second] += 1
    for counted in counts:
        assert set(counted) <= {sentence.text for sentence in admitted}
        assert chisquare([counted[sentence.text] for sentence in admitted]).pvalue > 0.001


@pytest.mark.parametrize("tries", [1000, 3], ids=["drawn", "where few pass"])
def test_all_that_pass_come_if_as_many_are_wanted(tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_module, "LEAST_TRIES", tries)
    monkeypatch.setattr(fresh_module, "TRIES", 0)
    expected = Lattice.from_references(ELEPHANTS).best(1000, SearchSettings(min_bleu=60.0))
    assert sorted(drawn(kept(ELEPHANTS), 999, min_bleu=60.0)) == sorted(sentence.text for sentence in expected)


def test_the_draws_are_given_up_where_hardly_anything_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the rest comes from the best ones."""
    monkeypatch.setattr(fresh_module, "LEAST_TRIES", 20)
    monkeypatch.setattr(fresh_module, "TRIES", 1)
    monkeypatch.setattr(fresh_module, "RANKED", 8)
    best = {sentence.text for sentence in Lattice.from_references(CAT).best(8)}
    found = drawn(CAT_EXAMPLE, 12, min_bleu=95.0)
    assert len(found) == len(set(found)) > len(best - set(found)) == 0


def test_an_example_whose_references_are_one_gets_none() -> None:
    assert drawn(kept(["a cat sleeps", "a cat sleeps"]), 5, min_bleu=0) == []


def test_marks_that_never_meet_do_not_meet() -> None:
    example = kept(["a b.", "a, c"])
    assert example.lattice is not None
    lattice = replace(example.lattice, kept=KeptLattice(((1, 2, 3), (1, 2, 3)), "words", True))
    # "a, ." is in this lattice, too.
    assert drawn(replace(example, lattice=lattice), 100, min_bleu=0) == ["a b c"]


# -- by rank --------------------------------------------------------------------------------------------------------


def test_by_rank_each_epoch_takes_the_next_best(engine: Engine) -> None:
    ranking = [sentence.text for sentence in Lattice.from_references(CAT).best(40, SearchSettings(seed=5))]
    found = [drawn(CAT_EXAMPLE, 10, epoch=epoch, seed=5, engine=engine, by="rank") for epoch in range(4)]
    assert [text for of_epoch in found for text in of_epoch] == ranking


def test_by_rank_the_ranking_begins_again_behind_the_last_that_passes() -> None:
    ranking = [sentence.text for sentence in Lattice.from_references(ELEPHANTS).best(1000, SearchSettings(0, 80.0))]
    size = len(ranking) - 1
    assert size > 3
    example = kept(ELEPHANTS)
    assert drawn(example, size, epoch=0, by="rank") == ranking[:-1]
    assert drawn(example, size, epoch=1, by="rank") == [ranking[-1], *ranking[: size - 1]]
    assert sorted(drawn(example, 999, epoch=10**12, by="rank")) == sorted(ranking)


def test_by_rank_the_ranking_ends_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_module, "RANKED", 25)
    found = [drawn(CAT_EXAMPLE, 10, epoch=epoch, by="rank") for epoch in range(3)]
    assert found[2][5:] == found[0][:5]
    assert len({text for of_epoch in found for text in of_epoch}) == 25


# -- fluently -------------------------------------------------------------------------------------------------------


def of_model(model: Drawn | Table, settings: FreshSettings, epoch: int = 0) -> tuple[PseudoReference, ...]:
    [found] = draw_fresh([CAT_EXAMPLE], settings, epoch=epoch, seed=1, tools=Tools(PlainEngine(), language_model=model))
    return found


def test_fresh_paths_are_as_fluent_as_the_least_fluent_gold_reference() -> None:
    model = Drawn(CAT, gold_value=-0.4)
    found = of_model(model, FreshSettings(30, fluency=0.1))
    assert len(found) == 30
    for pseudo in found:
        assert pseudo.fluency is not None
        assert pseudo.fluency >= -0.5
        assert pseudo.fluency == round(model.judge(pseudo.text), 4)


def test_the_fluent_ones_are_those_of_the_same_draws() -> None:
    model = Drawn(CAT, gold_value=-0.4)
    fluent = [pseudo.text for pseudo in of_model(model, FreshSettings(5, fluency=0.0))]
    [everything] = draw_fresh([CAT_EXAMPLE], FreshSettings(100), epoch=0, seed=1, tools=Tools(PlainEngine()))
    assert fluent == [pseudo.text for pseudo in everything if model.judge(pseudo.text) >= -0.4][:5]


def test_by_rank_the_ranking_is_that_of_the_fluent_ones() -> None:
    model = Drawn(CAT, gold_value=-0.4)
    ranking = Lattice.from_references(CAT).best(200, SearchSettings(1, 80.0))
    fluent = [sentence.text for sentence in ranking if model.judge(sentence.text) >= -0.4]
    settings = FreshSettings(6, "rank", fluency=0.0)
    found = [pseudo.text for epoch in range(4) for pseudo in of_model(model, settings, epoch)]
    assert found == fluent[:24]


def test_nothing_comes_where_nothing_is_fluent() -> None:
    assert of_model(Drawn(CAT, gold_value=0.5), FreshSettings(5, fluency=0.0)) == ()
    assert of_model(Drawn(CAT, gold_value=0.5), FreshSettings(5, "rank", fluency=0.0), epoch=3) == ()


# -- what is refused ------------------------------------------------------------------------------------------------


def test_an_example_without_a_kept_lattice_is_named() -> None:
    [example] = expand([Example("no. 7", None, (Reference("a cat"),))])
    for unkept in (example, replace(example, lattice=None)):
        with pytest.raises(InputError) as caught:
            draw_fresh([CAT_EXAMPLE, unkept], FreshSettings(5), epoch=0, seed=0)
        assert str(caught.value) == 'the example "no. 7" has no kept lattice; expand it anew with --keep-lattice'


def test_an_example_with_the_lattice_of_another_one_is_named() -> None:
    assert CAT_EXAMPLE.lattice is not None
    lattice = replace(CAT_EXAMPLE.lattice, kept=KeptLattice(((1, 2),), "words", True))
    with pytest.raises(InputError) as caught:
        draw_fresh([replace(CAT_EXAMPLE, lattice=lattice, line=4)], FreshSettings(5), epoch=0, seed=0)
    assert caught.value.line == 4
    assert str(caught.value) == (
        'the example "cat": the kept lattice does not fit its references: 1 references have states, and there are 5; '
        "expand again and keep lattices"
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"per_example": 0}, "per_example is 0; give a whole number from 1 to 10,000"),
        ({"per_example": 10_001}, "per_example is 10001; give a whole number from 1 to 10,000"),
        ({"by": "chance"}, 'by is "chance"; choose one of uniform, rank'),
        ({"min_bleu": -1.0}, "min_bleu is -1.0; give a number from 0 to 100"),
        ({"min_bleu": float("nan")}, "min_bleu is nan; give a number from 0 to 100"),
        ({"fluency": float("nan")}, "fluency is nan; give a number from -100 to 100, such as 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        FreshSettings(**{"per_example": 5, **wrong})  # type: ignore[arg-type]
    assert str(caught.value) == says


def test_epochs_are_counted_from_0_on() -> None:
    with pytest.raises(SettingsError, match="the epoch is -1; give 0 or more"):
        draw_fresh([CAT_EXAMPLE], FreshSettings(5), epoch=-1, seed=0)
    with pytest.raises(SettingsError, match="seed is 9223372036854775808; give a whole number from -2"):
        draw_fresh([CAT_EXAMPLE], FreshSettings(5), epoch=0, seed=2**63)


def test_no_examples_are_no_trouble() -> None:
    assert draw_fresh([], FreshSettings(5), epoch=0, seed=0) == []
