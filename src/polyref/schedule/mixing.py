"""Chance without state: numbers that look random, and orders, as functions of a key.

In:   a key, and whole numbers.
Out:  64-bit numbers, and the thing that stands at each place of an order; the same on every machine.
Not:  what is drawn or ordered (sizes.py, schedules.py).

Few things are ordered by sorting a hash, which makes every order as likely as any other. For many, a cipher on their
numbers replaces the list: a Feistel network over the next power of two, applied again until the number is in range.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
SORTED_UP_TO = 1 << 20  # 8 MB per list
_ROUNDS = 8  # an even number, so that both halves end where they began


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
    """For each hash a number from 0 to its size (not included), all equally likely to one in 2^32."""
    return ((hashed >> np.uint64(32)) * sizes.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def fractions(hashed: Hashes) -> npt.NDArray[np.float64]:
    """For each hash a number from 0 to 1 (not included)."""
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53


# -- orders -----------------------------------------------------------------------------------------------------------


def permute(places: Numbers, size: int, key: int) -> Numbers:
    """What stands at these places (each from 0 to size - 1) of the order that the key names."""
    if size <= SORTED_UP_TO:
        return _sorted(size, key)[places]
    return encipher(places, size, key)


@lru_cache(maxsize=4)
def _sorted(size: int, key: int) -> Numbers:
    order: Numbers = np.argsort(hashes(key, np.arange(size, dtype=np.int64)), kind="stable")
    order.setflags(write=False)  # it is shared
    return order


def encipher(places: Numbers, size: int, key: int) -> Numbers:
    """The same by a cipher, for any size."""
    keys = [np.uint64(key_of(key, number)) for number in range(_ROUNDS)]
    bits = max(2, (size - 1).bit_length())
    found = _feistel(places.astype(np.uint64), bits, keys)
    # The power of two is less than twice the size, so that half of what lies outside comes in with each turn.
    outside = np.flatnonzero(found >= size)
    while outside.size:
        again = _feistel(found[outside], bits, keys)
        found[outside] = again
        outside = outside[again >= size]
    return found.astype(np.int64)


def _feistel(numbers: Hashes, bits: int, keys: list[np.uint64]) -> Hashes:
    width, other = bits // 2, bits - bits // 2
    left, right = numbers >> np.uint64(other), numbers & np.uint64((1 << other) - 1)
    for key in keys:
        left, right = right, left ^ (mix(right ^ key) & np.uint64((1 << width) - 1))
        width, other = other, width
    return left << np.uint64(other) | right
