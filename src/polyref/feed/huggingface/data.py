"""To and from the data sets of Hugging Face's `datasets`.

In:   a `datasets.Dataset` with a row an example, or examples; a stream.
Out:  examples; a data set with the columns that the same examples have in Parquet; prompts and completions.
Not:  what columns mean (data/parquet.py, data/parquet_output.py), expanding them (expansion.py).

The way leads through a Parquet file in the temporary folder, so that both rules are those of Parquet, and memory does
not grow with a data set that is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from polyref.data import Fields, Losses, read, write
from polyref.data.extras import load, pyarrow
from polyref.errors import InputError
from polyref.example import Example
from polyref.feed.prompts import prompt_completion
from polyref.feed.stream import Stream

Dataset: TypeAlias = Any  # a datasets.Dataset, which has no types
NAME = "the data set"  # what messages call it
_AT_ONCE = 1000  # rows


def _datasets() -> Any:
    return load("datasets", purpose="a data set of Hugging Face", extra="huggingface")


def from_dataset(
    dataset: Dataset, fields: Fields | None = None, *, require_source: bool = True, losses: Losses | None = None
) -> Iterator[Example]:
    """The examples of a data set, one a row. `losses` counts what the data set holds that an example does not."""
    if not isinstance(dataset, _datasets().Dataset):
        kind = type(dataset).__name__
        raise InputError(f"a {kind} is no datasets.Dataset", 'give one split, such as data["train"]')
    return _read(dataset, fields, require_source, losses)


def _read(dataset: Dataset, fields: Fields | None, require_source: bool, losses: Losses | None) -> Iterator[Example]:
    with TemporaryDirectory(prefix="polyref-") as folder:
        path = Path(folder) / "dataset.parquet"
        _write_rows(dataset, path)
        examples = read(path, fields, format="parquet", require_source=require_source, losses=losses)
        # A reader that is left half-way lets go of its file before the folder goes.
        with closing(examples):  # type: ignore[type-var]
            try:
                yield from examples
            except InputError as error:
                if error.file != os.fspath(path):
                    raise
                raise InputError(error.problem, error.cure, file=NAME, line=error.line) from None


def _write_rows(dataset: Dataset, path: Path) -> None:
    parquet = pyarrow("pyarrow.parquet")
    rows = dataset.with_format("arrow")
    with parquet.ParquetWriter(path, dataset.features.arrow_schema) as writer:
        for table in rows.iter(_AT_ONCE):
            writer.write_table(table.replace_schema_metadata(writer.schema.metadata))


def to_dataset(examples: Iterable[Example], fields: Fields | None = None) -> Dataset:
    """The examples as a data set, a row each, which `from_dataset` turns into the same examples.

    References are texts, or {text, weight} where weights occur. Values that have no type of their own, such as sources
    that are lists of messages, are JSON in a column with ":json" behind its name.
    """
    datasets, parquet = _datasets(), pyarrow("pyarrow.parquet")
    with TemporaryDirectory(prefix="polyref-") as folder:
        path = Path(folder) / "dataset.parquet"
        report = write(examples, path, fields)
        if report.not_kept:
            raise InputError(f"a data set cannot hold {report.not_kept}", "write JSON Lines")
        table = parquet.read_table(path, memory_map=False)
    return datasets.Dataset(table)


# -- prompts and completions ----------------------------------------------------------------------------------------


def prompt_dataset(stream: Stream, epoch: int = 0, *, separator: str = " ") -> Dataset:
    """The pairs of an epoch in their order, with the columns "prompt" and "completion".

    Sources that are texts give texts; sources that are messages give messages. See `prompt_completion`.
    """
    datasets, arrow = _datasets(), pyarrow()
    records = (prompt_completion(pair, separator=separator) for pair in stream.epoch(epoch))
    tables = [arrow.Table.from_pylist(some) for some in _alike(records)]
    # Messages of one piece may have keys that those of another have not.
    return datasets.Dataset(arrow.concat_tables(tables, promote_options="permissive"))


def _alike(records: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    kinds: set[type] = set()
    while some := list(islice(records, _AT_ONCE)):
        kinds |= {type(record["prompt"]) for record in some}
        if len(kinds) > 1:
            raise InputError("some sources are texts and some are messages", "give all of them one form")
        yield some
