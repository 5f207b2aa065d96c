"""A data set under a schedule: the pairs that a trainer sees, epoch by epoch.

In:   a file, or examples; a schedule and which references take part.
Out:  pairs of a source and one reference: any one of them, or one after the other from anywhere on.
Not:  the schedules (schedule/), trainers (pytorch.py, trainer.py), output formats (lines.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from polyref.data import Fields, Format, Input
from polyref.data.corpus import Corpus
from polyref.data.indexing import open_index
from polyref.data.reading import Paths
from polyref.errors import SettingsError
from polyref.example import Example
from polyref.expand import Tools
from polyref.feed.drawn import DrawnTexts
from polyref.fresh import FreshSettings
from polyref.schedule import Pairs, Schedule, ScheduleSettings, Sizes
from polyref.schedule.mixing import Numbers
from polyref.schedule.settings import Order, schedule_named

_MOST = 2**31


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Which references take part, and in which schedule.

    `limit` is the most references an example: all gold ones, then pseudo-references by rank. `gold_only` leaves
    pseudo-references out. `fresh` draws other ones for each epoch from the lattices that the file has kept, in the
    place of those that it lists.
    """

    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)
    limit: int | None = None
    gold_only: bool = False
    fresh: FreshSettings | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and not 1 <= self.limit < _MOST:
            raise SettingsError(f"limit is {self.limit}; give {'1 or more' if self.limit < 1 else 'less than 2^31'}")
        if self.gold_only and self.schedule.gold_share is not None:
            raise SettingsError("without pseudo-references all is gold; leave the gold share out")
        if self.gold_only and self.limit is not None:
            raise SettingsError("gold references are never cut; leave the limit out, or let pseudo-references in")
        if self.fresh is not None and (self.gold_only or self.limit is not None):
            other = "limit" if self.limit is not None else "gold only"
            raise SettingsError(f"fresh paths say themselves how many there are; leave {other} out")


@dataclass(frozen=True, slots=True)
class Pair:
    """A source with one reference. `bleu` is that of a pseudo-reference, None for a gold one."""

    id: str
    source: Any
    reference: str
    is_gold: bool
    bleu: float | None = None


