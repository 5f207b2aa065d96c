"""In and out of files."""

from polyref.data.formats import Format
from polyref.data.formats.format import Losses, SeenTexts
from polyref.data.formats.jsonl import Fields, parse, render
from polyref.data.opening import MAX_LINE_BYTES, Line, open_output, read_lines
from polyref.data.reading import BadSettings, Input, ReadSettings, examples_of, read, sample_examples
from polyref.data.writing import WriteReport, WriteSettings, open_examples, write

__all__ = [
    "MAX_LINE_BYTES",
    "BadSettings",
    "Fields",
    "Format",
    "Input",
    "Line",
    "Losses",
    "ReadSettings",
    "SeenTexts",
    "WriteReport",
    "WriteSettings",
    "examples_of",
    "open_examples",
    "open_output",
    "parse",
    "read",
    "read_lines",
    "render",
    "sample_examples",
    "write",
]
