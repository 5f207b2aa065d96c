"""The formats of data sets: each has a file of its own, which tells, reads and writes it.

In:   the first bytes of a file; the name of a file that is to be written.
Out:  FORMATS, and which of them a file is in: by its content when it is read, by its name when it is written.
Not:  opening files (reading.py, writing.py).

A new format is a module beside this one that makes a `FileFormat`, and a line in FORMATS. docs/formats.md has one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from polyref.data.formats.captions import COCO, KARPATHY
from polyref.data.formats.documents import DOCUMENT
from polyref.data.formats.flickr import FLICKR
from polyref.data.formats.format import FileFormat, Reading
from polyref.data.formats.names import with_names_asked_for
from polyref.data.formats.parallel import PARALLEL
from polyref.data.formats.parquet import PARQUET
from polyref.data.formats.tables import CSV, TSV
from polyref.data.opening import Line, lines_of, without_compression


def _is_record(reading: Reading) -> bool:
    """Whether the first line is a record: most files are JSON Lines, and no other format need be asked."""
    try:
        record = json.loads(reading.file.first)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and reading.fields.references in record


def _read_lines(reading: Reading) -> Iterator[Line]:
    return with_names_asked_for(lines_of(reading.file, reading.max_line_bytes), reading)


FORMATS: dict[str, FileFormat] = {
    "jsonl": FileFormat((".jsonl", ".ndjson"), _read_lines, looks=_is_record),
    "parquet": PARQUET,
    "coco": COCO,
    "karpathy": KARPATHY,
    "json": DOCUMENT,
    "flickr": FLICKR,
    "csv": CSV,
    "tsv": TSV,
    "parallel": PARALLEL,
}

if TYPE_CHECKING:
    Format = str
    SourceFormat = str
else:  # the names, for whoever offers them as choices
    Format = Literal[tuple(FORMATS)]
    SourceFormat = Literal[(*FORMATS, "lines")]


def format_of_name(path: str) -> Format | None:
    """The format that a file of this name is written in; None if the name does not tell."""
    bare = without_compression(path)
    return next((name for name, format in FORMATS.items() if bare.endswith(format.suffixes)), None)


def format_of_content(reading: Reading) -> Format:
    """The format of an open file: by its name where only names tell, else by its content.

    What is nothing else is taken for JSON Lines, whose reader says what is wrong.
    """
    named, line = format_of_name(reading.file.path), reading.file.first
    if named is not None and FORMATS[named].looks is None:
        return named
    for name, format in FORMATS.items():
        if format.looks is not None and format.looks(reading):
            return name
    if named is None and line and _is_prose(line):
        problem = "this is neither JSON, nor Parquet, nor a table with a header, nor image#0, a tab and a caption"
        cure = "set format, or for parallel text name the files of references too"
        raise reading.wrong(problem, cure)
    return "jsonl"


def _is_prose(line: bytes) -> bool:
    """Whether a line is text that nobody can have meant to be JSON."""
    try:
        return line.decode("utf-8")[0] not in '[]{}":'
    except UnicodeDecodeError:
        return False
