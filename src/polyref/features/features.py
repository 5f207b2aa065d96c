"""Features of images, from a file: one row of numbers for each id.

In:   npz (`ids`, `feats`), npy with a file of ids, or safetensors (`feats`, and `ids` there or in a file).
Out:  the rows of some ids; their mean and standard deviation; a fingerprint of them.
Not:  making features of images (extraction.py), what a model does with them (captioner.py).

Rows stay in the file until they are asked for, unless it is compressed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyref.errors import InputError
from polyref.features.feature_files import read_file

_ROWS_AT_ONCE = 4096
_ROWS_OF_A_FINGERPRINT = 1000
_NAMED = 3
# Far from where squares of gradients pass what single precision holds; real features are far below.
_LARGEST = 1e12


class Features:
    """Rows by their ids. `size` is the length of a row."""

    def __init__(self, ids: Sequence[str], rows: npt.NDArray[Any], *, name: str = "features"):
        self._name = name
        if rows.ndim != 2 or not rows.shape[1] or rows.dtype.kind not in "fiu":
            raise self._error(
                f"features of the form {' x '.join(map(str, rows.shape))} {rows.dtype}", "give ids x numbers"
            )
        if len(ids) != len(rows):
            raise self._error(f"{len(ids)} ids, but {len(rows)} rows of features", "give one id a row")
        self._number = {id: number for number, id in enumerate(ids)}
        if len(self._number) != len(ids):
            twice = next(id for number, id in enumerate(ids) if self._number[id] != number)
            raise self._error(f'the id "{twice}" is there twice', "give each id once")
        self._rows = rows

    @classmethod
    def open(cls, path: str | Path, ids: str | Path | None = None) -> Features:
        """Open a feature file; `ids` is a file with an id a line, for formats that do not hold them."""
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
            raise self._error(
                f"{self.size} features an image, but the model reads {size}", "give others, or set the model's size"
            )
        missing = [id for id in dict.fromkeys(ids) if id not in self._number]
        if missing:
            raise self._error(f"no features for {_some(missing)}", "add them, or leave those examples out")
        for chosen, rows in self._parts(ids):
            sizes = np.abs(rows).max(1)  # NaN where a number is none
            bad = [chosen[place] for place in np.flatnonzero(~np.isfinite(sizes)).tolist()]
            if bad:
                raise self._error(f"features that are no numbers (NaN or infinite) for {_some(bad)}", "make them anew")
            bad = [chosen[place] for place in np.flatnonzero(sizes > _LARGEST).tolist()]
            if bad:
                raise self._error(f"features as large as {sizes.max():.2g} for {_some(bad)}", "scale them down")

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

    def _numbers(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        try:
            return np.array([self._number[id] for id in ids], np.int64)
        except KeyError:
            self.check(ids)
            raise

    def standardisation(self, ids: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The mean and the standard deviation of each feature over some ids: those of the training set, and no others.

        A feature that never changes gets the deviation 1: there is nothing to divide by.
        """
        if not ids:
            raise self._error("no ids to standardise by", "give those of the training set")
        self.check(ids)
        mean = np.zeros(self.size)
        for _, rows in self._parts(ids):
            mean += rows.sum(0, dtype=np.float64) / len(ids)
        squares = np.zeros(self.size)
        for _, rows in self._parts(ids):
            squares += ((rows - mean) ** 2).sum(0)
        deviation = np.sqrt(squares / len(ids))
        constant = deviation <= 1e-6 * np.maximum(np.abs(mean), 1e-6)
        return mean.astype(np.float32), np.where(constant, 1.0, deviation).astype(np.float32)

    def _parts(self, ids: Sequence[str]) -> Iterator[tuple[Sequence[str], npt.NDArray[np.float32]]]:
        for first in range(0, len(ids), _ROWS_AT_ONCE):
            part = ids[first : first + _ROWS_AT_ONCE]
            yield part, self.rows(part)

    def _error(self, problem: str, cure: str) -> InputError:
        return InputError(problem, cure, file=self._name)


def _some(ids: Sequence[str]) -> str:
    named = ", ".join(f'"{id}"' for id in ids[:_NAMED])
    return named if len(ids) <= _NAMED else f"{named} and {len(ids) - _NAMED:,} more"
