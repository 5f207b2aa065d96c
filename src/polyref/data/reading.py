"""Read the examples of a file, in whatever format it is.

In:   a path, or the paths of parallel text.
Out:  records one at a time, each as a line of JSON; Examples.
Not:  the formats themselves (parquet.py, captions.py, tables.py, parallel.py), what a record means (jsonl.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from polyref.data.formats import Format, check_format, format_of_content
from polyref.data.jsonl import Fields, parse
from polyref.data.lines import MAX_LINE_BYTES, Line, check_limit, lines_of
from polyref.data.losses import Losses
from polyref.data.opening import PARQUET_MAGIC, Opened, display_name, open_input
from polyref.data.parallel import parallel_paths, read_parallel
from polyref.data.seen import SeenIds
from polyref.errors import InputError, SettingsError
from polyref.example import Example

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class Input:
    """Which file to read (or which files, of parallel text), and in which format; None: its content tells."""

    paths: tuple[str, ...]
    format: Format | None = None
    max_line_bytes: int = MAX_LINE_BYTES

    def __post_init__(self) -> None:
        check_limit(self.max_line_bytes)
        check_format(self.format)
        if not self.paths:
            raise SettingsError("no file is named; name at least one")
        if len(self.paths) > 1 and self.format not in (None, "parallel"):
            raise SettingsError(f"several files are parallel text, not {self.format}; give one file")

    @staticmethod
    def of(paths: Paths, format: Format | None = None, max_line_bytes: int = MAX_LINE_BYTES) -> Input:
        named = [paths] if isinstance(paths, str | os.PathLike) else paths
        return Input(tuple([os.fspath(path) for path in named]), format, max_line_bytes)

    @property
    def name(self) -> str:
        """What messages call it."""
        return display_name(self.paths[0])

    @property
    def can_be_read_again(self) -> bool:
        return all(path != "-" and (Path(path).is_file() or not Path(path).exists()) for path in self.paths)

    def records(self, fields: Fields, *, require_source: bool = True, losses: Losses | None = None) -> Iterator[Line]:
        """One record at a time. What the records cannot hold of the file is added to the losses."""
        losses = Losses() if losses is None else losses
        parallel = self.parallel_files()
        if parallel is None:
            with open_input(self.paths[0]) as opened:
                yield from self._records(opened, fields, require_source, losses)
            return
        if self.format is None and len(self.paths) > 1:
            _check_is_text(parallel[0], fields)
        yield from read_parallel(parallel, fields, max_line_bytes=self.max_line_bytes)

    def parallel_files(self) -> list[str] | None:
        """The files of parallel text, sources first; None if this is something else."""
        if self.format not in (None, "parallel"):
            return None
        if len(self.paths) > 1:
            return list(self.paths)
        return parallel_paths(self.paths[0]) or (list(self.paths) if self.format == "parallel" else None)

    def _records(self, opened: Opened, fields: Fields, require_source: bool, losses: Losses) -> Iterator[Line]:
        format = self.format or format_of_content(opened, fields, require_source=require_source)
        if format == "jsonl":
            yield from lines_of(opened, max_line_bytes=self.max_line_bytes)
        elif format == "parquet":
            from polyref.data.parquet import read_parquet

            yield from read_parquet(opened, fields, require_source=require_source, losses=losses)
        elif format == "csv" or format == "tsv":
            from polyref.data.tables import read_table

            yield from read_table(
                opened,
                format,
                fields,
                require_source=require_source,
                max_line_bytes=self.max_line_bytes,
                losses=losses,
            )
        else:
            from polyref.data.captions import read_captions

            assert format != "parallel"
            yield from read_captions(opened, fields, losses, format if self.format else None)

    def seen_ids(self, fields: Fields) -> SeenIds | None:
        """What notices an id that comes twice among these records; None where they have none."""
        if self.parallel_files() is not None:
            return None
        again = partial(self.records, fields, require_source=False) if self.can_be_read_again else None
        return SeenIds(self.name, fields.id, again)


def read(
    path: Paths,
    fields: Fields | None = None,
    *,
    format: Format | None = None,
    limit: int | None = None,
    require_source: bool = True,
    max_line_bytes: int = MAX_LINE_BYTES,
    losses: Losses | None = None,
) -> Iterator[Example]:
    """The examples of a file, one at a time: JSON Lines, Parquet, COCO or Karpathy JSON, CSV, TSV or parallel text.

    The format is told by the content, unless it is given. Parallel text is `data.src`, with `data.ref0`, `data.ref1`
    and so on beside it, or a list of files, sources first. `limit` cuts the references of each example: all gold ones
    stay, then come pseudo-references by rank. `losses` counts what a file holds that an example does not.
    """
    if limit is not None and limit < 1:
        raise SettingsError(f"limit is {limit}; give 1 or more")
    return _read(Input.of(path, format, max_line_bytes), fields or Fields(), limit, require_source, losses)


def _read(
    input: Input, fields: Fields, limit: int | None, require_source: bool, losses: Losses | None
) -> Iterator[Example]:
    seen = input.seen_ids(fields)
    for line in input.records(fields, require_source=require_source, losses=losses):
        example = parse(line, input.paths[0], fields, require_source=require_source)
        if seen is not None:
            seen.add(example.id, line.number)
        yield example if limit is None else example.limited(limit)


def _check_is_text(path: str, fields: Fields) -> None:
    """Refuse several files of another kind: they are no parallel text, and there is no other use for them."""
    if not Path(path).is_file():
        return  # a pipe can be read once only
    with open_input(path) as opened:
        is_json = opened.head.lstrip().startswith(b"{") and format_of_content(opened, fields) in ("jsonl", "coco")
        if is_json or opened.head.startswith(PARQUET_MAGIC):
            raise InputError(
                "several files are taken for parallel text, but this is none",
                "give one file, or --from parallel",
                file=opened.name,
            )
