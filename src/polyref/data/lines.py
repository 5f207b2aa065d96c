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
from typing import Any, BinaryIO, NamedTuple, cast

from polyref.errors import InputError, SettingsError

MAX_LINE_BYTES = 64 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BUFFER_BYTES = 1 << 16


class Line(NamedTuple):
    number: int
    content: bytes
    position: int  # bytes of the file behind us; compressed ones where it is compressed


def read_lines(
    path: str, *, max_line_bytes: int = MAX_LINE_BYTES, holds: str = "one JSON object a line"
) -> Iterator[Line]:
    """The lines that are not blank, without their ends. An empty file is an error; `holds` says what to give."""
    if not 1 <= max_line_bytes <= 2**40:
        raise SettingsError(f"max-line-bytes is {max_line_bytes}; give a number from 1 to {2**40}")
    name = display_name(path)
    number = 0
    found = False
    with _open(path, name) as (raw, stream):
        while content := _next_line(stream, max_line_bytes, name):
            number += 1
            if number == 1:
                content = content.removeprefix(_BYTE_ORDER_MARK)
            if len(content.rstrip(b"\r\n")) > max_line_bytes:
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


def _next_line(stream: BinaryIO, max_line_bytes: int, name: str) -> bytes:
    """The next line with its end; a line that is too long only so far that this can be told."""
    try:
        # A byte-order mark and the line's end do not count.
        return stream.readline(max_line_bytes + len(_BYTE_ORDER_MARK) + 3)
    except EOFError:
        raise InputError(
            "the gzip data ends too early", "the file is cut off; copy or make it again", file=name
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the gzip data is broken ({error})", "copy or make the file again", file=name) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", "check the file", file=name) from None


def display_name(path: str) -> str:
    return "<stdin>" if path == "-" else path


@contextmanager
def _open(path: str, name: str) -> Iterator[tuple[BinaryIO, BinaryIO]]:
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
        # Read, not peeked at: a slow pipe shows its bytes one by one.
        head = raw.read(len(_GZIP_MAGIC))
        stream = cast(BinaryIO, io.BufferedReader(_Replayed(head, raw), _BUFFER_BYTES))
        if head == _GZIP_MAGIC:
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
        elif head and path.endswith(".gz"):
            raise InputError("the name ends in .gz, but this is no gzip data", "rename it, or compress it", file=name)
        yield raw, stream
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=name) from None
    finally:
        if path != "-":
            raw.close()


class _Replayed(io.RawIOBase):
    """A stream whose first bytes have been read already, from its beginning."""

    def __init__(self, head: bytes, rest: BinaryIO):
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        content = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(content)] = content
        return len(content)


def _position(raw: BinaryIO) -> int:
    try:
        return raw.tell()
    except (OSError, ValueError):
        return 0
