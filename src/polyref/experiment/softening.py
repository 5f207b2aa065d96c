"""Soft targets in numbers: how the targets of a pair differ from the tokens of its reference.

In:   a stream with soft targets, and the subwords of a model.
Out:  for any pairs of an epoch, the changes of their targets that the models take.
Not:  how a reference could go on (lattice/branches.py), how likely (feed/soft.py), the loss (model/layers.py).

A lattice has words, a model subwords. Where a word begins, the ways to go on are the first subwords of the next words;
inside a word the target is the one subword that comes next. Where no subword begins between two words, as in scripts
without spaces, there is nothing to choose from.

What is found is kept in a temporary file: an example's lattice is walked once in a run, or in an epoch if its
references are fresh ones.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from polyref.experiment.pairs import Collation
from polyref.feed import Stream
from polyref.feed.soft import Choice
from polyref.files import writing
from polyref.model.layers import Change
from polyref.schedule import Pairs
from polyref.schedule.mixing import Numbers
from polyref.text.subwords import EOS

_CURE = "name a folder with more room for soft targets with TMPDIR"
_NONE = -1


class Softening:
    """The changes of the targets of a stream's pairs."""

    def __init__(self, stream: Stream, collation: Collation):
        self.stream = stream
        self.collation = collation
        self._bytes = [len(unit) for unit in collation.trained.target.units()]  # a unit has one letter for each byte
        self._firsts = {"": EOS}  # of a text, the first subword
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until nobody has this
        weakref.finalize(self, self._file.close)
        self._forget(0)

    def _forget(self, epoch: int) -> None:
        self._epoch = epoch
        self._ends = 0
        self._starts = np.full(self.stream.schedule.sizes.pairs, _NONE, np.int64)  # in the file, of each reference
        self._sizes = np.zeros(self.stream.schedule.sizes.pairs, np.int32)

    def of(self, pairs: Pairs) -> list[Change]:
        """The changes of some pairs."""
        if self.stream.settings.fresh is not None and pairs.epoch != self._epoch:
            self._forget(pairs.epoch)
        places = self.stream.schedule.sizes.start_of(pairs.examples) + pairs.references
        for example in np.unique(pairs.examples[self._starts[places] == _NONE]).tolist():
            self._learn(example, pairs.epoch)
        return [self._read(place) for place in places.tolist()]

    def _learn(self, example: int, epoch: int) -> None:
        """Find and keep the changes of all references of an example that are ever read: much is done once for all."""
        sizes, is_one = self.stream.schedule.sizes, self.stream.schedule.settings.schedule == "first"
        slots: Numbers = np.arange(1 if is_one else int(sizes.total[example]), dtype=np.int64)
        whole = Pairs(slots, np.full_like(slots, example), slots, epoch)
        texts = self.stream.references(whole)
        targets = self.collation.targets(texts)
        first = int(sizes.start_of(np.array([example]))[0])
        found = zip(texts, targets, self.stream.choices(whole), strict=True)
        for place, (text, target, choices) in enumerate(found, first):
            self._write(place, self.change(text.decode(), target, choices))

    # -- one reference ------------------------------------------------------------------------------------------

    def change(self, text: str, target: Sequence[int], choices: Sequence[Choice]) -> Change:
        """How the targets of a text differ from its tokens, if it can go on in other ways."""
        steps = {start: step for step, start in enumerate(accumulate(map(self._bytes.__getitem__, target), initial=0))}
        changes: list[tuple[int, int, float]] = []
        for choice in choices:
            step = steps.get(len(self.collation.folded(text[: choice.start]).encode()))
            if step is None:  # a subword reaches over the end of the word before
                continue
            own = target[step] if step < len(target) else EOS
            others: dict[int, float] = {}
            for other, weight in zip(choice.texts[1:], choice.weights[1:], strict=True):
                token = self._first(other)
                if token != own:
                    others[token] = others.get(token, 0.0) + weight
            if others:
                changes += [(step, token, weight) for token, weight in others.items()]
                changes.append((step, own, -sum(others.values())))
        columns = list(zip(*changes, strict=True)) or [(), (), ()]
        return Change(*map(np.array, columns, (np.int64, np.int64, np.float32)))

    def _first(self, text: str) -> int:
        if text not in self._firsts:
            self._firsts[text] = self.collation.targets([text.encode()])[0][0]
        return self._firsts[text]

    # -- the file -----------------------------------------------------------------------------------------------

    def _write(self, place: int, change: Change) -> None:
        places = np.stack([change.steps, change.tokens]).astype(np.int32)
        content = places.tobytes() + change.amounts.tobytes()  # four bytes for each number
        with writing(tempfile.gettempdir(), _CURE):
            done = 0
            while done < len(content):
                done += os.pwrite(self._file.fileno(), content[done:], self._ends + done)
        self._starts[place], self._sizes[place] = self._ends, len(content)
        self._ends += len(content)

    def _read(self, place: int) -> Change:
        content = os.pread(self._file.fileno(), int(self._sizes[place]), int(self._starts[place]))
        steps, tokens, amounts = np.frombuffer(content, np.int32).reshape(3, -1)
        return Change(steps.astype(np.int64), tokens.astype(np.int64), amounts.view(np.float32))
