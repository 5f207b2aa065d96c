"""polyref train as a command: what it says, that it survives being killed, how it fails."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import made_up  # noqa: E402

from polyref.experiment.reading import read_recipe, toml_of  # noqa: E402
from polyref.model.translator import Translator  # noqa: E402


def recipe_in(folder: Path, **sections: dict[str, Any]) -> Path:
    """A small recipe as a file, whose output is `model` beside it."""
    tables = made_up.recipe(folder / "model", made_up.translation(folder), **sections)
    [stage] = read_recipe(tables).stages
    path = folder / "recipe.toml"
    path.write_text(toml_of(stage))
    return path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "polyref", "train", *map(str, arguments)]


def test_it_says_what_came_of_it(run, tmp_path: Path):
    done = run("train", recipe_in(tmp_path), "--json")
    assert done.code == 0
    [stage] = json.loads(done.out)["stages"]
    assert (stage["folder"], stage["updates"], stage["epochs"]) == (str(tmp_path / "model"), 30, 2)
    assert "120 pairs per epoch by shuffle" in done.err
    assert "end of epoch" in done.err
    again = run("train", recipe_in(tmp_path), "--quiet")
    assert (again.code, again.out, again.err) == (0, b"", "")
    assert run("train", recipe_in(tmp_path)).out.decode().startswith(f"{tmp_path / 'model'}: best validation")


def test_check_writes_the_recipe_out_whole_and_trains_nothing(run, tmp_path: Path):
    done = run("train", recipe_in(tmp_path), "--check", "--set", "fit.epochs=7", "-o", tmp_path / "other")
    assert done.code == 0
    assert b"epochs = 7" in done.out
    assert f'output = "{tmp_path / "other"}"' in done.out.decode()
    assert not (tmp_path / "other").exists()


def test_keys_are_listed(run):
    assert b"| `fit.updates` |  | Largest number of updates. Without it: no limit. |" in run("train", "--keys").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no recipe is given; name a TOML file"),
        (["gone.toml"], "gone.toml: there is no such file"),
        (["{recipe}", "--set", "fit.epoch=3"], 'fit.epoch is not a known key; did you mean "epochs"?'),
        (["{recipe}", "--set", "epochs"], '"epochs" sets nothing'),
        (["{recipe}", "--override", "gone.toml"], "gone.toml: there is no such file"),
        (["{recipe}", "--set", "data.train=gone.jsonl"], "gone.jsonl: there is no such file"),
        (["{recipe}", "--set", "run.device=cuda"], "cuda"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, tmp_path: Path, arguments, said):
    recipe = recipe_in(tmp_path)
    done = run("train", *[argument.replace("{recipe}", str(recipe)) for argument in arguments])
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_run_killed_within_an_epoch_ends_with_the_same_weights(run, tmp_path: Path):
    """kill -9, wherever it stands; the same command then ends as if nothing had happened."""
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    fit = {"epochs": 1, "save_every": 5, "average": 0.9}
    recipes = {name: recipe_in(tmp_path / name, fit=fit, batch={"pairs": 3}) for name in ("whole", "killed")}
    assert run("train", recipes["whole"], "--quiet").code == 0
    log = tmp_path / "killed" / "model" / "log.jsonl"
    with subprocess.Popen(command(recipes["killed"], "--quiet")) as process:
        while process.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 10):
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert log.read_bytes().count(b"\n") < 40  # updates in the epoch
    assert not (tmp_path / "killed" / "model" / "model.json").exists()
    assert run("train", recipes["killed"], "--quiet").code == 0
    weights = [(tmp_path / name / "model" / "weights.safetensors").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]
    lines = [[line["updates"] for line in made_up.log_of(tmp_path / name / "model")] for name in ("whole", "killed")]
    assert lines[0] == lines[1]


def test_a_full_disk_leaves_the_checkpoint_before(run, tmp_path: Path):
    """Files may not grow beyond what a checkpoint of another run took, so that the next one cannot be written."""
    recipe = recipe_in(tmp_path, fit={"epochs": 1})
    assert run("train", recipe, "--quiet").code == 0
    [before] = (tmp_path / "model" / "checkpoints").iterdir()
    content = {path.name: path.read_bytes() for path in before.iterdir()}
    room = (before / "optimiser.safetensors").stat().st_size - 1

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    arguments = command(recipe, "--quiet", "--set", "fit.epochs=2")
    done = subprocess.run(arguments, preexec_fn=little_room, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "checkpoints: cannot be written" in done.stderr
    assert {path.name for path in (tmp_path / "model" / "checkpoints").iterdir()} == {before.name}
    assert {path.name: path.read_bytes() for path in before.iterdir()} == content


def test_a_truncated_checkpoint_is_named(run, tmp_path: Path):
    recipe = recipe_in(tmp_path, fit={"epochs": 1})
    assert run("train", recipe, "--quiet").code == 0
    [checkpoint] = (tmp_path / "model" / "checkpoints").iterdir()
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    done = run("train", recipe, "--quiet", "--set", "fit.epochs=2")
    assert done.code == 2
    assert f"{checkpoint.name}: the checkpoint cannot be read" in done.err


def test_a_loss_that_is_no_number_is_exit_code_2(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    loss = Translator.loss
    monkeypatch.setattr(Translator, "loss", lambda model, batch: (loss(model, batch)[0] * float("nan"), 1))
    done = run("train", recipe_in(tmp_path), "--quiet")
    assert done.code == 2
    assert "the loss is not a number after 0 updates; lower the learning rate" in done.err
