"""`polyref convert`: from one format to another."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

from polyref.cli import options as o
from polyref.data import BadSettings, Input, Losses, ReadSettings, WriteSettings
from polyref.data.writing import check_not_input, open_bad, write_unique
from polyref.errors import SettingsError


@o.from_settings()
def convert(
    files: Annotated[list[str], o.argument("FILE... OUT", "Examples in any format (see --from), and the output.")],
    *,
    output: Annotated[str | None, o.output("Output, in the place of OUT.")] = None,
    reading: ReadSettings,
    skipping: BadSettings,
    settings: WriteSettings,
    limit: Annotated[int | None, o.option("N", "Limit of references per example; gold ones stay.")] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Write the examples of a file in another format.

    OUT ends in .jsonl, .parquet, .json (COCO), .csv, .tsv or .src (parallel text: out.src, out.ref0, out.ref1, ...),
    and may have .gz or .zst after that. Several files are parallel text: sources, then references.
    """  # fmt: skip
    if limit is not None and limit < 1:
        raise SettingsError(f"is {limit}", "give 1 or more", key="limit")
    if output is None:
        *files, output = files
    if not files:
        raise SettingsError("there is an input and no output", "name the output behind it")
    input, not_read = Input.of(files, reading), Losses()
    check_not_input(output, input, settings.format)
    with open_bad(skipping.skip_bad, input, output) as bad:
        examples = input.examples(limit=limit, losses=not_read, bad=bad)
        report = replace(write_unique(examples, output, reading.fields, settings), not_read=not_read)
    losses = {"not_read": report.not_read.counts, "not_kept": report.not_kept.counts}
    pseudo = f" and {o.counted(report.pseudo_references, 'pseudo-reference')}" if report.pseudo_references else ""
    written = " to ".join(dict.fromkeys([report.files[0], report.files[-1]]))
    found = f"{o.counted(report.examples, 'example')} with {o.counted(report.references, 'reference')}{pseudo}"
    o.summarise(asdict(report) | losses, f"{found} in {written}\n", as_json=as_json, stream=o.beside(output))
    if not as_json:
        o.say_losses(files[0], "not read", report.not_read)
        o.say_losses(output, "not kept", report.not_kept)
