"""Cut a text into words, and write words as a text again.

In:   a text as a person typed it.
Out:  its words: the form that alignment and BLEU compare, the form that is written, and the spacing.
Not:  sub-words, vocabularies.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import regex

from polyref.errors import SettingsError

Tokenizer = Literal["words", "whitespace"]

# A word keeps the marks inside it (don't, well-known, 3.5, 1,000, 10:30, café with combining accents);
# a run of one punctuation mark stays together (..., --); all else is one visible character at a time.
_LETTERS = r"[\p{L}\p{M}\p{N}_]+"
_WORD = rf"{_LETTERS}(?:['’\-‑]{_LETTERS}|(?<=\p{{N}})[.,:/](?=\p{{N}}){_LETTERS})*"
_WORDS = regex.compile(rf"(\s*)({_WORD}|([\p{{P}}\p{{S}}])\3+|\X)")
_WHITESPACE = regex.compile(r"(\s*)(\S+)")


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How text becomes words, for alignment and for BLEU alike."""

    tokenizer: Tokenizer = "words"
    fold_case: bool = True

    def __post_init__(self) -> None:
        if self.tokenizer not in get_args(Tokenizer):
            raise SettingsError(f'unknown tokenizer "{self.tokenizer}"; choose one of {", ".join(get_args(Tokenizer))}')


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of one text. The three tuples are of the same length."""

    words: tuple[str, ...]  # what is compared
    surfaces: tuple[str, ...]  # what is written
    spaced: tuple[bool, ...]  # whether a space stands before it

    def __len__(self) -> int:
        return len(self.words)


def tokenize(text: str, settings: TextSettings) -> Tokens:
    """The words of a text; none if it is blank."""
    pattern = _WORDS if settings.tokenizer == "words" else _WHITESPACE
    found = pattern.findall(text.strip())
    surfaces = tuple([match[1] for match in found])
    words = surfaces
    if settings.fold_case:
        # Word by word: folding can change lengths, and a word must not depend on its neighbours.
        words = tuple([word.casefold() for word in words])
    if not text.isascii():
        words = tuple([unicodedata.normalize("NFC", word) for word in words])
    return Tokens(words, surfaces, tuple([bool(match[0]) for match in found]))


def join(pieces: Iterable[tuple[str, bool]]) -> str:
    """Write (surface, spaced) pieces as one text."""
    return "".join([" " + surface if spaced else surface for surface, spaced in pieces]).lstrip()
