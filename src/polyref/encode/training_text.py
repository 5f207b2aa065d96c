"""The text that a language model is trained on, or an encoder measured on.

In:   files: plain text, one sentence per line (.txt), or data sets in any format that polyref reads.
Out:  each distinct sentence once, as words; parts for training and validation; batches of one length.
Not:  the model (language_model.py), measuring (encoder.py). Torch is not needed here.
"""

from __future__ import annotations

import hashlib
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from polyref.data import read
from polyref.data.opening import open_input
from polyref.encode.settings import Use
from polyref.errors import InputError
from polyref.text import TextSettings, tokenize

Sentence = TypeVar("Sentence", bound=Sequence[str])
BASELINE_SENTENCES = 300
_SHARES = 10_000
_MOST_BYTES = 1 << 20
_MOST_WORDS = 100


def read_sentences(
    paths: Iterable[str], use: Use, text: TextSettings, *, one_each: bool = False
) -> dict[tuple[str, ...], None]:
    """The distinct sentences, in order; very long ones in pieces. `one_each`: only the first of each example."""
    found: dict[tuple[str, ...], None] = {}
    for path in paths:
        for line in _texts(path, use, one_each):
            words = tokenize(line, text).words
            for start in range(0, len(words), _MOST_WORDS):
                found[tuple(words[start : start + _MOST_WORDS])] = None
    return found


def unrelated_of(paths: Sequence[str], use: Use, text: TextSettings) -> list[tuple[str, ...]]:
    """Sentences of a person's own files that have nothing to do with each other: one per example, spread evenly."""
    found = list(read_sentences(paths, use, text, one_each=True))
    if len(found) < 2:
        raise InputError(f"{len(found)} sentences", "give more text", file=paths[0])
    return spread(found)


def spread(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Some of the sentences, spread evenly: enough to measure a baseline on."""
    count = min(BASELINE_SENTENCES, len(sentences))
    return [sentences[k * len(sentences) // count] for k in range(count)]


def _texts(path: str, use: Use, one_each: bool) -> Iterator[str]:
    if path.removesuffix(".gz").removesuffix(".zst").endswith(".txt"):
        yield from _lines(path)
        return
    for example in read(path):
        if use != "references":
            if not isinstance(example.source, str):
                raise InputError("the source is not a string", "set use to references", file=path, line=example.line)
            yield example.source
        if use == "references" or (use == "both" and not one_each):
            yield from [reference.text for reference in example.references[: 1 if one_each else None]]


def _lines(path: str) -> Iterator[str]:
    with open_input(path) as opened:
        # A line may be longer than what is read at once, which then may end within a character.
        decoder = getincrementaldecoder("utf-8")()
        for number, line in enumerate(iter(lambda: opened.line(_MOST_BYTES), b""), 1):
            try:
                yield decoder.decode(line, final=len(line) < _MOST_BYTES or line.endswith(b"\n")).strip()
            except UnicodeDecodeError:
                raise InputError("not UTF-8", "save the text as UTF-8", file=path, line=number) from None


def is_held_out(sentence: Sequence[str], share: float) -> bool:
    """Whether a sentence is kept from training: the same ones always, whatever else is in the text."""
    digest = hashlib.sha256(" ".join(sentence).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % _SHARES < share * _SHARES


@dataclass(frozen=True)
class TrainingText:
    """Sentences as numbers of words, by length, and the words that the numbers stand for."""

    words: list[str]
    by_length: dict[int, npt.NDArray[np.int64]]  # length -> sentences x length

    @staticmethod
    def of(sentences: Sequence[Sequence[str]], words: list[str]) -> TrainingText:
        number = {word: k for k, word in enumerate(words)}
        by_length: dict[int, list[list[int]]] = {}
        for sentence in sentences:
            by_length.setdefault(len(sentence), []).append([number[word] for word in sentence])
        return TrainingText(words, {length: np.array(rows) for length, rows in sorted(by_length.items())})

    @property
    def hash(self) -> str:
        """A name for the sentences in their order, which is that of the batches."""
        return hashlib.sha256(b"".join(rows.tobytes() for rows in self.by_length.values())).hexdigest()[:16]

    @property
    def tokens(self) -> int:
        return sum(rows.size for rows in self.by_length.values())

    def batches(self, words_at_once: int, order: np.random.Generator | None = None) -> list[npt.NDArray[np.int64]]:
        """All sentences, in batches of about this many words; in a drawn order, or as they are."""
        cut = []
        for length, rows in self.by_length.items():
            at_once = max(1, words_at_once // length)
            arranged = rows if order is None else rows[order.permutation(len(rows))]
            cut += [arranged[start : start + at_once] for start in range(0, len(rows), at_once)]
        return cut if order is None else [cut[k] for k in order.permutation(len(cut))]


def text_hash(sentences: Iterable[Sequence[str]]) -> str:
    """A name for the text that does not depend on the order of its sentences."""
    lines = "".join([f"{line}\n" for line in sorted(map(" ".join, sentences))])
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:16]
