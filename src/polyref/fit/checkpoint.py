"""Where a run stands, on disk: written whole or not at all, so that a run killed at any moment can go on.

In:   a model, its optimiser, the average of its weights, and the counters of the loop.
Out:  a folder `checkpoints/` with one folder a checkpoint (the newest only), and the best weights beside it.
Not:  when to write one (loop.py).

Weights are safetensors, counters JSON; nothing is ever unpickled.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from polyref.errors import InputError, OutputError, SettingsError
from polyref.fit.averaging import Average

BEST = "best.safetensors"
_COUNTERS = "counters.json"
_AVERAGE = "average.safetensors"


@dataclass(slots=True)
class Counters:
    """Everything of a run's state that is no tensor."""

    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    updates: int = 0
    learning_rate: float = 0.0
    best: float | None = None
    best_epoch: int = -1
    best_updates: int = -1
    without_gain: int = 0  # validations that brought no gain, in all
    best_mean: float | None = None  # of recent validations
    stale: int = 0  # validations since that mean was at its best
    validated: int = -1  # the update after which the last validation was
    loss: float = 0.0  # of this epoch so far, summed over its items
    items: int = 0
    history: list[float] = field(default_factory=list)  # all validations


@dataclass(frozen=True, slots=True)
class State:
    """All that an update changes, besides the counters."""

    model: torch.nn.Module
    optimiser: torch.optim.Optimizer
    average: Average


def save_checkpoint(folder: Path, state: State, counters: Counters, run: str) -> None:
    """Write a checkpoint beside the last one, then drop the last one. If it cannot be written, the last one stays."""
    checkpoints = folder / "checkpoints"
    name = f"{counters.updates:09d}-{counters.epoch:04d}-{counters.batch:07d}"
    new = checkpoints / f"{name}.partial"
    with _writing(checkpoints, new):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        save_file(_weights(state.model), new / "model.safetensors")
        save_file(_optimiser_tensors(state.optimiser), new / "optimiser.safetensors")
        if state.average.weights:
            save_file(state.average.weights, new / _AVERAGE)
        (new / _COUNTERS).write_text(json.dumps({"run": run, **asdict(counters)}, indent=1) + "\n", encoding="utf-8")
        for file in new.iterdir():
            _flush(file)
        shutil.rmtree(checkpoints / name, ignore_errors=True)
        new.rename(checkpoints / name)
        _flush(checkpoints)
    for old in checkpoints.iterdir():
        if old.name != name:
            shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(folder: Path, state: State, run: str) -> Counters | None:
    """Put a run back to where its last whole checkpoint was written; None where there is none."""
    found = _whole_checkpoints(folder)
    if not found:
        return None
    last = found[-1]
    with _reading(last):
        content = _content(last)
        if content.pop("run") != run:
            raise SettingsError(
                f"{folder} holds a run with other settings or other data; give those again, or another folder"
            )
        counters = Counters(**content)
        state.model.load_state_dict(load_file(last / "model.safetensors"))
        _load_optimiser(state.optimiser, load_file(last / "optimiser.safetensors"))
        if state.average.weights:
            for name, weight in load_file(last / _AVERAGE).items():
                state.average.weights[name].copy_(weight)
    return counters


def where_it_stands(folder: Path) -> Counters | None:
    """The counters of the last whole checkpoint, nothing else."""
    found = _whole_checkpoints(folder)
    if not found:
        return None
    with _reading(found[-1]):
        content = _content(found[-1])
        del content["run"]
        return Counters(**content)


def _content(checkpoint: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((checkpoint / _COUNTERS).read_text(encoding="utf-8"))
    return content


@contextmanager
def _reading(checkpoint: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"the checkpoint cannot be read ({error})", "delete the folder and start again", file=str(checkpoint)
        ) from None


def save_best(folder: Path, model: torch.nn.Module) -> None:
    """Keep the weights as the best so far."""
    new = folder / f"{BEST}.partial"
    with _writing(folder / BEST, new):
        save_file(_weights(model), new)
        _flush(new)
        new.replace(folder / BEST)


def load_best(folder: Path, model: torch.nn.Module) -> None:
    """Give a model the best weights of a run."""
    try:
        model.load_state_dict(load_file(folder / BEST))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"the best weights cannot be read ({error})", "delete the folder and start again", file=str(folder / BEST)
        ) from None


def has_checkpoint(folder: Path) -> bool:
    """Whether a run has been begun in a folder."""
    return bool(_whole_checkpoints(folder))


def _whole_checkpoints(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "checkpoints").glob("*-*-*") if path.suffix != ".partial")


def _weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().contiguous() for name, weight in model.named_parameters()}


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    state = optimiser.state_dict()["state"]
    return {
        f"{parameter}.{name}": torch.as_tensor(value).contiguous()
        for parameter, values in state.items()
        for name, value in values.items()
        if value is not None
    }


def _load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    content = optimiser.state_dict()
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        parameter, _, name = key.partition(".")
        state.setdefault(int(parameter), {})[name] = tensor
    content["state"] = state
    optimiser.load_state_dict(content)


@contextmanager
def _writing(path: Path, partial: Path) -> Iterator[None]:
    """What cannot be written says where: a full disk must not look like another fault. Its half goes."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def _flush(path: Path) -> None:
    """Have what was written on the disk, not only on its way there."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
