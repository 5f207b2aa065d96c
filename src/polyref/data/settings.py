"""How examples are read and written.

In:   choices. Out: checked settings. Not: reading and writing (reading.py, writing.py).
"""

from __future__ import annotations

from typing import Literal

from polyref.data.formats import Format
from polyref.data.jsonl import Fields
from polyref.data.lines import MAX_LINE_BYTES
from polyref.settings import part, setting, settings

LineBreaks = Literal["refuse", "space"]


@settings
class ReadSettings:
    """How a file of examples is read."""

    format: Format | None = setting(None, "Format of the input.", unset="told by the content", option="--from")
    fields: Fields = part(Fields)
    max_line_bytes: int = setting(MAX_LINE_BYTES, "Longest line that is read.", at_least=1, at_most=2**40, metavar="N")


@settings
class WriteSettings:
    """How examples are written."""

    format: Format | None = setting(None, "Format of the output.", unset="told by the name", option="--to")
    reference_columns: bool = setting(False, "CSV, TSV: one row per example, one column per reference.")
    pseudo_as_references: bool = setting(False, "Write pseudo-references as references like any other.")
    line_breaks: LineBreaks = setting(
        "refuse", "Line breaks and tabs where the format cannot hold them: refuse, or write spaces."
    )
