"""How long an epoch of each schedule is, in pairs and in updates, so that runs can be compared fairly.

In:   the counts of a data set, and the size of a batch.
Out:  for each schedule its pairs and updates an epoch; how many epochs make as many updates as another run.
Not:  the schedules themselves (schedules.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from polyref.errors import SettingsError
from polyref.schedule.batches import BatchSettings, Lengths, batches
from polyref.schedule.schedules import Schedule
from polyref.schedule.settings import SCHEDULES, ScheduleName, ScheduleSettings
from polyref.schedule.sizes import Sizes


@dataclass(frozen=True, slots=True)
class Account:
    """An epoch of one schedule: its pairs, and its updates, one a batch."""

    schedule: ScheduleName
    pairs: int
    updates: int

    def epochs_for(self, updates: int) -> float:
        """How many epochs of this schedule make so many updates."""
        return updates / self.updates


def accounts(
    sizes: Sizes,
    settings: BatchSettings | None = None,
    *,
    seed: int = 0,
    lengths: Callable[[ScheduleName], Lengths] | None = None,
) -> list[Account]:
    """An account of each schedule over the same data, in the order of the paper.

    By tokens, the updates are those of epoch 0, counted; other epochs may differ by a few, as their order does.
    """
    settings = settings or BatchSettings()
    if settings.tokens is not None and lengths is None:
        raise SettingsError("updates by tokens need the lengths of the pairs; give lengths")
    found = []
    for name in SCHEDULES:
        schedule = Schedule(sizes, ScheduleSettings(name, seed=seed))
        wanted = replace(settings, bucket=0) if name == "uniform" else settings
        if settings.tokens is None:
            assert settings.pairs is not None
            grouped = name == "uniform"
            updates = _grouped(sizes, settings.pairs) if grouped else -(-len(schedule) // settings.pairs)
        else:
            updates = sum(1 for _ in batches(schedule, 0, wanted, lengths=lengths(name) if lengths else None))
        found.append(Account(name, len(schedule), updates))
    return found


def _grouped(sizes: Sizes, most: int) -> int:
    """How many batches of at most so many pairs uniform has: as batches.py cuts them, without making them."""
    updates = waiting = 0
    for first in range(0, sizes.examples, 1 << 16):
        for pairs in sizes.total[first : first + (1 << 16)].tolist():
            if waiting and waiting + pairs > most:
                updates, waiting = updates + 1, 0
            if pairs <= most:
                waiting += pairs
            else:
                updates += -(-pairs // most)
    return updates + (waiting > 0)
