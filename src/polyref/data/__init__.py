"""In and out of files."""

from polyref.data.formats import Format
from polyref.data.jsonl import Fields, parse
from polyref.data.lines import MAX_LINE_BYTES, Line, read_lines
from polyref.data.losses import Losses
from polyref.data.output import open_output
from polyref.data.reading import Input, read
from polyref.data.render import render
from polyref.data.sample import sample
from polyref.data.seen import SeenIds, SeenTexts
from polyref.data.settings import ReadSettings, WriteSettings
from polyref.data.writing import WriteReport, open_examples, write

__all__ = [
    "MAX_LINE_BYTES",
    "Fields",
    "Format",
    "Input",
    "Line",
    "Losses",
    "ReadSettings",
    "SeenIds",
    "SeenTexts",
    "WriteReport",
    "WriteSettings",
    "open_examples",
    "open_output",
    "parse",
    "read",
    "read_lines",
    "render",
    "sample",
    "write",
]
