"""Soft targets in numbers, and training with them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import made_up  # noqa: E402
from made_up import StoppedError, stop_after, weights  # noqa: E402

import polyref  # noqa: E402
from polyref.errors import InputError, SettingsError  # noqa: E402
from polyref.example import Example, Reference  # noqa: E402
from polyref.expansion import ExpandSettings, expand  # noqa: E402
from polyref.experiment.inputs import check_contents  # noqa: E402
from polyref.experiment.pairs import Collation  # noqa: E402
from polyref.experiment.reading import read_recipe  # noqa: E402
from polyref.experiment.recipe import recipe_of  # noqa: E402
from polyref.experiment.softening import Softening  # noqa: E402
from polyref.experiment.training import train_recipe  # noqa: E402
from polyref.feed import Stream, stream  # noqa: E402
from polyref.feed.soft import Choice, SoftSettings  # noqa: E402
from polyref.lattice import PlainEngine  # noqa: E402
from polyref.model.folder import TrainedModel, Vocabularies, new_model  # noqa: E402
from polyref.model.settings import KINDS, CaptionerSettings  # noqa: E402
from polyref.text.subwords import EOS, Subwords  # noqa: E402
from polyref.text.tokens import TextSettings, tokenize  # noqa: E402

TEXTS = [
    "A small ferry crosses the bay at sunset.",
    "A small boat crosses the calm bay.",
    "A white ferry crosses the bay.",
    "A white ferryman crosses the café at sunset",
]


def examples(**settings: Any) -> list[Example]:
    given = [Example("a", "s", tuple(map(Reference, TEXTS))), Example("b", "t", tuple(map(Reference, TEXTS[1:])))]
    chosen = ExpandSettings(per_example=9, keep_lattice=True, **settings)
    return list(expand(given, settings=chosen, engine=PlainEngine()))


def collation_of(texts: list[str], *, fold_case: bool = False, size: int = 330) -> Collation:
    words = Subwords.learn([text.lower() if fold_case else text for text in texts] * 3, size)
    model = new_model(CaptionerSettings(feature_size=3, embedding_size=4, state_size=4), *Vocabularies(None, words))
    return Collation(TrainedModel(model, None, words, KINDS["captioner"].beam, fold_case))


def every_change(data: Stream, collation: Collation, epoch: int = 0) -> list[tuple[str, list[int], dict[int, Any]]]:
    """For each pair its reference, its tokens, and at each step that is changed its whole target."""
    [block] = data.schedule.blocks(epoch)
    found = []
    texts = data.references(block)
    changes = Softening(data, collation).of(block)
    for text, target, change in zip(texts, collation.targets(texts), changes, strict=True):
        tables: dict[int, dict[int, float]] = {}
        for step, token, amount in zip(*[part.tolist() for part in change], strict=True):
            own = (*target, EOS)[step]
            table = tables.setdefault(step, {own: 1.0})
            table[token] = table.get(token, 0.0) + amount
        found.append((text.decode(), target, tables))
    return found


@pytest.mark.parametrize("fold_case", [False, True])
@pytest.mark.parametrize("settings", [SoftSettings(1.0), SoftSettings(0.4, 2.0)], ids=str)
def test_the_target_of_a_step_is_what_the_references_say_there(settings: SoftSettings, fold_case: bool):
    """Against a count over the references: cut each behind the same state, and look at its next token."""
    given, collation = examples(), collation_of(TEXTS, fold_case=fold_case)
    data = stream(given, "uniform", soft=settings)
    changed = 0
    for text, target, tables in every_change(data, collation):
        example = (
            given[0] if text in {one.text for one in (*given[0].references, *given[0].pseudo_references)} else given[1]
        )
        if sum(text == one.text for each in given for one in (*each.references, *each.pseudo_references)) > 1:
            continue  # it is in both examples, and its target is another one in each
        for step, table in tables.items():
            assert sum(table.values()) == pytest.approx(1, abs=1e-6)
            assert min(table.values()) > -1e-6
            before = collation.trained.target.decode(target[:step])
            expected = slow_target(example, before, (*target, EOS)[step], text, collation, settings)
            assert table == pytest.approx(expected, abs=1e-6)
            changed += 1
    assert changed > 20


def slow_target(
    example: Example, before: str, own: int, text: str, collation: Collation, settings: SoftSettings
) -> dict[int, float]:
    """By trying every way to put the beginning together from steps of the references."""
    assert example.lattice is not None and example.lattice.kept is not None
    steps = []
    for reference, states in zip(example.references, example.lattice.kept.states, strict=True):
        tokens = tokenize(reference.text, TextSettings())
        pieces = [space + surface for space, surface in zip(tokens.spaces, tokens.surfaces, strict=True)]
        steps += zip((0, *states), (*tokens.words, ""), (*states, -1), (*pieces, ""), strict=True)
    reached, words = {0}, tokenize(before, TextSettings()).words
    for word in words:
        reached = {behind for state, said, behind, _ in steps if state in reached and said == word}
    counts: dict[str, int] = {}
    pieces_of: dict[str, str] = {}
    for state, word, _, piece in steps:
        if state in reached:
            counts[word] = counts.get(word, 0) + 1
            pieces_of.setdefault(word, piece)
    own_word = (*tokenize(text, TextSettings()).words, "")[len(words)]
    powers = {word: count ** (1 / settings.temperature) for word, count in counts.items()}
    found = {own: 1 - settings.share}
    for word, power in powers.items():
        first = collation.targets([pieces_of[word].encode()])[0][0] if word else EOS
        token = own if word == own_word else first
        found[token] = found.get(token, 0.0) + settings.share * power / sum(powers.values())
    return found


def test_words_with_one_first_subword_are_one_way_and_the_inside_of_a_word_is_hard():
    collation = collation_of(["aa ab", "aa ab"], size=259)  # bytes alone
    softening = Softening(stream(examples(), soft=0.5), collation)
    target = collation.targets([b"x cat"])[0]
    assert len(target) == 5
    choice = Choice(1, (" cat", " dog", " pig"), (0.5, 0.3, 0.2))  # all begin with a space
    assert len(softening.change("x cat", target, [choice]).steps) == 0
    found = softening.change("x cat", target, [Choice(1, (" cat", ", dog", "", ",", "."), (0.5, 0.1, 0.2, 0.1, 0.1))])
    space, comma, stop = (collation.targets([text])[0][0] for text in (b" ", b",", b"."))
    assert found.steps.tolist() == [1, 1, 1, 1]
    amounts = dict(zip(found.tokens.tolist(), found.amounts.tolist(), strict=True))
    assert amounts == pytest.approx({comma: 0.2, EOS: 0.2, stop: 0.1, space: -0.5})


def test_a_word_that_begins_inside_a_subword_stays_hard():
    collation = collation_of(['so").'] * 9, size=264)
    softening = Softening(stream(examples(), soft=0.5), collation)
    target = collation.targets([b'so").'])[0]
    assert len(target) < 5
    inside = [Choice(place, ("x", "y"), (0.5, 0.5)) for place in range(1, 5)]
    assert len(set(softening.change('so").', target, inside).steps.tolist())) == len(target) - 1


def test_bytes_are_counted_and_not_characters():
    collation = collation_of(["Café é", "Café é"])
    softening = Softening(stream(examples(), soft=0.5), collation)
    target = collation.targets(["Café é".encode()])[0]
    assert softening.change("Café é", target, [Choice(6, ("", "."), (0.5, 0.5))]).steps.tolist() == [len(target)] * 2


@pytest.mark.parametrize("name", ["first", "sample_one", "shuffle"])
def test_changes_are_the_same_whichever_pairs_are_asked_for_first(name: str):
    data, collation = stream(examples(), name, soft=0.3, seed=2), collation_of(TEXTS)
    [block] = data.schedule.blocks(0)
    whole = Softening(data, collation).of(block)
    other = Softening(data, collation)
    for number in np.random.default_rng(0).permutation(len(data)).tolist():
        [found] = other.of(data.schedule.pairs(0, np.array([number])))
        assert all(np.array_equal(one, two) for one, two in zip(found, whole[number], strict=True))


def test_fresh_paths_have_the_changes_of_their_epoch():
    data, collation = stream(examples(), "uniform", soft=0.3, fresh=4), collation_of(TEXTS)
    softening = Softening(data, collation)
    for epoch in (0, 1, 0):
        [block] = data.schedule.blocks(epoch)
        expected = zip(data.references(block), data.choices(block), softening.of(block), strict=True)
        for text, choices, change in expected:
            again = softening.change(text.decode(), collation.targets([text])[0], choices)
            assert all(np.array_equal(one, two) for one, two in zip(again, change, strict=True))


# -- training -------------------------------------------------------------------------------------------------------

SOFT = {"expand": {"per_example": 6, "keep_lattice": True}, "schedule": {"soft_targets": 0.5}}
QUICK = {"metrics": [], "goal": "perplexity"}


@pytest.mark.parametrize("batch", [{"pairs": 8}, {"tokens": 90}, {"pairs": 8, "bucket": 3}], ids=str)
def test_a_run_with_soft_targets_that_was_stopped_ends_with_the_same_weights(tmp_path: Path, data, batch):
    folders = [tmp_path / "whole", tmp_path / "stopped"]
    given = {**SOFT, "validation": QUICK, "batch": batch}
    recipes = [read_recipe(made_up.recipe(folder, data, **given)) for folder in folders]
    train_recipe(recipes[0])
    with pytest.raises(StoppedError):
        train_recipe(recipes[1], on_step=stop_after(13))
    train_recipe(recipes[1])
    assert weights(folders[0]) == weights(folders[1])


def test_a_share_of_0_trains_the_same_weights_as_no_share(tmp_path: Path, data):
    for name, schedule in (
        ("none", {}),
        ("off", {"soft_targets": 0.0, "temperature": 3.0}),
        ("on", {"soft_targets": 1.0}),
    ):
        tables = made_up.recipe(tmp_path / name, data, **{**SOFT, "schedule": schedule}, validation=QUICK)
        polyref.train(tables, overrides=["fit.epochs=1"])
    assert weights(tmp_path / "none") == weights(tmp_path / "off") != weights(tmp_path / "on")
    # And a run goes on where the key is added: it is the same run.
    tables = made_up.recipe(tmp_path / "none", data, **{**SOFT, "schedule": {"soft_targets": 0.0}}, validation=QUICK)
    assert polyref.train(tables, overrides=["fit.epochs=1"])[0].epochs == 1
    with pytest.raises(SettingsError, match="holds a run with other settings"):
        polyref.train({**tables, "schedule": {"soft_targets": 0.5}})


def test_a_captioner_trains_with_soft_targets_and_fresh_paths(tmp_path: Path, photos):
    schedule = {"soft_targets": 0.7, "fresh": {"per_example": 2, "min_bleu": 0.0}}
    tables = made_up.recipe(tmp_path, photos, **{**SOFT, "schedule": schedule}, validation=QUICK)
    [found] = polyref.train(tables)
    assert found.history[-1] < found.history[0]


def test_a_recipe_whose_training_set_has_no_lattices_is_refused(tmp_path: Path, data):
    kept = {"per_example": 6}
    with pytest.raises(SettingsError, match=r"schedule.soft_targets needs lattices.*set expand.keep_lattice = true"):
        recipe_of(made_up.recipe(tmp_path, data, expand=kept, schedule={"soft_targets": 0.1}))
    tables = made_up.recipe(tmp_path / "out", data, schedule={"soft_targets": 0.1})
    with pytest.raises(InputError, match=r"train.jsonl: soft targets need the lattices.*--keep-lattice"):
        polyref.train(tables)
    with pytest.raises(InputError, match=r"train.jsonl:1: has no kept lattice.*expand.keep_lattice = true"):
        check_contents(recipe_of(tables))


# -- pseudo-references first, gold last -----------------------------------------------------------------------------


def test_pseudo_references_first_and_gold_last_is_two_stages(tmp_path: Path, data):
    """The recipe of docs/recipes.md, in small."""
    page = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text("utf-8")
    [shown] = re.findall(r"gold last\n.*?```toml\n(.*?)```", page, re.DOTALL)
    tables = {**made_up.recipe(tmp_path / "out", data, validation=QUICK), **tomllib.loads(shown)}
    changes = ["expand.per_example=6", "stage.all.fit.epochs=1", "stage.gold.fit.epochs=2"]
    first, second = polyref.train(tables, overrides=changes)
    logs = [(stage.folder / "train.log").read_text() for stage in (first, second)]
    assert "40 examples, 240 pairs per epoch" in logs[0]
    assert "40 examples, 120 pairs per epoch" in logs[1]
    assert second.best < first.best  # it starts from where the first one was, and goes on
    assert len(list((tmp_path / "out").glob("expanded-*.jsonl"))) == 1
    before = weights(second.folder)
    polyref.train(tables, overrides=changes)
    assert weights(second.folder) == before
