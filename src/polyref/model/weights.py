"""A model's weights, to a file and back.

In:   a model, a path.
Out:  one safetensors file, there whole or not at all; a model with its weights.
Not:  checkpoints of a run (fit/checkpoint.py).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from polyref.errors import InputError, OutputError

_CURE = "open it with the vocabulary and the settings that it was trained with"


def save_weights(model: torch.nn.Module, path: str | Path) -> None:
    """Write the weights of a model: whole, or not at all."""
    path = Path(path)
    try:
        with replacing(path) as new:
            # safetensors writes for its owner alone; whoever may read the folder may read the model.
            new.touch()
            mode = new.stat().st_mode
            save_file({name: weight.contiguous() for name, weight in model.state_dict().items()}, new)
            new.chmod(mode)
    except (OSError, SafetensorError) as error:
        raise OutputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def copy_weights(old: str | Path, path: str | Path) -> None:
    """Copy a file of weights: whole, or not at all."""
    path = Path(path)
    try:
        source = Path(old).open("rb")  # noqa: SIM115  (two kinds of fault, two messages)
    except OSError as error:
        raise InputError(f"weights cannot be read ({error.strerror})", "check the path", file=str(old)) from None
    try:
        with source, replacing(path) as new, new.open("wb") as target:
            shutil.copyfileobj(source, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of another in one step; nothing is left of it after an error."""
    new = path.with_name(f"{path.name}.partial")
    try:
        new.unlink(missing_ok=True)
        yield new
        # On the disk before it has its name: after a power cut a name must not stand for nothing.
        with new.open("rb") as written:
            os.fsync(written.fileno())
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def load_weights(model: torch.nn.Module, path: str | Path) -> None:
    """Give a model the weights of a file; weights of another shape, or for another model, are refused by name."""
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise InputError(f"weights cannot be read ({problem})", "check the path", file=str(path)) from None
    if problem := _misfit(weights, model.state_dict()):
        raise InputError(problem, _CURE, file=str(path))
    model.load_state_dict(weights)


def _misfit(weights: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor]) -> str:
    for name, weight in wanted.items():
        if name not in weights:
            return f"{name} is missing"
        if weights[name].shape != weight.shape:
            return f"{name} is {_shape(weights[name])} in the file, but {_shape(weight)} in the model"
    extra = sorted(set(weights) - set(wanted))
    return f"{extra[0]} is not in the model" if extra else ""


def _shape(tensor: torch.Tensor) -> str:
    return " x ".join(map(str, tensor.shape))
