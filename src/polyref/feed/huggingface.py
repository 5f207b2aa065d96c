"""Feed Hugging Face: data sets, `Dataset.map`, and scores for `compute_metrics`.

In:   a `datasets.Dataset` with one row per example, or examples; a stream; tokens that a trainer has generated.
Out:  examples; a data set with the columns that the same examples have in Parquet; prompts with completions or
      preferences; columns of pseudo-references; scores.
Not:  what columns mean (data/formats/parquet.py), expanding (expansion.py), `Trainer` (trainer.py).

Data sets go through a Parquet file in the temporary folder, so that both rules are those of Parquet, and memory does
not grow with a data set that is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from polyref.data import Fields, Line, Losses, examples_of, parse, read, render, write
from polyref.data.formats.jsonl import LATTICE, PSEUDO_REFERENCES, record_line
from polyref.data.formats.parquet import cleaned_row, lattice_type, pseudo_type, pyarrow
from polyref.data.reading import SeenIds
from polyref.encode import open_encoder
from polyref.errors import InputError, SettingsError, load_extra
from polyref.example import Example
from polyref.expansion import ExpandSettings, Tools, expand, usage_of
from polyref.feed.lines import preferences, prompt_completion
from polyref.feed.stream import Stream
from polyref.files import passing_folder
from polyref.judge import EXAMPLES_READ, Usage
from polyref.score import METRICS, metrics_of

Dataset: TypeAlias = Any  # a datasets.Dataset, which has no types
NAME = "the data set"  # what messages call it
_AT_ONCE = 1000  # rows
_IGNORED = -100  # what trainers pad with: not a token


def _datasets() -> Any:
    return load_extra("datasets", purpose="a data set of Hugging Face", extra="huggingface")


def from_dataset(
    dataset: Dataset, fields: Fields | None = None, *, require_source: bool = True, losses: Losses | None = None
) -> Iterator[Example]:
    """The examples of a data set, one per row. `losses` counts what the data set holds that an example does not.

    The rows of an IterableDataset are read as they come, in whatever order they do.
    """
    losses = Losses() if losses is None else losses
    if isinstance(dataset, _datasets().IterableDataset):
        rows = (cleaned_row(row, losses) for row in dataset)
        examples = examples_of(rows, fields, require_source=require_source, name=NAME)
        return SeenIds(NAME, (fields or Fields()).id).watch(examples)
    if not isinstance(dataset, _datasets().Dataset):
        problem = f"this is a {type(dataset).__name__}, neither a datasets.Dataset nor an IterableDataset"
        raise InputError(problem, 'give one split, such as data["train"]')
    return _read(dataset, fields, require_source, losses)


def _read(dataset: Dataset, fields: Fields | None, require_source: bool, losses: Losses) -> Iterator[Example]:
    with passing_folder() as folder:
        path = folder / "dataset.parquet"
        with pyarrow("pyarrow.parquet").ParquetWriter(path, dataset.features.arrow_schema) as writer:
            for table in dataset.with_format("arrow").iter(_AT_ONCE):
                writer.write_table(table.replace_schema_metadata(writer.schema.metadata))
        examples = read(path, fields, format="parquet", require_source=require_source, losses=losses)
        # A reader that is left half-way lets go of its file before the folder goes.
        with closing(examples):  # type: ignore[type-var]
            try:
                yield from examples
            except InputError as error:
                if error.file == os.fspath(path):
                    error.file = NAME
                raise


def to_dataset(examples: Iterable[Example], fields: Fields | None = None) -> Dataset:
    """The examples as a data set, one row per example, which `from_dataset` turns into the same examples.

    References are texts, or {text, weight} where weights occur. Values that have no type of their own, such as sources
    that are lists of messages, are JSON in a column with ":json" at the end of its name.
    """
    datasets, parquet = _datasets(), pyarrow("pyarrow.parquet")
    with passing_folder() as folder:
        path = folder / "dataset.parquet"
        report = write(examples, path, fields)
        if report.not_kept:
            raise InputError(f"a data set cannot hold {report.not_kept}", "write JSON Lines")
        table = parquet.read_table(path, memory_map=False)
    return datasets.Dataset(table)


def prompt_dataset(stream: Stream, epoch: int = 0, *, separator: str = " ") -> Dataset:
    """The pairs of an epoch in their order, with the columns "prompt" and "completion".

    Sources that are texts give texts; sources that are messages give messages. See `prompt_completion`.
    """
    return _prompts(prompt_completion(pair, separator=separator) for pair in stream.epoch(epoch))


def preference_dataset(stream: Stream, epoch: int = 0, *, separator: str = " ") -> Dataset:
    """The pairs of an epoch in their order, with the columns "prompt", "chosen", "rejected" and "reason".

    Pairs without a sentence to reject are left out. See `preferences`.
    """
    blocks = stream.schedule.blocks(epoch, size=_AT_ONCE)
    return _prompts(record for block in blocks for record in preferences(stream, block, separator=separator))


def _prompts(records: Iterator[dict[str, Any]]) -> Dataset:
    datasets, arrow = _datasets(), pyarrow()
    tables, kinds = [], set()
    while some := list(islice(records, _AT_ONCE)):
        kinds |= {type(record["prompt"]) for record in some}
        if len(kinds) > 1:
            raise InputError("some sources are texts and some are messages", "give all of them one form")
        tables.append(arrow.Table.from_pylist(some))
    # Messages of one piece may have keys that those of another have not.
    return datasets.Dataset(arrow.concat_tables(tables, promote_options="permissive"))


# -- pseudo-references by Dataset.map -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expander:
    """What `expander` makes. `datasets` finds its cache again by these values: nothing else decides the result."""

    settings: ExpandSettings
    fields: Fields
    encoder: str | None = None
    encoder_hash: str = ""
    version: str = ""
    usage: Usage = field(default_factory=Usage)

    def __call__(self, batch: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        tools = _tools(self.encoder)
        examples = examples_of_batch(batch, self.fields)
        # Nothing is learned from the batch itself: the result would depend on its size.
        expanded = expand(
            examples, settings=self.settings, engine=tools.engine, encoder=tools.encoder, usage=self.usage
        )
        records = [json.loads(render(example)) for example in expanded]
        kind = self._pseudo_type()
        keys = dict.fromkeys(column.name for column in kind.value_type)
        pseudo = [[{**keys, **one} for one in record[PSEUDO_REFERENCES]] for record in records]
        return {
            PSEUDO_REFERENCES: _Column(pseudo, kind),
            LATTICE: _Column([record[LATTICE] for record in records], self._lattice_type()),
        }

    # Every row has the same keys, and every batch the same types, whatever is in it.

    def _pseudo_type(self) -> Any:
        judged = [] if self.settings.fluency is None else ["fluency"]
        judge = self.settings.judging.judge
        judged += [] if judge == "bleu" else ["content", "crossings"]
        judged += ["risk"] if judge == "seams" else []
        return pseudo_type(judged, repeat=self.settings.shortfall == "repeat")

    def _lattice_type(self) -> Any:
        return lattice_type(kept=self.settings.keep_lattice, rules=self.settings.judging.judge != "bleu")


def expander(
    per_example: int | None = None,
    *,
    settings: ExpandSettings | None = None,
    fields: Fields | None = None,
    encoder: str | None = None,
    learn_from: Dataset | Iterable[Example] | None = None,
) -> Expander:
    """A function for `Dataset.map(..., batched=True)` that adds pseudo-references, as `expand` does.

    It adds the columns "pseudo_references" and "lattice": the same for any size of batch and any number of processes.
    Soft alignment uses the built-in encoder unless another one is named, as `open_encoder` takes it. The first 1,000
    examples of `learn_from`, such as the data set itself, tell which words people repeat and use for each other.
    """
    from polyref import __version__

    settings, fields = settings or ExpandSettings(), fields or Fields()
    if per_example is not None:
        settings = replace(settings, per_example=per_example)
    # The content of an encoder may change behind its name; the cache must not.
    opened = _tools(encoder).encoder
    usage = Usage() if learn_from is None else usage_of(_first_examples(learn_from, fields), settings.text)
    return Expander(settings, fields, encoder, "" if opened is None else opened.hash, __version__, usage)


def _first_examples(given: Dataset | Iterable[Example], fields: Fields) -> Iterator[Example]:
    """The examples that words are learned from."""
    found = given
    if isinstance(given, _datasets().Dataset):
        if fields.references in given.column_names:
            given = given.select_columns(fields.references)
        # As Arrow has them, whatever the format is that the data set gives its values in.
        found = examples_of_batch(given.with_format("arrow")[:EXAMPLES_READ].to_pydict(), fields)
    for example in islice(found, EXAMPLES_READ):
        if not isinstance(example, Example):
            problem = f"learn_from is a {type(given).__name__}, neither a datasets.Dataset nor examples"
            raise InputError(problem, 'give one split, such as data["train"]')
        yield example


class _Column(list[Any]):
    """Values that know their type. That of a batch alone may be less: empty lists, or no penalty at all."""

    def __init__(self, values: list[Any], kind: Any):
        super().__init__(values)
        self._kind = kind

    def __arrow_array__(self, type: Any = None) -> Any:
        return pyarrow().array(list(self), self._kind if type is None else type)


def examples_of_batch(batch: Mapping[str, list[Any]], fields: Fields) -> list[Example]:
    if fields.references not in batch:
        there = ", ".join(f'"{name}"' for name in batch)
        cure = f"name another with fields=Fields(references=...) (the columns here: {there})"
        raise InputError(f'there is no column "{fields.references}"', cure)
    names = [name for name in (fields.id, fields.references) if name in batch]
    examples = []
    for number, row in enumerate(zip(*[batch[name] for name in names], strict=True), 1):
        record = dict(zip(names, row, strict=True))
        if isinstance(references := record[fields.references], list):
            record[fields.references] = list(map(_without_gaps, references))
        line = Line(number, record_line(record), 0)
        examples.append(parse(line, "a batch of the data set", fields, require_source=False))
    return examples


def _without_gaps(reference: Any) -> Any:
    """A reference without the keys that it has only because others of its column have them."""
    if not isinstance(reference, dict):
        return reference
    return {key: value for key, value in reference.items() if value is not None}


@lru_cache(maxsize=1)
def _tools(encoder: str | None) -> Tools:
    """Opened once in each process."""
    return Tools(encoder=None if encoder is None else open_encoder(encoder))


# -- scores against all references, while a trainer evaluates -------------------------------------------------------


def multi_reference_metrics(
    references: Sequence[Sequence[str] | Example],
    tokenizer: Any,
    metrics: Collection[str] | Mapping[str, Any] = ("bleu",),
) -> Callable[[Any], dict[str, float]]:
    """A function for `Seq2SeqTrainer(compute_metrics=...)`, to be used with `predict_with_generate=True`.

    `references` has an item for each row of the evaluation set, in its order: texts, or an example, whose gold
    references count. `metrics` are names, or names with settings: {"bleu": BleuSettings("char"), "cider": None}. The
    trainer logs the scores as "eval_bleu" and so on.
    """
    given = metrics if isinstance(metrics, Mapping) else dict.fromkeys(metrics_of(metrics))
    chosen = {metrics_of([name])[0]: settings for name, settings in given.items()}
    texts = [
        [reference.text for reference in item.references] if isinstance(item, Example) else item for item in references
    ]
    padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    if padding is None:
        raise SettingsError("the tokenizer has neither a pad token nor an end token; give it one")

    def compute(evaluated: Any) -> dict[str, float]:
        predictions = evaluated.predictions
        # Some models give more than the tokens; those come first.
        tokens = np.asarray(predictions[0] if isinstance(predictions, tuple) else predictions)
        if tokens.ndim != 2 or not np.issubdtype(tokens.dtype, np.integer):
            raise SettingsError("the predictions are scores, not tokens; set predict_with_generate=True")
        if len(tokens) != len(texts):
            problem = f"there are {len(tokens):,} predictions, but references for {len(texts):,} examples"
            raise InputError(problem, "give the references of the set that is evaluated, one item per row")
        whole = np.where(tokens == _IGNORED, int(padding), tokens)
        generated = [text.strip() for text in tokenizer.batch_decode(whole, skip_special_tokens=True)]
        return {name: METRICS[name].score(generated, texts, settings).score for name, settings in chosen.items()}

    return compute
