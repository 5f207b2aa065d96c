"""Write files whole or not at all, and put the system's errors into words.

In:   paths of files and folders.
Out:  streams or paths beside them. These are synced to the disk and take their names when the `with` block ends;
      after an error or a signal nothing is left of them, and an older file stays as it was.
Not:  standard output, pipes, compression by the name of a file (data/opening.py).

    with writing(path, "give another folder"):      # an OSError becomes an OutputError of one line
        write_whole(path, content)                  # bytes at hand
    with writing(path), whole_path(path) as new:    # a library that wants a path, such as safetensors
        save_file(tensors, new)
    with whole_folder(folder) as new: ...           # several files that belong together
    with reading(path): ...                         # an OSError becomes an InputError of one line

A new file has the permissions that the umask leaves, whatever a library has set; a replaced file keeps its own.
A link stays, and the file that it points to is replaced.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from polyref.errors import InputError, OutputError

PARTIAL = ".partial"  # ends the names that whole_path and whole_folder write to
AnyPath = str | os.PathLike[str]


# -- whole or not at all --------------------------------------------------------------------------------------------


@contextmanager
def whole_files(paths: Sequence[AnyPath]) -> Iterator[list[BinaryIO]]:
    """Streams to files beside these; none takes its name before all are complete.

    Their names are drawn, so that several processes may write the same file: the last one stays.
    """
    targets = [_file(path) for path in paths]
    # The names are noted before there are such files: a signal between the two must not leave one behind.
    new = [target.parent / f".{target.name}.{secrets.token_hex(8)}.part" for target in targets]
    try:
        with ExitStack() as stack:
            streams = [stack.enter_context(_synced_stream(*pair)) for pair in zip(new, targets, strict=True)]
            yield streams
        for one, target in zip(new, targets, strict=True):
            one.replace(target)
        for folder in {target.parent for target in targets}:
            _sync_folder(folder)
    except BaseException:
        for one in new:
            with suppress(OSError):
                one.unlink(missing_ok=True)
        raise


def _file(path: AnyPath) -> Path:
    """The file to replace. A folder, a device or a pipe must not be replaced by a file."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "this is not a file")
    return target


@contextmanager
def _synced_stream(path: Path, target: Path) -> Iterator[BinaryIO]:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666 if mode is None else 0o600), "wb") as stream:
        yield cast(BinaryIO, stream)
        stream.flush()
        os.fsync(stream.fileno())
        if mode is not None:
            os.fchmod(stream.fileno(), mode)


@contextmanager
def whole_path(path: AnyPath) -> Iterator[Path]:
    """An empty file beside this one, for what writes to a path, not to a stream.

    Its name ends in `.partial` and is always the same, so that the next run writes over what a killed one has left:
    only one process at a time may write a file in this way.
    """
    target = _file(path)
    new = Path(f"{target}{PARTIAL}")
    try:
        with _plain_errors():
            new.unlink(missing_ok=True)
            new.touch()
            mode = stat.S_IMODE((target if target.exists() else new).stat().st_mode)
            yield new
        new.chmod(mode)
        _sync(new)
        new.replace(target)
        _sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def write_whole(path: AnyPath, content: bytes) -> None:
    """Write a file whose content is at hand; only one process at a time (see whole_path)."""
    with whole_path(path) as new:
        new.write_bytes(content)


@contextmanager
def whole_folder(path: AnyPath) -> Iterator[Path]:
    """An empty folder beside this one, which takes its place when all files in it are complete.

    As for whole_path, its name ends in `.partial`, and only one process at a time may write it.
    """
    target = Path(os.path.realpath(path))
    new = Path(f"{target}{PARTIAL}")
    try:
        with _plain_errors():
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            yield new
        mode = stat.S_IMODE(new.stat().st_mode) & 0o666
        for file in new.iterdir():
            file.chmod(mode)
            _sync(file)
        _sync_folder(new)
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
        _sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _sync(path: Path) -> None:
    """Have a file on the disk before it gets its name: after a power cut a name must not stand for nothing."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every file system can sync a folder, and its files are safe
        _sync(folder)


# -- errors in words ------------------------------------------------------------------------------------------------


@contextmanager
def writing(path: AnyPath, cure: str = "") -> Iterator[None]:
    """Turn an OSError into `path: cannot be written (No space left on device); cure`."""
    try:
        yield
    except OSError as error:
        words = f"{os.fspath(path)}: cannot be written ({words_of(error)})"
        raise OutputError(f"{words}; {cure}" if cure else words) from None


@contextmanager
def reading(path: AnyPath, problem: str = "cannot be opened", cure: str = "check the path") -> Iterator[None]:
    """Turn an OSError into `path: cannot be opened (No such file or directory); check the path`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{problem} ({words_of(error)})", cure, file=os.fspath(path)) from None


def words_of(error: BaseException) -> str:
    """What the system says, such as `Permission denied`, without its number and the path; else the error's own text."""
    number = system_number(error)
    given = getattr(error, "strerror", None) or (os.strerror(number) if number else "")
    return given or " ".join(str(error).split()) or type(error).__name__


def system_number(error: BaseException) -> int | None:
    """The system's number of an error (errno). Libraries written in Rust have it only in their text."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    found = re.search(r"\(os error (\d+)\)", str(error))
    return int(found[1]) if found else None


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Raise the system's errors as OSErrors, also those that a library has wrapped in a class of its own."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        number = system_number(error)
        if number is None:
            raise
        raise OSError(number, os.strerror(number)) from error
