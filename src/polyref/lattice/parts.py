"""What a lattice is made of, and what is read off it.

In:   nothing. Out: arcs, sentences, and what the references were aligned by. Not: the lattice (lattice.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from polyref.align import Matrix, MergeOrder
from polyref.align.veto import Exclusions


class Arc(NamedTuple):
    """A word between two states, and the gold references that say it there (counted from 0)."""

    source: int
    target: int
    word: str
    references: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the lattice. `origins` names, for each word, the gold references that say it there.

    `words` are what is compared, `surfaces` how they stand in the text.
    """

    text: str
    words: tuple[str, ...]
    surfaces: tuple[str, ...]
    bleu: float
    origins: tuple[tuple[int, ...], ...]


class Aligned(NamedTuple):
    """What the references were aligned by. Without a similarity, equal words were linked.

    The similarity is the one that alignment saw: veto and position are in it. `exclusions` tells what was vetoed.
    """

    similarity: Matrix | None
    penalty: int  # in units of 1e-4
    merge_order: MergeOrder
    exclusions: Exclusions | None = None
