"""An encoder that knows one vector for each word, whatever stands around it.

In:   a table of word vectors: npz with arrays `words` and `vectors`, or text with a word and its numbers a line.
Out:  an Encoder.
Not:  vectors in context.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from functools import cached_property
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
        self._name = name
        self._hash = hash
        self._row = {str(word): row for row, word in reversed(list(enumerate(words)))}
        # Row -1 is what an unknown word gets.
        self._vectors = np.concatenate(
            [_in_parts(vectors), np.zeros((1, vectors.shape[1]), np.float16)], dtype=np.float16
        )

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
        words, vectors = _read_npz(path) if start.startswith(b"PK") else _read_text(path)
        if not len(words):
            raise InputError("the table is empty", "give at least one word", file=path)
        return cls(words, vectors, name=f"vectors:{path}", hash=digest)

    @property
    def name(self) -> str:
        return self._name

    @property
    def hash(self) -> str:
        return self._hash

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


def _read_npz(path: str) -> tuple[Sequence[str], npt.NDArray[Any]]:
    cure = "give arrays `words` (texts) and `vectors` (one row of numbers a word)"
    try:
        with np.load(path, allow_pickle=False) as arrays:
            names = list(arrays)
            for needed in ("words", "vectors"):
                if needed not in names:
                    raise InputError(f"there is no array `{needed}` (only: {', '.join(names)})", cure, file=path)
            words, vectors = arrays["words"], arrays["vectors"]
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"cannot be read as npz ({error})", cure, file=path) from None
    if words.ndim != 1 or words.dtype.kind != "U":
        raise InputError(f"`words` is an array of {words.dtype}", cure, file=path)
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.shape[1]:
        raise InputError(f"`vectors` is an array of {vectors.dtype} with shape {vectors.shape}", cure, file=path)
    if len(words) != len(vectors):
        raise InputError(f"{len(words)} words, but {len(vectors)} vectors", cure, file=path)
    if not np.isfinite(vectors).all():
        raise InputError("`vectors` holds numbers that are not finite", "repair the table", file=path)
    return words.tolist(), vectors


def _read_text(path: str) -> tuple[Sequence[str], npt.NDArray[Any]]:
    """GloVe's text: a word and its numbers a line. The header line of word2vec's text is passed over."""
    words: list[str] = []
    rows: list[npt.NDArray[Any]] = []
    size = 0
    with Path(path).open("rb") as stream:
        for number, content in enumerate(stream, 1):
            try:
                line = content.decode("utf-8").rstrip("\r\n ")
            except UnicodeDecodeError:
                raise InputError("not UTF-8", "save the table as UTF-8", file=path, line=number) from None
            parts = line.split(" ")
            if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
                continue
            size = size or len(parts) - 1
            # The word may hold spaces itself, so the numbers are counted from the end.
            word, numbers = " ".join(parts[:-size]), parts[-size:]
            try:
                row = np.array([float(part) for part in numbers], np.float16)
            except ValueError:
                row = np.array([np.nan])
            if not size or len(numbers) != size or not word or not np.isfinite(row).all():
                raise InputError(
                    f"not a word and {size or 'its'} numbers", "give GloVe text or npz", file=path, line=number
                )
            words.append(word)
            rows.append(row)
    return words, np.array(rows)
