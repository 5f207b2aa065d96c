"""Pairs for PyTorch: a Dataset over a stream, and samplers that keep to its schedule.

In:   a stream, and what a batch may hold.
Out:  pair n of the current epoch, in worker processes too; the numbers of pairs in the order of the schedule, one by
      one or in batches, for one rank of several; a state to go on from.
Not:  the order itself (schedule/), tensors (the user's).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from operator import index
from typing import Any, Generic, TypeVar

import numpy as np

from polyref.errors import MissingExtraError, SettingsError
from polyref.feed.stream import Pair, Stream
from polyref.schedule import Pairs, check_epoch
from polyref.schedule.batches import BatchSettings, Lengths, batches, check_batches, count_batches
from polyref.schedule.schedules import check_share

try:
    import torch
    from torch import distributed
    from torch.utils.data import Dataset
except ImportError:
    raise MissingExtraError('feeding PyTorch needs torch; install it with: pip install "polyref[torch]"') from None

Item = TypeVar("Item")


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
        # In memory that worker processes share: they hold a copy of the dataset, and persistent ones keep it from epoch
        # to epoch, so that a plain number would stay what it was when they started.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]
        self.is_epoch_set = False  # someone has set the epoch, and nothing has been read of it yet

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self._epoch.is_shared():  # a copy that was not made for a worker
            self._epoch.share_memory_()

    def __len__(self) -> int:
        return len(self.stream)

    @property
    def epoch(self) -> int:
        """The current epoch, 0 until it is set."""
        return int(self._epoch.item())

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch; call it before each one, between two runs through the loader."""
        check_epoch(epoch)
        self._epoch.fill_(epoch)
        self.is_epoch_set = True

    def __getitem__(self, number: int) -> Any:
        pair = self.stream.pair(index(number), self.epoch)
        return pair if self.transform is None else self.transform(pair)

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        """A batch: what a DataLoader asks for where it makes batches."""
        wanted = np.array([index(number) for number in numbers], np.int64)
        pairs = self.stream.schedule.pairs(self.epoch, wanted)
        if self.stream.settings.schedule.schedule == "uniform":
            _check_together(pairs, self.stream)
        found = self.stream.some(pairs)
        return found if self.transform is None else [self.transform(pair) for pair in found]


def _check_together(pairs: Pairs, stream: Stream) -> None:
    """Refuse a batch that jumps from or into the middle of an example, or backwards."""
    jumps = np.flatnonzero(np.diff(pairs.numbers) != 1)
    before, behind = jumps, jumps + 1
    last = stream.schedule.sizes.total[pairs.examples[before]].astype(np.int64) - 1
    is_kept = (pairs.references[before] == last) & (pairs.references[behind] == 0)
    if not np.all(is_kept & (pairs.numbers[behind] > pairs.numbers[before])):
        raise SettingsError(
            "this batch of uniform tears the references of an example apart: the sampler does not keep the order; "
            "use ScheduleBatchSampler or ScheduleSampler, or the schedule shuffle if a random order is what you want"
        )


# -- samplers -------------------------------------------------------------------------------------------------------


