"""What a person can choose about alignment."""

from __future__ import annotations

import re
from typing import Any

import pytest

from polyref import AlignSettings, SettingsError


def test_adaptive_penalty_steps_down_to_its_floor() -> None:
    settings = AlignSettings(align="soft", penalty="adaptive")
    assert settings.penalties() == list(range(9_000, 2_999, -500))
    assert settings.enough == 100


def test_the_floor_is_tried_last_even_where_the_steps_miss_it() -> None:
    settings = AlignSettings("soft", penalty="adaptive", penalty_start=0.5, penalty_step=0.2, penalty_floor=0.2)
    assert settings.penalties() == [5_000, 3_000, 2_000]


def test_hard_alignment_does_not_depend_on_the_penalty() -> None:
    assert AlignSettings(penalty=0.1).penalties() == AlignSettings(penalty=0.99).penalties()
    assert AlignSettings(penalty=0.1).shown_penalty(5_000) is None


def test_soft_alignment_shows_its_penalty() -> None:
    settings = AlignSettings(align="soft", penalty=0.6)
    assert [settings.shown_penalty(units) for units in settings.penalties()] == [0.6]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"align": "soggy"}, 'align is "soggy"; choose one of hard, soft'),
        ({"similarity": "dot"}, 'similarity is "dot"; choose one of cosine, rescaled'),
        ({"merge_order": "star"}, 'merge_order is "star"; choose one of tree, paper'),
        ({"penalty": 1.5}, "penalty is 1.5; give a number from 0 to 1, or adaptive"),
        ({"penalty": "low"}, 'penalty is "low"; give a number from 0 to 1, or adaptive'),
        ({"position": -0.1}, "position is -0.1; give a number from 0 to 1"),
        ({"position": float("nan")}, "position is nan"),
        (
            {"veto": ["number"]},
            'veto holds "number"; did you mean numbers? give a list with any of numbers, negation',
        ),
        ({"veto": ["xyz"]}, 'veto holds "xyz"; give a list with any of numbers, negation, marks, contrasts'),
        ({"veto": "numbers"}, 'veto is "numbers"; give a list with any of numbers, negation'),
        ({"penalty_start": 1.5}, "penalty_start is 1.5; give a number from 0 to 1"),
        ({"penalty_floor": -0.1}, "penalty_floor is -0.1; give a number from 0 to 1"),
        ({"penalty_start": 0.2}, "penalty_floor is 0.3, above the penalty_start of 0.2; swap them"),
        ({"penalty_step": 0.00001}, "penalty_step is 1e-05; give a number from 0.0001 to 1"),
        ({"penalty_step": float("inf")}, "penalty_step is inf"),
        ({"at_least": 0}, "at_least is 0; give a whole number, 1 or more"),
        ({"align": "soft", "similarity": "cosine", "baseline": 0.1}, "baseline does not belong to the raw cosine"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        AlignSettings(**wrong)


def test_kinds_of_veto_are_the_same_in_any_order_and_collection() -> None:
    settings = AlignSettings(veto=("marks", "numbers"))
    assert settings == AlignSettings(veto=["numbers", "marks", "numbers"]) == AlignSettings(veto={"marks", "numbers"})
    assert settings.veto == ("numbers", "marks")
    assert hash(settings) == hash(AlignSettings(veto=["numbers", "marks"]))


def test_all_kinds_of_veto_are_on_and_the_position_counts_a_little() -> None:
    assert AlignSettings().veto == ("numbers", "negation", "marks", "contrasts")
    assert 0 < AlignSettings().position <= 0.1
