"""Count what happens during a run: what its closing summary says.

In:   one call an example, and the time that each stage took.
Out:  a summary for a person or a machine.
Not:  printing it (cli/).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from polyref.example import Example, PseudoReference


@dataclass(slots=True)
class Tally:
    """Sums over examples. Two tallies can be added, so that workers can keep their own."""

    examples: int = 0
    gold: int = 0
    pseudo: int = 0
    repeats: int = 0
    short: int = 0
    inexact: int = 0
    left_out: int = 0  # sentences that were not fluent enough
    bleu: float = 0.0
    largest: int = 0
    sentences: array[float] = field(default_factory=lambda: array("d"))
    seconds: dict[str, float] = field(default_factory=dict)

    def count(
        self, example: Example, pseudo: Sequence[PseudoReference], *, sentences: int, exact: bool, short: bool
    ) -> None:
        self.examples += 1
        self.gold += len(example.references)
        new = [reference.bleu for reference in pseudo if not reference.repeat]
        self.pseudo += len(new)
        self.repeats += len(pseudo) - len(new)
        self.short += short
        self.inexact += not exact
        self.bleu += sum(new)
        self.largest = max(self.largest, sentences)
        self.sentences.append(float(sentences) if sentences < 10**308 else math.inf)

    def spend(self, stage: str, started: float) -> None:
        """Book the time since `started` to a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - started

    def add(self, other: Tally) -> None:
        self.examples += other.examples
        self.gold += other.gold
        self.pseudo += other.pseudo
        self.repeats += other.repeats
        self.short += other.short
        self.inexact += other.inexact
        self.left_out += other.left_out
        self.bleu += other.bleu
        self.largest = max(self.largest, other.largest)
        self.sentences.extend(other.sentences)
        for stage, seconds in other.seconds.items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def summary(self) -> dict[str, Any]:
        """One object of plain values; whole numbers that may be large are texts."""
        middle = median(self.sentences) if self.sentences else 0.0
        return {
            "examples": self.examples,
            "references_before": self.gold,
            "references_after": self.gold + self.pseudo + self.repeats,
            "fell_short": self.short,
            "not_exact": self.inexact,
            "not_fluent": self.left_out,
            "sentences_median": _shown(middle),
            "sentences_largest": f"{self.largest}" if self.largest < 10**4000 else _shown(math.inf),
            "mean_bleu_kept": round(self.bleu / self.pseudo, 2) if self.pseudo else None,
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
        }


def _shown(number: float) -> str:
    if math.isinf(number):
        return "over 1e308"
    if number >= 2**53:  # more digits than a float holds
        return f"{number:.2e}"
    return f"{int(number)}" if number == int(number) else f"{number}"
