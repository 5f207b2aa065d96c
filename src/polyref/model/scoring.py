"""What a hypothesis is worth: its log-probability, with or without something for its length.

In:   log-probabilities and lengths. Out: scores, and what a score can still become. Not: the search (beam.py).
"""

from __future__ import annotations

from torch import Tensor

from polyref.model.settings import BeamSettings


class Scores:
    """`sizes` of the sources say where the length reward of each sentence is bounded."""

    def __init__(self, settings: BeamSettings, sizes: Tensor):
        self._settings = settings
        self._bounds = settings.bound * sizes.double()  # sentences

    def of(self, log_probs: Tensor, sentences: Tensor, length: int) -> Tensor:
        """log_probs: sentences x hypotheses of one length, the end counted -> their scores."""
        settings = self._settings
        if settings.scoring == "normalised":
            return log_probs / float(length**settings.power)
        if settings.scoring == "rewarded":
            return log_probs + settings.reward * self._bounds[sentences].clamp(max=length)[:, None]
        return log_probs

    def at_most(self, log_probs: Tensor, sentences: Tensor) -> Tensor:
        """The best score that hypotheses can have however they go on: the log-probability only falls, so they never do
        better than with the longest length at no cost (Huang, Zhao and Ma 2017)."""
        return self.of(log_probs, sentences, self._settings.longest)
