"""Pairs for PyTorch: a DataLoader gives the stream, whatever its workers are."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from torch.utils.data import DataLoader, RandomSampler, Subset

import polyref
from polyref import Example, ExpandSettings, PseudoReference, Reference, SettingsError, expand, sample_examples
from polyref.feed import Pair, Stream, stream
from polyref.feed.pytorch import PairDataset, ScheduleBatchSampler, ScheduleSampler
from polyref.fresh import FreshSettings
from polyref.schedule import SCHEDULES
from polyref.schedule.batches import BatchSettings

# Python 3.12 and later warn of what torch does by default.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

COUNTS = [3, 1, 5, 2, 4, 1, 5, 3, 2, 5]
WAYS = {
    "alone": {},
    "workers": {"num_workers": 2},
    "lasting workers": {"num_workers": 2, "persistent_workers": True},
}


def examples() -> Iterator[Example]:
    """Examples with 1 to 5 references and up to two pseudo-references; every other source is no text."""
    for number, count in enumerate(COUNTS):
        references = tuple(Reference(f"example {number} reference {slot}") for slot in range(count))
        pseudo = tuple(PseudoReference(f"example {number} new {slot}", 90.12 - slot) for slot in range(number % 3))
        source: Any = f"source {number}" if number % 2 else {"image": number, "path": ["a", "b"]}
        yield Example(f"id {number}", source, references, pseudo)


def made(schedule: str, **settings: Any) -> Stream:
    return stream(examples(), schedule, **settings)


def loaded(loader: DataLoader[Any]) -> list[Pair]:
    return [pair for batch in loader for pair in batch]


@pytest.mark.parametrize(
    ("schedule", "way"), [*product(SCHEDULES, ["alone", "lasting workers"]), ("shuffle", "workers")]
)
def test_a_loader_gives_each_epoch_of_the_stream_in_order(schedule: str, way: str):
    data = made(schedule)
    dataset = PairDataset(data)
    loader = DataLoader(dataset, batch_size=4, collate_fn=list, **WAYS[way])
    assert loaded(loader) == list(data.epoch(0))
    for epoch in (1, 5):
        dataset.set_epoch(epoch)
        assert loaded(loader) == list(data.epoch(epoch))


def test_setting_the_sampler_is_enough_for_workers_that_last():
    data = made("uniform", order="shuffled")
    dataset = PairDataset(data)
    sampler = ScheduleBatchSampler(dataset, BatchSettings(pairs=7))
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=list, num_workers=2, persistent_workers=True)
    for epoch in (3, 4):
        sampler.set_epoch(epoch)
        assert loaded(loader) == list(data.epoch(epoch))


def test_workers_that_start_from_nothing_follow_the_epoch():
    data = made("shuffle")
    dataset = PairDataset(data)
    loader = DataLoader(
        dataset,
        batch_size=9,
        collate_fn=list,
        num_workers=1,
        persistent_workers=True,
        multiprocessing_context="spawn",
    )
    for epoch in (2, 3):
        dataset.set_epoch(epoch)
        assert loaded(loader) == list(data.epoch(epoch))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda dataset: pickle.loads(pickle.dumps(dataset))])
def test_the_workers_of_a_copy_follow_its_epoch(copied: Any):
    original = PairDataset(made("shuffle"))
    dataset = copied(original)
    loader = DataLoader(dataset, batch_size=9, collate_fn=list, num_workers=1, persistent_workers=True)
    for epoch in (1, 2):
        dataset.set_epoch(epoch)
        assert loaded(loader) == list(original.stream.epoch(epoch))
    assert original.epoch == 0


def test_a_batch_that_was_left_early_does_not_reach_the_next_epoch():
    data = made("shuffle")
    dataset = PairDataset(data)
    loader = DataLoader(dataset, batch_size=2, collate_fn=list, num_workers=2, persistent_workers=True)
    next(iter(loader))
    dataset.set_epoch(1)
    assert loaded(loader) == list(data.epoch(1))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_batch_is_what_its_items_are(schedule: str):
    dataset = PairDataset(made(schedule))
    dataset.set_epoch(2)
    numbers = list(range(len(dataset)))
    assert dataset.__getitems__(numbers) == [dataset[number] for number in numbers] == list(dataset)
    assert list(dataset) == list(dataset.stream.epoch(2))


def test_pairs_say_whether_they_are_gold_and_how_good_they_are():
    dataset = PairDataset(made("uniform"))
    found = [pair for pair in dataset.__getitems__(range(len(dataset))) if pair.id == "id 2"]
    assert [pair.is_gold for pair in found] == [True] * 5 + [False] * 2
    assert [pair.bleu for pair in found] == [None] * 5 + [90.12, 89.12]
    assert found[0].source == {"image": 2, "path": ["a", "b"]}


@pytest.mark.parametrize("workers", [0, 1])
def test_a_transform_is_applied_to_each_pair(workers: int):
    dataset = PairDataset(made("first"), transform=lambda pair: pair.reference.upper())
    batches = DataLoader(dataset, batch_size=4, collate_fn=list, num_workers=workers)
    assert next(iter(batches)) == [f"EXAMPLE {number} REFERENCE 0" for number in range(4)]
    assert dataset[1] == "EXAMPLE 1 REFERENCE 0"


@pytest.mark.parametrize("number", [-1, 40, 1000])
def test_there_is_no_pair_outside_of_an_epoch(number: int):
    dataset = PairDataset(made("shuffle"))
    assert len(dataset) == 40
    with pytest.raises(IndexError, match="there is no pair"):
        dataset[number]
    with pytest.raises(IndexError, match="there is no pair"):
        dataset.__getitems__([0, number])


@pytest.mark.parametrize("epoch", [-1, 2**63])
def test_an_epoch_that_cannot_be_is_refused(epoch: int):
    with pytest.raises(SettingsError, match="the epoch is"):
        PairDataset(made("shuffle")).set_epoch(epoch)


# -- uniform --------------------------------------------------------------------------------------------------------


TORN = r"tears the references .* ScheduleBatchSampler .* the schedule shuffle"


def test_uniform_refuses_a_random_sampler():
    loader = DataLoader(PairDataset(made("uniform")), batch_size=4, shuffle=True, collate_fn=list)
    with pytest.raises(SettingsError, match=TORN):
        loaded(loader)


def test_workers_refuse_it_too():
    loader = DataLoader(PairDataset(made("uniform")), batch_size=40, shuffle=True, collate_fn=list, num_workers=1)
    iterator = iter(loader)
    with pytest.raises(SettingsError, match=TORN):
        next(iterator)
    iterator._shutdown_workers()  # left to the garbage collector, that takes torch five seconds


@pytest.mark.parametrize("numbers", [[1, 0], [0, 2], [0, 4], [3, 0], [2, 3, 5], [0, 0]])
def test_uniform_refuses_a_batch_that_goes_back_or_tears_an_example(numbers: list[int]):
    dataset = PairDataset(made("uniform", gold_only=True))  # its examples begin at 0, 3, 4, 9 ...
    with pytest.raises(SettingsError, match="tears the references"):
        dataset.__getitems__(numbers)


@pytest.mark.parametrize("numbers", [[], [5], [1, 2, 3], [0, 1, 2, 4, 5], [2, 4], [3, 9, 10]])
def test_uniform_takes_a_batch_of_whole_stretches(numbers: list[int]):
    dataset = PairDataset(made("uniform", gold_only=True))
    assert dataset.__getitems__(numbers) == [dataset[number] for number in numbers]


def test_uniform_takes_the_share_of_a_rank_which_jumps_over_examples():
    dataset = PairDataset(made("uniform", order="shuffled"))
    dataset.set_epoch(1)
    found = []
    for rank in range(3):
        loader = DataLoader(
            dataset, batch_size=4, sampler=ScheduleSampler(dataset, rank=rank, ranks=3), collate_fn=list
        )
        found += loaded(loader)
    assert sorted(map(str, found)) == sorted(map(str, dataset.stream.epoch(1)))


@pytest.mark.parametrize("schedule", ["first", "sample_one", "shuffle"])
def test_the_other_schedules_take_any_order(schedule: str):
    dataset = PairDataset(made(schedule))
    found = loaded(DataLoader(dataset, batch_size=4, sampler=RandomSampler(dataset), collate_fn=list))
    assert sorted(map(str, found)) == sorted(map(str, dataset.stream.epoch(0)))


def test_a_subset_asks_the_dataset():
    dataset = PairDataset(made("uniform"))
    assert loaded(DataLoader(Subset(dataset, range(8)), batch_size=4, collate_fn=list)) == list(dataset)[:8]
    with pytest.raises(SettingsError, match="tears the references"):
        loaded(DataLoader(Subset(dataset, [6, 1, 4, 2]), batch_size=4, collate_fn=list))


@pytest.mark.parametrize("schedule", ["uniform", "shuffle"])
def test_every_reference_is_seen_once_in_every_epoch(schedule: str):
    """A loader that draws a fixed number of captions an image can miss some of them for good; this one misses none."""
    every = sorted(one.text for example in examples() for one in (*example.references, *example.pseudo_references))
    dataset = PairDataset(made(schedule))
    sampler = ScheduleBatchSampler(dataset, BatchSettings(pairs=6))
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=list, num_workers=2, persistent_workers=True)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        assert sorted(pair.reference for pair in loaded(loader)) == every


@pytest.mark.parametrize("schedule", ["uniform", "shuffle"])
def test_workers_draw_the_fresh_paths_of_their_epoch(schedule: str):
    settings = ExpandSettings(per_example=6, keep_lattice=True)
    data = stream(expand(list(sample_examples())[:8], settings=settings), schedule, fresh=FreshSettings(2))
    dataset = PairDataset(data)
    sampler = ScheduleBatchSampler(dataset, BatchSettings(pairs=7))
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=list, num_workers=2, persistent_workers=True)
    new = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        found = loaded(loader)
        assert found == list(data.epoch(epoch)) == list(dataset)
        new.append({pair.reference for pair in found if pair.bleu is not None})
    assert len(new[0]) == len(new[1]) == 16
    assert new[0] != new[1] != new[2]


# -- torch is an extra ----------------------------------------------------------------------------------------------


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_schedules_and_streams_know_nothing_of_torch():
    code = "import sys, polyref.schedule.batches, polyref.feed; print('torch' in sys.modules)"
    assert run_python(code) == "False"


def test_what_torch_needs_is_at_the_front_and_loads_it_when_asked_for():
    code = """
import sys, polyref
assert {"PairDataset", "ScheduleBatchSampler"} <= set(dir(polyref)) - set(polyref.__all__)
before = "torch" in sys.modules
from polyref import PairDataset, ScheduleBatchSampler
from polyref.feed import pytorch
print(before, PairDataset is pytorch.PairDataset, ScheduleBatchSampler is pytorch.ScheduleBatchSampler)
"""
    assert run_python(code) == "False True True"
    with pytest.raises(AttributeError, match="has no attribute 'Pairs'"):
        _ = polyref.Pairs


def test_without_torch_it_is_said_what_to_install():
    code = """
import sys
sys.modules["torch"] = None
from polyref import MissingExtraError
try:
    from polyref import PairDataset
except MissingExtraError as error:
    print(error)
"""
    assert run_python(code) == 'feeding PyTorch needs torch; install it with: pip install "polyref[torch]"'
