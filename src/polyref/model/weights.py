"""A model's weights, to a file and back.

In:   a model, a path.
Out:  one safetensors file, there whole or not at all; a model with its weights.
Not:  checkpoints of a run (fit/checkpoint.py).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from polyref.errors import InputError, OutputError

Shapes = dict[str, tuple[int, ...]]
_GONE = "the file is damaged or gone; train the model again"
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
    with _reading(old):
        source = Path(old).open("rb")  # noqa: SIM115  (two kinds of fault, two messages)
    path = Path(path)
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
    check_weights(model, path)
    with _reading(path):
        weights = load_file(path)
    model.load_state_dict(weights)


def check_weights(model: torch.nn.Module, path: str | Path) -> None:
    """The same refusals without reading the weights; the model need not have any (torch's device "meta")."""
    if problem := _misfit(shapes_of(path), {name: tuple(one.shape) for name, one in model.state_dict().items()}):
        raise InputError(problem, _CURE, file=str(path))


def shapes_of(path: str | Path) -> Shapes:
    """The shapes of the weights of a file, by their names."""
    with _reading(path), safe_open(path, "pt") as weights:
        return {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    try:
        if Path(path).is_dir():  # safetensors has no words for that
            raise IsADirectoryError(None, "it is a folder")
        yield
    except (OSError, SafetensorError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the weights cannot be read ({problem})", _GONE, file=str(path)) from None


def _misfit(found: Shapes, wanted: Shapes) -> str:
    for name, shape in wanted.items():
        if name not in found:
            return f"{name} is missing"
        if found[name] != shape:
            return f"{name} is {_by(found[name])} in the file, but {_by(shape)} in the model"
    extra = sorted(set(found) - set(wanted))
    return f"{extra[0]} is not in the model" if extra else ""


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
