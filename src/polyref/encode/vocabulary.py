"""The words that a language model knows.

In:   counts of words in its training text, and the words of a table of vectors.
Out:  a numbering: first the words that it can predict, most frequent first, then those that it can only read.
Not:  words outside it (spelling.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Vocabulary:
    """`words`, of which the first `predicted` can be predicted; all can be read."""

    words: tuple[str, ...]
    predicted: int

    @staticmethod
    def from_counts(counts: Mapping[str, int], cutoff: int, readable: Iterable[str] = (), most: int = 0) -> Vocabulary:
        """Words that occur `cutoff` times or more, and behind them others that can be read, up to `most` in all."""
        frequent = sorted((word for word in counts if counts[word] >= cutoff), key=lambda word: (-counts[word], word))
        words = tuple(dict.fromkeys([*frequent, *readable]))
        return Vocabulary(words[: max(most, len(frequent))], len(frequent))

    @cached_property
    def row(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def find(self, word: str) -> int:
        """The number of a word, as it is or in lower case; -1 if it has none."""
        found = self.row.get(word)
        return self.row.get(word.lower(), -1) if found is None else found

    @cached_property
    def hash(self) -> str:
        return words_hash(self.words)


def words_hash(words: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]
