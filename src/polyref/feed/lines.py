"""The pairs of an epoch as lines of text, for trainers that read files or pipes.

In:   a stream, an epoch, a format.
Out:  bytes, many lines at a time; prompts with completions or preferences; examples with the references of an epoch,
      for formats that know examples.
Not:  where they go (cli/stream.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, repeat
from typing import Any, Literal

from polyref.errors import InputError, SettingsError
from polyref.example import Example, Reference
from polyref.feed.stream import Pair, Stream
from polyref.schedule import Pairs

LineFormat = Literal["tsv", "jsonl", "parallel", "prompt-completion", "preference"]

_AT_ONCE = 1 << 14  # pairs
_AT_ONCE_OF_LARGE = 1 << 18  # they are read from one end of a large file to the other
_BREAKS = {"tsv": re.compile(rb"[\t\r\n]+"), "parallel": re.compile(rb"[\r\n]+")}


def lines(
    stream: Stream, epoch: int, format: LineFormat, *, start: int = 0, rank: int = 0, ranks: int = 1
) -> Iterator[list[bytes]]:
    """The lines of an epoch, or of the share of one rank of several from the pair numbered `start` on, many at a time.

    One piece of bytes for each file that the format has: parallel text has two, sources and references; the others have
    one. Where the format cannot hold a tab or a line break inside a text, it becomes a space; see `first_broken`.
    """
    # A few pairs first, so that whoever reads them does not wait; then more at a time.
    size, most = _AT_ONCE, _AT_ONCE_OF_LARGE if stream.corpus.is_large else _AT_ONCE
    blocks = partial(stream.schedule.blocks, epoch, rank=rank, ranks=ranks)
    while size < most and (block := next(blocks(start=start, size=size), None)):
        yield _WRITERS[format](stream, block)
        start, size = start + len(block.numbers), 4 * size
    yield from (_WRITERS[format](stream, block) for block in blocks(start=start, size=most))


def first_broken(stream: Stream, format: LineFormat) -> int:
    """The line of the first example with a tab or a line break that a format cannot hold; 0 if there is none."""
    corpus = stream.corpus
    if format == "tsv":
        return min(filter(None, (corpus.broken, corpus.tabbed)), default=0)
    return corpus.broken if format == "parallel" else 0


def _tsv(stream: Stream, block: Pairs) -> list[bytes]:
    sources, references = _columns(stream, block, "tsv")
    pieces = zip(sources, repeat(b"\t"), references, repeat(b"\n"), strict=False)
    return [b"".join(chain.from_iterable(pieces))]


def _parallel(stream: Stream, block: Pairs) -> list[bytes]:
    return [b"\n".join([*column, b""]) for column in _columns(stream, block, "parallel")]


def _columns(stream: Stream, block: Pairs, format: LineFormat) -> tuple[list[bytes], list[bytes]]:
    sources, references = stream.sources(block), stream.references(block)
    if first_broken(stream, format):
        spaced = _BREAKS[format].sub
        return [spaced(b" ", text) for text in sources], [spaced(b" ", text) for text in references]
    return sources, references


def _record(pair: Pair) -> dict[str, Any]:
    record = {"id": pair.id, "source": pair.source, "reference": pair.reference, "gold": pair.is_gold}
    return record if pair.bleu is None else {**record, "bleu": pair.bleu}


def _json(records: Iterable[dict[str, Any]]) -> list[bytes]:
    dump = json.JSONEncoder(ensure_ascii=False).encode
    return ["".join([dump(record) + "\n" for record in records]).encode()]


_WRITERS: dict[LineFormat, Callable[[Stream, Pairs], list[bytes]]] = {
    "tsv": _tsv,
    "jsonl": lambda stream, block: _json(map(_record, stream.some(block))),
    "parallel": _parallel,
    "prompt-completion": lambda stream, block: _json(map(prompt_completion, stream.some(block))),
    "preference": lambda stream, block: _json(preferences(stream, block)),
}


# -- prompts --------------------------------------------------------------------------------------------------------


def prompt_completion(pair: Pair, *, separator: str = " ") -> dict[str, Any]:
    """The pair as fine-tuning libraries of the TRL kind want it: two texts, or two lists of messages.

    Trainers put the two texts together as they are. So the completion begins with the separator, unless white space is
    there already. Messages need none: the reference becomes the assistant's answer.
    """
    source, reference = pair.source, pair.reference
    if isinstance(source, str):
        is_apart = not source or source[-1].isspace() or reference[:1].isspace()
        return {"prompt": source, "completion": reference if is_apart else separator + reference}
    _check_messages(source, pair.id)
    return {"prompt": source, "completion": [{"role": "assistant", "content": reference}]}


def preferences(stream: Stream, block: Pairs, *, separator: str = " ") -> Iterator[dict[str, Any]]:
    """Some pairs as DPO and its kin want them: the reference is chosen, a sentence that the rules leave out rejected.

    A pair whose lattice has no such sentence gives no record. The forms are those of `prompt_completion`.
    """
    pairs = stream.some(block)
    for pair, rejected in zip(pairs, stream.rejected.of(block, [pair.reference for pair in pairs]), strict=True):
        if rejected is not None:
            chosen = prompt_completion(pair, separator=separator)
            other = prompt_completion(replace(pair, reference=rejected.text), separator=separator)
            texts = {"prompt": chosen["prompt"], "chosen": chosen["completion"], "rejected": other["completion"]}
            yield {**texts, "reason": rejected.reason}


def _check_messages(source: Any, id: str) -> None:
    cure = 'give a text, or a list of {"role": ..., "content": ...}'
    if not isinstance(source, list) or not source:
        raise InputError(f'the source of "{id}" is not a prompt', cure)
    for number, message in enumerate(source, 1):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or "content" not in message:
            raise InputError(f'message {number} in the source of "{id}" has no role or no content', cure)
    if source[-1]["role"] == "assistant":
        # The reference is the answer: no chat template expects a second one after it.
        raise InputError(f'the messages of "{id}" end with an answer of the assistant', "take it out of the source")


# -- examples -------------------------------------------------------------------------------------------------------


def examples_of_epoch(stream: Stream, epoch: int) -> Iterator[Example]:
    """The examples in the order of the file, each with the references that the epoch gives it."""
    settings, corpus = stream.schedule.settings, stream.corpus
    if settings.order == "shuffled":
        raise SettingsError("a file of examples has its own order; leave the shuffled order out")
    if settings.schedule == "shuffle" and settings.draws:
        raise SettingsError("a file of examples holds each reference once; leave draw and gold_share out")
    if settings.schedule == "shuffle":
        # Its pairs are those of uniform, and each example holds its own.
        same = replace(stream.settings, schedule=replace(settings, schedule="uniform"))
        stream = Stream(corpus, same, stream.tools)
    for number, own in groupby(_references(stream, epoch), lambda found: found[0]):
        yield Example(corpus.id(number), corpus.source(number), tuple(reference for _, reference in own))


def _references(stream: Stream, epoch: int) -> Iterator[tuple[int, Reference]]:
    """The references of an epoch, one after the other, with the numbers of their examples."""
    corpus = stream.corpus
    weights: Any = corpus.weights
    starts, gold = corpus.starts, corpus.numbers["gold"]
    for block in stream.schedule.blocks(epoch, size=_AT_ONCE):
        texts = stream.references(block)
        for example, slot, text in zip(block.examples.tolist(), block.references.tolist(), texts, strict=True):
            has_weight = weights is not None and slot < gold[example]
            yield example, Reference(text.decode(), float(weights[starts[example] + slot]) if has_weight else 1.0)
