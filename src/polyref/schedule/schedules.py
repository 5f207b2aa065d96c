"""The four schedules (Section 2 of the paper): from many references to a stream of single ones.

In:   how many references each example has, the epoch, the seed.
Out:  pair n of the epoch, for any n: the number of its example, and which of the example's references it takes.
Not:  texts (data/), batches (batches.py), anything that trains (feed/, model/).

Pure functions: nothing is kept between two calls but what would come out the same again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from polyref.errors import SettingsError
from polyref.schedule.drawing import draw
from polyref.schedule.mixing import Numbers, hashes, key_of
from polyref.schedule.permutation import permute
from polyref.schedule.settings import ScheduleSettings, check_epoch
from polyref.schedule.sizes import Sizes

BLOCK = 1 << 16  # pairs that are looked up together
_PLACES = 1 << 12  # of an order of examples, between two places whose first pair is known
_ONE = 1 << 9  # pairs that are looked up where one is asked for: the next one will be wanted next


class Pairs(NamedTuple):
    """Some pairs of an epoch: their numbers in it, their examples, and which reference each takes."""

    numbers: Numbers
    examples: Numbers
    references: Numbers
    epoch: int = 0

    def part(self, start: int, end: int) -> Pairs:
        """Those from place `start` to `end`, that not included."""
        return Pairs(self.numbers[start:end], self.examples[start:end], self.references[start:end], self.epoch)


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

    # -- the four of the paper ----------------------------------------------------------------------------------

    def pairs(self, epoch: int, numbers: Numbers) -> Pairs:
        """The pairs with these numbers, each from 0 to len - 1, in any order."""
        check_epoch(epoch)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"there is no pair {numbers.min()} or {numbers.max()}; an epoch has {len(self):,}")
        examples, references = getattr(self, f"_{self.settings.schedule}")(numbers, epoch)
        return Pairs(numbers, examples, references, epoch)

    def _first(self, n: Numbers, epoch: int) -> tuple[Numbers, Numbers]:
        """Each example with its first reference."""
        return self._example_at(n, epoch), np.zeros_like(n)

    def _sample_one(self, n: Numbers, epoch: int) -> tuple[Numbers, Numbers]:
        """Each example with one of its references, drawn anew for each epoch."""
        examples = self._example_at(n, epoch)
        return examples, self._drawn(examples, np.zeros_like(n), epoch)

    def _uniform(self, n: Numbers, epoch: int) -> tuple[Numbers, Numbers]:
        """Each example with each of its references, example after example."""
        if self.settings.order == "given":
            return self._pair(n)
        return self._pair_of_shuffled(n, epoch)

    def _shuffle(self, n: Numbers, epoch: int) -> tuple[Numbers, Numbers]:
        """Uniform's pairs, in an order drawn anew for each epoch."""
        examples, references = self._pair(permute(n, self.sizes.pairs, self._key("pairs", epoch)))
        if self.settings.draws:
            return examples, self._drawn(examples, references, epoch)
        return examples, references

    # -- what they are made of ----------------------------------------------------------------------------------

    def _example_at(self, places: Numbers, epoch: int) -> Numbers:
        """The examples at these places of their order."""
        if self.settings.order == "given":
            return places
        return permute(places, self.sizes.examples, self._key("examples", epoch))

    def _pair(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """The pairs with these numbers where all stand in a row, example after example, as in the file."""
        examples = self.sizes.example_of(numbers)
        return examples, numbers - self.sizes.start_of(examples)

    def _pair_of_shuffled(self, numbers: Numbers, epoch: int) -> tuple[Numbers, Numbers]:
        """The same where the examples come in another order: counted on from the landmark before each."""
        landmarks = self._landmarks(epoch)
        near = np.searchsorted(landmarks, numbers, side="right") - 1
        examples, references = np.empty_like(numbers), np.empty_like(numbers)
        for landmark in np.unique(near):
            here = np.flatnonzero(near == landmark)
            around, starts = self._around(int(landmark), epoch)
            place = np.searchsorted(starts, numbers[here], side="right") - 1
            examples[here] = around[place]
            references[here] = numbers[here] - starts[place]
        return examples, references

    def _around(self, landmark: int, epoch: int) -> tuple[Numbers, Numbers]:
        """The examples from one landmark to the next, and the number of each one's first pair."""
        first = landmark * _PLACES
        places = np.arange(first, min(first + _PLACES, self.sizes.examples), dtype=np.int64)
        examples = self._example_at(places, epoch)
        ends = self._landmarks(epoch)[landmark] + np.cumsum(self.sizes.total[examples], dtype=np.int64)
        return examples, ends - self.sizes.total[examples].astype(np.int64)

    def _marked(self, epoch: int) -> Numbers:
        """For every so many places of the order of examples, the number of the first pair there."""
        sums = [0]
        for first in range(0, self.sizes.examples, _PLACES):
            places = np.arange(first, min(first + _PLACES, self.sizes.examples), dtype=np.int64)
            sums.append(int(self.sizes.total[self._example_at(places, epoch)].sum(dtype=np.int64)))
        return np.cumsum(sums[:-1], dtype=np.int64)

    def _drawn(self, examples: Numbers, slots: Numbers, epoch: int) -> Numbers:
        hashed = hashes(self._key("references", epoch), examples, slots)
        return draw(examples, hashed, self.sizes, self.settings.gold_share)

    def _key(self, what: str, epoch: int) -> int:
        return key_of(what, self.settings.seed, epoch)

    # -- one pair, or one after the other -----------------------------------------------------------------------

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
        for first in range(rank + start * ranks, len(self), size * ranks):
            yield self.pairs(epoch, np.arange(first, min(first + size * ranks, len(self)), ranks, dtype=np.int64))

    def _blocks_of_examples(self, epoch: int, start: int, rank: int, ranks: int, size: int) -> Iterator[Pairs]:
        """Every so many-th example with all its references."""
        skip = start
        landmarks = -(-self.sizes.examples // _PLACES)
        for landmark in range(landmarks):
            around, starts = self._around(landmark, epoch)
            mine = (np.arange(len(around)) + landmark * _PLACES) % ranks == rank
            examples, counts = around[mine], self.sizes.total[around[mine]].astype(np.int64)
            slots = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
            found = Pairs(np.repeat(starts[mine], counts) + slots, np.repeat(examples, counts), slots, epoch)
            if skip < len(slots):
                for first in range(skip, len(slots), size):
                    yield found.part(first, first + size)
            skip = max(0, skip - len(slots))

    def share(self, rank: int, ranks: int) -> int:
        """The number of pairs of one rank in epoch 0; under uniform in a shuffled order, it changes with the epoch."""
        check_share(rank, ranks)
        if self.settings.schedule == "uniform" and ranks > 1:
            return sum(len(block.numbers) for block in self.blocks(0, rank=rank, ranks=ranks))
        return len(range(rank, len(self), ranks))


def check_share(rank: int, ranks: int) -> None:
    if not 1 <= ranks < 2**31 or not 0 <= rank < ranks:
        raise SettingsError(f"rank {rank} of {ranks} is no share; give ranks from 1 on, and a rank from 0 to ranks - 1")
