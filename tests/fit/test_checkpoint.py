"""A run that was killed goes on exactly; what is not that run's is refused, and nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from small_runs import BATCHES, SETTINGS, Line, train, weights_of  # noqa: E402

from polyref.errors import InputError, OutputError, SettingsError  # noqa: E402
from polyref.fit import checkpoint  # noqa: E402
from polyref.fit.averaging import Average  # noqa: E402
from polyref.fit.checkpoint import (  # noqa: E402
    BEST,
    Counters,
    State,
    has_checkpoint,
    load_checkpoint,
    save_checkpoint,
    where_it_stands,
)
from polyref.fit.loop import Step  # noqa: E402


class StoppedError(Exception):
    pass


def stop_at(updates: int) -> Callable[[Step], None]:
    def on_step(step: Step) -> None:
        if step.what == "update" and step.updates == updates:
            raise StoppedError

    return on_step


def stopped(folder: Path, updates: int, **choices: object) -> Path:
    """A folder that a run left behind after so many updates."""
    with pytest.raises(StoppedError):
        train(folder, on_step=stop_at(updates), **choices)
    return folder


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def new_state(average: float | None = None) -> State:
    model = Line()
    return State(model, torch.optim.AdamW(model.parameters()), Average(model, average))


def checkpoint_in(folder: Path) -> Path:
    [checkpoint] = (folder / "checkpoints").iterdir()
    return checkpoint


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return weights_of(train(tmp_path_factory.mktemp("whole"))[0])


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("updates", [1, 3, 4, BATCHES - 1, BATCHES, BATCHES + 1, 2 * BATCHES + 3, 4 * BATCHES])
def test_a_run_that_was_stopped_ends_with_the_same_weights(tmp_path: Path, optimiser, updates):
    whole, counters = train(tmp_path / "whole", optimiser=optimiser)
    stopped(tmp_path / "stopped", updates, optimiser=optimiser)
    resumed, counters_too = train(tmp_path / "stopped", optimiser=optimiser)
    assert weights_of(resumed) == weights_of(whole)
    assert counters_too == counters


def test_a_run_that_was_killed_at_any_moment_ends_with_the_same_weights(tmp_path: Path, uninterrupted: bytes):
    """`files`: right before the so many-th file is opened, renamed or removed, so also within a checkpoint."""
    script = Path(__file__).with_name("killed_runs.py")
    series = ["updates-5", "updates-19", *(f"files-{life}" for life in (22, 27, 31, 59))]
    done = subprocess.run([sys.executable, script, tmp_path, *series], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert [one["series"] for one in found] == series
    assert all(one["deaths"] for one in found)
    assert {one["ended"] for one in found} == {uninterrupted.hex()}


def test_a_resumed_run_does_no_work_twice(tmp_path: Path):
    told: list[Step] = []
    train(stopped(tmp_path, 10), on_step=told.append)
    assert told[0].updates == 10  # of the checkpoint behind update 9
    assert told[-1].updates == SETTINGS.epochs * BATCHES


def test_a_run_that_is_through_can_be_made_longer(tmp_path: Path):
    train(tmp_path / "first", epochs=2)
    longer, _ = train(tmp_path / "first", epochs=4)
    whole, _ = train(tmp_path / "whole", epochs=4)
    assert weights_of(longer) == weights_of(whole)


def test_how_often_it_saves_does_not_change_a_run(tmp_path: Path):
    one, other = (weights_of(train(tmp_path / str(every), save_every=every)[0]) for every in (1, 1000))
    assert one == other


def test_only_the_newest_checkpoint_is_kept(tmp_path: Path):
    for updates in (4, 8, 11):
        stopped(tmp_path, updates)
        assert checkpoint_in(tmp_path)
    assert checkpoint_in(tmp_path).name == "000000009-0001-0000002"


def test_there_is_no_checkpoint_before_the_first(tmp_path: Path):
    stopped(tmp_path, 2)
    assert not has_checkpoint(tmp_path)
    assert load_checkpoint(tmp_path, new_state(), "run") is None
    assert where_it_stands(tmp_path) is None


def test_another_run_in_the_folder_is_refused_and_nothing_is_lost(tmp_path: Path):
    before = content_of(stopped(tmp_path, 11))
    with pytest.raises(SettingsError, match="holds a run with other settings or other data; give those again"):
        train(tmp_path, run="another run")
    assert content_of(tmp_path) == before


def test_a_checkpoint_that_was_not_finished_is_passed_over_and_removed(tmp_path: Path, uninterrupted: bytes):
    stopped(tmp_path, 11)
    unfinished = tmp_path / "checkpoints" / "000000012-0001-0000005.partial"
    unfinished.mkdir()
    (unfinished / "model.safetensors").write_bytes(b"half")
    resumed, _ = train(tmp_path)
    assert weights_of(resumed) == uninterrupted
    assert not unfinished.exists()


def test_an_older_checkpoint_that_was_not_quite_removed_is_passed_over(tmp_path: Path, uninterrupted: bytes):
    stopped(tmp_path, 11)
    (tmp_path / "checkpoints" / "000000006-0000-0000006").mkdir()
    (tmp_path / "checkpoints" / "a note").write_text("not ours")
    assert weights_of(train(tmp_path)[0]) == uninterrupted


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


@pytest.mark.parametrize("file", ["model.safetensors", "optimiser.safetensors", "counters.json"])
@pytest.mark.parametrize(
    "damage",
    [
        cut,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_bytes(b'"text"'),
        lambda path: path.write_bytes(b'{"run": "run", "epoch": 1, "colour": 2}'),
        lambda path: path.write_bytes(b'{"epoch": 1}'),
        Path.unlink,
    ],
    ids=["cut", "empty", "no text", "a text", "another key", "no run", "gone"],
)
def test_a_damaged_checkpoint_is_named_and_nothing_is_lost(tmp_path: Path, file, damage):
    damaged = checkpoint_in(stopped(tmp_path, 11)) / file
    damage(damaged)
    before = content_of(tmp_path)
    with pytest.raises(
        InputError, match=r"000000009-0001-0000002: the checkpoint cannot be read .*; delete the folder"
    ):
        train(tmp_path)
    assert content_of(tmp_path) == before


@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_best_weights_that_are_lost_are_not_replaced_by_the_last_ones(tmp_path: Path, damage):
    # The first epoch was the best, so its weights are not written again.
    stopped(tmp_path, 11, validations=[1.0, 2.0, 3.0, 4.0])
    damage(tmp_path / BEST)
    with pytest.raises(InputError, match=f"{BEST}: the best weights cannot be read"):
        train(tmp_path, validations=[2.0, 3.0, 4.0])


def test_counters_come_back_as_they_were(tmp_path: Path):
    counters = Counters(3, 5, 77, 0.1 / 3, 2.0 / 3, 1, 70, 2, 0.7, 4, 76, 1e-17 + 1, 9, [1.5, 0.1])
    save_checkpoint(tmp_path, new_state(), counters, "run")
    assert load_checkpoint(tmp_path, new_state(), "run") == counters
    assert where_it_stands(tmp_path) == counters


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    stopped(tmp_path, 5)
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "checkpoints").write_text("a file is in the way")
    with pytest.raises(OutputError, match=r"checkpoints: cannot be written \(.+\)"):
        train(tmp_path)


@pytest.mark.parametrize("updates", [2, 5, BATCHES, BATCHES + 2])
def test_a_run_with_an_average_and_frequent_validation_goes_on_exactly(tmp_path: Path, updates):
    choices = {"average": 0.9, "validate_every": 2, "patience": 5}
    whole, counters = train(tmp_path / "whole", **choices)
    stopped(tmp_path / "stopped", updates, **choices)
    resumed, counters_too = train(tmp_path / "stopped", **choices)
    assert weights_of(resumed) == weights_of(whole)
    assert counters_too == counters


def test_a_full_disk_leaves_the_checkpoint_before_and_no_half_of_the_new_one(tmp_path: Path, monkeypatch):
    before = content_of(stopped(tmp_path, 11))

    def full(tensors: object, path: Path) -> None:
        Path(path).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OutputError, match=r"checkpoints: cannot be written \(No space left on device\)"):
        train(tmp_path)
    assert content_of(tmp_path) == before
