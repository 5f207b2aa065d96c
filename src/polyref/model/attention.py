"""Attention: which source words a decoder looks at (Luong, Pham and Manning 2015, "general").

In:   the decoder's states, the encoder's states.
Out:  both together, as one vector for each state of the decoder.
Not:  the LSTMs (translator.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyref.model.batch import are_real


@dataclass(frozen=True, slots=True)
class Memory:
    """What can be looked at: one row a source token."""

    keys: Tensor  # sentences x source x size: the encoder's states, projected once
    values: Tensor  # sentences x source x size: the encoder's states
    padding: Tensor | None  # sentences x 1 x source: where no token is; None where there is no such place

    def select(self, sentences: Tensor) -> Memory:
        """The memory of some of the sentences."""
        padding = None if self.padding is None else self.padding[sentences]
        return Memory(self.keys[sentences], self.values[sentences], padding)


class Attention(nn.Module):
    """Scores are the products of the decoder's states with the projected states of the encoder."""

    def __init__(self, size: int):
        super().__init__()
        self.project = nn.Linear(size, size, bias=False)
        self.combine = nn.Linear(2 * size, size)

    def memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """states: sentences x source x size."""
        longest = states.shape[1]
        padding = None if int(lengths.min()) == longest else ~are_real(lengths, longest)[:, None]
        return Memory(self.project(states), states, padding)

    def look(self, queries: Tensor, memory: Memory) -> Tensor:
        """queries: sentences x steps x size -> with what they look at, sentences x steps x 2 size."""
        scores = queries @ memory.keys.transpose(1, 2)  # sentences x steps x source
        if memory.padding is not None:
            scores = scores.masked_fill(memory.padding, float("-inf"))
        context = scores.softmax(2) @ memory.values  # sentences x steps x size
        return torch.cat([queries, context], 2)

    def attended(self, looked: Tensor) -> Tensor:
        """looked: any x 2 size -> any x size. Apart from `look`, so that training leaves out padding before it."""
        return torch.tanh(self.combine(looked))
