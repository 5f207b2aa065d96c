"""Where a run stands, on disk: written whole or not at all, so that a run killed at any moment can go on.

In:   a model, its optimiser, the average of its weights, and the counters of the loop.
Out:  a folder `checkpoints/` with one folder per checkpoint (the newest only), and the best weights beside it.
Not:  when to write one (loop.py).

Weights are safetensors, counters JSON; nothing is ever unpickled.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from polyref.errors import InputError, SettingsError
from polyref.files import OLDER, PARTIAL, whole_folder, whole_path, words_of, writing
from polyref.settings import Declared, Key, check

BEST = "best.safetensors"
CHECKPOINTS = "checkpoints"
_MODEL = "model.safetensors"
_OPTIMISER = "optimiser.safetensors"
_AVERAGE = "average.safetensors"
_COUNTERS = "counters.json"
_CURE = "make room, or mend what else is wrong, and give the same command again"  # a full disk is the usual cause
Tensors = dict[str, torch.Tensor]
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counters:
    """Everything of a run's state that is not a tensor. No whole number is ever less than what it is at the start."""

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
    extra: float | None = None  # the validation at the end, where none was due: more epochs or updates forget it

    @property
    def epoch_of_update(self) -> int:
        """The epoch of the last update: between two epochs, the one that is over."""
        return self.epoch if self.batch else max(self.epoch - 1, 0)

    @property
    def is_unjudged(self) -> bool:
        """Whether there were updates since the last validation."""
        return self.validated < self.updates


@dataclass(frozen=True, slots=True)
class State:
    """All that an update changes, besides the counters."""

    model: torch.nn.Module
    optimiser: torch.optim.Optimizer
    average: Tensors  # of the weights; empty where none is kept


def save_checkpoint(folder: Path, state: State, counters: Counters, run: str) -> None:
    """Write a checkpoint beside the last one, then drop the last one. If it cannot be written, the last one stays."""
    checkpoints = folder / CHECKPOINTS
    name = f"{counters.updates:09d}-{counters.epoch:04d}-{counters.batch:07d}"
    with writing(checkpoints, _CURE):
        with whole_folder(checkpoints / name) as new:
            save_file(_weights(state.model), new / _MODEL)
            save_file(_optimiser_tensors(state.optimiser), new / _OPTIMISER)
            if state.average:
                save_file(state.average, new / _AVERAGE)
            content = json.dumps({"run": run, **asdict(counters)}, indent=1) + "\n"
            (new / _COUNTERS).write_text(content, encoding="utf-8")
        for old in checkpoints.iterdir():
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)
        _log.info("checkpoint written: %s", checkpoints / name)
        Path(f"{folder / BEST}{PARTIAL}").unlink(missing_ok=True)  # of a run that was killed; there may be no new best


def load_checkpoint(folder: Path, state: State | None, run: str) -> Counters | None:
    """Put a run back to where its last whole checkpoint was written; None where there is none.

    Without a state, only refuse what would be refused, as far as that can be told without the model.
    """
    last = _last(folder)
    if last is None:
        return None
    counters = _counters_of(last, run)
    weights = None if state is None else _weights(state.model)
    model = _tensors_of(last / _MODEL, weights)
    optimiser = _tensors_of(last / _OPTIMISER, None if state is None else _memory(state.optimiser))
    averaged = (last / _AVERAGE).exists() if state is None else bool(state.average)
    average = _tensors_of(last / _AVERAGE, None if state is None else state.average) if averaged else {}
    if counters.best is not None:
        _tensors_of(folder / BEST, weights)
    if state is not None:
        state.model.load_state_dict(model)
        _load_optimiser(state.optimiser, optimiser)
        for name, weight in average.items():
            state.average[name].copy_(weight)
        _log.info("goes on from checkpoint %s", last)
    return counters


def where_it_stands(folder: Path) -> Counters | None:
    """The counters of the last whole checkpoint, nothing else."""
    last = _last(folder)
    return None if last is None else _counters_of(last)


def save_best(folder: Path, model: torch.nn.Module) -> None:
    """Keep the weights as the best so far."""
    with writing(folder / BEST, _CURE), whole_path(folder / BEST) as new:
        save_file(_weights(model), new)


def load_best(folder: Path, model: torch.nn.Module) -> None:
    """Give a model the best weights of a run."""
    model.load_state_dict(_tensors_of(folder / BEST, _weights(model)))


def has_checkpoint(folder: Path) -> bool:
    """Whether a run has been begun in a folder."""
    return _last(folder) is not None


