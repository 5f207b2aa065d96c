"""Read the examples of a file, or its sources alone, in whatever format it is.

In:   a path, or the paths of parallel text; for sources also plain lines.
Out:  records one at a time, each as a line of JSON; Examples; Sources.
Not:  the formats themselves, and what a record means (formats/).
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from polyref.data.formats import FORMATS, Format, SourceFormat, format_of_content, format_of_name
from polyref.data.formats.format import Losses, Reading, SeenTexts
from polyref.data.formats.jsonl import (
    Fields,
    check_keys,
    check_object,
    dump,
    id_of,
    json_of,
    missing,
    parse,
    record_line,
)
from polyref.data.formats.names import names_of_record, with_names
from polyref.data.formats.parallel import parallel_paths
from polyref.data.formats.parquet import MAGIC
from polyref.data.opening import (
    MAX_LINE_BYTES,
    Line,
    display_name,
    identity,
    located,
    open_input,
    text_lines,
    without_compression,
)
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.files import finish_renames
from polyref.files import reading as in_words
from polyref.remote import path_at
from polyref.settings import part, setting, settings

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
SAMPLE = Path(__file__).parent / "sample.jsonl"
_log = logging.getLogger(__name__)


@settings(group="Input")
class ReadSettings:
    """How a file of examples is read."""

    format: Format | None = setting(None, "Format of the input.", unset="told by the content", option="--from")
    fields: Fields = part(Fields)
    max_line_bytes: int = setting(
        MAX_LINE_BYTES, "Longest line that is read, in bytes.", at_least=1, at_most=2**40, metavar="N"
    )


@settings(group="Input")
class BadSettings:
    """What becomes of records that cannot be read."""

    skip_bad: str | None = setting(None, "Write bad records to this file, and go on.", metavar="FILE")


@dataclass(frozen=True, slots=True)
class Input:
    """What to read, and how: a file, the files of parallel text, or several files one after the other (a folder's)."""

    paths: tuple[str, ...]
    settings: ReadSettings

    def __post_init__(self) -> None:
        if not self.paths:
            raise SettingsError("no file is named; name at least one")

    @staticmethod
    def of(paths: Paths, settings: ReadSettings | None = None) -> Input:
        named = [paths] if isinstance(paths, str | os.PathLike) else paths
        return Input(tuple([os.fspath(path) for path in named]), settings or ReadSettings())

    @property
    def name(self) -> str:
        """What messages call it."""
        return display_name(self.paths[0])

    @property
    def can_be_read_again(self) -> bool:
        return all(path != "-" and (Path(path).is_file() or not Path(path).exists()) for path in self.files)

    @property
    def identity(self) -> list[tuple[int, ...] | None]:
        """What the files are known by, so that a change can be told."""
        return [identity(path) for path in self.files]

    @property
    def files(self) -> list[str]:
        """All files that are read: of parallel text (sources first), of a folder, or those that are named."""
        return self.parallel_files() or self._row() or list(self.paths)

    def _row(self) -> list[str] | None:
        """Files that are read one after the other; None if this is one file, or parallel text."""
        if len(self.paths) > 1:
            formats = [self.settings.format or format_of_name(path) for path in self.paths]
            return None if "parallel" in formats or None in formats else list(self.paths)
        folder = path_at(self.paths[0])
        if not folder.is_dir():
            return None
        with in_words(folder):
            found = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith((".", "_"))]
        if not found:
            raise InputError("there are no files in this folder", "name another one", file=self.paths[0])
        return sorted(map(str, found))

    def parallel_files(self) -> list[str] | None:
        """The files of parallel text, sources first; None if this is something else."""
        if self.settings.format not in (None, "parallel"):
            return None
        if self._row() is not None:
            return None
        if len(self.paths) > 1:
            finish_renames(self.paths[0])
            return list(self.paths)
        return parallel_paths(self.paths[0]) or (list(self.paths) if self.settings.format == "parallel" else None)

    def records(
        self, *, require_source: bool = True, require_references: bool = True, losses: Losses | None = None
    ) -> Iterator[Line]:
        """One record at a time. What the records cannot hold of the file is added to the losses."""
        losses = Losses() if losses is None else losses
        if (row := self._row()) is not None:
            yield from self._in_a_row(row, require_source, require_references, losses)
            return
        format, fields, most = self.settings.format, self.settings.fields, self.settings.max_line_bytes
        first, *others = self.files
        with open_input(first) as opened:
            reading = Reading(opened, fields, losses, require_source, require_references, most, tuple(others))
            if others and format is None and opened.is_regular:
                _check_is_text(reading)
            told = format or ("parallel" if others else format_of_content(reading))
            if format is None and FORMATS[told].has_reference_columns and format_of_name(first) != told:
                reading = replace(reading, taken_for=told.upper())
            _log.info("%s: read as %s", self.name, told)
            line = None
            for line in FORMATS[told].read(reading):
                yield line
            if line is None:
                raise reading.wrong("the file is empty", "give at least one example")

    def _in_a_row(
        self, files: Sequence[str], require_source: bool, require_references: bool, losses: Losses
    ) -> Iterator[Line]:
        """The records of several files; numbers and positions go on from one to the next."""
        number = position = 0
        for file in files:
            last, one = None, Input((file,), self.settings)
            for last in one.records(
                require_source=require_source, require_references=require_references, losses=losses
            ):
                yield last._replace(number=number + last.number, position=position + last.position)
            number += 0 if last is None else last.number
            position += path_at(file).stat().st_size if path_at(file).is_file() else 0

    def examples(
        self,
        *,
        limit: int | None = None,
        require_source: bool = True,
        losses: Losses | None = None,
        bad: BinaryIO | None = None,
    ) -> Iterator[Example]:
        """One example at a time; see `read`, and `checked` for the bad ones."""
        for _, example in self.checked(require_source=require_source, losses=losses, bad=bad):
            yield example if limit is None else example.limited(limit)

    def checked(
        self,
        *,
        require_source: bool = True,
        losses: Losses | None = None,
        bad: BinaryIO | None = None,
        check: Callable[[Example], None] = lambda example: None,
    ) -> Iterator[tuple[Line, Example]]:
        """One record at a time, and its example. `check` may refuse more; bad ones go to `bad`, if that is given."""
        losses = Losses() if losses is None else losses
        seen, found, first = self.seen_ids(trust=bad is not None), False, None
        has_id = _HasId(self)
        for line in self.records(require_source=require_source, losses=losses):
            try:
                example = parse(line, self.paths[0], self.settings.fields, require_source=require_source)
                check(example)
                if seen is not None:
                    seen.add(example.id, line.number)
            except InputError as error:
                error.file = error.file or self.name
                if bad is None:
                    raise
                text = line.content.decode("utf-8", "backslashreplace")
                one = {"line": error.line or line.number, "reason": error.problem, "record": text}
                bad.write(record_line(one) + b"\n")
                losses.add("bad records")
                first = first or error
                continue
            found = True
            has_id.look(line)
            yield line, example
        if first is not None and not found:
            problem = f"every record is bad, the first one since: {first.problem}"
            raise InputError(problem, first.cure, file=self.name, line=first.line)
        has_id.check()

    def seen_ids(self, *, require_references: bool = True, trust: bool = False) -> SeenIds | None:
        """What notices an id that comes twice among these records; None where they have none.

        `trust`: ids may come twice by the thousand, and the file is not read again for each.
        """
        if self.parallel_files() is not None:
            return None
        again = partial(self.records, require_source=False, require_references=require_references)
        can_look = self.can_be_read_again and not trust
        return SeenIds(self.name, self.settings.fields.id, again if can_look else None)


