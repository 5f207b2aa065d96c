"""Whatever happens to a feature file: it is read, or refused in one line."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from polyref.errors import InputError
from polyref.features.features import read_file

IDS = ["a", "b", "c"]
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def _npz(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in (("ids", np.array(IDS)), ("feats", ROWS)):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return file.getvalue()


METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
FILES = [*map(_npz, METHODS), save({"feats": ROWS}, {"ids": json.dumps(IDS)})]


@given(
    st.sampled_from(FILES),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4),
    st.none() | st.integers(0, 2000),
)
def test_a_damaged_feature_file_is_read_or_refused(content: bytes, changes: list[tuple[int, int]], cut: int | None):
    damaged = bytearray(content)
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    if cut is not None:
        del damaged[cut:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features"
        path.write_bytes(damaged)
        try:
            ids, rows = read_file(path, None)
        except InputError as error:
            assert str(error).startswith(f"{path}: ")
            assert "\n" not in str(error)
        else:
            assert all(isinstance(id, str) for id in ids)
            assert len(rows.tobytes()) == rows.nbytes  # all of it is in the file
        if damaged == content:
            assert ids == IDS
            assert np.array_equal(rows, ROWS)
