"""An exponential average of a model's weights: single checkpoints jump by more than a BLEU point on small sets.

In:   a model after each of its updates.
Out:  the average; for a while, a model that has the average for its weights.
Not:  when to use it (loop.py), writing it down (checkpoint.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class Average:
    """`weights` by name. A `keep` of None keeps no average: the model's own weights are used throughout."""

    def __init__(self, model: torch.nn.Module, keep: float | None):
        self.keep = keep
        self.weights: dict[str, Tensor] = {}
        if keep is not None:
            self.weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    @torch.no_grad()
    def add(self, model: torch.nn.Module, updates: int) -> None:
        """Take in the weights after update number `updates`.

        The first weights are not worth keeping for long, so the average begins short and grows to its length.
        """
        if self.keep is None:
            return
        keep = min(self.keep, (1 + updates) / (10 + updates))
        for name, weight in model.named_parameters():
            self.weights[name].lerp_(weight, 1 - keep)

    @contextmanager
    def applied(self, model: torch.nn.Module) -> Iterator[None]:
        """Within, the model has the average for its weights."""
        if self.keep is None:
            yield
            return
        own = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        try:
            _give(model, self.weights)
            yield
        finally:
            _give(model, own)


@torch.no_grad()
def _give(model: torch.nn.Module, weights: dict[str, Tensor]) -> None:
    for name, weight in model.named_parameters():
        weight.copy_(weights[name])
