"""What the columns of a table mean.

In:   a header, and the names of the fields.
Out:  which columns hold the id, the source, the references and what belongs to them; the rest pass through.
Not:  reading the rows (tables.py), writing them (table_output.py).

A column whose name ends in ":json" holds JSON, and its key is the name without that.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from polyref.data.jsonl import LATTICE, PSEUDO_REFERENCES, Fields
from polyref.errors import InputError

JSON = ":json"
WEIGHT, BLEU, FLUENCY, REPEAT = "weight", "bleu", "fluency", "repeat"
OF_REFERENCE = "reference."  # such a column says something about the row's reference, not about the example
# Names that are known besides the default ones: those of parallel text, and those of the E2E data.
_SOURCES = ("source", "src", "mr")
_REFERENCES = ("references", "reference", "ref")
_QUOTED = re.compile(r'"[^"]*(?:"|$)')  # a name in quotes may go on behind the end of the line


@dataclass(frozen=True, slots=True)
class Column:
    """One column: where it stands, the key that it fills, and whether its cells are JSON."""

    position: int
    key: str
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table. With one reference a row, `references` has one column and `is_row_each` is true."""

    names: tuple[str, ...]
    id: Column | None
    source: Column | None
    references: tuple[Column, ...]
    is_row_each: bool
    weight: Column | None = None
    bleu: Column | None = None
    fluency: Column | None = None
    repeat: Column | None = None
    of_reference: tuple[Column, ...] = ()
    others: tuple[Column, ...] = field(default=())


def source_names(fields: Fields) -> tuple[str, ...]:
    return _SOURCES if fields.source == _SOURCES[0] else (fields.source,)


def reference_names(fields: Fields) -> tuple[str, ...]:
    return _REFERENCES if fields.references == _REFERENCES[0] else (fields.references,)


def column_name(fields: Fields) -> str:
    """How a column of references is called: one reference has a name in the singular."""
    return "reference" if fields.references == _REFERENCES[0] else fields.references


def is_taken(key: str, fields: Fields) -> bool:
    """Whether a plain column of this name would be taken for something else than a key that passes through."""
    names = [*source_names(fields), *reference_names(fields), fields.id, WEIGHT, BLEU, FLUENCY, REPEAT]
    numbered = any(_numbered(name).fullmatch(key) for name in reference_names(fields))
    return key in names or numbered or key.startswith(OF_REFERENCE) or key in (PSEUDO_REFERENCES, LATTICE)


def cells_of_header(line: str, format: str) -> list[str]:
    """The names in a header, or as many of them as stand on its first line."""
    if format == "tsv":
        return line.rstrip("\r\n").split("\t")
    try:
        return next(csv.reader([line], delimiter=delimiter_of(line)), [])
    except csv.Error:
        return []


def delimiter_of(header: str) -> str:
    """What stands between the names; what stands in quotes does not count."""
    bare = _QUOTED.sub("", header)
    return max(",", ";", "\t", key=bare.count)


def has_needed_columns(names: Sequence[str], fields: Fields, *, require_source: bool) -> bool:
    try:
        columns_of(names, fields, "", require_source=require_source)
    except InputError:
        return False
    return True


def columns_of(names: Sequence[str], fields: Fields, file: str, *, require_source: bool, line: int = 1) -> Columns:
    """What each column means; an InputError where one is missing or comes twice."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f'the column "{twice}" comes twice', "give each its own name", file=file, line=line)
    found = [
        Column(position, name.removesuffix(JSON), is_json=name.endswith(JSON)) for position, name in enumerate(names)
    ]
    by_name = dict(zip(names, found, strict=True))
    references, is_row_each = _reference_columns(by_name, fields)
    source = _first(by_name, [fields.source, fields.source + JSON, *source_names(fields)])
    missing = []
    if not references:
        missing.append((column_name(fields), "--references-field"))
    if source is None and require_source:
        missing.append((fields.source, "--source-field"))
    if missing:
        name, option = missing[0]
        there = ", ".join(f'"{name}"' for name in list(names)[:20])
        cure = f"name another with {option} (the columns here: {there})"
        raise InputError(f'there is no column "{name}"', cure, file=file, line=line)
    named: dict[str, Column | None] = {"id": _first(by_name, [fields.id, fields.id + JSON]), "source": source}
    if is_row_each:
        named |= {name: by_name.get(name) for name in (WEIGHT, BLEU, REPEAT)}
        # Without pseudo-references it is somebody's own column, such as people's ratings.
        named[FLUENCY] = by_name.get(FLUENCY) if BLEU in by_name else None
    taken = {column.position for column in (*references, *named.values()) if column is not None}
    rest = [column for column in found if column.position not in taken]
    of_reference = [column for column in rest if is_row_each and column.key.startswith(OF_REFERENCE)]
    return Columns(
        names=tuple(names),
        references=tuple(references),
        is_row_each=is_row_each,
        of_reference=tuple(
            [Column(column.position, column.key.removeprefix(OF_REFERENCE), column.is_json) for column in of_reference]
        ),
        others=tuple([column for column in rest if column not in of_reference]),
        **named,
    )


def _first(by_name: dict[str, Column], names: Sequence[str]) -> Column | None:
    return next((by_name[name] for name in names if name in by_name), None)


def _reference_columns(by_name: dict[str, Column], fields: Fields) -> tuple[list[Column], bool]:
    """One column with a reference a row; or several, which have one name and numbers, or are listed with commas."""
    names = reference_names(fields)
    for name in names:
        if name in by_name:
            return [by_name[name]], True
    for name in names:
        numbered = [column for key, column in by_name.items() if _numbered(name).fullmatch(key)]
        if numbered:
            return numbered, False
    listed = [name.strip() for name in fields.references.split(",")]
    if len(listed) > 1 and all(name in by_name for name in listed):
        return [by_name[name] for name in listed], False
    return [], False


def _numbered(name: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(name)}[ _.-]?[0-9]+")
