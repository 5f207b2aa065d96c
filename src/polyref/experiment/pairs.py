"""Batches of pairs, from a schedule to tensors.

In:   a stream of pairs, how they are cut into batches, the subwords, features of images.
Out:  for any epoch, from any batch on, what the models take.
Not:  the order (schedule/), texts (feed/), padding (model/layers.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyref.experiment.inputs import Vocabularies
from polyref.features.features import Features
from polyref.feed import Stream
from polyref.fit.processes import Processes
from polyref.model.layers import on_device
from polyref.schedule import Pairs
from polyref.schedule.batches import BatchSettings, batches
from polyref.schedule.mixing import Numbers


@dataclass(frozen=True, slots=True)
class Row:
    """A pair in numbers; `image` in the place of source tokens where sources are images."""

    source: list[int]
    image: str
    target: list[int]


@dataclass(frozen=True, slots=True)
class Collation:
    """How texts become what a model takes: through subwords, or by the features of an image."""

    model: Any  # of one of the KINDS
    words: Vocabularies
    features: Features | None
    fold_case: bool

    def rows(self, sources: Sequence[bytes], references: Sequence[bytes]) -> list[Row]:
        targets = self.words.target.encode_all(map(self._text, references))
        if self.words.source is None:
            return [Row([], image.decode(), target) for image, target in zip(sources, targets, strict=True)]
        numbers = self.words.source.encode_all(map(self._text, sources))
        return [Row(source, "", target) for source, target in zip(numbers, targets, strict=True)]

    def batch(self, rows: Sequence[Row], *, with_targets: bool = True) -> Any:
        """What the model takes, on its device."""
        sources: Any = [row.source for row in rows]
        if self.features is not None:
            sources = self.features.rows([row.image for row in rows])
        found = self.model.batch(sources, [row.target for row in rows] if with_targets else None)
        return on_device(found, next(self.model.parameters()).device)

    def _text(self, text: bytes) -> str:
        found = text.decode()
        return found.lower() if self.fold_case else found


class PairBatches:
    """The batches of a stream, or of one process of several."""

    def __init__(
        self, stream: Stream, collation: Collation, settings: BatchSettings, processes: Processes | None = None
    ):
        self._stream = stream
        self._collation = collation
        self._settings = settings
        self._processes = processes or Processes()

    def __call__(self, epoch: int, start: int = 0) -> Iterator[Any]:
        """The batches of an epoch, from number `start` of this process's share on."""
        for numbers in self.numbers(epoch, start):
            yield self._collation.batch([self._rows_of[number] for number in numbers])

    def numbers(self, epoch: int, start: int = 0) -> Iterator[list[int]]:
        """The same as the numbers of their pairs in the epoch."""
        self._rows_of: dict[int, Row] = {}
        before: dict[int, Row] = {}

        def lengths(pairs: Pairs) -> Numbers:
            # A batch may begin in one block of pairs and end in the next, so that two are kept.
            nonlocal before
            fresh = self._encoded(pairs)
            self._rows_of, before = {**before, **fresh}, fresh
            return np.array([max(len(row.source), len(row.target)) + 1 for row in fresh.values()], np.int64)

        measured = self._settings.tokens is not None or self._settings.bucket > 0
        share = {"rank": self._processes.rank, "ranks": self._processes.ranks, "start": start}
        for numbers in batches(
            self._stream.schedule, epoch, self._settings, lengths=lengths if measured else None, **share
        ):
            if not measured:
                self._rows_of = self._encoded(self._stream.schedule.pairs(epoch, np.array(numbers, np.int64)))
            yield numbers

    def _encoded(self, pairs: Pairs) -> dict[int, Row]:
        rows = self._collation.rows(self._stream.sources(pairs), self._stream.references(pairs))
        return dict(zip(pairs.numbers.tolist(), rows, strict=True))
