"""Write files whole or not at all, and put the system's errors into words.

In:   paths of files and folders.
Out:  streams or paths beside them. These are synced to the disk and take their names when the `with` block ends;
      after an error or a signal nothing is left of them, and an older file stays as it was. What a killed process
      leaves goes when the same file is written again.
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
import fcntl
import json
import logging
import os
import re
import secrets
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from polyref.errors import InputError, OutputError

PARTIAL = ".partial"  # ends the names that whole_path and whole_folder write to
OLDER = ".older"  # ends the name of a folder that is being replaced
_NOTE = ".renaming"
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AnyPath = str | os.PathLike[str]
_log = logging.getLogger(__name__)


# -- whole or not at all --------------------------------------------------------------------------------------------


@contextmanager
def whole_files(paths: Sequence[AnyPath]) -> Iterator[list[BinaryIO]]:
    """Streams to files beside these; none takes its name before all are complete, and then no signal comes between.

    Their names are drawn, so that several processes may write the same files: those of the last one stay. Each file is
    locked while it is written: what is found unlocked is of a process that was killed, and goes.
    """
    targets = [_file(path) for path in paths]
    folders = {target.parent for target in targets}
    name = targets[0].name  # all of a set go by the first one: the next set may have fewer files
    finish_renames(targets[0])
    for folder in folders:
        _sweep(folder, re.compile(_part_of(name)))
    # The names are noted before there are such files: a signal between the two must not leave one behind.
    new = [target.parent / f".{name}.{secrets.token_hex(8)}.part" for target in targets]
    modes = [stat.S_IMODE(target.stat().st_mode) if target.exists() else None for target in targets]
    is_complete = False
    try:
        with ExitStack() as stack:
            streams: list[BinaryIO] = []
            for one, mode in zip(new, modes, strict=True):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                handle = stack.enter_context(locked(one, flags, 0o666 if mode is None else 0o600))
                streams.append(stack.enter_context(os.fdopen(handle, "wb", closefd=False)))
            yield streams
            for stream, mode in zip(streams, modes, strict=True):
                stream.flush()
                os.fsync(stream.fileno())
                if mode is not None:
                    os.fchmod(stream.fileno(), mode)
            with _noted(targets, new):
                is_complete = True
                for one, target in zip(new, targets, strict=True):
                    one.replace(target)
                for folder in folders:
                    _sync_folder(folder)
        _log.debug("written: %s", ", ".join(map(str, targets)))
    except BaseException:
        if not is_complete or all(one.exists() for one in new):  # else some have their names, and the others wait
            for one in new:
                with suppress(OSError):
                    one.unlink(missing_ok=True)
        raise


def _part_of(name: str) -> str:
    """A pattern: what files are called before they have their names."""
    return rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.part"


def _file(path: AnyPath) -> Path:
    """The file to replace. A folder, a device or a pipe must not be replaced by a file."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "this is not a file")
    return target


@contextmanager
def _noted(targets: Sequence[Path], new: Sequence[Path]) -> Iterator[None]:
    """Have a note beside several files, of which file gets which name, until all have theirs. Signals wait.

    All files are complete by then. A process that is killed leaves the note there, and `finish_renames` does the rest.
    It is locked: of two processes that replace the same files, one waits for the other.
    """
    if len(targets) == 1:
        with _signals_wait():
            yield
        return
    note = _note_of(targets[0])
    # Signals end the wait for the lock; they wait from then on.
    with locked(note, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW) as handle, _signals_wait():
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise FileExistsError(errno.EEXIST, f"{note.name} beside it is not a file")
        try:
            names = [(one.name, os.path.relpath(target, note.parent)) for one, target in zip(new, targets, strict=True)]
            content = json.dumps(names).encode()
            os.pwrite(handle, content, 0)
            os.ftruncate(handle, len(content))
            os.fsync(handle)
            _sync_folder(note.parent)
            yield
        except BaseException:
            if all(one.exists() for one in new):  # nothing was replaced
                note.unlink(missing_ok=True)
            raise
        note.unlink(missing_ok=True)
        _sync_folder(note.parent)


def _note_of(target: Path) -> Path:
    return target.with_name(f".{target.name}{_NOTE}")


