"""Weights and states as whole multiples of small powers of two, so that their sums are exact.

In:   weights as they were trained, and how long the rows are that they will be multiplied with.
Out:  the same weights, each row on a grid.
Not:  multiplying (context.py).

A sum of float32 products comes out the same in any order, and with any rounding on the way, if it needs no rounding:
if all its terms are multiples of one number and no part of the sum can reach 2**24 times that number. Then a word's
vector does not depend on the batch that it is computed in, on the number of threads, or on the machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

INPUT_STEP = 2.0**-11  # float16 holds all multiples of it up to 1
STATE_STEP = 2.0**-12
EXACT = 2**24


def on_grid(values: npt.NDArray[Any], step: float) -> npt.NDArray[np.float32]:
    """The nearest multiples of a step."""
    return (np.rint(values.astype(np.float64) / step) * step).astype(np.float32)


def row_steps(weights: npt.NDArray[Any], *, longest: float, largest: float, step: float) -> npt.NDArray[np.float64]:
    """The finest step for each row whose product with a vector is exact: of multiples of `step`, none above `largest`,
    in all no longer than `longest`."""
    exact = np.abs(weights.astype(np.float64))
    # Rounding may make a row a little larger.
    reach = np.minimum(exact.sum(1) * largest, np.sqrt((exact**2).sum(1)) * longest) * 1.01 + exact.shape[1] * 2.0**-12
    steps: npt.NDArray[np.float64] = np.exp2(np.ceil(np.log2(np.maximum(reach, 2.0**-20) / (step * EXACT))))
    return steps


def exact_weights(weights: npt.NDArray[Any], *, longest: float, largest: float, step: float) -> npt.NDArray[np.float16]:
    """Weights, one row an output, rounded so that products with such vectors are exact.

    Rounding to float16 on top keeps them on their grids: its own steps are powers of two as well.
    """
    steps = row_steps(weights, longest=longest, largest=largest, step=step)[:, None]
    rounded: npt.NDArray[np.float16] = (np.rint(weights.astype(np.float64) / steps) * steps).astype(np.float16)
    if not is_exact(rounded, steps[:, 0], longest=longest, largest=largest, step=step):
        # Many weights of one size may all be rounded up. Steps twice as wide leave room for that.
        rounded = (np.rint(weights.astype(np.float64) / (2 * steps)) * (2 * steps)).astype(np.float16)
        assert is_exact(rounded, 2 * steps[:, 0], longest=longest, largest=largest, step=step)
    return rounded


def is_exact(
    weights: npt.NDArray[Any], steps: npt.NDArray[np.float64], *, longest: float, largest: float, step: float
) -> bool:
    """Whether no sum can reach where rounding begins."""
    exact = np.abs(weights.astype(np.float64))
    reach = np.minimum(exact.sum(1) * largest, np.sqrt((exact**2).sum(1)) * longest)
    return bool((reach < EXACT * steps * step).all())
