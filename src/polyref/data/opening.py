"""Open what a command reads and what it writes, compressed or not.

In:   a path ("-" is standard input or output) or a URL. Compression is told by the content of what is read, and by
      the name of what is written, if that ends in .gz or .zst.
Out:  the bytes of a file, the first of them for a look ahead, and its numbered lines; streams to write to, whose files
      take their names only when everything has been written.
Not:  what the bytes mean (formats/), how a file is replaced (files.py), where URLs lead (remote.py).
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import os
import re
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from polyref.errors import InputError, OutputError, load_extra
from polyref.files import not_written, whole_files, words_of
from polyref.remote import Remote, is_remote, path_at
from polyref.text.terminal import TerminalStream

HEAD_BYTES = 1 << 16  # what is looked at to tell a format
MAX_LINE_BYTES = 64 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED = rb"[\x50-\x5f]\x2a\x4d\x18"  # a frame without data may stand before the others
_BUFFER_BYTES = 1 << 16
# A thousand bytes of zstd may stand for 32 million, and all that a piece stands for comes at once.
_ZSTD_PIECE_BYTES = 1 << 10
# What fails because of the place: others, such as a broken pipe, say more than that it cannot be written.
_OF_PLACE = "EACCES EDQUOT EFBIG EINVAL EIO EISDIR ELOOP ENAMETOOLONG ENOENT ENOSPC ENOTDIR ENXIO EPERM EROFS"
_AGAIN, _CUT_OFF = "copy or make the file again", "the file is cut off; copy or make it again"


class Line(NamedTuple):
    """One record. Where the format has no lines, `number` counts its rows or its images.

    `number` stands in for an id that the record does not have. `fault`: the record cannot be read, and `content` shows
    what stands there; whoever takes the record raises it, or sets the record aside.
    """

    number: int
    content: bytes
    position: int  # bytes of the file behind us; compressed ones where it is compressed
    fault: InputError | None = None

    def text(self, file: str) -> str:
        """What stands there, unless it has a fault: then that is raised."""
        if self.fault is not None:
            raise self.fault
        return decoded(self.content, file, self.number)


@dataclass(slots=True)
class Opened:
    """A file that is being read. `stream` stands at its beginning, whatever `head` has seen."""

    path: str
    raw: BinaryIO
    stream: BinaryIO
    head: bytes  # up to the end of the first line that is not blank
    is_packed: bool  # whether it is compressed

    @property
    def name(self) -> str:
        return display_name(self.path)

    @property
    def first(self) -> bytes:
        """The first line that is not blank, without spaces at its ends."""
        return self.head.removeprefix(BYTE_ORDER_MARK).strip()

    @property
    def is_regular(self) -> bool:
        """Whether the file can be read twice."""
        return self.path != "-" and path_at(self.path).is_file()

    def position(self) -> int:
        """Bytes of the file behind us; compressed ones where it is compressed."""
        try:
            return self.raw.tell()
        except (OSError, ValueError):
            return 0

    def lines(self, most: int = MAX_LINE_BYTES) -> Iterator[Line]:
        """All lines with their ends; one of more than `most` bytes has a fault."""
        number = 0
        with _faults(self.name):
            # A byte-order mark and the end of the line do not count.
            while content := self.stream.readline(most + len(BYTE_ORDER_MARK) + 3):
                number += 1
                if number == 1:
                    content = content.removeprefix(BYTE_ORDER_MARK)
                if len(content) > most and len(content.rstrip(b"\r\n")) > most:
                    problem = f"the line is longer than {most:,} bytes"
                    cure = "is this one record per line? raise max_line_bytes"
                    fault = InputError(problem, cure, file=self.name, line=number)
                    shown = content[:most].decode("utf-8", "ignore").encode()
                    yield Line(number, shown, self.position(), fault)
                    while content and not content.endswith(b"\n"):
                        content = self.stream.readline(_BUFFER_BYTES)
                else:
                    yield Line(number, content, self.position())

    def line(self, most: int) -> bytes:
        """The next line with its end, or its first `most` bytes; empty at the end of the file."""
        with _faults(self.name):
            return self.stream.readline(most)

    def text(self) -> str:
        """All of it."""
        with _faults(self.name):
            content = self.stream.read()
        return decoded(content.removeprefix(BYTE_ORDER_MARK), self.name)

    def pieces(self, size: int) -> Iterator[str]:
        """All of it, some bytes at a time."""
        decoder, begun, before = codecs.getincrementaldecoder("utf-8")(), False, 0
        while True:
            with _faults(self.name):
                content = self.stream.read(size)
            if not begun:
                content, begun = content.removeprefix(BYTE_ORDER_MARK), True
            waiting = len(decoder.getstate()[0])
            try:
                text = decoder.decode(content, final=not content)
            except UnicodeDecodeError as error:
                problem = f"not UTF-8 at byte {before - waiting + error.start + 1}"
                raise InputError(problem, "save the file as UTF-8", file=self.name) from None
            if text:
                yield text
            if not content:
                return
            before += len(content)

    def look(self, size: int) -> bytes:
        """The first bytes, more of them than `head` has; only before anything has been read."""
        with _faults(self.name):
            ahead = self.stream.read(size)
        self.stream = _replayed(ahead, self.stream)
        return ahead


def display_name(path: str) -> str:
    return "<stdin>" if path == "-" else path


def without_compression(path: str) -> str:
    """A name without .gz or .zst."""
    return path.removesuffix(".gz").removesuffix(".zst")


def read_lines(
    path: str, *, max_line_bytes: int = MAX_LINE_BYTES, holds: str = "one JSON object per line"
) -> Iterator[Line]:
    """The lines of a file that are not blank, without their ends. An empty file is an error; `holds` says its cure."""
    with open_input(path) as opened:
        yield from lines_of(opened, max_line_bytes, holds)


def lines_of(opened: Opened, max_line_bytes: int, holds: str = "at least one example") -> Iterator[Line]:
    """The same, for a file that is open already."""
    found = False
    for line in opened.lines(max_line_bytes):
        content = line.content.strip()
        if content:
            found = True
            yield Line(line.number, content, line.position, line.fault)
    if not found:
        raise InputError("the file is empty", f"give {holds}", file=opened.name)


def text_lines(opened: Opened, *, max_line_bytes: int = MAX_LINE_BYTES, keep_ends: bool = False) -> Iterator[str]:
    """All lines as texts, blank ones too, with the spaces at their ends; the line's own end goes unless it is kept."""
    for line in opened.lines(max_line_bytes):
        text = line.text(opened.name)
        yield text if keep_ends else text.removesuffix("\n").removesuffix("\r")


