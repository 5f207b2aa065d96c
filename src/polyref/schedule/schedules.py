"""The four schedules (Section 2 of the paper): from many references to a stream of single ones.

In:   how many references each example has, the epoch, the seed.
Out:  pair n of the epoch, for any n: the number of its example, and which of the example's references it takes.
Not:  texts (data/), batches (batches.py), anything that trains (feed/, model/).

Pure functions: nothing is kept between two calls but what would come out the same again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from numbers import Integral
from typing import Literal, NamedTuple, get_args

import numpy as np

from polyref.errors import SettingsError
from polyref.schedule.mixing import Numbers, hashes, key_of, permute
from polyref.schedule.sizes import Sizes
from polyref.settings import setting, settings

ScheduleName = Literal["first", "sample_one", "uniform", "shuffle"]
Order = Literal["given", "shuffled"]
SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)
_MOST = 2**63

BLOCK = 1 << 16  # pairs that are looked up together
_PLACES = 1 << 12  # of an order of examples, between two places whose first pair is known
_ONE = 1 << 9  # pairs that are looked up where one is asked for: the next one will be wanted next

Found = tuple[Numbers, Numbers]  # examples, and which of its references each takes


def shown(name: str) -> str:
    """A schedule's name as the command line has it."""
    return name.replace("_", "-")


@settings(group="Schedule")
class ScheduleSettings:
    """Which schedule, and how references are drawn in it."""

    schedule: ScheduleName = setting(
        "shuffle",
        "first, sample-one, uniform or shuffle.",
        key="name",
        option="--schedule",
        metavar="NAME",
    )
    order: Order = setting(
        "given", "Order of the examples; not for shuffle.", more="given, or shuffled in every epoch."
    )
    seed: int = setting(0, "Decides what is drawn.", at_least=-_MOST, below=_MOST)
    draw: bool = setting(False, "shuffle: draw by weight, not each one once.")
    gold_share: float | None = setting(
        None,
        "Share of gold references drawn.",
        unset="by weight",
        at_least=0,
        at_most=1,
        metavar="SHARE",
    )

    def check_together(self) -> None:
        name = shown(self.schedule)
        if self.order == "shuffled" and self.schedule == "shuffle":
            raise SettingsError("is shuffled, but shuffle orders its pairs itself", "leave it out", key="order")
        if self.draw and self.schedule != "shuffle":
            raise SettingsError(f"belongs to shuffle, not to {name}", "leave it out", key="draw")
        if self.gold_share is not None and self.schedule not in ("sample_one", "shuffle"):
            cure = "leave it out, or choose sample-one or shuffle"
            raise SettingsError(f"has no effect with {name}, which draws nothing", cure, key="gold_share")

    @property
    def draws(self) -> bool:
        """Whether references are drawn, instead of taken one after the other."""
        return self.schedule == "sample_one" or self.draw or self.gold_share is not None


# -- the four of the paper --------------------------------------------------------------------------------------------


def first(n: Numbers, data: Schedule, epoch: int) -> Found:
    """Each example with its first reference."""
    return data.example_at(n, epoch), np.zeros_like(n)


def sample_one(n: Numbers, data: Schedule, epoch: int) -> Found:
    """Each example with one of its references, drawn anew for each epoch."""
    return data.drawn(data.example_at(n, epoch), np.zeros_like(n), epoch)


def uniform(n: Numbers, data: Schedule, epoch: int) -> Found:
    """Each example with each of its references, example after example."""
    return data.pair_at(n, epoch)


def shuffle(n: Numbers, data: Schedule, epoch: int) -> Found:
    """Uniform's pairs, in an order drawn anew for each epoch."""
    examples, references = data.sizes.pair_at(permute(n, data.sizes.pairs, data.key("pairs", epoch)))
    return data.drawn(examples, references, epoch) if data.settings.draws else (examples, references)


_SCHEDULES = {schedule.__name__: schedule for schedule in (first, sample_one, uniform, shuffle)}


class Pairs(NamedTuple):
    """Some pairs of an epoch: their numbers in it, their examples, and which reference each takes."""

    numbers: Numbers
    examples: Numbers
    references: Numbers
    epoch: int = 0


