"""An epoch cut into batches, and how many there are."""

from itertools import chain

import numpy as np
import pytest

from polyref.errors import SettingsError
from polyref.schedule import Pairs, Schedule, ScheduleSettings, Sizes
from polyref.schedule.batches import Account, BatchSettings, accounts, batches

SIZES = Sizes([2, 1, 3, 4, 1, 2, 2])


def schedule_of(name: str = "uniform", order: str = "given", sizes: Sizes = SIZES) -> Schedule:
    return Schedule(sizes, ScheduleSettings(name, order))


def lengths(pairs: Pairs) -> np.ndarray:
    """Made-up lengths, from 1 to 7."""
    return (pairs.examples * 5 + pairs.references * 3) % 7 + 1


def cut(schedule: Schedule, epoch: int = 0, **settings: int | None) -> list[list[int]]:
    return list(batches(schedule, epoch, BatchSettings(**settings), lengths=lengths))


# -- uniform --------------------------------------------------------------------------------------------------------


def test_batches_of_uniform_are_cut_between_examples():
    # Examples of 2, 1, 3, 4, 1, 2 and 2 pairs.
    assert cut(schedule_of(), pairs=4) == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9], [10, 11, 12], [13, 14]]
    assert cut(schedule_of(), pairs=6) == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14]]


def test_an_example_that_is_larger_than_a_batch_is_cut_and_stands_alone():
    assert cut(schedule_of(), pairs=3) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9], [10, 11, 12], [13, 14]]
    assert cut(schedule_of(), pairs=1) == [[number] for number in range(15)]


def test_in_a_shuffled_order_the_examples_stay_whole_too():
    schedule = schedule_of(order="shuffled")
    for epoch in range(20):
        found = cut(schedule, epoch, pairs=5)
        assert list(chain(*found)) == list(range(15))
        examples = [set(schedule.pairs(epoch, np.array(batch)).examples.tolist()) for batch in found]
        assert sum(map(len, examples)) == SIZES.examples


def test_batches_of_uniform_by_tokens_count_the_padding():
    schedule = schedule_of()
    for tokens in (8, 14, 30):
        found = cut(schedule, pairs=None, tokens=tokens)
        assert list(chain(*found)) == list(range(15))
        owners: dict[int, int] = {}
        for batch in found:
            pairs = schedule.pairs(0, np.array(batch))
            assert len(batch) * lengths(pairs).max() <= tokens or len(batch) == 1
            for example in set(pairs.examples.tolist()):
                owners[example] = owners.get(example, 0) + 1
        for example, count in owners.items():
            size = int(SIZES.total[example])
            own = Pairs(np.zeros(size, np.int64), np.full(size, example), np.arange(size))
            assert count == 1 or size * lengths(own).max() > tokens


def test_a_block_that_ends_inside_an_example_does_not_show():
    small = Sizes(np.full(9, 3))
    expected = cut(schedule_of(sizes=small), pairs=7)
    schedule = schedule_of(sizes=small)
    blocks = schedule.blocks
    schedule.blocks = lambda epoch, **named: blocks(epoch, size=4)  # type: ignore[method-assign]
    assert cut(schedule, pairs=7) == expected


def test_a_large_set_is_cut_as_a_small_one_is():
    sizes = Sizes(np.full(30_000, 3))  # more pairs than are looked up together
    found = cut(schedule_of(sizes=sizes), pairs=64)
    assert {len(batch) for batch in found[:-1]} == {63}
    assert sum(map(len, found)) == 90_000
    found = cut(schedule_of("shuffle", sizes=sizes), pairs=64)
    assert {len(batch) for batch in found[:-1]} == {64}
    assert sum(map(len, found)) == 90_000


# -- the others -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["first", "sample_one", "shuffle"])
def test_batches_of_the_others_are_full(name):
    schedule = schedule_of(name)
    found = cut(schedule, pairs=4)
    assert list(chain(*found)) == list(range(len(schedule)))
    assert {len(batch) for batch in found[:-1]} == {4}


def test_by_tokens_a_batch_is_as_full_as_it_may_be():
    schedule = schedule_of("shuffle")
    found = cut(schedule, 3, pairs=None, tokens=12)
    assert list(chain(*found)) == list(range(15))
    for batch, following in zip(found, [*found[1:], []], strict=True):
        assert len(batch) * lengths(schedule.pairs(3, np.array(batch))).max() <= 12
        if following:
            more = np.array([*batch, following[0]])
            assert len(more) * lengths(schedule.pairs(3, more)).max() > 12


def test_pairs_and_tokens_bound_a_batch_together():
    schedule = schedule_of("shuffle")
    for batch in cut(schedule, pairs=2, tokens=12):
        assert len(batch) <= 2
        assert len(batch) * lengths(schedule.pairs(0, np.array(batch))).max() <= 12


def test_a_pair_that_is_too_long_stands_alone():
    for name in ("uniform", "shuffle"):
        found = cut(schedule_of(name), pairs=None, tokens=1)
        assert found == [[number] for number in range(15)]


