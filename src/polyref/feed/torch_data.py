"""Pairs for PyTorch: a Dataset over a stream, right in worker processes too.

In:   a stream.
Out:  pair n of the current epoch, or a whole batch of pairs at once.
Not:  which pairs form a batch, ranks and going on in the middle of an epoch (samplers.py), tensors (the user's).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from polyref.errors import MissingExtraError, SettingsError
from polyref.feed.stream import Pair, Stream
from polyref.schedule import Pairs, check_epoch
from polyref.schedule.mixing import Numbers

try:
    import torch
    from torch.utils.data import Dataset
except ImportError:
    raise MissingExtraError('feeding PyTorch needs torch; install it with: pip install "polyref[torch]"') from None


class SharedEpoch:
    """The number of the current epoch, in memory that worker processes share.

    Workers hold a copy of the dataset, and persistent ones keep it from epoch to epoch: a plain number would stay what
    it was when they started. `is_set` says that someone has set the epoch and that nothing has been read of it yet.
    """

    def __init__(self) -> None:
        self._number = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]
        self.is_set = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self._number.is_shared():  # a copy that was not made for a worker
            self._number.share_memory_()

    @property
    def number(self) -> int:
        return int(self._number.item())

    def move_to(self, epoch: int) -> None:
        check_epoch(epoch)
        self._number.fill_(epoch)


class PairDataset(Dataset[Any]):
    """The pairs of a stream in the current epoch, for a DataLoader; `transform` makes of each pair what you train on.

    `len` is the number of pairs in an epoch, and item n is pair n of the epoch that `set_epoch` has set last: in this
    process and in its workers, however they were started. Pairs stand in the order of the schedule, so a sampler has
    to keep to it. Under uniform, a batch that tears the references of an example apart is refused. A single item
    cannot be judged: with a batch size of 1, or item by item, the order is the caller's to keep.
    """

    def __init__(self, stream: Stream, transform: Callable[[Pair], Any] | None = None):
        self.stream = stream
        self.transform = transform
        self.current = SharedEpoch()

    def __len__(self) -> int:
        return len(self.stream)

    @property
    def epoch(self) -> int:
        """The current epoch, 0 until it is set."""
        return self.current.number

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch; call it before each one, between two runs through the loader."""
        self.current.move_to(epoch)
        self.current.is_set = True

    def __getitem__(self, number: int) -> Any:
        pair = self.stream.pair(index(number), self.epoch)
        return pair if self.transform is None else self.transform(pair)

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        """A batch: what a DataLoader asks for where it makes batches."""
        wanted = np.array([index(number) for number in numbers], np.int64)
        if wanted.size and not 0 <= int(wanted.min()) <= int(wanted.max()) < len(self):
            raise IndexError(f"there is no pair {wanted.min()} or {wanted.max()}; an epoch has {len(self):,}")
        epoch = self.epoch
        pairs = self.stream.schedule.pairs(epoch, wanted)
        if self.stream.settings.schedule.schedule == "uniform":
            _check_together(pairs, self.stream)
        found = self.stream.some(pairs, epoch)
        return found if self.transform is None else [self.transform(pair) for pair in found]


def _check_together(pairs: Pairs, stream: Stream) -> None:
    """Refuse a batch that jumps from or into the middle of an example, or backwards."""
    jumps = np.flatnonzero(np.diff(pairs.numbers) != 1)
    before, behind = jumps, jumps + 1
    last: Numbers = stream.schedule.sizes.total[pairs.examples[before]].astype(np.int64) - 1
    is_kept = (pairs.references[before] == last) & (pairs.references[behind] == 0)
    if not np.all(is_kept & (pairs.numbers[behind] > pairs.numbers[before])):
        raise SettingsError(
            "this batch of uniform tears the references of an example apart: the sampler does not keep the order; "
            "use ScheduleBatchSampler or ScheduleSampler, or the schedule shuffle if a random order is what you want"
        )
