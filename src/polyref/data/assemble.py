"""Put a record together from values and from pieces of JSON.

In:   the values that a format holds.
Out:  a record as one line of JSON.
Not:  whether it is a good record (jsonl.py says so).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from polyref.errors import InputError


def json_piece(text: str, what: str, file: str, line: int) -> str:
    """A piece of JSON that stands in a cell, on one line; an InputError if it is none."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        cure = 'a column whose name ends in ":json" must hold JSON'
        raise InputError(f"{what} is no JSON", cure, file=file, line=line) from None
    # Line breaks stand between the parts of JSON only; inside its texts they are escaped.
    return text.replace("\r", " ").replace("\n", " ")


def record_line(values: Mapping[str, Any], pieces: Mapping[str, str] | None = None) -> bytes:
    """A record with these values, and with these values that are JSON already."""
    text = json.dumps(values, ensure_ascii=False)
    if pieces:
        more = ", ".join([f"{json.dumps(key, ensure_ascii=False)}: {piece}" for key, piece in pieces.items()])
        text = f"{text[:-1]}{', ' if values else ''}{more}}}"
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Half a surrogate pair: escaped, it gets as far as the check that names it.
        return text.encode("utf-8", "backslashreplace")
