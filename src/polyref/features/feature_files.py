"""The three forms of a feature file, told apart by content.

In:   a path, and a file of ids where there is one.
Out:  ids, and rows that stay in the file where they can. Nothing is ever unpickled.
Not:  whether ids and rows belong together (features.py), making features of images (extraction.py).
"""

from __future__ import annotations

import json
import math
import os
import warnings
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from polyref.data.lines import read_lines
from polyref.errors import InputError

Rows = npt.NDArray[Any]
_FORMS = "give npz, npy or safetensors"
_ANEW = "make it anew, as npz, npy or safetensors"
_ID_FILE = "give a file of ids, one a line"
_TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}
_NPY_VERSIONS = [(1, 0), (2, 0), (3, 0)]
_ENCRYPTED = 1
_NAMED = 3


@dataclass(slots=True)
class _Contents:
    """The names of all that a file holds; the features and the ids of it."""

    names: list[str] = field(default_factory=list)
    feats: Rows | None = None
    ids: list[str] | None = None


def read_file(path: Path, ids: Path | None) -> tuple[list[str], Rows]:
    """The ids and the rows of a feature file; those in a file of ids count, where one is given."""
    contents = _contents(path, wanted=("feats",) if ids else ("feats", "ids"))
    if contents.feats is None:
        but = f'{_some(contents.names)}, but no "feats"' if contents.names else "nothing"
        raise InputError(f"holds {but}", 'name the features "feats"', file=str(path))
    if ids is not None:
        return _lines(ids, path, contents.feats), contents.feats
    if contents.ids is None:
        cure = f"{_ID_FILE} (--feature-ids; in a recipe feature_ids)"
        raise InputError("holds features without their ids", cure, file=str(path))
    return contents.ids, contents.feats


def _contents(path: Path, wanted: Collection[str]) -> _Contents:
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
            stream.seek(0)
            if start.startswith(b"PK"):
                return _npz(path, stream, wanted)
            if start.startswith(b"\x93NUMPY"):
                return _Contents(["feats"], _mapped(path, stream, path.stat().st_size))
            if start[8:9] == b"{":
                return _safetensors(path, stream, wanted)
            raise InputError("is no feature file", _FORMS, file=str(path))
    except InputError as error:
        raise InputError(error.problem, error.cure, file=str(path)) from None
    except MemoryError:
        raise InputError("does not fit into memory", "save it without compression", file=str(path)) from None
    except OSError as error:
        if error.strerror is not None:
            raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=str(path)) from None
        raise InputError(f"cannot be read ({error})", _ANEW, file=str(path)) from None
    except Exception as error:  # zip, its compressions, numpy and JSON each raise what they like
        raise InputError(f"cannot be read ({_reason(error)})", _ANEW, file=str(path)) from None


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its header is nested too deeply"
    return " ".join(str(error).split()) or type(error).__name__


def _lines(path: Path, features: Path, rows: Rows) -> list[str]:
    try:
        found = [line.content.decode() for line in read_lines(str(path), holds="one id a line")]
    except UnicodeDecodeError:
        raise InputError("is no text", _ID_FILE, file=str(path)) from None
    if rows.ndim and len(found) != len(rows):
        problem = f"{len(found)} ids, but {features} has {len(rows)} rows of features"
        raise InputError(problem, "give one id a row", file=str(path))
    return found


def _some(names: Sequence[str]) -> str:
    named = ", ".join(f'"{name}"' for name in sorted(names)[:_NAMED])
    return named if len(names) <= _NAMED else f"{named} and {len(names) - _NAMED:,} more"


