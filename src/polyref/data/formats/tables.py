"""CSV and TSV: one row per reference with its source repeated, or one row per example with several reference columns.

In:   a table with a header. CSV has quotes as in RFC 4180; TSV has none, and its cells are what stands between tabs.
Out:  one record per example, numbered by the line where its first row begins; and the way back.
Not:  what a record means (jsonl.py).
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from polyref.data.formats.format import (
    JSON,
    FileFormat,
    Parts,
    Reading,
    ReferencePart,
    SeenTexts,
    Spool,
    as_json,
    has_breaks,
)
from polyref.data.formats.jsonl import LATTICE, PSEUDO_REFERENCES, Fields, dump, is_blank, record_line
from polyref.data.formats.names import Names, recognise
from polyref.data.opening import Line, open_input, open_output, text_lines, without_compression
from polyref.errors import InputError
from polyref.example import JUDGEMENTS

Format = Literal["csv", "tsv"]
WEIGHT, BLEU, REPEAT = "weight", "bleu", "repeat"
OF_REFERENCE = "reference."  # such a column says something about the row's reference, not about the example
# Names that are known besides the default ones: those of parallel text, and those of the E2E data.
_SOURCES = ("source", "src", "mr")
_REFERENCES = ("references", "reference", "ref")
_QUOTED = re.compile(r'"[^"]*(?:"|$)')  # a name in quotes may go on behind the end of the line
_BREAKS = re.compile(r"[\t\r\n]+")
_NEEDS_QUOTES = re.compile(r'[",;\t\r\n]|^\s|\s$')


# -- what the columns mean ------------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """Where in a row each thing stands. With one row per reference, `references` is one column."""

    names: Sequence[str]
    id: int | None
    source: int | None
    references: list[int]
    has_row_each: bool  # whether each reference has a row
    of_row: dict[str, int]  # weight, bleu, judgements and repeat, as far as they are there
    of_reference: list[int]
    others: list[int]
    recognised: Names  # columns that have other names than those asked for


def _source_names(fields: Fields) -> tuple[str, ...]:
    return _SOURCES if fields.source == _SOURCES[0] else (fields.source,)


def _reference_names(fields: Fields) -> tuple[str, ...]:
    return _REFERENCES if fields.references == _REFERENCES[0] else (fields.references,)


def _column_name(fields: Fields) -> str:
    """How a column of references is called: one reference has a name in the singular."""
    return "reference" if fields.references == _REFERENCES[0] else fields.references


def _judgements(fields: Fields) -> list[str]:
    """The judgements that can have a column: where "content" is the name of the source, it is nothing else."""
    return [name for name in JUDGEMENTS if name not in (fields.id, fields.source, _column_name(fields))]


def _numbered(name: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(name)}[ _.-]?[0-9]+")


def columns_of(names: Sequence[str], reading: Reading, line: int = 1) -> Columns:
    """What each column means; an InputError where one is missing or comes twice."""
    fields = reading.fields
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise reading.wrong(f'the column "{twice}" comes twice', "give each its own name", line)
    places = {name: place for place, name in enumerate(names)}
    references, has_row_each = _reference_columns(places, fields)
    source = _first(places, [fields.source, fields.source + JSON, *_source_names(fields)])
    try:
        recognised = recognise(
            dict.fromkeys(names, "text"),
            fields,
            has_references=bool(references),
            has_source=source is not None,
            needs_references=reading.needs_references,
            needs_source=reading.needs_source,
        )
    except InputError as error:
        raise reading.wrong(error.problem, error.cure, line) from None
    if recognised.references is not None:
        references, has_row_each = [places[recognised.references]], True
    if recognised.source is not None:
        source = places[recognised.source]
    if not references and reading.needs_references:
        raise reading.no_column(_column_name(fields), "references_field", names, line)
    if source is None and reading.needs_source:
        raise reading.no_column(fields.source, "source_field", names, line)
    # Without pseudo-references, a judgement is somebody's own column, such as people's ratings.
    known = (WEIGHT, BLEU, REPEAT, *(_judgements(fields) if BLEU in places else []))
    of_row = {name: places[name] for name in known if has_row_each and name in places}
    id = _first(places, [fields.id, fields.id + JSON, *filter(None, [recognised.id])])
    taken = {*references, source, id, *of_row.values()}
    rest = [place for place in places.values() if place not in taken]
    of_reference = [place for place in rest if has_row_each and names[place].startswith(OF_REFERENCE)]
    others = [place for place in rest if place not in of_reference]
    return Columns(names, id, source, references, has_row_each, of_row, of_reference, others, recognised)


def _first(places: dict[str, int], names: Sequence[str]) -> int | None:
    return next((places[name] for name in names if name in places), None)


def _reference_columns(places: dict[str, int], fields: Fields) -> tuple[list[int], bool]:
    """One column with one reference per row; or several, which have one name and numbers, or are listed with commas."""
    names = _reference_names(fields)
    for name in names:
        if name in places:
            return [places[name]], True
    for name in names:
        numbered = [place for key, place in places.items() if _numbered(name).fullmatch(key)]
        if numbered:
            return numbered, False
    listed = [name.strip() for name in fields.references.split(",")]
    if len(listed) > 1 and all(name in places for name in listed):
        return [places[name] for name in listed], False
    return [], False


def _delimiter_of(header: str) -> str:
    """What stands between the names; what stands in quotes does not count."""
    bare = _QUOTED.sub("", header)
    return max(",", ";", "\t", key=bare.count)


def _format_of(reading: Reading) -> str | None:
    """The kind of table that a file is, by its header and its name; None if it is none."""
    line = reading.file.first
    suffix = Path(without_compression(reading.file.path)).suffix.removeprefix(".")
    named = suffix if suffix in ("csv", "tsv") else None
    if not line or line.startswith(b"{"):
        return None if line else named  # whose reader says what an empty one lacks
    try:
        header = line.decode("utf-8")
    except UnicodeDecodeError:
        return named
    delimiter = _delimiter_of(header)
    found = "tsv" if delimiter == "\t" else "csv"
    # Not the columns that are needed, but a table for sure: the columns are what its error should be about.
    if found == "tsv" or named:
        return found
    try:
        names = next(csv.reader([header], delimiter=delimiter), [])
        columns_of(names, reading)
    except (InputError, csv.Error):
        return None
    return found if reading.needs_references or len(names) > 1 else None  # one name alone may be any text


# -- reading --------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    line: int
    cells: list[str]
    fault: InputError | None = None  # of the row as a whole

    def cell(self, column: int | None) -> str:
        return "" if column is None else self.cells[column]


class _Table:
    """A table that is being read: its columns, and its rows from here on."""

    def __init__(self, reading: Reading, format: Format):
        self.reading = reading
        opened, most = reading.file, reading.max_line_bytes
        lines = enumerate(text_lines(opened, max_line_bytes=most, keep_ends=format == "csv"), 1)
        header = next(((number, text) for number, text in lines if text.strip()), None)
        if header is None:
            raise reading.wrong("the file is empty", "give a header and at least one row")
        everything = chain([header], lines)
        cut = (_Row(number, text.split("\t")) for number, text in everything if text)
        rows = cut if format == "tsv" else self._csv_rows(everything, *header)
        self.columns = columns_of(next(rows).cells, reading, header[0])
        reading.note(str(self.columns.recognised))
        self.rows = self._checked(rows)

    def _csv_rows(self, lines: Iterable[tuple[int, str]], begins: int, header: str) -> Iterator[_Row]:
        # Cells longer than 128 KB are refused otherwise; how long a line may be is said in one place only.
        csv.field_size_limit(max(csv.field_size_limit(), self.reading.max_line_bytes))
        first = begins
        reader = csv.reader((text for _, text in lines), delimiter=_delimiter_of(header), strict=True)
        try:
            for cells in reader:
                if cells:
                    yield _Row(begins, cells)
                begins = first + reader.line_num
        except csv.Error as error:
            cure = "put texts with quotes into quotes, and write their own quotes twice"
            raise self.reading.wrong(f"broken CSV: {error}", cure, begins) from None

    def _checked(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        row = None
        for row in rows:
            if len(row.cells) != len(self.columns.names):
                cells = "1 cell" if len(row.cells) == 1 else f"{len(row.cells)} cells"
                problem = f"the row has {cells}, but the header has {len(self.columns.names)}"
                row = row._replace(fault=self.reading.wrong(problem, "give every row as many", row.line))
            yield row
        if row is None:
            raise self.reading.wrong("the table has no rows", "give at least one")

    def key(self, row: _Row) -> str:
        """What the rows of one example share: the id, or the source where there is none."""
        if row.fault is not None or not self.columns.has_row_each:
            return f"line {row.line}"
        id = row.cell(self.columns.id)
        return f"id {id}" if id else f"source {row.cell(self.columns.source)}"

    def gathered(self) -> Iterable[list[_Row]]:
        groups: dict[str, list[_Row]] = {}
        for row in self.rows:
            groups.setdefault(self.key(row), []).append(row)
        return groups.values()

    def is_scattered(self) -> bool:
        """Whether the rows of some example stand apart."""
        seen = SeenTexts()
        return not all(seen.add(key) for key, _ in groupby(self.rows, self.key))

    def record(self, group: list[_Row]) -> bytes:
        """The record of an example."""
        if group[0].fault is not None:
            raise group[0].fault
        return self._record_of_rows(group) if self.columns.has_row_each else self._record_of_row(group[0])

    def _record_of_rows(self, group: list[_Row]) -> bytes:
        """With one row per reference."""
        columns, first, losses = self.columns, group[0], self.reading.losses
        gold: list[Any] = []
        pseudo: list[dict[str, Any]] = []
        for row in group:
            if row.cell(columns.source) != first.cell(columns.source):
                id = self.reading.fields.id
                problem = f'the source is not that of line {first.line}, although "{id}" is the same'
                raise self.reading.wrong(problem, "give each example its own id", row.line)
            for column in columns.others:
                if row.cells[column] != first.cells[column]:
                    losses.add(f'values of the column "{columns.names[column]}" that differ within an example')
            text = row.cells[columns.references[0]]
            if is_blank(text):
                raise self.reading.wrong("the reference is blank", "give a text, or take the row out", row.line)
            if self._of_row(row, BLEU):
                pseudo.append(self._pseudo(row, text))
            else:
                gold.append(self._gold(row, text))
                for name in JUDGEMENTS:
                    losses.add(f'values of the column "{name}" in rows without "bleu"', bool(self._of_row(row, name)))
        if not gold:
            problem, cure = "the example has pseudo-references only", 'give a reference whose "bleu" is blank'
            raise self.reading.wrong(problem, cure, first.line)
        return self._record(first, gold, pseudo)

    def _gold(self, row: _Row, text: str) -> Any:
        found: dict[str, Any] = {"text": text}
        if self._of_row(row, WEIGHT):
            found["weight"] = self._number(row, WEIGHT)
        for column in self.columns.of_reference:
            name = self.columns.names[column]
            if cell := row.cells[column]:
                is_json = name.endswith(JSON)
                value = json.loads(self.reading.json_piece(cell, f'"{name}"', row.line)) if is_json else cell
                found[name.removeprefix(OF_REFERENCE).removesuffix(JSON)] = value
        return found if len(found) > 1 else text

    def _pseudo(self, row: _Row, text: str) -> dict[str, Any]:
        found: dict[str, Any] = {"text": text, "bleu": self._number(row, BLEU)}
        found |= {name: self._number(row, name) for name in JUDGEMENTS if self._of_row(row, name)}
        repeat = self._of_row(row, REPEAT)
        if repeat not in ("", "true", "false"):
            raise self.reading.wrong('"repeat" is neither true nor false', "leave it blank", row.line)
        return found | ({"repeat": True} if repeat == "true" else {})

    def _of_row(self, row: _Row, name: str) -> str:
        return row.cell(self.columns.of_row.get(name))

    def _number(self, row: _Row, name: str) -> float:
        try:
            number = float(self._of_row(row, name))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.reading.wrong(f'"{name}" is not a number', "give one, or leave it blank", row.line)
        return number

    def _record_of_row(self, row: _Row) -> bytes:
        # An example with fewer references than there are columns leaves cells blank.
        texts = [row.cells[column] for column in self.columns.references]
        gold = [text for text in texts if not is_blank(text)]
        if texts and not gold:
            raise self.reading.wrong("all references are blank", "give at least one", row.line)
        return self._record(row, gold, [])

    def _record(self, row: _Row, gold: list[Any], pseudo: list[dict[str, Any]]) -> bytes:
        values: dict[str, Any] = {}
        pieces: dict[str, str] = {}
        columns, fields = self.columns, self.reading.fields
        named = [(columns.id, fields.id), (columns.source, fields.source)]
        for column, key in [*named, *[(column, columns.names[column].removesuffix(JSON)) for column in columns.others]]:
            if column is None:
                continue
            cell, is_json = row.cells[column], columns.names[column].endswith(JSON)
            if is_json and cell:
                pieces[key] = self.reading.json_piece(cell, f'"{columns.names[column]}"', row.line)
            elif not is_json and (cell or column == columns.source):
                values[key] = cell
            if key == fields.source:
                values[fields.references] = gold
        values.setdefault(fields.references, gold)
        if pseudo:
            values[PSEUDO_REFERENCES] = pseudo
        return record_line(values, pieces)


def read_table(reading: Reading, format: Format) -> Iterator[Line]:
    """The records of a table."""
    opened, table = reading.file, _Table(reading, format)
    scattered = table.columns.has_row_each
    if scattered and opened.is_regular:
        with open_input(opened.path) as again:
            scattered = _Table(replace(reading, file=again), format).is_scattered()
    # The rows of one example may stand apart, as they do in the E2E data: then all of them must be held at once.
    groups = table.gathered() if scattered else (list(rows) for _, rows in groupby(table.rows, table.key))
    for group in groups:
        yield reading.line(group[0].line, partial(table.record, group), [row.cells for row in group])


# -- writing --------------------------------------------------------------------------------------------------------

Cells = dict[str, str]  # by the name of the column; what is not there is blank


def write_table(spool: Spool, format: Format) -> None:
    spool.shape.check_ids()
    table = _Columns(spool, format)
    with open_output(spool.path) as stream:
        stream.write(_row(table.names, format))
        for parts in spool.parts():
            for cells in table.rows(parts):
                stream.write(_row([cells.get(name, "") for name in table.names], format))


def _row(cells: list[str], format: Format) -> bytes:
    if format == "tsv":
        return ("\t".join(cells) + "\n").encode("utf-8")
    quoted = ['"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell for cell in cells]
    return (",".join(quoted) + "\n").encode("utf-8")


class _Columns:
    """The columns that the records need, and the cells that a record fills."""

    def __init__(self, spool: Spool, format: Format):
        self.spool = spool
        self.format = format
        shape, fields = spool.shape, spool.fields
        self.has_row_each = not spool.reference_columns
        self.id = fields.id if shape.id_kinds <= {"text", "int"} else fields.id + JSON
        # A text that cannot stand in a cell is refused below; hiding it in JSON would surprise whoever cuts at tabs.
        is_text = shape.source_kinds <= {"text", "broken text"} and shape.sources == shape.examples
        self.source = fields.source if is_text else fields.source + JSON
        self.reference = _column_name(fields)
        self.judgements = _judgements(fields)
        self.more = {key: self._name(key, kinds) for key, kinds in shape.more_kinds.items() if self._can_name(key)}
        self.of_reference = {
            key: OF_REFERENCE + key + JSON for key in shape.of_reference if self.has_row_each and self._can_name(key)
        }
        self._count_losses()
        # Always an id: lines cannot stand in for it as they do in JSON Lines, where no header shifts them.
        self.names = [self.id, *([self.source] if shape.sources else [])]
        if self.has_row_each:
            counted = {WEIGHT: shape.weights, BLEU: shape.pseudo}
            counted |= {name: shape.judged[name] for name in self.judgements} | {REPEAT: shape.repeats}
            self.names += [self.reference, *[name for name, count in counted.items() if count]]
            self.names += self.of_reference.values()
        else:
            self.names += [f"{self.reference}{number}" for number in range(shape.most_references)]
            self.names += [PSEUDO_REFERENCES + JSON] if shape.pseudo else []
        self.names += [LATTICE + JSON] if shape.lattices else []
        self.names += self.more.values()

    def _can_name(self, key: str) -> bool:
        return self.format == "csv" or not has_breaks(key)

    def _name(self, key: str, kinds: set[str]) -> str:
        plain = {"text"} if self.format == "tsv" else {"text", "broken text"}
        has_judgements = self.has_row_each and self.spool.shape.pseudo > 0
        is_taken = _is_taken(key, self.spool.fields, has_judgements)
        is_plain = kinds <= plain and key and not key.endswith(JSON) and not is_taken
        return key if is_plain else key + JSON

    def _count_losses(self) -> None:
        shape = self.spool.shape
        if not self.has_row_each:
            self.spool.losses.add("weights of references", shape.weights)
        else:
            for name in set(JUDGEMENTS).difference(self.judgements):
                self.spool.losses.add(f'values of "{name}" of pseudo-references', shape.judged[name])
        lost = [item for item in shape.more.items() if item[0] not in self.more]
        lost += [item for item in shape.of_reference.items() if item[0] not in self.of_reference]
        for key, count in lost:
            self.spool.losses.add(f"values of the key {dump(key)}", count)

    def rows(self, parts: Parts) -> Iterator[Cells]:
        """The cells of an example's row, or of its rows."""
        shared = self._shared(parts)
        if not self.has_row_each:
            texts = [self._text(reference.text, parts) for reference in parts.references]
            yield {**shared, **{f"{self.reference}{place}": text for place, text in enumerate(texts)}}
            return
        for reference in parts.references:
            yield {**shared, **self._of_reference(reference, parts)}
        for pseudo in parts.pseudo:
            judged = {name: repr(pseudo[name]) for name in self.judgements if name in pseudo}
            repeat = {REPEAT: "true"} if pseudo.get("repeat") else {}
            text = self._text(pseudo["text"], parts)
            yield {**shared, self.reference: text, BLEU: repr(float(pseudo["bleu"])), **judged, **repeat}

    def _shared(self, parts: Parts) -> Cells:
        cells = {self.id: dump(parts.name) if self.id.endswith(JSON) else str(parts.name)}
        if self.source == self.spool.fields.source:
            cells[self.source] = self._text(parts.source, parts)
        else:
            cells[self.source] = _BREAKS.sub(" ", parts.source_json or "")
        if parts.lattice is not None:
            cells[LATTICE + JSON] = as_json(parts.lattice)
        if parts.pseudo and not self.has_row_each:
            cells[PSEUDO_REFERENCES + JSON] = as_json(parts.pseudo)
        for key, name in self.more.items():
            if key in parts.more:
                # Spaces between the parts of JSON may be tabs; inside its strings they are escaped.
                value = parts.more[key]
                cells[name] = _BREAKS.sub(" ", value) if name.endswith(JSON) else json.loads(value)
        return cells

    def _of_reference(self, reference: ReferencePart, parts: Parts) -> Cells:
        cells = {self.reference: self._text(reference.text, parts)}
        if reference.weight != 1.0:
            cells[WEIGHT] = repr(reference.weight)
        more = {self.of_reference[key]: value for key, value in reference.more.items() if key in self.of_reference}
        return cells | more

    def _text(self, text: str, parts: Parts) -> str:
        return text if self.format == "csv" else self.spool.on_one_line(text, parts, "TSV")


def _is_taken(key: str, fields: Fields, has_judgements: bool) -> bool:
    """Whether a plain column of this name would be taken for something else than a key that passes through."""
    names = [*_source_names(fields), *_reference_names(fields), fields.id, WEIGHT, BLEU, REPEAT]
    names += JUDGEMENTS if has_judgements else JUDGEMENTS[:1]  # a key "fluency" has been JSON in every table so far
    numbered = any(_numbered(name).fullmatch(key) for name in _reference_names(fields))
    return key in names or numbered or key.startswith(OF_REFERENCE) or key in (PSEUDO_REFERENCES, LATTICE)


def _table_format(format: Format) -> FileFormat:
    read, write = partial(read_table, format=format), partial(write_table, format=format)
    return FileFormat((f".{format}",), read, write, lambda it: _format_of(it) == format, has_reference_columns=True)


CSV, TSV = _table_format("csv"), _table_format("tsv")
