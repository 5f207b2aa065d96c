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

import numpy as np

from polyref.data.corpus import Corpus
from polyref.errors import InputError, OutputError
from polyref.expand import Tools
from polyref.fresh import FreshSettings, draw_fresh
from polyref.schedule.mixing import Numbers

_TOGETHER = 128  # examples that are drawn for at once
Drawn = list[tuple[str, float | None]]


class DrawnTexts:
    """What an epoch has drawn, in a temporary file: an epoch may be larger than memory."""

    def __init__(self, corpus: Corpus, settings: FreshSettings, seed: int, tools: Tools | None):
        if not corpus.has_lattices:
            raise InputError(
                "fresh paths need the lattices, and the file has not kept them for every example",
                "expand it anew, and keep the lattices",
            )
        self._corpus = corpus
        self._settings = settings
        self._seed = seed
        self._tools = tools or Tools()
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

    def _is_current(self, epoch: int) -> bool:
        # A file that was open when a process split in two belongs to the older one.
        return epoch == self._epoch and self._process == os.getpid()

    def prepare(self, examples: Numbers, epoch: int) -> None:
        """Draw for several examples: a language model reads many sentences faster than one."""
        if not self._is_current(epoch):
            self._forget(epoch)
        waiting = examples[self._places[examples] == 0]
        for first in range(0, len(waiting), _TOGETHER):
            self._draw(waiting[first : first + _TOGETHER].tolist(), epoch)

    def of(self, example: int, epoch: int) -> Drawn:
        """The new references of an example, as many as it has places for, with their BLEU."""
        if not self._is_current(epoch) or not self._places[example]:
            self.prepare(np.array([example]), epoch)
        if self._last[0] != example:
            content = os.pread(self._file.fileno(), int(self._sizes[example]), int(self._places[example]) - 1)
            self._last = example, [(text, bleu) for text, bleu in json.loads(content)]
        return self._last[1]

    def _draw(self, numbers: list[int], epoch: int) -> None:
        wanted = self._settings.per_example
        examples = [self._corpus.example(number) for number in numbers]
        drawn = draw_fresh(examples, self._settings, epoch=epoch, seed=self._seed, tools=self._tools)
        for number, example, pseudo in zip(numbers, examples, drawn, strict=True):
            found: Drawn = [(one.text, round(one.bleu, 2)) for one in pseudo]
            # An example has no more places for fresh paths than its lattice has new sentences.
            self.short += len(found) < min(wanted, int(self._corpus.numbers["new"][number]))
            # Where fewer pass than there are places, they are repeated in turn; where none does, the gold ones.
            again = found or [(reference.text, None) for reference in example.references]
            content = json.dumps([again[slot % len(again)] for slot in range(wanted)]).encode()
            with _writing():
                done = 0
                while done < len(content):
                    done += os.pwrite(self._file.fileno(), content[done:], self._end + done)
            self._places[number], self._sizes[number] = self._end + 1, len(content)
            self._end += len(content)


@contextmanager
def _writing() -> Iterator[None]:
    """The file has no name that a person knows, so the fault must not be taken for one of the output."""
    try:
        yield
    except OSError as error:
        place = tempfile.gettempdir()
        problem = f"{place}: the fresh paths of an epoch cannot be kept ({error.strerror or error})"
        raise OutputError(f"{problem}; name another folder with TMPDIR") from None
