"""Feed Ray Data: pseudo-references for the rows of a `ray.data.Dataset`.

In:   a data set of Ray with one row per example.
Out:  the same with the columns that examples have in Parquet; like every data set of Ray, made when it is asked for.
Not:  files and shards (scale/, whose `--ray` expands files), what the columns hold (huggingface.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from polyref.data import Fields
from polyref.data.formats.jsonl import LATTICE, PSEUDO_REFERENCES
from polyref.data.formats.parquet import pyarrow
from polyref.errors import InputError, load_extra
from polyref.expansion import CHUNK, ExpandSettings, usage_of
from polyref.feed.huggingface import Expander, examples_of_batch, expander
from polyref.judge import EXAMPLES_READ, Usage

Dataset: TypeAlias = Any  # a ray.data.Dataset


def expand_dataset(
    dataset: Dataset,
    per_example: int | None = None,
    *,
    settings: ExpandSettings | None = None,
    fields: Fields | None = None,
    encoder: str | None = None,
    usage: Usage | None = None,
    **options: Any,
) -> Dataset:
    """A data set of Ray with pseudo-references, in the order of its rows, as `expand` gives them to the same examples.

    It adds the columns "pseudo_references" and "lattice". `usage` is what is known of the words of the whole data set;
    without it, the first thousand rows are asked for at once to know. Soft alignment uses the built-in encoder unless
    another one is named, as `open_encoder` takes it. `options` go to `map_batches`, such as `num_cpus`.
    """
    if not isinstance(dataset, load_extra("ray.data", purpose="a data set of Ray", extra="ray").Dataset):
        raise InputError(f"this is a {type(dataset).__name__}, not a ray.data.Dataset", "give ray.data.read_...(path)")
    made = expander(per_example, settings=settings, fields=fields, encoder=encoder)
    if usage is None:
        usage = Usage() if made.settings.judging.judge == "bleu" else _learned(dataset, made)
    work = partial(_with_columns, made=replace(made, usage=usage))
    return _in_order(dataset.map_batches(work, batch_size=CHUNK, batch_format="pyarrow", **options))


def _learned(dataset: Dataset, made: Expander) -> Usage:
    """What the first rows tell about their words."""
    if made.fields.references in (dataset.columns() or []):
        dataset = dataset.select_columns([made.fields.references])
    rows = _in_order(dataset.limit(EXAMPLES_READ)).iter_batches(batch_size=EXAMPLES_READ, batch_format="pyarrow")
    examples = [example for table in rows for example in examples_of_batch(table.to_pydict(), made.fields)]
    return usage_of(examples[:EXAMPLES_READ], made.settings.text)


def _in_order(dataset: Dataset) -> Dataset:
    """Ray gives blocks as they are done unless it is told not to."""
    dataset.context.execution_options.preserve_order = True
    return dataset


def _with_columns(table: Any, made: Expander) -> Any:
    """On a machine of the cluster: a table with two columns more."""
    found = made(table.to_pydict())
    for name in (PSEUDO_REFERENCES, LATTICE):
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.append_column(name, pyarrow().array(found[name]))
    return table
