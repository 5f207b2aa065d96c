"""The pairs of an epoch as lines of text, for trainers that read files or pipes.

In:   a stream, an epoch, a format.
Out:  bytes, many lines at a time; examples with the references of an epoch, for formats that know examples.
Not:  where they go (cli/stream.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, Literal

from polyref.errors import SettingsError
from polyref.example import Example, Reference
from polyref.feed.prompts import prompt_completion
from polyref.feed.stream import Pair, Stream
from polyref.schedule import Pairs

LineFormat = Literal["tsv", "jsonl", "parallel", "prompt-completion"]
Writer = Callable[[Stream, Pairs, int], list[bytes]]

_AT_ONCE = 1 << 14  # pairs
_AT_ONCE_OF_LARGE = 1 << 18  # they are read from one end of a large file to the other
_BREAKS = {"tsv": re.compile(rb"[\t\r\n]+"), "parallel": re.compile(rb"[\r\n]+")}


class Share:
    """Which pairs of an epoch: those of one rank of several, from the one numbered `start` on."""

    def __init__(self, start: int = 0, rank: int = 0, ranks: int = 1):
        self.start = start
        self.rank = rank
        self.ranks = ranks

    def blocks(self, stream: Stream, epoch: int) -> Iterator[Pairs]:
        """A few pairs first, so that whoever reads them has not to wait; then more at a time."""
        size, start = _AT_ONCE, self.start
        most = _AT_ONCE_OF_LARGE if stream.corpus.is_large else _AT_ONCE
        while size < most:
            block = next(stream.schedule.blocks(epoch, start=start, rank=self.rank, ranks=self.ranks, size=size), None)
            if block is None:
                return
            yield block
            start, size = start + len(block.numbers), 4 * size
        yield from stream.schedule.blocks(epoch, start=start, rank=self.rank, ranks=self.ranks, size=most)


def lines(stream: Stream, epoch: int, format: LineFormat, share: Share | None = None) -> Iterator[list[bytes]]:
    """The lines of an epoch, many at a time: one piece of bytes for each file that the format has.

    Parallel text has two, sources and references; the others have one. Where the format cannot hold a tab or a line
    break inside a text, it becomes a space; see `first_broken`.
    """
    write = _WRITERS[format]
    for block in (share or Share()).blocks(stream, epoch):
        yield write(stream, block, epoch)


def first_broken(stream: Stream, format: LineFormat) -> int:
    """The line of the first example with a tab or a line break that a format cannot hold; 0 if there is none."""
    corpus = stream.corpus
    if format == "tsv":
        return min(filter(None, (corpus.broken, corpus.tabbed)), default=0)
    return corpus.broken if format == "parallel" else 0


def _tsv(stream: Stream, block: Pairs, epoch: int) -> list[bytes]:
    sources, references = _columns(stream, block, epoch, "tsv")
    pieces = zip(sources, repeat(b"\t"), references, repeat(b"\n"), strict=False)
    return [b"".join(chain.from_iterable(pieces))]


def _parallel(stream: Stream, block: Pairs, epoch: int) -> list[bytes]:
    return [b"\n".join([*column, b""]) for column in _columns(stream, block, epoch, "parallel")]


def _columns(stream: Stream, block: Pairs, epoch: int, format: LineFormat) -> tuple[list[bytes], list[bytes]]:
    sources, references = stream.sources(block), stream.references(block, epoch)
    if first_broken(stream, format):
        spaced = _BREAKS[format].sub
        return [spaced(b" ", text) for text in sources], [spaced(b" ", text) for text in references]
    return sources, references


def _by_pair(record: Callable[[Pair], dict[str, Any]]) -> Writer:
    def write(stream: Stream, block: Pairs, epoch: int) -> list[bytes]:
        return ["".join([_dump(record(pair)) + "\n" for pair in stream.some(block, epoch)]).encode()]

    return write


def _record(pair: Pair) -> dict[str, Any]:
    record = {"id": pair.id, "source": pair.source, "reference": pair.reference, "gold": pair.is_gold}
    return record if pair.bleu is None else {**record, "bleu": pair.bleu}


_dump = json.JSONEncoder(ensure_ascii=False).encode
_WRITERS: dict[LineFormat, Writer] = {
    "tsv": _tsv,
    "jsonl": _by_pair(_record),
    "parallel": _parallel,
    "prompt-completion": _by_pair(prompt_completion),
}


def examples_of_epoch(stream: Stream, epoch: int) -> Iterator[Example]:
    """The examples in the order of the file, each with the references that the epoch gives it."""
    settings, corpus = stream.schedule.settings, stream.corpus
    if settings.order == "shuffled":
        raise SettingsError("a file of examples has its own order; leave --order shuffled out")
    if settings.schedule == "shuffle" and settings.draws:
        raise SettingsError("a file of examples holds each reference once; leave --draw and --gold-share out")
    if settings.schedule == "shuffle":
        # Its pairs are those of uniform, and each example holds its own.
        same = replace(stream.settings, schedule=replace(settings, schedule="uniform"))
        stream = Stream(corpus, same, stream.tools)
    waiting: tuple[int, list[Reference]] | None = None
    for block in stream.schedule.blocks(epoch, size=_AT_ONCE):
        texts = stream.references(block, epoch)
        for example, slot, text in zip(block.examples.tolist(), block.references.tolist(), texts, strict=True):
            if waiting is None or waiting[0] != example:
                if waiting is not None:
                    yield _example(stream, *waiting)
                waiting = example, []
            waiting[1].append(Reference(text.decode(), _weight(stream, example, slot)))
    if waiting is not None:
        yield _example(stream, *waiting)


def _example(stream: Stream, number: int, references: list[Reference]) -> Example:
    return Example(stream.corpus.id(number), stream.corpus.source(number), tuple(references))


def _weight(stream: Stream, example: int, slot: int) -> float:
    weights = stream.corpus.weights
    if weights is None or slot >= stream.corpus.numbers["gold"][example]:
        return 1.0
    return float(weights[int(stream.corpus.starts[example]) + slot])