class _HasId:
    """Notices that no record has the key that the user has named for ids: then it is mistyped."""

    def __init__(self, input: Input):
        self._input = input
        self._field = input.settings.fields.id
        self._is_found = self._field == Fields().id or input.parallel_files() is not None
        self._line: Line | None = None

    def look(self, line: Line) -> None:
        if not self._is_found:
            self._is_found, self._line = self._field in json.loads(line.content), line

    def check(self) -> None:
        if not self._is_found and self._line is not None:
            keys = ", ".join(f'"{key}"' for key in list(json.loads(self._line.content))[:8])
            problem, cure = f'no record has the key "{self._field}"', "name another with id_field, or leave it out"
            raise InputError(problem, f"{cure} (the keys of the last one: {keys})", file=self._input.name)


def _check_is_text(reading: Reading) -> None:
    """Refuse several files of another kind: they are not parallel text, and there is no other use for them."""
    is_json = reading.file.first.startswith(b"{") and format_of_content(reading) in ("jsonl", "json", "coco")
    if is_json or reading.file.head.startswith(MAGIC):
        problem = "several files are taken for parallel text, but this is something else"
        raise reading.wrong(problem, "give one file, or set format to parallel")


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
        raise SettingsError(f"is {limit}", "give 1 or more", key="limit")
    input = Input.of(path, ReadSettings(format, fields or Fields(), max_line_bytes))
    return input.examples(limit=limit, require_source=require_source, losses=losses)


def sample_examples() -> list[Example]:
    """64 examples with several references each, to try things on."""
    return list(read(SAMPLE))