def _last(folder: Path) -> Path | None:
    """The newest checkpoint that is whole."""
    found = [path for path in (folder / CHECKPOINTS).glob("*-*-*") if path.suffix != PARTIAL]
    # One that was being replaced stands for the new one, where that is not there.
    return max(found, key=lambda path: (path.name.removesuffix(OLDER), path.suffix != OLDER), default=None)


def _unreadable(file: Path, problem: str) -> InputError:
    """The refusal of a file: without a checkpoint a run starts over, whatever else is in its folder."""
    if file.name == BEST:
        cure = f"put the file back, or delete {file.parent / CHECKPOINTS}, and training starts over"
        return InputError(f"the best weights cannot be read ({problem})", cure, file=str(file))
    checkpoint = file.parent
    cure = f"delete {checkpoint.parent}, and training starts over"
    return InputError(f"the checkpoint cannot be read ({file.name}: {problem})", cure, file=str(checkpoint))


# -- counters -------------------------------------------------------------------------------------------------------


def _counters_of(checkpoint: Path, run: str | None = None) -> Counters:
    """The counters of a checkpoint; given the name of a run, it must be that run's."""
    file = checkpoint / _COUNTERS
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(file, words_of(error)) from None
    except (ValueError, RecursionError):
        raise _unreadable(file, "not JSON") from None
    if not isinstance(content, dict) or not isinstance(content.get("run"), str):
        raise _unreadable(file, '"run" is missing')
    if run not in (None, content.pop("run")):
        problem = f"{checkpoint.parent.parent} holds a run with other settings or other data"
        raise SettingsError(problem, "give those again, or another folder")
    if problem := _what_is_wrong(content):
        raise _unreadable(file, problem)
    return Counters(**content)


def _what_is_wrong(content: dict[str, Any]) -> str:
    """What makes these no counters of a run; nothing if they are."""
    kinds = get_type_hints(Counters) | {"history": tuple[float, ...]}
    for one in fields(Counters):
        if one.name not in content:
            return f'"{one.name}" is missing'
        least: Any = one.default if kinds[one.name] is int or one.name == "learning_rate" else None
        try:
            check(Key(one.name, kinds[one.name], None, Declared(at_least=least)), content[one.name])
        except SettingsError as error:
            return f'"{one.name}" {error.problem[:60]}'
    if unknown := sorted(content.keys() - kinds.keys()):
        return f'"{unknown[0]}" is unknown'
    if (content["best"] is None) != (not content["history"]):
        return '"best" and "history" contradict each other'
    for name in ("best_updates", "validated"):
        if content[name] > content["updates"]:
            return f'"{name}" is more than "updates"'
    return ""


# -- tensors --------------------------------------------------------------------------------------------------------


def read_tensors(file: Path, wanted: Mapping[str, torch.Tensor] | None = None) -> Tensors:
    """The tensors of a file. A ValueError tells what is wrong with it, or in which way they are not those that are
    wanted: all of them, each of its type and shape, and no other."""
    try:
        file.open("rb").close()  # for the system's words: safetensors has others, or none
        found = load_file(file)
    except (OSError, SafetensorError) as error:
        raise ValueError(words_of(error)) from None
    for name, tensor in (wanted or {}).items():
        if name not in found:
            raise ValueError(f"{name} is missing")
        if _form(found[name]) != _form(tensor):
            raise ValueError(f"{name} is {_form(found[name])}, not {_form(tensor)}")
    if wanted is not None and (unknown := sorted(found.keys() - wanted.keys())):
        raise ValueError(f"{unknown[0]} does not belong there")
    return found


def _tensors_of(file: Path, wanted: Mapping[str, torch.Tensor] | None = None) -> Tensors:
    try:
        return read_tensors(file, wanted)
    except ValueError as error:
        raise _unreadable(file, str(error)) from None


def _form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _weights(model: torch.nn.Module) -> Tensors:
    return {name: weight.detach().contiguous() for name, weight in model.named_parameters()}


def _memory(optimiser: torch.optim.Optimizer) -> Tensors:
    """The forms of what an optimiser remembers of each weight; plain SGD remembers nothing."""
    if isinstance(optimiser, torch.optim.SGD):
        return {}
    found = {}
    for number, weight in enumerate(weight for group in optimiser.param_groups for weight in group["params"]):
        found[f"{number}.step"] = torch.empty((), dtype=torch.float32, device="meta")
        for name in ("exp_avg", "exp_avg_sq"):
            found[f"{number}.{name}"] = torch.empty_like(weight, device="meta")
    return found


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> Tensors:
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


def _load_optimiser(optimiser: torch.optim.Optimizer, tensors: Tensors) -> None:
    state: dict[int, Tensors] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
