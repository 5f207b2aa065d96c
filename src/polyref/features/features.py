"""Features of images, from a file: one row of numbers per id.

In:   npz (`ids`, `feats`), npy with a file of ids, or safetensors (`feats`; `ids` there or in a file), told apart by
      content.
Out:  the rows of some ids; their mean and standard deviation; a fingerprint of them.
Not:  making features of images (extraction.py), what a model does with them (model/captioner.py).

Rows stay in the file until they are asked for, unless it is compressed. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from polyref.data.opening import read_lines
from polyref.errors import InputError
from polyref.files import reading, words_of

Rows = npt.NDArray[Any]
Contents = tuple[list[str], Rows | None, list[str] | None]  # the names of all that a file holds; its features; its ids
_ROWS_AT_ONCE = 4096
_ROWS_OF_A_FINGERPRINT = 1000
_NAMED = 3
# Far from where squares of gradients pass what single precision holds; real features are far below.
_LARGEST = 1e12
_TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


class Features:
    """Rows by their ids. `size` is the length of a row."""

    def __init__(self, ids: Sequence[str], rows: Rows, *, name: str = "features"):
        self._name = name
        if rows.ndim != 2 or not rows.shape[1] or rows.dtype.kind not in "fiu":
            raise self._error(f"features of the form {form_of(rows.shape)} {rows.dtype}", "give ids x numbers")
        if len(ids) != len(rows):
            raise self._error(f"{len(ids)} ids, but {len(rows)} rows of features", "give one id per row")
        self._number = {id: number for number, id in enumerate(ids)}
        if len(self._number) != len(ids):
            twice = next(id for number, id in enumerate(ids) if self._number[id] != number)
            raise self._error(f'the id "{twice}" is there twice', "give each id once")
        self._rows = rows

    @classmethod
    def open(cls, path: str | Path, ids: str | Path | None = None) -> Features:
        """Open a feature file; `ids` is a file with one id per line, for formats that do not hold them."""
        names, rows = read_file(Path(path), None if ids is None else Path(ids))
        return cls(names, rows, name=str(path))

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id: str) -> bool:
        return id in self._number

    @property
    def size(self) -> int:
        return int(self._rows.shape[1])

    def check(self, ids: Sequence[str], *, size: int | None = None) -> None:
        """Refuse ids without features, rows of another size, and numbers that are none or too large to learn from."""
        if size is not None and size != self.size:
            problem = f"{self.size} features per image, but the model reads {size}"
            raise self._error(problem, "give others, or set model.feature_size")
        missing = [id for id in dict.fromkeys(ids) if id not in self._number]
        if missing:
            raise self._error(f"no features for {_some(missing)}", "add them, or leave those examples out")
        for chosen, rows in self._parts(ids):
            sizes = np.abs(rows).max(1)  # NaN where a number is none
            for problem, cure, bad in (
                ("features that are not numbers (NaN or infinite)", "make them again", ~np.isfinite(sizes)),
                (f"features as large as {sizes.max():.2g}", "scale them down", sizes > _LARGEST),
            ):
                if bad.any():
                    wrong = [chosen[place] for place in np.flatnonzero(bad).tolist()]
                    raise self._error(f"{problem} for {_some(wrong)}", cure)

    def rows(self, ids: Sequence[str]) -> npt.NDArray[np.float32]:
        """ids x size."""
        with np.errstate(over="ignore"):  # what single precision cannot hold is infinite, which `check` refuses
            return np.asarray(self._rows[self._numbers(ids)], np.float32)

    def fingerprint(self, ids: Sequence[str]) -> str:
        """Names the features of some ids, so that a run does not go on with others: of up to 1,000 rows as stored.

        They are spread over the ids: a file of many gigabytes is not read whole each time that a run goes on.
        """
        count = min(len(ids), _ROWS_OF_A_FINGERPRINT)
        chosen = [ids[place * len(ids) // count] for place in range(count)]
        found = hashlib.blake2b(digest_size=16)
        found.update(json.dumps([len(ids), self.size, self._rows.dtype.str, chosen]).encode())
        found.update(self._rows[self._numbers(chosen)].tobytes())
        return found.hexdigest()

    def standardisation(self, ids: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The mean and the standard deviation of each feature over some ids: those of the training set, and no others.

        They have passed `check`. A feature that never changes gets the deviation 1: there is nothing to divide by.
        """
        mean = np.zeros(self.size)
        for _, rows in self._parts(ids):
            mean += rows.sum(0, dtype=np.float64) / len(ids)
        squares = np.zeros(self.size)
        for _, rows in self._parts(ids):
            squares += ((rows - mean) ** 2).sum(0)
        deviation = np.sqrt(squares / len(ids))
        constant = deviation <= 1e-6 * np.maximum(np.abs(mean), 1e-6)
        return mean.astype(np.float32), np.where(constant, 1.0, deviation).astype(np.float32)

    def _numbers(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        try:
            return np.array([self._number[id] for id in ids], np.int64)
        except KeyError:
            self.check(ids)
            raise

    def _parts(self, ids: Sequence[str]) -> Iterator[tuple[Sequence[str], npt.NDArray[np.float32]]]:
        for first in range(0, len(ids), _ROWS_AT_ONCE):
            part = ids[first : first + _ROWS_AT_ONCE]
            yield part, self.rows(part)

    def _error(self, problem: str, cure: str) -> InputError:
        return InputError(problem, cure, file=self._name)


def form_of(shape: Sequence[Any]) -> str:
    return " x ".join("?" if size is None else str(size) for size in shape) or "one number"


def _some(names: Sequence[str]) -> str:
    named = ", ".join(f'"{name}"' for name in names[:_NAMED])
    return named if len(names) <= _NAMED else f"{named} and {len(names) - _NAMED:,} more"


# -- reading --------------------------------------------------------------------------------------------------------


def read_file(path: Path, ids: Path | None) -> tuple[list[str], Rows]:
    """The ids and the rows of a feature file; where a file of ids is given, those count."""
    with reading(path):
        stream = path.open("rb")
    try:
        with stream:
            names, feats, found = _contents(path, stream, with_ids=ids is None)
    except MemoryError:
        raise InputError("does not fit into memory", "save it without compression", file=str(path)) from None
    except Exception as error:  # zip, its compressions, numpy, safetensors and JSON each raise what they like
        cure = "make it again, as npz, npy or safetensors"
        raise InputError(f"cannot be read ({words_of(error)})", cure, file=str(path)) from None
    if feats is None:
        holds = f'{_some(sorted(names))}, but no "feats"' if names else "nothing"
        raise InputError(f"holds {holds}", 'name the features "feats"', file=str(path))
    if ids is not None:
        found = [line.text(str(ids)) for line in read_lines(str(ids), holds="one id per line")]
        if feats.ndim and len(found) != len(feats):
            problem = f"{len(found)} ids, but {path} has {len(feats)} rows of features"
            raise InputError(problem, "give one id per row", file=str(ids))
    if found is None:
        cure = "give a file of ids, one per line (feature_ids)"
        raise InputError("holds features without their ids", cure, file=str(path))
    return found, feats


def _contents(path: Path, stream: BinaryIO, *, with_ids: bool) -> Contents:
    start = stream.read(16)
    stream.seek(0)
    if start.startswith(b"PK"):
        return _npz(path, stream, with_ids)
    if start.startswith(b"\x93NUMPY"):
        return ["feats"], _mapped(path, stream, path.stat().st_size), None
    if start[8:9] == b"{":
        return _safetensors(path, stream, with_ids)
    raise ValueError("unknown format")


def _texts(array: Rows) -> list[str]:
    """The ids of an array: strings, UTF-8 bytes or whole numbers."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        form = f"{form_of(array.shape)} {array.dtype}"
        raise ValueError(f"ids of the form {form}; save a row of strings or of whole numbers")
    return [id.decode() if isinstance(id, bytes) else str(id) for id in array.tolist()]


def _npz(path: Path, stream: BinaryIO, with_ids: bool) -> Contents:
    feats, ids = None, None
    with zipfile.ZipFile(stream) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if with_ids and "ids" in members:
            ids = _texts(_unpacked(archive, members["ids"]))
        if (member := members.get("feats")) is None:
            return list(members), None, ids
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:  # encrypted
            feats = _unpacked(archive, member)
        else:
            stream.seek(member.header_offset + 26)
            lengths = np.frombuffer(stream.read(4), "<u2")  # of the name and of the extra field
            stream.seek(int(lengths.sum()), os.SEEK_CUR)
            feats = _mapped(path, stream, min(stream.tell() + member.file_size, path.stat().st_size))
    return list(members), feats, ids


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Rows:
    with archive.open(member) as packed:
        _header(packed, member.file_size)
    with archive.open(member) as packed:
        return np.asarray(np.lib.format.read_array(packed, allow_pickle=False))


def _mapped(path: Path, stream: BinaryIO, end: int) -> Rows:
    """The array of the npy that begins where the stream stands; in the file until it is asked for."""
    shape, dtype, in_columns = _header(stream, end)
    return _view(path, stream.tell(), shape, dtype, "F" if in_columns else "C")


def _header(stream: IO[bytes], end: int) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """What an npy holds, if there is room for it before its end."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError("npy of version {}.{}".format(*version))
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        with warnings.catch_warnings(action="ignore"):  # at files of Python 2, which are as good
            shape, in_columns, dtype = read(stream)
    except (MemoryError, RecursionError, ValueError):  # the first two come from Python's parser
        raise ValueError("a damaged header") from None
    if dtype.hasobject:
        raise ValueError("Python objects; save numbers, or strings as a numpy array of strings")
    available = end - stream.tell()
    # In Python's whole numbers: numpy's would overflow.
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > available:
        raise ValueError(f"{form_of(shape)} {dtype} in {available:,} bytes")
    return shape, dtype, in_columns


def _view(path: Path, offset: int, shape: tuple[int, ...], dtype: Any, order: Any = "C") -> Rows:
    return np.memmap(path, dtype, "r", offset, shape, order) if math.prod(shape) else np.zeros(shape, dtype)


def _safetensors(path: Path, stream: BinaryIO, with_ids: bool) -> Contents:
    with safe_open(path, "numpy") as checked:  # the header: types and shapes that fit their places in the file
        metadata = checked.metadata() or {}
    length = int.from_bytes(stream.read(8), "little")
    header = json.loads(stream.read(length))
    header.pop("__metadata__", None)

    def tensor(name: str) -> Rows:
        entry = header[name]
        if entry["dtype"] not in _TYPES:
            raise ValueError(f"{name} of the type {entry['dtype']}; save float32")
        return _view(path, 8 + length + entry["data_offsets"][0], tuple(entry["shape"]), _TYPES[entry["dtype"]])

    ids = None
    if with_ids and "ids" in header:
        ids = _texts(tensor("ids"))
    elif with_ids and "ids" in metadata:
        ids = _listed(metadata["ids"])
    return list(header), tensor("feats") if "feats" in header else None, ids


def _listed(ids: str) -> list[str]:
    try:
        found = json.loads(ids)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or any(type(id) not in (str, int) for id in found):
        raise ValueError('the "ids" in its metadata are not a JSON list of strings or of whole numbers')
    return [str(id) for id in found]