class _Sampler(Generic[Item]):
    """What both samplers share: the epoch, the share of a rank, and the state."""

    def __init__(
        self, data: PairDataset | Stream, *, rank: int | None = None, ranks: int | None = None, even: bool = False
    ):
        # One epoch for both: whoever sets that of the dataset sets the sampler's, and the other way round.
        self._data = PairDataset(data) if isinstance(data, Stream) else data
        self.stream = self._data.stream
        self.rank, self.ranks = _share(rank, ranks)
        self.even = even
        self._counted = -1, 0  # an epoch, and what was counted in it
        self._handed = 0, 0  # an epoch, and how many of its items were handed out
        self._waiting: tuple[int, int] | None = None  # the same of a state from which nothing has been read yet

    def _items(self, epoch: int, start: int) -> Iterator[Item]:
        """What this rank gets in an epoch, behind the first `start`."""
        raise NotImplementedError

    def _number(self, epoch: int) -> int:
        """How many items this rank gets in an epoch."""
        raise NotImplementedError

    def _made_with(self) -> dict[str, Any]:
        """What a position depends on, besides the stream."""
        return {"sampler": type(self).__name__, "ranks": self.ranks, "even": self.even}

    def _count(self, epoch: int) -> int:
        if self._counted[0] != epoch:
            self._counted = epoch, self._number(epoch)
        return self._counted[1]

    def __len__(self) -> int:
        return self._count(self.epoch)

    @property
    def epoch(self) -> int:
        """The current epoch, 0 until it is set."""
        return self._data.epoch

    @property
    def done(self) -> int:
        """How many were handed out in the current epoch; after a state was loaded, how many are passed over."""
        epoch, done = self._waiting or self._handed
        return done if epoch == self.epoch else 0

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch, in the dataset too. The epoch of a state that was just loaded goes on where it was."""
        self._data.set_epoch(epoch)

    def __iter__(self) -> Iterator[Item]:
        # A DataLoader may ask for several iterators before it reads from the last of them.
        self._handed = self.epoch, self._start()
        return self._from_here()

    def _start(self) -> int:
        return self.done if self._waiting is not None else 0

    def _from_here(self) -> Iterator[Item]:
        epoch, start = self.epoch, self._start()
        self._waiting = None
        self._data.is_epoch_set = False
        for done, item in enumerate(self._items(epoch, start), start + 1):
            self._handed = epoch, done
            yield item

    def state_dict(self, done: int | None = None) -> dict[str, Any]:
        """Where the epoch stands: what was handed out, or `done` of it.

        A DataLoader with workers reads ahead, so what was handed out is more than what was trained on. torchdata's
        StatefulDataLoader knows that; with another loader, say how many batches (or pairs, where this sampler gives
        pairs) of the epoch are done.
        """
        if done is not None and done < 0:
            raise SettingsError(f"{done} are done; give 0 or more")
        found = self.done if done is None else done
        return {"fingerprint": self.stream.fingerprint, "epoch": self.epoch, "done": found, **self._made_with()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state: of the same data, schedule, batches and number of ranks. Any rank's will do."""
        _check_state(state, self.state_dict())
        epoch, done = int(state["epoch"]), int(state["done"])
        was_set = self._data.is_epoch_set
        if was_set and epoch != self.epoch:
            # A StatefulDataLoader loads late: its state may be of an epoch that is through, and the next one be set.
            if not (epoch < self.epoch and done >= self._count(epoch)):
                raise SettingsError(
                    f"the state stands in epoch {epoch}, and epoch {self.epoch} was set; "
                    f"begin with set_epoch({epoch}), the state's own"
                )
            self._waiting = None
            return
        self._data.set_epoch(epoch)
        self._data.is_epoch_set = was_set
        self._waiting = epoch, done


class ScheduleSampler(_Sampler[int]):
    """The numbers of the pairs, in the order of the schedule: `DataLoader(dataset, batch_size=64, sampler=...)`.

    Of several ranks, each gets every `ranks`-th pair, and under uniform every `ranks`-th example: all pairs, none
    twice. `rank` and `ranks` are those of torch.distributed where it runs. Ranks may get unequal numbers; `even` cuts
    all to the smallest, and `left_out` says how many pairs that leaves out in the current epoch.
    """

    def _items(self, epoch: int, start: int) -> Iterator[int]:
        blocks = self.stream.schedule.blocks(epoch, start=start, rank=self.rank, ranks=self.ranks)
        numbers = (number for block in blocks for number in block.numbers.tolist())
        return islice(numbers, max(0, self._count(epoch) - start)) if self.even else numbers

    def _number(self, epoch: int) -> int:
        ranks = range(self.ranks) if self.even else [self.rank]
        return min(self.stream.schedule.share(epoch, rank, self.ranks) for rank in ranks)

    @property
    def left_out(self) -> int:
        """How many pairs no rank gets in the current epoch."""
        return len(self.stream) - self.ranks * len(self) if self.even else 0


