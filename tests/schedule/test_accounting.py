"""How long an epoch of each schedule is."""

import numpy as np
import pytest

from polyref.errors import SettingsError
from polyref.schedule import Schedule, ScheduleSettings, Sizes
from polyref.schedule.accounting import Account, accounts
from polyref.schedule.batches import BatchSettings, batches

SIZES = Sizes([5] * 10, [20] * 10)


def of(name: str) -> object:
    return lambda pairs: pairs.examples + pairs.references + 1


def test_pairs_and_updates_of_each_schedule():
    assert accounts(SIZES, BatchSettings(64)) == [
        Account("first", 10, 1),
        Account("sample_one", 10, 1),
        Account("uniform", 200, 4),  # three examples of 20 in a batch
        Account("shuffle", 200, 4),
    ]
    assert [account.updates for account in accounts(SIZES, BatchSettings(30))] == [1, 1, 10, 7]
    assert accounts(SIZES) == accounts(SIZES, BatchSettings(64))


@pytest.mark.parametrize(
    "settings",
    [BatchSettings(7), BatchSettings(7, bucket=3), BatchSettings(None, 100), BatchSettings(9, 100, bucket=2)],
)
def test_updates_are_the_batches_that_there_are(settings):
    for account in accounts(SIZES, settings, lengths=of, seed=3):
        schedule = Schedule(SIZES, ScheduleSettings(account.schedule, seed=3))
        own = BatchSettings(settings.pairs, settings.tokens) if account.schedule == "uniform" else settings
        found = list(batches(schedule, 0, own, lengths=of("any")))
        assert account.updates == len(found)
        assert account.pairs == len(schedule) == sum(map(len, found))


def test_updates_of_uniform_are_counted_as_its_batches_are_cut():
    generator = np.random.default_rng(6)
    for _ in range(50):
        sizes = Sizes(generator.integers(1, 9, 30))
        for pairs in (1, 3, 7, 8, 20):
            found = list(batches(Schedule(sizes, ScheduleSettings("uniform")), 0, BatchSettings(pairs)))
            assert accounts(sizes, BatchSettings(pairs))[2].updates == len(found)


def test_as_many_updates_as_another_run():
    first, _, _, shuffle = accounts(SIZES, BatchSettings(10))
    assert (first.updates, shuffle.updates) == (1, 20)
    assert first.epochs_for(shuffle.updates * 3) == 60
    assert shuffle.epochs_for(first.updates) == 0.05


def test_a_huge_set_is_counted_without_making_its_batches():
    sizes = Sizes(np.full(1000, 1, np.int64), np.full(1000, 10**6))
    first, sample_one, uniform, shuffle = accounts(sizes, BatchSettings(10**6))
    assert (first.updates, sample_one.updates, uniform.updates, shuffle.updates) == (1, 1, 1000, 1000)


def test_updates_by_tokens_need_lengths():
    with pytest.raises(SettingsError, match="updates by tokens need the lengths"):
        accounts(SIZES, BatchSettings(None, 100))


def test_lengths_are_asked_for_by_schedule():
    asked: list[str] = []

    def lengths(name: str) -> object:
        asked.append(name)
        return lambda pairs: np.ones_like(pairs.examples)

    accounts(SIZES, BatchSettings(None, 100), lengths=lengths)
    assert asked == ["first", "sample_one", "uniform", "shuffle"]
