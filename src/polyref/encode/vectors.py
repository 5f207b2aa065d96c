"""An encoder that knows one vector for each word, whatever stands around it.

In:   a table of word vectors: npz with arrays `words` and `vectors`, or text, a word and its numbers on each line.
Out:  an Encoder.
Not:  vectors in context.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyref.encode.encoder import Encoding, measure_baseline, unit_vectors, unrelated_sentences
from polyref.errors import InputError
from polyref.files import reading

_ROWS_AT_ONCE = 50_000


class WordVectors:
    """A table of static word vectors; those that are float16 `units` already stay as they are.

    A word that the table lacks, as it is and in lower case, is not known: it is alike to itself only.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: npt.NDArray[Any],
        *,
        name: str = "vectors",
        hash: str = "",
        units: bool = False,
    ):
        if len(words) != len(vectors):
            raise InputError(f"{len(words)} words, but {len(vectors)} vectors", "give one vector per word", file=name)
        self.name = name
        self.hash = hash
        self._row: dict[str, int] = {}
        for row, word in enumerate(words):
            self._row.setdefault(str(word), row)
        self.words = list(self._row)  # in the order of the table
        self.size = int(vectors.shape[1])  # of a vector
        scaled = vectors if units else _in_parts(vectors)
        # Row -1 is what an unknown word gets.
        self._vectors = np.concatenate([scaled, np.zeros((1, self.size), np.float16)], dtype=np.float16)

    @classmethod
    def load(cls, path: str) -> WordVectors:
        """Read a table from a file, told apart by content."""
        with reading(path), Path(path).open("rb") as stream:
            start = stream.read(4)
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
        words, scaled = _read_npz(path) if start.startswith(b"PK") else _read_text(path)
        if not len(words):
            raise InputError("the table is empty", "give at least one word", file=path)
        return cls(words, scaled, name=f"vectors:{path}", hash=digest, units=True)

    @cached_property
    def baseline(self) -> float:
        return measure_baseline(self, unrelated_sentences())

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        rows = [np.array([self._find(word) for word in sentence], np.int64) for sentence in sentences]
        return [Encoding(self._vectors[row], row >= 0) for row in rows]

    def _find(self, word: str) -> int:
        row = self._row.get(word)
        return self._row.get(word.lower(), -1) if row is None else row


def _in_parts(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    """Unit vectors of a large table, without a second copy of it in float64."""
    scaled = np.empty(vectors.shape, np.float16)
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        scaled[start : start + _ROWS_AT_ONCE] = unit_vectors(vectors[start : start + _ROWS_AT_ONCE])
    return scaled


def _read_npz(path: str) -> tuple[Sequence[str], npt.NDArray[np.float16]]:
    cure = "give arrays `words` (strings) and `vectors` (one row of numbers per word)"
    try:
        # Opened here: np.load leaves a broken file open.
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            names = list(arrays)
            for needed in ("words", "vectors"):
                if needed not in names:
                    raise InputError(f"there is no array `{needed}` (only: {', '.join(names)})", cure, file=path)
            words, vectors = arrays["words"], arrays["vectors"]
    except (ValueError, OSError, zipfile.BadZipFile, EOFError, zlib.error, RuntimeError) as error:
        raise InputError(f"cannot be read as npz ({error})", cure, file=path) from None
    for name, array, dimensions, kind in (("words", words, 1, "U"), ("vectors", vectors, 2, "f")):
        if not isinstance(array, np.ndarray):
            raise InputError(f"`{name}` is not an array", cure, file=path)
        if array.ndim != dimensions or array.dtype.kind != kind or 0 in array.shape[1:]:
            raise InputError(f"`{name}` is an array of {array.dtype} with shape {array.shape}", cure, file=path)
    if len(words) != len(vectors):
        raise InputError(f"{len(words)} words, but {len(vectors)} vectors", cure, file=path)
    if not np.isfinite(vectors).all():
        raise InputError("`vectors` holds numbers that are not finite", "repair the table", file=path)
    return words.tolist(), _in_parts(vectors)


def _read_text(path: str) -> tuple[Sequence[str], npt.NDArray[np.float16]]:
    """GloVe's text: a word and its numbers on each line. The header line of word2vec's text is passed over."""
    words: list[str] = []
    parts: list[npt.NDArray[np.float16]] = []
    rows = _text_rows(path)
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        words += [word for word, _ in some]
        parts.append(unit_vectors(np.array([numbers for _, numbers in some])))
    return words, np.concatenate(parts) if parts else np.zeros((0, 0), np.float16)


def _text_rows(path: str) -> Iterator[tuple[str, list[float]]]:
    size = 0
    with Path(path).open("rb") as stream:
        for number, content in enumerate(stream, 1):
            try:
                fields = content.decode("utf-8").rstrip().split(" ")
            except UnicodeDecodeError:
                raise InputError("not UTF-8", "save the table as UTF-8", file=path, line=number) from None
            if fields == [""] or (number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields)):
                continue
            size = size or _numbers_at_end(fields)
            # The word may hold spaces itself, so the numbers are counted from the end.
            word = " ".join(fields[:-size]) if size else ""
            numbers = [_number(field) for field in fields[-size:]]
            if not word or not all(map(isfinite, numbers)):
                problem = f"not a word and {size or 'its'} numbers"
                raise InputError(problem, "give GloVe text or npz", file=path, line=number)
            yield word, numbers


def _numbers_at_end(fields: Sequence[str]) -> int:
    """How many numbers stand behind the word, which may be a number itself, or hold spaces."""
    count = 0
    while count < len(fields) - 1 and isfinite(_number(fields[-count - 1])):
        count += 1
    return count


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        return nan
