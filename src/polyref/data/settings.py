"""How examples are written.

In:   nothing; these are plain values. Out: WriteSettings. Not: writing (writing.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from polyref.data.formats import Format, check_format
from polyref.errors import SettingsError

LineBreaks = Literal["refuse", "space"]


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """`format` None: the name of the file tells. `reference_columns`: a table has an example a row, with a column for
    each reference, rather than a reference a row. `pseudo_as_references`: pseudo-references become references like any
    other. `line_breaks`: what to do about a line break or a tab in a format that cannot hold it.
    """

    format: Format | None = None
    reference_columns: bool = False
    pseudo_as_references: bool = False
    line_breaks: LineBreaks = "refuse"

    def __post_init__(self) -> None:
        check_format(self.format)
        if self.line_breaks not in get_args(LineBreaks):
            raise SettingsError(f'unknown line-breaks "{self.line_breaks}"; choose one of refuse, space')
