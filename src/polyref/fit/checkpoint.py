"""Where a run stands, on disk: written whole or not at all, so that a run killed at any moment can go on.

In:   a model, its optimiser, and the counters of the loop.
Out:  a folder `checkpoints/` with one folder a checkpoint (the newest only), and the best weights beside it.
Not:  when to write one (loop.py).

Weights are safetensors, counters JSON; nothing is ever unpickled.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from polyref.errors import InputError, OutputError, SettingsError

BEST = "best.safetensors"
_COUNTERS = "counters.json"


@dataclass(slots=True)
class Counters:
    """Everything of a run's state that is no tensor."""

    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    updates: int = 0
    learning_rate: float = 0.0
    best: float | None = None
    best_epoch: int = -1
    without_gain: int = 0  # epochs that brought no new best, in all
    loss: float = 0.0  # of this epoch so far, summed over its items
    items: int = 0
    history: list[float] = field(default_factory=list)  # the validation of each epoch


def save_checkpoint(
    folder: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer, counters: Counters, run: str
) -> None:
    """Write a checkpoint beside the last one, then drop the last one."""
    checkpoints = folder / "checkpoints"
    with _writing(checkpoints):
        _save_checkpoint(checkpoints, model, optimiser, counters, run)


def _save_checkpoint(
    checkpoints: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer, counters: Counters, run: str
) -> None:
    name = f"{counters.updates:09d}-{counters.epoch:04d}-{counters.batch:07d}"
    new = checkpoints / f"{name}.partial"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    save_file(_weights(model), new / "model.safetensors")
    save_file(_optimiser_tensors(optimiser), new / "optimiser.safetensors")
    (new / _COUNTERS).write_text(json.dumps({"run": run, **asdict(counters)}, indent=1) + "\n", encoding="utf-8")
    for file in new.iterdir():
        _flush(file)
    shutil.rmtree(checkpoints / name, ignore_errors=True)
    new.rename(checkpoints / name)
    _flush(checkpoints)
    for old in checkpoints.iterdir():
        if old.name != name:
            shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(
    folder: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer, run: str
) -> Counters | None:
    """Put a run back to where its last whole checkpoint was written; None where there is none."""
    found = _whole_checkpoints(folder)
    if not found:
        return None
    last = found[-1]
    try:
        content: dict[str, Any] = json.loads((last / _COUNTERS).read_text(encoding="utf-8"))
        if content.pop("run") != run:
            raise SettingsError(
                f"{folder} holds a run with other settings or other data; give those again, or another folder"
            )
        counters = Counters(**content)
        model.load_state_dict(load_file(last / "model.safetensors"))
        _load_optimiser(optimiser, load_file(last / "optimiser.safetensors"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"the checkpoint cannot be read ({error})", "delete the folder and start again", file=str(last)
        ) from None
    return counters


def save_best(folder: Path, model: torch.nn.Module) -> None:
    """Keep the weights as the best so far."""
    new = folder / f"{BEST}.partial"
    with _writing(folder / BEST):
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
def _writing(path: Path) -> Iterator[None]:
    """What cannot be written says where: a full disk must not look like another fault."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise OutputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def _flush(path: Path) -> None:
    """Have what was written on the disk, not only on its way there."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
