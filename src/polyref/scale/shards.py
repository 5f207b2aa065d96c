"""Finished parts of a long run, on disk: the same run goes on after them, however it ended.

In:   the chunks of an input, and what became of them, in the same order.
Out:  shards, each written whole or not at all, in a folder with a manifest; or one file, made of them at the end.
Not:  expanding (workers.py), how a file is replaced (files.py).

A shard has a fixed number of examples, so that what is in it depends on the input alone. It is noted in the manifest
when it has its name, with hashes of what it was made from and of itself. A run that finds the folder reads the input
again, and leaves out what is noted.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Self

from polyref.data import Line
from polyref.errors import InputError, OutputError, SettingsError
from polyref.expansion import CHUNK
from polyref.files import reading, taken, writing
from polyref.remote import Place, Remote, path_at
from polyref.settings import setting, settings, shown
from polyref.stats import Tally

MANIFEST = "_manifest.jsonl"  # readers of folders leave out names that begin so
PLACE = "{shard}"
_TAKEN = "another run writes to this folder"


@settings(group="Output")
class ShardSettings:
    """Parts of a long run that are kept on the way."""

    shards: str | None = setting(None, "Keep finished parts in here until the end.", metavar="FOLDER")
    shard_examples: int = setting(64 * CHUNK, "Examples per shard.", at_least=CHUNK, at_most=2**40, metavar="N")

    def check_together(self) -> None:
        if self.shards == "":
            raise SettingsError("has no name", "name a folder", key="shards")
        if self.shard_examples % CHUNK:
            problem = f"is {self.shard_examples:,}, not a multiple of {CHUNK}"
            raise SettingsError(problem, f"give {self.shard_examples // CHUNK * CHUNK:,}", key="shard_examples")


def pattern_of(output: str) -> str | None:
    """`out/{shard}.jsonl` for an output that is a folder; None for one that is a file."""
    if PLACE in Path(output).name:
        return output
    if output != "-" and (output.endswith("/") or path_at(output).is_dir()):
        return str(path_at(output) / f"{PLACE}.jsonl")
    return None


@dataclass(slots=True)
class Done:
    """What became of a chunk; `position` is its end in the input file. `aside`: records that could not be expanded."""

    content: bytes
    tally: Tally
    position: int
    aside: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Given:
    """A chunk that was given out, and whose result is awaited. `source` is set for the last one of a shard."""

    shard: int
    source: str


class ShardFolder:
    """The shards of a run, written by `open_shard`. `described` is all that they depend on but for the input."""

    def __init__(
        self,
        pattern: str,
        size: int,
        described: Mapping[str, Any],
        open_shard: Callable[[str], AbstractContextManager[BinaryIO]],
    ):
        self.tally = Tally()
        self.aside: list[dict[str, Any]] = []
        self._pattern, self._size, self._open_shard = pattern, size, open_shard
        self._folder = path_at(pattern).parent
        self._manifest = _manifest_in(self._folder)
        self._described = json.loads(json.dumps({"shard_examples": size, "output": Path(pattern).name, **described}))
        self._noted: dict[int, dict[str, Any]] = {}
        self._given: deque[_Given] = deque()
        self._exit = ExitStack()
        self._open = ExitStack()  # holds the shard that is being written
        self._stream: BinaryIO | None = None  # that one's
        self._now = Tally()
        self._now_aside: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            with writing(self._folder, "choose another folder"):
                self._folder.mkdir(parents=True, exist_ok=True)
                if isinstance(self._folder, Path):
                    stack.enter_context(taken(self._folder, _TAKEN))
            self._read_manifest()
            stack.enter_context(self._open)
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._exit.__exit__(*error)

    @property
    def files(self) -> list[Place]:
        """All shards that are noted, in order."""
        return [self._path(shard) for shard in sorted(self._noted)]

    def wanted(self, lines: Iterator[Line]) -> Iterator[list[Line]]:
        """The chunks of the shards that are not done yet."""
        shard = 0
        while first := list(islice(lines, CHUNK)):
            source = hashlib.blake2b(digest_size=16)
            noted = self._noted.get(shard)
            rest, chunk = islice(lines, self._size - CHUNK), first
            while chunk:
                for line in chunk:
                    source.update(b"%d %d %b\n" % (line.number, len(line.content), line.content))
                following = list(islice(rest, CHUNK))
                if noted is None:
                    self._given.append(_Given(shard, "" if following else source.hexdigest()))
                    yield chunk
                chunk = following
            if noted is not None:
                self._check_same(noted, source.hexdigest(), first[0])
                self.tally.add(Tally.of_json(noted["tally"]))
                self.aside += noted["aside"]
            shard += 1
        if extra := sorted(set(self._noted) - set(range(shard))):
            problem = f"has a shard {extra[0]}, and this input has only {shard}"
            raise OutputError(f"{self._folder}: {problem}; give the same input, or another folder")

    def take(self, done: Done) -> None:
        """What became of the next of the chunks that were given out."""
        given = self._given.popleft()
        path = self._path(given.shard)
        if self._stream is None:
            self._now, self._now_aside = Tally(), []
            self._stream = self._open.enter_context(self._open_shard(str(path)))
        self._stream.write(done.content)
        self._now.add(done.tally)
        self._now_aside += done.aside
        if given.source:
            self._stream = None
            self._open.close()
            self._note(given, path)

    def join(self, stream: BinaryIO) -> None:
        """Write all shards to one stream."""
        for path in self.files:
            with path.open("rb") as part:
                shutil.copyfileobj(part, stream, 1 << 20)

    def remove(self) -> None:
        """Remove the shards, which are not needed any more, and the folder if nothing else is in it."""
        for path in (*self.files, self._manifest.path):
            path.unlink(missing_ok=True)
        if not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _path(self, shard: int) -> Place:
        return self._folder / Path(self._pattern).name.replace(PLACE, f"{shard:05d}")

    def _note(self, given: _Given, path: Place) -> None:
        noted = {
            "shard": given.shard,
            "input": given.source,
            "file": path.name,
            "hash": _hash_of(path),
            "tally": self._now.to_json(),
            "aside": self._now_aside,
        }
        with writing(self._manifest.path):
            self._manifest.append(json.dumps(noted).encode() + b"\n")
        self._noted[given.shard] = noted
        self.tally.add(self._now)
        self.aside += self._now_aside

    def _read_manifest(self) -> None:
        path = self._manifest.path
        try:
            with reading(path, "cannot be read"):
                header, *noted = [json.loads(line) for line in self._manifest.lines()] or [None]
            found = {one["shard"]: one for one in noted}
        except (ValueError, KeyError, TypeError):
            raise InputError("this is not a manifest of shards", "choose another folder", file=str(path)) from None
        if header is None:
            names = [one.name for one in self._folder.iterdir()]
            if others := [name for name in names if name != MANIFEST and not name.startswith(".")]:
                problem = f"holds other files ({others[0]})"
                raise OutputError(f"{self._folder}: {problem}; choose a folder that is new or empty")
            with writing(path):
                self._manifest.append(json.dumps(self._described).encode() + b"\n")
            return
        for key in {**header, **self._described}:
            was, now = header.get(key), self._described.get(key)
            if was != now:
                problem = f"was begun with {key} {shown(was)}, and this run has {shown(now)}"
                raise OutputError(f"{self._folder}: {problem}; give the same, or another folder")
        # What was lost or changed since is made again.
        self._noted = {shard: one for shard, one in found.items() if _is_there(self._path(shard), one["hash"])}

    def _check_same(self, noted: Mapping[str, Any], source: str, first: Line) -> None:
        if noted["input"] != source:
            problem = f"its shard {noted['shard']} was made from other records than those from line {first.number} on"
            raise OutputError(f"{self._folder}: {problem}; give the same input, or another folder")


def _hash_of(path: Place) -> str:
    """What a shard is known by. One that is elsewhere is not read for it: size and version tell."""
    if isinstance(path, Remote):
        return "{0.st_size}-{0.st_mtime_ns:x}".format(path.stat())
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _is_there(path: Place, hash: str) -> bool:
    return path.is_file() and _hash_of(path) == hash


@dataclass(slots=True)
class _Manifest:
    """The file that notes go to, one line each."""

    path: Path

    def append(self, line: bytes) -> None:
        """Have a line at the end, and on the disk. What was cut off by a full disk goes again."""
        with self.path.open("ab") as file:
            before = file.tell()
            try:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(before)
                raise

    def lines(self) -> list[bytes]:
        """All lines, none where there is no file; one that was cut off by a kill goes."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            os.truncate(self.path, len(whole))
        return whole.splitlines()


@dataclass(slots=True)
class _RemoteManifest:
    """The same in a place where nothing can be added to a file: it is written anew each time.

    There are no locks either. What another run has written since is noticed instead.
    """

    path: Remote
    content: bytes = b""  # as this run has left it

    def append(self, line: bytes) -> None:
        if self._now() != self.content:
            raise OutputError(f"{self.path.parent}: {_TAKEN}; wait until it ends, or give another folder")
        self.content += line
        self.path.write_bytes(self.content)

    def lines(self) -> list[bytes]:
        self.content = self._now()
        return self.content.splitlines()

    def _now(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""


def _manifest_in(folder: Place) -> _Manifest | _RemoteManifest:
    if isinstance(folder, Remote):
        return _RemoteManifest(folder / MANIFEST)
    return _Manifest(folder / MANIFEST)
