"""Seeded hashes that are the same on every machine: how ties are broken.

In:   words as texts, and a seed.
Out:  64-bit numbers.
Not:  what is tied (search.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1
_EMPTY = 0x243F6A8885A308D3


@lru_cache(maxsize=1 << 16)
def word_hash(word: str, seed: int) -> bytes:
    """The hash of one word: eight bytes, the lowest first."""
    key = seed.to_bytes(16, "little", signed=True)
    return hashlib.blake2b(word.encode("utf-8"), digest_size=8, key=key).digest()


def word_hashes(words: Iterable[str], seed: int) -> npt.NDArray[np.uint64]:
    """The hashes of many words, as numbers."""
    # From a bytearray, because the kernels take only arrays that could be written to.
    return np.frombuffer(bytearray().join([word_hash(word, seed) for word in words]), "<u8")


def mix(state: int, value: int) -> int:
    """Stir a value into a hash."""
    state = ((state ^ value) * 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 32)) * 0xBF58476D1CE4E5B9) & _MASK
    return state ^ (state >> 29)


def sentence_hash(sentence: Iterable[int], hashes: Sequence[int]) -> int:
    """The hash of a sentence, word by word; `hashes` are those of the numbered words."""
    state = _EMPTY
    for word in sentence:
        state = mix(state, hashes[word])
    return state
