"""One record as an Example: the schema that every format is turned into.

In:   a line with {"id": ..., "source": ..., "references": [...]}, under any field names.
Out:  an Example, or an InputError that names what is wrong with the line.
Not:  files (reading.py), writing records (render.py).
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, NoReturn, get_args

from polyref.data.lines import Line
from polyref.data.opening import display_name
from polyref.errors import InputError, SettingsError
from polyref.example import Example, KeptLattice, LatticeSummary, PseudoReference, Reference
from polyref.settings import setting, settings
from polyref.text.tokens import Tokenizer

PSEUDO_REFERENCES = "pseudo_references"
LATTICE = "lattice"
KEPT = "kept"
MAX_NESTING = 200
_MOST_STATES = 2**31 - 1
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,99999}", re.ASCII)


@settings
class Fields:
    """Under which keys a record keeps what an example is made of."""

    id: str = setting("id", "Key of an example's id (optional in the file).", key="id_field", metavar="KEY")
    source: str = setting("source", "Key of the source.", key="source_field", metavar="KEY")
    references: str = setting("references", "Key of the list of references.", key="references_field", metavar="KEY")

    def check_together(self) -> None:
        names = {"id_field": self.id, "source_field": self.source, "references_field": self.references}
        for key, name in names.items():
            if list(names.values()).count(name) > 1:
                raise SettingsError(f'is "{name}", and so is another field', "name three different ones", key=key)
            if name in (PSEUDO_REFERENCES, LATTICE):
                raise SettingsError(f'is "{name}", which is kept for the result', "choose another name", key=key)


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
    id, source = _id(record.get(fields.id), number, fields), record.get(fields.source)
    gold = tuple([_reference(item, n) for n, item in enumerate(references, 1)])
    return Example(
        id=id,
        source=source,
        references=gold,
        pseudo_references=_pseudo_references(record.get(PSEUDO_REFERENCES)),
        lattice=_lattice(record.get(LATTICE), len(gold)),
        record=text,
        line=number,
        as_read=(id, source, gold),
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
        fluency = item.get("fluency")
        if fluency is not None:
            fluency = _fluency(fluency, position)
        found.append(PseudoReference(text, float(bleu), item.get("repeat") is True, fluency))
    return tuple(found)


def _fluency(value: Any, position: int) -> float:
    cure = "give a finite number that is at most 0, or take the key out"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _WrongError(f'the "fluency" of pseudo-reference {position} is {_kind(value)}', cure)
    number = _float(value)
    if not -math.inf < number <= 0:
        raise _WrongError(f'the "fluency" of pseudo-reference {position} is {number}', cure)
    return number


def _lattice(value: Any, references: int) -> LatticeSummary | None:
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
    return LatticeSummary(int(Decimal(sentences)), penalty, exact, _kept(value.get(KEPT), references))


def _kept(value: Any, references: int) -> KeptLattice | None:
    """The lattice itself. Whether it fits the references' words is seen when it is built again."""
    if value is None:
        return None
    what = f'"{KEPT}" of "{LATTICE}"'
    cure = "take the key out, or write it with polyref expand --keep-lattice"
    if not isinstance(value, dict):
        raise _WrongError(f"{what} is {_kind(value)}", cure)
    states, tokenizer, fold_case = value.get("states"), value.get("tokenizer"), value.get("fold_case")
    if not isinstance(states, list):
        raise _WrongError(f'"states" in {what} is {_kind(states)}', cure)
    if len(states) != references:
        raise _WrongError(f'"states" in {what} is for {len(states)} references, and there are {references}', cure)
    for position, of_one in enumerate(states, 1):
        if not isinstance(of_one, list) or not of_one or not all(map(_is_state, of_one)):
            raise _WrongError(f"{what} has no states for reference {position}: a list of whole numbers above 0", cure)
    if not isinstance(tokenizer, str) or tokenizer not in get_args(Tokenizer):
        raise _WrongError(f'"tokenizer" in {what} is none of {", ".join(get_args(Tokenizer))}', cure)
    if not isinstance(fold_case, bool):
        raise _WrongError(f'"fold_case" in {what} is {_kind(fold_case)}', cure)
    return KeptLattice(tuple(map(tuple, states)), tokenizer, fold_case)


def _is_state(value: Any) -> bool:
    return type(value) is int and 0 < value <= _MOST_STATES


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "a text", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")


def decimal_text(number: int) -> str:
    """A whole number in digits; `str` refuses those of more than 4,300, and real lattices may get there."""
    return str(Decimal(number))
