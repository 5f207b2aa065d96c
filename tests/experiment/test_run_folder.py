"""The folder of a run: one run at a time, untouched by a run that is refused, with a model from its first best on."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import made_up  # noqa: E402

import polyref  # noqa: E402
from polyref.errors import MissingExtraError, OutputError, SettingsError  # noqa: E402
from polyref.experiment import folder as folder_of_run  # noqa: E402
from polyref.experiment.reading import read_recipe  # noqa: E402
from polyref.experiment.training import train_recipe  # noqa: E402
from polyref.files import taken  # noqa: E402
from polyref.fit.loop import Step  # noqa: E402
from polyref.model.folder import load_model  # noqa: E402


def stopped_after(updates: int, tables: dict[str, Any]) -> None:
    """Train, and stop as if killed."""

    with pytest.raises(made_up.StoppedError):
        train_recipe(read_recipe(tables), on_step=made_up.stop_after(updates))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, data, photos) -> dict[str, Path]:
    folders = {kind: tmp_path_factory.mktemp(kind) / "run" for kind in ("translator", "captioner")}
    polyref.train(made_up.recipe(folders["translator"], data, fit={"epochs": 1}))
    unstandardised = {"standardise": False}
    polyref.train(made_up.recipe(folders["captioner"], photos, fit={"epochs": 1}, data=unstandardised))
    return folders


OTHERS: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "another learning rate": ("translator", {"fit": {"learning_rate": 0.5}}),
    "another size": ("translator", {"model": {"state_size": 12}}),
    "other subwords": ("translator", {"subwords": {"source": 310}}),
    "a search that validates otherwise": ("translator", {"validation": {"beam": {"beam": 1, "longest": 12}}}),
    "another precision": ("translator", {"fit": {"precision": "bfloat16"}}),
    "other references": ("translator", {"schedule": {"name": "first"}}),
}


@pytest.mark.parametrize(("kind", "sections"), OTHERS.values(), ids=OTHERS)
def test_a_run_that_is_refused_leaves_the_folder_as_it_was(tmp_path: Path, data, finished, kind, sections):
    folder = tmp_path / "run"
    shutil.copytree(finished[kind], folder)
    before = content(folder)
    sections = {name: {**values, **({"epochs": 2} if name == "fit" else {})} for name, values in sections.items()}
    with pytest.raises(SettingsError):
        polyref.train(made_up.recipe(folder, data, **sections))
    assert content(folder) == before


def test_a_captioner_does_not_go_on_in_the_folder_of_a_translator(tmp_path: Path, photos, finished):
    folder = tmp_path / "run"
    shutil.copytree(finished["translator"], folder)
    before = content(folder)
    with pytest.raises(SettingsError, match="holds a run with other settings or other data"):
        polyref.train(made_up.recipe(folder, photos))
    assert content(folder) == before


def test_the_search_that_validates_counts_where_it_is_that_of_the_beam_as_well(tmp_path: Path, data):
    tables = made_up.recipe(tmp_path / "run", data, fit={"epochs": 1})
    del tables["validation"]["beam"]
    polyref.train(tables)
    with pytest.raises(SettingsError, match="holds a run with other settings or other data"):
        polyref.train(tables, overrides=["fit.epochs=2", "beam.beam=1"])


def test_features_that_changed_are_refused(tmp_path: Path, photos, finished):
    folder = tmp_path / "run"
    shutil.copytree(finished["captioner"], folder)
    with np.load(photos["features"]) as features:
        np.savez(tmp_path / "other.npz", ids=features["ids"], feats=features["feats"][::-1])
    other = {"standardise": False, "features": str(tmp_path / "other.npz")}
    with pytest.raises(SettingsError, match="holds a run with other settings or other data"):
        polyref.train(made_up.recipe(folder, photos, data=other))
    polyref.train(made_up.recipe(folder, photos, data={"standardise": False}))  # those that it had


def test_a_training_file_that_changed_is_taken_by_a_new_run_and_refused_by_one_that_goes_on(tmp_path: Path, data):
    train = tmp_path / "train.jsonl"
    lines = Path(data["train"]).read_text().splitlines(keepends=True)
    train.write_text("".join(lines))
    own = {**data, "train": str(train)}
    polyref.train(made_up.recipe(tmp_path / "run", own, fit={"epochs": 1}))
    train.write_text("".join(lines[::-1]))
    with pytest.raises(SettingsError, match="holds a run with other settings or other data; give those again"):
        polyref.train(made_up.recipe(tmp_path / "run", own, fit={"epochs": 2}))
    polyref.train(made_up.recipe(tmp_path / "other", own, fit={"epochs": 1}))


def test_subwords_of_a_run_without_a_checkpoint_are_learned_anew(tmp_path: Path, data):
    stopped_after(2, made_up.recipe(tmp_path / "run", data, subwords={"target": 290}))
    assert not (tmp_path / "run" / "checkpoints").exists()
    for folder in ("run", "fresh"):
        polyref.train(made_up.recipe(tmp_path / folder, data, fit={"epochs": 1}))
    found = content(tmp_path / "run")
    assert found["target.json"] == (tmp_path / "fresh" / "target.json").read_bytes()
    assert found["weights.safetensors"] == (tmp_path / "fresh" / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("name", ["source.json", "target.json"])
def test_subwords_that_a_run_has_lost_are_an_error(tmp_path: Path, data, finished, name):
    folder = tmp_path / "run"
    shutil.copytree(finished["translator"], folder)
    (folder / name).unlink()
    with pytest.raises(
        polyref.PolyrefError, match=rf"{name}: .*; put it back as it was, or delete .*run to train from"
    ):
        polyref.train(made_up.recipe(folder, data))


def test_one_run_at_a_time_trains_in_a_folder(tmp_path: Path, data):
    folder = tmp_path / "run"
    folder.mkdir()
    with taken(folder), pytest.raises(OutputError, match="another run trains in this folder; wait until it ends"):
        polyref.train(made_up.recipe(folder, data, fit={"epochs": 1}))
    assert content(folder) == {}
    polyref.train(made_up.recipe(folder, data, fit={"epochs": 1}))


# -- stages ---------------------------------------------------------------------------------------------------------


def staged(folder: Path, data: dict[str, str], epochs: int = 1, **sections: dict[str, Any]) -> dict[str, Any]:
    tables = made_up.recipe(folder, data, fit={"epochs": 1}, **sections)
    tables["stage"] = [{"name": "one", "fit": {"epochs": epochs}}, {"name": "two"}]
    return tables


def test_a_stage_that_another_one_started_from_does_not_train_on(tmp_path: Path, data):
    polyref.train(staged(tmp_path, data))
    before = content(tmp_path)
    with pytest.raises(SettingsError, match='"one" would train on, but "two" has begun from it; give the epochs and'):
        polyref.train(staged(tmp_path, data, epochs=2))
    assert content(tmp_path) == before
    polyref.train(staged(tmp_path, data), overrides=["stage.two.fit.epochs=2"])


def test_stages_share_what_was_expanded_for_them(tmp_path: Path, data):
    polyref.train(staged(tmp_path, data, expand={"per_example": 3}))
    assert [path.parent for path in tmp_path.rglob("expanded-*.jsonl")] == [tmp_path]


# -- what is there while it goes on -----------------------------------------------------------------------------------


def test_a_run_that_was_stopped_leaves_its_best_model(tmp_path: Path, data):
    tables = made_up.recipe(tmp_path, data, fit={"validate_every": 5, "average": 0.9})
    stopped_after(7, tables)
    lines = [line for line in made_up.log_of(tmp_path) if line["what"] == "validation"]
    assert len(lines) == 1
    assert load_model(tmp_path).generate(["who[cat], where[mat], number[1]"])
    assert (tmp_path / "weights.safetensors").read_bytes() == (tmp_path / "best.safetensors").read_bytes()


def test_the_time_of_a_run_goes_on_with_it(tmp_path: Path, data):
    tables = made_up.recipe(tmp_path, data)
    stopped_after(9, tables)
    log = tmp_path / "log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps({**line, "seconds": 1000.0}) + "\n" for line in lines))
    polyref.train(tables)
    assert [line["seconds"] >= 1000 for line in made_up.log_of(tmp_path)] == [True] * 32
    assert "goes on after 8 updates" in (tmp_path / "train.log").read_text()


def test_the_validations_so_far_are_drawn_and_go_on_with_the_run(tmp_path: Path, data):
    tables = made_up.recipe(tmp_path, data, fit={"validate_every": 5, "save_every": 5})
    stopped_after(12, tables)
    assert (tmp_path / "curve.svg").read_text().count('class="dot"') == 2 * 2  # two validations, two scores
    said: list[str] = []
    polyref.train(tables, say=said.append)
    drawn = (tmp_path / "curve.svg").read_text()
    validations = [line for line in made_up.log_of(tmp_path) if "validation" in line]
    assert drawn.count('class="dot"') == 2 * len(validations)
    assert said[-1].startswith("best: bleu ")
    assert len(re.findall("[▁▂▃▄▅▆▇█]", said[-1])) == len(validations)


def test_tensorboard_gets_what_the_log_has_and_does_not_change_the_run(tmp_path: Path, data):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tables = made_up.recipe(tmp_path, data, fit={"tensorboard": True})
    stopped_after(9, tables)
    polyref.train(tables)
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    log = made_up.log_of(tmp_path)
    updates = [line["updates"] for line in log if line["what"] == "update"]
    assert [event.step for event in found.Scalars("training/loss")] == updates
    expected = [line["scores"]["bleu"] for line in log if "validation" in line]
    assert [event.value for event in found.Scalars("validation/bleu")] == pytest.approx(expected)
    weights = (tmp_path / "weights.safetensors").read_bytes()
    polyref.train(tables, overrides=["fit.tensorboard=false"])  # the same run
    assert (tmp_path / "weights.safetensors").read_bytes() == weights


def test_a_board_that_is_not_installed_is_said_before_anything_is_written(tmp_path: Path, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match=r'fit.tensorboard needs tensorboard; .*"polyref\[tensorboard\]"'):
        polyref.train(made_up.recipe(tmp_path / "run", data, fit={"tensorboard": True}))
    assert not (tmp_path / "run").exists()


def test_validation_by_training_examples_is_said(tmp_path: Path, data):
    said: list[str] = []
    polyref.train(made_up.recipe(tmp_path, data, fit={"epochs": 1}), say=said.append)
    assert "6 of 6 validation examples have the id of a training example" in said  # made up with the same ids


def test_threads_are_as_before_when_it_is_over(tmp_path: Path, data):
    before = torch.get_num_threads()
    polyref.train(made_up.recipe(tmp_path, data, run={"threads": 1, "output": str(tmp_path)}, fit={"epochs": 1}))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("moment", ["before the log", "after the log"])
def test_a_run_that_is_killed_at_its_last_validation_logs_it_once(tmp_path: Path, data, monkeypatch, moment):
    tables = made_up.recipe(tmp_path, data, fit={"epochs": None, "updates": 3, "validate_every": 2})
    original = folder_of_run.Log.step

    def killed(self, step, scores):
        if step.what != "end" or moment == "after the log":
            original(self, step, scores)
        if step.what == "end":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(folder_of_run.Log, "step", killed)
        polyref.train(tables)
    polyref.train(tables)
    polyref.train(tables)
    assert [one["updates"] for one in made_up.log_of(tmp_path) if "validation" in one] == [2, 3]


def test_an_update_that_is_validated_and_ends_an_epoch_is_told_once(tmp_path: Path):
    told: list[str] = []
    at = {"epoch": 0, "updates": 100, "loss": 0.5, "learning_rate": 0.1}
    with folder_of_run.open_log(tmp_path, None, told.append) as log:
        log.step(Step("update", **at, batch_loss=0.4), {})
        log.step(Step("validation", **at, validation=3.0, best=3.0, is_best=True), {"bleu": 3.0})
        log.step(Step("epoch", **at), {})
    assert [line.strip() for line in told[1:]] == ["validation: bleu 3.0000  best so far  ▁", "end of epoch"]
    assert "update     100" in told[0]