class Stream:
    """The pairs of a data set under a schedule. `len` is the number of pairs in an epoch."""

    def __init__(self, corpus: Corpus, settings: StreamSettings | None = None, tools: Tools | None = None):
        self.corpus = corpus
        self.settings = settings or StreamSettings()
        self.tools = tools
        self.schedule = Schedule(self._sizes(), self.settings.schedule)
        self._drawn = None
        if self.settings.fresh is not None:
            self._drawn = DrawnTexts(corpus, self.settings.fresh, self.settings.schedule.seed, tools)

    def __len__(self) -> int:
        return len(self.schedule)

    def __reduce__(self) -> tuple[object, ...]:
        return Stream, (self.corpus, self.settings, self.tools)

    def _sizes(self) -> Sizes:
        """How many references take part."""
        numbers, settings = self.corpus.numbers, self.settings
        gold, pseudo = numbers["gold"], numbers["pseudo"].astype(np.int64)
        if settings.gold_only:
            pseudo = np.zeros_like(pseudo)
        elif settings.fresh is not None:
            pseudo = np.minimum(numbers["new"].astype(np.int64), settings.fresh.per_example)
        elif settings.limit is not None:
            pseudo = np.minimum(pseudo, np.maximum(settings.limit - gold.astype(np.int64), 0))
        total = gold + pseudo
        weights = self.corpus.weights
        if weights is None or not settings.schedule.draws:
            return Sizes(gold, total)
        slots = np.arange(int(total.sum())) - np.repeat(np.cumsum(total) - total, total)
        is_gold = slots < np.repeat(gold, total)
        places = np.repeat(self.corpus.starts[:-1], total) + slots
        taken = np.ones(len(slots))
        taken[is_gold] = weights[places[is_gold]]
        return Sizes(gold, total, taken)

    @cached_property
    def fingerprint(self) -> str:
        """Names all that the pairs depend on, so that a run does not go on with others."""
        return hashlib.blake2b(f"{self.corpus.fingerprint}{self.settings}".encode(), digest_size=16).hexdigest()

    @property
    def short(self) -> int:
        """Examples that gave fewer fresh paths than they have places for, in the epochs that were drawn so far."""
        return 0 if self._drawn is None else self._drawn.short

    # -- pairs --------------------------------------------------------------------------------------------------

    def pair(self, number: int, epoch: int = 0) -> Pair:
        """Pair `number` of an epoch."""
        example, reference = self.schedule.pair(number, epoch)
        return self.some(Pairs(np.array([number]), np.array([example]), np.array([reference]), epoch))[0]

    def epoch(self, epoch: int, *, start: int = 0, rank: int = 0, ranks: int = 1) -> Iterator[Pair]:
        """The pairs of an epoch in order, or the share of one rank of several; from the one numbered `start` on."""
        for block in self.schedule.blocks(epoch, start=start, rank=rank, ranks=ranks, size=1 << 12):
            yield from self.some(block)

    def some(self, pairs: Pairs) -> list[Pair]:
        """Some pairs of an epoch, as the schedule has looked them up."""
        are_texts = self.corpus.numbers["is_text"][pairs.examples].tolist()
        sources = zip(self.sources(pairs), are_texts, strict=True)
        bleus = self._bleus(pairs)
        columns = (
            [id.decode() for id in self.corpus.texts["ids"].many(pairs.examples)],
            [source.decode() if is_text else json.loads(source) for source, is_text in sources],
            [reference.decode() for reference in self.references(pairs)],
            [bleu is None for bleu in bleus],
            bleus,
        )
        return list(map(Pair, *columns))

    def _bleus(self, pairs: Pairs) -> list[float | None]:
        """The BLEU of pseudo-references; None for gold ones, and where those stand in for fresh paths."""
        found: list[float | None] = [None] * len(pairs.examples)
        numbers, starts = self.corpus.numbers, self.corpus.starts
        gold = numbers["gold"][pairs.examples]
        for place in np.flatnonzero(pairs.references >= gold).tolist():
            example, reference = int(pairs.examples[place]), int(pairs.references[place])
            if self._drawn is None:
                found[place] = round(float(numbers["bleus"][int(starts[example]) + reference]), 2)
            else:
                found[place] = self._drawn.of(example, pairs.epoch)[reference - int(gold[place])][1]
        return found

    # -- many at once -------------------------------------------------------------------------------------------

    def sources(self, pairs: Pairs) -> list[bytes]:
        """The sources of some pairs in UTF-8; those that are not texts as JSON."""
        return self.corpus.texts["sources"].many(pairs.examples)

    def references(self, pairs: Pairs) -> list[bytes]:
        """The references of some pairs in UTF-8."""
        starts, texts = self.corpus.starts[pairs.examples], self.corpus.texts["references"]
        if self._drawn is None:
            return texts.many(starts + pairs.references)
        gold = self.corpus.numbers["gold"][pairs.examples].astype(np.int64)
        found = texts.many(starts + np.minimum(pairs.references, gold - 1))
        fresh = np.flatnonzero(pairs.references >= gold)
        self._drawn.prepare(np.unique(pairs.examples[fresh]), pairs.epoch)
        for place in fresh.tolist():
            slot = int(pairs.references[place] - gold[place])
            found[place] = self._drawn.of(int(pairs.examples[place]), pairs.epoch)[slot][0].encode()
        return found

    def lengths(self, pairs: Pairs) -> Numbers:
        """The length of each pair in words cut at spaces: of the source or of the reference, whichever is longer."""
        numbers, starts = self.corpus.numbers, self.corpus.starts
        sources = numbers["source_words"][pairs.examples].astype(np.int64)
        if self._drawn is None:
            words = numbers["reference_words"][starts[pairs.examples] + pairs.references]
        else:
            words = np.array([len(text.decode().split()) for text in self.references(pairs)])
        return np.maximum(sources, words.astype(np.int64))


def stream(
    data: Paths | Iterable[Example],
    schedule: str = "shuffle",
    *,
    order: Order = "given",
    seed: int = 0,
    limit: int | None = None,
    gold_only: bool = False,
    draw: bool = False,
    gold_share: float | None = None,
    fresh: FreshSettings | int | None = None,
    tools: Tools | None = None,
    fields: Fields | None = None,
    format: Format | None = None,
    index: str | Path | None = None,
    reindex: bool = False,
) -> Stream:
    """The pairs of a file (or of examples) under one of first, sample_one, uniform and shuffle.

    A file is indexed once, in the user's cache folder or in `index`; one that has changed since is refused unless
    `reindex` is set. `fresh` may be a number, with the usual settings. See ScheduleSettings and StreamSettings for the
    other choices.
    """
    if isinstance(fresh, int):
        fresh = FreshSettings(fresh)
    settings = StreamSettings(
        ScheduleSettings(schedule_named(schedule), order, seed, draw, gold_share), limit, gold_only, fresh
    )
    if _is_path(data):
        where = None if index is None else Path(index)
        corpus = open_index(Input.of(data, format), fields, folder=where, renew=reindex)  # type: ignore[arg-type]
    else:
        corpus = Corpus.of(data)  # type: ignore[arg-type]
    return Stream(corpus, settings, tools)


def _is_path(data: object) -> bool:
    if isinstance(data, str | Path):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(one, str | Path) for one in data)