class ScheduleBatchSampler(_Sampler[list[int]]):
    """Batches of the numbers of pairs: `DataLoader(dataset, batch_sampler=...)`.

    Under uniform, all references of an example are in one batch, unless there are more than a batch holds. `lengths`
    says how long pairs are, for batches by tokens and for length buckets; by default words are counted at spaces. It
    has to say the same again when a run goes on.

    Of several ranks, each gets every `ranks`-th batch: all batches, none twice. `rank` and `ranks` are those of
    torch.distributed where it runs. Some ranks may get one batch more than others; `even` leaves these out, and
    `left_out` says how many pairs they hold in the current epoch.
    """

    def __init__(
        self,
        data: PairDataset | Stream,
        settings: BatchSettings | None = None,
        *,
        lengths: Lengths | None = None,
        rank: int | None = None,
        ranks: int | None = None,
        even: bool = False,
    ):
        super().__init__(data, rank=rank, ranks=ranks, even=even)
        self.settings = settings or BatchSettings()
        needs_lengths = self.settings.tokens is not None or self.settings.bucket > 0
        self._lengths = (lengths or self.stream.lengths) if needs_lengths else None
        check_batches(self.stream.schedule, self.settings, self._lengths)

    def _made_with(self) -> dict[str, Any]:
        return {**super()._made_with(), **asdict(self.settings)}

    def _items(self, epoch: int, start: int) -> Iterator[list[int]]:
        if not self.even:
            yield from self._batches(epoch, start=start, rank=self.rank, ranks=self.ranks)
            return
        found = self._batches(epoch, start=start * self.ranks)
        while len(turn := list(islice(found, self.ranks))) == self.ranks:  # one for each rank
            yield turn[self.rank]

    def _batches(self, epoch: int, **share: int) -> Iterator[list[int]]:
        return batches(self.stream.schedule, epoch, self.settings, lengths=self._lengths, **share)

    def _number(self, epoch: int) -> int:
        found = count_batches(self.stream.schedule, epoch, self.settings, self._lengths)
        return found // self.ranks if self.even else len(range(self.rank, found, self.ranks))

    @property
    def left_out(self) -> int:
        """How many pairs no rank gets in the current epoch."""
        return sum(map(len, self._batches(self.epoch, start=self.ranks * len(self)))) if self.even else 0


def _share(rank: int | None, ranks: int | None) -> tuple[int, int]:
    """Which rank of how many this is: as given, or as torch.distributed has it."""
    if rank is not None and ranks is not None:
        check_share(rank, ranks)
        return rank, ranks
    if rank is not None or ranks is not None:
        raise SettingsError("a share is one rank of several; give both rank and ranks, or neither")
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    if os.environ.get("WORLD_SIZE", "1") != "1":
        # Every process would see all pairs, and nobody would notice.
        raise SettingsError(
            f"there are {os.environ['WORLD_SIZE']} processes (WORLD_SIZE), and torch.distributed does not run yet; "
            "start it first, or give rank and ranks"
        )
    return 0, 1


def _check_state(state: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse a state that means something else here."""
    if not isinstance(state, Mapping) or any(name not in state for name in own):
        raise SettingsError(f"this is not a state of {own['sampler']}; load what its state_dict gave")
    if state["fingerprint"] != own["fingerprint"]:
        raise SettingsError(
            "the state is of other data, or of another schedule, seed or limit; make the stream as it was, "
            "or start without the state"
        )
    for name in own:
        if name not in ("epoch", "done") and state[name] != own[name]:
            raise SettingsError(
                f"the state has {name} {state[name]}, and here it is {own[name]}; "
                "make the sampler as it was, or start without the state"
            )
