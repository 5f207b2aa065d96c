"""The lines of a file, plain or compressed, one at a time.

In:   a path ("-" is standard input) and the longest line that is allowed.
Out:  numbered lines, and how far through the file they stand, for a progress bar.
Not:  decompression (opening.py), what is on the lines (jsonl.py, tables.py, parallel.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from polyref.data.opening import BYTE_ORDER_MARK, Opened, display_name, open_input
from polyref.errors import InputError, SettingsError

__all__ = ["MAX_LINE_BYTES", "Line", "display_name", "lines_of", "read_lines", "text_lines"]

MAX_LINE_BYTES = 64 * 1024 * 1024


class Line(NamedTuple):
    """One record. Where the format has no lines, `number` counts its rows or its images."""

    number: int
    content: bytes
    position: int  # bytes of the file behind us; compressed ones where it is compressed


def read_lines(
    path: str, *, max_line_bytes: int = MAX_LINE_BYTES, holds: str = "one JSON object a line"
) -> Iterator[Line]:
    """The lines that are not blank, without their ends. An empty file is an error; `holds` says what to give."""
    check_limit(max_line_bytes)
    with open_input(path) as opened:
        yield from lines_of(opened, max_line_bytes=max_line_bytes, holds=holds)


def lines_of(
    opened: Opened, *, max_line_bytes: int = MAX_LINE_BYTES, holds: str = "one JSON object a line"
) -> Iterator[Line]:
    """The same, for a file that is open already."""
    number = 0
    found = False
    most = max_line_bytes + _NOT_COUNTED
    while content := opened.line(most):
        number += 1
        if number == 1:
            content = content.removeprefix(BYTE_ORDER_MARK)
        if len(content) > max_line_bytes:
            _check_length(content, max_line_bytes, opened.name, number)
        content = content.strip()
        if content:
            found = True
            yield Line(number, content, opened.position())
    if not found:
        raise InputError("the file is empty", f"give {holds}", file=opened.name)


def text_lines(opened: Opened, *, max_line_bytes: int = MAX_LINE_BYTES, keep_ends: bool = False) -> Iterator[str]:
    """All lines as texts, blank ones too, with the spaces at their ends; the line's own end goes unless it is kept."""
    most = max_line_bytes + _NOT_COUNTED
    number = 0
    while content := opened.line(most):
        number += 1
        if number == 1:
            content = content.removeprefix(BYTE_ORDER_MARK)
        if len(content) > max_line_bytes:
            _check_length(content, max_line_bytes, opened.name, number)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"not UTF-8 at byte {error.start + 1} of the line"
            raise InputError(problem, "save the file as UTF-8", file=opened.name, line=number) from None
        yield text if keep_ends else text.removesuffix("\n").removesuffix("\r")


_NOT_COUNTED = len(BYTE_ORDER_MARK) + 3  # a byte-order mark and the line's end do not count


def check_limit(max_line_bytes: int) -> None:
    if not 1 <= max_line_bytes <= 2**40:
        raise SettingsError(f"max-line-bytes is {max_line_bytes}; give a number from 1 to {2**40}")


def _check_length(content: bytes, max_line_bytes: int, name: str, number: int) -> None:
    if len(content.rstrip(b"\r\n")) > max_line_bytes:
        raise InputError(
            f"the line is longer than {max_line_bytes:,} bytes",
            "is this one record a line? raise the limit with --max-line-bytes",
            file=name,
            line=number,
        )
