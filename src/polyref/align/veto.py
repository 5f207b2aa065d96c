"""Words that must not be taken for each other, however close their vectors are.

In:   the distinct words of an example, and which kinds of veto are wanted.
Out:  Exclusions: a few numbers a word, by which either engine tells whether a pair is vetoed.
Not:  the value of a number (numbers.py), the similarity (similarity.py), the lists of contrasts (contrasts.txt).

Vectors hold words for close that stand in the same places: "two" and "three", "left" and "right", "is" and "isn't". A
link between them makes sentences that no reference says. See docs/decisions/never-linked.md.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from polyref.align.numbers import Value, number_value
from polyref.text.marks import is_mark

VetoKind = Literal["numbers", "negation", "marks", "contrasts"]
VETO_KINDS: tuple[VetoKind, ...] = get_args(VetoKind)

_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_NEGATIONS = frozenset([
    "not", "no", "never", "neither", "nor", "none", "nobody", "nothing", "nowhere", "no-one", "without", "cannot",
    "hardly", "scarcely", "barely", "seldom", "rarely", "unable", "non", "ain't", "dont", "doesnt", "didnt", "isnt",
    "arent", "wasnt", "werent", "cant", "couldnt", "wouldnt", "shouldnt", "hasnt", "havent", "hadnt", "wont",
])  # fmt: skip
# Marks that are read as words: "&" may be linked with "and", "%" with "percent".
_READ_AS_WORDS = frozenset("&%‰@#")
_SAME_MARK = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»〝〞〟「」『』", '"'),
        **dict.fromkeys("‘’‚‛‹›′", "'"),
        **dict.fromkeys("‐‑‒–—―⸺⸻﹘", "-"),
        **dict.fromkeys("。।॥۔", "."),
        **dict.fromkeys("、،", ","),
        "؛": ";",
        "؟": "?",
    }
)


class Traits(NamedTuple):
    """What decides with which words one word is never linked.

    `company`: only words of the same company are linked; negation is one, each mark is one. `value`: of a number.
    `row`: of the table of contrasts, 0 for a word in no group.
    """

    company: str
    value: Value | None
    row: int


class Exclusions(NamedTuple):
    """For each distinct word of an example one number: its company, its value and its row, behind each other.

    Two words are vetoed if their companies differ, if both have values and those differ, or if the table says so.
    """

    codes: npt.NDArray[np.int64]
    table: npt.NDArray[np.bool_]

    def between(self, left: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether words are vetoed: those on the left, a row each, with those on the right, a column each."""
        company, value, row = _unpacked(self.codes[np.asarray(left)][:, None])
        other_company, other_value, other_row = _unpacked(self.codes[np.asarray(right)][None, :])
        vetoed: npt.NDArray[np.bool_] = company != other_company
        vetoed |= (value != other_value) & (value > 0) & (other_value > 0)
        vetoed |= self.table[row, other_row]
        return vetoed


COMPANY_BITS, VALUE_BITS = 40, 16  # where they begin; the row stands before them
_MOST_WORDS = 1 << 16  # that are remembered


def _unpacked(codes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
    value = (codes >> VALUE_BITS) & ((1 << (COMPANY_BITS - VALUE_BITS)) - 1)
    return codes >> COMPANY_BITS, value, codes & ((1 << VALUE_BITS) - 1)


class _Codes(dict[str, int]):
    """The code of each word, made when it is first asked for: a dictionary, because every word of a run asks it."""

    def __init__(self, kinds: tuple[VetoKind, ...]):
        super().__init__()
        self._kinds = kinds
        self._companies: dict[str, int] = {"": 0}
        self._values: dict[Value | None, int] = {None: 0}

    def __missing__(self, word: str) -> int:
        company, value, row = traits_of(word, self._kinds)
        code = self._companies.setdefault(company, len(self._companies)) << COMPANY_BITS
        code |= self._values.setdefault(value, len(self._values)) << VALUE_BITS
        self[word] = code | row
        return code | row


@cache
def _codes(kinds: tuple[VetoKind, ...]) -> list[_Codes]:
    return [_Codes(kinds)]


def exclusions(vocabulary: Sequence[str], kinds: Collection[VetoKind]) -> Exclusions:
    """What the words of an example exclude. The numbers behind the codes mean nothing but that equal ones are equal."""
    chosen = tuple(kinds)
    kept = _codes(chosen)
    if len(kept[0]) > _MOST_WORDS:
        kept[0] = _Codes(chosen)
    codes = np.array(list(map(kept[0].__getitem__, vocabulary)), np.int64)
    return Exclusions(codes, contrasts().table if "contrasts" in chosen else _NO_CONTRASTS)


def is_vetoed(left: str, right: str, kinds: Collection[VetoKind] = VETO_KINDS) -> bool:
    """Whether two words are never linked; equal words always may be."""
    traits = (traits_of(word, tuple(kinds)) for word in (left, right))
    (company, value, row), (other_company, other_value, other_row) = traits
    differ = value is not None and other_value is not None and value != other_value
    return company != other_company or differ or bool(contrasts().table[row, other_row])


def traits_of(word: str, kinds: tuple[VetoKind, ...]) -> Traits:
    """The traits of a word, as far as the kinds look at them; most words have none."""
    word = unicodedata.normalize("NFC", word.casefold()).translate(_APOSTROPHES)
    company = ""
    if "marks" in kinds and is_mark(word) and word not in _READ_AS_WORDS:
        company = same_mark(word)
    elif "negation" in kinds and is_negation(word):
        company = "not"
    value = number_value(word) if "numbers" in kinds else None
    row = contrasts().rows.get(word, 0) if "contrasts" in kinds else 0
    return Traits(company, value, row)


def is_negation(word: str) -> bool:
    """Whether a word, in small letters and with straight apostrophes, denies something."""
    return word in _NEGATIONS or word.endswith("n't") or (word.startswith(("non-", "no-")) and word[-1] != "-")


def same_mark(mark: str) -> str:
    """One form for all ways to write a mark: straight and curved quotes, dashes, wide forms; "!!" is "!"."""
    plain = unicodedata.normalize("NFKC", mark.translate(_SAME_MARK)).translate(_SAME_MARK)
    return "".join(_runs(plain))


def _runs(marks: str) -> Iterator[str]:
    for mark, run in groupby(marks):
        yield "..." if mark == "." and len(list(run)) > 1 else mark


# -- contrasts ------------------------------------------------------------------------------------------------------

_NO_CONTRASTS = np.zeros((1, 1), np.bool_)
Member = list[list[str]]  # words; those of one list are synonyms


class Contrasts(NamedTuple):
    """Words that stand in the same places of the same groups share a row; row 0 is for all other words."""

    rows: dict[str, int]
    table: npt.NDArray[np.bool_]  # whether the words of two rows exclude each other


@cache
def contrasts() -> Contrasts:
    """The groups of contrasts.txt.

    Two words exclude each other if they are different members of some group, and synonyms in none.
    """
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
    """A group a line, as contrasts.txt says at its top."""
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
