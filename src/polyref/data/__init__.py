"""In and out of files."""

from polyref.data.jsonl import Fields, parse, read, render
from polyref.data.lines import MAX_LINE_BYTES, Line, read_lines
from polyref.data.output import open_output
from polyref.data.seen import SeenIds

__all__ = [
    "MAX_LINE_BYTES",
    "Fields",
    "Line",
    "SeenIds",
    "open_output",
    "parse",
    "read",
    "read_lines",
    "render",
]
