"""The lines of a file, plain or gzip, one at a time.

In:   a path ("-" is standard input) and the longest line that is allowed.
Out:  numbered lines of bytes, and how far through the file they stand, for a progress bar.
Not:  what is on the lines (jsonl.py).
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from polyref.errors import InputError, SettingsError

MAX_LINE_BYTES = 64 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Peekable(Protocol):
    """What both a buffered file and a gzip stream offer."""

    def peek(self, size: int, /) -> bytes: ...

    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


class Line(NamedTuple):
    number: int
    content: bytes
    position: int  # bytes of the file behind us; compressed ones where it is compressed


def read_lines(
    path: str, *, max_line_bytes: int = MAX_LINE_BYTES, holds: str = "one JSON object a line"
) -> Iterator[Line]:
    """The lines that are not blank, without their ends. An empty file is an error; `holds` says what to give."""
    if max_line_bytes < 1:
        raise SettingsError(f"max-line-bytes is {max_line_bytes}; give 1 or more")
    name = display_name(path)
    number = 0
    found = False
    with _open(path, name) as (raw, stream):
        while True:
            number += 1
            try:
                if number == 1 and stream.peek(3)[:3] == _BYTE_ORDER_MARK:
                    stream.read(3)
                # The line's end does not count: it has one byte or two, and one byte more tells a longer line.
                content = stream.readline(max_line_bytes + 3)
            except EOFError:
                raise InputError(
                    "the gzip data ends too early", "the file is cut off; copy or make it again", file=name
                ) from None
            except (gzip.BadGzipFile, zlib.error) as error:
                raise InputError(
                    f"the gzip data is broken ({error})", "copy or make the file again", file=name
                ) from None
            except OSError as error:
                raise InputError(f"cannot be read ({error.strerror or error})", file=name) from None
            if not content:
                break
            if len(content) > max_line_bytes and len(content.rstrip(b"\r\n")) > max_line_bytes:
                raise InputError(
                    f"the line is longer than {max_line_bytes:,} bytes",
                    "is this one record a line? raise the limit with --max-line-bytes",
                    file=name,
                    line=number,
                )
            content = content.strip()
            if content:
                found = True
                yield Line(number, content, _position(raw))
    if not found:
        raise InputError("the file is empty", f"give {holds}", file=name)


def display_name(path: str) -> str:
    return "<stdin>" if path == "-" else path


@contextmanager
def _open(path: str, name: str) -> Iterator[tuple[BinaryIO, _Peekable]]:
    """The file's own stream, and the stream of its decompressed bytes."""
    if path == "-":
        raw = cast(BinaryIO, sys.stdin.buffer)
    else:
        try:
            raw = cast(BinaryIO, Path(path).open("rb"))  # noqa: SIM115  (closed below)
        except FileNotFoundError:
            raise InputError("there is no such file", "check the path", file=name) from None
        except IsADirectoryError:
            raise InputError("this is a folder", "name a file in it", file=name) from None
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be opened ({getattr(error, 'strerror', None) or error})", file=name) from None
    try:
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
        start = buffered.peek(2)[:2]
        if start == _GZIP_MAGIC:
            yield raw, cast(_Peekable, gzip.GzipFile(fileobj=buffered))
        elif start and path.endswith(".gz"):
            raise InputError("the name ends in .gz, but this is no gzip data", "rename it, or compress it", file=name)
        else:
            yield raw, cast(_Peekable, buffered)
    finally:
        if path != "-":
            raw.close()


def _position(raw: BinaryIO) -> int:
    try:
        return raw.tell()
    except (OSError, ValueError):
        return 0
