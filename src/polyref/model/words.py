"""The words of a decoder: reading them, predicting them, and what a prediction costs.

In:   token numbers; states of a decoder.
Out:  vectors; log-probabilities; the summed negative log-likelihood.
Not:  where the states come from (translator.py, captioner.py).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyref.errors import InputError


class Words(nn.Module):
    """A table of vectors to read words by, and one to predict them by: another one, or the same where they are tied."""

    def __init__(self, words: int, size: int, states: int, *, tied: bool, spread: float = 1.0):
        """`spread` is how large the numbers are that vectors are read with at first."""
        super().__init__()
        # Words predict best with vectors of small numbers, so that a shared table is scaled where it is read.
        self.scale = spread * size**0.5 if tied else 1.0
        self.vectors = nn.Embedding(words, size)
        nn.init.normal_(self.vectors.weight, std=spread / self.scale)
        # A shared table has one name, so that weights are saved and loaded once.
        self.output = None if tied else nn.Parameter(torch.empty(words, states).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(words))

    def read(self, tokens: Tensor) -> Tensor:
        """tokens: any shape -> that shape x size."""
        found: Tensor = self.vectors(tokens)
        return found * self.scale

    def predict(self, states: Tensor) -> Tensor:
        """states: any x states -> any x words, not normalised."""
        return functional.linear(states, self.vectors.weight if self.output is None else self.output, self.bias)

    def cost(self, states: Tensor, tokens: Tensor, smoothing: float) -> Tensor:
        """states: tokens x states; tokens: those that should follow. The summed negative log-likelihood."""
        return functional.cross_entropy(self.predict(states), tokens, reduction="sum", label_smoothing=smoothing)


def check_tokens(table: nn.Embedding, tokens: Tensor, what: str) -> None:
    """Refuse a number that the table lacks, by its name.

    Once a batch, and never at the steps of a search, whose words are the model's own: a GPU must have ended all that it
    was given before it can say which number is the largest.
    """
    largest = int(tokens.max())
    if largest >= table.num_embeddings:
        raise InputError(
            f"{what} token {largest} is not among the model's {table.num_embeddings:,}",
            "give the vocabulary that the model was made for",
        )
