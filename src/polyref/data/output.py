"""Write a file whole or not at all.

In:   a path ("-" is standard output); a name that ends in .gz is compressed.
Out:  a stream of bytes; the file takes its name only when everything has been written.
Not:  what is written.
"""

from __future__ import annotations

import errno
import gzip
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from polyref.errors import OutputError

_WRITING_FAILED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.ENOENT}


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A stream to a temporary file beside `path`, renamed at the end, removed after any error."""
    if path == "-":
        yield cast(BinaryIO, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    given = Path(path)
    opened = False
    try:
        if given.exists() and not stat.S_ISREG(given.stat().st_mode):
            # A pipe or a device has no name to be renamed to.
            if given.is_dir():
                raise OutputError(f"{path}: this is a folder; name a file")
            with given.open("wb") as direct, _compressed(cast(BinaryIO, direct), path) as stream:
                opened = True
                yield stream
            return
        with _temporary_beside(Path(os.path.realpath(path))) as temporary, _compressed(temporary, path) as stream:
            opened = True
            yield stream
    except OSError as error:
        # Once it is open, other things may fail than writing to it.
        if opened and error.errno not in _WRITING_FAILED:
            raise
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from None


@contextmanager
def _temporary_beside(target: Path) -> Iterator[BinaryIO]:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield cast(BinaryIO, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode_of(target))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _compressed(stream: BinaryIO, path: str) -> Iterator[BinaryIO]:
    if not path.endswith(".gz"):
        yield stream
        return
    # No name and no time inside: the same content gives the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as packed:
        yield cast(BinaryIO, packed)


def _mode_of(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