@pytest.mark.parametrize("settings", [{"pairs": 4}, {"pairs": None, "tokens": 20}, {"pairs": None, "tokens": 100}])
def test_buckets_put_pairs_of_like_length_together(settings):
    schedule = schedule_of("shuffle", sizes=Sizes(np.full(100, 3)))

    def padding(found: list[list[int]]) -> int:
        sizes = [lengths(schedule.pairs(1, np.array(batch))) for batch in found]
        return sum(int(len(size) * size.max() - size.sum()) for size in sizes)

    plain, bucketed = cut(schedule, 1, **settings), cut(schedule, 1, **settings, bucket=20)
    assert sorted(chain(*bucketed)) == list(range(300))
    assert padding(bucketed) < padding(plain) / 2
    assert cut(schedule, 1, **settings, bucket=20) == bucketed
    assert cut(schedule, 2, **settings, bucket=20) != bucketed


def test_the_batches_of_a_bucket_do_not_come_from_short_to_long():
    schedule = schedule_of("shuffle", sizes=Sizes(np.full(100, 3)))
    found = cut(schedule, 0, pairs=10, bucket=30)
    longest = [int(lengths(schedule.pairs(0, np.array(batch))).max()) for batch in found]
    assert longest != sorted(longest)


# -- a share, the rest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings"),
    [("uniform", {"pairs": 4}), ("shuffle", {"pairs": 4}), ("shuffle", {"pairs": 2, "bucket": 2})],
)
def test_ranks_share_the_batches_out_and_can_go_on_anywhere(name, settings):
    schedule, settings = schedule_of(name), BatchSettings(**settings)
    whole = list(batches(schedule, 1, settings, lengths=lengths))
    for rank in range(3):
        share = list(batches(schedule, 1, settings, lengths=lengths, rank=rank, ranks=3))
        assert share == whole[rank::3]
        for start in range(len(share) + 2):
            rest = list(batches(schedule, 1, settings, lengths=lengths, rank=rank, ranks=3, start=start))
            assert rest == share[start:]


def test_a_batch_holds_64_pairs_unless_told_otherwise():
    assert [len(batch) for batch in batches(schedule_of("shuffle", sizes=Sizes([100])), 0)] == [64, 36]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"pairs": None}, "a batch has no size"),
        ({"pairs": 0}, "pairs is 0; give a whole number, 1 or more"),
        ({"tokens": 0}, "tokens is 0; give a whole number, 1 or more"),
        ({"bucket": -1}, "bucket is -1; give a whole number, 0 or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(SettingsError) as refused:
        BatchSettings(**settings)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"settings": BatchSettings(bucket=2), "lengths": lengths}, "length buckets are for the others"),
        ({"settings": BatchSettings(tokens=9)}, "batches by tokens need the lengths of the pairs"),
        ({"rank": 2, "ranks": 2}, "there is no rank 2 of 2"),
        ({"start": -1}, "the first batch is -1; give 0 or more"),
        ({"epoch": -1}, "the epoch is -1; give 0 or more"),
    ],
)
def test_what_a_schedule_cannot_have_is_refused_at_once(named, says):
    with pytest.raises(SettingsError) as refused:
        batches(schedule_of(), **{"epoch": 0, **named})
    assert says in str(refused.value)


# -- how many there are -----------------------------------------------------------------------------------------------

EVEN = Sizes([5] * 10, [20] * 10)


def test_pairs_and_updates_of_each_schedule():
    assert accounts(EVEN, BatchSettings(64)) == [
        Account("first", 10, 1),
        Account("sample_one", 10, 1),
        Account("uniform", 200, 4),  # three examples of 20 in a batch
        Account("shuffle", 200, 4),
    ]
    assert [account.updates for account in accounts(EVEN, BatchSettings(30))] == [1, 1, 10, 7]
    assert accounts(EVEN) == accounts(EVEN, BatchSettings(64))


@pytest.mark.parametrize(
    "settings",
    [BatchSettings(7), BatchSettings(7, bucket=3), BatchSettings(None, 100), BatchSettings(9, 100, bucket=2)],
)
def test_updates_are_the_batches_that_there_are(settings):
    for account in accounts(EVEN, settings, lengths=lengths, seed=3):
        schedule = Schedule(EVEN, ScheduleSettings(account.schedule, seed=3))
        own = BatchSettings(settings.pairs, settings.tokens) if account.schedule == "uniform" else settings
        found = list(batches(schedule, 0, own, lengths=lengths))
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
    first, _, _, shuffle = accounts(EVEN, BatchSettings(10))
    assert (first.updates, shuffle.updates) == (1, 20)
    assert first.epochs_for(shuffle.updates * 3) == 60
    assert shuffle.epochs_for(first.updates) == 0.05


def test_a_huge_set_is_counted_without_making_its_batches():
    sizes = Sizes(np.full(1000, 1, np.int64), np.full(1000, 10**6))
    first, sample_one, uniform, shuffle = accounts(sizes, BatchSettings(10**6))
    assert (first.updates, sample_one.updates, uniform.updates, shuffle.updates) == (1, 1, 1000, 1000)


def test_updates_by_tokens_need_lengths():
    with pytest.raises(SettingsError, match="batches by tokens need the lengths"):
        accounts(EVEN, BatchSettings(None, 100))
