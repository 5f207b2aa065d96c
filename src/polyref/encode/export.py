"""A trained model as the arrays of an encoder's folder.

In:   a LanguageModel. Out: float16 arrays on their grids (grid.py). Not: writing them (folder.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from polyref.encode.grid import INPUT_STEP, STATE_STEP, exact_weights, on_grid
from polyref.encode.language_model import LanguageModel
from polyref.encode.prediction import EXPECTATION_STEP, LARGEST_EXPECTATION
from polyref.errors import PolyrefError

_LARGEST = 2.0**14  # of a weight; float16 ends at 2**16


def exported(model: LanguageModel) -> dict[str, npt.NDArray[np.float16]]:
    """All that encoding needs."""
    vectors = on_grid(_unit(_array(model.vectors)), INPUT_STEP)
    boundary = on_grid(_unit(_array(model.boundary)), INPUT_STEP)
    states = model.settings.state_size
    # Rounding makes a unit vector a little longer.
    longest = 1.0 + 0.5 * INPUT_STEP * np.sqrt(model.settings.vector_size)
    arrays: dict[str, Any] = {
        "vectors": vectors,
        "boundary": boundary,
        "pieces": _array(model.pieces),
        "centre.own": np.zeros(model.settings.vector_size),
        "centre.states": np.zeros((2, states)),
    }
    for side, direction in (("forward", model.forwards), ("backward", model.backwards)):
        weights = dict(direction.named_parameters())
        arrays[f"{side}.read"] = exact_weights(
            _array(weights["weight_ih_l0"]), longest=longest, largest=1.0, step=INPUT_STEP
        )
        arrays[f"{side}.state"] = exact_weights(
            _array(weights["weight_hh_l0"]), longest=np.sqrt(states), largest=1.0, step=STATE_STEP
        )
        arrays[f"{side}.bias"] = _array(weights["bias_ih_l0"]) + _array(weights["bias_hh_l0"])
    return _halved(arrays) | output_arrays(model)


def output_arrays(model: LanguageModel) -> dict[str, npt.NDArray[np.float16]]:
    """What predicting a word needs on top."""
    states = model.settings.state_size
    projection = exact_weights(
        _array(model.projection.weight), longest=np.sqrt(2 * states), largest=1.0, step=STATE_STEP
    )
    arrays: dict[str, Any] = {"projection.weight": projection, "projection.bias": _array(model.projection.bias)}
    for name, weight in model.output.named_parameters():
        array: npt.NDArray[Any] = _array(weight)
        if array.ndim == 2:
            longest = LARGEST_EXPECTATION * np.sqrt(array.shape[1])
            array = exact_weights(array, longest=longest, largest=LARGEST_EXPECTATION, step=EXPECTATION_STEP)
        arrays[f"output.{name}"] = array
    return _halved(arrays)


def _halved(arrays: dict[str, Any]) -> dict[str, npt.NDArray[np.float16]]:
    return {name: np.asarray(array).astype(np.float16) for name, array in arrays.items()}


def _array(weight: torch.Tensor) -> npt.NDArray[np.float64]:
    array: npt.NDArray[np.float64] = weight.detach().numpy().astype(np.float64)
    if not (np.abs(array) < _LARGEST).all():
        raise PolyrefError("the weights have grown beyond all bounds; train again with a lower learning rate")
    return array


def _unit(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    scaled: npt.NDArray[np.float64] = rows / np.maximum(np.sqrt((rows**2).sum(1, keepdims=True)), 1e-9)
    return scaled
