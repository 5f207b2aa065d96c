"""A model's weights, to a file and back.

In:   a model, a path.
Out:  one safetensors file; a model with its weights.
Not:  checkpoints of a run (fit/checkpoint.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from polyref.errors import InputError, OutputError

_CURE = "open it with the vocabulary and the settings that it was trained with"


def save_weights(model: torch.nn.Module, path: str | Path) -> None:
    """Write the weights of a model: whole, or not at all."""
    path = Path(path)
    new = path.with_name(f"{path.name}.partial")
    try:
        save_file({name: weight.contiguous() for name, weight in model.state_dict().items()}, new)
        new.replace(path)
    except (OSError, SafetensorError) as error:
        raise OutputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


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
