"""Open what a command writes to.

In:   paths ("-" is standard output); a name that ends in .gz or .zst is compressed.
Out:  streams of bytes; the files take their names only when everything has been written.
Not:  what is written; how a file is replaced (files.py).
"""

from __future__ import annotations

import errno
import gzip
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from polyref.data.opening import zstandard
from polyref.errors import OutputError
from polyref.files import whole_files, words_of

# What fails because of the place: others, such as a broken pipe, say more than that it cannot be written.
_OF_PLACE = "EACCES EDQUOT EFBIG EINVAL EIO EISDIR ELOOP ENAMETOOLONG ENOENT ENOSPC ENOTDIR ENXIO EPERM EROFS"


def check_output_is_none_of(output: str, read: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Refuse to write over a file that is read, by whatever path: `{"the model": path, ...}` says what each one is.

    What was not given (None) is left out, and so is what cannot be looked at: opening it says why.
    """
    written = None if output == "-" else _file_at(output)
    if written is None:
        return
    for what, path in read.items():
        found = None if path is None or path == "-" else _file_at(path)
        if found is not None and os.path.samestat(found, written):
            raise OutputError(f"{output}: this is {what}; choose another name for the output")


def _file_at(path: str | os.PathLike[str]) -> os.stat_result | None:
    """None for what is not a file: a terminal or a pipe can be read and written at once."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A stream to a temporary file beside `path`, renamed at the end, removed after any error."""
    if path == "-":
        yield cast(BinaryIO, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with _writing(path), ExitStack() as stack:
        given = Path(path)
        if given.is_dir():
            raise OutputError(f"{path}: this is a folder; name a file")
        if given.exists() and not given.is_file():
            # A pipe or a device has no name to be renamed to.
            stream = cast(BinaryIO, stack.enter_context(given.open("wb")))
        else:
            [stream] = stack.enter_context(whole_files([path]))
        yield stack.enter_context(_compressed(stream, path))


@contextmanager
def open_outputs(paths: Sequence[str]) -> Iterator[list[BinaryIO]]:
    """The same for several files: none takes its name before all of them are complete."""
    with _writing(paths[0]):
        for path in paths:
            if Path(path).exists() and not Path(path).is_file():
                raise OutputError(f"{path}: this is not a file; choose another name")
        with whole_files(paths) as streams, ExitStack() as stack:
            yield [stack.enter_context(_compressed(*pair)) for pair in zip(streams, paths, strict=True)]


@contextmanager
def _compressed(stream: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """The stream itself where the name asks for nothing else. The same content gives the same bytes."""
    if path.endswith(".gz"):
        # No name and no time inside.
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as packed:
            yield cast(BinaryIO, packed)
    elif path.endswith(".zst"):
        with zstandard().ZstdCompressor(write_checksum=True).stream_writer(stream, closefd=False) as packed:
            yield cast(BinaryIO, packed)
    else:
        yield stream


@contextmanager
def open_spool(path: str) -> Iterator[BinaryIO]:
    """A temporary file without a name, beside `path` where that is a file: nothing can be left of it."""
    with _writing(path):
        folder = None if path == "-" or (Path(path).exists() and not Path(path).is_file()) else Path(path).parent
        with tempfile.TemporaryFile(dir=folder) as file:
            yield cast(BinaryIO, file)


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Say what is wrong with a place that cannot be written to."""
    try:
        yield
    except OSError as error:
        if errno.errorcode.get(error.errno or 0) not in _OF_PLACE.split():
            raise
        raise OutputError(f"{path}: cannot be written ({words_of(error)}); choose another place") from None
