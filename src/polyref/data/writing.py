"""Write examples in any of the formats.

In:   examples, or their records as lines of JSON; a path whose name tells the format.
Out:  a file, or the files of parallel text, written whole or not at all; a report of what could not be kept.
Not:  the formats themselves (formats/).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from polyref.data.formats import FORMATS, Format, format_of_name
from polyref.data.formats.format import LineBreaks, Losses, Spool
from polyref.data.formats.jsonl import Fields, parse, render
from polyref.data.formats.parallel import belongs_to
from polyref.data.opening import Line, check_output_is_none_of, open_output, open_spool, zstandard
from polyref.data.reading import Input, SeenIds
from polyref.errors import InputError, OutputError, SettingsError
from polyref.example import Example, Reference
from polyref.settings import setting, settings


@settings(group="Output")
class WriteSettings:
    """How examples are written."""

    format: Format | None = setting(None, "Format of the output.", unset="told by the name", option="--to")
    reference_columns: bool = setting(False, "CSV, TSV: one column per reference.")
    pseudo_as_references: bool = setting(False, "Write pseudo-references as references.")
    line_breaks: LineBreaks = setting("refuse", "What becomes of line breaks and tabs.")


@dataclass(slots=True)
class WriteReport:
    """What was written: which files, how much, and what they could not hold.

    `not_read` is what the input had that no record holds, where a run both reads and writes.
    """

    examples: int = 0
    references: int = 0
    pseudo_references: int = 0
    files: list[str] = field(default_factory=list)
    not_kept: Losses = field(default_factory=Losses)
    not_read: Losses = field(default_factory=Losses)


def write(
    examples: Iterable[Example],
    path: str | os.PathLike[str],
    fields: Fields | None = None,
    settings: WriteSettings | None = None,
) -> WriteReport:
    """Write examples to a file; its name tells the format unless the settings do.

    .jsonl, .parquet, .json (COCO), .csv, .tsv, .src (parallel text: out.src, out.ref0, out.ref1, ...), and .gz or .zst
    behind any of them but .parquet. Nothing is left of a file that could not be completed.
    """
    fields, settings = fields or Fields(), settings or WriteSettings()
    unique = SeenIds("the examples to write", fields.id).watch(examples)
    return write_unique(unique, os.fspath(path), fields, settings)


def write_unique(examples: Iterable[Example], path: str, fields: Fields, settings: WriteSettings) -> WriteReport:
    """The same for examples that are known to have different ids, as those of one file are."""
    report = WriteReport()
    with open_examples(path, fields, settings, report) as stream:
        for number, example in enumerate(examples, 1):
            if settings.pseudo_as_references:
                example = with_pseudo_as_references(example)
            report.examples += 1
            report.references += len(example.references)
            report.pseudo_references += len(example.pseudo_references)
            stream.write(_line(example, fields, number))
        if not report.examples:
            raise InputError("there are no examples to write", "give at least one", file=path)
    return report


def with_pseudo_as_references(example: Example) -> Example:
    """The same with pseudo-references among the references, which nothing tells apart from then on."""
    more = tuple([Reference(pseudo.text) for pseudo in example.pseudo_references])
    return replace(example, references=example.references + more, pseudo_references=(), lattice=None)


def _line(example: Example, fields: Fields, number: int) -> bytes:
    try:
        line = (render(example, fields) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        problem = f'the example "{example.id}" holds half a surrogate pair'
        raise InputError(problem, "repair its texts", line=example.line) from None
    if example.record is None:
        # Made by a program: what could not be read again is better refused here.
        parse(Line(number, line.strip(), 0), "examples", fields)
    return line


def check_not_input(path: str, input: Input, format: Format | None = "jsonl") -> None:
    """Refuse to write over a file that is being read."""
    is_parallel = (format or format_of_name(path)) == "parallel"
    for one in input.files:
        check_output_is_none_of(path, {"the input file": one})
        if is_parallel and one != "-" and belongs_to(os.path.realpath(one), path):
            raise OutputError(f"{path}: this is the input file; choose another name for the output")


@contextmanager
def open_bad(path: str | None, input: Input, output: str) -> Iterator[BinaryIO | None]:
    """Where bad records go, beside an output; None if they are refused."""
    if path is None:
        yield None
        return
    place = os.path.realpath(path)
    if path == "-" or place == os.path.realpath(output) or belongs_to(place, output):
        raise SettingsError(f"is {path}, where the output goes", "choose another name", key="skip_bad")
    if input.parallel_files() is not None and belongs_to(place, input.paths[0]):
        raise SettingsError(f"is {path}, which would be read as references", "choose another name", key="skip_bad")
    check_output_is_none_of(output, {"where bad records go": path})
    check_not_input(path, input)
    with open_output(path) as stream:
        yield stream


@contextmanager
def open_examples(path: str, fields: Fields, settings: WriteSettings, report: WriteReport) -> Iterator[BinaryIO]:
    """A stream that takes records as lines of JSON. What becomes of them is added to the report at the end."""
    name = settings.format or _format_of(path)
    format = FORMATS[name]
    # What cannot work is said before hours of work go into it.
    if settings.reference_columns and not format.has_reference_columns:
        raise SettingsError(f"reference columns belong to csv and tsv, not to {name}")
    format.check(path)
    if path.endswith(".zst"):
        zstandard()
    if format.write is None:
        with open_output(path) as stream:
            yield stream
        report.files = [path]
        return
    with open_spool(path) as file:
        yield file
        spool = Spool(file, path, fields, report.not_kept, settings.reference_columns, settings.line_breaks)
        format.write(spool)
        report.files = spool.files or [path]


def _format_of(path: str) -> Format:
    format = format_of_name(path)
    if format is not None:
        return format
    if path == "-" or (Path(path).exists() and not Path(path).is_file()):
        return "jsonl"  # a pipe says nothing of its own
    suffixes = ", ".join([suffix for format in FORMATS.values() for suffix in format.suffixes])
    cure = f"end it in one of {suffixes}, or set WriteSettings.format"
    raise SettingsError(f"{path}: the name does not tell the format", cure)
