"""What can be chosen for training, and what cannot."""

import math
from dataclasses import replace

import pytest

from polyref.errors import SettingsError
from polyref.fit import Decay, FitSettings, fingerprint, run_fingerprint


@pytest.mark.parametrize(
    ("choice", "value", "said"),
    [
        ("epochs", 0, "epochs is 0; give a whole number, 1 or more"),
        ("save_every", 0, "save_every is 0; give a whole number, 1 or more"),
        ("learning_rate", 0.0, "learning_rate is 0.0; give a number above 0 and at most 100"),
        ("learning_rate", math.nan, "learning_rate is nan; give a number above 0 and at most 100"),
        ("learning_rate", math.inf, "learning_rate is inf; give a number above 0 and at most 100"),
        ("weight_decay", -0.1, "weight_decay is -0.1; give a number from 0 to 1"),
        ("clip", 0.0, "clip is 0.0; give a number above 0"),
        ("clip", math.nan, "clip is nan; give a number above 0"),
        ("seed", -1, "seed is -1; give a whole number from 0 to less than 2"),
        ("seed", 2**32, "seed is 4294967296; give a whole number from 0 to less than 2"),
        ("optimiser", "adam", 'optimiser is "adam"; did you mean adamw'),
        ("validate_every", 0, "validate_every is 0; give a whole number, 1 or more"),
        ("recent", 0, "recent is 0; give a whole number, 1 or more"),
        ("patience", 0, "patience is 0; give a whole number, 1 or more"),
        ("average", 1.0, "average is 1.0; give a number above 0 and below 1, such as 0.999"),
        ("precision", "half", 'precision is "half"; choose one of float32, bfloat16'),
        ("goal", "best", 'goal is "best"; did you mean lowest'),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(choice, value, said):
    with pytest.raises(SettingsError, match=said):
        FitSettings(**{choice: value})


@pytest.mark.parametrize(
    ("choice", "value", "said"),
    [
        ("factor", 0.0, "factor is 0.0; give a number above 0 and at most 1"),
        ("factor", 1.5, "factor is 1.5; give a number above 0 and at most 1"),
        ("factor", math.nan, "factor is nan; give a number above 0 and at most 1"),
        ("gain", -0.1, "gain is -0.1; give a number from 0 to less than 1"),
        ("gain", 1.0, "gain is 1.0; give a number from 0 to less than 1"),
        ("stop_after", 0, "stop_after is 0; give a whole number, 1 or more"),
    ],
)
def test_a_decay_that_makes_no_sense_is_refused(choice, value, said):
    with pytest.raises(SettingsError, match=said):
        Decay(**{choice: value})


@pytest.mark.parametrize(("choice", "value"), [("epochs", 7), ("save_every", 9)])
def test_how_long_a_run_is_and_how_often_it_saves_do_not_make_it_another(choice, value):
    assert run_fingerprint(FitSettings()) == run_fingerprint(replace(FitSettings(), **{choice: value}))


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("seed", 1),
        ("clip", 2.0),
        ("learning_rate", 0.5),
        ("optimiser", "sgd"),
        ("decay", Decay(0.9)),
        ("weight_decay", 0.1),
        ("goal", "highest"),
        ("average", 0.9),
        ("validate_every", 7),
        ("patience", 2),
        ("precision", "bfloat16"),
    ],
)
def test_everything_else_makes_a_run_another(choice, value):
    assert run_fingerprint(FitSettings()) != run_fingerprint(replace(FitSettings(), **{choice: value}))
    assert run_fingerprint(FitSettings(), "text") != run_fingerprint(FitSettings(), "other text")


def test_a_fingerprint_does_not_depend_on_the_order_of_names():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1}) != fingerprint({"a": 2, "b": 1})
