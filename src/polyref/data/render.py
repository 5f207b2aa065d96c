"""An Example as one line of JSON.

In:   an example, read from a file or made by a program.
Out:  its record: what it was read from to the letter, what was changed since, and the result behind it.
Not:  files (writing.py), the way back (jsonl.py).
"""

from __future__ import annotations

import json
from typing import Any

from polyref.data import members
from polyref.data.jsonl import KEPT, LATTICE, PSEUDO_REFERENCES, Fields, decimal_text, parse
from polyref.data.lines import Line
from polyref.errors import InputError
from polyref.example import Example, LatticeSummary, PseudoReference, Reference


def render(example: Example, fields: Fields | None = None) -> str:
    """An example as one line of JSON, without the line's end.

    What it was read from is kept to the letter, and the result is added behind it. Where the id, the source or the
    references have been replaced since, the new ones stand in the place of the old.
    """
    fields = fields or Fields()
    found: dict[str, Any] = {}
    if example.lattice is not None or example.pseudo_references:
        found[PSEUDO_REFERENCES] = [_pseudo_json(pseudo) for pseudo in example.pseudo_references]
    if example.lattice is not None:
        found[LATTICE] = _lattice_json(example.lattice)
    kept = _kept_json(example)
    if example.record is None or not _is_object(example):
        references = [_reference_json(reference) for reference in example.references]
        record = {fields.id: example.id, fields.source: example.source, fields.references: references}
        return _dump_with(kept, {**record, **found})
    read = without_result(example.record)
    changes = _changes(example, fields)
    if changes:
        read = members.with_values(read, changes)
    if not found:
        return read
    head = read[: read.rindex("}")].rstrip()
    return f"{head}{'' if head.endswith('{') else ', '}{_dump_with(kept, found)[1:]}"


def _dump_with(kept: str, record: dict[str, Any]) -> str:
    """A record as JSON. Its last member is the summary of its lattice, if the lattice was kept: that goes into it."""
    text = _dump(record)
    return f'{text[:-2]}, "{KEPT}": {kept}}}}}' if kept else text


def without_result(record: str) -> str:
    """The record's text without the keys that `render` adds; to the letter, if it has none of them."""
    if f'"{PSEUDO_REFERENCES}"' not in record and f'"{LATTICE}"' not in record and "\\u" not in record:
        return record
    return members.without(record, (PSEUDO_REFERENCES, LATTICE))


def _is_object(example: Example) -> bool:
    """Whether the record of an example that a program has put together is one to be kept."""
    if example.as_read is not None:
        return True
    try:
        return isinstance(json.loads(example.record or ""), dict)
    except ValueError:
        return False


def _changes(example: Example, fields: Fields) -> dict[str, str]:
    """The keys whose values are no longer those of the record, with their new values as JSON."""
    was = example.as_read
    if was is None:
        was = _read_again(example, fields)
    id, source, references = was if was is not None else (None, None, None)
    changes = {}
    if example.id != id:
        changes[fields.id] = _dump(example.id)
    if was is None or (example.source is not source and _dump(example.source) != _dump(source)):
        changes[fields.source] = _dump(example.source)
    if example.references != references:
        changes[fields.references] = _dump(_references_json(example, fields, keep_old=was is not None))
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


def _pseudo_json(pseudo: PseudoReference) -> dict[str, Any]:
    # Two decimals: what a person reads, and the same bytes on every machine's exp and log.
    written: dict[str, Any] = {"text": pseudo.text, "bleu": round(pseudo.bleu, 2)}
    if pseudo.fluency is not None:
        written["fluency"] = round(pseudo.fluency, 4) + 0.0  # the sum is 0.0 where rounding gives -0.0
    if pseudo.repeat:
        written["repeat"] = True
    return written


def _lattice_json(lattice: LatticeSummary) -> dict[str, Any]:
    return {
        "sentences": decimal_text(lattice.sentences),
        "log10_sentences": lattice.log10_sentences,
        "penalty": lattice.penalty,
        "exact": lattice.exact,
    }


def _kept_json(example: Example) -> str:
    """The lattice itself as JSON, without spaces; empty where there is none to write."""
    kept = None if example.lattice is None else example.lattice.kept
    # A program may have given the example other references since: what was kept is not their lattice.
    if kept is None or len(kept.states) != len(example.references):
        return ""
    return _dump_closely({"states": kept.states, "tokenizer": kept.tokenizer, "fold_case": kept.fold_case})


# One encoder for all: json.dumps makes a new one at every call.
_dump = json.JSONEncoder(ensure_ascii=False).encode
# Numbers by the dozen: without spaces they take a quarter less.
_dump_closely = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
