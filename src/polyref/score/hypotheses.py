"""Read what a system has written.

In:   a file with a record a line, {"id": ..., "hypothesis": ...}, or with a text a line; or COCO results, which are a
      JSON list of {"image_id": ..., "caption": ...}.
Out:  the texts, with their ids and lines.
Not:  references (pairing.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from polyref.data import MAX_LINE_BYTES
from polyref.data.lines import check_limit, text_lines
from polyref.data.opening import BYTE_ORDER_MARK, Opened, open_input
from polyref.errors import InputError
from polyref.score import is_empty

_IMAGE_ID, _CAPTION = "image_id", "caption"
_LISTS = 'give COCO results, [{"image_id": 42, "caption": "..."}, ...], or one record or text a line'


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The hypotheses of a file, and where each stands: its line, or its place in the list of COCO results.

    `ids` is None where the file has none.
    """

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
    check_limit(max_line_bytes)
    with open_input(path) as opened:
        lines = enumerate(text_lines(opened, max_line_bytes=max_line_bytes), 1)
        if _are_records(opened):
            found = _gathered(_records(lines, opened.name, id_field, hypothesis_field), opened.name, id_field)
        elif _is_list(opened):
            found = _gathered(_results(opened), opened.name, _IMAGE_ID, "at place")
        else:
            found = _plain(lines, opened.name)
    if not found.texts:
        raise InputError("the file is empty", "give one hypothesis a line", file=found.name)
    for text, line in zip(found.texts, found.lines, strict=True):
        if not allow_empty and is_empty(text):
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


def _gathered(
    found: Iterable[tuple[int, str | None, str]], name: str, id_field: str, where: str = "on line"
) -> Hypotheses:
    """Hypotheses with their ids and where they stand."""
    texts: list[str] = []
    numbers: list[int] = []
    first: dict[str, int] = {}  # where each id stands
    for number, id, text in found:
        if texts and (id is None) == bool(first):
            problem = f'"{id_field}" is {"missing" if first else "given"}, but not so on the lines before'
            raise InputError(problem, "give an id to all records or to none", file=name, line=number)
        if id is not None and first.setdefault(id, number) != number:
            problem = f'the id "{id}" is there twice, first {where} {first[id]}'
            raise InputError(problem, "give one hypothesis for each example", file=name, line=number)
        texts.append(text)
        numbers.append(number)
    return Hypotheses(name, texts, numbers, list(first) or None)


def _records(
    lines: Iterator[tuple[int, str]], name: str, id_field: str, hypothesis_field: str
) -> Iterator[tuple[int, str | None, str]]:
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            id, text = _parse(line, id_field, hypothesis_field)
        except _WrongError as error:
            problem, cure = error.args
            raise InputError(problem, cure, file=name, line=number) from None
        yield number, id, text


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
    return _checked(record.get(id_field), record[hypothesis_field], id_field, hypothesis_field)


def _checked(id: Any, text: Any, id_field: str, hypothesis_field: str) -> tuple[str | None, str]:
    if isinstance(id, bool) or not isinstance(id, str | int | None):
        raise _WrongError(f'"{id_field}" is no text', "give a text or a whole number, or leave it out of all records")
    if not isinstance(text, str):
        raise _WrongError(f'"{hypothesis_field}" is no text', "give one text")
    for field, value in ((id_field, str(id)), (hypothesis_field, text)):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _WrongError(f'"{field}" holds half a surrogate pair', "repair the \\u escapes") from None
    return (None if id is None else str(id)), text


# -- COCO results ---------------------------------------------------------------------------------------------------


def _is_list(opened: Opened) -> bool:
    """Whether the file is a JSON list, or is meant to be one: texts may begin with a bracket too."""
    head = opened.head.removeprefix(BYTE_ORDER_MARK).strip()
    if re.match(rb'\[\s*(\{\s*["}]|$)', head):
        return True
    try:
        return head.startswith(b"[") and isinstance(json.loads(head), list)
    except (RecursionError, ValueError):
        return False


def _results(opened: Opened) -> Iterator[tuple[int, str | None, str]]:
    found = _list_of(opened)
    if not found:
        raise InputError("the list is empty", _LISTS, file=opened.name)
    for place, item in enumerate(found, 1):
        try:
            id, text = _result(item, place)
        except _WrongError as error:
            problem, cure = error.args
            raise InputError(problem, cure, file=opened.name, line=place) from None
        yield place, id, text


def _result(item: Any, place: int) -> tuple[str | None, str]:
    if not isinstance(item, dict):
        raise _WrongError(f"place {place} of the list holds no object", _LISTS)
    for field in (_IMAGE_ID, _CAPTION):
        if item.get(field) is None:
            raise _WrongError(f'"{field}" is missing', _LISTS)
    return _checked(item[_IMAGE_ID], item[_CAPTION], _IMAGE_ID, _CAPTION)


def _list_of(opened: Opened) -> list[Any]:
    name = opened.name
    try:
        text = opened.all().decode("utf-8-sig")
        start = len(text) - len(text.lstrip())
        found, end = json.JSONDecoder().raw_decode(text, start)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start + 1}", "save the file as UTF-8", file=name) from None
    except json.JSONDecodeError as error:
        problem = f"broken JSON: {error.msg} at column {error.colno}"
        raise InputError(problem, "is the file complete?", file=name, line=error.lineno) from None
    except (RecursionError, ValueError):
        raise InputError("the JSON cannot be read", _LISTS, file=name) from None
    if text[end:].strip():
        line = text.count("\n", 0, start) + 1
        raise InputError("the line holds a list, not an object", _LISTS, file=name, line=line)
    assert isinstance(found, list)
    return found
