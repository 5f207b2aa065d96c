"""JSON Lines: one record per line, and the schema that every other format is turned into.

In:   a line with {"id": ..., "source": ..., "references": [...]}, under any field names; an Example.
Out:  an Example, or an InputError that names what is wrong with the line; the Example's line, with whatever it was read
      from kept to the letter.
Not:  files (reading.py, writing.py).
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, NoReturn, get_args
from unicodedata import category

from polyref.data.opening import Line, display_name
from polyref.errors import InputError, SettingsError
from polyref.example import JUDGEMENTS, Example, KeptLattice, LatticeSummary, PseudoReference, Reference
from polyref.settings import setting, settings
from polyref.text.tokens import Tokenizer

PSEUDO_REFERENCES = "pseudo_references"
LATTICE = "lattice"
KEPT = "kept"
ONE_OBJECT = "give one JSON object per line"
MAX_NESTING = 200
_MOST = 2**31 - 1  # of a number that stands for a state, a word or a count
_MOST_IN_RULES = 1_000_000  # numbers in the rules of one example
_FINITE = sys.float_info.max
# For each judgement, what it is, its bounds, and how a person would say them.
_JUDGED: dict[str, tuple[type[int] | type[float], float, float, str]] = {
    "fluency": (float, -_FINITE, 0, "a finite number that is at most 0"),
    "content": (float, 0, 1, "a number from 0 to 1"),
    "crossings": (int, 0, _MOST, "a whole number from 0 on"),
    "risk": (float, 0, _FINITE, "a finite number from 0 on"),
}
_ZEROS = {key: _JUDGED[key][0]() for key in JUDGEMENTS}
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_BETWEEN = re.compile(r"[,: \t\r\n]*")
_HALF = re.compile("[\ud800-\udfff]")
_SPACED_COLON = re.compile(r'"\s+:')
_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,99999}", re.ASCII)


@settings
class Fields:
    """Under which keys a record keeps what an example is made of."""

    id: str = setting("id", "Key of the id (optional in the file).", key="id_field", metavar="KEY")
    source: str = setting("source", "Key of the source.", key="source_field", metavar="KEY")
    references: str = setting("references", "Key of the list of references.", key="references_field", metavar="KEY")

    def check_together(self) -> None:
        names = {"id_field": self.id, "source_field": self.source, "references_field": self.references}
        for key, name in names.items():
            if list(names.values()).count(name) > 1:
                raise SettingsError(f'is "{name}", and so is another field', "name three different ones", key=key)
            if name in (PSEUDO_REFERENCES, LATTICE):
                raise SettingsError(f'is "{name}", which is kept for the result', "choose another name", key=key)


# -- JSON -----------------------------------------------------------------------------------------------------------


def json_of(text: str, name: str, line: int | None = None, *, cure: str = ONE_OBJECT, strict: bool = True) -> Any:
    """The value of a line with this number, or of a whole document; an InputError that says what is wrong with it.

    `strict` refuses NaN and Infinity, which Python's reader would let pass; in a document also a key that an object has
    twice. (Of a record, `check_keys` looks at that.)
    """
    try:
        if line is not None:
            _check_nesting(text)
        value = (_DECODER if not strict else _STRICT if line is not None else _ONCE).decode(text)
        if line is not None and ("\\ud" in text or "\\uD" in text):  # only such an escape can be half a surrogate pair
            check_characters(value)
        return value
    except json.JSONDecodeError as error:
        problem = f"broken JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
        line = error.lineno if line is None else line
    except InputError as error:
        problem, cure = error.problem, error.cure
    except RecursionError:
        problem, cure = "the JSON is nested too deeply", "give a flat record"
    except ValueError:  # Python's own limit on the digits of a whole number
        problem, cure = "a number has too many digits", "write it as a string"
    raise InputError(problem, cure, file=name, line=line) from None


def _check_nesting(text: str) -> None:
    """Refuse what is nested too deeply. (Python's own limit depends on who calls.)"""
    # Each bracket that opens needs one that closes, so that short records need not be looked at.
    if len(text) <= 2 * MAX_NESTING or text.count("[") + text.count("{") <= MAX_NESTING:
        return
    depth = 0
    for token in _BRACKETS.findall(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
        if depth > MAX_NESTING:
            raise InputError(f"the JSON is nested more than {MAX_NESTING} deep", "give a flat record")


def _no_constant(name: str) -> NoReturn:
    raise InputError(f"broken JSON: {name} is not a JSON value", "use null or a number")


# One decoder and one encoder for all: json.loads and json.dumps make new ones at every call with settings.
_STRICT, _DECODER = json.JSONDecoder(parse_constant=_no_constant), json.JSONDecoder()
_ONCE = json.JSONDecoder(object_pairs_hook=lambda pairs: _once(pairs), parse_constant=_no_constant)
dump = json.JSONEncoder(ensure_ascii=False).encode
_dump_closely = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def record_line(values: Mapping[str, Any], pieces: Mapping[str, str] | None = None) -> bytes:
    """A record with these values, and with these values that are JSON already."""
    # Half a surrogate pair is escaped, so that it gets as far as the check that names it.
    return _with_members(dump(values), pieces or {}).encode("utf-8", "backslashreplace")


# -- the members of an object as texts: some can be changed, and all else stays to the letter -----------------------


def members(record: str) -> Iterator[tuple[str, int, int, int]]:
    """The keys of a well-formed object, where each begins, where its value begins, and where that ends."""
    stop = record.index("{") + 1
    while record[start := next_token(record, stop)] != "}":
        key, stop = _DECODER.raw_decode(record, start)
        value = next_token(record, stop)
        _, stop = _DECODER.raw_decode(record, value)
        yield key, start, value, stop


def next_token(text: str, position: int) -> int:
    """Where the next key or value begins, behind commas, colons and spaces."""
    return _BETWEEN.match(text, position).end()  # type: ignore[union-attr]


def value_texts(record: str) -> dict[str, str]:
    """The text of each value by its key; the last one of a key that comes twice."""
    return {key: record[value:stop] for key, _, value, stop in members(record)}


def _edited(record: str, changes: Mapping[str, str], removed: Collection[str]) -> str:
    """The record with other values, given as JSON, and without some keys; keys that it lacks come behind the others."""
    found = list(members(record))
    opening = record[: found[0][1]] if found else ""
    text, end = "", 0
    for key, start, value, stop in found:
        if key not in removed:
            # With what stood before it: a comma, and whatever spaces there were.
            text += (
                (record[end:start] if text else opening) + record[start:value] + changes.get(key, record[value:stop])
            )
        end = stop
    keys = {key for key, *_ in found}
    return _with_members((text or opening) + record[end:], {key: changes[key] for key in changes if key not in keys})


def _with_members(record: str, added: Mapping[str, str]) -> str:
    """The record with more keys behind the others; their values are given as JSON."""
    if not added:
        return record
    more = ", ".join([f"{dump(key)}: {value}" for key, value in added.items()])
    head = record[: record.rindex("}")].rstrip()
    return f"{head}{'' if head.endswith('{') else ', '}{more}}}"


# -- from a line to an example --------------------------------------------------------------------------------------


def parse(line: Line, path: str, fields: Fields, *, require_source: bool = True) -> Example:
    """One line as an Example, or an InputError that names what is wrong with it."""
    name = display_name(path)
    text = line.text(name)
    record = json_of(text, name, line.number)
    try:
        return _example(record, text, line.number, fields, require_source)
    except InputError as error:
        error.file, error.line = name, line.number
        raise


def _example(record: Any, text: str, number: int, fields: Fields, require_source: bool) -> Example:
    check_object(record)
    check_keys(record, text)
    if fields.references not in record:
        raise missing(fields.references, "references_field", record)
    if require_source and fields.source not in record:
        raise missing(fields.source, "source_field", record)
    references = _need(record[fields.references], list, f'"{fields.references}"', "give a list of strings")
    if not references:
        raise InputError(f'"{fields.references}" is empty', "give at least one")
    id, source = id_of(record, number, fields), record.get(fields.source)
    gold = tuple([_reference(item, n) for n, item in enumerate(references, 1)])
    pseudo = _pseudo_references(record.get(PSEUDO_REFERENCES))
    lattice = lattice_of(record.get(LATTICE), len(gold))
    return Example(id, source, gold, pseudo, lattice, record=text, line=number, as_read=(id, source, gold))


def check_object(record: Any, cure: str = ONE_OBJECT, what: str = "the line") -> None:
    if not isinstance(record, dict):
        raise InputError(f"{what} holds {kind_in_words(record)}, not an object", cure)


def check_keys(record: Mapping[str, Any], text: str) -> None:
    """Refuse a key that comes twice: one of its values would be lost unsaid."""
    # Each key has a colon. To look at every object instead would cost a tenth of reading.
    colons, keys = text.count(":"), len(record)
    if colons == keys:
        return
    for value in record.values():
        inner = [value] if type(value) is dict else value
        if type(inner) is list and inner and type(inner[0]) is dict:
            keys += sum(map(len, [one for one in inner if type(one) is dict]))
    if colons != keys and (text.count('":') != keys or _SPACED_COLON.search(text)):
        _ONCE.decode(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in [key for key, _ in pairs[:place]])
        raise InputError(f"the key {dump(twice)} comes twice in an object", "keep one of the two")
    return found


def missing(key: str, setting: str, record: Mapping[str, Any]) -> InputError:
    keys = ", ".join(f'"{key}"' for key in list(record)[:8]) or "none"
    return InputError(f'"{key}" is missing', f"add it, or name another key with {setting} (the keys here: {keys})")


def id_of(record: Mapping[str, Any], number: int, fields: Fields) -> str:
    """The id of a record; its number stands in for one that is missing."""
    value = record.get(fields.id)
    if value is None:
        return str(number)
    if isinstance(value, bool) or not isinstance(value, str | int):
        kind = f"the number {value}" if isinstance(value, float) else kind_in_words(value)
        raise InputError(f'"{fields.id}" is {kind}', "give a string or a whole number, or leave it out")
    return str(value)


def check_characters(value: Any) -> None:
    """Refuse half a surrogate pair anywhere in a value: it is no character, and only JSON could hold it."""
    if _HALF.search(dump(value)):
        inner = value.items() if isinstance(value, dict) else ()
        where = next((json.dumps(key) for key, one in inner if _HALF.search(dump([key, one]))), "the line")
        raise InputError(f"{where} holds half a surrogate pair", "repair the \\u escapes")


def _reference(item: Any, position: int) -> Reference:
    if type(item) is str and "!" <= item[:1] <= "~":  # what most are: it begins with what can be seen
        return Reference(item)
    weight = 1.0
    if isinstance(item, dict):
        if "text" not in item:
            raise InputError(f'reference {position} has no "text"', 'write {"text": "...", "weight": 2.0}')
        if "weight" in item:
            what, cure = f"the weight of reference {position}", "give a number above 0"
            weight = _number(item["weight"], what, cure)
            if not 0 < weight < math.inf:
                raise InputError(f"{what} is {weight}", cure)
        item = item["text"]
    return Reference(_text(item, f"reference {position}", "give a string"), weight)


def _need(value: Any, kind: Any, what: str, cure: str) -> Any:
    """The value, if it is of this kind; true and false are not numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{what} is {kind_in_words(value)}", cure)
    return value


def _text(item: Any, what: str, cure: str) -> str:
    text: str = _need(item, str, what, cure)
    if is_blank(text):
        raise InputError(f"{what} is blank", "give a text, or take it out")
    return text


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: it has no characters, or only spaces and such without width."""
    # Cf: marks without width, such as U+200B; Cc: control characters.
    return all(letter.isspace() or category(letter) in ("Cf", "Cc") for letter in text)


def _number(value: Any, what: str, cure: str) -> float:
    _need(value, int | float, what, cure)
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _pseudo_references(value: Any) -> tuple[PseudoReference, ...]:
    if value is None:
        return ()
    cure = 'give a list of {"text": "...", "bleu": 97.1}, or take the key out'
    items = _need(value, list, f'"{PSEUDO_REFERENCES}"', cure)
    return tuple([_pseudo_reference(item, f"pseudo-reference {n}", cure) for n, item in enumerate(items, 1)])


def _pseudo_reference(item: Any, name: str, cure: str) -> PseudoReference:
    _need(item, dict, name, cure)
    bleu = _number(item.get("bleu"), f'the "bleu" of {name}', cure)
    if not 0 <= bleu <= 100:
        raise InputError(f'the "bleu" of {name} is not between 0 and 100', cure)
    text = _text(item.get("text"), f"the text of {name}", cure)
    judged = {key: _judgement(item[key], key, name) for key in JUDGEMENTS if item.get(key) is not None}
    return PseudoReference(text, bleu, item.get("repeat") is True, **judged)


def _judgement(value: Any, key: str, name: str) -> Any:
    kind, least, most, wanted = _JUDGED[key]
    what, cure = f'the "{key}" of {name}', f"give {wanted}, or take the key out"
    number = _number(value, what, cure)
    # Tables, and columns with gaps, may hold whole numbers as 2.0.
    if not least <= number <= most or (kind is int and not number.is_integer()):
        raise InputError(f"{what} is {number}", cure)
    return kind(number)


def lattice_of(value: Any, references: int) -> LatticeSummary | None:
    """What `lattice_json` has written."""
    if value is None:
        return None
    cure = "take the key out, or write it with polyref expand"
    sentences = _need(value, dict, f'"{LATTICE}"', cure).get("sentences")
    if not isinstance(sentences, str) or not _WHOLE_NUMBER.fullmatch(sentences):
        raise InputError(f'"sentences" of "{LATTICE}" is not a whole number in a string', cure)
    penalty = _need(value.get("penalty"), int | float | None, f'"penalty" of "{LATTICE}"', cure)
    exact = _need(value.get("exact"), bool, f'"exact" of "{LATTICE}"', cure)
    return LatticeSummary(int(Decimal(sentences)), penalty, exact, _kept(value.get(KEPT), references))


def _kept(value: Any, references: int) -> KeptLattice | None:
    """The lattice itself. Whether it fits the references' words is seen when it is built again."""
    if value is None:
        return None
    what = f'"{KEPT}" of "{LATTICE}"'
    cure = "take the key out, or expand again and keep lattices"
    states = _need(_need(value, dict, what, cure).get("states"), list, f'"states" in {what}', cure)
    if len(states) != references:
        raise InputError(f'"states" in {what} is for {len(states)} references, and there are {references}', cure)
    for position, of_one in enumerate(states, 1):
        known = isinstance(of_one, list) and all(type(state) is int and 0 < state <= _MOST for state in of_one)
        if not known or not of_one:
            raise InputError(f"{what} has no states for reference {position}: a list of whole numbers above 0", cure)
    tokenizer = value.get("tokenizer")
    if tokenizer not in get_args(Tokenizer):
        raise InputError(f'"tokenizer" in {what} is none of {", ".join(get_args(Tokenizer))}', cure)
    fold_case = _need(value.get("fold_case"), bool, f'"fold_case" in {what}', cure)
    return KeptLattice(tuple(map(tuple, states)), tokenizer, fold_case, _rules(value.get("rules"), what, cure))


def _rules(value: Any, what: str, cure: str) -> tuple[tuple[int, ...], ...] | None:
    if value is None:
        return None
    numbers = 0
    for position, rule in enumerate(_need(value, list, f'"rules" in {what}', cure), 1):
        known = isinstance(rule, list) and len(rule) > 2 and all(type(n) is int and -1 <= n <= _MOST for n in rule)
        if not known or -1 in (rule[0], *rule[2:]) or -1 < rule[1] < rule[0]:
            form = "least, most (-1: no limit) and words, all of them whole numbers"
            raise InputError(f'rule {position} of "rules" in {what} is not a list of {form}', cure)
        numbers += len(rule)
    if numbers > _MOST_IN_RULES:
        raise InputError(f'"rules" in {what} has {numbers:,} numbers, and {_MOST_IN_RULES:,} are the most', cure)
    return tuple(map(tuple, value))


def kind_in_words(value: Any) -> str:
    names: dict[Any, str] = {bool: "true or false", str: "a string", int: "a number", float: "a number", list: "a list"}
    return "null" if value is None else names.get(type(value), "an object")


# -- from an example to a line --------------------------------------------------------------------------------------


def render(example: Example, fields: Fields | None = None) -> str:
    """An example as one line of JSON, without the line's end.

    What it was read from is kept to the letter, and the result is added behind it. An id, a source or references that
    have been replaced since stand in the place of the old ones.
    """
    fields = fields or Fields()
    result: dict[str, str] = {}
    if example.lattice is not None or example.pseudo_references:
        result[PSEUDO_REFERENCES] = _pseudo_json(example.pseudo_references)
    if example.lattice is not None:
        result[LATTICE] = lattice_json(example.lattice, len(example.references))
    if example.record is None or (example.as_read is None and not _is_object(example.record)):
        references = [_reference_json(reference) for reference in example.references]
        record = {fields.id: example.id, fields.source: example.source, fields.references: references}
        return _with_members(dump(record), result)
    read, changes, old = example.record, _changes(example, fields), (PSEUDO_REFERENCES, LATTICE)
    if changes or any(sign in read for sign in ("\\u", *[f'"{key}"' for key in old])):  # a key may be escaped
        read = _edited(read, changes, old)
    return _with_members(read, result)


def _is_object(record: str) -> bool:
    """Whether the record of an example that a program has put together is one to be kept."""
    try:
        return isinstance(json.loads(record), dict)
    except ValueError:
        return False


def _changes(example: Example, fields: Fields) -> dict[str, str]:
    """The keys whose values are no longer those of the record, with their new values as JSON."""
    was = _read_again(example, fields) if example.as_read is None else example.as_read
    id, source, references = was if was is not None else (None, None, None)
    changes = {}
    if example.id != id:
        changes[fields.id] = dump(example.id)
    if was is None or (example.source is not source and dump(example.source) != dump(source)):
        changes[fields.source] = dump(example.source)
    if example.references != references:
        changes[fields.references] = dump(_references_json(example, fields, keep_old=was is not None))
    return changes


def _read_again(example: Example, fields: Fields) -> tuple[str, Any, tuple[Reference, ...]] | None:
    """What the record of an example says that a program has put together; None if it is no example at all."""
    assert example.record is not None
    line = Line(example.line or 1, example.record.encode("utf-8", "surrogatepass"), 0)
    try:
        return parse(line, "", fields, require_source=False).as_read
    except InputError:
        return None


def _references_json(example: Example, fields: Fields, *, keep_old: bool) -> list[Any]:
    """The references; one that the record has too keeps whatever else the record says about it."""
    old: dict[tuple[str, float], list[Any]] = {}
    if keep_old and example.record is not None:
        for item in json.loads(example.record)[fields.references]:
            if isinstance(item, dict):
                old.setdefault((item["text"], item.get("weight", 1.0)), []).append(item)
    found = []
    for reference in example.references:
        same = old.get((reference.text, reference.weight))
        found.append(same.pop(0) if same else _reference_json(reference))
    return found


def _reference_json(reference: Reference) -> Any:
    return reference.text if reference.weight == 1.0 else {"text": reference.text, "weight": reference.weight}


def _pseudo_json(references: Iterable[PseudoReference]) -> str:
    # Each is one text of known parts: these are most of what is written, and most judgements come again and again.
    written = [
        f'{{"text": {encode_basestring(one.text)}, "bleu": {_bleu_json(one.bleu)}'
        f"{_judged_json(one.fluency, one.content, one.crossings, one.risk, one.repeat)}}}"
        for one in references
    ]
    return f"[{', '.join(written)}]"


@lru_cache(maxsize=1 << 13, typed=True)  # 1 and 1.0 are equal, and are not written alike
def _bleu_json(bleu: float) -> str:
    return dump(round(bleu, 2))  # what a person reads, and the same bytes on every machine's exp and log


@lru_cache(maxsize=1 << 13, typed=True)
def _judged_json(*judged: Any) -> str:
    """The members of a pseudo-reference behind its BLEU."""
    written: dict[str, Any] = {}
    *values, repeat = judged
    for key, value in zip(JUDGEMENTS, values, strict=True):
        if value is not None:
            written[key] = round(value, 4) + _ZEROS[key]  # the sum is 0.0 where rounding gives -0.0
    if repeat:
        written["repeat"] = True
    return f", {dump(written)[1:-1]}" if written else ""


def lattice_json(lattice: LatticeSummary, references: int) -> str:
    """What is written of a lattice that came from so many references."""
    summary, kept = _summary_json(lattice.sentences, lattice.penalty, lattice.exact), lattice.kept
    # A program may have given the example other references since: what was kept is not their lattice.
    if kept is None or len(kept.states) != references:
        return summary
    own = {"states": kept.states, "tokenizer": kept.tokenizer, "fold_case": kept.fold_case}
    own |= {} if kept.rules is None else {"rules": kept.rules}
    # Numbers by the dozen: without spaces they take a quarter less.
    return _with_members(summary, {KEPT: _dump_closely(own)})


@lru_cache(maxsize=1 << 10, typed=True)
def _summary_json(sentences: int, penalty: float | None, exact: bool) -> str:
    summary = LatticeSummary(sentences, penalty, exact)
    return dump(
        {
            "sentences": decimal_text(sentences),
            "log10_sentences": summary.log10_sentences,
            "penalty": penalty,
            "exact": exact,
        }
    )


def decimal_text(number: int) -> str:
    """A whole number in digits; `str` refuses those of more than 4,300, and real lattices may get there."""
    return str(Decimal(number))
