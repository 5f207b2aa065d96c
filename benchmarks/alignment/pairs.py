"""The pairs of references that were aligned by hand.

In:   `pairs.jsonl`: which references of which data set, a hash of their words, and the links.
Out:  the pairs with their words, looked up in the data sets; none of them is in this project.
Not:  aligning (evaluate.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from polyref.data import read
from polyref.errors import InputError
from polyref.text import TextSettings, tokenize

Links = frozenset[tuple[int, int]]

# Where the data sets lie in the folder that POLYREF_DATA names.
SETS = {
    "coco-slice1000": "coco-val2017/slice1000.jsonl",
    "e2e-dev": "e2e/dev.jsonl",
    "asset-test": "asset/test.jsonl",
}


@dataclass(frozen=True)
class Pair:
    """Two references of one example, and the links between their words. `first` and `second` are what two readers
    found on their own; `links` is what stands after their differences were settled."""

    set: str
    id: str
    part: Literal["test", "tune"]
    left: tuple[str, ...]
    right: tuple[str, ...]
    first: Links
    second: Links
    links: Links


def load_pairs(data: Path) -> list[Pair]:
    """All pairs, with their words."""
    lines = Path(__file__).with_name("pairs.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    words = {name: _words(data / path, {e["id"] for e in entries if e["set"] == name}) for name, path in SETS.items()}
    return [_pair(entry, words[entry["set"]][entry["id"]]) for entry in entries]


def _words(path: Path, ids: set[str]) -> dict[str, list[tuple[str, ...]]]:
    found = {
        example.id: [tuple(tokenize(reference.text, TextSettings()).words) for reference in example.references]
        for example in read(path)
        if example.id in ids
    }
    for id in ids - set(found):
        raise InputError(
            f'there is no example "{id}"', "take the version of the data set described in docs", file=str(path)
        )
    return found


def _pair(entry: dict, references: Sequence[tuple[str, ...]]) -> Pair:
    left, right = (references[number] for number in entry["references"])
    if words_hash(left, right) != entry["hash"]:
        raise InputError(
            f'references {entry["references"]} of "{entry["id"]}" in {entry["set"]} are not those that were aligned',
            "take the version of the data set described in docs, or align them again",
        )
    first, second, links = (frozenset(map(tuple, entry[key])) for key in ("first", "second", "links"))
    return Pair(entry["set"], entry["id"], entry["part"], left, right, first, second, links)


def words_hash(left: Sequence[str], right: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([" ".join(left), " ".join(right)]).encode()).hexdigest()[:16]