def _texts(array: Rows) -> list[str]:
    """The ids of an array: texts, UTF-8 bytes or whole numbers."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        form = " x ".join(map(str, array.shape)) or "a single"
        raise InputError(f"ids of the form {form} {array.dtype}", "give a row of texts or of whole numbers")
    if array.dtype.kind != "S":
        return [str(id) for id in array.tolist()]
    try:
        return [id.decode() for id in array.tolist()]
    except UnicodeDecodeError:
        raise InputError("an id is not UTF-8", "save ids as texts") from None


def _npz(path: Path, stream: BinaryIO, wanted: Collection[str]) -> _Contents:
    contents = _Contents()
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            contents.names.append(name)
            if name not in wanted:
                continue
            if member.flag_bits & _ENCRYPTED:
                raise ValueError("it is encrypted")
            if name == "ids":
                contents.ids = _texts(_unpacked(archive, member))
            elif member.compress_type == zipfile.ZIP_STORED:
                stream.seek(member.header_offset + 26)
                lengths = np.frombuffer(stream.read(4), "<u2")  # of the name and of the extra field
                stream.seek(int(lengths.sum()), os.SEEK_CUR)
                contents.feats = _mapped(path, stream, stream.tell() + member.file_size)
            else:
                contents.feats = _unpacked(archive, member)
    return contents


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Rows:
    with archive.open(member) as packed:
        shape, dtype, _ = _header(packed)
        _check_size(member.filename, shape, dtype, member.file_size - packed.tell())
    with archive.open(member) as packed:
        array: Rows = np.lib.format.read_array(packed, allow_pickle=False)
        return array


def _mapped(path: Path, stream: BinaryIO, end: int) -> Rows:
    """The array of the npy that begins where the stream stands; in the file until it is asked for."""
    shape, dtype, in_columns = _header(stream)
    _check_size("feats", shape, dtype, min(end, path.stat().st_size) - stream.tell())
    return _view(path, stream.tell(), shape, dtype, "F" if in_columns else "C")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    version = np.lib.format.read_magic(stream)
    if version not in _NPY_VERSIONS:
        raise ValueError("npy of version {}.{}".format(*version))
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        with warnings.catch_warnings(action="ignore"):  # at files of Python 2, which are as good
            shape, in_columns, dtype = read(stream)
    except (MemoryError, ValueError):  # the first is one of Python's parser
        raise ValueError("a damaged header") from None
    if dtype.hasobject:
        raise ValueError("Python objects; save numbers, or texts as a numpy array of texts")
    return shape, dtype, in_columns


def _check_size(name: str, shape: Sequence[int], dtype: np.dtype[Any], available: int) -> None:
    # In Python's whole numbers: numpy's would run over.
    needed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or needed > available:
        form = " x ".join(map(str, shape))
        raise ValueError(f"{name}: {form} {dtype} in {available:,} bytes")


def _view(path: Path, offset: int, shape: tuple[int, ...], dtype: Any, order: Any = "C") -> Rows:
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", offset, shape, order)


def _safetensors(path: Path, stream: BinaryIO, wanted: Collection[str]) -> _Contents:
    length = int.from_bytes(stream.read(8), "little")
    start, size = 8 + length, path.stat().st_size
    if start > size:
        raise ValueError("a header longer than the file")
    header = json.loads(stream.read(length))
    metadata = header.pop("__metadata__", {})
    contents = _Contents(list(header))
    if "feats" in header:
        contents.feats = _tensor(path, "feats", header["feats"], start, size)
    if "ids" in wanted and "ids" in header:
        contents.ids = _texts(_tensor(path, "ids", header["ids"], start, size))
    elif "ids" in wanted and "ids" in metadata:
        contents.ids = _listed(metadata["ids"])
    return contents


def _tensor(path: Path, name: str, entry: Any, start: int, size: int) -> Rows:
    """A tensor, if its type and shape agree with its place in the file."""
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise ValueError(f"{name}: no dtype, shape and data_offsets")
    if str(entry["dtype"]) not in _TYPES:
        raise ValueError(f"{name} of the type {entry['dtype']}; save float32")
    dtype, shape = np.dtype(_TYPES[entry["dtype"]]), _numbers(name, entry["shape"])
    begin, end = _numbers(name, entry["data_offsets"], count=2)
    if end - begin != math.prod(shape) * dtype.itemsize or start + end > size:
        form = " x ".join(map(str, shape))
        raise ValueError(f"{name}: {form} {dtype} at bytes {begin:,} to {end:,} of {size - start:,}")
    return _view(path, start + begin, shape, dtype)


def _numbers(name: str, listed: Any, count: int | None = None) -> tuple[int, ...]:
    if not isinstance(listed, list) or any(type(one) is not int or one < 0 for one in listed):
        raise ValueError(f"{name}: {listed} in place of whole numbers from 0 on")
    if count is not None and len(listed) != count:
        raise ValueError(f"{name}: {len(listed)} numbers in place of {count}")
    return tuple(listed)


def _listed(ids: str) -> list[str]:
    try:
        found = json.loads(ids)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, list) or any(type(id) not in (str, int) for id in found):
        raise ValueError('the "ids" in its metadata are no list of texts or of whole numbers, as JSON')
    return [str(id) for id in found]
