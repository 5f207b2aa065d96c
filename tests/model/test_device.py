"""A search and a loss take place on the device of their batch: nothing is made anywhere else.

Here is one device only. So everything that does not say where it belongs is made on one that holds no numbers.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from polyref.errors import SettingsError
from polyref.fit.processes import check_precision, device_named
from polyref.model.beam import search
from polyref.model.captioner import CaptionBatch, Captioner
from polyref.model.layers import Targets, on_device
from polyref.model.settings import BeamSettings, CaptionerSettings, Scoring, TranslatorSettings
from polyref.model.translator import TranslationBatch, Translator

TARGETS = [[5, 6, 7, 8], [9, 4]]


def translating(*, input_feeding: bool) -> tuple[Translator, TranslationBatch]:
    settings = TranslatorSettings(embedding_size=4, state_size=6, layers=2, dropout=0.0, input_feeding=input_feeding)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = Translator(settings, source_words=9, target_words=12)
    return model, TranslationBatch.of([[4, 5, 6], [7]], TARGETS)


def captioning() -> tuple[Captioner, CaptionBatch]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = Captioner(
            CaptionerSettings(feature_size=3, embedding_size=4, state_size=6, dropout=0.0), target_words=12
        )
    return model, CaptionBatch.of(np.array([[1, 2, 3], [3, 1, 0]], np.float32), TARGETS)


MODELS: dict[str, Callable[[], tuple[Translator, TranslationBatch] | tuple[Captioner, CaptionBatch]]] = {
    "translator": lambda: translating(input_feeding=False),
    "translator with input feeding": lambda: translating(input_feeding=True),
    "captioner": captioning,
}
EACH_MODEL = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@EACH_MODEL
@pytest.mark.parametrize("scoring", ["plain", "rewarded", "normalised"])
def test_a_search_makes_nothing_on_another_device(make, scoring: Scoring):
    model, batch = make()
    settings = BeamSettings(beam=4, best=3, scoring=scoring, longest=9)
    expected = search(model, batch, settings)
    with torch.device("meta"):
        assert search(model, batch, settings) == expected


@EACH_MODEL
def test_a_loss_makes_nothing_on_another_device(make):
    model, batch = make()
    expected, tokens = model.loss(batch)
    with torch.device("meta"):
        loss, count = model.loss(batch)
        loss.backward()
    assert (loss.item(), count) == (expected.item(), tokens)


@EACH_MODEL
def test_a_batch_moves_with_all_that_it_holds(make):
    _, batch = make()
    moved = on_device(batch, torch.device("meta"))
    assert moved.targets.inputs.is_meta
    assert moved.targets.outputs.is_meta
    assert moved.targets.lengths.is_meta
    assert all(
        getattr(moved, name).is_meta for name in ("source", "source_lengths", "features") if hasattr(moved, name)
    )


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_named("auto") == device_named("cpu") == torch.device("cpu")
    with pytest.raises(SettingsError, match='the device is "cuda", but torch finds none; set it to auto or cpu'):
        device_named("cuda")
    with pytest.raises(SettingsError, match='unknown device "gpu"; choose one of auto, cpu, cuda'):
        device_named("gpu")


def test_the_gpu_of_a_process_is_that_of_its_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_named("auto") == torch.device("cuda", 0)
    assert device_named("cuda", 3) == torch.device("cuda", 3)
    assert device_named("cpu", 3) == torch.device("cpu")


@pytest.mark.parametrize(("made_for_it", "emulated"), [(True, True), (False, True), (False, False)])
def test_bfloat16_is_for_gpus_that_are_made_for_it(monkeypatch: pytest.MonkeyPatch, made_for_it, emulated):
    monkeypatch.setattr(
        torch.cuda,
        "is_bf16_supported",
        lambda including_emulation=True: made_for_it or (including_emulation and emulated),
    )
    check_precision("float32", torch.device("cuda", 0))
    if made_for_it:
        check_precision("bfloat16", torch.device("cuda", 0))
    else:
        with pytest.raises(SettingsError, match="not for this cuda; use float32"):
            check_precision("bfloat16", torch.device("cuda", 0))
    with pytest.raises(SettingsError, match="not for this cpu; use float32"):
        check_precision("bfloat16", torch.device("cpu"))


class Waiting(TorchDispatchMode):
    """Counts how often a number is asked for: a GPU has to end all it has to do before it can say one."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.times += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


@EACH_MODEL
def test_a_step_of_a_decoder_waits_for_nothing(make):
    model, batch = make()
    with torch.no_grad():
        state = model.start(batch)
        with Waiting() as waiting:
            model.step(state, torch.tensor([[5], [6]]))
    assert waiting.times == 0


@EACH_MODEL
def test_a_loss_waits_as_often_for_long_targets_as_for_short_ones(make):
    model, batch = make()
    times = []
    for targets in (Targets.of(TARGETS), Targets.of([[5] * 30, [6] * 7])):
        with Waiting() as waiting:
            model.loss(replace(batch, targets=targets))
        times.append(waiting.times)
    assert times[0] == times[1]