def examples_of(
    given: Iterable[Example | Mapping[str, Any] | Sequence[str]],
    fields: Fields | None = None,
    *,
    require_source: bool = False,
    name: str = "examples",
) -> Iterator[Example]:
    """Examples from what a program has at hand: examples, records as dictionaries, or lists of references.

    A record may have the names that people use, as in a file (formats/names.py); the first one decides.
    """
    fields, names = fields or Fields(), None
    for number, item in enumerate([given] if isinstance(given, str | Mapping) else given, 1):
        with located(name, number):
            if isinstance(item, Example):
                yield item
                continue
            if isinstance(item, list | tuple):
                item = {fields.references: item}
            if not isinstance(item, Mapping):
                problem = f"this is {'a string' if isinstance(item, str) else f'of the type {type(item).__name__}'}"
                raise InputError(problem, "give examples, dictionaries, or a list of references for each example")
            try:
                names = names or names_of_record(item, fields, needs_source=require_source)
            except InputError as error:
                raise InputError(error.problem, f'call one of them "{fields.references}"') from None
            try:
                record = record_line(with_names(item, names, fields))
            except (TypeError, ValueError) as error:
                raise InputError(f"JSON cannot hold the record ({error})", "give strings") from None
            yield parse(Line(number, record, 0), name, fields, require_source=require_source)


class SeenIds:
    """Notices an id that comes twice, in 16 bytes an id.

    Two different ids may share a fingerprint, so a hit is looked up in the file itself before it is believed. `again`
    reads the records once more; None where that cannot be, and then the fingerprint is believed.
    """

    def __init__(self, name: str, id_field: str, again: Callable[[], Iterator[Line]] | None = None):
        self._name = name
        self._id_field = id_field
        self._again = again
        self._seen = SeenTexts()

    def add(self, id: str, line: int) -> None:
        """Note the id of a line; raise if it stood on an earlier line."""
        if self._seen.add(id):
            return
        first = None if self._again is None else self._first_line(self._again(), id, line)
        if first is not None or self._again is None:
            problem = f'the id "{id}" comes twice{"" if first is None else f" (first on line {first})"}'
            raise InputError(problem, "give each example its own id", file=self._name, line=line)

    def watch(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The same examples; their numbers count as lines."""
        for number, example in enumerate(examples, 1):
            self.add(example.id, number)
            yield example

    def _first_line(self, records: Iterator[Line], id: str, line: int) -> int | None:
        """The earlier line with this id; None if there is none."""
        for earlier in takewhile(lambda record: record.number < line, records):
            value = None if earlier.fault else json.loads(earlier.content).get(self._id_field)
            if id == (str(earlier.number) if value is None else str(value)):
                return earlier.number
        return None


class Source(NamedTuple):
    """What a text is generated for. A source that is not a string is its JSON, as in training."""

    id: str
    text: str
    line: int
    position: int  # bytes of the file behind us


def are_lines(path: str, format: SourceFormat | None) -> bool:
    """Whether a file holds plain lines: the format says so, or a name in .txt, or in .src without references."""
    if format is not None:
        return format == "lines"
    bare = without_compression(path)
    return bare.endswith(".txt") or (bare.endswith(".src") and Input.of(path).parallel_files() is None)


def read_sources(
    path: str, settings: ReadSettings, *, format: SourceFormat | None = None, losses: Losses | None = None
) -> Iterator[Source]:
    """The sources of a file, in its order; its references are not needed, and not looked at.

    Every plain line counts, blank ones too, so that line k of what is made from them belongs to line k.
    """
    if are_lines(path, format):
        return _lines(path, settings.max_line_bytes)
    return _sources(Input.of(path, replace(settings, format=format)), losses)


def _lines(path: str, max_line_bytes: int) -> Iterator[Source]:
    with open_input(path) as opened:
        number = 0
        for number, text in enumerate(text_lines(opened, max_line_bytes=max_line_bytes), 1):
            yield Source(str(number), text, number, opened.position())
        if not number:
            raise InputError("the file is empty", "give one source per line", file=opened.name)


def _sources(input: Input, losses: Losses | None) -> Iterator[Source]:
    seen, has_id = input.seen_ids(require_references=False), _HasId(input)
    for line in input.records(require_references=False, losses=losses):
        source = _source(line, input.settings.fields, input.name)
        if seen is not None:
            seen.add(source.id, source.line)
        has_id.look(line)
        yield source
    has_id.check()


def _source(line: Line, fields: Fields, name: str) -> Source:
    cure = "give one JSON object per line, or for plain text set format to lines"
    record = json_of(line.text(name), name, line.number, cure=cure, strict=False)
    with located(name, line.number):
        check_object(record, cure)
        check_keys(record, line.content.decode())
        if record.get(fields.source) is None:
            raise missing(fields.source, "source_field", record)
        id, source = id_of(record, line.number, fields), record[fields.source]
        text = source if isinstance(source, str) else dump(source)
    return Source(id, text, line.number, line.position)
