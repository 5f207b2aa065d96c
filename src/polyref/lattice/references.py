"""The references of an example before they are merged: checked, numbered, encoded.

In:   references, and how to align them.
Out:  their words; the references as numbers, each distinct one once; the encodings that the alignment needs.
Not:  how a text is cut (text/), aligning and merging (engine.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt

from polyref.align import AlignSettings
from polyref.encode import Choosy, Encoder, Encoding, default_encoder
from polyref.errors import InputError, SettingsError
from polyref.text import TextSettings, Tokens, tokenize
from polyref.text.tokens import is_mark

# The references of one example, in all. Memory grows with its square: 200 MB for soft alignment at the limit.
MAX_WORDS = 10_000
MAX_REFERENCES = 1000
MAX_CHARACTERS = 1_000_000  # of 10,000 words, 100 each: what has more need not be cut to be refused
_WORDS_AT_ONCE = 20_000  # that are encoded: more than most chunks have, and some 30 MB


def tokenized(references: Sequence[str], text: TextSettings, line: int | None = None) -> list[Tokens]:
    """The references of an example, cut into words; refused if one is blank, or if they are too much together."""
    # What a glance tells comes first: to cut a line of a gigabyte takes minutes.
    if len(references) > MAX_REFERENCES:
        problem = f"one example has {len(references):,} references"
        raise InputError(problem, f"give at most {MAX_REFERENCES:,}", line=line)
    _check_total(sum(map(len, references)), MAX_CHARACTERS, "characters", line)
    tokens = [tokenize(reference, text) for reference in references]
    for position, reference in enumerate(tokens, 1):
        if not len(reference):
            raise InputError(f"reference {position} is blank", "give a text, or take it out", line=line)
    _check_total(sum(map(len, tokens)), MAX_WORDS, "words", line)
    return tokens


def _check_total(total: int, most: int, what: str, line: int | None) -> None:
    if total > most:
        problem = f"the references of one example have {total:,} {what}"
        raise InputError(problem, f"split them: {most:,} are the most that are merged", line=line)


def check_references(references: Sequence[str], text: TextSettings, line: int | None = None) -> None:
    """Refuse what `tokenized` refuses, and cut only what may be too much: no word is without characters."""
    is_much = len(references) > MAX_REFERENCES or sum(map(len, references)) > MAX_WORDS
    if is_much or not all(any(map(str.isalnum, reference)) for reference in references):
        tokenized(references, text, line)


class Numbering:
    """The references with each distinct word as a number, and each distinct reference once."""

    def __init__(self, vocabulary: list[str], references: list[tuple[int, ...]], same: list[int]):
        self.vocabulary = vocabulary
        self.references = references
        self.same = same  # for each gold reference, which of the distinct ones it is
        # The words of all distinct references, behind each other; where each reference begins among them, and where the
        # last one ends. Both once more for the kernels.
        self.words = list(chain.from_iterable(references))
        self.starts = list(accumulate(map(len, references), initial=0))
        self.arrays = np.array(self.words, np.int32), np.array(self.starts, np.int64)

    @classmethod
    def of(cls, tokens: Sequence[Tokens]) -> Numbering:
        """Words are numbered in the order in which they are read."""
        vocabulary = list(dict.fromkeys(chain.from_iterable([reference.words for reference in tokens])))
        number = dict(zip(vocabulary, range(len(vocabulary)), strict=True)).__getitem__
        numbered = [tuple(map(number, reference.words)) for reference in tokens]
        distinct = {reference: place for place, reference in enumerate(dict.fromkeys(numbered))}
        return cls(vocabulary, list(distinct), [distinct[reference] for reference in numbered])

    @property
    def firsts(self) -> list[int]:
        """For each distinct reference, the first gold one that equals it."""
        return [self.same.index(distinct) for distinct in range(len(self.references))]

    def marks(self, *, none: bool = False) -> npt.NDArray[np.bool_]:
        """For each word, whether it is punctuation; `none`: no word counts as that."""
        if none:
            return np.zeros(len(self.vocabulary), np.bool_)
        # From a bytearray, because the kernels take only arrays that could be written to.
        return np.frombuffer(bytearray(map(is_mark, self.vocabulary)), np.bool_)


def check_encoder(align: AlignSettings, encoder: object | None) -> None:
    """Refuse an encoder that would not be asked."""
    if align.align == "hard" and encoder is not None:
        raise SettingsError("has no effect with hard alignment", "set align to soft, or leave it out", key="encoder")


def prepare(
    align: AlignSettings, encoder: Encoder | None, tokens: Sequence[Tokens]
) -> tuple[float, Iterator[Encoding] | None]:
    """The baseline and the encodings that an alignment needs, made as they are taken; none if it is hard."""
    if align.align == "hard":
        return 0.0, None
    if encoder is None:
        encoder = default_encoder()
    baseline = 0.0
    if align.similarity == "rescaled":
        baseline = encoder.baseline if align.baseline is None else align.baseline
    if baseline >= 1:
        raise SettingsError(
            f"{encoder.name} takes all words for the same: its baseline is {baseline}; set similarity to cosine"
        )
    sentences = [reference.words for reference in tokens]
    if isinstance(encoder, Choosy):
        encoder.check(sentences)
    return baseline, _encodings(encoder, sentences)


def _encodings(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> Iterator[Encoding]:
    """Of some sentences at a time: memory does not grow with their number."""
    some: list[Sequence[str]] = []
    words = 0
    for sentence in sentences:
        words += len(sentence)
        if some and words > _WORDS_AT_ONCE:
            yield from encoder.encode(some)
            some, words = [], len(sentence)
        some.append(sentence)
    yield from encoder.encode(some)
