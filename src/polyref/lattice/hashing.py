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
_MOST_KNOWN = 1 << 16


def word_hash(word: str, seed: int) -> bytes:
    """The hash of one word: eight bytes, the lowest first."""
    key = seed.to_bytes(16, "little", signed=True)
    return hashlib.blake2b(word.encode("utf-8"), digest_size=8, key=key).digest()


class _Known(dict[str, bytes]):
    """The hashes of words with one seed, each made when it is first asked for; forgotten when they are many."""

    def __init__(self, seed: int):
        super().__init__()
        self._seed = seed

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[word] = hashed = word_hash(word, self._seed)
        return hashed


_known = lru_cache(maxsize=4)(_Known)


def word_hashes(words: Iterable[str], seed: int) -> npt.NDArray[np.uint64]:
    """The hashes of many words, as numbers."""
    # From a bytearray, because the kernels take only arrays that could be written to.
    return np.frombuffer(bytearray().join(map(_known(seed).__getitem__, words)), "<u8")


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
