"""Where a word stands in its reference: what tells apart words that are written alike and mean the same.

In:   the lengths of references, and how much the place counts.
Out:  for each word a place; the places of two words differ by what their similarity loses.
Not:  the similarity itself (similarity.py). The compiled twin is in kernels.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def places(length: int, weight: int) -> list[int]:
    """The places of a reference's words: 0 for the first one, the weight for the last, and evenly between.

    Word u of m stands at weight * u / (m - 1), to the nearest whole unit, a half upwards; a word that is alone
    stands in the middle. Whole numbers, so that every machine and both engines find the same.
    """
    steps = length - 1
    if not steps:
        return [weight // 2]
    return [(2 * weight * u + steps) // (2 * steps) for u in range(length)]


def distances(lengths: Sequence[int], weight: int) -> npt.NDArray[np.int32]:
    """For each two words of all references, in units of 1e-4, how far apart they stand; `weight` at most."""
    place = np.array([place for length in lengths for place in places(length, weight)], np.int32)
    apart: npt.NDArray[np.int32] = np.abs(place[:, None] - place[None, :])
    return apart
