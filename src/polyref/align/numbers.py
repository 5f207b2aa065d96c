"""The value of a word that is a number.

In:   a word: "2", "two", "1,000", "2nd", "twenty-first", "10:30", "three-story", "½".
Out:  its value, which equal numbers share however they are written; None for a word that is no number.
Not:  which words may be linked (veto.py). Numerals of any script; number words in English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

# Its numbers from left to right, each with its kind: "3" is not "3rd", and "the 30s" are neither.
Value = tuple[tuple[str, Fraction], ...]

_LONGEST = 40  # characters: a longer row of digits is no number that anyone would write in words
_CARDINALS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]  # fmt: skip
_ORDINALS = [
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth", "twentieth",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# Words that count without being numerals: "a pair of dogs" are two.
_COUNTS = {
    "single": 1, "couple": 2, "pair": 2, "both": 2, "double": 2, "twice": 2, "duo": 2, "triple": 3,
    "trio": 3, "dozen": 12,
}  # fmt: skip
_NUMERAL = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:[.,](\d+))?('?[a-z]*)")
_SIMPLE_FRACTION = re.compile(r"(\d{1,4})/0*([1-9]\d{0,3})")
_SEPARATORS = re.compile(r"[-‐‑:/.,]")


def _words() -> Iterator[tuple[str, str, Fraction]]:
    for number, word in enumerate(_CARDINALS):
        yield word, "cardinal", Fraction(number)
    for number, word in enumerate(_ORDINALS):
        yield word, "ordinal", Fraction(number)
    for number, word in enumerate(_TENS, 2):
        yield word, "cardinal", Fraction(10 * number)
        yield f"{word[:-1]}ieth", "ordinal", Fraction(10 * number)
        yield f"{word[:-1]}ies", "decade", Fraction(10 * number)
    for word, size in _LARGE.items():
        yield word, "cardinal", Fraction(size)
        yield f"{word}th", "ordinal", Fraction(size)
    for word, size in _COUNTS.items():
        yield word, "cardinal", Fraction(size)
    yield "half", "cardinal", Fraction(1, 2)


_WORDS = {word: (kind, number) for word, kind, number in _words()}


@lru_cache(maxsize=1 << 14)
def number_value(word: str) -> Value | None:
    """The value of a number. Units that are glued to it do not count: "10am" and "10" are equal."""
    if len(word) > _LONGEST:
        return None
    word = "".join([_ascii_digit(character) for character in word.casefold()])
    whole = _simple(word)
    if whole is not None:
        return (whole,)
    parts = _SEPARATORS.split(word)
    numbers = [number for number in map(_simple, parts) if number is not None]
    if ":" in word and len(numbers) > 1 and numbers[-1][1] == 0:
        numbers.pop()  # 10:00 is 10
    return tuple(numbers if any(map(str.isdigit, word)) else _with_tens(numbers)) or None


def _simple(word: str) -> tuple[str, Fraction] | None:
    """A number in one piece."""
    if word in _WORDS:
        return _WORDS[word]
    if numeral := _NUMERAL.fullmatch(word):
        whole, decimals, unit = numeral.groups()
        value = Fraction(f"{whole.replace(',', '')}.{decimals or 0}")
        if unit in ("st", "nd", "rd", "th"):
            return "ordinal", value
        if unit in ("s", "'s"):
            return "decade", value - 1900 if 1900 <= value < 2000 else value  # the 70s are the 1970s
        return "cardinal", value
    if fraction := _SIMPLE_FRACTION.fullmatch(word):
        return "cardinal", Fraction(int(fraction[1]), int(fraction[2]))
    if len(word) == 1 and (value_of_sign := unicodedata.numeric(word, None)) is not None:
        return "cardinal", Fraction(value_of_sign).limit_denominator(1000)
    return None


def _with_tens(numbers: list[tuple[str, Fraction]]) -> Iterator[tuple[str, Fraction]]:
    """Twenty and one, or twenty and first, behind each other are one number."""
    waiting = iter(numbers)
    for kind, value in waiting:
        if kind == "cardinal" and value in range(20, 100, 10) and (unit := next(waiting, None)) is not None:
            if unit[1] in range(1, 10):
                yield unit[0], value + unit[1]
            else:
                yield from ((kind, value), unit)
        else:
            yield kind, value


def _ascii_digit(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)
