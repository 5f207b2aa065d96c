"""The pseudo-references that people judge.

In:   `items.jsonl`: for each word of a pseudo-reference, where it stands in the references and how it is written;
      hashes of the references and of the text; BLEU and labels.
Out:  the items with their references and sentences, looked up in the data sets; none of them is in this project.
Not:  drawing the items (sample.py), what the labels mean (guidelines.md).

A sentence is put together from its words alone, without a lattice: it stays what the readers saw when the rules for
choosing or writing change. A text that comes out otherwise is an error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from polyref import Example, read
from polyref.errors import InputError
from polyref.text import TextSettings, Tokens, tokenize

ITEMS = "items.jsonl"
# Where the data sets lie in the folder that POLYREF_DATA names.
SETS = {
    "coco": "coco-val2017/all.jsonl",
    "e2e-two": "e2e/train.jsonl",
    "e2e-many": "e2e/dev.jsonl",
    "asset": "asset/dev.jsonl",
    "multi30k": "multi30k-task1-de2en-5ref/dev.jsonl",
    "multi30k-test": "multi30k-task1-de2en-5ref/test.jsonl",
}
GIVEN = {"e2e-two": 2}  # references that an example is given; without an entry all
LABELS = ("good", "small", "bad")
CAUSES = ("twice", "lost", "contradiction", "grammar", "stump", "marks", "other")
READERS = ("first", "second", "settled")
# What stands before a word; the last one is a space that does not break the line.
SPACES = {".": "", "_": " ", "~": "\u00a0"}
# How a word is written: as in its reference, or with other letters. The first that fits is stored.
CASES = {
    "=": lambda surface: surface,
    "l": str.lower,
    "C": lambda surface: surface[:1].upper() + surface[1:],
    "c": str.capitalize,
    "U": str.upper,
}


@dataclass(frozen=True)
class Label:
    """What one reader says; `good` has no causes."""

    label: Literal["good", "small", "bad"]
    causes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """A pseudo-reference, the references that it was made from, and what was said about it.

    `words` gives for each word of the sentence the reference and the position in it, both counted from 0. `labels` are
    those of two readers on their own (`first`, `second`) and what stands after their differences were settled
    (`settled`); empty before anybody has read it.
    """

    set: str
    id: str
    part: str
    method: Literal["hard", "soft"]
    references: tuple[str, ...]
    sentence: str
    bleu: float
    words: tuple[tuple[int, int], ...]
    labels: dict[str, Label]


def load_entries() -> list[dict[str, Any]]:
    """The lines of the file."""
    return [json.loads(line) for line in Path(__file__).with_name(ITEMS).read_text(encoding="utf-8").splitlines()]


def load_items(data: Path, parts: Sequence[str] = ()) -> list[Item]:
    """The items of these parts, of all without any; in the order of the file."""
    entries = [entry for entry in load_entries() if not parts or entry["part"] in parts]
    texts = {
        name: _references(data / path, {entry["id"] for entry in entries if entry["set"] == name})
        for name, path in SETS.items()
    }
    return [_item(entry, texts[entry["set"]][entry["id"]]) for entry in entries]


def examples_of(path: Path, given: int | None = None) -> Iterator[Example]:
    """The examples of a data set; of each, the first references."""
    for example in read(path):
        yield replace(example, references=example.references[:given])


def _references(path: Path, ids: set[str]) -> dict[str, tuple[str, ...]]:
    if not ids:
        return {}
    found = {
        example.id: tuple([reference.text for reference in example.references])
        for example in read(path)
        if example.id in ids
    }
    for id in sorted(ids - set(found)):
        raise InputError(
            f'there is no example "{id}"', "take the version of the data set that was read", file=str(path)
        )
    return found


def _item(entry: dict[str, Any], references: Sequence[str]) -> Item:
    given = tuple(references[: entry["references"]])
    where = f'"{entry["id"]}" in {entry["set"]}'
    if text_hash(given) != entry["references_hash"]:
        raise InputError(
            f"the references of {where} are not those that were read",
            "take the version of the data set that was read",
        )
    words = tuple([(reference, position) for reference, position in entry["words"]])
    sentence = written(given, words, entry["spaces"], entry["cases"])
    if sentence is None or text_hash([sentence]) != entry["hash"]:
        raise InputError(
            f"the sentence of {where} comes out otherwise than it was read",
            "words are cut differently now: store the places of the words anew, with the text unchanged",
        )
    labels = {
        reader: Label(entry[reader]["label"], tuple(entry[reader]["causes"])) for reader in READERS if reader in entry
    }
    return Item(
        entry["set"], entry["id"], entry["part"], entry["method"], given, sentence, entry["bleu"], words, labels
    )


# -- the text of a sentence -------------------------------------------------------------------------------------------


def written(references: Sequence[str], words: Sequence[tuple[int, int]], spaces: str, cases: str) -> str | None:
    """The text of these words; None if the references have no such words.

    `spaces` has one of SPACES per word, `cases` one of CASES.
    """
    tokens = _cut(references)
    if any(reference >= len(tokens) or position >= len(tokens[reference]) for reference, position in words):
        return None
    pieces = []
    for (reference, position), space, case in zip(words, spaces, cases, strict=True):
        pieces.append(SPACES[space] + CASES[case](tokens[reference].surfaces[position]))
    return "".join(pieces)


def how_written(references: Sequence[str], words: Sequence[tuple[int, int]], text: str) -> tuple[str, str]:
    """What `written` needs besides the words to give this text."""
    tokens, at, spaces, cases = _cut(references), 0, "", ""
    for reference, position in words:
        surface = tokens[reference].surfaces[position]
        spaces += {" ": "_", "\u00a0": "~"}.get(text[at : at + 1], ".")
        at += len(SPACES[spaces[-1]])
        fitting = [name for name, change in CASES.items() if text.startswith(change(surface), at)]
        if not fitting:
            raise ValueError(f"cannot tell how {surface!r} is written in {text!r}")
        cases += fitting[0]
        at += len(CASES[fitting[0]](surface))
    if at != len(text):
        raise ValueError(f"the words end before the text: {text!r}")
    return spaces, cases


def text_hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _cut(references: Sequence[str]) -> list[Tokens]:
    return [tokenize(reference, TextSettings()) for reference in references]
