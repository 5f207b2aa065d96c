"""A word as the pieces of its spelling: what is known of a word that no vocabulary holds.

In:   a word.
Out:  its pieces, runs of three to five letters with the word's edges marked, each as the number of its bucket.
Not:  the pieces' vectors, which are learned (language_model.py).
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

_SHORTEST, _LONGEST = 3, 5
_MOST_LETTERS = 40  # of a longer word, the first ones; it is an address or a mistake


@lru_cache(maxsize=1 << 16)
def pieces(word: str, buckets: int) -> tuple[int, ...]:
    """The buckets of a word's pieces, in order; at least one."""
    marked = f"<{word[:_MOST_LETTERS]}>"
    found = [
        marked[start : start + length]
        for length in range(_SHORTEST, _LONGEST + 1)
        for start in range(len(marked) - length + 1)
    ]
    return tuple([crc32(piece.encode("utf-8", "surrogatepass")) % buckets for piece in found or [marked]])
