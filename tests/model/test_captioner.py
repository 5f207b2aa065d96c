"""The captioner: meaning, not shapes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import WORDS, small_captioner

from polyref.features.features import Features
from polyref.model.captioner import CaptionBatch, Captioner
from polyref.text.subwords import BOS, EOS

rows = st.lists(st.integers(3, WORDS - 1), max_size=6)
IMAGES = np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32)


def loss_of(model: Captioner, images: np.ndarray, captions: list[list[int]]) -> tuple[float, int]:
    with torch.no_grad():
        loss, tokens = model.loss(CaptionBatch.of(images, captions))
    return float(loss), tokens


@pytest.fixture(scope="module", params=[{}, {"tied": True}, {"layers": 2}], ids=str)
def model(request: pytest.FixtureRequest) -> Captioner:
    return small_captioner(**request.param)


@given(st.lists(rows, min_size=1, max_size=5))
@settings(max_examples=10)
def test_a_caption_costs_the_same_alone_and_beside_longer_ones(model: Captioner, captions):
    images = IMAGES[: len(captions)]
    together, tokens = loss_of(model, images, captions)
    alone = [loss_of(model, images[k : k + 1], [caption]) for k, caption in enumerate(captions)]
    assert tokens == sum(count for _, count in alone) == sum(len(caption) + 1 for caption in captions)
    assert together == pytest.approx(sum(loss for loss, _ in alone), rel=1e-5)


@given(rows)
@settings(max_examples=10)
def test_the_loss_is_the_sum_of_what_single_steps_say(model: Captioner, caption):
    with torch.inference_mode():
        state = model.start(CaptionBatch.of(IMAGES[:1]))
        total = 0.0
        for last, word in zip([BOS, *caption], [*caption, EOS], strict=True):
            log_probs, state = model.step(state, torch.tensor([[last]]))
            total -= float(log_probs[0, 0, word])
    assert total == pytest.approx(loss_of(model, IMAGES[:1], [caption])[0], rel=1e-4)


def test_what_is_said_depends_on_the_image(model: Captioner):
    losses = [loss_of(model, IMAGES[k : k + 1], [[3, 4, 5]])[0] for k in range(5)]
    assert len({round(loss, 3) for loss in losses}) == 5


def test_features_are_read_in_units_of_their_deviation():
    model, other = small_captioner(), small_captioner()
    mean, deviation = np.arange(7, dtype=np.float32), np.linspace(1, 3, 7, dtype=np.float32)
    other.standardise(mean, deviation)
    raw = IMAGES * deviation + mean
    expected, _ = loss_of(model, IMAGES, [[3, 4]] * 5)
    found, _ = loss_of(other, raw, [[3, 4]] * 5)
    assert found == pytest.approx(expected, rel=1e-4)


def test_the_largest_features_that_are_let_in_give_finite_losses_and_gradients():
    ids = list("abcde")
    features = Features(ids, np.where(IMAGES > 0, 1e12, -1e12))
    features.check(ids)
    model = small_captioner()
    for standardise in (False, True):
        if standardise:
            model.standardise(*features.standardisation(ids))
        loss, _ = model.loss(CaptionBatch.of(features.rows(ids), [[5, 6]] * 5))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        assert torch.isfinite(loss.detach())
        assert torch.isfinite(norm)


def test_the_standardisation_is_kept_with_the_weights_and_not_trained():
    model, other = small_captioner(), small_captioner(seed=5)
    model.standardise(np.full(7, 2, np.float32), np.full(7, 3, np.float32))
    assert {name for name, _ in model.named_parameters()} == set(model.state_dict())
    other.load_state_dict(model.state_dict())
    assert other.mean.tolist() == [2] * 7
    assert other.deviation.tolist() == [3] * 7
    assert not model.mean.requires_grad
    assert not model.deviation.requires_grad


def test_all_other_weights_learn(model: Captioner):
    loss, _ = model.loss(CaptionBatch.of(IMAGES[:2], [[3, 4, 5], [6]]))
    model.zero_grad()
    loss.backward()
    for name, weight in model.named_parameters():
        assert name in ("mean", "deviation") or float(weight.grad.abs().max()) > 0, name
