"""Which schedule, and how."""

import pytest

from polyref.errors import SettingsError
from polyref.schedule import SCHEDULES, ScheduleSettings, check_epoch, schedule_named
from polyref.schedule.settings import shown


@pytest.mark.parametrize(
    ("name", "expected"),
    [("first", "first"), ("sample_one", "sample_one"), ("sample-one", "sample_one"), ("Shuffle", "shuffle")],
)
def test_a_schedule_is_found_by_its_name(name, expected):
    assert schedule_named(name) == expected
    assert ScheduleSettings(name).schedule == expected


def test_names_are_shown_as_the_command_has_them():
    assert list(map(shown, SCHEDULES)) == ["first", "sample-one", "uniform", "shuffle"]
    assert [schedule_named(shown(name)) for name in SCHEDULES] == list(SCHEDULES)


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("shufle", "did you mean shuffle?"),
        ("sampleone", "did you mean sample-one?"),
        ("sample-on", "did you mean sample-one?"),
        ("unifrom", "did you mean uniform?"),
        ("fist", "did you mean first?"),
        ("xyz", "choose one of first, sample-one, uniform, shuffle"),
        ("", "choose one of first, sample-one, uniform, shuffle"),
    ],
)
def test_an_unknown_schedule_is_refused_with_the_nearest_name(name, cure):
    with pytest.raises(SettingsError) as refused:
        ScheduleSettings(name)
    assert str(refused.value).startswith(f'name is "{name}"; {cure}')


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"order": "random"}, 'order is "random"; choose one of given, shuffled'),
        ({"order": "shuffled"}, "order is shuffled, but shuffle orders its pairs itself; leave it out"),
        ({"seed": 2**63}, "seed is 9223372036854775808; give a whole number from -2^63 to less than 2^63"),
        ({"seed": -(2**63) - 1}, "seed is -9223372036854775809; give a whole number from -2^63 to less than 2^63"),
        ({"schedule": "uniform", "draw": True}, "draw belongs to shuffle, not to uniform; leave it out"),
        ({"schedule": "sample-one", "draw": True}, "draw belongs to shuffle"),
        ({"schedule": "first", "gold_share": 0.5}, "gold_share has no effect with first, which draws nothing; leave"),
        ({"schedule": "uniform", "gold_share": 0.5}, "gold_share has no effect with uniform, which draws nothing; l"),
        ({"gold_share": -0.1}, "gold_share is -0.1; give a number from 0 to 1"),
        ({"gold_share": 1.01}, "gold_share is 1.01; give a number from 0 to 1"),
        ({"gold_share": float("nan")}, "gold_share is nan; give a number from 0 to 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(SettingsError) as refused:
        ScheduleSettings(**settings)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("seed", [-(2**63), -1, 0, 2**63 - 1])
def test_any_seed_of_64_bits_will_do(seed):
    assert ScheduleSettings(seed=seed).seed == seed


@pytest.mark.parametrize(
    ("settings", "draws"),
    [
        ({"schedule": "first"}, False),
        ({"schedule": "uniform"}, False),
        ({"schedule": "sample_one"}, True),
        ({"schedule": "shuffle"}, False),
        ({"schedule": "shuffle", "draw": True}, True),
        ({"schedule": "shuffle", "gold_share": 0.0}, True),
    ],
)
def test_what_draws_says_so(settings, draws):
    assert ScheduleSettings(**settings).draws is draws


@pytest.mark.parametrize(("epoch", "cure"), [(-1, "give 0 or more"), (2**63, "give less than 2^63")])
def test_an_epoch_that_cannot_be_is_refused(epoch, cure):
    with pytest.raises(SettingsError) as refused:
        check_epoch(epoch)
    assert str(refused.value) == f"the epoch is {epoch}; {cure}"


def test_epochs_begin_with_0():
    check_epoch(0)
    check_epoch(2**63 - 1)
