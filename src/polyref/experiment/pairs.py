"""Batches of pairs, from a schedule to tensors.

In:   a stream of pairs, how they are cut into batches, the subwords, features of images.
Out:  for any epoch, from any batch on, what the models take.
Not:  the order (schedule/), texts (feed/), padding (model/layers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polyref.features.features import Features
from polyref.feed import Stream
from polyref.fit.processes import Processes
from polyref.model.folder import TrainedModel
from polyref.model.layers import Change, on_device
from polyref.schedule import Pairs
from polyref.schedule.batches import BatchSettings, batches
from polyref.schedule.mixing import Numbers


class Row(NamedTuple):
    """A pair in numbers; where sources are images, the source is the id of one."""

    source: Any
    target: list[int]


@dataclass(frozen=True, slots=True)
class Collation:
    """How texts become what a model takes: through its subwords, or by the features of an image."""

    trained: TrainedModel
    features: Features | None = None

    def rows(self, sources: Sequence[bytes], references: Sequence[bytes]) -> list[Row]:
        words = self.trained.source
        images = [image.decode() for image in sources] if words is None else []
        numbers = images if words is None else words.encode_all(map(self._text, sources))
        return list(map(Row, numbers, self.targets(references)))

    def targets(self, references: Sequence[bytes]) -> list[list[int]]:
        """The tokens of some references."""
        return self.trained.target.encode_all(map(self._text, references))

    def batch(self, rows: Sequence[Row], changes: Sequence[Change] | None = None) -> Any:
        """What the model takes, on its device."""
        sources: Any = [row.source for row in rows]
        if self.features is not None:
            sources = self.features.rows(sources)
        model, targets = self.trained.model, [row.target for row in rows]
        soft = {} if changes is None else {"changes": changes}
        return on_device(model.batch(sources, targets, **soft), next(model.parameters()).device)

    def folded(self, text: str) -> str:
        """A text as the model knows it."""
        return text.lower() if self.trained.fold_case else text

    def _text(self, text: bytes) -> str:
        return self.folded(text.decode())


@dataclass
class PairBatches:
    """The batches of a stream, or of one process of several."""

    stream: Stream
    collation: Collation
    settings: BatchSettings
    processes: Processes
    changes: Callable[[Pairs], Sequence[Change]] | None = None  # of their targets, if these are soft

    def __call__(self, epoch: int, start: int = 0) -> Iterator[Any]:
        """The batches of an epoch, from number `start` of this process's share on."""
        rows_of: dict[int, Row] = {}
        before: dict[int, Row] = {}

        def lengths(pairs: Pairs) -> Numbers:
            # A batch may begin in one block of pairs and end in the next, so that two are kept.
            nonlocal rows_of, before
            fresh = self._encoded(pairs)
            rows_of, before = {**before, **fresh}, fresh
            is_text = self.collation.features is None
            return np.array([max(len(row.source) * is_text, len(row.target)) + 1 for row in fresh.values()], np.int64)

        schedule, rank, ranks = self.stream.schedule, self.processes.rank, self.processes.ranks
        measured = lengths if self.settings.tokens is not None or self.settings.bucket > 0 else None
        for numbers in batches(schedule, epoch, self.settings, lengths=measured, start=start, rank=rank, ranks=ranks):
            pairs = schedule.pairs(epoch, np.array(numbers, np.int64))
            if measured is None:
                rows_of = self._encoded(pairs)
            changes = None if self.changes is None else self.changes(pairs)
            yield self.collation.batch([rows_of[number] for number in numbers], changes)

    def _encoded(self, pairs: Pairs) -> dict[int, Row]:
        rows = self.collation.rows(self.stream.sources(pairs), self.stream.references(pairs))
        return dict(zip(pairs.numbers.tolist(), rows, strict=True))