def decoded(content: bytes, name: str, line: int | None = None) -> str:
    """The text of a line, or of a whole file; an InputError where it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if _is_binary(content):
            raise InputError("this is not text", "name a file of examples", file=name) from None
        problem = f"not UTF-8 at byte {error.start + 1}{'' if line is None else ' of the line'}"
        raise InputError(problem, "save the file as UTF-8", file=name, line=line) from None


def _is_binary(content: bytes) -> bool:
    """Whether bytes are no text in any encoding: a picture, say. Text in 16 bits begins with a mark."""
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return not marked and (content.startswith(b"\x89PNG") or any(byte < 9 or 13 < byte < 27 for byte in content[:1000]))


@contextmanager
def located(file: str, line: int | None = None) -> Iterator[None]:
    """Errors that pass say where they happened, unless they do."""
    try:
        yield
    except InputError as error:
        error.file, error.line = error.file or file, error.line or line
        raise


def is_folder(path: Path, *, gone: str, cure: str = "check the path") -> bool:
    """Whether a folder stands at a path; `gone` is said where nothing does, with its `cure`."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(gone, cure, file=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be opened ({words_of(error)})", "check the path", file=str(path)) from None


@contextmanager
def open_input(path: str) -> Iterator[Opened]:
    """Open a file; compression is known by the first bytes, not by the name."""
    name = display_name(path)
    raw = _open(path, name)
    try:
        known = path if is_remote(path) else raw
        before = identity(known)
        with _faults(name):
            # Read, not peeked at: a slow pipe shows its bytes one by one.
            magic = raw.read(len(_ZSTD_MAGIC))
            packed = _decompressed(magic, raw, path, name)
            head = _first_line(magic, raw) if packed is None else _first_line(b"", packed)
        yield Opened(path, raw, _replayed(head, packed or raw), head, is_packed=packed is not None)
        if before is not None and not before == identity(known) == identity(raw if path == "-" else path):
            raise changed(name)
    finally:
        if path != "-":
            raw.close()


def identity(file: BinaryIO | str) -> tuple[int, ...] | None:
    """What a file is known by; None if it is gone, or if it is a pipe or a device."""
    if isinstance(file, str) and is_remote(file):
        try:
            return tuple(Remote(file).stat())
        except OSError:
            return None
    found = _file_at(file)
    return None if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def changed(name: str) -> InputError:
    return InputError("the file changed while it was read", "start again when it is complete", file=name)


def _open(path: str, name: str) -> BinaryIO:
    if path == "-":
        return cast(BinaryIO, sys.stdin.buffer)
    try:
        return path_at(path).open("rb")
    except FileNotFoundError:
        raise InputError("there is no such file", "check the path", file=name) from None
    except IsADirectoryError:
        raise InputError("this is a folder", "name a file in it", file=name) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be opened ({words_of(error)})", file=name) from None


def _decompressed(magic: bytes, raw: BinaryIO, path: str, name: str) -> BinaryIO | None:
    """The stream of decompressed bytes; None where nothing is compressed."""
    if magic.startswith(_GZIP_MAGIC):
        return cast(BinaryIO, gzip.GzipFile(fileobj=_replayed(magic, raw)))
    if magic == _ZSTD_MAGIC or re.fullmatch(_ZSTD_SKIPPED, magic):
        return _stream(_unpacked(_replayed(magic, raw), name))
    for suffix, kind in ((".gz", "gzip"), (".zst", "zstd")):
        if magic and path.endswith(suffix):
            problem = f"the name ends in {suffix}, but this is not {kind} data"
            raise InputError(problem, "rename it, or compress it", file=name)
    return None


