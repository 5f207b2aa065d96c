"""Examples from and to JSON Lines.

In:   one record a line, {"id": ..., "source": ..., "references": [...]}, under any field names.
Out:  Examples; and the same records again with what was found for them.
Not:  opening files safely for writing (output.py), making pseudo-references (expand.py).
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from polyref.data.lines import MAX_LINE_BYTES, Line, display_name, read_lines
from polyref.data.seen import SeenIds
from polyref.errors import InputError, SettingsError
from polyref.example import Example, LatticeSummary, PseudoReference, Reference

PSEUDO_REFERENCES = "pseudo_references"
LATTICE = "lattice"
MAX_NESTING = 200
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,99999}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fields:
    """Under which keys a record keeps what an example is made of."""

    id: str = "id"
    source: str = "source"
    references: str = "references"

    def __post_init__(self) -> None:
        names = [self.id, self.source, self.references]
        if len(set(names)) < len(names):
            raise SettingsError(f"two fields have the same name ({', '.join(names)}); name three different ones")
        for name in names:
            if name in (PSEUDO_REFERENCES, LATTICE):
                raise SettingsError(f'the field name "{name}" is kept for the result; choose another')


def read(
    path: str | os.PathLike[str],
    fields: Fields | None = None,
    *,
    limit: int | None = None,
    require_source: bool = True,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Example]:
    """The examples of a file, one at a time.

    `limit` cuts the references of each example: all gold ones stay, then come pseudo-references by rank.
    """
    if limit is not None and limit < 1:
        raise SettingsError(f"limit is {limit}; give 1 or more")
    return _read(os.fspath(path), fields or Fields(), limit, require_source, max_line_bytes)


def _read(path: str, fields: Fields, limit: int | None, require_source: bool, max_line_bytes: int) -> Iterator[Example]:
    seen = SeenIds(path, fields, max_line_bytes)
    for line in read_lines(path, max_line_bytes=max_line_bytes):
        example = parse(line, path, fields, require_source=require_source)
        seen.add(example.id, line.number)
        yield example if limit is None else example.limited(limit)


def parse(line: Line, path: str, fields: Fields, *, require_source: bool = True) -> Example:
    """One line as an Example, or an InputError that names what is wrong with it."""
    try:
        text = line.content.decode("utf-8")
        _check_nesting(text)
        record = json.loads(text, parse_constant=_no_constant)
        return _example(record, text, line.number, fields, require_source)
    except UnicodeDecodeError as error:
        problem, cure = f"not UTF-8 at byte {error.start + 1} of the line", "save the file as UTF-8"
    except json.JSONDecodeError as error:
        problem, cure = f"broken JSON: {error.msg} at column {error.colno}", "give one JSON object a line"
    except RecursionError:
        problem, cure = "the JSON is nested too deeply", "give a flat record"
    except _WrongError as error:
        problem, cure = error.args
    except ValueError:  # Python's own limit on the digits of a whole number
        problem, cure = "a number has too many digits", "write it as a text"
    raise InputError(problem, cure, file=display_name(path), line=line.number) from None


class _WrongError(Exception):
    """Something about one record; its two arguments are the problem and the cure."""


def _check_nesting(text: str) -> None:
    """Refuse what is nested too deeply. (Python's own limit depends on who calls.)"""
    if text.count("[") + text.count("{") <= MAX_NESTING:
        return
    depth = 0
    for token in _BRACKETS.findall(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
        if depth > MAX_NESTING:
            raise _WrongError(f"the JSON is nested more than {MAX_NESTING} deep", "give a flat record")


def _no_constant(name: str) -> NoReturn:
    raise _WrongError(f"broken JSON: {name} is no JSON value", "use null or a number")


def _example(record: Any, text: str, number: int, fields: Fields, require_source: bool) -> Example:
    if not isinstance(record, dict):
        raise _WrongError(f"the line holds {_kind(record)}, not an object", "give one JSON object a line")
    if fields.references not in record:
        raise _WrongError(f'"{fields.references}" is missing', _which_field("--references-field", record))
    if require_source and fields.source not in record:
        raise _WrongError(f'"{fields.source}" is missing', _which_field("--source-field", record))
    references = record[fields.references]
    if not isinstance(references, list):
        raise _WrongError(f'"{fields.references}" is {_kind(references)}', "give a list of texts")
    if not references:
        raise _WrongError(f'"{fields.references}" is empty', "give at least one")
    return Example(
        id=_id(record.get(fields.id), number, fields),
        source=record.get(fields.source),
        references=tuple([_reference(item, n) for n, item in enumerate(references, 1)]),
        pseudo_references=_pseudo_references(record.get(PSEUDO_REFERENCES)),
        lattice=_lattice(record.get(LATTICE)),
        record=text,
        line=number,
    )


def _which_field(option: str, record: dict[str, Any]) -> str:
    keys = ", ".join(f'"{key}"' for key in list(record)[:8]) or "none"
    return f"add it, or name another key with {option} (the keys here: {keys})"


def _id(value: Any, number: int, fields: Fields) -> str:
    if value is None:
        return str(number)
    if isinstance(value, bool) or not isinstance(value, str | int):
        kind = f"the number {value}" if isinstance(value, float) else _kind(value)
        raise _WrongError(f'"{fields.id}" is {kind}', "give a text or a whole number, or leave it out")
    return _whole_characters(str(value), f'"{fields.id}"')


def _reference(item: Any, position: int) -> Reference:
    weight: Any = 1.0
    if isinstance(item, dict):
        if "text" not in item:
            raise _WrongError(f'reference {position} has no "text"', 'write {"text": "...", "weight": 2.0}')
        weight = item.get("weight", 1.0)
        item = item["text"]
    text = _text(item, f"reference {position}", "give a text")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise _WrongError(f"the weight of reference {position} is {_kind(weight)}", "give a number above 0")
    number = _float(weight)
    if not 0 < number < math.inf:
        raise _WrongError(f"the weight of reference {position} is {number}", "give a number above 0")
    return Reference(text, number)


def _float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf if number > 0 else -math.inf


def _text(item: Any, what: str, cure: str) -> str:
    if not isinstance(item, str):
        raise _WrongError(f"{what} is {_kind(item)}", cure)
    if not item or item.isspace():
        raise _WrongError(f"{what} is blank", "give a text, or take it out")
    return _whole_characters(item, what)


def _whole_characters(text: str, what: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _WrongError(f"{what} holds half a surrogate pair", "repair the \\u escapes") from None
    return text


def _pseudo_references(value: Any) -> tuple[PseudoReference, ...]:
    if value is None:
        return ()
    cure = 'give a list of {"text": "...", "bleu": 97.1}, or take the key out'
    if not isinstance(value, list):
        raise _WrongError(f'"{PSEUDO_REFERENCES}" is {_kind(value)}', cure)
    found = []
    for position, item in enumerate(value, 1):
        if not isinstance(item, dict):
            raise _WrongError(f"pseudo-reference {position} is {_kind(item)}", cure)
        bleu = item.get("bleu")
        if isinstance(bleu, bool) or not isinstance(bleu, int | float):
            raise _WrongError(f'the "bleu" of pseudo-reference {position} is {_kind(bleu)}', cure)
        if not 0 <= bleu <= 100:
            raise _WrongError(f'the "bleu" of pseudo-reference {position} is not between 0 and 100', cure)
        text = _text(item.get("text"), f"the text of pseudo-reference {position}", cure)
        found.append(PseudoReference(text, float(bleu), repeat=item.get("repeat") is True))
    return tuple(found)


def _lattice(value: Any) -> LatticeSummary | None:
    if value is None:
        return None
    cure = "take the key out, or write it with polyref expand"
    if not isinstance(value, dict):
        raise _WrongError(f'"{LATTICE}" is {_kind(value)}', cure)
    sentences, penalty, exact = value.get("sentences"), value.get("penalty"), value.get("exact")
    if not isinstance(sentences, str) or not _WHOLE_NUMBER.fullmatch(sentences):
        raise _WrongError(f'"sentences" of "{LATTICE}" is no whole number written as a text', cure)
    if isinstance(penalty, bool) or not isinstance(penalty, int | float | None):
        raise _WrongError(f'"penalty" of "{LATTICE}" is {_kind(penalty)}', cure)
    if not isinstance(exact, bool):
        raise _WrongError(f'"exact" of "{LATTICE}" is {_kind(exact)}', cure)
    return LatticeSummary(int(Decimal(sentences)), penalty, exact)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "a text", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")


def render(example: Example, fields: Fields | None = None) -> str:
    """An example as one line of JSON, without the line's end.

    What it was read from is kept to the letter, and the result is added behind it.
    """
    fields = fields or Fields()
    found: dict[str, Any] = {}
    if example.lattice is not None or example.pseudo_references:
        found[PSEUDO_REFERENCES] = [_pseudo_json(pseudo) for pseudo in example.pseudo_references]
    if example.lattice is not None:
        found[LATTICE] = {
            "sentences": decimal_text(example.lattice.sentences),
            "log10_sentences": example.lattice.log10_sentences,
            "penalty": example.lattice.penalty,
            "exact": example.lattice.exact,
        }
    if example.record is None:
        return _dump(
            {fields.id: example.id, fields.source: example.source, **_references_json(example, fields), **found}
        )
    kept = without_result(example.record)
    if not found:
        return kept
    head = kept[: kept.rindex("}")].rstrip()
    return f"{head}{'' if head.endswith('{') else ', '}{_dump(found)[1:]}"


def without_result(record: str) -> str:
    """The record's text without the keys that `render` adds; to the letter, if it has none of them."""
    if f'"{PSEUDO_REFERENCES}"' not in record and f'"{LATTICE}"' not in record and "\\u" not in record:
        return record
    members = list(_members(record))
    opening = record[: members[0][1]] if members else record
    text, end = "", 0
    for key, start, stop in members:
        if key not in (PSEUDO_REFERENCES, LATTICE):
            # With what stood before it: a comma, and whatever spaces there were.
            text += (record[end:start] if text else opening) + record[start:stop]
        end = stop
    return (text or opening) + record[end:]


def _members(record: str) -> Iterator[tuple[str, int, int]]:
    """The key of each member of a well-formed JSON object, and where key and value begin and end."""
    decode = json.JSONDecoder().raw_decode
    position = record.index("{") + 1
    while True:
        start = _skip(record, position, ", \t\r\n")
        if record[start] == "}":
            return
        key, position = decode(record, start)
        position = _skip(record, position, ": \t\r\n")
        _, position = decode(record, position)
        yield key, start, position


def _skip(text: str, position: int, skipped: str) -> int:
    while text[position] in skipped:
        position += 1
    return position


def _references_json(example: Example, fields: Fields) -> dict[str, Any]:
    return {
        fields.references: [
            reference.text if reference.weight == 1.0 else {"text": reference.text, "weight": reference.weight}
            for reference in example.references
        ]
    }


def _pseudo_json(pseudo: PseudoReference) -> dict[str, Any]:
    # Two decimals: what a person reads, and the same bytes on every machine's exp and log.
    written: dict[str, Any] = {"text": pseudo.text, "bleu": round(pseudo.bleu, 2)}
    if pseudo.repeat:
        written["repeat"] = True
    return written


def decimal_text(number: int) -> str:
    """A whole number in digits; `str` refuses those of more than 4,300, and real lattices may get there."""
    return str(Decimal(number))


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
