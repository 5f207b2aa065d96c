"""An order of many things without a list of them.

In:   places, how many things there are, and a key.
Out:  the thing that stands at each place; each stands at one.
Not:  what the things are (schedules.py).

Few things are sorted by a hash, which makes every order as likely as any other. For many, a cipher on their numbers
takes the list's place: a Feistel network over the next power of two, applied again until the number is one of theirs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from polyref.schedule.mixing import Hashes, Numbers, hashes, key_of, mix

SORTED_UP_TO = 1 << 20  # 8 MB a list
_ROUNDS = 8  # an even number, so that both halves end where they began


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
