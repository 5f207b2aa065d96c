"""Compress what is written, by the name it is written to.

In:   a stream of bytes and a path. Out: a stream that packs what is written to it, if the name ends in .gz or .zst.
Not:  decompression (opening.py).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from polyref.data.extras import zstandard


@contextmanager
def compressed(stream: BinaryIO, path: str) -> Iterator[BinaryIO]:
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
