"""Keep the corpus of a file, so that the next run finds its texts at once.

In:   a file in any format, and a folder for indexes.
Out:  its Corpus, mapped from an index that was made from the file as it is now; made first where there is none.
Not:  what a corpus holds (corpus.py).

A file that has changed since its index was made is refused: a training run must not go on with other data unnoticed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyref.data.corpus import Corpus, about_corpus, open_corpus, save_corpus, write_about
from polyref.data.formats.jsonl import Fields
from polyref.data.reading import Input, read
from polyref.errors import InputError, OutputError
from polyref.files import reading, words_of

_HOST = platform.node()[:40]


@dataclass(frozen=True, slots=True)
class Indexing:
    """How far the making of an index has come."""

    examples: int


def default_folder() -> Path:
    """Where indexes are kept unless told otherwise: in the user's cache folder. It may be deleted at any time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "polyref", "indexes")


@contextmanager
def indexed(
    input: Input,
    fields: Fields | None = None,
    *,
    folder: Path | None = None,
    renew: bool = False,
    on_progress: Callable[[Indexing], None] = lambda progress: None,
) -> Iterator[Corpus]:
    """The corpus of a file, while it is needed. Standard input and pipes are indexed for this one time."""
    if input.can_be_read_again:
        yield open_index(input, fields, folder=folder, renew=renew, on_progress=on_progress)
        return
    passing = Path(tempfile.gettempdir(), f"polyref-{secrets.token_hex(8)}")
    # Their names are known before there are such folders: a signal between the two must not leave one behind.
    try:
        with _writing(passing.parent, "set TMPDIR to a folder with more room"):
            passing.mkdir(mode=0o700)
            _save(input, fields or Fields(), passing, [], on_progress)
        yield open_corpus(passing)
    finally:
        shutil.rmtree(passing, ignore_errors=True)


def open_index(
    input: Input,
    fields: Fields | None = None,
    *,
    folder: Path | None = None,
    renew: bool = False,
    on_progress: Callable[[Indexing], None] = lambda progress: None,
) -> Corpus:
    """The corpus of a file, from its index. `renew` makes the index anew, whatever there is."""
    fields = fields or Fields()
    files = [Path(os.path.realpath(path)) for path in input.parallel_files() or input.paths]
    for path, given in zip(files, input.parallel_files() or input.paths, strict=True):
        if not path.is_file():
            raise InputError("there is no such file", "check the path", file=given)
    place = (folder or default_folder()) / _name(files, input, fields)
    about = None if renew else about_corpus(place)
    if about is not None and _has_stamps(about, files):
        stamps = _check_unchanged({**about, "source": [*about["source"]]}, files, input)
        if stamps != about["source"]:
            with suppress(OSError):  # the next run reads the file once more, and no harm is done
                write_about(place, {**about, "source": stamps})
        return open_corpus(place)
    stamps = [_stamp(path) for path in files]
    with _writing(place.parent), _new_folder(place, stamps, renew=renew) as fresh:
        _save(input, fields, fresh, stamps, on_progress)
        if any(_stat(path) != _stat_of(stamp) for path, stamp in zip(files, stamps, strict=True)):
            raise InputError("the file changed while it was read", "start again when it is complete", file=input.name)
    return open_corpus(place)


def _save(
    input: Input,
    fields: Fields,
    folder: Path,
    stamps: list[dict[str, Any]],
    on_progress: Callable[[Indexing], None],
) -> None:
    examples = read(input.paths, fields, format=input.format, max_line_bytes=input.max_line_bytes)

    def on_example(number: int) -> None:
        if number % 1000 == 0:
            on_progress(Indexing(number))

    try:
        save_corpus(examples, folder, {"source": stamps}, on_example=on_example)
    except InputError as error:
        if error.file is None:
            error.file = input.name
        raise


def _name(files: list[Path], input: Input, fields: Fields) -> str:
    """One folder for each way to read each file."""
    parts = [*map(str, files), str(input.format), fields.id, fields.source, fields.references]
    digest = hashlib.blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=8).hexdigest()
    return f"{files[0].name[:40]}-{digest}"


def _has_stamps(about: dict[str, Any], files: list[Path]) -> bool:
    """Whether an index says of each file what it was made from."""
    stamps = about.get("source")
    return isinstance(stamps, list) and len(stamps) == len(files) and all(isinstance(one, dict) for one in stamps)


def _check_unchanged(about: dict[str, Any], files: list[Path], input: Input) -> list[dict[str, Any]]:
    """Refuse a file that is not what it was; what comes back are the stamps of today."""
    stamps: list[dict[str, Any]] = about["source"]
    for number, path in enumerate(files):
        if _stat(path) == _stat_of(stamps[number]):
            continue
        stamp = _stamp(path)
        if stamp["hash"] != stamps[number].get("hash"):
            problem = "the file has changed since it was indexed"
            raise InputError(problem, "add --reindex to use it as it is now", file=input.name)
        stamps[number] = stamp  # a copy with another date is the same file
    return stamps


def _stamp(path: Path) -> dict[str, Any]:
    """What a file is known by: its size and date, and what it holds."""
    with reading(path, "cannot be read", "check the file"), path.open("rb") as file:
        size, changed = _stat(path)
        content = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    return {"file": path.name, "size": size, "changed": changed, "hash": content}


def _stat(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _stat_of(stamp: dict[str, Any]) -> tuple[Any, Any]:
    return stamp.get("size"), stamp.get("changed")


@contextmanager
def _new_folder(place: Path, stamps: list[dict[str, Any]], *, renew: bool) -> Iterator[Path]:
    """A folder that takes its name when it is complete, in the place of an older one.

    Many ranks of a run may begin at once, and all make the same index: that of the first stays, so that no one finds it
    gone while it is opened.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place)
    fresh = place.with_name(f".{place.name}.{os.getpid()}.{_HOST}.{secrets.token_hex(8)}")
    older = fresh.with_name(fresh.name + ".old")
    try:
        fresh.mkdir(mode=0o700)
        yield fresh
        try:
            if renew or not _is_made_from(place, stamps):
                with suppress(FileNotFoundError):
                    place.rename(older)
                fresh.rename(place)
        except OSError:
            if about_corpus(place) is None:  # else another run has made it at the same time
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(older, ignore_errors=True)


def _is_made_from(place: Path, stamps: list[dict[str, Any]]) -> bool:
    about = about_corpus(place)
    return about is not None and about.get("source") == stamps


def _sweep(place: Path) -> None:
    """Remove what runs of this machine that were killed have left; others may share the folder, and be at work."""
    for left in place.parent.glob(f".{_escaped(place.name)}.*"):
        process, _, host = left.name.removeprefix(f".{place.name}.").partition(".")
        if (
            process.isdecimal()
            and host.startswith(f"{_HOST}.")
            and not Path(f"/proc/{process}").exists()
            and Path("/proc/self").exists()
        ):
            shutil.rmtree(left, ignore_errors=True)


def _escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


@contextmanager
def _writing(place: Path, cure: str = "name another folder with --index") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{place}: the index cannot be written ({words_of(error)}); {cure}") from None
