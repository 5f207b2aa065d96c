"""How alike two words are, in whole numbers of 1e-4.

In:   the words of all references of an example, as numbers, and their vectors.
Out:  one square matrix over all those words.
Not:  where the vectors come from (encode/), which words get linked (pairwise.py).

Vectors come as unit vectors rounded to float16. Products of two float16 numbers no larger than 1 are whole
multiples of 2**-48, and their sums stay below 2**5 here, so a dot product in float64 is exact, in whatever order a
machine adds it up: the same words get the same similarity everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

UNIT = 10_000
Similarity = Literal["cosine", "rescaled"]
Matrix = npt.NDArray[np.int32]


def whole_units(value: float) -> int:
    """A similarity or a penalty as a whole number of 1e-4."""
    return round(value * UNIT)


def hard_similarity(words: Sequence[int]) -> Matrix:
    """1 for equal words, else 0."""
    numbers = np.asarray(words)
    return np.where(numbers[:, None] == numbers[None, :], UNIT, 0).astype(np.int32)


def soft_similarity(
    words: Sequence[int], vectors: npt.NDArray[np.float16], known: npt.NDArray[np.bool_], baseline: float
) -> Matrix:
    """The cosine of each two words' vectors, less what unrelated words have in common.

    (cos - b) / (1 - b); with a baseline b of 0 it is the plain cosine. A word without a vector is alike to itself
    and to nothing else; a vector of length 0 is alike to nothing.
    """
    exact = vectors.astype(np.float64)
    products = exact @ exact.T
    squares = products.diagonal()
    lengths = np.sqrt(squares[:, None] * squares[None, :])
    cosines: npt.NDArray[Any] = np.zeros_like(products)
    np.divide(products, lengths, out=cosines, where=lengths > 0)
    scaled = np.rint((cosines - baseline) * (UNIT / (1.0 - baseline))).astype(np.int32)
    if not known.all():
        scaled = np.where(known[:, None] & known[None, :], scaled, hard_similarity(words))
    return scaled