def _first_line(start: bytes, stream: BinaryIO) -> bytes:
    """What is there up to the end of the first line that is not blank, or HEAD_BYTES of it."""
    head = start
    while len(head) < HEAD_BYTES and not (head.endswith(b"\n") and head.removeprefix(BYTE_ORDER_MARK).strip()):
        more = stream.readline(HEAD_BYTES - len(head))
        if not more:
            break
        head += more
    return head


class _Pieces(io.RawIOBase):
    """A stream of pieces, which come one at a time: a fault behind one must not hide it."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces = pieces
        self._waiting = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._waiting:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._waiting = memoryview(piece)
        content, self._waiting = self._waiting[: len(buffer)], self._waiting[len(buffer) :]
        buffer[: len(content)] = content
        return len(content)


def _stream(pieces: Iterator[bytes]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Pieces(pieces), _BUFFER_BYTES))


def _replayed(head: bytes, rest: BinaryIO) -> BinaryIO:
    """A stream whose first bytes have been read already, from its beginning."""
    return _stream(chain([head], iter(partial(rest.read1, _BUFFER_BYTES), b"")))  # type: ignore[attr-defined]


def zstandard() -> Any:
    return load_extra("zstandard", purpose="zstd compression", extra="zstd")


def _unpacked(packed: BinaryIO, name: str) -> Iterator[bytes]:
    """Decompressed zstd, one frame after the other."""
    library = zstandard()
    frame = None
    while content := packed.read(_ZSTD_PIECE_BYTES):
        while content:
            frame = frame or library.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(content)
            except library.ZstdError as error:
                why = str(error).partition(":")[2].strip() or str(error)
                raise InputError(f"the zstd data is broken ({why})", _AGAIN, file=name) from None
            content, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise InputError("the zstd data ends too early", _CUT_OFF, file=name)


@contextmanager
def _faults(name: str) -> Iterator[None]:
    """Say what is wrong with a file that cannot be read on."""
    try:
        yield
    except EOFError:
        raise InputError("the gzip data ends too early", _CUT_OFF, file=name) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the gzip data is broken ({error})", _AGAIN, file=name) from None
    except OSError as error:
        raise InputError(f"cannot be read ({words_of(error)})", "check the file", file=name) from None


# -- writing --------------------------------------------------------------------------------------------------------


def check_output_is_none_of(output: str, read: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Refuse to write over a file that is read, by whatever path: `{"the model": path, ...}` says what each one is.

    What was not given (None) is left out, and so is what cannot be looked at: opening it says why.
    """
    written = _file_at(sys.stdout.buffer if output == "-" else output)
    for what, path in read.items():
        if is_remote(output) and isinstance(path, str) and is_remote(path) and Remote(output) == Remote(path):
            raise OutputError(f"{output}: this is {what}; choose another name for the output")
        if written is None:
            continue
        found = None if path is None else _file_at(sys.stdin.buffer if path == "-" else path)
        if found is not None and os.path.samestat(found, written):
            raise OutputError(f"{output}: this is {what}; choose another name for the output")


def _file_at(file: str | os.PathLike[str] | BinaryIO) -> os.stat_result | None:
    """None for what is not a file: a terminal or a pipe can be read and written at once."""
    try:
        found = Path(file).stat() if isinstance(file, str | os.PathLike) else os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A stream to a temporary file beside `path`, renamed at the end, removed after any error."""
    if path == "-":
        channel = cast(BinaryIO, sys.stdout.buffer)
        yield cast(BinaryIO, TerminalStream(channel)) if sys.stdout.isatty() else channel
        channel.flush()
        return
    if is_remote(path):
        with _sending(path) as target, target.written() as file, _compressed(file, path) as stream:
            yield stream
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
            check_not_several(path)
            if Path(path).exists() and not Path(path).is_file():
                raise OutputError(f"{path}: this is not a file; choose another name")
        with whole_files(paths) as streams, ExitStack() as stack:
            yield [stack.enter_context(_compressed(*pair)) for pair in zip(streams, paths, strict=True)]


def check_not_several(path: str) -> None:
    """Refuse a URL for what has several files, which could not change together."""
    if is_remote(path):
        raise OutputError(f"{path}: several files that belong together can only be written on this machine")


@contextmanager
def _sending(path: str) -> Iterator[Remote]:
    """A place that is not on this machine, after a look whether it can be written to."""
    target = Remote(path)
    try:
        if path.endswith("/") or target.is_dir():
            raise OutputError(f"{path}: this is a folder; name a file")
        target.check_writable()
        yield target
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({words_of(error)}); check the address") from None


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
    is_elsewhere = path == "-" or is_remote(path) or (Path(path).exists() and not Path(path).is_file())
    with (
        _sending(path) if is_remote(path) else _writing(path),
        tempfile.TemporaryFile(dir=None if is_elsewhere else Path(path).parent) as file,
    ):
        yield cast(BinaryIO, file)


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Say what is wrong with a place that cannot be written to."""
    try:
        yield
    except OSError as error:
        if errno.errorcode.get(error.errno or 0) not in _OF_PLACE.split():
            raise
        raise not_written(path, error, "choose another place") from None
