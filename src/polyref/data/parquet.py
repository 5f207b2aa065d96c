"""Read Parquet: a column of texts for the source, and a list column for the references.

In:   a Parquet file. The references are lists of strings, or of structs with "text" (and "weight"); "a.b" names the
      field b of the struct, or of the list of structs, in the column a.
Out:  a record a row, numbered by rows; other columns pass through where JSON can hold them.
Not:  writing (parquet_output.py).

A column whose name ends in ":json" holds JSON, and its key is the name without that.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from polyref.data.assemble import json_piece, record_line
from polyref.data.columns import JSON
from polyref.data.extras import pyarrow
from polyref.data.jsonl import Fields
from polyref.data.lines import Line
from polyref.data.losses import Losses
from polyref.data.opening import Opened
from polyref.errors import InputError

BATCH_ROWS = 1024
_BUFFER_BYTES = 1 << 20


def read_parquet(opened: Opened, fields: Fields, *, require_source: bool, losses: Losses) -> Iterator[Line]:
    """The records of a Parquet file."""
    name = opened.name
    if not opened.is_regular:
        raise InputError("Parquet cannot be read from a pipe", "give the name of a file", file=name)
    if opened.is_packed:
        raise InputError("Parquet cannot be read from inside gzip or zstd", "decompress the file", file=name)
    arrow, parquet = pyarrow(), pyarrow("pyarrow.parquet")
    faults = (arrow.ArrowException, OSError)
    try:
        # Page by page: without these two, as much as a row group holds is read at once.
        file = parquet.ParquetFile(opened.path, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    except faults as error:
        raise _broken(error, name) from None
    with file:
        schema = file.schema_arrow
        _check_schema(schema, fields, require_source, name)
        kept = [column for column in schema if _is_kept(column, losses)]
        rows = file.metadata.num_rows
        if not rows:
            raise InputError("the file has no rows", "give at least one", file=name)
        size = Path(opened.path).stat().st_size
        number = 0
        batches = file.iter_batches(BATCH_ROWS, columns=[column.name for column in kept], use_threads=False)
        while True:
            try:
                batch = next(batches, None)
            except faults as error:
                raise _broken(error, name) from None
            if batch is None:
                return
            for row in _rows(batch, name, number):
                number += 1
                yield Line(number, _record(row, fields, name, number, losses), size * number // rows)


def _broken(error: Exception, name: str) -> InputError:
    reason = str(error).partition("\n")[0][:200].rstrip(" .")
    return InputError(f"cannot be read as Parquet ({reason})", "copy or make the file again", file=name)


def _rows(batch: Any, name: str, before: int) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        problem = f"a value behind row {before:,} cannot be read ({error})"
        raise InputError(problem, "make the file again", file=name) from None
    return rows


# -- the schema -----------------------------------------------------------------------------------------------------


def _check_schema(schema: Any, fields: Fields, require_source: bool, name: str) -> None:
    types = pyarrow("pyarrow.types")
    twice = next((column for column, count in Counter(schema.names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f'the column "{twice}" comes twice', "give each its own name", file=name)
    kind = _type_of(schema, fields.references)
    there = ", ".join(f'"{column}"' for column in schema.names[:20])
    for field, option, is_needed in (
        (fields.references, "--references-field", True),
        (fields.source, "--source-field", require_source),
    ):
        if is_needed and _type_of(schema, field) is None:
            cure = f"name another with {option} (the columns here: {there})"
            raise InputError(f'there is no column "{field}"', cure, file=name)
    if fields.references + JSON in schema.names:
        return
    is_list = kind is not None and _is_list(kind, types)
    texts = kind.value_type if is_list else None
    if texts is not None and types.is_struct(texts) and texts.get_field_index("text") >= 0:
        texts = texts.field("text").type
    if texts is None or not (_is_text(texts, types) or types.is_null(texts)):
        cure = 'give a list of strings, or of structs with "text"'
        raise InputError(f'the column "{fields.references}" holds {kind}', cure, file=name)


def _type_of(schema: Any, field: str) -> Any:
    """The type of a column, or of what a dotted name reaches inside a column; None if there is no such thing."""
    arrow = pyarrow()
    types = pyarrow("pyarrow.types")
    for column in (field, field + JSON):
        if column in schema.names:
            return schema.field(column).type
    outer, dot, inner = field.partition(".")
    if not dot or outer not in schema.names:
        return None
    kind = schema.field(outer).type
    is_list = _is_list(kind, types)
    struct = kind.value_type if is_list else kind
    if not types.is_struct(struct) or struct.get_field_index(inner) < 0:
        return None
    found = struct.field(inner).type
    return arrow.list_(found) if is_list else found


def _is_list(kind: Any, types: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: Any, types: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_kept(column: Any, losses: Losses) -> bool:
    """Whether JSON can hold a column; times and decimal numbers become texts, which is said too."""
    fate = _fate(column.type)
    if fate == "dropped":
        losses.add(f'columns that JSON cannot hold ("{column.name}": {column.type})')
    elif fate == "text":
        losses.add(f'types of columns that are read as texts ("{column.name}": {column.type})')
    return fate != "dropped"


def _fate(kind: Any) -> str:
    types = pyarrow("pyarrow.types")
    if types.is_struct(kind):
        inside = [_fate(kind.field(number).type) for number in range(kind.num_fields)]
        return next((fate for fate in ("dropped", "text") if fate in inside), "kept")
    if _is_list(kind, types) or types.is_dictionary(kind):
        return _fate(kind.value_type)
    plain = (types.is_boolean, types.is_integer, types.is_floating, types.is_null)
    if _is_text(kind, types) or any(is_plain(kind) for is_plain in plain):
        return "kept"
    as_text = (types.is_date, types.is_time, types.is_timestamp, types.is_decimal)
    return "text" if any(is_so(kind) for is_so in as_text) else "dropped"


# -- the rows -------------------------------------------------------------------------------------------------------


def _record(row: dict[str, Any], fields: Fields, name: str, number: int, losses: Losses) -> bytes:
    values: dict[str, Any] = {}
    pieces: dict[str, str] = {}
    for key, value in row.items():
        # A cell without a value is a key that the record does not have.
        if value is None:
            continue
        if key.endswith(JSON) and isinstance(value, str):
            pieces[key.removesuffix(JSON)] = json_piece(value, f'"{key}"', name, number)
        else:
            values[key] = _cleaned(value, losses)
    for field in (fields.source, fields.references):
        if field not in values and field not in pieces:
            found = _reached(row, field)
            if found is not None:
                values[field] = _cleaned(found, losses)
    references = values.get(fields.references)
    if isinstance(references, list):
        values[fields.references] = [_reference(item, name, number) for item in references]
    return record_line(values, pieces)


def _reached(row: dict[str, Any], field: str) -> Any:
    """What a dotted name reaches: a field of a struct, or that field of each struct in a list."""
    outer, _, inner = field.partition(".")
    value = row.get(outer)
    if isinstance(value, list):
        return [item.get(inner) if isinstance(item, dict) else None for item in value]
    return value.get(inner) if isinstance(value, dict) else None


def _reference(item: Any, name: str, number: int) -> Any:
    if not isinstance(item, dict):
        return item
    found: dict[str, Any] = {}
    for key, value in item.items():
        if value is None:
            continue
        if key.endswith(JSON) and isinstance(value, str):
            found[key.removesuffix(JSON)] = json.loads(json_piece(value, f'"{key}" of a reference', name, number))
        else:
            found[key] = value
    return found["text"] if found.keys() == {"text"} else found


def _cleaned(value: Any, losses: Losses) -> Any:
    """A value as JSON has it; fields of structs without a value go, as keys do."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        losses.add("numbers that are not finite (read as null)")
        return None
    if isinstance(value, list):
        return [_cleaned(item, losses) for item in value]
    if isinstance(value, dict):
        return {key: None if item is None else _cleaned(item, losses) for key, item in value.items()}
    return _TEXTS.get(type(value), str)(value) if value is not None else None


_TEXTS: dict[type, Callable[[Any], str]] = {
    datetime.datetime: lambda value: value.isoformat(),
    datetime.date: lambda value: value.isoformat(),
    datetime.time: lambda value: value.isoformat(),
    decimal.Decimal: str,
}
