"""Keep an encoder's work on disk: a costly model then encodes each distinct sentence once ever.

In:   an encoder, and a folder on a local disk.
Out:  an Encoder that gives the same bytes; what it has given before comes from the folder.
Not:  encoding (the encoder that is wrapped), keeping what an encoder without a hash gives.

One SQLite file per encoder, `encodings-HASH.sqlite`; nothing in it is ever unpickled. Any number of processes may use
it at once, and one that is killed leaves it whole: what one call computed is there altogether, or not at all.

- A file that cannot be opened for writing is an OutputError; one that is damaged is an InputError that names it.
- An entry that is damaged is computed and written again: each one carries a checksum.
- What cannot be written during a run (the disk is full, another process holds the file for too long) is not kept,
  but still returned. A warning says why, once; writing is tried again after a minute.
- The encoder's hash is believed: if it names the model only, a folder carried to another kind of computer, or to other
  versions of the model's libraries, keeps the last bits that the first one computed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from zlib import crc32

import numpy as np

from polyref.encode.encoder import Choosy, Encoder, Encoding
from polyref.errors import InputError, OutputError, SettingsError
from polyref.files import words_of

MAX_BYTES = 20 * 10**9  # the captions of COCO, 768 numbers a word, are half of it

_WAIT = 30.0  # seconds that another process may hold the file
_PAUSE = 60.0  # seconds until writing is tried again
_ROW_BYTES = 150  # what a row needs beside its vectors: the key twice, the checksum, the index

_TABLE = """CREATE TABLE IF NOT EXISTS encodings (
    key BLOB PRIMARY KEY, words INTEGER, size INTEGER, known BLOB, vectors BLOB, checksum INTEGER
)"""
_COLUMNS = "key, words, size, known, vectors, checksum"
_GET = f"SELECT {_COLUMNS} FROM encodings WHERE key = ?"
# What is there already is damaged, or the same: another process was quicker.
_ADD = f"INSERT OR REPLACE INTO encodings ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
# What SQLite says of a damaged file; SQLITE_ERROR is a table with other columns.
_DAMAGE = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_CONSTRAINT),
}
_log = logging.getLogger(__name__)


class CachedEncoder:
    """An encoder whose encodings are kept in a folder; about `max_bytes` of them, then no more are added.

    Each process opens its own; the file is closed when it is no longer used. In a process forked off the one that
    opened it, it hands all sentences to the encoder: SQLite's connections do not survive a fork.
    """

    def __init__(self, encoder: Encoder, folder: str | Path, *, max_bytes: int = MAX_BYTES):
        self.name, self.hash = encoder.name, encoder.hash
        self.path = _path(encoder, folder)  # of the file that holds the encodings
        self._encoder = encoder
        self._max_bytes = max_bytes
        self._database = _open(self.path)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._add_again = 0.0
        self._has_warned = False
        weakref.finalize(self, _close, self._database, self._process)

    @property
    def baseline(self) -> float:
        return self._encoder.baseline

    def check(self, sentences: Sequence[Sequence[str]]) -> None:
        if isinstance(self._encoder, Choosy):
            self._encoder.check(sentences)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        if os.getpid() != self._process:
            return self._encoder.encode(sentences)
        keys = _keys(self.hash, sentences)
        encodings = self._find(dict.fromkeys(keys))
        missing = {key: words for key, words in zip(keys, sentences, strict=True) if key not in encodings}
        if missing:
            computed = dict(zip(missing, self._encoder.encode(list(missing.values())), strict=True))
            self._add(computed)
            encodings |= computed
        return [encodings[key] for key in keys]

    def _find(self, keys: Iterable[bytes]) -> dict[bytes, Encoding]:
        """The encodings that the file has."""
        found: dict[bytes, Encoding] = {}
        try:
            with self._lock:
                for key in keys:
                    row = self._database.execute(_GET, [key]).fetchone()
                    if row is not None and (encoding := _unpack(row)) is not None:
                        found[key] = encoding
        except sqlite3.Error as error:
            # What cannot be read just now can be computed. A damaged file would never be of use again.
            _refuse_damage(self.path, error)
        return found

    def _add(self, computed: Mapping[bytes, Encoding]) -> None:
        if monotonic() < self._add_again:
            return
        try:
            with self._lock, self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany(_ADD, self._rows(computed))
        except sqlite3.Error as error:
            # Also if the file is damaged: what has been computed is worth more than an early error.
            self._stop(str(error))

    def _rows(self, computed: Mapping[bytes, Encoding]) -> Iterator[tuple[Any, ...]]:
        """What to add, as far as there is room for it."""
        [[pages]] = self._database.execute("PRAGMA page_count")
        [[page_bytes]] = self._database.execute("PRAGMA page_size")
        room = self._max_bytes - pages * page_bytes
        for key, encoding in computed.items():
            room -= encoding.vectors.nbytes + _ROW_BYTES
            if room < 0:
                self._stop(f"there are {self._max_bytes:,} bytes of them, as many as allowed")
                return
            vectors, known = encoding.vectors, encoding.known
            # What is not as the protocol says could not be given back as it is.
            is_plain = vectors.dtype == np.float16 and vectors.ndim == 2 and known.dtype == bool
            if is_plain and known.shape == vectors.shape[:1]:
                yield _pack(key, encoding)

    def _stop(self, reason: str) -> None:
        self._add_again = monotonic() + _PAUSE
        if not self._has_warned:
            self._has_warned = True
            _log.warning("%s: new encodings are not kept (%s)", self.path, reason)


# -- an entry -------------------------------------------------------------------------------------------------------


def _keys(hash: str, sentences: Sequence[Sequence[str]]) -> list[bytes]:
    """What each sentence is found by. The length before each text keeps ["a b"] and ["a", "b"] apart."""
    contents = [b"".join(map(_with_length, (hash, *sentence))) for sentence in sentences]
    return [hashlib.blake2b(content, digest_size=32).digest() for content in contents]


def _with_length(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")  # a word may hold half a surrogate pair
    return len(content).to_bytes(8, "little") + content


def _pack(key: bytes, encoding: Encoding) -> tuple[Any, ...]:
    words, size = encoding.vectors.shape
    known = np.packbits(encoding.known).tobytes()
    vectors = encoding.vectors.astype("<f2", copy=False).tobytes()
    return key, words, size, known, vectors, _checksum(key, words, size, known, vectors)


def _unpack(row: tuple[Any, ...]) -> Encoding | None:
    """The encoding of a row; None if it is damaged."""
    key, words, size, known, vectors, checksum = row
    try:
        if checksum != _checksum(key, words, size, known, vectors):
            return None
        # Copies: an array that cannot be written to would be another type to a compiled kernel.
        return Encoding(
            np.frombuffer(vectors, "<f2").reshape(words, size).astype(np.float16),
            np.unpackbits(np.frombuffer(known, np.uint8), count=words).astype(np.bool_),
        )
    except (TypeError, ValueError, OverflowError):
        return None


def _checksum(key: bytes, words: int, size: int, known: bytes, vectors: bytes) -> int:
    return crc32(vectors, crc32(b"%b %d %d %b" % (key, words, size, known)))


# -- the file -------------------------------------------------------------------------------------------------------


def _path(encoder: Encoder, folder: str | Path) -> Path:
    if not encoder.hash:
        raise SettingsError(f"{encoder.name} has no hash to know its encodings by, so they cannot be kept")
    is_file_name = re.fullmatch(r"[0-9A-Za-z_-]{1,100}", encoder.hash)
    label = encoder.hash if is_file_name else hashlib.sha256(_with_length(encoder.hash)).hexdigest()[:16]
    return Path(folder, f"encodings-{label}.sqlite")


def _open(path: Path) -> sqlite3.Connection:
    """A connection that can write; the folder, the file and its table are made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _connect(path)
    except (OSError, ValueError) as error:
        reason = words_of(error)
    except sqlite3.Error as error:
        _refuse_damage(path, error)
        reason = str(error)
    cure = "give a folder on a local disk that has room and can be written to"
    raise OutputError(f"{path}: the cache of encodings cannot be opened ({reason}); {cure}")


