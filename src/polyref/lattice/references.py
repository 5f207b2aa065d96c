"""The references of an example before they are merged: checked, numbered, encoded.

In:   tokenised references, and how to align them.
Out:  the references as numbers, each distinct one once; the encodings that the alignment needs.
Not:  cutting texts (text/), aligning and merging (engine.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt

from polyref.align import AlignSettings
from polyref.encode import Choosy, Encoder, Encoding, default_encoder
from polyref.errors import InputError, SettingsError
from polyref.text import Tokens
from polyref.text.tokens import is_mark

# The references of one example, in all. Memory grows with its square: 200 MB for soft alignment at the limit.
MAX_WORDS = 10_000
MAX_REFERENCES = 1000
_WORDS_AT_ONCE = 20_000  # that are encoded: more than most chunks have, and some 30 MB


def check_words(tokens: Sequence[Tokens], line: int | None = None) -> None:
    """Refuse references that are blank, or that are too long together."""
    for position, reference in enumerate(tokens, 1):
        if not len(reference):
            raise InputError(f"reference {position} is blank", "give a text, or take it out", line=line)
    if len(tokens) > MAX_REFERENCES:
        raise InputError(f"one example has {len(tokens):,} references", f"give at most {MAX_REFERENCES:,}", line=line)
    total = sum(map(len, tokens))
    if total > MAX_WORDS:
        raise InputError(
            f"the references of one example have {total:,} words",
            f"split them: {MAX_WORDS:,} are the most that are merged",
            line=line,
        )


@dataclass(frozen=True, eq=False)
class Numbering:
    """The references with each distinct word as a number, and each distinct reference once."""

    vocabulary: list[str]
    references: list[tuple[int, ...]]
    same: list[int]  # for each gold reference, which of the distinct ones it is

    @classmethod
    def of(cls, tokens: Sequence[Tokens]) -> Numbering:
        """Words are numbered in the order in which they are read."""
        numbers: dict[str, int] = {}
        distinct: dict[tuple[int, ...], int] = {}
        same = []
        for reference in tokens:
            numbered = tuple([numbers.setdefault(word, len(numbers)) for word in reference.words])
            same.append(distinct.setdefault(numbered, len(distinct)))
        return cls(list(numbers), list(distinct), same)

    @cached_property
    def words(self) -> list[int]:
        """The words of all distinct references, behind each other."""
        return list(chain.from_iterable(self.references))

    @cached_property
    def starts(self) -> list[int]:
        """Where each distinct reference begins among them, and where the last one ends."""
        return list(accumulate(map(len, self.references), initial=0))

    @cached_property
    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The words and the starts, for the kernels."""
        return np.array(self.words, np.int32), np.array(self.starts, np.int64)

    @cached_property
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
    for sentence in sentences:
        if some and sum(map(len, some)) + len(sentence) > _WORDS_AT_ONCE:
            yield from encoder.encode(some)
            some = []
        some.append(sentence)
    yield from encoder.encode(some)
