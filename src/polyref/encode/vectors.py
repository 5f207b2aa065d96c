"""An encoder that knows one vector for each word, whatever stands around it.

In:   a table of word vectors: npz with arrays `words` and `vectors`, or text with a word and its numbers a line.
Out:  an Encoder.
Not:  vectors in context.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyref.encode.baseline import measure_baseline, unrelated_sentences
from polyref.encode.encoder import Encoding, unit_vectors
from polyref.errors import InputError

_ROWS_AT_ONCE = 50_000


class WordVectors:
    """A table of static word vectors.

    A word that the table lacks, as it is and in lower case, is not known: it is alike to itself only.
    """

    def __init__(self, words: Sequence[str], vectors: npt.NDArray[Any], *, name: str = "vectors", hash: str = ""):
        if len(words) != len(vectors):
            raise InputError(f"{len(words)} words, but {len(vectors)} vectors", "give one vector a word", file=name)
        self._take(words, _in_parts(vectors), name, hash)

    def _take(self, words: Sequence[str], scaled: npt.NDArray[np.float16], name: str, hash: str) -> None:
        self._name = name
        self._hash = hash
        self._row = {str(word): row for row, word in reversed(list(enumerate(words)))}
        # Row -1 is what an unknown word gets.
        self._vectors = np.concatenate([scaled, np.zeros((1, scaled.shape[1]), np.float16)], dtype=np.float16)

    @classmethod
    def load(cls, path: str) -> WordVectors:
        """Read a table from a file, told apart by content."""
        try:
            with Path(path).open("rb") as stream:
                start = stream.read(4)
                stream.seek(0)
                digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
        except OSError as error:
            raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=path) from None
        words, scaled = _read_npz(path) if start.startswith(b"PK") else _read_text(path)
        if not len(words):
            raise InputError("the table is empty", "give at least one word", file=path)
        table = cls.__new__(cls)
        table._take(words, scaled, f"vectors:{path}", digest)
        return table

    @property
    def name(self) -> str:
        return self._name

    @property
    def hash(self) -> str:
        return self._hash

    @property
    def size(self) -> int:
        """The length of a vector."""
        return int(self._vectors.shape[1])

    @property
    def words(self) -> list[str]:
        """The words of the table, in its order."""
        return sorted(self._row, key=self._row.__getitem__)

    @cached_property
    def baseline(self) -> float:
        return measure_baseline(self, unrelated_sentences())

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        return [self._encode(sentence) for sentence in sentences]

    def _encode(self, sentence: Sequence[str]) -> Encoding:
        rows = np.array([self._find(word) for word in sentence], np.int64)
        return Encoding(self._vectors[rows], rows >= 0)

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
    cure = "give arrays `words` (texts) and `vectors` (one row of numbers a word)"
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
    for name, array in (("words", words), ("vectors", vectors)):
        if not isinstance(array, np.ndarray):
            raise InputError(f"`{name}` is no array", cure, file=path)
    if words.ndim != 1 or words.dtype.kind != "U":
        raise InputError(f"`words` is an array of {words.dtype}", cure, file=path)
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.shape[1]:
        raise InputError(f"`vectors` is an array of {vectors.dtype} with shape {vectors.shape}", cure, file=path)
    if len(words) != len(vectors):
        raise InputError(f"{len(words)} words, but {len(vectors)} vectors", cure, file=path)
    if not np.isfinite(vectors).all():
        raise InputError("`vectors` holds numbers that are not finite", "repair the table", file=path)
    return words.tolist(), _in_parts(vectors)


def _read_text(path: str) -> tuple[Sequence[str], npt.NDArray[np.float16]]:
    """GloVe's text: a word and its numbers a line. The header line of word2vec's text is passed over."""
    words: list[str] = []
    parts: list[npt.NDArray[np.float16]] = []
    rows: list[list[float]] = []
    for word, numbers in _text_rows(path):
        words.append(word)
        rows.append(numbers)
        if len(rows) == _ROWS_AT_ONCE:
            parts.append(unit_vectors(np.array(rows)))
            rows = []
    if rows:
        parts.append(unit_vectors(np.array(rows)))
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
                raise InputError(
                    f"not a word and {size or 'its'} numbers", "give GloVe text or npz", file=path, line=number
                )
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