def finish_renames(first: AnyPath) -> None:
    """Give several files their names, where a process was killed while it did. `first` is the first of them.

    What cannot be finished stays as it is, and `check_not_mixed` refuses it.
    """
    with suppress(OSError, ValueError, TypeError):
        target = Path(os.path.realpath(first))
        note = _note_of(target)
        if not note.is_file():
            return
        handle = os.open(note, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # else a process is at it
            with _signals_wait():
                for one, name in _renames(os.pread(handle, os.fstat(handle).st_size, 0), target):
                    with suppress(FileNotFoundError):  # it has its name already
                        one.replace(target.with_name(name))
                _sync_folder(note.parent)
                note.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _renames(noted: bytes, first: Path) -> list[tuple[Path, str]]:
    """What a note says. One that was cut off says nothing: the first rename comes after it.

    A note may come from anywhere: it can rename only what was written for these files, in their folder.
    """
    try:
        names = json.loads(noted)
    except ValueError:
        names = []
    part = re.compile(_part_of(first.name))
    for one, name in names:
        if not part.fullmatch(one) or Path(name).name != name or not name.strip("."):
            raise ValueError("this is the note of somebody else")
    return [(first.with_name(one), name) for one, name in names]


def check_not_mixed(paths: Sequence[AnyPath]) -> None:
    """Refuse files of which some may be new and some old: they get their names just now, or could not be given them."""
    given = {os.path.realpath(path): os.fspath(path) for path in paths}
    for folder in {Path(path).parent for path in given}:
        for note in filter(Path.is_file, folder.glob(f".*{_NOTE}")):
            named = {
                str(note.with_name(note.name[1:].removesuffix(_NOTE)))
            }  # the first, also where the rest is cut off
            with suppress(OSError, ValueError, TypeError):
                named |= {os.path.normpath(folder / name) for _, name in json.loads(note.read_bytes())}
            mixed = [name for path, name in given.items() if path in named]
            if mixed and note.exists():  # else another process has just been through
                problem = "a run was killed while it replaced this file and others with it: some are new, some old"
                beside = Path(mixed[0]).with_name(note.name)  # as the path was typed, unless that is a link
                cure = f"write them again, or delete {beside if beside.exists() else note} if you have put them right"
                raise InputError(problem, cure, file=mixed[0])


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

    As for whole_path, its name ends in `.partial`, and only one process at a time may write it. An older folder is
    called `.older` for the moment between two renames: where a process was killed then, it stands for the one that is
    not there, and the next call gives it its name back.
    """
    target = Path(os.path.realpath(path))
    new, older = Path(f"{target}{PARTIAL}"), Path(f"{target}{OLDER}")
    try:
        with _plain_errors():
            _put_back(older, target)
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            yield new
        mode = stat.S_IMODE(new.stat().st_mode) & 0o666
        for file in new.iterdir():
            file.chmod(mode)
            _sync(file)
        _sync_folder(new)
        with _signals_wait():
            try:
                with suppress(FileNotFoundError):
                    target.rename(older)
                new.rename(target)
                _sync_folder(target.parent)
            finally:
                _put_back(older, target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _put_back(older: Path, target: Path) -> None:
    """Give an older folder its name back if that is free; else it is not needed any more."""
    if older.exists() and not target.exists():
        older.rename(target)
    shutil.rmtree(older, ignore_errors=True)


def make_folder(path: AnyPath) -> Path:
    """The folder, made where there is none."""
    with writing(path, "give another folder"):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder among the system's temporary files, for as long as it is needed.

    It is locked, so that the next one that is made can tell those of killed processes, and remove them.
    """
    place = Path(tempfile.gettempdir())
    _sweep(place, re.compile(r"polyref-[0-9a-f]{16}"))
    # As above: the name is known first.
    new = place / f"polyref-{secrets.token_hex(8)}"
    try:
        with ExitStack() as stack:
            while True:
                with writing(place, "set TMPDIR to a folder with more room"):
                    new.mkdir(mode=0o700)
                with suppress(FileNotFoundError):  # swept before it was locked
                    stack.enter_context(locked(new, os.O_RDONLY | os.O_DIRECTORY))
                    break
            yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


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


# -- one process at a time ------------------------------------------------------------------------------------------


@contextmanager
def taken(folder: Path, problem: str = "another run trains in this folder") -> Iterator[None]:
    """Keep a folder to this process: another one that wants it is refused. The system gives it free, however we end."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{folder}: {problem}; wait until it ends, or give another folder") from None
        except OSError:
            pass  # a file system that knows no locks
        yield
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path, flags: int, mode: int = 0o666) -> Iterator[int]:
    """Open a file or a folder that only this process holds; whoever else wants to waits, or leaves it alone."""
    while True:
        handle = os.open(path, flags | os.O_CLOEXEC, mode)
        try:
            with suppress(OSError):  # a file system that knows no locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_open(path, handle):
                yield handle
                return
            # Another process has removed it between the two: once more.
        finally:
            os.close(handle)


def _is_open(path: Path, handle: int) -> bool:
    """Whether a file of this name is still the one that was opened; others may remove it at any time."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


def _sweep(folder: Path, names: re.Pattern[str]) -> None:
    """Remove what killed processes have left: what has such a name, and is locked by nobody."""
    with suppress(OSError):
        for left in [Path(one.path) for one in os.scandir(folder) if names.fullmatch(one.name)]:
            with suppress(OSError):
                _remove_unless_locked(left)


def _remove_unless_locked(path: Path) -> None:
    is_folder = path.is_dir()
    # Some file systems lock only what may be written.
    handle = os.open(path, os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_RDONLY if is_folder else os.O_RDWR))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_folder:
            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        os.close(handle)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Have signals that end a run wait until the block is over.

    Their handlers are exchanged; to block them would not do, since the system gives a signal to any other thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    came: list[int] = []
    try:
        with ExitStack() as stack:
            for number in _STOPPING:
                handler = signal.getsignal(number)
                if handler not in (None, signal.SIG_IGN):
                    stack.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, frame: came.append(number))
            yield
    finally:
        for one in came:
            signal.raise_signal(one)


# -- errors in words ------------------------------------------------------------------------------------------------


@contextmanager
def writing(path: AnyPath, cure: str = "") -> Iterator[None]:
    """Turn an OSError into what `not_written` says."""
    try:
        yield
    except OSError as error:
        raise not_written(path, error, cure) from None


def not_written(path: AnyPath, error: BaseException, cure: str = "") -> OutputError:
    """`path: cannot be written (No space left on device); cure`."""
    folder, problem = Path(path).parent, words_of(error)
    if system_number(error) == errno.ENOENT and not folder.exists():
        problem, cure = f"there is no folder {folder}", "make it first"
    words = f"{os.fspath(path)}: cannot be written ({problem})"
    return OutputError(f"{words}; {cure}" if cure else words)


@contextmanager
def reading(path: AnyPath, problem: str = "cannot be opened", cure: str = "check the path") -> Iterator[None]:
    """Turn an OSError into `path: cannot be opened (Permission denied); check the path`."""
    try:
        yield
    except OSError as error:
        is_gone = error.errno == errno.ENOENT and problem == "cannot be opened"
        said = "there is no such file" if is_gone else f"{problem} ({words_of(error)})"
        raise InputError(said, cure, file=os.fspath(path)) from None


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
