"""Cut an epoch into batches: all of an example's references together, or pairs of like length together.

In:   a schedule, an epoch, and how much a batch may hold.
Out:  batches as the numbers of their pairs, the same for the same epoch; how many there are under each schedule.
Not:  reading the pairs (feed/), padding them (model/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np

from polyref.errors import SettingsError
from polyref.schedule import SCHEDULES, Pairs, Schedule, ScheduleName, ScheduleSettings, Sizes, check_epoch
from polyref.schedule.mixing import Numbers, key_of, permute
from polyref.schedule.schedules import BLOCK, check_share
from polyref.settings import setting, settings

Lengths = Callable[[Pairs], Numbers]


@settings(group="Counting")
class BatchSettings:
    """What a batch may hold. `tokens` and `bucket` need the lengths of the pairs."""

    pairs: int | None = setting(64, "Pairs per batch.", at_least=1, option="--batch-pairs")
    tokens: int | None = setting(None, "Tokens per batch, padding included.", at_least=1, option="--batch-tokens")
    bucket: int = setting(
        0, "Sort the pairs of this many batches by length, so that little is padded. Not for uniform.", at_least=0
    )

    def check_together(self) -> None:
        if self.pairs is None and self.tokens is None:
            raise SettingsError("a batch has no size", "give pairs, tokens or both", also=("pairs", "tokens"))


def batches(
    schedule: Schedule,
    epoch: int,
    settings: BatchSettings | None = None,
    *,
    lengths: Lengths | None = None,
    start: int = 0,
    rank: int = 0,
    ranks: int = 1,
) -> Iterator[list[int]]:
    """The batches of an epoch, each the numbers of its pairs; or every `ranks`-th of them, the share of a rank.

    Under uniform they are cut between examples, never inside one that fits into a batch. `start` passes over the first
    batches of the share.
    """
    settings = settings or BatchSettings()
    check_batches(schedule, settings, lengths)
    check_share(rank, ranks)
    check_epoch(epoch)
    if start < 0:
        raise SettingsError(f"the first batch is {start}; give 0 or more")
    way = _grouped if schedule.settings.schedule == "uniform" else _bucketed if settings.bucket else _in_order
    return islice(way(schedule, epoch, settings, lengths or _ones), rank + start * ranks, None, ranks)


def check_batches(schedule: Schedule, settings: BatchSettings, lengths: Lengths | None) -> None:
    """Refuse what a schedule cannot have."""
    if settings.bucket and schedule.settings.schedule == "uniform":
        raise SettingsError("uniform keeps an example's references together; length buckets are for the others")
    if (settings.tokens is not None or settings.bucket) and lengths is None:
        raise SettingsError("batches by tokens need the lengths of the pairs; give lengths")


def _ones(block: Pairs) -> Numbers:
    """Lengths where none count."""
    return np.ones(len(block.numbers), np.int64)


def _grouped(schedule: Schedule, epoch: int, settings: BatchSettings, lengths: Lengths) -> Iterator[list[int]]:
    waiting: list[int] = []
    longest = 0
    for numbers, sizes in _examples(schedule, epoch, lengths):
        widest = max(sizes)
        if waiting and not _fits(len(waiting) + len(numbers), max(longest, widest), settings):
            yield waiting
            waiting, longest = [], 0
        if _fits(len(numbers), widest, settings):
            waiting, longest = waiting + numbers, max(longest, widest)
        else:  # one example that is larger than a batch
            yield from _cut(numbers, sizes, settings)
    if waiting:
        yield waiting


def _examples(schedule: Schedule, epoch: int, lengths: Lengths) -> Iterator[tuple[list[int], list[int]]]:
    """The pairs of one example after the other, with their lengths."""
    numbers: list[int] = []
    sizes: list[int] = []
    for block in schedule.blocks(epoch):
        found, measured = block.numbers.tolist(), _listed(lengths, block)
        starts = np.flatnonzero(block.references == 0).tolist()
        for begin, end in pairwise([0, *starts, len(found)]):
            numbers, sizes = numbers + found[begin:end], sizes + measured[begin:end]
            if numbers and end < len(found):  # else the example may go on in the next block
                yield numbers, sizes
                numbers, sizes = [], []
    yield numbers, sizes


def _in_order(schedule: Schedule, epoch: int, settings: BatchSettings, lengths: Lengths) -> Iterator[list[int]]:
    numbers: list[int] = []
    sizes: list[int] = []
    for block in schedule.blocks(epoch):
        numbers += block.numbers.tolist()
        sizes += _listed(lengths, block)
        *whole, last = _cut(numbers, sizes, settings)
        yield from whole
        numbers, sizes = last, sizes[len(sizes) - len(last) :]
    yield from _cut(numbers, sizes, settings)


def _bucketed(schedule: Schedule, epoch: int, settings: BatchSettings, lengths: Lengths) -> Iterator[list[int]]:
    # A window holds `bucket` batches' worth of pairs; by tokens, that is taken from batches of 32 tokens per pair.
    pairs = settings.pairs or max(1, (settings.tokens or 1) // 32)
    for window, block in enumerate(schedule.blocks(epoch, size=pairs * settings.bucket)):
        sizes = np.asarray(lengths(block))
        order = np.argsort(sizes, kind="stable")
        found = list(_cut(block.numbers[order].tolist(), sizes[order].tolist(), settings))
        key = key_of("batches", schedule.settings.seed, epoch, window)
        for place in permute(np.arange(len(found), dtype=np.int64), len(found), key).tolist():
            yield found[place]


def _cut(numbers: Sequence[int], sizes: Sequence[int], settings: BatchSettings) -> Iterator[list[int]]:
    """Batches of pairs in their order, each as full as it may be; a pair that is too long stands alone."""
    begin, longest = 0, 0
    for end, size in enumerate(sizes):
        if end > begin and not _fits(end - begin + 1, max(longest, size), settings):
            yield list(numbers[begin:end])
            begin, longest = end, 0
        longest = max(longest, size)
    if begin < len(numbers):
        yield list(numbers[begin:])


def _fits(pairs: int, longest: int, settings: BatchSettings) -> bool:
    if settings.pairs is not None and pairs > settings.pairs:
        return False
    return settings.tokens is None or pairs * longest <= settings.tokens


def _listed(lengths: Lengths, block: Pairs) -> list[int]:
    found: list[int] = np.asarray(lengths(block)).tolist()
    return found


# -- how many there are ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Account:
    """An epoch of one schedule: its pairs, and its updates, one per batch. Runs are compared fairly by updates."""

    schedule: ScheduleName
    pairs: int
    updates: int

    def epochs_for(self, updates: int) -> float:
        """The number of epochs of this schedule that make as many updates."""
        return updates / self.updates


def accounts(
    sizes: Sizes, settings: BatchSettings | None = None, *, seed: int = 0, lengths: Lengths | None = None
) -> list[Account]:
    """An account of each schedule over the same data, in the order of the paper.

    By tokens, the updates are those of epoch 0, counted; other epochs may differ by a few, as their order does.
    """
    settings = settings or BatchSettings()
    found = []
    for name in SCHEDULES:
        schedule = Schedule(sizes, ScheduleSettings(name, seed=seed))
        own = replace(settings, bucket=0) if name == "uniform" else settings
        found.append(Account(name, len(schedule), count_batches(schedule, 0, own, lengths)))
    return found


def count_batches(schedule: Schedule, epoch: int, settings: BatchSettings, lengths: Lengths | None = None) -> int:
    """How many batches an epoch has. By tokens they are made and counted; else the numbers of references tell."""
    most = settings.pairs
    if most is None or settings.tokens is not None:
        return sum(1 for _ in batches(schedule, epoch, settings, lengths=lengths))
    if schedule.settings.schedule != "uniform":
        return -(-len(schedule) // most)
    updates = waiting = 0
    for first in range(0, schedule.sizes.examples, BLOCK):  # as _grouped cuts them
        places = np.arange(first, min(first + BLOCK, schedule.sizes.examples), dtype=np.int64)
        for pairs in schedule.sizes.total[schedule.example_at(places, epoch)].tolist():
            if waiting and waiting + pairs > most:
                updates, waiting = updates + 1, 0
            if pairs <= most:
                waiting += pairs
            else:
                updates += -(-pairs // most)
    return updates + (waiting > 0)
