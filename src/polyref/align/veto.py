"""Words that must not be taken for each other, however close their vectors are.

In:   the distinct words of an example, and which kinds of veto are wanted.
Out:  Exclusions: one number per word, by which either engine tells whether a pair is vetoed.
Not:  the similarity (alignment.py), the lists of contrasts (contrasts.txt).

Vectors are close for words that stand in the same places: "two" and "three", "left" and "right", "is" and "isn't". A
link between them makes sentences that no reference says. See docs/decisions/never-linked.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from polyref.text.tokens import is_mark

VetoKind = Literal["numbers", "negation", "marks", "contrasts"]
VETO_KINDS: tuple[VetoKind, ...] = get_args(VetoKind)
# The numbers of a word from left to right, each with its kind: "3" is not "3rd", and "the 30s" are neither.
Value = tuple[tuple[str, Fraction], ...]


class Exclusions(NamedTuple):
    """For each distinct word of an example one number: its company, its value and its row, behind each other.

    Two words are vetoed if their companies differ, if both have values and those differ, or if the table says so.
    """

    codes: npt.NDArray[np.int64]
    table: npt.NDArray[np.bool_]

    def between(self, left: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether words are vetoed: one row per word on the left, one column per word on the right."""
        company, value, row = _unpacked(self.codes[np.asarray(left)][:, None])
        other_company, other_value, other_row = _unpacked(self.codes[np.asarray(right)][None, :])
        vetoed: npt.NDArray[np.bool_] = company != other_company
        vetoed |= (value != other_value) & (value > 0) & (other_value > 0)
        vetoed |= self.table[row, other_row]
        return vetoed


_COMPANY_BITS, _VALUE_BITS = 40, 16  # where they begin; the row stands before them
_MOST_WORDS = 1 << 16  # that are remembered


