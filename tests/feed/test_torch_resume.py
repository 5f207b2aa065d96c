"""A run that stops in the middle of an epoch and goes on in another process, with torchdata's StatefulDataLoader."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torchdata.stateful_dataloader import StatefulDataLoader

from polyref import Example, Reference, SettingsError
from polyref.feed import Pair, stream
from polyref.feed.pytorch import PairDataset, ScheduleBatchSampler, ScheduleSampler
from polyref.schedule import SCHEDULES
from polyref.schedule.batches import BatchSettings

COUNTS = [3, 1, 5, 2, 4, 1, 3, 2]
EPOCH = 3

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),  # torchdata calls it
]


def run(schedule: str, workers: int, *, by: str = "batch sampler", seed: int = 0, **settings: Any) -> tuple[Any, Any]:
    """Everything made anew: a loader and its sampler."""
    examples = [
        Example(str(number), f"source {number}", tuple(Reference(f"{number} {slot}") for slot in range(count)))
        for number, count in enumerate(COUNTS)
    ]
    dataset = PairDataset(stream(examples, schedule, seed=seed))
    if by == "batch sampler":
        sampler: Any = ScheduleBatchSampler(dataset, BatchSettings(pairs=3))
        choice: dict[str, Any] = {"batch_sampler": sampler}
    else:
        sampler = ScheduleSampler(dataset)
        choice = {"sampler": sampler, "batch_size": 3}
    loader: Any = StatefulDataLoader(dataset, collate_fn=list, num_workers=workers, **choice, **settings)
    return loader, sampler


def epoch_of(run: tuple[Any, Any], epoch: int) -> list[list[Pair]]:
    loader, sampler = run
    sampler.set_epoch(epoch)
    return list(loader)


def stopped(run: tuple[Any, Any], epoch: int, done: int) -> Any:
    """The state after so many batches of an epoch."""
    loader, sampler = run
    sampler.set_epoch(epoch)
    iterator = iter(loader)
    for _ in range(done):
        next(iterator)
    return loader.state_dict()


def goes_on(run: tuple[Any, Any], state: Any) -> tuple[Any, Any]:
    run[0].load_state_dict(state)
    return run


@pytest.mark.parametrize("by", ["batch sampler", "sampler"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_rest_comes_from_any_place_and_then_the_next_epoch(schedule: str, by: str):
    whole, following = epoch_of(run(schedule, 0, by=by), EPOCH), epoch_of(run(schedule, 0, by=by), EPOCH + 1)
    for done in range(len(whole) + 1):
        again = goes_on(run(schedule, 0, by=by), stopped(run(schedule, 0, by=by), EPOCH, done))
        assert epoch_of(again, EPOCH) == whole[done:]
        assert epoch_of(again, EPOCH + 1) == following


@pytest.mark.parametrize(
    ("schedule", "by", "settings", "left"),
    [
        ("uniform", "batch sampler", {"persistent_workers": True}, 6),
        ("uniform", "batch sampler", {}, 0),
        ("shuffle", "sampler", {}, 4),
        ("shuffle", "batch sampler", {"snapshot_every_n_steps": 2}, 6),
        ("sample_one", "sampler", {"persistent_workers": True}, 0),
    ],
)
def test_workers_that_read_ahead_do_not_lose_anything(schedule: str, by: str, settings: Any, left: int):
    whole, following = epoch_of(run(schedule, 0, by=by), EPOCH), epoch_of(run(schedule, 0, by=by), EPOCH + 1)
    done = len(whole) - left
    assert done > 0
    again = goes_on(run(schedule, 2, by=by, **settings), stopped(run(schedule, 2, by=by, **settings), EPOCH, done))
    assert epoch_of(again, EPOCH) == whole[done:]
    assert epoch_of(again, EPOCH + 1) == following


@pytest.mark.parametrize(("workers", "settings"), [(0, {}), (2, {}), (2, {"persistent_workers": True})])
def test_after_a_whole_epoch_the_next_one_comes(workers: int, settings: Any):
    first = run("shuffle", workers, **settings)
    whole = epoch_of(first, EPOCH)
    again = goes_on(run("shuffle", workers, **settings), first[0].state_dict())
    following = epoch_of(again, EPOCH + 1)
    assert following == epoch_of(run("shuffle", 0), EPOCH + 1) != whole


@pytest.mark.parametrize("workers", [0, 1])
def test_a_state_of_another_schedule_is_refused(workers: int):
    loader, sampler = goes_on(run("shuffle", workers, seed=1), stopped(run("shuffle", workers), EPOCH, 2))
    sampler.set_epoch(EPOCH)
    with pytest.raises(SettingsError, match="other data, or of another schedule"):
        iter(loader)


def test_a_loop_that_begins_with_the_wrong_epoch_is_refused():
    loader, sampler = goes_on(run("shuffle", 0), stopped(run("shuffle", 0), EPOCH, 2))
    sampler.set_epoch(0)
    with pytest.raises(SettingsError, match=r"begin with set_epoch\(3\)"):
        iter(loader)


def test_another_process_goes_on_byte_for_byte(tmp_path: Path):
    expected = {}
    for workers in (0, 2):
        first = run("uniform", workers)
        torch.save(stopped(first, EPOCH, 2), tmp_path / f"{workers}.pt")
        expected[str(workers)] = [texts(epoch_of(run("uniform", 0), EPOCH)[2:]), texts(epoch_of(first, EPOCH + 1))]
    done = subprocess.run([sys.executable, __file__, str(tmp_path)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected


def texts(batches: list[list[Pair]]) -> list[list[str]]:
    return [[repr(pair) for pair in batch] for batch in batches]


if __name__ == "__main__":  # the other process
    found = {}
    for workers in (0, 2):
        again = goes_on(run("uniform", workers), torch.load(Path(sys.argv[1]) / f"{workers}.pt"))
        found[str(workers)] = [texts(epoch_of(again, EPOCH)), texts(epoch_of(again, EPOCH + 1))]
    sys.stdout.write(json.dumps(found))
