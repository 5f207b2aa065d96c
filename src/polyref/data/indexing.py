"""Keep the corpus of a file, so that the next run finds its texts at once.

In:   a file in any format, and a folder for indexes.
Out:  its Corpus, mapped from an index that was made from the file as it is now; made first where there is none.
Not:  what a corpus holds (corpus.py).

A file that has changed since its index was made is refused: a training run must not go on with other data unnoticed.
"""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from polyref.data.corpus import Corpus, about_corpus, open_corpus, save_corpus, write_about
from polyref.data.formats.jsonl import Fields
from polyref.data.reading import Input, read
from polyref.errors import InputError
from polyref.files import reading, writing

_HOST = platform.node()[:40]
Stamp = dict[str, Any]  # what a file is known by
OnProgress = Callable[[int], None]  # is told now and then how many examples have been indexed


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
    on_progress: OnProgress = lambda examples: None,
) -> Iterator[Corpus]:
    """The corpus of a file, while it is needed. Standard input and pipes are indexed for this one time."""
    if input.can_be_read_again:
        yield open_index(input, fields, folder=folder, renew=renew, on_progress=on_progress)
        return
    passing = Path(tempfile.gettempdir(), f"polyref-{secrets.token_hex(8)}")
    # Its name is known before there is such a folder: a signal between the two must not leave one behind.
    try:
        with writing(passing.parent, "set TMPDIR to a folder with more room"):
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
    on_progress: OnProgress = lambda examples: None,
) -> Corpus:
    """The corpus of a file, from its index. `renew` makes the index anew, whatever there is."""
    fields = fields or Fields()
    given = input.parallel_files() or input.paths
    files = [Path(os.path.realpath(path)) for path in given]
    for path, name in zip(files, given, strict=True):
        if not path.is_file():
            raise InputError("there is no such file", "check the path", file=name)
    place = (folder or default_folder()) / _name(files, input, fields)
    about = None if renew else about_corpus(place)
    if about is not None and _has_stamps(about, files):
        stamps = _checked_stamps(about["source"], files, input)
        if stamps != about["source"]:
            with suppress(OSError):  # the next run reads the file once more, and no harm is done
                write_about(place, {**about, "source": stamps})
        return open_corpus(place)
    stamps = [_stamp(path) for path in files]
    with writing(place.parent, "name another folder with --index"), _new_folder(place, stamps, renew) as fresh:
        _save(input, fields, fresh, stamps, on_progress)
        if any(_differs(path, stamp) for path, stamp in zip(files, stamps, strict=True)):
            raise InputError("the file changed while it was read", "start again when it is complete", file=input.name)
    return open_corpus(place)


def _save(input: Input, fields: Fields, folder: Path, stamps: list[Stamp], on_progress: OnProgress) -> None:
    examples = read(input.paths, fields, format=input.format, max_line_bytes=input.max_line_bytes)
    try:
        save_corpus(examples, folder, {"source": stamps}, on_progress=on_progress)
    except InputError as error:
        error.file = error.file or input.name
        raise


def _name(files: list[Path], input: Input, fields: Fields) -> str:
    """One folder for each way to read each file."""
    parts = [*map(str, files), str(input.format), fields.id, fields.source, fields.references]
    digest = hashlib.blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=8).hexdigest()
    return f"{files[0].name[:40]}-{digest}"


def _stamp(path: Path) -> Stamp:
    """The size and the date of a file, and a hash of what it holds."""
    with reading(path, "cannot be read", "check the file"), path.open("rb") as file:
        found = path.stat()
        content = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    return {"file": path.name, "size": found.st_size, "changed": found.st_mtime_ns, "hash": content}


def _differs(path: Path, stamp: Stamp) -> bool:
    found = path.stat()
    return (found.st_size, found.st_mtime_ns) != (stamp.get("size"), stamp.get("changed"))


def _has_stamps(about: dict[str, Any], files: list[Path]) -> bool:
    """Whether an index says of each file what it was made from."""
    stamps = about.get("source")
    return isinstance(stamps, list) and len(stamps) == len(files) and all(isinstance(one, dict) for one in stamps)


def _checked_stamps(stamps: list[Stamp], files: list[Path], input: Input) -> list[Stamp]:
    """The stamps of today; a file that is not what it was is refused."""
    today = [_stamp(path) if _differs(path, stamp) else stamp for path, stamp in zip(files, stamps, strict=True)]
    # A copy with another date is the same file.
    if any(new["hash"] != old.get("hash") for new, old in zip(today, stamps, strict=True) if new is not old):
        problem = "the file has changed since it was indexed"
        raise InputError(problem, "add --reindex to use it as it is now", file=input.name)
    return today


@contextmanager
def _new_folder(place: Path, stamps: list[Stamp], renew: bool) -> Iterator[Path]:
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
            if renew or (about_corpus(place) or {}).get("source") != stamps:
                with suppress(FileNotFoundError):
                    place.rename(older)
                fresh.rename(place)
        except OSError:
            if about_corpus(place) is None:  # else another run has made it at the same time
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(older, ignore_errors=True)


def _sweep(place: Path) -> None:
    """Remove what runs of this machine that were killed have left; others may share the folder, and be at work."""
    if not Path("/proc/self").exists():
        return
    for left in place.parent.glob(f".{glob.escape(place.name)}.*"):
        process, _, host = left.name.removeprefix(f".{place.name}.").partition(".")
        if process.isdecimal() and host.startswith(f"{_HOST}.") and not Path(f"/proc/{process}").exists():
            shutil.rmtree(left, ignore_errors=True)
