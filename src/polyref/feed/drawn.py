"""The fresh paths of an epoch, drawn when they are first asked for and kept until the next epoch.

In:   a corpus with lattices, an epoch, an example.
Out:  its new references.
Not:  drawing them (fresh.py), when they are asked for (stream.py).
"""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from polyref.data.corpus import Corpus
from polyref.errors import InputError, OutputError
from polyref.schedule.mixing import Numbers

if TYPE_CHECKING:
    from polyref.expand import Tools
    from polyref.fresh import FreshSettings

_TOGETHER = 128  # examples that are drawn for at once
Drawn = list[tuple[str, float | None]]


class DrawnTexts:
    """What an epoch has drawn, in a temporary file: an epoch may be larger than memory."""

    def __init__(self, corpus: Corpus, settings: FreshSettings, seed: int, tools: Tools | None):
        if not corpus.has_lattices:
            raise InputError(
                "fresh paths need the lattices, and the file has not kept them for every example",
                "make it with polyref expand --keep-lattice",
            )
        self._corpus = corpus
        self._settings = settings
        self._seed = seed
        self._tools = tools
        self.short = 0  # examples that gave fewer than they have places for, in the epochs so far
        self._close: Callable[[], object] = lambda: None
        self._forget(-1)

    def _forget(self, epoch: int) -> None:
        self._epoch = epoch
        self._process = os.getpid()
        self._close()
        with _writing():
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until another epoch, or until nobody has this
        self._close = weakref.finalize(self, self._file.close)
        self._end = 0
        self._places = np.zeros(len(self._corpus), np.int64)  # where in the file, counted from 1; 0: not drawn
        self._sizes = np.zeros(len(self._corpus), np.int32)
        self._last: tuple[int, Drawn] = (-1, [])

    def prepare(self, examples: Numbers, epoch: int) -> None:
        """Draw for several examples: a language model reads many sentences faster than one."""
        # A file that was open when a process split in two belongs to the older one.
        if epoch != self._epoch or self._process != os.getpid():
            self._forget(epoch)
        waiting = examples[self._places[examples] == 0]
        for first in range(0, len(waiting), _TOGETHER):
            self._draw(waiting[first : first + _TOGETHER].tolist(), epoch)

    def of(self, example: int, epoch: int) -> Drawn:
        """The new references of an example, as many as it has places for, with their BLEU."""
        if epoch != self._epoch or self._process != os.getpid() or not self._places[example]:
            self.prepare(np.array([example]), epoch)
        if self._last[0] != example:
            content = os.pread(self._file.fileno(), int(self._sizes[example]), int(self._places[example]) - 1)
            self._last = example, [(text, bleu) for text, bleu in json.loads(content)]
        return self._last[1]

    def _draw(self, numbers: list[int], epoch: int) -> None:
        from polyref.expand import Tools
        from polyref.fresh import draw_fresh

        examples = [self._corpus.example(number) for number in numbers]
        if self._tools is None:
            self._tools = Tools()
        drawn = draw_fresh(examples, self._settings, epoch=epoch, seed=self._seed, tools=self._tools)
        for number, example, pseudo in zip(numbers, examples, drawn, strict=True):
            found: Drawn = [(one.text, round(one.bleu, 2)) for one in pseudo]
            self.short += len(found) < self._places_of(number)
            # Where fewer pass than there are places, they are said again in turn; where none does, the gold ones.
            again = found or [(reference.text, None) for reference in example.references]
            texts = [again[slot % len(again)] for slot in range(self._settings.per_example)]
            content = json.dumps(texts).encode()
            self._write(content)
            self._places[number], self._sizes[number] = self._end + 1, len(content)
            self._end += len(content)

    def _places_of(self, number: int) -> int:
        """How many places an example has for fresh paths: no more than its lattice has new sentences."""
        return min(self._settings.per_example, int(self._corpus.numbers["new"][number]))

    def _write(self, content: bytes) -> None:
        with _writing():
            done = 0
            while done < len(content):
                done += os.pwrite(self._file.fileno(), content[done:], self._end + done)


@contextmanager
def _writing() -> Iterator[None]:
    """The file has no name that a person knows, so the fault must not be taken for one of the output."""
    try:
        yield
    except OSError as error:
        place = tempfile.gettempdir()
        problem = f"{place}: the fresh paths of an epoch cannot be kept ({error.strerror or error})"
        raise OutputError(f"{problem}; name another folder with TMPDIR") from None
