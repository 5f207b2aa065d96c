"""The four schedules: which pair comes when."""

import pickle
from itertools import chain

import numpy as np
import pytest

from polyref.errors import SettingsError
from polyref.schedule import SCHEDULES, Schedule, ScheduleSettings, Sizes, check_epoch, mixing, schedules

SIZES = Sizes([2, 1, 3, 1, 1], [3, 2, 3, 1, 2])
# Every way to run a schedule.
WAYS = [
    {"schedule": "first"},
    {"schedule": "first", "order": "shuffled"},
    {"schedule": "sample_one"},
    {"schedule": "sample_one", "order": "shuffled"},
    {"schedule": "sample_one", "gold_share": 0.5},
    {"schedule": "uniform"},
    {"schedule": "uniform", "order": "shuffled"},
    {"schedule": "shuffle"},
    {"schedule": "shuffle", "draw": True},
    {"schedule": "shuffle", "gold_share": 0.5},
]
each_way = pytest.mark.parametrize("way", WAYS, ids=[" ".join(map(str, way.values())) for way in WAYS])


@pytest.fixture(params=[mixing.SORTED_UP_TO, 0], ids=["sorted", "ciphered"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs twice: small orders are sorted, and they are ciphered as large ones are."""
    monkeypatch.setattr(mixing, "SORTED_UP_TO", request.param)


def pairs_of(schedule: Schedule, epoch: int, **share: int) -> list[tuple[int, int]]:
    blocks = list(schedule.blocks(epoch, **share))
    return [pair for block in blocks for pair in zip(block.examples.tolist(), block.references.tolist(), strict=True)]


def shown(schedule: Schedule, epoch: int) -> str:
    return " ".join(f"{example}{reference}" for example, reference in pairs_of(schedule, epoch))


# -- what one version says, all later ones say ----------------------------------------------------------------------

GIVEN = "00 01 02 10 11 20 21 22 30 40 41"
# Two epochs of each way at seed 1: an example and which of its references, one after the other.
SORTED = [
    ["00 10 20 30 40", "00 10 20 30 40"],
    ["30 00 10 20 40", "40 00 10 30 20"],
    ["01 10 21 30 41", "02 11 22 30 40"],
    ["30 01 10 21 41", "40 02 11 30 22"],
    ["01 11 21 30 40", "02 10 22 30 40"],
    [GIVEN, GIVEN],
    ["30 00 01 02 10 11 20 21 22 40 41", "40 41 00 01 02 10 11 30 20 21 22"],
    ["40 00 02 11 41 30 01 20 22 10 21", "40 22 30 01 41 10 21 02 11 00 20"],
    ["41 01 00 10 40 30 00 21 22 10 22", "40 20 30 00 40 11 20 00 10 02 22"],
    ["40 01 00 11 40 30 02 21 22 11 22", "40 20 30 02 40 10 20 02 11 02 22"],
]
CIPHERED = [
    ["00 10 20 30 40", "00 10 20 30 40"],
    ["30 20 40 10 00", "20 00 40 10 30"],
    ["01 10 21 30 41", "02 11 22 30 40"],
    ["30 21 41 10 01", "22 02 40 11 30"],
    ["01 11 21 30 40", "02 10 22 30 40"],
    [GIVEN, GIVEN],
    ["30 20 21 22 40 41 10 11 00 01 02", "20 21 22 00 01 02 40 41 10 11 30"],
    ["40 41 21 20 01 30 02 11 22 00 10", "41 40 11 30 10 00 01 02 21 22 20"],
    ["41 40 22 21 00 30 00 10 22 01 10", "40 40 10 30 11 02 00 00 20 20 22"],
    ["40 40 22 21 02 30 00 11 22 01 11", "40 40 11 30 10 02 02 02 20 20 22"],
]


@pytest.mark.parametrize(("way", "expected"), list(zip(WAYS, SORTED, strict=True)))
def test_the_order_of_a_small_set_is_that_of_every_version(way, expected):
    schedule = Schedule(SIZES, ScheduleSettings(**way, seed=1))
    assert [shown(schedule, epoch) for epoch in (0, 1)] == expected


@pytest.mark.parametrize(("way", "expected"), list(zip(WAYS, CIPHERED, strict=True)))
def test_the_order_of_a_ciphered_set_is_that_of_every_version(way, expected, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mixing, "SORTED_UP_TO", 0)
    schedule = Schedule(SIZES, ScheduleSettings(**way, seed=1))
    assert [shown(schedule, epoch) for epoch in (0, 1)] == expected


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ({"schedule": "first", "order": "shuffled"}, [(1115256, 0), (801009, 0), (96403, 0)]),
        ({"schedule": "sample_one", "order": "shuffled"}, [(1115256, 2), (801009, 2), (96403, 2)]),
        ({"schedule": "uniform", "order": "shuffled"}, [(1115256, 0), (1115256, 1), (96403, 2)]),
        ({"schedule": "shuffle"}, [(773867, 0), (923236, 0), (912029, 1)]),
    ],
)
def test_the_order_of_a_large_set_is_that_of_every_version(way, expected):
    schedule = Schedule(Sizes(np.full(1_200_000, 2), np.full(1_200_000, 3)), ScheduleSettings(**way, seed=1))
    assert [schedule.pair(number, 0) for number in (0, 1, len(schedule) - 1)] == expected


# -- any pair, the rest of an epoch, a share of it ------------------------------------------------------------------


@each_way
def test_any_pair_is_what_stands_there_in_the_epoch(way, both):
    schedule = Schedule(SIZES, ScheduleSettings(**way, seed=3))
    for epoch in (0, 1, 2**40):
        expected = pairs_of(schedule, epoch)
        assert [schedule.pair(number, epoch) for number in range(len(schedule))] == expected
        backwards = np.arange(len(schedule))[::-1].copy()
        found = schedule.pairs(epoch, backwards)
        assert list(zip(found.examples.tolist(), found.references.tolist(), strict=True)) == expected[::-1]
        assert found.numbers is backwards


@each_way
def test_the_rest_of_an_epoch_is_what_was_left(way, both):
    schedule = Schedule(SIZES, ScheduleSettings(**way, seed=-4))
    for share in ({"rank": 0, "ranks": 1}, {"rank": 1, "ranks": 2}, {"rank": 2, "ranks": 3}):
        whole = pairs_of(schedule, 5, **share)
        for start in range(len(whole) + 3):
            for size in (1, 2, 1000):
                assert pairs_of(schedule, 5, start=start, size=size, **share) == whole[start:]


@each_way
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 11, 12, 40])
def test_ranks_share_an_epoch_out(way, ranks, both):
    schedule = Schedule(SIZES, ScheduleSettings(**way, seed=9))
    blocks = [list(schedule.blocks(2, rank=rank, ranks=ranks, size=2)) for rank in range(ranks)]
    numbers = [number for of_rank in blocks for block in of_rank for number in block.numbers.tolist()]
    assert sorted(numbers) == list(range(len(schedule)))
    for of_rank in blocks:
        for block in of_rank:
            again = schedule.pairs(2, block.numbers)
            assert block.examples.tolist() == again.examples.tolist()
            assert block.references.tolist() == again.references.tolist()


def test_under_uniform_a_rank_has_whole_examples(both):
    for order in ("given", "shuffled"):
        schedule = Schedule(SIZES, ScheduleSettings("uniform", order))
        owners: dict[int, set[int]] = {}
        for rank in range(2):
            for example, _ in pairs_of(schedule, 1, rank=rank, ranks=2):
                owners.setdefault(example, set()).add(rank)
        assert all(len(ranks) == 1 for ranks in owners.values())
        assert len(owners) == 5


@each_way
def test_the_share_of_a_rank_can_be_counted(way):
    schedule = Schedule(SIZES, ScheduleSettings(**way))
    for rank in range(3):
        assert schedule.share(1, rank, 3) == len(pairs_of(schedule, 1, rank=rank, ranks=3))
    assert schedule.share(0, 39, 40) == 0
    assert schedule.share(0, 0, 1) == len(schedule)


@each_way
def test_another_epoch_or_seed_is_another_order_where_anything_is_drawn(way, both):
    sizes = Sizes(np.full(40, 3), np.full(40, 5))
    settings = ScheduleSettings(**way, seed=1)
    orders = {tuple(pairs_of(Schedule(sizes, settings), epoch)) for epoch in range(4)}
    orders |= {tuple(pairs_of(Schedule(sizes, ScheduleSettings(**way, seed=seed)), 0)) for seed in (-1, 2**63 - 1)}
    is_fixed = settings.order == "given" and settings.schedule in ("first", "uniform")
    assert len(orders) == (1 if is_fixed else 6)


def test_the_references_that_are_drawn_do_not_depend_on_the_order_of_the_examples(both):
    given = Schedule(SIZES, ScheduleSettings("sample_one", seed=8))
    shuffled = Schedule(SIZES, ScheduleSettings("sample_one", "shuffled", seed=8))
    assert sorted(pairs_of(given, 6)) == sorted(pairs_of(shuffled, 6))


# -- borders --------------------------------------------------------------------------------------------------------


@each_way
def test_one_example_with_one_reference(way, both):
    schedule = Schedule(Sizes([1]), ScheduleSettings(**way))
    assert len(schedule) == 1
    assert pairs_of(schedule, 0) == [(0, 0)]
    assert pairs_of(schedule, 0, rank=1, ranks=2) == []


@pytest.mark.parametrize("examples", [7, 8, 9, 16, 17])
@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_landmarks_do_not_show(examples, order, monkeypatch: pytest.MonkeyPatch):
    sizes = Sizes(np.arange(examples) % 3 + 1)
    expected = pairs_of(Schedule(sizes, ScheduleSettings("uniform", order)), 3)
    monkeypatch.setattr(schedules, "_PLACES", 4)
    schedule = Schedule(sizes, ScheduleSettings("uniform", order))
    assert pairs_of(schedule, 3) == expected
    assert pairs_of(schedule, 3, size=2) == expected
    assert [schedule.pair(number, 3) for number in range(len(schedule))] == expected
    shares = [pairs_of(schedule, 3, rank=rank, ranks=3, size=2) for rank in range(3)]
    assert sorted(chain(*shares)) == sorted(expected)
    for rank, share in enumerate(shares):
        for start in range(len(share) + 1):
            assert pairs_of(schedule, 3, rank=rank, ranks=3, start=start) == share[start:]


@pytest.mark.parametrize("name", ["uniform", "shuffle"])
def test_more_pairs_than_32_bits_hold_need_no_list(name):
    # Not all alike: those are found without looking up where they begin.
    sizes = Sizes(np.ones(101, np.int64), np.array([10**8] * 100 + [7]))
    schedule = Schedule(sizes, ScheduleSettings(name))
    assert len(schedule) == 10**10 + 7
    last = schedule.pair(10**10 + 6, 0)
    assert last == (100, 6) if name == "uniform" else 0 <= last[1] < 10**8
    [block] = schedule.blocks(0, start=10**10)
    assert len(block.numbers) == 7


def test_one_epoch_of_pairs_with_all_alike_and_with_one_more_begin_alike():
    alike, unlike = Sizes([3] * 10), Sizes([3] * 10 + [2])
    settings = ScheduleSettings("uniform")
    assert pairs_of(Schedule(unlike, settings), 0)[:30] == pairs_of(Schedule(alike, settings), 0)


@pytest.mark.parametrize("number", [-1, 11, 10**12])
@pytest.mark.parametrize("name", ["uniform", "shuffle"])
def test_there_is_no_pair_behind_the_last(name, number, both):
    schedule = Schedule(SIZES, ScheduleSettings(name))
    with pytest.raises(IndexError):
        schedule.pair(number, 0)
    with pytest.raises(IndexError):
        schedule.pairs(0, np.array([0, number]))


@pytest.mark.parametrize(
    ("share", "says"),
    [
        ({"start": -1}, "the first pair is -1; give 0 or more"),
        ({"rank": 1}, "there is no rank 1 of 1"),
        ({"rank": -1, "ranks": 2}, "there is no rank -1 of 2"),
        ({"ranks": 0}, "there is no rank 0 of 0"),
    ],
)
def test_a_share_that_cannot_be_is_refused(share, says):
    with pytest.raises(SettingsError) as refused:
        list(Schedule(SIZES).blocks(0, **share))
    assert says in str(refused.value)


def test_an_epoch_below_0_is_refused():
    schedule = Schedule(SIZES)
    for ask in (lambda: schedule.pair(0, -1), lambda: list(schedule.blocks(-1))):
        with pytest.raises(SettingsError, match="the epoch is -1; give 0 or more"):
            ask()


@each_way
def test_a_schedule_goes_to_another_process(way):
    schedule = Schedule(SIZES, ScheduleSettings(**way, seed=2))
    schedule.pair(0, 0)
    copy = pickle.loads(pickle.dumps(schedule))
    assert pairs_of(copy, 1) == pairs_of(schedule, 1)


@pytest.mark.parametrize("epoch", [3.0, 1.5, "3", None])
def test_an_epoch_is_a_whole_number(epoch):
    # 3.0 equals 3, so that what is remembered of one would be taken for the other.
    schedule = Schedule(SIZES)
    for ask in (lambda: schedule.pair(0, epoch), lambda: next(schedule.blocks(epoch))):
        with pytest.raises(SettingsError, match=r"the epoch is .*give a whole number"):
            ask()


def test_a_seed_is_a_whole_number():
    with pytest.raises(SettingsError, match=r"seed is 1.0; give a whole number from -2"):
        ScheduleSettings(seed=1.0)


# -- which schedule, and how ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [("first", "first"), ("sample_one", "sample_one"), ("sample-one", "sample_one"), ("Shuffle", "shuffle")],
)
def test_a_schedule_is_found_by_its_name(name, expected):
    assert schedules.ScheduleSettings(name).schedule == expected
    assert ScheduleSettings(name).schedule == expected


def test_names_are_shown_as_the_command_has_them():
    assert list(map(schedules.shown, SCHEDULES)) == ["first", "sample-one", "uniform", "shuffle"]
    found = [schedules.ScheduleSettings(schedules.shown(name)).schedule for name in SCHEDULES]
    assert found == list(SCHEDULES)


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
