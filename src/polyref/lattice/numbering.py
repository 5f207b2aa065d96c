"""Number the words of an example's references.

In:   tokenised references. Out: the same as numbers, each distinct reference once. Not: cutting texts (text/).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polyref.text import Tokens


class Numbering(NamedTuple):
    """The references with each distinct word as a number, and each distinct reference once."""

    vocabulary: list[str]
    references: list[tuple[int, ...]]
    same: list[int]  # for each gold reference, which of the distinct ones it is


def number_words(tokens: Sequence[Tokens]) -> Numbering:
    """Words are numbered in the order in which they are read."""
    numbers: dict[str, int] = {}
    distinct: dict[tuple[int, ...], int] = {}
    same = []
    for reference in tokens:
        numbered = tuple([numbers.setdefault(word, len(numbers)) for word in reference.words])
        same.append(distinct.setdefault(numbered, len(distinct)))
    return Numbering(list(numbers), list(distinct), same)
