"""Files that a URL names, such as s3://bucket/captions.jsonl, through fsspec.

In:   URLs (NAME://...) of anything that fsspec has a package for: s3, gs, hdfs, memory, file and others.
Out:  for these, what a Path has for the files of this machine, as far as data sets need it. Faults are OSErrors.
Not:  paths of this machine (files.py), what is in the files (data/).

A file is written on this machine first, and sent when it is complete. Object stores show an object when all of it has
come. Where files can be renamed, it is sent under another name beside, and renamed.
"""

from __future__ import annotations

import hashlib
import io
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from polyref.errors import PolyrefError, load_extra
from polyref.files import passing_folder, words_of

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BUFFER_BYTES = 1 << 20
# What file systems call that which changes with a file's content.
_VERSION = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "updated", "mtime", "created")


def is_remote(path: str) -> bool:
    return _URL.match(path) is not None


def path_at(path: str) -> Place:
    """What stands at a path, here or elsewhere."""
    return Remote(path) if is_remote(path) else Path(path)


class Stat(NamedTuple):
    """What is known of a file. The date stands for its version: it is another one when the file has changed."""

    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int = 0
    st_ino: int = 0


class Remote:
    """A file or a folder of fsspec."""

    def __init__(self, url: str):
        self._url = url
        self._scheme, _, self._rest = url.partition("://")
        fsspec = load_extra("fsspec", purpose=f"{self._scheme}://", extra="remote")
        try:
            self._system, self._path = fsspec.core.url_to_fs(url)
        except ImportError as error:  # such as "Install s3fs to access S3"
            raise PolyrefError(f"{url}: a package is missing ({error})") from None
        except Exception as error:
            raise PolyrefError(f"{url}: cannot be reached ({words_of(error)}); check the address") from None

    def __fspath__(self) -> str:
        return self._url

    def __str__(self) -> str:
        return self._url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and (self._system, self._path) == (other._system, other._path)

    def __hash__(self) -> int:
        return hash(self._path)

    def __truediv__(self, name: str) -> Remote:
        folder = f"{self._rest.rstrip('/')}/" if self._rest else ""
        return Remote(f"{self._scheme}://{folder}{name}")

    @property
    def name(self) -> str:
        return self._rest.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> Remote:
        return Remote(f"{self._scheme}://{self._rest.rstrip('/').rpartition('/')[0]}")

    def exists(self) -> bool:
        self._system.invalidate_cache()
        return bool(self._system.exists(self._path))

    def is_file(self) -> bool:
        return bool(self._system.isfile(self._path))

    def is_dir(self) -> bool:
        return bool(self._system.isdir(self._path))

    def iterdir(self) -> list[Remote]:
        """What is in a folder: files only."""
        with _os_errors():
            self._system.invalidate_cache()
            if not self._system.isdir(self._path):  # which object stores say of an empty one
                return []
            found = [
                one["name"].rstrip("/") for one in self._system.ls(self._path, detail=True) if one["type"] == "file"
            ]
        return [self / name.rpartition("/")[2] for name in found if name != self._path.rstrip("/")]

    def stat(self) -> Stat:
        with _os_errors():
            self._system.invalidate_cache()
            found = self._system.info(self._path)
        version = str(next((found[key] for key in _VERSION if found.get(key) is not None), ""))
        digest = int.from_bytes(hashlib.blake2b(version.encode(), digest_size=8).digest())
        return Stat(found.get("size") or 0, digest >> 4)  # as a date, long past

    def open(self, mode: str = "rb") -> io.BufferedReader:
        with _os_errors():
            file = self._system.open(self._path, mode)
        return io.BufferedReader(_Reader(file), _BUFFER_BYTES)

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return file.read()

    def write_bytes(self, content: bytes) -> None:
        with self.written() as file:
            file.write(content)

    def mkdir(self, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Make a folder, unless this is an object store: they have none."""
        if self._renames:
            with _os_errors():
                self._system.makedirs(self._path, exist_ok=exist_ok)

    def unlink(self, *, missing_ok: bool = False) -> None:
        with _os_errors(), suppress(*[FileNotFoundError] * missing_ok):
            self._system.rm_file(self._path)

    def rmdir(self) -> None:
        # Asked to remove a folder, an object store may remove a bucket.
        if self._renames:
            with _os_errors():
                self._system.rmdir(self._path)

    @contextmanager
    def written(self) -> Iterator[BinaryIO]:
        """A file on this machine, which is sent when the block ends."""
        with passing_folder() as folder:
            file = folder / "file"
            with file.open("wb") as stream:
                yield stream
            with _os_errors():
                self._send(file)

    def check_writable(self) -> None:
        """Write something beside, and remove it: what cannot work is said before hours of work go into it."""
        beside = self.parent / f".{self.name}.{secrets.token_hex(8)}.part"
        with _os_errors():
            self._system.pipe_file(beside._path, b"")
            with suppress(Exception):  # some may write and not delete
                self._system.rm_file(beside._path)

    @property
    def _renames(self) -> bool:
        """Whether files can be renamed. Without that, fsspec copies and deletes."""
        return type(self._system).mv is not load_extra("fsspec", purpose="", extra="remote").AbstractFileSystem.mv

    def _send(self, file: Path) -> None:
        if not self._renames:
            self._system.put_file(str(file), self._path)
            return
        beside = (self.parent / f".{self.name}.{secrets.token_hex(8)}.part")._path
        try:
            self._system.put_file(str(file), beside)
            try:
                self._system.mv(beside, self._path)
            except Exception:
                if not self._system.isfile(self._path):
                    raise
                # As on hdfs, which does not rename over a file.
                self._system.rm_file(self._path)
                self._system.mv(beside, self._path)
        except BaseException:
            with suppress(Exception):
                self._system.rm_file(beside)
            raise


Place = Path | Remote


class _Reader(io.RawIOBase):
    """A file of fsspec that fails as other files do."""

    def __init__(self, file: Any):
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with _os_errors():
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any, /) -> int:
        with _os_errors():
            content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _os_errors() -> Iterator[None]:
    """Raise as OSErrors what the packages of file systems raise in classes of their own."""
    try:
        yield
    except (OSError, PolyrefError):
        raise
    except Exception as error:
        raise OSError(words_of(error)) from error
