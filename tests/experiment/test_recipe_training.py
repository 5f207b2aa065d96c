"""Training what a recipe describes: what it leaves, that it learns, that it goes on exactly, what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import made_up  # noqa: E402
from made_up import StoppedError, stop_after, weights  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

import polyref  # noqa: E402
from polyref.errors import InputError, PolyrefError, SettingsError  # noqa: E402
from polyref.experiment.reading import read_recipe  # noqa: E402
from polyref.experiment.training import train_recipe  # noqa: E402
from polyref.model.folder import load_model  # noqa: E402
from polyref.model.translator import Translator  # noqa: E402


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, data: dict[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    polyref.train(made_up.recipe(folder, data, fit={"average": 0.9}))
    return folder


def test_a_run_leaves_a_model_its_recipe_and_its_logs(trained: Path):
    found = {path.name for path in trained.iterdir()}
    assert {"model.json", "weights.safetensors", "source.json", "target.json", "recipe.toml"} <= found
    assert {"log.jsonl", "train.log", "checkpoints", "best.safetensors"} <= found
    assert load_model(trained).generate(["who[cat], where[mat], number[1]"])[0][0].text is not None
    [stage] = read_recipe(trained / "recipe.toml").stages
    assert (stage.fit.average, stage.fit.weight_decay) == (0.9, 0.0)


def test_the_log_has_a_line_for_each_update_and_validation(trained: Path):
    lines = made_up.log_of(trained)
    updates = [line for line in lines if line["what"] == "update"]
    assert [line["updates"] for line in updates] == list(range(1, 31))  # 120 pairs in batches of 8, twice
    assert updates[-1]["loss"] < 0.8 * updates[0]["loss"]
    [first, last] = [line for line in lines if line["what"] == "epoch"]
    assert set(first["scores"]) == {"bleu", "cider"}
    assert last["updates"] == 30
    assert "end of epoch" in (trained / "train.log").read_text()


@pytest.mark.parametrize(("kind", "stopped"), [("translator", 13), ("translator", 15), ("captioner", 3)])
def test_a_run_that_was_stopped_ends_with_the_same_weights_and_log(tmp_path: Path, data, photos, kind, stopped):
    given = data if kind == "translator" else photos
    choices = {"fit": {"average": 0.9, "validate_every": 5}, "validation": {"examples": 2, "metrics": ["bleu"]}}
    batch = {"pairs": 8, "bucket": 2} if kind == "translator" else {"tokens": 60}
    folders = [tmp_path / "whole", tmp_path / "stopped"]
    recipes = [read_recipe(made_up.recipe(folder, given, batch=batch, **choices)) for folder in folders]
    steps = []
    train_recipe(recipes[0], on_step=steps.append)
    assert {step.planned for step in steps} == {steps[-1].updates if kind == "translator" else None}
    with pytest.raises(StoppedError):
        train_recipe(recipes[1], on_step=stop_after(stopped))
    train_recipe(recipes[1])
    assert weights(folders[0]) == weights(folders[1])
    logs = [[{**line, "seconds": 0} for line in made_up.log_of(folder)] for folder in folders]
    assert logs[0] == logs[1]


def test_a_run_ends_after_its_updates_and_goes_on_exactly_when_it_is_given_more(tmp_path: Path, data):
    validation = {"metrics": [], "goal": "perplexity"}
    tables = {name: made_up.recipe(tmp_path / name, data, validation=validation) for name in ("longer", "whole")}
    for table in tables.values():
        del table["fit"]["epochs"]
    [short] = polyref.train(tables["longer"], overrides=["fit.updates=20"])
    assert (short.updates, short.epochs, len(short.history)) == (20, 1, 2)
    assert load_model(tmp_path / "longer").generate(["who[cat], where[mat], number[1]"])[0][0].text is not None
    [line] = [line for line in made_up.log_of(tmp_path / "longer") if line["what"] == "end"]
    assert line["scores"] == {"perplexity": line["validation"]}
    found = [polyref.train(table, overrides=["fit.updates=50"])[0] for table in tables.values()]
    assert (found[0].updates, found[0].epochs, found[0].history) == (50, 3, found[1].history)
    assert weights(tmp_path / "longer") == weights(tmp_path / "whole")


def test_the_seed_decides(tmp_path: Path, data):
    found = set()
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        polyref.train(made_up.recipe(tmp_path / name, data, fit={"epochs": 1}), overrides=[f"run.seed={seed}"])
        found.add(weights(tmp_path / name))
    assert len(found) == 2


def test_a_captioner_standardises_its_features_by_the_training_set(tmp_path: Path, photos):
    polyref.train(made_up.recipe(tmp_path / "model", photos, fit={"epochs": 1}))
    found = load_file(tmp_path / "model" / "weights.safetensors")
    with np.load(photos["features"]) as features:
        rows = features["feats"][["train" in id for id in features["ids"]]]
    assert found["mean"] == pytest.approx(rows.mean(0), abs=1e-5)
    assert found["deviation"] == pytest.approx(rows.std(0), abs=1e-5)


def test_perplexity_can_be_the_goal_and_falls(tmp_path: Path, data):
    tables = made_up.recipe(tmp_path, data, fit={"epochs": 3}, validation={"goal": "perplexity", "metrics": []})
    [found] = polyref.train(tables)
    assert found.history[-1] == pytest.approx(found.best, abs=1e-3)
    assert found.history[-1] < 0.7 * found.history[0]


@pytest.mark.parametrize("goal", ["bleu", "perplexity"])
def test_a_bleu_that_is_noise_is_said_to_be(tmp_path: Path, data, goal: str):
    changes = {"fit": {"epochs": None, "updates": 2}, "validation": {"metrics": [goal], "goal": goal}}
    [found] = polyref.train(made_up.recipe(tmp_path / "model", data, **changes))
    assert ("a BLEU below 2 is noise" in (found.folder / "train.log").read_text()) == (
        goal == "bleu" and found.best < 2
    )


def test_a_small_translator_learns_what_it_is_taught(tmp_path: Path, data):
    """Sequences are told apart by their source, which nothing but training can bring about."""
    model = {"embedding_size": 32, "state_size": 32, "dropout": 0.0}
    fit = {"epochs": 40, "learning_rate": 0.02, "validate_every": 200, "save_every": 500}
    tables = made_up.recipe(tmp_path, data, model=model, fit=fit)
    [found] = polyref.train(tables, overrides=["schedule.name=first", "schedule.order=shuffled"])
    assert found.best > 40
    said = load_model(tmp_path).generate(["who[dog], where[hill], number[3]"])[0][0].text
    assert said.endswith(" sits on the hill")


def test_a_stage_starts_from_the_weights_and_the_words_of_the_one_before(tmp_path: Path, data):
    tables = made_up.recipe(tmp_path / "out", data, fit={"epochs": 1, "learning_rate": 1e-9, "optimiser": "sgd"})
    tables["stage"] = [{"name": "one"}, {"name": "two", "fit": {"clip": 0.5}}]
    first, second = polyref.train(tables)
    assert (first.folder, second.folder) == (tmp_path / "out" / "one", tmp_path / "out" / "two")
    one, two = (load_file(stage.folder / "weights.safetensors") for stage in (first, second))
    assert all(np.allclose(one[name], two[name], atol=1e-6) for name in one)
    assert (first.folder / "target.json").read_bytes() == (second.folder / "target.json").read_bytes()


def test_the_training_set_is_expanded_once_where_the_recipe_says_so(tmp_path: Path, data):
    tables = made_up.recipe(tmp_path, data, fit={"epochs": 1}, expand={"per_example": 5})
    polyref.train(tables)
    [made] = tmp_path.glob("expanded-*.jsonl")
    assert all(len(line["pseudo_references"]) == 2 for line in map(json.loads, made.read_text().splitlines()))
    assert "200 pairs" in (tmp_path / "train.log").read_text()
    before = made.stat().st_mtime_ns
    polyref.train(tables, overrides=["fit.epochs=2"])
    assert made.stat().st_mtime_ns == before


# -- what is refused ------------------------------------------------------------------------------------------------


def test_words_that_do_not_fit_the_weights_are_refused(tmp_path: Path, data, trained: Path):
    start = tmp_path / "start"
    shutil.copytree(trained, start)
    polyref.train(made_up.recipe(tmp_path / "other", data, subwords={"target": 280}, fit={"epochs": 1}))
    shutil.copy(tmp_path / "other" / "target.json", start / "target.json")
    with pytest.raises(InputError, match=r"words.* is float32 \[300, 8\], not float32 \[280, 8\]"):
        polyref.train(
            made_up.recipe(tmp_path / "new", data, run={"output": str(tmp_path / "new"), "init_from": str(start)})
        )


def test_other_words_in_the_folder_of_a_run_are_refused(tmp_path: Path, data, trained: Path):
    shutil.copytree(trained, tmp_path / "run")
    polyref.train(made_up.recipe(tmp_path / "other", data, subwords={"target": 280}, fit={"epochs": 1}))
    shutil.copy(tmp_path / "other" / "target.json", tmp_path / "run" / "target.json")
    with pytest.raises(SettingsError, match="holds a run with other settings or other data"):
        polyref.train(made_up.recipe(tmp_path / "run", data, fit={"average": 0.9}))


@pytest.mark.parametrize("missing", ["target.json", "weights.safetensors"])
def test_a_folder_without_a_model_is_nothing_to_start_from(tmp_path: Path, data, trained: Path, missing):
    shutil.copytree(trained, tmp_path / "start")
    (tmp_path / "start" / missing).unlink()
    run = {"output": str(tmp_path / "new"), "init_from": str(tmp_path / "start")}
    with pytest.raises(InputError, match="start"):
        polyref.train(made_up.recipe(tmp_path / "new", data, run=run))


def test_other_data_in_the_same_folder_is_refused(tmp_path: Path, data, trained: Path):
    other = made_up.translation(tmp_path, count=41)
    shutil.copytree(trained, tmp_path / "run")
    with pytest.raises(SettingsError, match="holds a run with other settings or other data"):
        polyref.train(made_up.recipe(tmp_path / "run", other, fit={"average": 0.9}))


@pytest.mark.parametrize(
    ("section", "key", "value", "said"),
    [
        ("data", "train", "gone.jsonl", "gone.jsonl: there is no such file"),
        ("data", "dev", "gone.jsonl", "gone.jsonl"),
        ("data", "features", "gone.npz", "data.features: gone.npz: there is no such file"),
        ("model", "feature_size", 7, "6 features per image, but the model reads 7"),
    ],
)
def test_files_that_are_not_there_or_do_not_fit_are_named(tmp_path: Path, photos, section, key, value, said):
    with pytest.raises(InputError, match=said):
        polyref.train(made_up.recipe(tmp_path / "new", photos, **{section: {key: value}}))


def test_images_without_features_are_named(tmp_path: Path, photos):
    more = made_up.write(tmp_path / "more.jsonl", made_up.records(3))
    with pytest.raises(InputError, match=r"no features for \"who\[horse\]"):
        polyref.train(made_up.recipe(tmp_path / "new", photos, data={"train": more}))


def test_features_for_a_translator_are_refused(tmp_path: Path, data, photos):
    with pytest.raises(SettingsError, match="is for captioners"):
        polyref.train(made_up.recipe(tmp_path, data, data={"features": photos["features"]}))


def test_a_loss_that_is_no_number_ends_the_run_and_leaves_the_last_good_checkpoint(tmp_path: Path, data, monkeypatch):
    calls, loss = [], Translator.loss

    def sometimes_none(model: Translator, batch):
        calls.append(batch)
        cost, tokens = loss(model, batch)
        return cost * (np.nan if len(calls) == 11 else 1.0), tokens

    monkeypatch.setattr(Translator, "loss", sometimes_none)
    with pytest.raises(PolyrefError, match=r"the loss is not a number after 10 updates; lower the learning rate"):
        polyref.train(made_up.recipe(tmp_path, data))
    [checkpoint] = (tmp_path / "checkpoints").iterdir()
    assert checkpoint.name == "000000008-0000-0000008"
    assert all(np.isfinite(weight).all() for weight in load_file(checkpoint / "model.safetensors").values())