def _connect(path: Path) -> sqlite3.Connection:
    deadline = monotonic() + _WAIT
    while True:
        database = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        database.text_factory = bytes  # a blob that damage has made a text
        try:
            database.execute("PRAGMA journal_mode = WAL")
            # A power cut may cost the last entries, but does no harm.
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA journal_size_limit = 67108864")
            with database:
                # Says now whether the file can be written to.
                database.execute("BEGIN IMMEDIATE")
                database.execute(_TABLE)
                database.execute(_GET, [b""]).fetchall()
            return database
        except BaseException as error:
            database.close()
            # SQLite does not wait by itself while another process turns a new file to WAL.
            if _code(error) != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                raise
        sleep(0.01)


def _close(database: sqlite3.Connection, process: int) -> None:
    # A connection that came through a fork is the parent's, which may be using it.
    if os.getpid() == process:
        database.close()


def _code(error: BaseException) -> int:
    """SQLite's primary code; errors that Python's module raises itself have none, which is 255 here."""
    return int(getattr(error, "sqlite_errorcode", 255)) & 0xFF


def _refuse_damage(path: Path, error: sqlite3.Error) -> None:
    """Raise what names the file if its content is the cause, and not the disk, the rights or other processes."""
    if _code(error) in _DAMAGE:
        problem = f"not a cache of encodings, or damaged ({error})"
        raise InputError(problem, "delete it; it is made anew", file=str(path)) from None
