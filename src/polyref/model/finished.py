"""Hypotheses that have ended: the best few of each sentence.

In:   hypotheses, in any order. Out: the best, and how good one must be to count. Not: finding them (beam.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What a model says, without begin and end; `log_prob` has that of the end in it."""

    tokens: tuple[int, ...]
    log_prob: float
    score: float


class Finished:
    """`bar` is the score of the last hypothesis kept of each sentence, once there are as many as wanted."""

    def __init__(self, sentences: int, most: int, device: torch.device | None = None):
        self._most = most
        self._kept: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.bar = torch.full((sentences,), -torch.inf, dtype=torch.float64, device=device)

    def keep(self, sentence: int, hypothesis: Hypothesis) -> None:
        kept = self._kept[sentence]
        kept.append(hypothesis)
        kept.sort(key=lambda one: (-one.score, one.tokens))
        del kept[self._most :]
        if len(kept) == self._most:
            self.bar[sentence] = kept[-1].score

    def best(self) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first."""
        return self._kept
