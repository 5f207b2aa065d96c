"""Where a run stands, on disk: written whole or not at all, so that a run killed at any moment can go on.

In:   a model, its optimiser, the average of its weights, and the counters of the loop.
Out:  a folder `checkpoints/` with one folder a checkpoint (the newest only), and the best weights beside it.
Not:  when to write one (loop.py).

Weights are safetensors, counters JSON; nothing is ever unpickled.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from polyref.errors import InputError, OutputError, SettingsError
from polyref.fit.averaging import Average

BEST = "best.safetensors"
_CHECKPOINTS = "checkpoints"
_MODEL = "model.safetensors"
_OPTIMISER = "optimiser.safetensors"
_AVERAGE = "average.safetensors"
_COUNTERS = "counters.json"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(slots=True)
class Counters:
    """Everything of a run's state that is no tensor. No whole number is ever less than what it is at the start."""

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

    @property
    def epoch_of_update(self) -> int:
        """The epoch of the last update: between two epochs, the one that is over."""
        return self.epoch if self.batch else max(self.epoch - 1, 0)


@dataclass(frozen=True, slots=True)
class State:
    """All that an update changes, besides the counters."""

    model: torch.nn.Module
    optimiser: torch.optim.Optimizer
    average: Average


def save_checkpoint(folder: Path, state: State, counters: Counters, run: str) -> None:
    """Write a checkpoint beside the last one, then drop the last one. If it cannot be written, the last one stays."""
    checkpoints = folder / _CHECKPOINTS
    name = f"{counters.updates:09d}-{counters.epoch:04d}-{counters.batch:07d}"
    new = checkpoints / f"{name}.partial"
    with _writing(checkpoints, new):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        _save(_weights(state.model), new / _MODEL)
        _save(_optimiser_tensors(state.optimiser), new / _OPTIMISER)
        if state.average.weights:
            _save(state.average.weights, new / _AVERAGE)
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
    last = _last(folder)
    if last is None:
        return None
    counters = _counters_of(last, run)
    state.model.load_state_dict(_tensors_of(last / _MODEL, _weights(state.model)))
    _load_optimiser(state.optimiser, _tensors_of(last / _OPTIMISER, _memory(state.optimiser)))
    if state.average.weights:
        for name, weight in _tensors_of(last / _AVERAGE, state.average.weights).items():
            state.average.weights[name].copy_(weight)
    if counters.best is not None:
        _tensors_of(folder / BEST, _weights(state.model))
    return counters


def check_checkpoint(folder: Path, run: str) -> None:
    """Refuse what load_checkpoint would refuse, as far as that can be told without the model."""
    last = _last(folder)
    if last is None:
        return
    counters = _counters_of(last, run)
    for file in (last / _MODEL, last / _OPTIMISER, *last.glob(_AVERAGE)):
        _tensors_of(file)
    if counters.best is not None:
        _tensors_of(folder / BEST)


def where_it_stands(folder: Path) -> Counters | None:
    """The counters of the last whole checkpoint, nothing else."""
    last = _last(folder)
    return None if last is None else _counters_of(last)


def save_best(folder: Path, model: torch.nn.Module) -> None:
    """Keep the weights as the best so far."""
    new = folder / f"{BEST}.partial"
    with _writing(folder / BEST, new):
        _save(_weights(model), new)
        _flush(new)
        new.replace(folder / BEST)


def load_best(folder: Path, model: torch.nn.Module) -> None:
    """Give a model the best weights of a run."""
    model.load_state_dict(_tensors_of(folder / BEST, _weights(model)))


def has_checkpoint(folder: Path) -> bool:
    """Whether a run has been begun in a folder."""
    return _last(folder) is not None


def _last(folder: Path) -> Path | None:
    """The newest checkpoint that is whole."""
    found = [path for path in (folder / _CHECKPOINTS).glob("*-*-*") if path.suffix != ".partial"]
    return max(found, default=None)


# -- counters -------------------------------------------------------------------------------------------------------


def _counters_of(checkpoint: Path, run: str | None = None) -> Counters:
    """The counters of a checkpoint; given the name of a run, it must be that run's."""
    file = checkpoint / _COUNTERS
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(file, _system_says(error) or str(error)) from None
    except (ValueError, RecursionError):
        raise _unreadable(file, "no JSON") from None
    if not isinstance(content, dict):
        raise _unreadable(file, "no JSON object")
    found = content.pop("run", None)
    if not isinstance(found, str):
        raise _unreadable(file, '"run" is missing')
    if run not in (None, found):
        folder = checkpoint.parent.parent
        raise SettingsError(
            f"{folder} holds a run with other settings or other data; give those again, or another folder"
        )
    if problem := _what_is_wrong(content):
        raise _unreadable(file, problem)
    return Counters(**content)