def _unpacked(codes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
    value = (codes >> _VALUE_BITS) & ((1 << (_COMPANY_BITS - _VALUE_BITS)) - 1)
    return codes >> _COMPANY_BITS, value, codes & ((1 << _VALUE_BITS) - 1)


class _Codes(dict[str, int]):
    """The code of each word, made when it is first asked for: a dictionary, because every word of a run asks it."""

    def __init__(self, kinds: tuple[VetoKind, ...]):
        super().__init__()
        self._kinds = kinds
        self._companies: dict[str, int] = {"": 0}
        self._values: dict[Value | None, int] = {None: 0}

    def __missing__(self, word: str) -> int:
        company, value, row = traits_of(word, self._kinds)
        code = self._companies.setdefault(company, len(self._companies)) << _COMPANY_BITS
        code |= self._values.setdefault(value, len(self._values)) << _VALUE_BITS
        self[word] = code | row
        return code | row


_codes = lru_cache(maxsize=4)(_Codes)


def exclusions(vocabulary: Sequence[str], kinds: Collection[VetoKind]) -> Exclusions:
    """What the words of an example exclude. The numbers behind the codes mean nothing but that equal ones are equal."""
    chosen = tuple(kinds)
    if len(_codes(chosen)) > _MOST_WORDS:
        _codes.cache_clear()
    codes = np.array(list(map(_codes(chosen).__getitem__, vocabulary)), np.int64)
    return Exclusions(codes, contrasts().table if "contrasts" in chosen else _NO_CONTRASTS)


def is_vetoed(left: str, right: str, kinds: Collection[VetoKind] = VETO_KINDS) -> bool:
    """Whether two words are never linked; equal words always may be."""
    return bool(exclusions((left, right), kinds).between([0], [1])[0, 0])


def traits_of(word: str, kinds: tuple[VetoKind, ...]) -> tuple[str, Value | None, int]:
    """The company (only words of the same one are linked; negation is one, each mark is one), the value of a number,
    and the row of the table of contrasts (0 for a word in no group), as far as the kinds look at them.
    """
    word = unicodedata.normalize("NFC", word.casefold()).translate(_APOSTROPHES)
    company = ""
    if "marks" in kinds and is_mark(word) and word not in _READ_AS_WORDS:
        company = same_mark(word)
    elif "negation" in kinds and _IS_NEGATION.fullmatch(word):
        company = "not"
    value = number_value(word) if "numbers" in kinds else None
    row = contrasts().rows.get(word, 0) if "contrasts" in kinds else 0
    return company, value, row


# -- negation and marks -----------------------------------------------------------------------------------------------

_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_NEGATIONS = """
    not no never neither nor none nobody nothing nowhere no-one without cannot hardly scarcely barely seldom rarely
    unable non ain't dont doesnt didnt isnt arent wasnt werent cant couldnt wouldnt shouldnt hasnt havent hadnt wont
"""
_IS_NEGATION = re.compile(rf"{'|'.join(_NEGATIONS.split())}|.*n't|(non|no)-.*[^-]", re.DOTALL)
# Marks that are read as words: "&" may be linked with "and", "%" with "percent".
_READ_AS_WORDS = frozenset("&%‰@#")
_MARKS = {'"': "“”„‟«»〝〞〟「」『』", "'": "‘’‚‛‹›′", "-": "‐‑‒–—―⸺⸻﹘", ".": "。।॥۔", ",": "、،", ";": "؛", "?": "؟"}
_SAME_MARK = str.maketrans({mark: plain for plain, marks in _MARKS.items() for mark in marks})
_RUN = re.compile(r"(.)\1+", re.DOTALL)


def same_mark(mark: str) -> str:
    """One form for all ways to write a mark: straight and curved quotes, dashes, wide forms; "!!" is "!"."""
    plain = unicodedata.normalize("NFKC", mark.translate(_SAME_MARK)).translate(_SAME_MARK)
    return _RUN.sub(lambda run: "..." if run[1] == "." else run[1], plain)


# -- numbers: numerals of any script, number words in English ---------------------------------------------------------

_LONGEST = 40  # characters: nobody writes a longer row of digits in words
_CARDINALS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_ORDINALS = """
    zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# Words that count without being numerals: "a pair of dogs" are two.
_COUNTS = {
    "single": 1, "couple": 2, "pair": 2, "both": 2, "double": 2, "twice": 2, "duo": 2, "triple": 3,
    "trio": 3, "dozen": 12, "half": 0.5,
}  # fmt: skip
_NUMERAL = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:[.,](\d+))?('?[a-z]*)")
_SIMPLE_FRACTION = re.compile(r"(\d{1,4})/0*([1-9]\d{0,3})")
_SEPARATORS = re.compile(r"[-‐‑:/.,]")


def _number_words() -> Iterator[tuple[str, str, float]]:
    for number, (cardinal, ordinal) in enumerate(zip(_CARDINALS.split(), _ORDINALS.split(), strict=True)):
        yield from ((cardinal, "cardinal", number), (ordinal, "ordinal", number))
    for number, word in enumerate(_TENS, 2):
        stem = word[:-1]
        for form, kind in ((word, "cardinal"), (f"{stem}ieth", "ordinal"), (f"{stem}ies", "decade")):
            yield form, kind, 10 * number
    for word, size in _LARGE.items():
        yield from ((word, "cardinal", size), (f"{word}th", "ordinal", size))
    yield from ((word, "cardinal", size) for word, size in _COUNTS.items())


_NUMBER_WORDS = {word: (kind, Fraction(number)) for word, kind, number in _number_words()}


def number_value(word: str) -> Value | None:
    """The value of "2", "two", "1,000", "twenty-first", "10:30" or "½", which equal numbers share; else None.

    Units that are glued to it do not count: "10am" and "10" are equal.
    """
    if len(word) > _LONGEST:
        return None
    word = "".join([str(unicodedata.decimal(character, character)) for character in word.casefold()])
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
    if word in _NUMBER_WORDS:
        return _NUMBER_WORDS[word]
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


# -- contrasts --------------------------------------------------------------------------------------------------------

_NO_CONTRASTS = np.zeros((1, 1), np.bool_)
Member = list[list[str]]  # words; those of one list are synonyms


class Contrasts(NamedTuple):
    """Words that stand in the same places of the same groups share a row; row 0 is for all other words."""

    rows: dict[str, int]
    table: npt.NDArray[np.bool_]  # whether the words of two rows exclude each other


@cache
def contrasts() -> Contrasts:
    """By contrasts.txt: words exclude each other if they are different members of a group, and synonyms in none."""
    groups = parse_groups((Path(__file__).parent / "contrasts.txt").read_text("utf-8"))
    places: dict[str, list[tuple[int, int, int]]] = {}
    for number, group in enumerate(groups):
        for member, lists in enumerate(group, 1):
            for synonyms, words in enumerate(lists):
                for word in words:
                    places.setdefault(word, []).append((number, member, synonyms))
    profiles: dict[tuple[tuple[int, int, int], ...], int] = {(): 0}
    rows = {word: profiles.setdefault(tuple(found), len(profiles)) for word, found in places.items()}
    standing = np.zeros((len(groups), len(profiles), 2), np.int16)
    for profile, row in profiles.items():
        for number, member, synonyms in profile:
            standing[number, row] = member, synonyms
    table = np.zeros((len(profiles), len(profiles)), np.bool_)
    alike = np.zeros_like(table)
    for group_rows in standing:
        present = np.flatnonzero(group_rows[:, 0])
        member, synonyms = (column[:, None] == column[None, :] for column in group_rows[present].T)
        table[np.ix_(present, present)] |= ~member
        alike[np.ix_(present, present)] |= member & synonyms
    return Contrasts(rows, table & ~alike)


def parse_groups(text: str) -> list[list[Member]]:
    """One group per line, as the top of contrasts.txt tells."""
    groups = []
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line:
            ending = plural if line.startswith("+") else str
            members = line.lstrip("+").replace(",", " ").split("|")
            groups.append([[_forms(words.split(), ending) for words in member.split("/")] for member in members])
    return groups


def _forms(words: list[str], ending: Callable[[str], str]) -> list[str]:
    return list(dict.fromkeys([form for word in words for form in (word, ending(word))]))


def plural(noun: str) -> str:
    """The regular plural: buses, puppies, dogs."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"
