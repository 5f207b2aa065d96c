"""Read what a system has written, and the references that it is scored against.

In:   hypotheses: a file with one record per line, {"id": ..., "hypothesis": ...}, or with one text per line; or COCO
      results, which are a JSON list of {"image_id": ..., "caption": ...}. References: a data set, or plain text.
Out:  the texts, with their ids and lines.
Not:  which references belong to which hypothesis (score/pairing.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from polyref.data.formats import format_of_content, format_of_name
from polyref.data.formats.format import Losses, Reading
from polyref.data.formats.jsonl import ONE_OBJECT, Fields, check_characters, check_object, is_blank, json_of, missing
from polyref.data.formats.parallel import parallel_paths, side_by_side
from polyref.data.formats.parquet import MAGIC
from polyref.data.opening import Opened, display_name, lines_of, located, open_input, text_lines
from polyref.data.reading import Input, ReadSettings
from polyref.errors import InputError, SettingsError
from polyref.remote import path_at

_IMAGE_ID, _CAPTION = "image_id", "caption"
_LISTS = 'give COCO results, [{"image_id": 42, "caption": "..."}, ...], or one record or text per line'
Found = tuple[int, str | None, str]  # a line, an id and a text


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The hypotheses of a file, and where each stands: its line, or its place in the list of COCO results.

    `ids` is None where the file has none.
    """

    name: str
    texts: list[str]
    lines: list[int]
    ids: list[str] | None = None


def read_hypotheses(path: str, settings: ReadSettings, field: str, *, allow_empty: bool = False) -> Hypotheses:
    """The hypotheses of a file, in its order. `allow_empty`: one that is empty is kept; else it is an error."""
    most, id_field = settings.max_line_bytes, settings.fields.id
    with open_input(path) as opened:
        if re.match(rb'\{\s*["}]', opened.first):  # a JSON object, or what is meant to be one
            found = _gathered(_records(opened, most, (id_field, field)), opened.name, id_field)
        elif _is_list(opened.first):
            found = _gathered(_results(opened), opened.name, _IMAGE_ID, "at place")
        else:
            texts = list(text_lines(opened, max_line_bytes=most))
            found = Hypotheses(opened.name, texts, list(range(1, len(texts) + 1)))
    if not found.texts:
        raise InputError("the file is empty", "give one hypothesis per line", file=found.name)
    for text, line in zip(found.texts, found.lines, strict=True):
        if not allow_empty and is_blank(text):
            cure = "give a text, or set allow_empty to score it as no words"
            raise InputError("the hypothesis is empty", cure, file=found.name, line=line)
    return found


def _gathered(found: Iterable[Found], name: str, id_field: str, where: str = "on line") -> Hypotheses:
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


def _records(opened: Opened, max_line_bytes: int, fields: tuple[str, str]) -> Iterator[Found]:
    for line in lines_of(opened, max_line_bytes):
        text = line.text(opened.name)
        yield _found(json_of(text, opened.name, line.number, strict=False), fields, opened.name, line.number)


def _is_list(first: bytes) -> bool:
    """Whether the file is a JSON list, or is meant to be one: texts may begin with a bracket too."""
    if re.match(rb'\[\s*(\{\s*["}]|$)', first):
        return True
    try:
        return first.startswith(b"[") and isinstance(json.loads(first), list)
    except (RecursionError, ValueError):
        return False


def _results(opened: Opened) -> Iterator[Found]:
    results = json_of(opened.text(), opened.name, cure=_LISTS, strict=False)
    if not results:
        raise InputError("the list is empty", _LISTS, file=opened.name)
    for place, item in enumerate(results, 1):
        lacking = [key for key in (_IMAGE_ID, _CAPTION) if isinstance(item, dict) and item.get(key) is None]
        if lacking:
            raise InputError(f'"{lacking[0]}" is missing', _LISTS, file=opened.name, line=place)
        with located(opened.name, place):
            check_characters(item)
        yield _found(item, (_IMAGE_ID, _CAPTION), opened.name, place, _LISTS, f"place {place} of the list")


def _found(
    record: Any, fields: tuple[str, str], name: str, number: int, cure: str = ONE_OBJECT, what: str = "the line"
) -> Found:
    """The id and the text of a record."""
    id_field, text_field = fields
    with located(name, number):
        check_object(record, cure, what)
        if text_field not in record:
            raise missing(text_field, "hypothesis_field", record)
        id, text = record.get(id_field), record[text_field]
        if isinstance(id, bool) or not isinstance(id, str | int | None):
            problem = f'"{id_field}" is neither a string nor a whole number'
            raise InputError(problem, "give one of the two, or leave it out of all records")
        if not isinstance(text, str):
            raise InputError(f'"{text_field}" is not a string', "give one")
    return number, None if id is None else str(id), text


@dataclass(frozen=True, slots=True)
class References:
    """The references of each example; `ids` and `sources` are None where a file has none, as plain text."""

    name: str
    texts: list[list[str]]
    ids: list[str] | None = None
    sources: list[Any] | None = None


def read_references(paths: Sequence[str], settings: ReadSettings, losses: Losses) -> References:
    """The references of a data set, or of plain text: line k of each file is a reference of example k, or blank."""
    if len(paths) > 1 and settings.format is not None:
        cure = "leave it out, or give one data set"
        raise SettingsError("does not fit several files of references, which are plain text", cure, key="format")
    if len(paths) > 1 or (settings.format is None and _is_plain_text(paths[0], settings.fields)):
        return _plain_references(paths, settings.max_line_bytes)
    examples = list(Input.of(paths[0], settings).examples(require_source=False, losses=losses))
    texts = [[reference.text for reference in example.references] for example in examples]
    ids, sources = [example.id for example in examples], [example.source for example in examples]
    return References(display_name(paths[0]), texts, ids, sources)


def _plain_references(paths: Sequence[str], max_line_bytes: int) -> References:
    with ExitStack() as stack:
        files = [stack.enter_context(open_input(path)) for path in paths]
        for file in files:
            if len(files) > 1 and (file.first.startswith(b'{"') or file.head.startswith(MAGIC)):
                problem = "several files of references are plain text, but this is something else"
                raise InputError(problem, "give one data set, or one reference per line in each file", file=file.name)
        lines = list(side_by_side(files, max_line_bytes))
    name = display_name(paths[0])
    if not lines:
        raise InputError("the file is empty", "give one reference per line", file=name)
    texts = [[text for text in of_line if not is_blank(text)] for of_line in lines]
    if [] in texts:
        number, where = texts.index([]) + 1, "in every file of references" if len(paths) > 1 else "here"
        raise InputError(f"line {number} is blank {where}", "give at least one reference", file=name, line=number)
    return References(name, texts)


def _is_plain_text(path: str, fields: Fields) -> bool:
    """Whether a single file of references is plain text. What is read once only, as a pipe, is a data set."""
    if not path_at(path).is_file() or parallel_paths(path) is not None:
        return False
    with open_input(path) as opened:
        try:
            format = format_of_content(Reading(opened, fields, Losses(), needs_source=False))
        except InputError:  # text that is neither JSON, nor Parquet, nor a table
            return True
        # JSON Lines is what everything else is taken for, such as a text that begins with a quotation mark.
        first = opened.first
    return format == "jsonl" and bool(first) and not first.startswith(b"{") and format_of_name(path) is None
