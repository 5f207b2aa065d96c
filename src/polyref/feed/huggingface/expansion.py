"""Pseudo-references by `Dataset.map`.

In:   batches of rows with references, as `Dataset.map(..., batched=True)` hands them over.
Out:  the columns "pseudo_references" and "lattice": the same for any size of batch and any number of processes.
Not:  how they are found (expand.py), data sets as a whole (data.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from polyref.data import Fields, Line, parse, render
from polyref.data.assemble import record_line
from polyref.data.extras import pyarrow
from polyref.data.jsonl import KEPT, LATTICE, PSEUDO_REFERENCES
from polyref.encode import Encoder, open_encoder
from polyref.errors import InputError
from polyref.example import Example
from polyref.expand import ExpandSettings, Tools, expand

_NAME = "a batch of the data set"


@dataclass(frozen=True, slots=True)
class Expander:
    """What `expander` makes. `datasets` finds its cache again by these values: nothing else decides the result."""

    settings: ExpandSettings
    fields: Fields
    encoder: str | None = None
    encoder_hash: str = ""
    version: str = ""

    def __call__(self, batch: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        examples = expand(_examples(batch, self.fields), settings=self.settings, **_tools(self.encoder))
        records = [json.loads(render(example)) for example in examples]
        return {
            PSEUDO_REFERENCES: _Column([self._pseudo(record) for record in records], self._pseudo_type()),
            LATTICE: _Column([record[LATTICE] for record in records], self._lattice_type()),
        }

    # Every row has the same keys, and every batch the same types, whatever is in it.

    def _pseudo(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        keys = self._more()
        return [{**dict.fromkeys(keys), **pseudo} for pseudo in record[PSEUDO_REFERENCES]]

    def _more(self) -> list[str]:
        there = {"fluency": self.settings.fluency is not None, "repeat": self.settings.shortfall == "repeat"}
        return [key for key, is_there in there.items() if is_there]

    def _pseudo_type(self) -> Any:
        arrow = pyarrow()
        kinds = {"fluency": arrow.float64(), "repeat": arrow.bool_()}
        more = [(key, kinds[key]) for key in self._more()]
        return arrow.list_(arrow.struct([("text", arrow.string()), ("bleu", arrow.float64()), *more]))

    def _lattice_type(self) -> Any:
        arrow = pyarrow()
        states = ("states", arrow.list_(arrow.list_(arrow.int32())))
        kept = arrow.struct([states, ("tokenizer", arrow.string()), ("fold_case", arrow.bool_())])
        count = [("sentences", arrow.string()), ("log10_sentences", arrow.float64())]
        more = [(KEPT, kept)] if self.settings.keep_lattice else []
        return arrow.struct([*count, ("penalty", arrow.float64()), ("exact", arrow.bool_()), *more])


def expander(
    per_example: int | None = None,
    *,
    settings: ExpandSettings | None = None,
    fields: Fields | None = None,
    encoder: str | None = None,
) -> Expander:
    """A function for `Dataset.map(..., batched=True)` that adds pseudo-references, as `expand` does.

    Soft alignment uses the built-in encoder unless another one is named, as `open_encoder` takes it.
    """
    from polyref import __version__

    settings = settings or ExpandSettings()
    if per_example is not None:
        settings = replace(settings, per_example=per_example)
    # The content of an encoder may change behind its name; the cache must not.
    found = "" if encoder is None else _opened(encoder).hash
    return Expander(settings, fields or Fields(), encoder, found, __version__)


class _Column(list[Any]):
    """Values that know their type. That of a batch alone may be less: empty lists, or no penalty at all."""

    def __init__(self, values: list[Any], kind: Any):
        super().__init__(values)
        self._kind = kind

    def __arrow_array__(self, type: Any = None) -> Any:
        return pyarrow().array(list(self), self._kind if type is None else type)


def _examples(batch: Mapping[str, list[Any]], fields: Fields) -> list[Example]:
    if fields.references not in batch:
        there = ", ".join(f'"{name}"' for name in batch)
        cure = f"name another with fields=Fields(references=...) (the columns here: {there})"
        raise InputError(f'there is no column "{fields.references}"', cure)
    columns = [batch[name] for name in (fields.id, fields.references) if name in batch]
    return [_example(row, number, fields) for number, row in enumerate(zip(*columns, strict=True), 1)]


def _example(row: tuple[Any, ...], number: int, fields: Fields) -> Example:
    *id, references = row
    if isinstance(references, list):
        references = [_without_gaps(item) for item in references]
    record = {fields.references: references} | ({fields.id: id[0]} if id else {})
    return parse(Line(number, record_line(record), 0), _NAME, fields, require_source=False)


def _without_gaps(reference: Any) -> Any:
    """A reference without the keys that it has only because others of its column have them."""
    if not isinstance(reference, dict):
        return reference
    return {key: value for key, value in reference.items() if value is not None}


@lru_cache(maxsize=1)
def _opened(encoder: str) -> Encoder:
    """Opened once in each process."""
    return open_encoder(encoder)


@lru_cache(maxsize=1)
def _tools(encoder: str | None) -> dict[str, Any]:
    opened = None if encoder is None else _opened(encoder)
    return {"engine": Tools().engine, "encoder": opened}
