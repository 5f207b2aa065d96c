"""Batches for `Trainer`: in every epoch as many, and as many for each process.

In:   a PairDataset, what a batch holds, the number of processes and of epochs.
Out:  the batches of the data set's current epoch; every pair in one of them, none in two.
Not:  which batches a process gets (accelerate deals them out in turn), the trainer (trainer.py).

A trainer counts an epoch's batches once, and takes that number for all epochs. Under uniform, where examples come in
another order each time, the number changes; and processes that get unequal numbers wait for each other for ever. So
some batches are cut in two: between two examples, if there are two in it. Batches of one pair are joined instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polyref.errors import SettingsError
from polyref.feed.torch_data import PairDataset
from polyref.schedule.batches import BatchSettings, batches


class EpochBatches:
    """An iterable of batches, for `DataLoader(batch_sampler=...)`. It follows the epoch of the data set."""

    def __init__(self, data: PairDataset, pairs: int, *, processes: int = 1, epochs: int = 1):
        self._data = data
        self._schedule = data.stream.schedule
        # Of very little data, batches as large as asked for would leave some processes without any.
        self._pairs = min(pairs, -(-len(data) // processes))
        self._settings = BatchSettings(self._pairs)
        self._counts: dict[int, int] = {}
        self._cuts: dict[int, tuple[int, int]] = {}
        most = max(self._count(epoch) for epoch in range(epochs if self._varies else 1))
        self._length = -(-most // processes) * processes
        if self._pairs == 1:
            self._length = len(data) // processes * processes
        if len(data) < processes or not all(map(self._can_be_cut, self._counts)):
            raise SettingsError(
                f"{len(data):,} pairs in batches of at most {pairs} cannot be shared out evenly among "
                f"{processes} processes; give larger batches, or fewer processes"
            )

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[list[int]]:
        return self._joined() if self._pairs == 1 else self._cut_up(self._data.epoch)

    def _joined(self) -> Iterator[list[int]]:
        """A single pair cannot be cut: a few batches hold two. The first, so that too little memory is noticed soon."""
        joined = len(self._data) - self._length
        for number in range(joined):
            yield [2 * number, 2 * number + 1]
        for number in range(2 * joined, len(self._data)):
            yield [number]

    def _cut_up(self, epoch: int) -> Iterator[list[int]]:
        missing = self._length - self._count(epoch)
        if missing < 0:
            raise SettingsError(
                f"epoch {epoch} has {self._count(epoch):,} batches, and the trainer counts on {self._length:,}; "
                "say at the beginning how many epochs there are"
            )
        between = min(missing, self._cuts_of(epoch)[0]) if missing else 0
        inside = missing - between
        for batch in self._batches(epoch):
            cut = self._cut(batch, epoch) if between or inside else 0
            if cut and between:
                between -= 1
            elif not cut and inside and len(batch) > 1:
                inside, cut = inside - 1, len(batch) // 2
            else:
                cut = 0
            yield from filter(None, (batch[:cut], batch[cut:]))

    def _batches(self, epoch: int) -> Iterator[list[int]]:
        return batches(self._schedule, epoch, self._settings)

    @property
    def _is_grouped(self) -> bool:
        return self._schedule.settings.schedule == "uniform"

    @property
    def _varies(self) -> bool:
        """Whether the number of batches changes from epoch to epoch."""
        return self._is_grouped and self._schedule.settings.order == "shuffled"

    def _count(self, epoch: int) -> int:
        """How many batches an epoch has before any is cut."""
        key = epoch if self._varies else 0
        if key not in self._counts:
            is_known = not self._is_grouped or self._pairs == 1
            known = -(-len(self._schedule) // self._pairs)
            self._counts[key] = known if is_known else sum(1 for _ in self._batches(key))
        return self._counts[key]

    def _can_be_cut(self, epoch: int) -> bool:
        missing = self._length - self._count(epoch)
        return missing <= 0 or missing <= sum(self._cuts_of(epoch))

    def _cuts_of(self, epoch: int) -> tuple[int, int]:
        """How many batches can be cut between examples, and how many more inside their only example."""
        key = epoch if self._varies else 0
        if key not in self._cuts:
            several = [bool(self._cut(batch, key)) for batch in self._batches(key) if len(batch) > 1]
            self._cuts[key] = sum(several), len(several) - sum(several)
        return self._cuts[key]

    def _cut(self, batch: list[int], epoch: int) -> int:
        """Where to cut a batch so that an example stays whole, as near to the middle as can be; 0 for nowhere."""
        if not self._is_grouped:
            return len(batch) // 2
        examples = self._schedule.pairs(epoch, np.array(batch, np.int64)).examples
        places = np.flatnonzero(np.diff(examples)) + 1
        return int(places[np.argmin(np.abs(places - len(batch) / 2))]) if len(places) else 0
