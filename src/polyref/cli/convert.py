"""`polyref convert`: from one format to another."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from polyref.cli import options as o
from polyref.data import Input, Losses, ReadSettings, WriteReport, WriteSettings, read
from polyref.data.writing import check_not_input, write_unique


@o.from_settings()
def convert(
    files: o.Inputs,
    output: Annotated[str, typer.Argument(metavar="OUT", help="Output; its name tells the format.")],
    reading: ReadSettings,
    settings: WriteSettings,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", help="References per example: all gold ones, then the best pseudo-references."),
    ] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Write the examples of a file in another format.

    OUT ends in .jsonl, .parquet, .json (COCO), .csv, .tsv or .src (parallel text: out.src, out.ref0, out.ref1, ...),
    and in .gz or .zst behind that. Several files are parallel text: sources, then references.
    """  # fmt: skip
    fields, format, max_line_bytes = reading.fields, reading.format, reading.max_line_bytes
    check_not_input(output, settings, Input.of(files, format, max_line_bytes))
    not_read = Losses()
    examples = read(files, fields, format=format, limit=limit, max_line_bytes=max_line_bytes, losses=not_read)
    report = replace(write_unique(examples, output, fields, settings), not_read=not_read)
    # The summary goes where the examples do not.
    stream = sys.stderr if o.is_standard_output(output) else sys.stdout
    stream.write(_for_a_machine(report) if as_json else _for_a_person(report))
    if not as_json:
        o.say_losses(files[0], "not read", report.not_read)
        o.say_losses(output, "not kept", report.not_kept)


def _for_a_machine(report: WriteReport) -> str:
    summary: dict[str, Any] = asdict(report)
    summary |= {"not_read": report.not_read.counts, "not_kept": report.not_kept.counts}
    return json.dumps(summary, ensure_ascii=False) + "\n"


def _for_a_person(report: WriteReport) -> str:
    pseudo = f" and {_counted(report.pseudo_references, 'pseudo-reference')}" if report.pseudo_references else ""
    files = report.files[0] if len(report.files) == 1 else f"{report.files[0]} to {report.files[-1]}"
    return (
        f"{_counted(report.examples, 'example')} with {_counted(report.references, 'reference')}{pseudo} in {files}\n"
    )


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
