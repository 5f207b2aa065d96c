"""Files that are damaged, lost or cannot be written: the file is named, what cures it is true, and nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors import SafetensorError  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from small_runs import (  # noqa: E402
    SETTINGS,
    Line,
    StoppedError,
    batches,
    checkpoint_in,
    content_of,
    stopped,
    train,
    weights_of,
)

from polyref.errors import InputError, OutputError, PolyrefError  # noqa: E402
from polyref.fit import checkpoint  # noqa: E402
from polyref.fit.checkpoint import BEST, where_it_stands  # noqa: E402
from polyref.fit.loop import Step, check_run, fit, is_finished  # noqa: E402
from polyref.fit.processes import Processes  # noqa: E402

AVERAGE = {"average": 0.9}
TENSORS = ["model.safetensors", "optimiser.safetensors", "average.safetensors"]


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stopped(tmp_path_factory.mktemp("left") / "run", 11, **AVERAGE)


@pytest.fixture
def folder(tmp_path: Path, left_behind: Path) -> Path:
    """A run that was stopped in its second epoch."""
    return Path(shutil.copytree(left_behind, tmp_path / "run"))


def refusal_of(work: Callable[[], object]) -> str:
    with pytest.raises(PolyrefError) as refused:
        work()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def go_on(folder: Path) -> None:
    """Not a single update may happen."""
    train(folder, on_step=lambda step: pytest.fail("it trains"), **AVERAGE)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def writing(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


DAMAGES = {
    "cut": cut,
    "empty": writing(b""),
    "no text": writing(b"\xff\xfe"),
    "a text": writing(b'"text"'),
    "another key": writing(b'{"run": "run", "epoch": 1, "colour": 2}'),
    "no run": writing(b'{"epoch": 1}'),
    "deep": writing(b"[" * 100_000),
    "gone": Path.unlink,
}


@pytest.mark.parametrize("file", [*TENSORS, "counters.json"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_named_and_nothing_is_lost(folder: Path, file, damage):
    damage(checkpoint_in(folder) / file)
    before = content_of(folder)
    said = refusal_of(partial(go_on, folder))
    assert said.startswith(f"{checkpoint_in(folder)}: the checkpoint cannot be read ({file}: ")
    assert said.endswith(f"); delete {folder / 'checkpoints'}, and training starts over")
    assert content_of(folder) == before
    if (file, damage) != ("average.safetensors", Path.unlink):  # a look does not know whether there was to be one
        assert refusal_of(lambda: check_run(folder, "run", Processes())) == said
    assert content_of(folder) == before


def test_what_cures_a_damaged_checkpoint_is_true(folder: Path, tmp_path: Path):
    cut(checkpoint_in(folder) / "model.safetensors")
    shutil.rmtree(folder / "checkpoints")
    assert weights_of(train(folder, **AVERAGE)[0]) == weights_of(train(tmp_path / "whole", **AVERAGE)[0])


@pytest.mark.parametrize("damage", [cut, Path.unlink, writing(b"")], ids=["cut", "gone", "empty"])
def test_best_weights_that_are_lost_are_missed_before_anything_is_trained(folder: Path, damage, tmp_path: Path):
    kept = (folder / BEST).read_bytes()
    damage(folder / BEST)
    before = content_of(folder)
    said = refusal_of(partial(go_on, folder))
    assert said.startswith(f"{folder / BEST}: the best weights cannot be read (")
    assert said.endswith(f"; put the file back, or delete {folder / 'checkpoints'}, and training starts over")
    assert refusal_of(lambda: check_run(folder, "run", Processes())) == said
    assert content_of(folder) == before
    # Both cures are true.
    again = Path(shutil.copytree(folder, tmp_path / "again"))
    (folder / BEST).write_bytes(kept)
    shutil.rmtree(again / "checkpoints")
    assert weights_of(train(folder, **AVERAGE)[0]) == weights_of(train(again, **AVERAGE)[0])


def test_best_weights_that_are_lost_on_the_way_are_not_replaced_by_the_last_ones(tmp_path: Path):
    def on_step(step: Any) -> None:
        if step.updates == 11:
            (tmp_path / BEST).unlink(missing_ok=True)

    # The first epoch was the best, so its weights are not written again.
    with pytest.raises(InputError, match=rf"{BEST}: the best weights cannot be read \(No such file or directory\)"):
        train(tmp_path, validations=[1.0, 2.0, 3.0, 4.0], on_step=on_step)


def test_best_weights_are_not_missed_before_there_are_any(tmp_path: Path):
    stopped(tmp_path, 5)
    assert not (tmp_path / BEST).exists()
    check_run(tmp_path, "run", Processes())
    assert train(tmp_path)[1].best is not None


# -- tensors ----------------------------------------------------------------------------------------------------------


def without_one(tensors: dict[str, Any]) -> dict[str, Any]:
    return dict(list(tensors.items())[1:])


def with_one_more(tensors: dict[str, Any]) -> dict[str, Any]:
    return {**tensors, "9.more": torch.zeros(2)}


def of_another_shape(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: torch.zeros(3, 3) for name in tensors}


def of_another_type(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: tensor.half() for name, tensor in tensors.items()}


CHANGES = {
    "one is missing": (without_one, "is missing"),
    "none": (lambda tensors: {}, "is missing"),
    "one more": (with_one_more, "9.more does not belong there"),
    "another shape": (of_another_shape, "is float32 [3, 3], not float32 ["),
    "another type": (of_another_type, ", not float32 ["),
}


@pytest.mark.parametrize(("change", "problem"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("file", [*TENSORS, BEST])
def test_tensors_that_are_not_the_run_s_are_refused(folder: Path, file, change, problem):
    path = folder / BEST if file == BEST else checkpoint_in(folder) / file
    save_file(change(load_file(path)), path)
    said = refusal_of(partial(go_on, folder))
    assert f"({'' if file == BEST else file + ': '}" in said
    assert problem in said
    assert str(path if file == BEST else path.parent) in said


@pytest.mark.parametrize("stops", [[], [4], [11], [4, 11]])
def test_a_weight_that_no_update_has_reached_is_no_damage(tmp_path: Path, stops):
    """The optimiser has nothing to remember of it, until an update reaches it: here in the second epoch."""
    lately = partial(train_with_a_late_weight, tmp_path / "stopped")
    for updates in stops:
        assert lately(stop=updates) is None
    whole = train_with_a_late_weight(tmp_path / "whole")
    assert whole is not None
    assert lately() == whole
    # It did move.
    assert load_file(tmp_path / "whole" / BEST)["late"].tolist() != [1.0, 1.0]


def train_with_a_late_weight(folder: Path, stop: int | None = None) -> bytes | None:
    model, epochs = Line(), []
    model.late = torch.nn.Parameter(torch.ones(2))

    def batches_noting_the_epoch(epoch: int, start: int) -> Any:
        epochs.append(epoch)
        return batches(epoch, start)

    def cost(batch: Any) -> Any:
        loss, items = model.cost(batch)
        return loss + (model.late.square().sum() if epochs[-1] else 0), items

    def on_step(step: Step) -> None:
        if step.updates == stop:
            raise StoppedError

    worth = {"batches": batches_noting_the_epoch, "cost": cost, "validate": lambda: -float(epochs[-1])}
    with suppress(StoppedError):
        fit(model, **worth, settings=SETTINGS, folder=folder, run="run", on_step=on_step)
        return weights_of(model)
    return None


# -- counters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epoch", "x"),
        ("epoch", 1.5),
        ("epoch", -3),
        ("epoch", True),
        ("epoch", None),
        ("epoch", 10**30),
        ("batch", [1]),
        ("updates", -3),
        ("updates", 3),  # the best and the last validation were later
        ("learning_rate", None),
        ("learning_rate", "fast"),
        ("learning_rate", -0.1),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("learning_rate", 10**400),
        ("best", "a"),
        ("best", float("nan")),
        ("best", None),  # although there were validations
        ("best_epoch", -2),
        ("best_updates", 12),
        ("without_gain", {}),
        ("best_mean", "a"),
        ("stale", -1),
        ("validated", 12),
        ("loss", None),
        ("loss", float("inf")),
        ("items", 0.5),
        ("history", None),
        ("history", []),  # although there is a best one
        ("history", "text"),
        ("history", [1.0, "x"]),
        ("history", [1.0, True]),
        ("history", [None] * 1000),
        ("run", None),
    ],
)
def test_counters_that_cannot_be_are_refused_by_name(folder: Path, name, value):
    path = checkpoint_in(folder) / "counters.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, name: value}))
    said = refusal_of(partial(go_on, folder))
    assert f"{path.parent}: the checkpoint cannot be read (counters.json: " in said
    assert f'"{name}"' in said or name in ("best", "history", "updates")  # two that do not go together
    assert len(said) < 300 + 2 * len(str(path))
    for look in (
        lambda: check_run(folder, "run", Processes()),
        lambda: is_finished(folder, SETTINGS),
        lambda: where_it_stands(folder),
    ):
        assert refusal_of(look) == said


@pytest.mark.parametrize("name", ["epoch", "history", "validated", "run"])
def test_a_counter_that_is_missing_is_named(folder: Path, name):
    path = checkpoint_in(folder) / "counters.json"
    content = json.loads(path.read_text())
    del content[name]
    path.write_text(json.dumps(content))
    assert f'(counters.json: "{name}" is missing); delete' in refusal_of(partial(go_on, folder))


# -- what cannot be written -------------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    stopped(tmp_path, 5)
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "checkpoints").write_text("a file is in the way")
    with pytest.raises(OutputError, match=r"checkpoints: cannot be written \(.+\); make room, or mend"):
        train(tmp_path)


FULL = {
    "the system": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "safetensors": SafetensorError('Error while serializing: I/O error: No space left (os error 28) at path "x"'),
}


@pytest.mark.parametrize("error", FULL.values(), ids=FULL)
@pytest.mark.parametrize("updates", [2, 11])
def test_a_full_disk_leaves_the_checkpoint_before_and_no_half_of_the_new_one(
    tmp_path: Path, monkeypatch, error, updates
):
    before = content_of(stopped(tmp_path, updates))

    def full(tensors: object, path: Path) -> None:
        Path(path).write_bytes(b"half")
        raise error

    monkeypatch.setattr(checkpoint, "save_file", full)
    said = refusal_of(lambda: train(tmp_path))
    cure = "make room, or mend what else is wrong, and give the same command again"
    wanted = f"cannot be written (No space left on device); {cure}"
    assert said == f"{tmp_path / 'checkpoints'}: {wanted}"
    assert content_of(tmp_path) == before
