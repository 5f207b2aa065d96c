"""Read CSV and TSV: a reference a row with its source repeated, or an example a row with several reference columns.

In:   a table with a header. CSV has quotes as in RFC 4180; TSV has none, and its cells are what stands between tabs.
Out:  a record an example, numbered by the line where its first row begins.
Not:  what the columns mean (columns.py), writing (table_output.py).
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Literal, NamedTuple

from polyref.data.assemble import json_piece, record_line
from polyref.data.columns import Column, Columns, columns_of, delimiter_of
from polyref.data.jsonl import PSEUDO_REFERENCES, Fields
from polyref.data.lines import Line, text_lines
from polyref.data.losses import Losses
from polyref.data.opening import Opened, open_input
from polyref.data.seen import SeenTexts
from polyref.errors import InputError

TableFormat = Literal["csv", "tsv"]
NumberedText = tuple[int, str]


class Row(NamedTuple):
    line: int
    cells: list[str]


class Table(NamedTuple):
    """A table that is being read: its file, its columns, and its rows from here on."""

    opened: Opened
    columns: Columns
    rows: Iterator[Row]

    def cell(self, row: Row, column: Column | None) -> str:
        return "" if column is None else row.cells[column.position]


def read_table(
    opened: Opened,
    format: TableFormat,
    fields: Fields,
    *,
    require_source: bool,
    max_line_bytes: int,
    losses: Losses,
) -> Iterator[Line]:
    """The records of a table."""
    table = _table(opened, format, fields, require_source, max_line_bytes)
    if not table.columns.is_row_each:
        found = False
        for row in table.rows:
            found = True
            yield Line(row.line, _example_a_row(table, row, fields), opened.position())
        if not found:
            raise InputError("the table has no rows", "give at least one", file=opened.name)
        return
    gathered = True
    if opened.is_regular:
        with open_input(opened.path) as again:
            gathered = _is_scattered(_table(again, format, fields, require_source, max_line_bytes))
    # The rows of one example may stand apart, as they do in the E2E data: then all of them must be held at once.
    groups = _gathered(table) if gathered else _neighbours(table)
    for group in groups:
        yield Line(group[0].line, _reference_a_row(table, group, fields, losses), opened.position())


def _table(opened: Opened, format: TableFormat, fields: Fields, require_source: bool, max_line_bytes: int) -> Table:
    lines = enumerate(text_lines(opened, max_line_bytes=max_line_bytes, keep_ends=format == "csv"), 1)
    header = next(((number, text) for number, text in lines if text.strip()), None)
    if header is None:
        raise InputError("the file is empty", "give a header and at least one row", file=opened.name)
    everything = chain([header], lines)
    rows = _tsv_rows(everything) if format == "tsv" else _csv_rows(everything, header, opened.name, max_line_bytes)
    names = next(rows).cells
    columns = columns_of(names, fields, opened.name, require_source=require_source, line=header[0])
    return Table(opened, columns, _checked(rows, columns, opened.name))


def _tsv_rows(lines: Iterable[NumberedText]) -> Iterator[Row]:
    for number, text in lines:
        if text:
            yield Row(number, text.split("\t"))


def _csv_rows(lines: Iterable[NumberedText], header: NumberedText, name: str, max_line_bytes: int) -> Iterator[Row]:
    # Cells longer than 128 KB are refused otherwise; how long a line may be is said in one place only.
    csv.field_size_limit(max(csv.field_size_limit(), max_line_bytes))
    begins = last = header[0]

    def texts() -> Iterator[str]:
        nonlocal last
        for number, text in lines:
            last = number
            yield text

    reader = csv.reader(texts(), delimiter=delimiter_of(header[1]), strict=True)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            cure = "put texts with quotes into quotes, and write their own quotes twice"
            raise InputError(f"broken CSV: {error}", cure, file=name, line=begins) from None
        if cells is None:
            return
        if cells:
            yield Row(begins, cells)
        begins = last + 1


def _checked(rows: Iterator[Row], columns: Columns, name: str) -> Iterator[Row]:
    for row in rows:
        if len(row.cells) != len(columns.names):
            cells = "1 cell" if len(row.cells) == 1 else f"{len(row.cells)} cells"
            problem = f"the row has {cells}, but the header has {len(columns.names)}"
            raise InputError(problem, "give every row as many", file=name, line=row.line)
        yield row


# -- a reference a row ----------------------------------------------------------------------------------------------


def _key(table: Table, row: Row) -> str:
    """What the rows of one example share: the id, or the source where there is none."""
    id = table.cell(row, table.columns.id)
    return f"id {id}" if id else f"source {table.cell(row, table.columns.source)}"


def _neighbours(table: Table) -> Iterator[list[Row]]:
    group: list[Row] = []
    for row in table.rows:
        if group and _key(table, row) != _key(table, group[0]):
            yield group
            group = []
        group.append(row)
    if not group:
        raise InputError("the table has no rows", "give at least one", file=table.opened.name)
    yield group


def _gathered(table: Table) -> Iterator[list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in table.rows:
        groups.setdefault(_key(table, row), []).append(row)
    if not groups:
        raise InputError("the table has no rows", "give at least one", file=table.opened.name)
    yield from groups.values()


def _is_scattered(table: Table) -> bool:
    """Whether the rows of some example stand apart."""
    seen = SeenTexts()
    return not all(seen.add(_key(table, group[0])) for group in _neighbours(table))


def _reference_a_row(table: Table, group: list[Row], fields: Fields, losses: Losses) -> bytes:
    columns = table.columns
    gold: list[Any] = []
    pseudo: list[dict[str, Any]] = []
    for row in group:
        if columns.source is not None and table.cell(row, columns.source) != table.cell(group[0], columns.source):
            problem = f'the source is not that of line {group[0].line}, although "{fields.id}" is the same'
            raise InputError(problem, "give each example its own id", file=table.opened.name, line=row.line)
        for column in columns.others:
            if table.cell(row, column) != table.cell(group[0], column):
                losses.add(f'values of the column "{columns.names[column.position]}" that differ within an example')
        text = table.cell(row, columns.references[0])
        if not text or text.isspace():
            raise InputError(
                "the reference is blank", "give a text, or take the row out", file=table.opened.name, line=row.line
            )
        if table.cell(row, columns.bleu):
            pseudo.append(_pseudo(table, row, text))
        else:
            gold.append(_gold(table, row, text))
            if table.cell(row, columns.fluency):
                losses.add('values of the column "fluency" in rows without "bleu"')
    if not gold:
        raise InputError(
            "the example has pseudo-references only",
            'give a reference whose "bleu" is blank',
            file=table.opened.name,
            line=group[0].line,
        )
    return _record(table, group[0], fields, gold, pseudo)


def _gold(table: Table, row: Row, text: str) -> Any:
    more = {column.key: _value(table, row, column) for column in table.columns.of_reference if table.cell(row, column)}
    weight = table.cell(row, table.columns.weight)
    if not weight and not more:
        return text
    return {"text": text, **({"weight": _number(table, row, weight, "weight")} if weight else {}), **more}


def _pseudo(table: Table, row: Row, text: str) -> dict[str, Any]:
    bleu = _number(table, row, table.cell(row, table.columns.bleu), "bleu")
    fluency = table.cell(row, table.columns.fluency)
    repeat = table.cell(row, table.columns.repeat)
    if repeat not in ("", "true", "false"):
        raise InputError('"repeat" is neither true nor false', "leave it blank", file=table.opened.name, line=row.line)
    found: dict[str, Any] = {"text": text, "bleu": bleu}
    if fluency:
        found["fluency"] = _number(table, row, fluency, "fluency")
    if repeat == "true":
        found["repeat"] = True
    return found


def _number(table: Table, row: Row, cell: str, name: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f'"{name}" is no number', "give one, or leave it blank", file=table.opened.name, line=row.line)
    return number


# -- an example a row -----------------------------------------------------------------------------------------------


def _example_a_row(table: Table, row: Row, fields: Fields) -> bytes:
    # An example with fewer references than there are columns leaves cells blank.
    texts = [table.cell(row, column) for column in table.columns.references]
    gold = [text for text in texts if text and not text.isspace()]
    if not gold:
        raise InputError("all references are blank", "give at least one", file=table.opened.name, line=row.line)
    return _record(table, row, fields, gold, [])


def _record(table: Table, row: Row, fields: Fields, gold: list[Any], pseudo: list[dict[str, Any]]) -> bytes:
    values: dict[str, Any] = {}
    pieces: dict[str, str] = {}
    columns = table.columns
    for column, key, is_kept_blank in (
        (columns.id, fields.id, False),
        (columns.source, fields.source, True),
        *[(column, column.key, False) for column in columns.others],
    ):
        cell = table.cell(row, column)
        if column is None:
            continue
        if column.is_json and cell:
            pieces[key] = json_piece(cell, f'"{columns.names[column.position]}"', table.opened.name, row.line)
        elif cell or (is_kept_blank and not column.is_json):
            values[key] = cell
        if key == fields.source:
            values[fields.references] = gold
    values.setdefault(fields.references, gold)
    if pseudo:
        values[PSEUDO_REFERENCES] = pseudo
    return record_line(values, pieces)


def _value(table: Table, row: Row, column: Column) -> Any:
    cell = table.cell(row, column)
    if not column.is_json:
        return cell
    name = table.columns.names[column.position]
    return json.loads(json_piece(cell, f'"{name}"', table.opened.name, row.line))
