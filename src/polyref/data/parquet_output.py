"""Write Parquet, with nested columns.

In:   records. Out: a row an example; references are a list of strings, or of structs where they have weights.
Not:  reading (parquet.py).

A key whose values have no type of their own is kept as JSON, in a column named after it with ":json" behind.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from polyref.data.columns import JSON
from polyref.data.extras import pyarrow
from polyref.data.jsonl import KEPT, LATTICE, PSEUDO_REFERENCES
from polyref.data.losses import Losses
from polyref.data.output import open_output
from polyref.data.parts import Parts, Shape, Spool, is_whole

GROUP_ROWS = 5000  # a row group is what a reader may have to hold at once
_TEXTS = {"text", "broken text", "empty"}


class _Column(NamedTuple):
    name: str
    type: Any
    value: Callable[[Parts], Any]


def write_parquet(spool: Spool, shape: Shape, path: str, losses: Losses) -> list[str]:
    """Write the file; what comes back is its name."""
    arrow, parquet = pyarrow(), pyarrow("pyarrow.parquet")
    columns = _columns(spool, shape, losses)
    schema = arrow.schema([(column.name, column.type) for column in columns])
    with open_output(path) as stream, parquet.ParquetWriter(stream, schema) as writer:
        rows = spool.parts()
        while group := list(islice(rows, GROUP_ROWS)):
            arrays = [arrow.array([column.value(parts) for parts in group], column.type) for column in columns]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema), row_group_size=GROUP_ROWS)
    return [path]


def _columns(spool: Spool, shape: Shape, losses: Losses) -> list[_Column]:
    fields = spool.fields
    arrow = pyarrow()
    columns = []
    if shape.ids:
        columns.append(_id_column(fields.id, shape))
    if shape.sources:
        is_plain = shape.source_kinds <= _TEXTS
        columns.append(
            _Column(fields.source, arrow.string(), lambda parts: parts.source)
            if is_plain
            else _Column(fields.source + JSON, arrow.string(), lambda parts: parts.source_json)
        )
    columns.append(_references_column(fields.references, shape))
    for key in shape.more:
        if is_whole(key):
            columns.append(_other_column(key, shape.more_kinds[key]))
        else:
            losses.add(f"values of a key that holds half a surrogate pair ({json.dumps(key)})", shape.more[key])
    if shape.pseudo:
        fluency = [("fluency", arrow.float64())] if shape.fluencies else []
        repeat = [("repeat", arrow.bool_())] if shape.repeats else []
        struct = arrow.struct([("text", arrow.string()), ("bleu", arrow.float64()), *fluency, *repeat])
        columns.append(_Column(PSEUDO_REFERENCES, arrow.list_(struct), _pseudo))
    if shape.lattices:
        texts = [("sentences", arrow.string()), ("log10_sentences", arrow.float64())]
        kept = [(KEPT, _kept_struct())] if shape.kept else []
        struct = arrow.struct([*texts, ("penalty", arrow.float64()), ("exact", arrow.bool_()), *kept])
        columns.append(_Column(LATTICE, struct, lambda parts: parts.lattice))
    return columns


def _kept_struct() -> Any:
    arrow = pyarrow()
    states = arrow.list_(arrow.list_(arrow.int32()))
    return arrow.struct([("states", states), ("tokenizer", arrow.string()), ("fold_case", arrow.bool_())])


def _id_column(name: str, shape: Shape) -> _Column:
    arrow = pyarrow()
    if shape.id_kinds == {"int"}:
        return _Column(name, arrow.int64(), lambda parts: parts.id)
    if shape.id_kinds <= _TEXTS:
        return _Column(name, arrow.string(), lambda parts: parts.id)
    return _Column(name + JSON, arrow.string(), lambda parts: None if parts.id is None else json.dumps(parts.id))


def _references_column(name: str, shape: Shape) -> _Column:
    arrow = pyarrow()
    if not shape.weights and not shape.of_reference:
        return _Column(
            name, arrow.list_(arrow.string()), lambda parts: [reference.text for reference in parts.references]
        )
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


def _other_column(key: str, kinds: set[str]) -> _Column:
    """A column of its own type where all values have one; else JSON."""
    arrow = pyarrow()
    plain: dict[str, Any] = {
        "bool": arrow.bool_(),
        "int": arrow.int64(),
        "float": arrow.float64(),
        "texts": arrow.list_(arrow.string()),
    }
    kind = None
    if key and not key.endswith(JSON):
        if kinds <= _TEXTS:
            kind = arrow.string()
        elif len(kinds) == 1:
            kind = plain.get(next(iter(kinds)))
    if kind is None:
        return _Column(key + JSON, arrow.string(), lambda parts: parts.more.get(key))
    return _Column(key, kind, lambda parts: json.loads(parts.more[key]) if key in parts.more else None)
