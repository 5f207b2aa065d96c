"""A model that is a table: any distribution after any beginning. And a search that tries everything."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from polyref.model.beam import Hypothesis
from polyref.model.settings import BeamSettings
from polyref.text.subwords import BOS, EOS

FIRST = EOS + 1


@dataclass(frozen=True)
class Tables:
    """Each sentence is a seed. `levels` makes ties: log-probabilities come from so few numbers."""

    words: int
    levels: int | None = None
    sharpness: float = 2.0

    def log_probs(self, seed: int, beginning: Sequence[int]) -> Tensor:
        return _log_probs(self, seed, tuple(beginning))

    def start(self, batch: list[int]) -> list[list[tuple[int, ...]]]:
        return [[(seed,)] for seed in batch]

    def step(self, state: list[list[tuple[int, ...]]], last: Tensor) -> tuple[Tensor, list[list[tuple[int, ...]]]]:
        after = [
            [(*beginning, token) for beginning, token in zip(hypotheses, tokens, strict=True)]
            for hypotheses, tokens in zip(state, last.tolist(), strict=True)
        ]
        found = [[self.log_probs(seed, read) for seed, *read in hypotheses] for hypotheses in after]
        return torch.stack([torch.stack(row) for row in found]), after

    def reorder(self, state, sentences: Tensor | None, rows: Tensor):
        flat = [hypothesis for hypotheses in state for hypothesis in hypotheses]
        kept = len(state) if sentences is None else len(sentences)
        chosen = [flat[row] for row in rows.tolist()]
        each = len(chosen) // kept
        found = [chosen[k * each : (k + 1) * each] for k in range(kept)]
        wanted = range(kept) if sentences is None else sentences.tolist()
        assert all(row[0][0] == state[k][0][0] for k, row in zip(wanted, found, strict=True))
        return found

    def sizes(self, batch: list[int]) -> Tensor:
        return torch.tensor([seed % 4 + 1 for seed in batch])


@cache
def _log_probs(model: Tables, seed: int, beginning: tuple[int, ...]) -> Tensor:
    random = np.random.default_rng([seed, *beginning])
    size = FIRST + model.words
    numbers = random.standard_normal(size) if model.levels is None else random.integers(model.levels, size=size)
    return torch.tensor(numbers * model.sharpness, dtype=torch.float32).log_softmax(0)


def all_sentences(words: int, longest: int) -> list[tuple[int, ...]]:
    """Of up to `longest` tokens, the end among them."""
    numbers = range(FIRST, FIRST + words)
    return [row for length in range(longest) for row in itertools.product(numbers, repeat=length)]


def score_of(log_prob: float, length: int, size: int, settings: BeamSettings) -> float:
    if settings.scoring == "normalised":
        return log_prob / length**settings.power
    if settings.scoring == "rewarded":
        return log_prob + settings.reward * min(length, settings.bound * size)
    return log_prob


def judged(model: Tables, seed: int, tokens: tuple[int, ...], settings: BeamSettings) -> Hypothesis:
    """A sentence with what it is worth."""
    read, said = (BOS, *tokens), (*tokens, EOS)
    log_prob = sum(float(model.log_probs(seed, read[: k + 1])[word]) for k, word in enumerate(said))
    return Hypothesis(tokens, log_prob, score_of(log_prob, len(said), int(model.sizes([seed])[0]), settings))


def exhaustive(model: Tables, seed: int, settings: BeamSettings) -> list[Hypothesis]:
    """All sentences, best first."""
    found = [judged(model, seed, tokens, settings) for tokens in all_sentences(model.words, settings.longest)]
    return sorted(found, key=lambda one: (-one.score, one.tokens))
