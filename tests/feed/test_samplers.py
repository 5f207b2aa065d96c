"""Samplers: every pair once among all ranks, examples kept together, and going on from any place."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from torch import distributed
from torch.utils.data import DataLoader

from polyref import Example, Reference, SettingsError
from polyref.feed import Stream, stream
from polyref.feed.pytorch import PairDataset, ScheduleBatchSampler, ScheduleSampler
from polyref.schedule import SCHEDULES
from polyref.schedule.batches import BatchSettings, batches

COUNTS = [3, 1, 5, 2, 4, 1, 12, 3, 2, 5, 1, 1, 4]
SAMPLERS = [ScheduleSampler, ScheduleBatchSampler]
BATCHES = BatchSettings(pairs=6)

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def examples(counts: list[int] = COUNTS) -> list[Example]:
    """References of an example differ in length."""
    return [
        Example(
            str(number), "a b", tuple(Reference("w " * (1 + (number + slot) % 7) + str(slot)) for slot in range(count))
        )
        for number, count in enumerate(counts)
    ]


def made(schedule: str, **settings: Any) -> PairDataset:
    return PairDataset(stream(examples(), schedule, **settings))


def sampler_of(kind: Any, data: PairDataset | Stream, **share: Any) -> Any:
    return kind(data, BATCHES, **share) if kind is ScheduleBatchSampler else kind(data, **share)


def flat(found: list[Any]) -> list[int]:
    return [number for one in found for number in (one if isinstance(one, list) else [one])]


# -- order and ranks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pairs_come_in_the_order_of_the_schedule(schedule: str):
    dataset = made(schedule)
    assert list(ScheduleSampler(dataset)) == list(range(len(dataset)))
    assert flat(list(ScheduleBatchSampler(dataset, BATCHES))) == list(range(len(dataset)))


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("ranks", [2, 3, 7])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_ranks_share_every_epoch_and_none_gets_what_another_has(schedule: str, ranks: int, kind: Any):
    settings = {"order": "shuffled"} if schedule != "shuffle" else {}
    dataset = made(schedule, **settings)
    for epoch in range(3):
        dataset.set_epoch(epoch)
        shares = [list(sampler_of(kind, dataset, rank=rank, ranks=ranks)) for rank in range(ranks)]
        assert sorted(flat(shares) if kind is ScheduleSampler else flat(flat(shares))) == list(range(len(dataset)))


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_length_is_how_many_come(schedule: str, even: bool, kind: Any):
    dataset = made(schedule, **({"order": "shuffled"} if schedule == "uniform" else {}))
    for epoch in range(3):
        dataset.set_epoch(epoch)
        for rank in range(3):
            sampler = sampler_of(kind, dataset, rank=rank, ranks=3, even=even)
            assert len(sampler) == len(list(sampler)) > 0


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_even_ranks_get_as_many_and_what_is_left_out_is_said(schedule: str, kind: Any):
    dataset = made(schedule, **({"order": "shuffled"} if schedule == "uniform" else {}))
    for epoch in range(3):
        dataset.set_epoch(epoch)
        samplers = [sampler_of(kind, dataset, rank=rank, ranks=4, even=True) for rank in range(4)]
        shares = [list(sampler) for sampler in samplers]
        assert len({len(share) for share in shares}) == 1
        seen = [number for share in shares for number in flat(share)]
        assert len(seen) == len(set(seen))
        assert {sampler.left_out for sampler in samplers} == {len(dataset) - len(seen)}


def test_nothing_is_left_out_unless_that_is_asked_for():
    assert ScheduleSampler(made("shuffle"), rank=0, ranks=7).left_out == 0
    assert ScheduleBatchSampler(made("shuffle"), BATCHES, rank=0, ranks=7).left_out == 0


def test_length_buckets_of_even_ranks_leave_out_what_they_say():
    dataset = made("shuffle")
    settings = BatchSettings(pairs=3, bucket=4)
    samplers = [ScheduleBatchSampler(dataset, settings, rank=rank, ranks=4, even=True) for rank in range(4)]
    assert samplers[0].left_out == len(dataset) - len(flat(flat([list(sampler) for sampler in samplers]))) > 0


@pytest.mark.parametrize("order", ["given", "shuffled"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_batches_of_uniform_never_split_an_example_that_fits(order: str, ranks: int):
    dataset = made("uniform", order=order)
    dataset.set_epoch(4)
    for rank in range(ranks):
        for batch in ScheduleBatchSampler(dataset, BATCHES, rank=rank, ranks=ranks):
            found = Counter(int(pair.id) for pair in dataset.__getitems__(batch))
            assert len(batch) <= 6
            assert all(count == COUNTS[example] for example, count in found.items() if COUNTS[example] <= 6)


def test_under_uniform_an_example_belongs_to_one_rank():
    dataset = made("uniform", order="shuffled")
    owners: dict[str, set[int]] = {}
    for rank in range(3):
        for number in ScheduleSampler(dataset, rank=rank, ranks=3):
            owners.setdefault(dataset[number].id, set()).add(rank)
    assert all(len(ranks) == 1 for ranks in owners.values())
    assert len(owners) == len(COUNTS)


@pytest.mark.parametrize("settings", [BatchSettings(tokens=30, pairs=None), BatchSettings(pairs=5, bucket=3)])
def test_lengths_are_words_unless_others_are_given(settings: BatchSettings):
    data = stream(examples(), "shuffle")
    expected = list(batches(data.schedule, 0, settings, lengths=data.lengths))
    assert list(ScheduleBatchSampler(data, settings)) == expected

    def ones(pairs: Any) -> Any:
        return np.ones(len(pairs.numbers), np.int64)

    assert list(ScheduleBatchSampler(data, settings, lengths=ones)) != expected


def test_uniform_has_no_length_buckets():
    with pytest.raises(SettingsError, match="length buckets are for the others"):
        ScheduleBatchSampler(made("uniform"), BatchSettings(pairs=4, bucket=8))


def test_a_stream_without_a_dataset_has_an_epoch_of_its_own():
    data = stream(examples(), "uniform", order="shuffled")
    sampler = ScheduleBatchSampler(data, BATCHES)
    sampler.set_epoch(3)
    assert list(sampler) == list(batches(data.schedule, 3, BATCHES))


def test_rank_and_ranks_are_those_of_torch_distributed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_rank", lambda: 2)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 5)
    sampler = ScheduleSampler(made("shuffle"))
    assert (sampler.rank, sampler.ranks) == (2, 5)
    sampler = ScheduleSampler(made("shuffle"), rank=0, ranks=1)
    assert (sampler.rank, sampler.ranks) == (0, 1)


def test_several_processes_without_torch_distributed_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingsError, match=r"there are 2 processes .* start it first, or give rank and ranks"):
        ScheduleSampler(made("shuffle"))
    assert len(ScheduleSampler(made("shuffle"), rank=1, ranks=2)) == 22


@pytest.mark.parametrize("share", [{"rank": 0}, {"ranks": 2}, {"rank": 2, "ranks": 2}, {"rank": -1, "ranks": 2}])
def test_half_a_share_is_refused(share: dict[str, int]):
    with pytest.raises(SettingsError, match="give"):
        ScheduleSampler(made("shuffle"), **share)


# -- state ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_rest_of_an_epoch_comes_from_any_place_and_then_the_next_one(schedule: str, even: bool, kind: Any):
    settings = {"order": "shuffled"} if schedule != "shuffle" else {}
    share = {"rank": 1, "ranks": 2, "even": even}
    sampler = sampler_of(kind, made(schedule, **settings), **share)
    sampler.set_epoch(4)
    whole = list(sampler)
    sampler.set_epoch(5)
    following = list(sampler)
    for done in range(len(whole) + 1):
        sampler.set_epoch(4)
        iterator = iter(sampler)
        assert [next(iterator) for _ in range(done)] == whole[:done]
        state = json.loads(json.dumps(sampler.state_dict()))
        other = sampler_of(kind, made(schedule, **settings), **share)
        other.load_state_dict(state)
        assert (other.epoch, other.done) == (4, done)
        other.set_epoch(4)  # as a training loop does that begins with the state's epoch
        assert list(other) == whole[done:]
        other.set_epoch(5)
        assert list(other) == following


def test_a_state_moves_the_dataset_to_its_epoch():
    dataset = made("shuffle")
    sampler = ScheduleSampler(dataset)
    sampler.set_epoch(7)
    state = sampler.state_dict()
    other = made("shuffle")
    ScheduleSampler(other).load_state_dict(state)
    assert other.epoch == 7


def test_a_state_is_used_once():
    sampler = ScheduleSampler(made("shuffle"))
    sampler.load_state_dict(sampler.state_dict(done=40))
    assert len(list(sampler)) == 4
    assert len(list(sampler)) == 44


def test_an_epoch_that_was_left_begins_anew():
    sampler = ScheduleBatchSampler(made("uniform"), BATCHES)
    whole = list(sampler)
    next(iter(sampler))
    assert list(sampler) == whole
    iter(sampler)
    assert sampler.state_dict()["done"] == 0


def test_a_state_that_was_loaded_can_be_saved_again_at_once():
    sampler = ScheduleBatchSampler(made("uniform"), BATCHES)
    state = {**sampler.state_dict(done=3), "epoch": 2}
    sampler.load_state_dict(state)
    assert sampler.state_dict() == state
    iter(sampler)
    assert sampler.state_dict() == state


def test_another_epoch_begins_at_its_beginning():
    sampler = ScheduleBatchSampler(made("uniform"), BATCHES)
    whole = list(sampler)
    sampler.load_state_dict(sampler.state_dict(done=3))
    sampler.set_epoch(1)
    assert (sampler.done, list(sampler)) == (0, whole)


def test_with_workers_a_plain_loader_reads_ahead_so_the_trainer_says_what_is_done():
    dataset = made("uniform")
    sampler = ScheduleBatchSampler(dataset, BATCHES)
    whole = [[pair.reference for pair in dataset.__getitems__(batch)] for batch in sampler]
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=list, num_workers=2)
    for done, _ in enumerate(loader, 1):
        if done == 2:
            break
    assert sampler.state_dict()["done"] > 2
    other = made("uniform")
    again = ScheduleBatchSampler(other, BATCHES)
    again.load_state_dict(sampler.state_dict(done=2))
    loader = DataLoader(other, batch_sampler=again, collate_fn=list, num_workers=2)
    assert [[pair.reference for pair in batch] for batch in loader] == whole[2:]


def refused(state: Any, sampler: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        sampler.load_state_dict(state)
    assert sampler.done == 0


@pytest.mark.parametrize(
    "other",
    [
        stream(examples(), "first"),
        stream(examples(), "shuffle", seed=1),
        stream(examples([*COUNTS, 1]), "shuffle"),
        stream(examples(), "shuffle", limit=3),
    ],
)
def test_a_state_of_other_data_or_of_another_schedule_is_refused(other: Stream):
    state = ScheduleSampler(made("shuffle")).state_dict(done=3)
    refused(state, ScheduleSampler(other), "other data, or of another schedule")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (ScheduleBatchSampler(made("shuffle"), BatchSettings(pairs=7)), "has pairs 6, and here it is 7"),
        (
            ScheduleBatchSampler(made("shuffle"), BatchSettings(pairs=6, tokens=99)),
            "has tokens None, and here it is 99",
        ),
        (ScheduleBatchSampler(made("shuffle"), BatchSettings(pairs=6, bucket=2)), "has bucket 0, and here it is 2"),
        (ScheduleBatchSampler(made("shuffle"), BATCHES, rank=0, ranks=2), "has ranks 1, and here it is 2"),
        (ScheduleBatchSampler(made("shuffle"), BATCHES, even=True), "has even False, and here it is True"),
        (ScheduleSampler(made("shuffle")), "has sampler ScheduleBatchSampler, and here it is ScheduleSampler"),
    ],
)
def test_a_state_of_other_batches_is_refused(other: Any, message: str):
    refused(ScheduleBatchSampler(made("shuffle"), BATCHES).state_dict(done=3), other, message)


def test_the_state_of_any_rank_will_do():
    state = ScheduleBatchSampler(made("shuffle"), BATCHES, rank=0, ranks=2).state_dict(done=2)
    other = ScheduleBatchSampler(made("shuffle"), BATCHES, rank=1, ranks=2)
    whole = list(other)
    other.load_state_dict(state)
    assert list(other) == whole[2:]


@pytest.mark.parametrize("state", [None, {}, {"epoch": 1, "done": 2}])
def test_what_is_no_state_is_refused(state: Any):
    refused(state, ScheduleSampler(made("shuffle")), "this is not a state of ScheduleSampler")


@pytest.mark.parametrize(("epoch", "done"), [(0, 3), (7, 3), (7, 44)])
def test_a_state_of_another_epoch_than_the_one_that_was_set_is_refused(epoch: int, done: int):
    sampler = ScheduleSampler(made("shuffle"))
    state = {**sampler.state_dict(done=done), "epoch": epoch}
    sampler.set_epoch(2)
    refused(state, sampler, rf"stands in epoch {epoch}, and epoch 2 was set; begin with set_epoch\({epoch}\)")


def test_a_run_can_go_back_to_an_earlier_state():
    sampler = ScheduleSampler(made("shuffle"))
    state = {**sampler.state_dict(done=41), "epoch": 1}
    sampler.set_epoch(2)
    next(iter(sampler))
    sampler.load_state_dict(state)
    assert (sampler.epoch, list(sampler)) == (1, [41, 42, 43])


def test_less_than_nothing_is_never_done():
    with pytest.raises(SettingsError, match="-1 are done; give 0 or more"):
        ScheduleSampler(made("shuffle")).state_dict(done=-1)
