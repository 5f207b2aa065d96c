"""Numbers that look random and are a function of what they are asked for.

In:   a key, and whole numbers.
Out:  64-bit numbers, the same on every machine.
Not:  orders (permutation.py), drawing references (drawing.py).
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)


def key_of(*parts: int | str) -> int:
    """One 64-bit key for a seed, an epoch and what the numbers are for."""
    text = "\0".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def hashes(key: int, *columns: Numbers) -> Hashes:
    """A hash for each row of some columns of whole numbers."""
    state = np.full(columns[0].shape, key, np.uint64)
    for column in columns:
        state = mix(state ^ (column.astype(np.uint64) * _STEP))
    return state


def mix(state: Hashes) -> Hashes:
    """Stir 64 bits so that each depends on all of them; different numbers stay different."""
    state = state + _STEP
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return state


def below(hashed: Hashes, sizes: Numbers) -> Numbers:
    """For each hash a number from 0 to its size, that not included; each as likely as the others to one in 2^32."""
    return ((hashed >> np.uint64(32)) * sizes.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def fractions(hashed: Hashes) -> npt.NDArray[np.float64]:
    """For each hash a number from 0 to 1, that not included."""
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53
