"""Parquet: a column of texts for the source, and a list column for the references.

In:   a Parquet file. The references are lists of strings, or of structs with "text" (and "weight"); "a.b" names the
      field b of the struct, or of the list of structs, in the column a.
Out:  one record per row, numbered by rows; other columns pass through where JSON can hold them. And the way back: a key
      whose values have no type of their own is kept as JSON, in a column with ":json" behind its name.
Not:  what a record means (jsonl.py).
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections import Counter
from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from polyref.data.formats.format import JSON, FileFormat, Losses, Parts, Reading, Shape, Spool
from polyref.data.formats.jsonl import KEPT, LATTICE, PSEUDO_REFERENCES, Fields, record_line
from polyref.data.formats.names import Kind, Names, recognise, with_names
from polyref.data.opening import Line, located, open_output
from polyref.errors import InputError, SettingsError, load_extra
from polyref.example import JUDGEMENTS
from polyref.remote import is_remote, path_at

MAGIC = b"PAR1"
BATCH_ROWS = 1024
GROUP_ROWS = 5000  # a row group is what a reader may have to hold at once
_BUFFER_BYTES = 1 << 20
_TEXTS = {"text", "broken text", "empty"}


def pyarrow(module: str = "pyarrow") -> Any:
    return load_extra(module, purpose="Parquet", extra="parquet")


# -- reading --------------------------------------------------------------------------------------------------------


def read_parquet(reading: Reading) -> Iterator[Line]:
    """The records of a Parquet file."""
    opened = reading.file
    if not opened.is_regular:
        raise reading.wrong("Parquet cannot be read from a pipe", "give the name of a file")
    if opened.is_packed:
        raise reading.wrong("Parquet cannot be read from inside gzip or zstd", "decompress the file")
    source = opened.raw if is_remote(opened.path) else opened.path
    try:
        # Page by page: without these two, as much as a row group holds is read at once.
        file = pyarrow("pyarrow.parquet").ParquetFile(source, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    except (pyarrow().ArrowException, OSError) as error:
        raise _broken(error, reading) from None
    except UnicodeDecodeError:
        raise reading.wrong("the name of a column is not UTF-8", "make the file again with another name") from None
    with file:
        names = _check_schema(file.schema_arrow, reading)
        reading.note(str(names))
        kept = [column.name for column in file.schema_arrow if _is_kept(column, reading.losses)]
        rows = file.metadata.num_rows
        if not rows:
            raise reading.wrong("the file has no rows", "give at least one")
        size = path_at(opened.path).stat().st_size
        for number, row in enumerate(_rows(file, kept, reading), 1):
            line = reading.line(number, partial(_record, row, names, reading, number), row)
            yield line._replace(position=size * number // rows)


def _broken(error: Exception, reading: Reading) -> InputError:
    reason = str(error).partition("\n")[0][:200].rstrip(" .")
    return reading.wrong(f"cannot be read as Parquet ({reason})", "copy or make the file again")


def _rows(file: Any, columns: list[str], reading: Reading) -> Iterator[dict[str, Any]]:
    before = 0
    try:
        for batch in file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
            rows = batch.to_pylist()
            yield from rows
            before += len(rows)
    except (pyarrow().ArrowException, OSError) as error:
        raise _broken(error, reading) from None
    except (ValueError, OverflowError) as error:
        problem = f"a value behind row {before:,} cannot be read ({error})"
        raise reading.wrong(problem, "make the file again") from None


def _check_schema(schema: Any, reading: Reading) -> Names:
    """The columns that have other names than those asked for."""
    fields = reading.fields
    twice = next((column for column, count in Counter(schema.names).items() if count > 1), None)
    if twice is not None:
        raise reading.wrong(f'the column "{twice}" comes twice', "give each its own name")
    with located(reading.file.name):
        names = recognise(
            {column.name: _kind_of(column.type) for column in schema},
            fields,
            has_references=_type_of(schema, fields.references) is not None,
            has_source=_type_of(schema, fields.source) is not None,
            needs_references=reading.needs_references,
            needs_source=reading.needs_source,
        )
    needed = {"references_field": fields.references} if reading.needs_references else {}
    needed |= {"source_field": fields.source} if reading.needs_source else {}
    found = {fields.references: names.references, fields.source: names.source}
    for setting, name in needed.items():
        kind = _type_of(schema, found[name] or name)
        if kind is None:
            raise reading.no_column(name, setting, schema.names)
        if _lost(kind) == _LOST[-1]:
            raise reading.wrong(f'the column "{name}" holds {kind}, which JSON cannot hold', "give strings")
    return names


def _kind_of(kind: Any) -> Kind:
    if _is_list(kind):
        return "texts" if _is_text(kind.value_type) else "other"
    return "text" if _is_text(kind) else "number" if pyarrow().types.is_integer(kind) else "other"


def _type_of(schema: Any, field: str) -> Any:
    """The type of a column, or of what a dotted name reaches inside a column; None if there is no such thing."""
    for column in (field, field + JSON):
        if column in schema.names:
            return schema.field(column).type
    outer, dot, inner = field.partition(".")
    if not dot or outer not in schema.names:
        return None
    kind = schema.field(outer).type
    is_list = _is_list(kind)
    struct = kind.value_type if is_list else kind
    if not pyarrow().types.is_struct(struct) or struct.get_field_index(inner) < 0:
        return None
    found = struct.field(inner).type
    return pyarrow().list_(found) if is_list else found


def _is_list(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: Any) -> bool:
    types = pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


_LOST = ("", "types of columns that are read as texts", "columns that JSON cannot hold")


def _is_kept(column: Any, losses: Losses) -> bool:
    """Whether JSON can hold a column; times and decimal numbers become texts, which is said too."""
    lost = _lost(column.type)
    losses.add(f'{lost} ("{column.name}": {column.type})', bool(lost))
    return lost != _LOST[-1]


def _lost(kind: Any) -> str:
    """What is lost of a column of this type: one of _LOST."""
    types = pyarrow().types
    if types.is_struct(kind):
        return max([_lost(field.type) for field in kind], key=_LOST.index, default="")
    if _is_list(kind) or types.is_dictionary(kind):
        return _lost(kind.value_type)
    plain = (types.is_boolean, types.is_integer, types.is_floating, types.is_null)
    if _is_text(kind) or any(is_plain(kind) for is_plain in plain):
        return ""
    as_text = (types.is_date, types.is_time, types.is_timestamp, types.is_decimal)
    return _LOST[1 if any(is_so(kind) for is_so in as_text) else 2]


def _record(row: dict[str, Any], names: Names, reading: Reading, number: int) -> bytes:
    fields, losses = reading.fields, reading.losses
    values: dict[str, Any] = {}
    pieces: dict[str, str] = {}
    for key, value in row.items():
        # A cell without a value is a key that the record does not have.
        if value is None:
            continue
        if key.endswith(JSON) and isinstance(value, str):
            pieces[key.removesuffix(JSON)] = reading.json_piece(value, f'"{key}"', number)
        else:
            values[key] = _cleaned(value, losses)
    for field in (fields.source, fields.references):
        if field not in values and field not in pieces and (found := _reached(row, field)) is not None:
            values[field] = _cleaned(found, losses)
    if any(names):
        values = with_names(values, names, fields)
    references = values.get(fields.references)
    if isinstance(references, list):
        values[fields.references] = [_reference(item, reading, number) for item in references]
    record = record_line(values, pieces)
    if len(record) > reading.max_line_bytes:
        problem = f"the row has {len(record):,} bytes as JSON, and {reading.max_line_bytes:,} are the most"
        raise reading.wrong(problem, "raise max_line_bytes", number)
    return record


def _reached(row: dict[str, Any], field: str) -> Any:
    """What a dotted name reaches: a field of a struct, or that field of each struct in a list."""
    outer, _, inner = field.partition(".")
    value = row.get(outer)
    if isinstance(value, list):
        return [item.get(inner) if isinstance(item, dict) else None for item in value]
    return value.get(inner) if isinstance(value, dict) else None


def _reference(item: Any, reading: Reading, number: int) -> Any:
    if not isinstance(item, dict):
        return item
    found: dict[str, Any] = {}
    for key, value in item.items():
        if value is None:
            continue
        if key.endswith(JSON) and isinstance(value, str):
            piece = reading.json_piece(value, f'"{key}" of a reference', number)
            found[key.removesuffix(JSON)] = json.loads(piece)
        else:
            found[key] = value
    return found["text"] if found.keys() == {"text"} else found


def cleaned_row(row: dict[str, Any], losses: Losses) -> dict[str, Any]:
    """A row of a table without a schema. What is missing, or what JSON cannot hold, is a key that is not there."""
    found = {}
    for key, value in row.items():
        if _is_plain(value):
            found[key] = _cleaned(value, losses)
        elif value is not None:
            losses.add(f'values that JSON cannot hold ("{key}")')
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(one is None or _is_plain(one) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str | int | float | datetime.date | datetime.time | decimal.Decimal)


def _cleaned(value: Any, losses: Losses) -> Any:
    """A value as JSON has it; fields of structs without a value go, as keys do."""
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float):
        losses.add("numbers that are not finite (read as null)")
        return None
    if isinstance(value, list):
        return [_cleaned(item, losses) for item in value]
    if isinstance(value, dict):
        return {key: _cleaned(item, losses) for key, item in value.items()}
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


# -- writing --------------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    name: str
    type: Any
    value: Callable[[Parts], Any]


def write_parquet(spool: Spool) -> None:
    arrow, parquet = pyarrow(), pyarrow("pyarrow.parquet")
    columns = _columns(spool.fields, spool.shape)
    schema = arrow.schema([(column.name, column.type) for column in columns])
    with open_output(spool.path) as stream, parquet.ParquetWriter(stream, schema) as writer:
        rows = spool.parts()
        while group := list(islice(rows, GROUP_ROWS)):
            arrays = [arrow.array([column.value(parts) for parts in group], column.type) for column in columns]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema), row_group_size=GROUP_ROWS)


def _columns(fields: Fields, shape: Shape) -> list[_Column]:
    arrow = pyarrow()
    columns = []
    if shape.ids:
        columns.append(_column(fields.id, shape.id_kinds, lambda parts: parts.id_json))
    if shape.sources:
        plain = _Column(fields.source, arrow.string(), lambda parts: parts.source)
        as_json = _Column(fields.source + JSON, arrow.string(), lambda parts: parts.source_json)
        columns.append(plain if shape.source_kinds <= _TEXTS else as_json)
    columns.append(_references_column(fields.references, shape))
    more = shape.more_kinds.items()
    columns += [_column(key, kinds, lambda parts, key=key: parts.more.get(key)) for key, kinds in more]  # type: ignore[misc]
    if shape.pseudo:
        columns.append(_Column(PSEUDO_REFERENCES, pseudo_type(shape.judged, repeat=shape.repeats > 0), _pseudo))
    if shape.lattices:
        kind = lattice_type(kept=shape.kept > 0, rules=shape.rules > 0)
        columns.append(_Column(LATTICE, kind, lambda parts: parts.lattice))
    return columns


def pseudo_type(judged: Container[str], *, repeat: bool) -> Any:
    """The type of a column of pseudo-references that have these judgements."""
    arrow = pyarrow()
    columns = [("text", arrow.string()), ("bleu", arrow.float64())]
    kinds = {"crossings": arrow.int32()}
    columns += [(name, kinds.get(name, arrow.float64())) for name in JUDGEMENTS if name in judged]
    columns += [("repeat", arrow.bool_())] if repeat else []
    return arrow.list_(arrow.struct(columns))


def lattice_type(*, kept: bool, rules: bool) -> Any:
    """The type of a column of lattices; they may be there themselves, and may have rules."""
    arrow = pyarrow()
    text, number, flag = arrow.string(), arrow.float64(), arrow.bool_()
    numbers = arrow.list_(arrow.list_(arrow.int32()))
    own = [("states", numbers), ("tokenizer", text), ("fold_case", flag), *([("rules", numbers)] if rules else [])]
    summary = [("sentences", text), ("log10_sentences", number), ("penalty", number), ("exact", flag)]
    return arrow.struct([*summary, *([(KEPT, arrow.struct(own))] if kept else [])])


def _references_column(name: str, shape: Shape) -> _Column:
    arrow = pyarrow()
    if not shape.weights and not shape.of_reference:
        texts = arrow.list_(arrow.string())
        return _Column(name, texts, lambda parts: [reference.text for reference in parts.references])
    weight = [("weight", arrow.float64())] if shape.weights else []
    more = [(key + JSON, arrow.string()) for key in shape.of_reference]
    struct = arrow.struct([("text", arrow.string()), *weight, *more])

    def values(parts: Parts) -> list[dict[str, Any]]:
        return [
            {
                "text": reference.text,
                "weight": None if reference.weight == 1.0 else reference.weight,
                **{key + JSON: value for key, value in reference.more.items()},
            }
            for reference in parts.references
        ]

    return _Column(name, arrow.list_(struct), values)


def _pseudo(parts: Parts) -> list[dict[str, Any]] | None:
    if not parts.pseudo and parts.lattice is None:
        return None
    return [{**pseudo, "repeat": pseudo.get("repeat", False)} for pseudo in parts.pseudo]


def _column(key: str, kinds: set[str], as_json: Callable[[Parts], str | None]) -> _Column:
    """A column of its own type where all values have one; else JSON."""
    arrow = pyarrow()
    plain = {"bool": arrow.bool_(), "int": arrow.int64(), "float": arrow.float64(), "text": arrow.string()}
    plain["texts"] = arrow.list_(arrow.string())
    kinds = {"text"} if kinds <= _TEXTS else kinds
    kind = plain.get(next(iter(kinds))) if len(kinds) == 1 and key and not key.endswith(JSON) else None
    if kind is None:
        return _Column(key + JSON, arrow.string(), as_json)
    return _Column(key, kind, lambda parts: json.loads(as_json(parts) or "null"))


def _check(path: str) -> None:
    if path.endswith((".gz", ".zst")):
        raise SettingsError("Parquet is compressed already; leave the last suffix out of the name")
    pyarrow()


PARQUET = FileFormat(
    (".parquet",), read_parquet, write_parquet, lambda reading: reading.file.head.startswith(MAGIC), _check
)
