"""The sources of a file, with references or without.

In:   a path, in any of the formats; or plain lines, a source each.
Out:  sources one at a time, as texts, with their ids.
Not:  references (reading.py).

Plain lines are asked for by name, or told by a name that ends in .txt, or in .src with no references beside it. Every
line counts, blank ones too, so that line k of what is made from them belongs to line k.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from polyref.data.assemble import record_line
from polyref.data.columns import cells_of_header, delimiter_of, has_needed_columns, source_names
from polyref.data.extras import pyarrow
from polyref.data.formats import Format, format_of_name, without_compression
from polyref.data.jsonl import Fields
from polyref.data.lines import MAX_LINE_BYTES, Line, text_lines
from polyref.data.losses import Losses
from polyref.data.opening import BYTE_ORDER_MARK, PARQUET_MAGIC, Opened, display_name, open_input
from polyref.data.reading import Input
from polyref.data.seen import SeenIds
from polyref.errors import InputError, SettingsError

SourceFormat = Literal["jsonl", "parquet", "coco", "karpathy", "csv", "tsv", "parallel", "lines"]
_ROWS = 1024


class Source(NamedTuple):
    """What a text is generated for. A source that is no text is its JSON, as in training."""

    id: str
    text: str
    line: int
    position: int  # bytes of the file behind us


def are_lines(path: str, format: SourceFormat | None) -> bool:
    """Whether a file holds plain lines: it is said, or its name tells."""
    if format is not None:
        return format == "lines"
    bare = without_compression(path)
    return bare.endswith(".txt") or (bare.endswith(".src") and Input.of(path).parallel_files() is None)


def read_sources(
    path: str,
    fields: Fields | None = None,
    *,
    format: SourceFormat | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    losses: Losses | None = None,
) -> Iterator[Source]:
    """The sources of a file, in its order; its references are not needed, and not looked at."""
    fields = fields or Fields()
    if format is not None and format not in get_args(SourceFormat):
        raise SettingsError(f'unknown format "{format}"; choose one of {", ".join(get_args(SourceFormat))}')
    if are_lines(path, format):
        return _lines(path, max_line_bytes)
    input = Input.of(path, None if format == "lines" else format, max_line_bytes)
    return _sources(input, fields, Losses() if losses is None else losses)


def _lines(path: str, max_line_bytes: int) -> Iterator[Source]:
    with open_input(path) as opened:
        number = 0
        for number, text in enumerate(text_lines(opened, max_line_bytes=max_line_bytes), 1):
            yield Source(str(number), text, number, opened.position())
        if not number:
            raise InputError("the file is empty", "give one source a line", file=opened.name)


def _sources(input: Input, fields: Fields, losses: Losses) -> Iterator[Source]:
    seen = None if input.parallel_files() is not None else SeenIds(input.name, fields.id)
    for record in _records(input, fields, losses):
        source = _source(record, fields, input.name)
        if seen is not None:
            seen.add(source.id, source.line)
        yield source


def _records(input: Input, fields: Fields, losses: Losses) -> Iterator[Line]:
    if input.parallel_files() is None and Path(input.paths[0]).is_file():  # what can be read once is not looked into
        with open_input(input.paths[0]) as opened:
            found = _without_references(opened, input.format, fields, input.max_line_bytes)
            if found is not None:
                yield from found
                return
    yield from input.records(fields, losses=losses)


# -- records --------------------------------------------------------------------------------------------------------


def _source(line: Line, fields: Fields, name: str) -> Source:
    def wrong(problem: str, cure: str) -> InputError:
        return InputError(problem, cure, file=name, line=line.number)

    try:
        record: Any = json.loads(line.content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise wrong(f"not UTF-8 at byte {error.start + 1} of the line", "save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        problem = f"broken JSON: {error.msg} at column {error.colno}"
        raise wrong(problem, "give one JSON object a line, or for plain text --from lines") from None
    except (RecursionError, ValueError):
        raise wrong("the JSON cannot be read", "give a flat record") from None
    if not isinstance(record, dict):
        raise wrong("the line holds no object", "give one JSON object a line, or for plain text --from lines")
    if record.get(fields.source) is None:
        keys = ", ".join(f'"{key}"' for key in list(record)[:8]) or "none"
        cure = f"add it, or name another key with --source-field (the keys here: {keys})"
        raise wrong(f'"{fields.source}" is missing', cure)
    id, source = record.get(fields.id), record[fields.source]
    if isinstance(id, bool) or not isinstance(id, str | int | None):
        raise wrong(f'"{fields.id}" is no text', "give a text or a whole number, or leave it out")
    text = source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)
    found = Source(str(line.number) if id is None else str(id), text, line.number, line.position)
    try:
        (found.id + found.text).encode()
    except UnicodeEncodeError:
        raise wrong("a text holds half a surrogate pair", "repair the \\u escapes") from None
    return found


# -- tables and Parquet without references --------------------------------------------------------------------------


def _without_references(
    opened: Opened, format: Format | None, fields: Fields, max_line_bytes: int
) -> Iterator[Line] | None:
    """The records of a file whose format keeps references in columns and that has no such column; else None."""
    if format in (None, "parquet") and opened.head.startswith(PARQUET_MAGIC):
        return _parquet(opened, fields)
    if format is None:
        named = format_of_name(opened.path)
        format = named if named in ("csv", "tsv") else None
    if format not in ("csv", "tsv"):
        return None
    header = opened.head.removeprefix(BYTE_ORDER_MARK).strip().decode("utf-8", "replace")
    names = cells_of_header(header, format)
    if has_needed_columns(names, fields, require_source=True) or not set(names) & set(source_names(fields)):
        return None  # read as everywhere, or refused as everywhere
    return _table(opened, format, fields, max_line_bytes)


def _table(opened: Opened, format: Literal["csv", "tsv"], fields: Fields, max_line_bytes: int) -> Iterator[Line]:
    lines = text_lines(opened, max_line_bytes=max_line_bytes, keep_ends=format == "csv")
    header = next(line for line in lines if line.strip())
    if format == "csv":
        reader = csv.reader(chain([header], lines), delimiter=delimiter_of(header), strict=True)
        names, rows = next(reader), _checked(reader, opened.name)
    else:
        names, rows = header.split("\t"), (line.split("\t") for line in lines)
    source = names.index(next(name for name in source_names(fields) if name in names))
    id = names.index(fields.id) if fields.id in names else None
    number = 1
    for number, row in enumerate(rows, 2):
        if not row or row == [""]:
            continue
        if len(row) != len(names):
            problem = f"the row has {len(row)} cells, but the header has {len(names)}"
            raise InputError(problem, "give every row as many", file=opened.name, line=number)
        record = {fields.source: row[source]} | ({} if id is None else {fields.id: row[id]})
        yield Line(number, record_line(record), opened.position())
    if number == 1:
        raise InputError("the table has no rows", "give at least one", file=opened.name)


def _checked(reader: Any, name: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        cure = "put texts with quotes into quotes, and write their own quotes twice"
        raise InputError(f"broken CSV: {error}", cure, file=name, line=reader.line_num) from None


def _parquet(opened: Opened, fields: Fields) -> Iterator[Line] | None:
    arrow, parquet = pyarrow(), pyarrow("pyarrow.parquet")
    try:
        with parquet.ParquetFile(opened.path) as file:
            names = set(file.schema_arrow.names)
    except (arrow.ArrowException, OSError):
        return None  # its reader says what is wrong
    if fields.source not in names or any(name.split(":")[0] == fields.references for name in names):
        return None

    def rows() -> Iterator[Line]:
        number = 0
        with parquet.ParquetFile(opened.path) as file:
            columns = [name for name in (fields.id, fields.source) if name in names]
            for batch in file.iter_batches(_ROWS, columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield Line(number, record_line(row), 0)
        if not number:
            raise InputError("the file has no rows", "give at least one", file=display_name(opened.path))

    return rows()
