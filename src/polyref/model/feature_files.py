"""The three forms of a feature file, told apart by content.

In:   a path. Out: ids, and rows that stay in the file where they can. Not: checking them (features.py).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from polyref.errors import InputError

Rows = npt.NDArray[Any]
_FORMS = "give npz, npy or safetensors"
_TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


def read_file(path: Path, ids: Path | None) -> tuple[list[str], Rows]:
    """The ids and the rows of a feature file."""
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
            stream.seek(0)
            if start.startswith(b"PK"):
                arrays = _npz(path, stream)
            elif start.startswith(b"\x93NUMPY"):
                arrays = {"feats": _mapped(path, stream)}
            elif start[8:9] == b"{":
                arrays = _safetensors(path, stream)
            else:
                raise InputError("is no feature file", _FORMS, file=str(path))
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=str(path)) from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot be read ({error})", _FORMS, file=str(path)) from None
    if "feats" not in arrays:
        raise InputError(f'holds {_names(arrays)}, but no "feats"', "name the features so", file=str(path))
    if ids is not None:
        return _lines(ids), arrays["feats"]
    if "ids" not in arrays:
        raise InputError("holds features without their ids", "give a file of ids, one a line", file=str(path))
    return [str(id) for id in arrays["ids"].tolist()], arrays["feats"]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=str(path)) from None
    except ValueError:
        raise InputError("is no text", "give a file of ids, one a line", file=str(path)) from None


def _names(arrays: dict[str, Rows]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(arrays)) or "nothing"


def _mapped(path: Path, stream: BinaryIO) -> Rows:
    """The array of the npy that begins where the stream stands; in the file until it is asked for."""
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError("Python objects; save numbers, or texts as a numpy array of texts")
    return _view(path, stream.tell(), shape, dtype, "F" if fortran else "C")


def _view(path: Path, offset: int, shape: tuple[int, ...], dtype: Any, order: Any = "C") -> Rows:
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", offset, shape, order)


def _npz(path: Path, stream: BinaryIO) -> dict[str, Rows]:
    arrays = {}
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name not in ("ids", "feats"):
                continue
            if member.compress_type == zipfile.ZIP_STORED and name == "feats":
                stream.seek(member.header_offset + 26)
                lengths = np.frombuffer(stream.read(4), "<u2")  # of the name and of the extra field
                stream.seek(int(lengths.sum()), 1)
                arrays[name] = _mapped(path, stream)
            else:
                with archive.open(member) as compressed:
                    arrays[name] = np.lib.format.read_array(compressed, allow_pickle=False)
    return arrays


def _safetensors(path: Path, stream: BinaryIO) -> dict[str, Rows]:
    length = int.from_bytes(stream.read(8), "little")
    if length > path.stat().st_size:
        raise ValueError("a header longer than the file")
    header = json.loads(stream.read(length))
    arrays = {}
    for name in {"ids", "feats"} & set(header):
        entry = header[name]
        if entry["dtype"] not in _TYPES:
            raise ValueError(f"{name} of the type {entry['dtype']}; save float32")
        offset = 8 + length + entry["data_offsets"][0]
        arrays[name] = _view(path, offset, tuple(entry["shape"]), _TYPES[entry["dtype"]])
    if "ids" not in arrays and "ids" in header.get("__metadata__", {}):
        arrays["ids"] = np.array(json.loads(header["__metadata__"]["ids"]), str)
    return arrays
