"""A record taken apart, as the formats that are no JSON Lines need it; and what all the records of a run have.

In:   records as lines of JSON, in a file that can be read more than once.
Out:  their parts; a Shape: which parts there are at all, so that a header or a schema can be written.
Not:  the formats (parquet_output.py, captions_output.py, table_output.py, parallel_output.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

from polyref.data import members
from polyref.data.jsonl import KEPT, LATTICE, PSEUDO_REFERENCES, Fields
from polyref.errors import OutputError

MOST_KEYS = 1000  # different ones: each becomes a column
_INT64 = 2**63


class ReferencePart(NamedTuple):
    text: str
    weight: float
    more: dict[str, str]  # other keys, with their values as JSON


class Parts(NamedTuple):
    """One record. Values as JSON are texts as they stood in the record, so that nothing about them changes."""

    id: str | int | None
    source: Any
    source_json: str | None  # None if there is no source
    references: list[ReferencePart]
    pseudo: list[dict[str, Any]]
    lattice: dict[str, Any] | None
    more: dict[str, str]  # other keys, with their values as JSON


@dataclass(slots=True)
class Shape:
    """What there is among the records: how many, and of which kinds the values of a key are."""

    examples: int = 0
    references: int = 0
    most_references: int = 0
    weights: int = 0  # other than 1
    pseudo: int = 0
    fluencies: int = 0  # pseudo-references that have one
    repeats: int = 0
    lattices: int = 0
    kept: int = 0  # lattices that are there themselves
    ids: int = 0
    id_kinds: set[str] = field(default_factory=set)
    source_kinds: set[str] = field(default_factory=set)
    sources: int = 0
    other_sources: int = 0  # those that are no texts
    of_reference: dict[str, int] = field(default_factory=dict)  # other keys of references, and how often they come
    more: dict[str, int] = field(default_factory=dict)  # other keys of records
    more_kinds: dict[str, set[str]] = field(default_factory=dict)

    def add(self, parts: Parts) -> None:
        self.examples += 1
        self.references += len(parts.references)
        self.most_references = max(self.most_references, len(parts.references))
        self.pseudo += len(parts.pseudo)
        self.fluencies += sum(1 for pseudo in parts.pseudo if "fluency" in pseudo)
        self.repeats += sum(1 for pseudo in parts.pseudo if pseudo.get("repeat"))
        self.lattices += parts.lattice is not None
        self.kept += parts.lattice is not None and parts.lattice.get(KEPT) is not None
        if parts.id is not None:
            self.ids += 1
            self.id_kinds.add(kind_of(parts.id))
        if parts.source_json is not None:
            self.sources += 1
            self.other_sources += not isinstance(parts.source, str)
            self.source_kinds.add(kind_of(parts.source))
        for reference in parts.references:
            self.weights += reference.weight != 1.0
            for key in reference.more:
                self.of_reference[key] = self.of_reference.get(key, 0) + 1
        for key, value in parts.more.items():
            self.more[key] = self.more.get(key, 0) + 1
            self.more_kinds.setdefault(key, set()).add(kind_of(json.loads(value)))
        if len(self.more) + len(self.of_reference) > MOST_KEYS:
            raise OutputError(f"the records have more than {MOST_KEYS:,} different keys; write them as JSON Lines")


def kind_of(value: Any) -> str:
    """The kind of a value, as far as it matters for what a column can hold."""
    if isinstance(value, str):
        return _kind_of_text(value)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -_INT64 <= value < _INT64 else "other"
    if isinstance(value, float):
        return "float" if abs(value) < float("inf") else "other"
    if isinstance(value, list) and value and all(isinstance(item, str) and is_whole(item) for item in value):
        return "texts"
    return "other"


def _kind_of_text(text: str) -> str:
    if not text:
        return "empty"
    if not is_whole(text):
        return "other"
    return "broken text" if has_breaks(text) else "text"


def is_whole(text: str) -> bool:
    """Whether a text can be written as UTF-8, which half a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def has_breaks(text: str) -> bool:
    """Whether a text has what ends a line or a cell where there are no quotes."""
    return "\n" in text or "\r" in text or "\t" in text


class Spool:
    """Records on their way to a file, as lines of JSON in a file without a name."""

    def __init__(self, file: BinaryIO, fields: Fields):
        self.file = file
        self.fields = fields

    def parts(self) -> Iterator[Parts]:
        """The records from the first one on, taken apart."""
        self.file.seek(0)
        for line in self.file:
            yield take_apart(line.decode("utf-8"), self.fields)

    def shape(self) -> Shape:
        shape = Shape()
        for parts in self.parts():
            shape.add(parts)
        return shape


def take_apart(record: str, fields: Fields) -> Parts:
    value = json.loads(record)
    known = (fields.id, fields.source, fields.references, PSEUDO_REFERENCES, LATTICE)
    source = value.get(fields.source)
    source_json = None
    more: dict[str, str] = {}
    if not isinstance(source, str) or any(key not in known for key in value):
        texts = members.values(record)
        source_json = texts.get(fields.source)
        more = {key: text for key, text in texts.items() if key not in known}
    elif fields.source in value:
        source_json = json.dumps(source, ensure_ascii=False)
    return Parts(
        id=value.get(fields.id),
        source=source,
        source_json=source_json,
        references=[_reference_part(item) for item in value[fields.references]],
        pseudo=value.get(PSEUDO_REFERENCES) or [],
        lattice=value.get(LATTICE),
        more=more,
    )


def _reference_part(item: Any) -> ReferencePart:
    if isinstance(item, str):
        return ReferencePart(item, 1.0, {})
    more = {key: as_json(value) for key, value in item.items() if key not in ("text", "weight")}
    return ReferencePart(item["text"], float(item.get("weight", 1.0)), more)


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise OutputError("a number of a reference is too large for this format; write JSON Lines") from None
