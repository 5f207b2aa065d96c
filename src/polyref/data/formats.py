"""Which format a file is in: by its content when it is read, by its name when it is written.

In:   the first bytes of a file; the name of a file that is to be written.
Out:  the name of a format.
Not:  reading (reading.py) or writing (writing.py) it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, get_args

from polyref.data.columns import cells_of_header, delimiter_of, has_needed_columns
from polyref.data.jsonl import Fields
from polyref.data.opening import BYTE_ORDER_MARK, HEAD_BYTES, PARQUET_MAGIC, Opened
from polyref.errors import InputError, SettingsError

Format = Literal["jsonl", "parquet", "coco", "karpathy", "csv", "tsv", "parallel"]

# What a name may end in, before .gz or .zst.
SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".json": "coco",
    ".csv": "csv",
    ".tsv": "tsv",
    ".src": "parallel",
}
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[\[\]{}]', re.DOTALL)


def format_of_name(path: str) -> Format | None:
    """The format that a file of this name is written in; None if the name does not tell."""
    bare = without_compression(path)
    return next((format for suffix, format in SUFFIXES.items() if bare.endswith(suffix)), None)


def without_compression(path: str) -> str:
    return path.removesuffix(".gz").removesuffix(".zst")


def format_of_content(opened: Opened, fields: Fields, *, require_source: bool = True) -> Format:
    """The format of an open file. What is nothing else is taken for JSON Lines, whose reader says what is wrong.

    For a JSON document of captions this is "coco", whichever of the two it is: the document itself tells.
    """
    if opened.head.startswith(PARQUET_MAGIC):
        return "parquet"
    head = opened.head.removeprefix(BYTE_ORDER_MARK).strip()
    if head.startswith(b"{"):
        return "coco" if _is_captions(head, opened, fields) else "jsonl"
    format = _table_format(head, opened.path, fields, require_source)
    if format is None and head and format_of_name(opened.path) == "parallel":
        cure = "name them behind it, or call them .ref0, .ref1 and so on beside the .src"
        raise InputError("there are no files of references", cure, file=opened.name)
    if format is None and head and format_of_name(opened.path) is None and _is_prose(head):
        problem = "this is neither JSON, nor Parquet, nor a table with a header"
        cure = "name the format with --from, or for parallel text the files of references too"
        raise InputError(problem, cure, file=opened.name)
    if not head and format_of_name(opened.path) in ("csv", "tsv"):
        return format_of_name(opened.path) or "csv"  # whose reader says what an empty one lacks
    return format or "jsonl"


def _is_prose(line: bytes) -> bool:
    """Whether a line is text that nobody can have meant to be JSON."""
    try:
        return line.decode("utf-8")[0] not in '[]{}":'
    except UnicodeDecodeError:
        return False


def check_format(format: str | None) -> None:
    if format is not None and format not in get_args(Format):
        raise SettingsError(f'unknown format "{format}"; choose one of {", ".join(get_args(Format))}')


def _is_captions(line: bytes, opened: Opened, fields: Fields) -> bool:
    """Whether this is one JSON document of images and captions rather than a record a line."""
    keys: dict[str, Any]
    try:
        keys = json.loads(line)
    except (ValueError, RecursionError):
        # A document over many lines, or a line that is longer than the head.
        keys = _keys_of_beginning(opened.look(HEAD_BYTES).decode("utf-8", "replace"))
    if not isinstance(keys, dict) or fields.references in keys:
        return False
    return any(isinstance(keys.get(name), list) for name in ("images", "annotations"))


def _keys_of_beginning(text: str) -> dict[str, Any]:
    """The keys of a JSON object of which only the beginning is there, with [] for each value that is a list."""
    keys: dict[str, Any] = {}
    depth, key = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if token.group(2) is not None:
            if depth == 1:
                key = token.group(1)[1:-1]
                keys[key] = None
        elif mark in "[{":
            if depth == 1 and mark == "[":
                keys[key] = []
            depth += 1
        elif mark in "]}":
            depth -= 1
    return keys


def _table_format(header: bytes, path: str, fields: Fields, require_source: bool) -> Format | None:
    named = format_of_name(path)
    try:
        text = header.decode("utf-8")
    except UnicodeDecodeError:
        return named if named in ("csv", "tsv") else None
    format: Format = "tsv" if delimiter_of(text) == "\t" else "csv"
    if has_needed_columns(cells_of_header(text, format), fields, require_source=require_source):
        return format
    # Not the columns that are needed, but a table for sure: the columns are what its error should be about.
    return format if text and (format == "tsv" or named in ("csv", "tsv")) else None
