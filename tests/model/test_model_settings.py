"""Settings that make no sense are refused in one line; the defaults are the paper's."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from polyref.errors import SettingsError
from polyref.model.settings import CAPTIONING, TRANSLATING, BeamSettings, CaptionerSettings, TranslatorSettings


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
        (lambda: TranslatorSettings(embedding_size=0), "embedding_size is 0; give a whole number from 1 to 100,000"),
        (lambda: TranslatorSettings(layers=-1), "layers is -1"),
        (lambda: TranslatorSettings(layers=101), "layers is 101; give a whole number from 1 to 100"),
        (lambda: CaptionerSettings(layers=100_000), "layers is 100000; give a whole number from 1 to 100"),
        (lambda: TranslatorSettings(state_size=501), "state_size is 501; give an even number: two directions share "),
        (lambda: TranslatorSettings(dropout=1.0), "dropout is 1.0; give a number from 0 to less than 1"),
        (lambda: TranslatorSettings(label_smoothing=math.nan), "label_smoothing is nan; give a number from 0 to les"),
        (lambda: TranslatorSettings(tied=True, state_size=250), "tied needs one size, but embedding_size is 500 and"),
        (lambda: CaptionerSettings(feature_size=0), "feature_size is 0; give a whole number from 1 to 100,000"),
        (lambda: CaptionerSettings(dropout=-0.1), "dropout is -0.1"),
        (
            lambda: CaptionerSettings(tied=True, embedding_size=250),
            "tied needs one size, but embedding_size is 250 and",
        ),
        (lambda: BeamSettings(beam=0), "beam is 0"),
        (lambda: BeamSettings(beam=5, best=0), "best is 0"),
        (lambda: BeamSettings(beam=5, best=6), "best is 6, more than the beam of 5"),
        (lambda: BeamSettings(beam=5, longest=0), "longest is 0"),
        (lambda: BeamSettings(beam=5, scoring="shortest"), 'scoring is "shortest"; choose one of plain, normalised,'),
        (lambda: BeamSettings(beam=5, bound=0), "bound is 0; give a number above 0 and at most 100,000"),
        (lambda: BeamSettings(beam=5, bound=-2.0), "bound is -2.0; give a number above 0 and at most 100,000"),
        (lambda: BeamSettings(beam=5, bound=math.nan), "bound is nan; give a number above 0 and at most 100,000"),
        (
            lambda: BeamSettings(beam=5, bound=math.inf),
            "bound is inf; give a number above 0",
        ),
        (lambda: BeamSettings(beam=5, reward=0), "reward is 0; give a number above 0 and at most 100,000"),
        (lambda: BeamSettings(beam=5, power=-1), "power is -1; give a number above 0 and at most 10"),
        (lambda: BeamSettings(beam=5, power=10.5), "power is 10.5; give a number above 0 and at most 10"),
        (lambda: BeamSettings(beam=5, power="1"), 'power is "1"; give a number above 0 and at most 10'),
        (lambda: BeamSettings(beam=5, power=True), "power is true; give a number above 0 and at most 10"),
        (lambda: BeamSettings(beam=5, reward=1e308), "reward is 1e+308; give a number above 0 and at most 100,000"),
        (lambda: BeamSettings(beam=5, bound=10**400), "bound is a number with too many digits; give a number above 0"),
        (lambda: BeamSettings(beam=5.5), "beam is 5.5; give a whole number from 1 to 100,000"),
        (lambda: BeamSettings(beam="5"), 'beam is "5"; give a whole number from 1 to 100,000'),
        (lambda: BeamSettings(beam=True), "beam is true; give a whole number from 1 to 100,000"),
        (lambda: BeamSettings(beam=5, best=2.0), "best is 2.0; give a whole number"),
        (lambda: BeamSettings(beam=5, longest=10.5), "longest is 10.5; give a whole number"),
        (lambda: BeamSettings(beam=5, longest=None), "longest is None; give a whole number"),
        (lambda: BeamSettings(beam=5, scoring=["plain"]), 'scoring is ["plain"]; choose one of plain, normalised, r'),
        (lambda: BeamSettings(beam=5, stop_early="no"), 'stop_early is "no"; give true or false'),
        (lambda: TranslatorSettings(state_size=256.0), "state_size is 256.0; give a whole number from 1 to 100,000"),
        (lambda: TranslatorSettings(layers=True), "layers is true; give a whole number from 1 to 100"),
        (lambda: TranslatorSettings(dropout="x"), 'dropout is "x"; give a number from 0 to less than 1'),
        (lambda: TranslatorSettings(tied="no"), 'tied is "no"; give true or false'),
        (lambda: TranslatorSettings(input_feeding=1), "input_feeding is 1; give true or false"),
        (lambda: CaptionerSettings(tied=None), "tied is None; give true or false"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, says):
    with pytest.raises(SettingsError) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_largest_settings_give_scores_that_are_numbers():
    torch = pytest.importorskip("torch")
    from polyref.model.beam import score_of

    sizes, log_probs = torch.tensor([100_000]), torch.tensor([[-1.0]], dtype=torch.float64)
    for scoring in ("normalised", "rewarded"):
        most = BeamSettings(beam=1, scoring=scoring, power=10, reward=100_000, bound=100_000, longest=100_000)
        found = score_of(log_probs, most.longest, sizes, most)
        assert found.isfinite().all()
        assert found.item() != 0


def test_settings_do_not_need_torch():
    code = "import sys, polyref.model; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
