"""Settings that make no sense are refused in one line; the defaults are the paper's."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from polyref.errors import SettingsError
from polyref.model import CAPTIONING, TRANSLATING, BeamSettings, CaptionerSettings, TranslatorSettings


def test_the_defaults_are_the_papers():
    translator, captioner = TranslatorSettings(), CaptionerSettings()
    assert (translator.embedding_size, translator.layers, translator.dropout) == (500, 2, 0.3)
    assert (captioner.feature_size, captioner.embedding_size) == (2048, 512)
    assert (TRANSLATING.beam, TRANSLATING.scoring, CAPTIONING.beam) == (15, "rewarded", 5)
    assert not translator.input_feeding
    assert not translator.tied


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TranslatorSettings(embedding_size=0), "embedding-size is 0; give a number from 1"),
        (lambda: TranslatorSettings(layers=-1), "layers is -1"),
        (lambda: TranslatorSettings(state_size=501), "state-size is 501; give an even number"),
        (lambda: TranslatorSettings(dropout=1.0), "dropout is 1.0; give a number from 0 up to, not including, 1"),
        (lambda: TranslatorSettings(label_smoothing=math.nan), "label-smoothing is nan"),
        (lambda: TranslatorSettings(tied=True, state_size=250), "tied embeddings have one size"),
        (lambda: CaptionerSettings(feature_size=0), "feature-size is 0"),
        (lambda: CaptionerSettings(dropout=-0.1), "dropout is -0.1"),
        (lambda: CaptionerSettings(tied=True, embedding_size=250), "tied embeddings have one size"),
        (lambda: BeamSettings(beam=0), "beam is 0"),
        (lambda: BeamSettings(beam=5, best=0), "best is 0"),
        (lambda: BeamSettings(beam=5, best=6), "best is 6, more than the beam of 5"),
        (lambda: BeamSettings(beam=5, longest=0), "longest is 0"),
        (lambda: BeamSettings(beam=5, scoring="shortest"), 'unknown scoring "shortest"; choose one of plain'),
        (lambda: BeamSettings(beam=5, bound=0), "the bound is 0; give a number above 0"),
        (lambda: BeamSettings(beam=5, bound=-2.0), "the bound is -2.0"),
        (lambda: BeamSettings(beam=5, bound=math.nan), "the bound is nan"),
        (lambda: BeamSettings(beam=5, bound=math.inf), "the bound is inf"),
        (lambda: BeamSettings(beam=5, reward=0), "the reward is 0"),
        (lambda: BeamSettings(beam=5, power=-1), "the power is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, says):
    with pytest.raises(SettingsError) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_do_not_need_torch():
    code = "import sys, polyref.model; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
