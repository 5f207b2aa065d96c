"""Number the words of an example's references.

In:   tokenised references. Out: the same as numbers, each distinct reference once. Not: cutting texts (text/).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.text import Tokens
from polyref.text.tokens import is_mark


class Numbering(NamedTuple):
    """The references with each distinct word as a number, and each distinct reference once."""

    vocabulary: list[str]
    references: list[tuple[int, ...]]
    same: list[int]  # for each gold reference, which of the distinct ones it is

    def marks(self, *, none: bool = False) -> npt.NDArray[np.bool_]:
        """For each word, whether it is punctuation; `none`: no word counts as that."""
        if none:
            return np.zeros(len(self.vocabulary), np.bool_)
        # From a bytearray, because the kernels take only arrays that could be written to.
        return np.frombuffer(bytearray(map(is_mark, self.vocabulary)), np.bool_)


def number_words(tokens: Sequence[Tokens]) -> Numbering:
    """Words are numbered in the order in which they are read."""
    numbers: dict[str, int] = {}
    distinct: dict[tuple[int, ...], int] = {}
    same = []
    for reference in tokens:
        numbered = tuple([numbers.setdefault(word, len(numbers)) for word in reference.words])
        same.append(distinct.setdefault(numbered, len(distinct)))
    return Numbering(list(numbers), list(distinct), same)
