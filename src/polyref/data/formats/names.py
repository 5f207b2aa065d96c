"""The names that people give to the parts of an example, where a file has others than those that are asked for.

In:   the keys of a record, or the columns of a table, with the kind of what they hold.
Out:  Names: which of them are read as id, source and references, also in words; records with the names asked for.
Not:  other formats (beside this one); the names that a user gives, which always win (Fields in jsonl.py).

The first record decides for the whole file. A name counts only where the expected one is missing, and only where no
other is possible as well.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from itertools import chain
from typing import Any, Literal, NamedTuple

from polyref.data.formats.format import Reading
from polyref.data.formats.jsonl import Fields, dump, members
from polyref.data.opening import Line, located
from polyref.errors import InputError

_SEVERAL = ("references", "captions", "targets", "texts", "summaries", "translations", "sentences", "answers")
_ONE = ("reference", "caption", "target", "text", "summary", "translation", "sentence", "answer")
REFERENCES = frozenset(_SEVERAL + _ONE)
IMAGES = frozenset(["image", "img", "image_id", "image_name", "file_name", "filename"])  # these are ids as well
SOURCES = IMAGES | frozenset(["src", "mr", "input", "question", "prompt", "document", "article", "sentence", "text"])
Kind = Literal["text", "number", "texts", "other"]
_USUAL = Fields()


class Names(NamedTuple):
    """The key that is read as each part, None where the part has the name that was asked for, or no other one."""

    id: str | None = None
    source: str | None = None
    references: str | None = None

    def __str__(self) -> str:
        """What is read as what: `"image" read as id and source, "captions" as references`."""
        parts: dict[str, list[str]] = {}
        for part, key in self._asdict().items():
            if key is not None:
                parts.setdefault(key, []).append(part)
        said = [f"{dump(key)} read as {' and '.join(found)}" for key, found in parts.items()]
        return ", ".join([*said[:1], *[one.replace(" read as ", " as ") for one in said[1:]]])


def recognise(
    kinds: Mapping[str, Kind],
    fields: Fields,
    *,
    has_references: bool,
    has_source: bool,
    needs_references: bool = True,
    needs_source: bool = True,
) -> Names:
    """The names that stand in for those that a file does not have; an InputError where two may be the references."""
    references = source = None
    if needs_references and not has_references and fields.references == _USUAL.references:
        found = _named(kinds, REFERENCES, ("text", "texts"), {fields.id, fields.source})
        if len(found) > 1:
            problem = f"{', '.join(map(dump, found[:-1]))} and {dump(found[-1])} may be the references"
            raise InputError(problem, "choose one with references_field")
        references = next(iter(found), None)
    if needs_references and not has_references and references is None:
        return Names()  # the file is refused: with the names that it has
    if not has_source and fields.source == _USUAL.source and (needs_source or references is not None):
        found = _named(kinds, SOURCES, ("text", "number"), {fields.id, fields.references, references})
        source = found[0] if len(found) == 1 else None
        if not found and references is not None and kinds.get(fields.id) in ("text", "number"):
            source = fields.id  # captions of something that has but a name
    is_id = source is not None and source.lower() in IMAGES and fields.id == _USUAL.id and fields.id not in kinds
    return Names(source if is_id else None, source, references)


def _named(
    kinds: Mapping[str, Kind], names: frozenset[str], wanted: tuple[Kind, ...], taken: set[str | None]
) -> list[str]:
    return [key for key, kind in kinds.items() if key.lower() in names and kind in wanted and key not in taken]


def names_of_record(
    record: Mapping[str, Any], fields: Fields, *, needs_references: bool = True, needs_source: bool = True
) -> Names:
    """The names in a record."""
    return recognise(
        {key: _kind_of(value) for key, value in record.items()},
        fields,
        has_references=fields.references in record,
        has_source=fields.source in record,
        needs_references=needs_references,
        needs_source=needs_source,
    )


def _kind_of(value: Any) -> Kind:
    if isinstance(value, str):
        return "text"
    if isinstance(value, int):
        return "other" if isinstance(value, bool) else "number"
    return "texts" if isinstance(value, list) and all(isinstance(item, str) for item in value) else "other"


def with_names_asked_for(lines: Iterator[Line], reading: Reading, what: str = "") -> Iterator[Line]:
    """Records under the names that are asked for. `what` the file is taken for is noted, with the names in it."""
    for line in lines:
        record = _record_in(line)
        if record is None:
            yield line
            continue
        needs = {"needs_references": reading.needs_references, "needs_source": reading.needs_source}
        with located(reading.file.name, line.number):
            names = names_of_record(record, reading.fields, **needs)
        reading.note(what, str(names))
        rest: Iterator[Line] = chain([line], lines)
        if any(names) or _has_one_text(record, reading.fields):
            rest = (line._replace(content=_adapted(line, names, reading.fields)) for line in rest)
        yield from rest


def _record_in(line: Line) -> dict[str, Any] | None:
    """None for what is no record: whoever takes it says why."""
    try:
        record = json.loads(line.content) if line.fault is None else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _has_one_text(record: Mapping[str, Any], fields: Fields) -> bool:
    """Whether a text stands under the name that the user gave for references."""
    return fields.references != _USUAL.references and isinstance(record.get(fields.references), str)


def with_names(values: Mapping[str, Any], names: Names, fields: Fields) -> dict[str, Any]:
    """The values of a record under the names asked for; a text in the place of references is one reference."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        for name in _asked(key, names, fields, values):
            found[name] = [value] if _is_one(name, key, isinstance(value, str), fields) else value
    return found


def _asked(key: str, names: Names, fields: Fields, record: Container[str]) -> list[str]:
    """The names that a key of a record is read under; its own, if it stands for nothing else."""
    parts = zip(names, (fields.id, fields.source, fields.references), strict=True)
    found = [name for old, name in parts if old == key and name not in record]
    return [key, *found] if key == fields.id or not found else found


def _adapted(line: Line, names: Names, fields: Fields) -> bytes:
    """A record with the names asked for; a text in the place of references is one reference."""
    record = _record_in(line)
    if record is None or (names.references and not {names.references, fields.references} & record.keys()):
        return line.content  # whoever takes it says what is missing, by the keys that it has
    text, written = line.content.decode(), []
    for key, _, start, stop in members(text):
        value = text[start:stop]
        for name in _asked(key, names, fields, record):
            is_one = _is_one(name, key, value[0] == '"', fields)
            written.append(f"{dump(name)}: [{value}]" if is_one else f"{dump(name)}: {value}")
    return f"{{{', '.join(written)}}}".encode()


def _is_one(name: str, key: str, is_text: bool, fields: Fields) -> bool:
    """Whether a text stands for a list of one reference. Where the usual name is used, a list must stand there."""
    return is_text and name == fields.references and (name != key or key != _USUAL.references)
