"""What flows between the rooms: an example, with its references inside it.

In:   nothing; these are plain values.
Out:  Example, Reference, PseudoReference, LatticeSummary, KeptLattice.
Not:  reading or writing them (data/), making pseudo-references (expansion.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

JUDGEMENTS = ("fluency", "content", "crossings", "risk")  # what a pseudo-reference may have besides its BLEU, in order


@dataclass(frozen=True, slots=True)
class Reference:
    """A gold reference: written by a person."""

    text: str
    weight: float = 1.0


class PseudoReference(NamedTuple):  # a tuple takes a sixth of the time to make, and there are dozens per example
    """A reference read off the lattice; `bleu` is its score against the gold ones, 0 to 100.

    `repeat` marks a reference that is said again only to reach the number that was asked for. The others are
    judgements, None where they were not made. `fluency`: the mean log-probability of its words, each given its
    neighbours, at most 0. `content`: the share of what most gold references say that it says, 0 to 1. `crossings`: how
    often it changes from one gold reference to another, at least. `risk`: how risky these places are; 0 is what gold
    has.
    """

    text: str
    bleu: float
    repeat: bool = False
    fluency: float | None = None
    content: float | None = None
    crossings: int | None = None
    risk: float | None = None


@dataclass(frozen=True, slots=True)
class KeptLattice:
    """All that is needed to build a lattice again, without aligning or encoding again.

    For each gold reference, the states behind its words; how texts became words; and the rules of content, if sentences
    had to keep any: each is the least and the most (-1 for no limit) that may be said of some words, by their numbers.
    """

    states: tuple[tuple[int, ...], ...]
    tokenizer: str
    fold_case: bool
    rules: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class LatticeSummary:
    """What is kept of the lattice that the pseudo-references came from.

    `penalty` is None for hard alignment, which does not depend on it. `exact` is False where the search
    ran out of its node budget, so that better sentences may exist. `kept` is the lattice itself, if it was asked for.
    """

    sentences: int
    penalty: float | None
    exact: bool
    kept: KeptLattice | None = None

    @property
    def log10_sentences(self) -> float:
        # math.log10 takes integers of any size.
        return round(math.log10(self.sentences), 2)


@dataclass(frozen=True, slots=True)
class Example:
    """One source with its references.

    `record` is the JSON text that the example was read from: whatever else stands in it is passed through
    untouched. `as_read` is what the record says of id, source and references, so that a change can be told. `line` is
    where it stood, for messages.
    """

    id: str
    source: Any
    references: tuple[Reference, ...]
    pseudo_references: tuple[PseudoReference, ...] = ()
    lattice: LatticeSummary | None = None
    record: str | None = field(default=None, repr=False, compare=False)
    line: int | None = field(default=None, repr=False, compare=False)
    as_read: tuple[str, Any, tuple[Reference, ...]] | None = field(default=None, repr=False, compare=False)

    def limited(self, limit: int) -> Example:
        """The same with at most `limit` references: all gold ones, then pseudo-references by rank."""
        room = max(0, limit - len(self.references))
        return replace(self, pseudo_references=self.pseudo_references[:room])