class Schedule:
    """A schedule over a data set; `len` is the number of pairs in an epoch, the same in each."""

    def __init__(self, sizes: Sizes, settings: ScheduleSettings | None = None):
        self.sizes = sizes
        self.settings = settings or ScheduleSettings()
        self._block = lru_cache(maxsize=2)(self._looked_up)
        self._landmarks = lru_cache(maxsize=2)(self._marked)

    def __len__(self) -> int:
        return self.sizes.examples if self.settings.schedule in ("first", "sample_one") else self.sizes.pairs

    def __reduce__(self) -> tuple[object, ...]:
        # What is remembered stays behind when a copy goes to another process.
        return Schedule, (self.sizes, self.settings)

    # -- what the four are made of ------------------------------------------------------------------------------

    def key(self, what: str, epoch: int) -> int:
        return key_of(what, self.settings.seed, epoch)

    def example_at(self, places: Numbers, epoch: int) -> Numbers:
        """The examples at these places of their order."""
        if self.settings.order == "given":
            return places
        return permute(places, self.sizes.examples, self.key("examples", epoch))

    def drawn(self, examples: Numbers, slots: Numbers, epoch: int) -> Found:
        """Each example with one of its references, drawn for a slot of it."""
        hashed = hashes(self.key("references", epoch), examples, slots)
        return examples, self.sizes.draw(examples, hashed, self.settings.gold_share)

    def pair_at(self, numbers: Numbers, epoch: int) -> Found:
        """The pairs with these numbers where all stand in a row, example after example, in their order."""
        if self.settings.order == "given":
            return self.sizes.pair_at(numbers)
        # Counted on from the landmark before each: the sums for all examples would have to be made for every epoch.
        near = np.searchsorted(self._landmarks(epoch), numbers, side="right") - 1
        examples, references = np.empty_like(numbers), np.empty_like(numbers)
        for landmark in np.unique(near).tolist():
            here = np.flatnonzero(near == landmark)
            around, starts = self._around(landmark, epoch)
            place = np.searchsorted(starts, numbers[here], side="right") - 1
            examples[here] = around[place]
            references[here] = numbers[here] - starts[place]
        return examples, references

    def _around(self, landmark: int, epoch: int) -> tuple[Numbers, Numbers]:
        """The examples from one landmark to the next, and the number of each one's first pair."""
        examples = self._behind(landmark, epoch)
        counts = self.sizes.total[examples].astype(np.int64)
        return examples, self._landmarks(epoch)[landmark] + np.cumsum(counts) - counts

    def _behind(self, landmark: int, epoch: int) -> Numbers:
        start = landmark * _PLACES
        places = np.arange(start, min(start + _PLACES, self.sizes.examples), dtype=np.int64)
        return self.example_at(places, epoch)

    def _marked(self, epoch: int) -> Numbers:
        """The number of the first pair at every _PLACES-th place of the order of examples."""
        landmarks = range(-(-self.sizes.examples // _PLACES))
        sums = [self.sizes.total[self._behind(landmark, epoch)].sum(dtype=np.int64) for landmark in landmarks]
        return np.cumsum([0, *sums[:-1]], dtype=np.int64)

    # -- some pairs, one pair, or one after the other -----------------------------------------------------------

    def pairs(self, epoch: int, numbers: Numbers) -> Pairs:
        """The pairs with these numbers, each from 0 to len - 1, in any order."""
        check_epoch(epoch)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"there is no pair {numbers.min()} or {numbers.max()}; an epoch has {len(self):,}")
        return Pairs(numbers, *_SCHEDULES[self.settings.schedule](numbers, self, epoch), epoch)

    def pair(self, number: int, epoch: int) -> tuple[int, int]:
        """One pair of an epoch: its example, and which of the example's references it takes."""
        check_epoch(epoch)
        if not 0 <= number < len(self):
            raise IndexError(f"there is no pair {number}; an epoch has {len(self):,}")
        block, place = divmod(number, _ONE)
        examples, references = self._block(epoch, block)
        return examples[place], references[place]

    def _looked_up(self, epoch: int, block: int) -> tuple[list[int], list[int]]:
        numbers = np.arange(block * _ONE, min((block + 1) * _ONE, len(self)), dtype=np.int64)
        found = self.pairs(epoch, numbers)
        return found.examples.tolist(), found.references.tolist()

    def blocks(
        self, epoch: int, *, start: int = 0, rank: int = 0, ranks: int = 1, size: int = BLOCK
    ) -> Iterator[Pairs]:
        """The pairs of an epoch in order, or the share of one rank of several, from the one numbered `start` on.

        Ranks take turns: by pairs, and under uniform by examples, so that an example's references stay together. The
        shares are all the pairs, each once; `start` counts those of the share.
        """
        check_share(rank, ranks)
        check_epoch(epoch)
        if start < 0:
            raise SettingsError(f"the first pair is {start}; give 0 or more")
        if self.settings.schedule == "uniform" and ranks > 1:
            yield from self._blocks_of_examples(epoch, start, rank, ranks, size)
            return
        for begin in range(rank + start * ranks, len(self), size * ranks):
            yield self.pairs(epoch, np.arange(begin, min(begin + size * ranks, len(self)), ranks, dtype=np.int64))

    def _blocks_of_examples(self, epoch: int, start: int, rank: int, ranks: int, size: int) -> Iterator[Pairs]:
        """Every `ranks`-th example with all its references."""
        for landmark in range(len(self._landmarks(epoch))):
            around, starts = self._around(landmark, epoch)
            mine = (np.arange(len(around)) + landmark * _PLACES) % ranks == rank
            examples, counts = around[mine], self.sizes.total[around[mine]].astype(np.int64)
            slots = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
            numbers, examples = np.repeat(starts[mine], counts) + slots, np.repeat(examples, counts)
            for begin in range(start, len(slots), size):
                part = slice(begin, begin + size)
                yield Pairs(numbers[part], examples[part], slots[part], epoch)
            start = max(0, start - len(slots))

    def share(self, epoch: int, rank: int, ranks: int) -> int:
        """The number of pairs that one rank has in an epoch."""
        check_share(rank, ranks)
        if self.settings.schedule == "uniform" and ranks > 1:
            return sum(len(block.numbers) for block in self.blocks(epoch, rank=rank, ranks=ranks))
        return len(range(rank, len(self), ranks))


def check_share(rank: int, ranks: int) -> None:
    """Refuse a rank that is not one of `ranks`."""
    if not 1 <= ranks < 2**31 or not 0 <= rank < ranks:
        raise SettingsError(f"there is no rank {rank} of {ranks}; give 1 or more ranks, and a rank from 0 to ranks - 1")


def check_epoch(epoch: int) -> None:
    """Refuse what is not the number of an epoch, 3.0 too: it would be taken for 3 here, and for another epoch there."""
    if not isinstance(epoch, Integral):
        raise SettingsError(f"the epoch is {epoch!r}; give a whole number")
    if not 0 <= epoch < _MOST:
        raise SettingsError(f"the epoch is {epoch}; give {'0 or more' if epoch < 0 else 'less than 2^63'}")
