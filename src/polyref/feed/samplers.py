"""Samplers for PyTorch: which pairs come when, for which rank, and from where on.

In:   a PairDataset (or a stream), and what a batch may hold.
Out:  the numbers of pairs in the order of the schedule, one by one or in batches; a state to go on from.
Not:  the order itself (schedule/), the pairs (torch_data.py).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Generic, TypeVar

from polyref.errors import SettingsError
from polyref.feed.stream import Stream
from polyref.feed.torch_data import PairDataset, SharedEpoch
from polyref.schedule.batches import BatchSettings, Lengths, batches, check_batches
from polyref.schedule.schedules import check_share

Item = TypeVar("Item")


class _Sampler(ABC, Generic[Item]):
    """What both samplers share: the epoch, the share of a rank, and the state."""

    def __init__(self, data: PairDataset | Stream, rank: int | None, ranks: int | None, even: bool):
        self.stream = data if isinstance(data, Stream) else data.stream
        # One epoch for both: whoever sets that of the dataset sets the sampler's, and the other way round.
        self._current = SharedEpoch() if isinstance(data, Stream) else data.current
        self.rank, self.ranks = _share(rank, ranks)
        self.even = even
        self._handed = 0, 0  # an epoch, and how many of its items were handed out
        self._waiting: tuple[int, int] | None = None  # the same of a state from which nothing has been read yet

    @abstractmethod
    def _items(self, epoch: int, start: int) -> Iterator[Item]:
        """What this rank gets in an epoch, behind the first `start`."""

    @abstractmethod
    def _count(self, epoch: int) -> int:
        """How many there are in an epoch."""

    def _settings(self) -> dict[str, Any]:
        """What a position depends on, besides the stream."""
        return {"sampler": type(self).__name__, "ranks": self.ranks, "even": self.even}

    def __len__(self) -> int:
        return self._count(self.epoch)

    @property
    def epoch(self) -> int:
        """The current epoch, 0 until it is set."""
        return self._current.number

    @property
    def done(self) -> int:
        """How many were handed out in the current epoch; after a state was loaded, how many are passed over."""
        epoch, done = self._waiting or self._handed
        return done if epoch == self.epoch else 0

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch, in the dataset too. The epoch of a state that was just loaded goes on where it was."""
        self._current.move_to(epoch)
        self._current.is_set = True

    def __iter__(self) -> Iterator[Item]:
        # A DataLoader may ask for several iterators before it reads from the last of them.
        self._handed = self.epoch, self._start()
        return self._from_here()

    def _start(self) -> int:
        return self.done if self._waiting is not None else 0

    def _from_here(self) -> Iterator[Item]:
        epoch, start = self.epoch, self._start()
        self._waiting = None
        self._current.is_set = False
        for done, item in enumerate(self._items(epoch, start), start + 1):
            self._handed = epoch, done
            yield item

    # -- state --------------------------------------------------------------------------------------------------

    def state_dict(self, done: int | None = None) -> dict[str, Any]:
        """Where the epoch stands: what was handed out, or `done` of it.

        A DataLoader with workers reads ahead, so what was handed out is more than what was trained on. torchdata's
        StatefulDataLoader knows that; with another loader, say how many batches (or pairs, where this sampler gives
        pairs) of the epoch are done.
        """
        if done is not None and done < 0:
            raise SettingsError(f"{done} are done; give 0 or more")
        found = self.done if done is None else done
        return {"fingerprint": self.stream.fingerprint, "epoch": self.epoch, "done": found, **self._settings()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state: of the same data, schedule, batches and number of ranks. Any rank's will do."""
        _check_state(state, self.state_dict())
        epoch, done = int(state["epoch"]), int(state["done"])
        if self._current.is_set and epoch != self.epoch:
            # A StatefulDataLoader loads late: its state may be of an epoch that is through, and the next one be set.
            if not (epoch < self.epoch and done >= self._count(epoch)):
                raise SettingsError(
                    f"the state stands in epoch {epoch}, and epoch {self.epoch} was set; "
                    f"begin with set_epoch({epoch}), the state's own"
                )
            self._waiting = None
            return
        self._current.move_to(epoch)
        self._waiting = epoch, done


class ScheduleSampler(_Sampler[int]):
    """The numbers of the pairs, in the order of the schedule: `DataLoader(dataset, batch_size=64, sampler=...)`.

    Of several ranks, each gets every so many-th pair, and under uniform every so many-th example: all pairs, none
    twice. `rank` and `ranks` are those of torch.distributed where it runs. Ranks may get unequal numbers; `even` cuts
    all to the smallest, and `left_out` says how many pairs that leaves out in the current epoch.
    """

    def __init__(
        self, data: PairDataset | Stream, *, rank: int | None = None, ranks: int | None = None, even: bool = False
    ):
        super().__init__(data, rank, ranks, even)
        self._shares: tuple[int, list[int]] = -1, []

    def _items(self, epoch: int, start: int) -> Iterator[int]:
        blocks = self.stream.schedule.blocks(epoch, start=start, rank=self.rank, ranks=self.ranks)
        numbers = (number for block in blocks for number in block.numbers.tolist())
        return islice(numbers, max(0, self._count(epoch) - start)) if self.even else numbers

    def _count(self, epoch: int) -> int:
        shares = self._shares_of(epoch)
        return min(shares) if self.even else shares[self.rank]

    @property
    def left_out(self) -> int:
        """How many pairs no rank gets in the current epoch."""
        return len(self.stream) - self.ranks * len(self) if self.even else 0

    def _shares_of(self, epoch: int) -> list[int]:
        """How many pairs each rank has."""
        schedule = self.stream.schedule
        if schedule.settings.schedule != "uniform" or self.ranks == 1:
            return [len(range(rank, len(schedule), self.ranks)) for rank in range(self.ranks)]
        if self._shares[0] != epoch:  # it changes where examples come in another order
            shares = [
                sum(len(block.numbers) for block in schedule.blocks(epoch, rank=rank, ranks=self.ranks))
                for rank in range(self.ranks)
            ]
            self._shares = epoch, shares
        return self._shares[1]


class ScheduleBatchSampler(_Sampler[list[int]]):
    """Batches of the numbers of pairs: `DataLoader(dataset, batch_sampler=...)`.

    Under uniform, all references of an example are in one batch, unless there are more than a batch holds. `lengths`
    says how long pairs are, for batches by tokens and for length buckets; by default words are counted at spaces. It
    has to say the same again when a run goes on.

    Of several ranks, each gets every so many-th batch: all batches, none twice. `rank` and `ranks` are those of
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
        super().__init__(data, rank, ranks, even)
        self.settings = settings or BatchSettings()
        needs_lengths = self.settings.tokens is not None or self.settings.bucket > 0
        self._lengths = (lengths or self.stream.lengths) if needs_lengths else None
        check_batches(self.stream.schedule, self.settings, self._lengths)
        self._counted: tuple[int, int] = -1, 0

    def _settings(self) -> dict[str, Any]:
        settings = self.settings
        sizes = {"pairs": settings.pairs, "tokens": settings.tokens, "bucket": settings.bucket}
        return {**super()._settings(), **sizes}

    def _items(self, epoch: int, start: int) -> Iterator[list[int]]:
        if not self.even:
            yield from self._batches(epoch, start=start, rank=self.rank, ranks=self.ranks)
            return
        found = self._batches(epoch, start=start * self.ranks)
        while len(turn := list(islice(found, self.ranks))) == self.ranks:  # one for each rank
            yield turn[self.rank]

    def _batches(self, epoch: int, **share: int) -> Iterator[list[int]]:
        return batches(self.stream.schedule, epoch, self.settings, lengths=self._lengths, **share)

    def _count(self, epoch: int) -> int:
        found = self._count_of_all(epoch)
        return found // self.ranks if self.even else len(range(self.rank, found, self.ranks))

    def _count_of_all(self, epoch: int) -> int:
        """How many batches there are for all ranks; counted where that depends on the pairs."""
        schedule, settings = self.stream.schedule, self.settings
        if settings.tokens is None and settings.pairs is not None and schedule.settings.schedule != "uniform":
            return -(-len(schedule) // settings.pairs)
        if self._counted[0] != epoch:
            self._counted = epoch, sum(1 for _ in self._batches(epoch))
        return self._counted[1]

    @property
    def left_out(self) -> int:
        """How many pairs no rank gets in the current epoch."""
        if not self.even:
            return 0
        return sum(map(len, self._batches(self.epoch, start=self.ranks * len(self))))


def _share(rank: int | None, ranks: int | None) -> tuple[int, int]:
    """Which rank of how many this is: as given, or as torch.distributed has it."""
    if rank is not None and ranks is not None:
        check_share(rank, ranks)
        return rank, ranks
    if rank is not None or ranks is not None:
        raise SettingsError("a share is a rank of so many; give both rank and ranks, or neither")
    from torch import distributed

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
        raise SettingsError(f"this is no state of {own['sampler']}; load what its state_dict gave")
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