def _what_is_wrong(content: dict[str, Any]) -> str:
    """What makes these no counters of a run; nothing if they are."""
    known = fields(Counters)
    for one in known:
        if one.name not in content:
            return f'"{one.name}" is missing'
        value = content[one.name]
        if not _fits(value, str(one.type), one.default) or (one.name == "learning_rate" and value < 0):
            return f'"{one.name}" cannot be {_shown(value)}'
    if unknown := sorted(content.keys() - {one.name for one in known}):
        return f'"{unknown[0]}" is unknown'
    if (content["best"] is None) != (not content["history"]):
        return '"best" and "history" contradict each other'
    for name in ("best_updates", "validated"):
        if content[name] > content["updates"]:
            return f'"{name}" is more than "updates"'
    return ""


def _fits(value: Any, kind: str, least: Any) -> bool:
    if kind == "int":
        return _is_number(value) and isinstance(value, int) and value >= least
    if kind == "float":
        return _is_number(value) and math.isfinite(value)
    if kind == "float | None":
        return value is None or _is_number(value)
    return isinstance(value, list) and all(map(_is_number, value))


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 2**63 if isinstance(value, int) else not math.isnan(value)


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# -- tensors --------------------------------------------------------------------------------------------------------


def _tensors_of(file: Path, wanted: Mapping[str, torch.Tensor] | None = None) -> dict[str, torch.Tensor]:
    """The tensors of a file; they must be those that are wanted: all of them, each of its shape, and no other."""
    try:
        found = load_file(file)
    except (OSError, SafetensorError) as error:
        raise _unreadable(file, _system_says(error) or "no whole safetensors file") from None
    for name, tensor in (wanted or {}).items():
        if name not in found:
            raise _unreadable(file, f"{name} is missing")
        if _form(found[name]) != _form(tensor):
            raise _unreadable(file, f"{name} is {_form(found[name])}, not {_form(tensor)}")
    if wanted is not None and (unknown := sorted(found.keys() - wanted.keys())):
        raise _unreadable(file, f"{unknown[0]} does not belong there")
    return found


def _form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _save(tensors: dict[str, torch.Tensor], path: Path) -> None:
    """Write tensors, for whoever may read other new files: safetensors itself would keep them to their owner."""
    path.touch()
    mode = path.stat().st_mode
    save_file(tensors, path)
    path.chmod(mode)


def _weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().contiguous() for name, weight in model.named_parameters()}


def _memory(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The forms of what an optimiser remembers of each weight; plain SGD remembers nothing."""
    if isinstance(optimiser, torch.optim.SGD):
        return {}
    found = {}
    for number, weight in enumerate(weight for group in optimiser.param_groups for weight in group["params"]):
        found[f"{number}.step"] = torch.empty((), dtype=torch.float32, device="meta")
        for name in ("exp_avg", "exp_avg_sq"):
            found[f"{number}.{name}"] = torch.empty_like(weight, device="meta")
    return found


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """What it remembers now.

    A weight that no update has reached yet is not in its state. It is written all the same, with the zeros that it will
    begin with, so that a file without it is known to be damaged.
    """
    found = {
        f"{number}.{name}": torch.as_tensor(value).contiguous()
        for number, values in optimiser.state_dict()["state"].items()
        for name, value in values.items()
        if value is not None
    }
    forms = _memory(optimiser).items()
    return {name: found[name] if name in found else torch.zeros_like(form, device="cpu") for name, form in forms}


def _load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    content = optimiser.state_dict()
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    content["state"] = state
    optimiser.load_state_dict(content)


# -- what goes wrong with files -------------------------------------------------------------------------------------


def _unreadable(file: Path, problem: str) -> InputError:
    """The refusal of a file: without a checkpoint a run starts over, whatever else is in its folder."""
    if file.name == BEST:
        cure = f"put the file back, or delete {file.parent / _CHECKPOINTS}, and training starts over"
        return InputError(f"the best weights cannot be read ({problem})", cure, file=str(file))
    checkpoint = file.parent
    cure = f"delete {checkpoint.parent}, and training starts over"
    return InputError(f"the checkpoint cannot be read ({file.name}: {problem})", cure, file=str(checkpoint))


@contextmanager
def _writing(path: Path, partial: Path) -> Iterator[None]:
    """What cannot be written says where: a full disk must not look like another fault. Its half goes."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        cure = f"{'free some space' if _number(error) in _NO_SPACE else 'mend that'} and give the same command again"
        goes_on = ": it goes on from the last checkpoint" if has_checkpoint(path.parent) else ""
        raise OutputError(f"{path}: cannot be written ({_system_says(error) or error}); {cure}{goes_on}") from None


def _system_says(error: Exception) -> str:
    number = _number(error)
    return os.strerror(number) if number else ""


def _number(error: Exception) -> int | None:
    """The system's number of an error; safetensors has it in its text, or in the kind of the exception only."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    if isinstance(error, FileNotFoundError):
        return errno.ENOENT
    found = re.search(r"\(os error (\d+)\)", str(error))
    return int(found[1]) if found else None


def _flush(path: Path) -> None:
    """Have what was written on the disk, not only on its way there."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
