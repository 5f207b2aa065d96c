"""The models learn: made-up tasks that only a model without faults can do, on what training has not seen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from polyref.features.features import Features
from polyref.fit import Decay, FitSettings
from polyref.fit.loop import fit
from polyref.model.beam import search
from polyref.model.captioner import CaptionBatch, Captioner
from polyref.model.settings import BeamSettings, CaptionerSettings, TranslatorSettings
from polyref.model.translator import TranslationBatch, Translator

DIGITS = range(3, 13)
LONGEST = 6
BATCHES, AT_ONCE = 60, 64
FIT = FitSettings(epochs=4, learning_rate=0.005, decay=Decay(factor=0.5, gain=0.9, stop_after=9))


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def mean_loss(model: Translator | Captioner, batch) -> float:
    loss, tokens = model.loss(batch)
    return float(loss) / tokens


def strings(random: np.random.Generator, count: int) -> list[tuple[int, ...]]:
    lengths = random.integers(1, LONGEST + 1, count)
    return [tuple(random.integers(DIGITS.start, DIGITS.stop, length).tolist()) for length in lengths]


def test_a_translator_learns_to_reverse_digits(tmp_path: Path):
    # Those of one or two digits are too few to keep any of them away from training.
    unseen = list(dict.fromkeys(one for one in strings(np.random.default_rng(0), 400) if len(one) > 2))
    held_out = set(unseen)

    def batches(epoch: int, start: int) -> Iterator[TranslationBatch]:
        for number in range(start, BATCHES):
            drawn = strings(np.random.default_rng([1, epoch, number]), AT_ONCE)
            sources = [one for one in drawn if one not in held_out]
            yield TranslationBatch.of(sources, [one[::-1] for one in sources])

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        settings = TranslatorSettings(embedding_size=32, state_size=64, dropout=0.0)
        model = Translator(settings, source_words=DIGITS.stop, target_words=DIGITS.stop)
    wanted = TranslationBatch.of(unseen, [one[::-1] for one in unseen])
    fit(
        model,
        batches=batches,
        cost=model.loss,
        validate=lambda: mean_loss(model, wanted),
        settings=FIT,
        folder=tmp_path,
        run="reversal",
    )
    found = search(model, TranslationBatch.of(unseen), BeamSettings(beam=3, longest=2 * LONGEST))
    right = [best[0].tokens == one[::-1] for best, one in zip(found, unseen, strict=True)]
    assert len(right) > 200
    assert np.mean(right) >= 0.99


# -- captions -------------------------------------------------------------------------------------------------------

COLOURS, ANIMALS, PLACES = 5, 6, 4
A, IN, FIRST = 3, 4, 5


def caption(colour: int, animal: int, place: int) -> list[int]:
    """`a black cat in a house`; the last colour is not said, so that captions differ in length."""
    said = [A] + [FIRST + colour] * (colour < COLOURS - 1) + [FIRST + COLOURS + animal]
    return [*said, IN, A, FIRST + COLOURS + ANIMALS + place]


def made_up(random: np.random.Generator, count: int, size: int) -> tuple[Features, list[list[int]]]:
    """Features that mix what is in an image with noise, each in units of its own."""
    world = np.random.default_rng(7)
    mixing = world.standard_normal((COLOURS + ANIMALS + PLACES, size))
    units, offsets = np.exp(world.standard_normal(size) * 2), world.standard_normal(size) * 50
    shown = np.stack([random.integers(kinds, size=count) for kinds in (COLOURS, ANIMALS, PLACES)], 1)
    present = np.zeros((count, len(mixing)))
    for column, offset in enumerate((0, COLOURS, COLOURS + ANIMALS)):
        present[np.arange(count), shown[:, column] + offset] = 1
    rows = (present @ mixing + 0.2 * random.standard_normal((count, size))) * units + offsets
    features = Features([str(k) for k in range(count)], rows.astype(np.float32))
    return features, [caption(*row) for row in shown.tolist()]


def test_a_captioner_learns_what_is_in_made_up_images(tmp_path: Path):
    size, count = 40, 2000
    features, captions = made_up(np.random.default_rng(1), count, size)
    unseen, expected = made_up(np.random.default_rng(2), 200, size)

    def batches(epoch: int, start: int) -> Iterator[CaptionBatch]:
        for number in range(start, BATCHES):
            chosen = np.random.default_rng([1, epoch, number]).integers(count, size=AT_ONCE)
            yield CaptionBatch.of(features.rows([str(k) for k in chosen]), [captions[k] for k in chosen])

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        settings = CaptionerSettings(feature_size=size, embedding_size=32, state_size=64, dropout=0.0)
        model = Captioner(settings, target_words=FIRST + COLOURS + ANIMALS + PLACES)
    model.standardise(*features.standardisation([str(k) for k in range(count)]))
    wanted = CaptionBatch.of(unseen.rows([str(k) for k in range(200)]), expected)
    fit(
        model,
        batches=batches,
        cost=model.loss,
        validate=lambda: mean_loss(model, wanted),
        settings=FIT,
        folder=tmp_path,
        run="captions",
    )
    found = search(model, wanted, BeamSettings(beam=3, longest=12))
    assert np.mean([list(best[0].tokens) == one for best, one in zip(found, expected, strict=True)]) >= 0.99
