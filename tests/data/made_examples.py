"""Records of every kind that the schema allows, made by Hypothesis, and how two files of them are compared."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from polyref.data import read
from polyref.data.formats.jsonl import is_blank
from polyref.example import Example

# Whatever may be mistaken for something else: quotes, delimiters, marks of JSON, spaces of all kinds.
LETTERS = "ab é😀\u00a0\u2028\u0085'\"`\\,;:{}[]#=\x00\x1f\ufeff"
BREAKS = "\t\r\n"
KNOWN = {"id", "source", "references", "pseudo_references", "lattice"}


def texts(alphabet: str = LETTERS + BREAKS, *, most: int = 8) -> st.SearchStrategy[str]:
    return st.text(alphabet, max_size=most)


def sentences(alphabet: str) -> st.SearchStrategy[str]:
    """Texts that are not blank."""
    return texts(alphabet).filter(lambda text: not is_blank(text))


def values() -> st.SearchStrategy[Any]:
    """Any JSON; every second time of a kind that has a type of its own in Parquet."""
    plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    nested = st.recursive(
        plain | texts(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(most=3), inner, max_size=2),
        max_leaves=5,
    )
    return texts() | st.integers(0, 9) | nested


def references(alphabet: str) -> st.SearchStrategy[Any]:
    text = sentences(alphabet)
    weights = st.sampled_from([1, 2, 0.25, 1e-300])
    weighted = st.fixed_dictionaries({"text": text}, optional={"weight": weights, "by": values()})
    return st.lists(text, min_size=1, max_size=4) | st.lists(text | weighted, min_size=1, max_size=3)


def decimals(least: int, most: int) -> st.SearchStrategy[float]:
    """Numbers with four decimals."""
    return st.integers(least * 10_000, most * 10_000).map(lambda n: n / 10_000)


JUDGEMENTS = {
    "fluency": decimals(-9, 0),
    "content": decimals(0, 1),
    "crossings": st.integers(0, 2**31 - 1),
    "risk": decimals(0, 9),
}


def results(alphabet: str) -> st.SearchStrategy[dict[str, Any]]:
    """What expand adds; nothing, every second time."""
    pseudo = st.fixed_dictionaries(
        {"text": sentences(alphabet), "bleu": st.integers(0, 10_000).map(lambda n: n / 100)},
        optional={**JUDGEMENTS, "repeat": st.just(True)},
    )
    lattice = st.fixed_dictionaries(
        {
            "sentences": st.integers(1, 10**30).map(str),
            "penalty": st.none() | st.just(0.6),
            "exact": st.booleans(),
        }
    )
    found = st.fixed_dictionaries({"pseudo_references": st.lists(pseudo, max_size=3), "lattice": lattice})
    return st.just({}) | found


def kept_lattices(references: int) -> st.SearchStrategy[dict[str, Any]]:
    """The states behind the words of so many references; nobody has looked yet whether they fit the words."""
    states = st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=4)
    return st.fixed_dictionaries(
        {
            "states": st.lists(states, min_size=references, max_size=references),
            "tokenizer": st.sampled_from(["words", "whitespace", "characters"]),
            "fold_case": st.booleans(),
        },
        optional={"rules": st.lists(rules(), max_size=3)},
    )


def rules() -> st.SearchStrategy[list[int]]:
    """The least, the most or -1, and words; nobody has looked yet whether there are so many words."""
    numbers, words = st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3)
    limits = st.tuples(numbers, numbers).map(sorted) | numbers.map(lambda least: [least, -1])
    return st.builds(lambda both, of_rule: [*both, *of_rule], limits, words)


@st.composite
def record_lists(
    draw: st.DrawFn,
    *,
    alphabet: str = LETTERS + BREAKS,
    sources: st.SearchStrategy[Any] | None = None,
) -> list[dict[str, Any]]:
    """Records with different ids, or all of them without."""
    count = draw(st.integers(1, 4))
    keys = draw(st.lists(texts(most=6).filter(lambda key: key not in KNOWN), max_size=3, unique=True))
    ids = draw(
        st.none()
        | st.lists(texts() | st.integers(-5, 2**70), min_size=count, max_size=count, unique_by=str)
        | st.lists(st.integers(0, 99), min_size=count, max_size=count, unique=True)
    )
    source = values() if sources is None else sources
    records = []
    for number in range(count):
        record: dict[str, Any] = {} if ids is None else {"id": ids[number]}
        record |= {"source": draw(source), "references": draw(references(alphabet))}
        record |= {key: draw(values()) for key in keys if draw(st.booleans())}
        records.append(record | draw(results(alphabet)))
        if "lattice" in records[-1] and draw(st.booleans()):
            records[-1]["lattice"] |= {"kept": draw(kept_lattices(len(record["references"])))}
    return records


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def whole(example: Example) -> tuple[Example, dict[str, Any]]:
    """An example, and everything else that its record says."""
    assert example.record is not None
    record = json.loads(example.record)
    others = {key: value for key, value in record.items() if key not in KNOWN}
    for number, item in enumerate(record["references"]):
        if isinstance(item, dict) and item.keys() - {"text", "weight"}:
            others[f"reference {number}"] = {key: item[key] for key in item.keys() - {"text", "weight"}}
    return replace(example, record=None, line=None, as_read=None), others


def read_whole(path: Path) -> list[tuple[Example, dict[str, Any]]]:
    return [whole(example) for example in read(path)]
