"""Recurrences in the presence of autocast, which lowers the precision of matrix products for speed.

On a GPU, cuDNN's LSTMs become float16 under it, whatever type is asked for. There is none here, so that it is acted.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from small_models import small_captioner, small_translator

from polyref.model import layers
from polyref.model.captioner import CaptionBatch
from polyref.model.translator import TranslationBatch

TARGETS = [[5, 6, 7, 8], [9, 4]]
TRANSLATIONS = TranslationBatch.of([[4, 5, 6], [7]], TARGETS)
CAPTIONS = CaptionBatch.of(np.random.default_rng(0).standard_normal((2, 7)).astype(np.float32), TARGETS)
MODELS: dict[str, Callable[[], tuple]] = {
    "translator": lambda: (small_translator(), TRANSLATIONS),
    "translator with input feeding": lambda: (small_translator(input_feeding=True), TRANSLATIONS),
    "captioner": lambda: (small_captioner(layers=2), CAPTIONS),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def modelled(request: pytest.FixtureRequest) -> tuple:
    return request.param()


@pytest.fixture(autouse=True)
def plain_kernels() -> Iterator[None]:
    """Some processors claim kernels for bfloat16 that they die of."""
    before, *_ = torch.backends.mkldnn.set_flags(_enabled=False)
    yield
    torch.backends.mkldnn.set_flags(_enabled=before)


@pytest.fixture(autouse=True)
def acted_cudnn(monkeypatch: pytest.MonkeyPatch) -> set[torch.dtype]:
    """The types that have come out of recurrences."""
    forward, cell, types = torch.nn.LSTM.forward, torch.lstm_cell, set()

    def half(values):
        if isinstance(values, torch.Tensor):
            found = values.half() if torch.is_autocast_enabled("cpu") and values.is_floating_point() else values
            types.add(found.dtype)
            return found
        if isinstance(values, torch.nn.utils.rnn.PackedSequence):
            return values._replace(data=half(values.data))
        return tuple(map(half, values))

    monkeypatch.setattr(torch.nn.LSTM, "forward", lambda lstm, *given: half(forward(lstm, *given)))
    monkeypatch.setattr(torch, "lstm_cell", lambda *given: half(cell(*given)))
    return types


def test_under_autocast_the_loss_is_finite_and_close_and_its_gradients_are_whole(modelled, acted_cudnn):
    model, batch = modelled
    expected = float(model.loss(batch)[0].detach())
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = model.loss(batch)
    loss.backward()
    assert acted_cudnn == {torch.float32}
    assert loss.dtype == torch.float32
    assert float(loss.detach()) == pytest.approx(expected, rel=0.02)
    assert float(loss.detach()) != expected  # something did get less precise
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            assert weight.grad.dtype == torch.float32, name
            assert weight.grad.isfinite().all(), name


def test_under_autocast_a_search_takes_its_steps_in_whole_precision(modelled):
    model, batch = modelled
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        state = model.start(batch)
        log_probs, after = model.step(state, torch.tensor([[3], [4]]))
    state = getattr(after, "state", after)
    assert (state.hidden.dtype, state.cells.dtype) == (torch.float32, torch.float32)
    assert log_probs.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_recurrences_compute_in_the_type_of_their_weights_whatever_they_are_given(dtype):
    lstm = layers.Lstm(3, 4, 2, 0.0).to(dtype)
    inputs = torch.ones(2, 5, 3, dtype=torch.bfloat16)
    start = layers.LstmState(torch.zeros(2, 2, 4).bfloat16(), torch.zeros(2, 2, 4))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        packed, last = lstm.run_packed(inputs, torch.tensor([5, 2]))
        forward = lstm.run_forward(inputs, start)
        after = lstm.step(inputs[:, 0], start)
    assert {found.dtype for found in (packed, last.hidden, last.cells, forward, after.hidden, after.cells)} == {dtype}
    assert torch.allclose(forward[:, 0], after.hidden[-1], atol=1e-6)
