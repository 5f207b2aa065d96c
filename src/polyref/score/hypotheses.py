"""Read what a system has written.

In:   a file with a record a line, {"id": ..., "hypothesis": ...}, or with a text a line.
Out:  the texts, with their ids and lines.
Not:  references (pairing.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from polyref.data import MAX_LINE_BYTES
from polyref.data.lines import text_lines
from polyref.data.opening import BYTE_ORDER_MARK, Opened, open_input
from polyref.errors import InputError


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The hypotheses of a file, and where each stands; `ids` is None where it has none."""

    name: str
    texts: list[str]
    lines: list[int]
    ids: list[str] | None = None


def read_hypotheses(
    path: str,
    *,
    id_field: str = "id",
    hypothesis_field: str = "hypothesis",
    allow_empty: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Hypotheses:
    """The hypotheses of a file, in its order. `allow_empty`: one that is empty is kept; else it is an error."""
    with open_input(path) as opened:
        lines = enumerate(text_lines(opened, max_line_bytes=max_line_bytes), 1)
        if _are_records(opened):
            found = _records(lines, opened.name, id_field, hypothesis_field)
        else:
            found = _plain(lines, opened.name)
    if not found.texts:
        raise InputError("the file is empty", "give one hypothesis a line", file=found.name)
    for text, line in zip(found.texts, found.lines, strict=True):
        if not allow_empty and (not text or text.isspace()):
            cure = "give a text, or score it as no words with --allow-empty"
            raise InputError("the hypothesis is empty", cure, file=found.name, line=line)
    return found


def _are_records(opened: Opened) -> bool:
    """Whether the first line that is not blank is a JSON object, or is meant to be one."""
    head = opened.head.removeprefix(BYTE_ORDER_MARK).lstrip()
    return re.match(rb'\{\s*["}]', head) is not None


def _plain(lines: Iterator[tuple[int, str]], name: str) -> Hypotheses:
    texts = [text for _, text in lines]
    return Hypotheses(name, texts, list(range(1, len(texts) + 1)))


def _records(lines: Iterator[tuple[int, str]], name: str, id_field: str, hypothesis_field: str) -> Hypotheses:
    texts: list[str] = []
    numbers: list[int] = []
    first: dict[str, int] = {}  # where each id stands
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            id, text = _parse(line, id_field, hypothesis_field)
        except _WrongError as error:
            problem, cure = error.args
            raise InputError(problem, cure, file=name, line=number) from None
        if texts and (id is None) == bool(first):
            problem = f'"{id_field}" is {"missing" if first else "given"}, but not so on the lines before'
            raise InputError(problem, "give an id to all records or to none", file=name, line=number)
        if id is not None and first.setdefault(id, number) != number:
            problem = f'the id "{id}" is there twice, first on line {first[id]}'
            raise InputError(problem, "give one hypothesis for each example", file=name, line=number)
        texts.append(text)
        numbers.append(number)
    return Hypotheses(name, texts, numbers, list(first) or None)


class _WrongError(Exception):
    """Something about one record; its two arguments are the problem and the cure."""


def _parse(line: str, id_field: str, hypothesis_field: str) -> tuple[str | None, str]:
    try:
        record: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise _WrongError(f"broken JSON: {error.msg} at column {error.colno}", "give one JSON object a line") from None
    except (RecursionError, ValueError):
        raise _WrongError("the JSON cannot be read", "give a flat record") from None
    if not isinstance(record, dict):
        raise _WrongError("the line holds no object", "give one JSON object a line")
    if hypothesis_field not in record:
        keys = ", ".join(f'"{key}"' for key in list(record)[:8]) or "none"
        cure = f"add it, or name another key with --hypothesis-field (the keys here: {keys})"
        raise _WrongError(f'"{hypothesis_field}" is missing', cure)
    id, text = record.get(id_field), record[hypothesis_field]
    if isinstance(id, bool) or not isinstance(id, str | int | None):
        raise _WrongError(f'"{id_field}" is no text', "give a text or a whole number, or leave it out of all records")
    if not isinstance(text, str):
        raise _WrongError(f'"{hypothesis_field}" is no text', "give one text")
    return (None if id is None else str(id)), text
