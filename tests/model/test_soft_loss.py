"""Targets of several words: the sparse loss against a dense one, and nothing else where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_models import WORDS, small_captioner, small_translator
from torch.nn import functional

from polyref.model.layers import Change, Changes, Targets, Words
from polyref.text.subwords import EOS

SOURCES = [[3, 4], [5], [6, 7, 8]]
ROWS = [[3, 4, 5], [], [6, 7]]
CHANGES = [
    Change(np.array([0, 0, 0, 3, 3]), np.array([3, 7, EOS, EOS, 9]), np.float32([-0.5, 0.2, 0.3, -0.25, 0.25])),
    None,
    Change(np.array([1, 1]), np.array([7, 4]), np.float32([-1.0, 1.0])),
]


def dense(rows: list[list[int]], changes: list[Change | None]) -> torch.Tensor:
    """The whole distribution of each target token: target tokens x words."""
    found = []
    for row, change in zip(rows, changes, strict=True):
        table = functional.one_hot(torch.tensor([*row, EOS]), WORDS).float()
        for step, token, amount in zip(*change, strict=True) if change else ():
            table[step, token] += amount
        found.append(table)
    return torch.cat(found)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("training", [True, False])
def test_the_loss_and_its_gradients_are_those_of_dense_targets(smoothing: float, training: bool):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        words = Words(WORDS, 6, 6, tied=False).train(training).double()
        states = torch.randn(8, 6, dtype=torch.double, requires_grad=True)
    targets = Targets.of(ROWS, CHANGES)
    assert targets is not None
    loss, tokens = words.cost(states, targets, smoothing)
    expected = functional.cross_entropy(
        words.predict(states),
        dense(ROWS, CHANGES).double(),
        reduction="sum",
        label_smoothing=smoothing if training else 0.0,
    )
    assert tokens == 8
    assert loss.item() == pytest.approx(expected.item())
    weights = [states, *[weight for weight in words.parameters() if weight is not words.vectors.weight]]
    for sparse, full in zip(torch.autograd.grad(loss, weights), torch.autograd.grad(expected, weights), strict=True):
        torch.testing.assert_close(sparse, full)


def test_dense_targets_of_this_test_are_distributions():
    table = dense(ROWS, CHANGES)
    assert table.min() >= 0
    assert table.sum(1).tolist() == pytest.approx([1] * 8)


@pytest.mark.parametrize("kind", ["translator", "captioner"])
@pytest.mark.parametrize("changes", [None, [None] * 3, [Change(*np.zeros((3, 0), np.int64))] * 3])
def test_without_changes_the_loss_is_the_same_to_the_bit(kind: str, changes: Any):
    model = small_translator() if kind == "translator" else small_captioner()
    sources = SOURCES if kind == "translator" else np.random.default_rng(0).normal(size=(3, 7))
    model.train()
    plain, _ = model.loss(model.batch(sources, ROWS))
    found, _ = model.loss(model.batch(sources, ROWS, changes))
    assert plain.item() == found.item()
    states = [torch.autograd.grad(loss, model.words.bias)[0] for loss in (plain, found)]
    assert torch.equal(*states)


@pytest.mark.parametrize("kind", ["translator", "captioner"])
def test_both_models_take_changes(kind: str):
    model = small_translator() if kind == "translator" else small_captioner()
    sources = SOURCES if kind == "translator" else np.random.default_rng(0).normal(size=(3, 7))
    plain, _ = model.loss(model.batch(sources, ROWS))
    found, tokens = model.loss(model.batch(sources, ROWS, CHANGES))
    assert tokens == 8
    assert plain.item() != found.item()
    # One at a time: places are counted from each sentence's first token.
    alone = [model.loss(model.batch([sources[n]], [ROWS[n]], [CHANGES[n]]))[0].item() for n in range(3)]
    assert found.item() == pytest.approx(sum(alone), rel=1e-5)


def test_changes_go_to_the_device_with_their_batch():
    changes = Changes.of(CHANGES, torch.tensor([4, 1, 3]))
    assert changes is not None
    assert changes.places.tolist() == [0, 0, 0, 3, 3, 6, 6]
    assert changes.tokens.tolist() == [3, 7, EOS, EOS, 9, 7, 4]
