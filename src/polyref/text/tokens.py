"""Cut a text into words, and write words as a text again.

In:   a text as a person typed it.
Out:  its words: the form that alignment and BLEU compare, the form that is written, and the spacing; what punctuation
      does to the words around it.
Not:  subwords (subwords.py), the case of words (casing.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex

from polyref.settings import setting, settings

Tokenizer = Literal["words", "whitespace", "characters"]

# Scripts that set no spaces between words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}ー々〆ｰ"
# Zero-width spaces are spaces; zero-width joiners belong to the word that they stand in.
_GAP = r"[\s\x1c-\x1f\u200b\ufeff]"
_JOINERS = r"\u200c\u200d\u00ad"


def _pattern(unspaced: str) -> regex.Pattern[str]:
    """Words, where each character of the `unspaced` scripts is a word of its own.

    A word keeps the marks inside it (don't, well-known, 3.5, 1,000, 10:30, café with combining accents); so do letters
    with full stops (U.S., a.m.). A run of one punctuation mark stays together (..., --). All else is one visible
    character at a time. (Some signs, such as U+06DD, count as one character with what is behind them, be it a space:
    they stand alone.)
    """
    besides = f"--[{unspaced}]" if unspaced else ""
    some = rf"[[\p{{L}}\p{{M}}\p{{N}}_]{besides}]++"
    letters = rf"{some}(?:[{_JOINERS}]++{some})*+"
    dotted = rf"(?<![\p{{L}}\p{{N}}])(?:[\p{{L}}{besides}]\p{{M}}*+\.){{2,}}+(?![\p{{L}}\p{{N}}])"
    word = rf"{letters}(?:['’\-‑]{letters}|(?<=\p{{N}})[.,:/](?=\p{{N}}){letters})*+"
    return regex.compile(rf"(?V1)({_GAP}*)({dotted}|{word}|([\p{{P}}\p{{S}}])\3+|\p{{GCB=Prepend}}|(?!{_GAP})\X)")


# The same for text that is ASCII alone, in half the time.
_ASCII = re.compile(
    r"(\s*)((?<![A-Za-z0-9])(?:[A-Za-z]\.){2,}(?![A-Za-z0-9])"
    r"|[A-Za-z0-9_]+(?:['\-][A-Za-z0-9_]+|(?<=[0-9])[.,:/](?=[0-9])[A-Za-z0-9_]+)*"
    r"|([!-/:-@\[-`{-~])\3+|\S)"
)
# What most captions are: such words are written alike wherever they land.
_PLAIN = re.compile(r"(?:[A-Za-z0-9]+(?:['\-][A-Za-z0-9]+)*[,;]? )*[A-Za-z0-9]+(?:['\-][A-Za-z0-9]+)*[.!?]?")
PLAIN_MARKS = frozenset(",;.!?")  # in a plain text, no space stands before them, and one before every other word
_LAST_MARKS = frozenset(".!?")
_PATTERNS: dict[Tokenizer, regex.Pattern[str]] = {
    "words": _pattern(""),
    "whitespace": regex.compile(rf"({_GAP}*)((?:(?!{_GAP}).)+)"),
    "characters": _pattern(_UNSPACED),
}
# Spaces that are written as they are: a French one before "?" must not break the line, a Chinese one is wide.
_KEPT_SPACES = frozenset("\u00a0\u202f\u2009\u3000")


@settings(group="Words")
class TextSettings:
    """How text becomes words, for alignment and for BLEU alike."""

    tokenizer: Tokenizer = setting(
        "words",
        "characters: for Chinese, Japanese, Thai.",
        more="words: punctuation is split off; whitespace: it is not.",
    )
    fold_case: bool = setting(True, "Compare words without case.", option="--keep-case", off="Compare words with case.")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of one text. The three tuples are of the same length."""

    words: tuple[str, ...]  # what is compared
    surfaces: tuple[str, ...]  # what is written
    spaces: tuple[str, ...]  # the space before it: none, one, or another kind that must be kept
    plain: bool = False  # True: words and single spaces, perhaps with commas, and at most one mark at the end
    shouted: bool = False  # True: all in capitals

    def __len__(self) -> int:
        return len(self.words)


def tokenize(text: str, settings: TextSettings) -> Tokens:
    """The words of a text; none if it is blank."""
    text = text.strip()
    ascii_words = text.isascii() and settings.tokenizer != "whitespace"
    if ascii_words and (_is_bare(text) or _PLAIN.fullmatch(text)) and not text.isupper():
        return _plain_tokens(text, settings.fold_case)
    found = (_ASCII if ascii_words else _PATTERNS[settings.tokenizer]).findall(text)
    surfaces = tuple([match[1] for match in found])
    words = surfaces
    if settings.fold_case:
        # Word by word: folding can change lengths, and a word must not depend on its neighbours.
        words = tuple([word.casefold() for word in words])
    if text.isascii():
        spaces = tuple([" " if match[0] else "" for match in found])
        return Tokens(words, surfaces, spaces, shouted=text.isupper())
    words = tuple([unicodedata.normalize("NFC", word) for word in words])
    return Tokens(words, surfaces, tuple([_one_space(match[0]) for match in found]), shouted=text.isupper())


def _is_bare(text: str) -> bool:
    """Whether an ASCII text is surely plain, as most are: letters, digits, single spaces, perhaps a mark at the end."""
    bare = text[:-1] if text[-1:] in _LAST_MARKS else text
    return bare.replace(" ", "").isalnum() and "  " not in bare and bare[-1] != " "


def _plain_tokens(text: str, fold_case: bool) -> Tokens:
    """The words of a plain text: the same as by the pattern, in a third of the time."""
    is_parted = "," in text or ";" in text
    if is_parted:
        text = text.replace(",", " ,").replace(";", " ;")
    ends = text[-1] in _LAST_MARKS
    if ends:
        text = f"{text[:-1]} {text[-1]}"
    surfaces = tuple(text.split(" "))
    words = tuple(text.lower().split(" ")) if fold_case else surfaces
    if is_parted:
        spaces = ("", *["" if word in PLAIN_MARKS else " " for word in surfaces[1:]])
    else:
        spaces = _plain_spaces(len(words), ends)
    return Tokens(words, surfaces, spaces, True)


@lru_cache(maxsize=1 << 10)
def _plain_spaces(words: int, ends: bool) -> tuple[str, ...]:
    """The spaces before the words of a plain text without commas."""
    return ("", *[" "] * (words - 1 - ends), *[""] * ends)


def _one_space(space: str) -> str:
    return space if not space or space in _KEPT_SPACES else " "


def join(pieces: Iterable[tuple[str, str]]) -> str:
    """Write (surface, space before it) pieces as one text."""
    return "".join([space + surface for surface, space in pieces]).lstrip()


# -- marks ------------------------------------------------------------------------------------------------------------

# Glued to the word before them, in every script that has them.
CLOSING = frozenset(".,;:!?)]}…”»’%‰°。，、；：！？）］｝」』】〉》،؛؟।॥·") | {"...", "!!", "??"}
# Glued to the word behind them.
OPENING = frozenset("([{“«‘„‚£$€¥¿¡#@（［｛「『【〈《")
_ENDS = frozenset(".!?。！？؟।॥") | {"!!", "??", "!!!", "???"}
# Between the end of a sentence and the word that opens the next one, these change nothing: "He left. (She did not.)"
TRANSPARENT = frozenset("\"'“”„«»‘’()[]{}¿¡—–-•*「」『』（）") | {"--"}
# All behind which a sentence may open.
MAY_OPEN = _ENDS | TRANSPARENT
# A full stop behind these ends no sentence.
_ABBREVIATIONS = frozenset(
    ["mr", "mrs", "ms", "dr", "st", "mt", "ft", "prof", "rev", "gen", "col", "sgt", "capt", "lt", "hon", "jr", "sr",
     "vs", "etc", "no", "nr", "vol", "fig", "approx", "dept", "est", "ca", "cf", "mme", "mlle", "m", "pr", "bzw", "usw",
     "str", "sra", "sta", "av"]
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def is_mark(word: str) -> bool:
    """Whether a word is punctuation and nothing else."""
    return all(unicodedata.category(character)[0] == "P" for character in word)


def parts_words(character: str) -> bool:
    """Whether a mark never becomes part of a word, whatever it is glued to."""
    return is_mark(character) and character not in "'’-‑.,:/_"


@lru_cache(maxsize=1 << 16)
def is_ordinary(word: str) -> bool:
    """Whether a word is set apart by spaces from others like it: no mark, no symbol, no script without spaces."""
    return word[0].isalnum() and not needs_no_space(word[0]) and not needs_no_space(word[-1])


def opens_behind(word: str, before: str, opening: bool) -> bool:
    """Whether a sentence opens behind `word`, which itself stands behind `before`.

    `opening` says whether one opened before `word`.
    """
    if word in _ENDS:
        return word != "." or not (before in _ABBREVIATIONS or (len(before) == 1 and before.isalpha()))
    return opening and word in TRANSPARENT


_NEED_NO_SPACES = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF),  # Thai and Lao, Burmese, Khmer
    (0x3000, 0x30FF), (0xFF00, 0xFF0F),  # Japanese syllables, East Asian punctuation, wide punctuation
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),  # Chinese characters
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def needs_no_space(character: str) -> bool:
    """Whether a character belongs to a script that sets no spaces between words."""
    return any(first <= ord(character) <= last for first, last in _NEED_NO_SPACES)
