"""What a person can choose about alignment."""

from __future__ import annotations

import re
from typing import Any

import pytest

from polyref import AdaptivePenalty, AlignSettings, SettingsError


def test_adaptive_penalty_steps_down_to_its_floor() -> None:
    settings = AlignSettings(align="soft", penalty=AdaptivePenalty())
    assert settings.penalties() == list(range(9_000, 2_999, -500))
    assert settings.at_least == 100


def test_the_floor_is_tried_last_even_where_the_steps_miss_it() -> None:
    assert AdaptivePenalty(start=0.5, step=0.2, floor=0.2).levels() == [5_000, 3_000, 2_000]


def test_hard_alignment_does_not_depend_on_the_penalty() -> None:
    assert AlignSettings(penalty=0.1).penalties() == AlignSettings(penalty=0.99).penalties()
    assert AlignSettings(penalty=0.1).shown_penalty(5_000) is None


def test_soft_alignment_shows_its_penalty() -> None:
    settings = AlignSettings(align="soft", penalty=0.6)
    assert [settings.shown_penalty(units) for units in settings.penalties()] == [0.6]


@pytest.mark.parametrize(
    ("settings", "wrong", "message"),
    [
        (AlignSettings, {"align": "soggy"}, 'unknown align "soggy"; choose one of hard, soft'),
        (AlignSettings, {"similarity": "dot"}, 'unknown similarity "dot"'),
        (AlignSettings, {"merge_order": "star"}, 'unknown merge order "star"; choose one of tree, paper'),
        (AlignSettings, {"penalty": 1.5}, "the penalty is 1.5; give a number from 0 to 1"),
        (AlignSettings, {"position": -0.1}, "the position is -0.1; give a number from 0 to 1"),
        (AlignSettings, {"position": float("nan")}, "the position is nan"),
        (AlignSettings, {"veto": ["number"]}, 'unknown veto "number"; did you mean numbers? choose from numbers, neg'),
        (AlignSettings, {"veto": ["xyz"]}, 'unknown veto "xyz"; choose from numbers, negation, marks, contrasts'),
        (AlignSettings, {"veto": "numbers"}, 'the veto is the text "numbers"; give a list of kinds'),
        (AdaptivePenalty, {"start": -0.1}, "the start is -0.1"),
        (AdaptivePenalty, {"start": 0.2, "floor": 0.3}, "the floor 0.3 lies above the start 0.2; swap them"),
        (AdaptivePenalty, {"step": 0.00001}, "the step is 1e-05; give a number from 0.0001 to 1"),
        (AdaptivePenalty, {"at_least": 0}, "at-least is 0; give 1 or more"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: Any, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        settings(**wrong)


def test_kinds_of_veto_are_the_same_in_any_order_and_collection() -> None:
    settings = AlignSettings(veto=("marks", "numbers"))
    assert settings == AlignSettings(veto=["numbers", "marks", "numbers"]) == AlignSettings(veto={"marks", "numbers"})
    assert settings.veto == ("numbers", "marks")
    assert hash(settings) == hash(AlignSettings(veto=["numbers", "marks"]))


def test_all_kinds_of_veto_are_on_and_the_position_counts_a_little() -> None:
    assert AlignSettings().veto == ("numbers", "negation", "marks", "contrasts")
    assert 0 < AlignSettings().position <= 0.1
