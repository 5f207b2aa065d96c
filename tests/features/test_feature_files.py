"""Feature files that are damaged, or made by others in their own ways: read right, or refused in one line."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyref.errors import InputError
from polyref.features.features import read_file

IDS = ["i0", "i1", "i2"]
ROWS = np.random.default_rng(0).standard_normal((3, 400)).astype(np.float32)
DATA = ROWS.tobytes()
WHOLE = (0, len(DATA))


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npy_with_header(header: str, data: bytes = DATA, version: bytes = b"\1\0") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def npy_of_shape(shape: str) -> bytes:
    return npy_with_header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}")


def npz(method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in ({"ids": npy(np.array(IDS)), "feats": npy(ROWS)} | members).items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def damaged(content: bytes) -> bytes:
    """With other bytes inside the features, where only the decompression can notice."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = archive.getinfo("feats.npy").header_offset + 60
    return content[:start] + b"\xff" * 300 + content[start + 300 :]


def patched(content: bytes, local: int, central: int, value: int) -> bytes:
    """With another number at some place of all headers of an archive."""
    for signature, place in ((b"PK\3\4", local), (b"PK\1\2", central)):
        pattern = re.compile(re.escape(signature) + b"." * (place - 4) + b"..", re.DOTALL)
        content = pattern.sub(lambda found: found[0][:-2] + struct.pack("<H", value), content)
    return content


def safetensors(header: str | dict[str, Any], data: bytes = DATA) -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(
    shape: Any = (3, 400),
    offsets: Any = WHOLE,
    dtype: Any = "F32",
    ids: Any = '["i0", "i1", "i2"]',
    name: str = "feats",
) -> bytes:
    entry = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
    return safetensors({name: entry, "__metadata__": {"ids": ids}})


def refused(path: Path, ids: Path | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_file(path, ids)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        damaged(npz()),
        damaged(npz(zipfile.ZIP_LZMA)),
        damaged(npz(zipfile.ZIP_BZIP2)),
        npz()[:-30],
        npz(feats=npy(ROWS)[:-5]),
        npz(zipfile.ZIP_STORED, feats=npy(ROWS)[:-5]),
        npz(feats=b""),
        npz(feats=npy_of_shape("(1000000000000, 400)")),
        npz(zipfile.ZIP_STORED, feats=npy_of_shape("(4, 400)")),
        npy_of_shape("(1000000000000000000000000000000, 400)"),
        npy_of_shape("(4611686018427387904, 4)"),
        npy_of_shape("(-3, 400)"),
        npy_of_shape("(-3, -400)"),
        npy_of_shape("(0, -400)"),
        npy_of_shape("(0, 1000000000000000000000000000000)"),
        npy_with_header("__import__('os').system('true')"),
        npy_with_header("-" * 9000 + "1"),
        npy_with_header("", version=b"\x09\0"),
        npy_with_header("{'descr': 'zzz', 'fortran_order': False, 'shape': (3, 400)}"),
        safetensors('{"feats":' + "[" * 100_000 + "]" * 100_000 + "}"),
        safetensors({"feats": [1]}),
        safetensors({"feats": {"dtype": "F32", "shape": [3, 400]}}),
        safetensors({"feats": {"shape": [3, 400], "data_offsets": [0, 4800]}}),
        safetensors('{"feats": {"dtype": "F32", "shape": [1e400, 400], "data_offsets": [0, 4800]}}'),
        safetensors({"__metadata__": 5}),
        tensor(offsets=[]),
        tensor(offsets=[0]),
        tensor(offsets="ab"),
        tensor(dtype=["F32"]),
        tensor(shape=[3.0, 400]),
        tensor(shape=[-3, -400]),
        tensor(shape=[99999999999999999999, 400]),
        tensor(shape=5),
        tensor(ids=5),
        tensor(ids=None),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(content: bytes, tmp_path: Path):
    path = tmp_path / "f.bin"
    path.write_bytes(content)
    assert re.match(rf"{path}: (cannot be read \(.+\)|holds .+); ", refused(path))


def test_an_archive_that_is_locked_or_packed_in_an_unknown_way_says_so(tmp_path: Path):
    path = tmp_path / "f.npz"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path.write_bytes(patched(npz(method), 6, 8, 1))
        assert "encrypted" in refused(path)
    path.write_bytes(patched(npz(), 8, 10, 99))
    assert "compression method" in refused(path)


@pytest.mark.parametrize(
    ("offsets", "shape"),
    [
        ((-50, len(DATA) - 50), (3, 400)),  # would read the header as features
        ((0, len(DATA)), (2, 400)),
        ((0, len(DATA) - 4), (3, 400)),
        ((len(DATA), 0), (3, 400)),
        ((4, len(DATA) + 4), (3, 400)),  # beyond the end of the file
        ((0.0, len(DATA)), (3, 400)),
        ((False, len(DATA)), (3, 400)),
        ((0, len(DATA), 0), (3, 400)),
    ],
)
def test_the_places_of_a_tensor_must_fit_its_shape_and_the_file(offsets, shape, tmp_path: Path):
    path = tmp_path / "f.safetensors"
    path.write_bytes(tensor(shape, offsets))
    assert "cannot be read (" in refused(path)


def test_a_tensor_may_stand_behind_others(tmp_path: Path):
    path = tmp_path / "f.safetensors"
    other = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
    feats = {"dtype": "F32", "shape": [3, 400], "data_offsets": [4, 4 + len(DATA)]}
    header = {"other": other, "feats": feats, "__metadata__": {"ids": json.dumps(["a", 7, "c"])}}
    path.write_bytes(safetensors(header, b"1234" + DATA))
    ids, rows = read_file(path, None)
    assert ids == ["a", "7", "c"]
    assert np.array_equal(rows, ROWS)


@pytest.mark.parametrize("ids", ["5", '"abc"', "[1.5, 2, 3]", "[true, 1, 2]", '[["a"], "b", "c"]', "{}", "["])
def test_metadata_that_is_no_list_of_ids_is_refused(ids, tmp_path: Path):
    path = tmp_path / "f.safetensors"
    path.write_bytes(tensor(ids=ids))
    assert "ids" in refused(path)


class Touch:
    """Pickled: a command that leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("name", ["ids", "feats"])
def test_nothing_is_ever_unpickled(name, method, tmp_path: Path):
    pickled = npy(np.array([Touch(tmp_path / "touched")] * 3))
    path = tmp_path / "f.npz"
    path.write_bytes(npz(method, **{name: pickled}))
    assert "Python objects" in refused(path)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda path: np.savez(path, x=ROWS, y=ROWS), 'holds "x", "y", but no "feats"; name the features "feats"'),
        (lambda path: np.savez(path, ids=IDS, x=ROWS), 'holds "ids", "x", but no "feats"'),
        (lambda path: np.savez(path), 'holds nothing; name the features "feats"'),
        (
            lambda path: path.write_bytes(tensor(name="x")),
            'holds "x", but no "feats"; name the features "feats"',
        ),
    ],
)
def test_a_file_without_features_says_what_it_holds(write, says, tmp_path: Path):
    path = tmp_path / "f.npz"
    write(path)
    assert says in refused(path)


def test_many_other_names_are_not_all_listed(tmp_path: Path):
    path = tmp_path / "f.npz"
    np.savez(path, **{f"a{number}": np.zeros(1) for number in range(100)})
    assert 'holds "a0", "a1", "a10" and 97 more, but no "feats"' in refused(path)


def test_features_without_ids_name_the_option_that_takes_them(tmp_path: Path):
    np.save(tmp_path / "f.npy", ROWS)
    said = refused(tmp_path / "f.npy")
    assert "holds features without their ids; give a file of ids, one per line" in said
    assert "(feature_ids)" in said


IdFile = Callable[[bytes], Path]


@pytest.fixture
def id_file(tmp_path: Path) -> IdFile:
    """Writes a file of ids beside f.npy, which has three rows."""
    np.save(tmp_path / "f.npy", ROWS)

    def write(content: bytes) -> Path:
        (tmp_path / "ids.txt").write_bytes(content)
        return tmp_path / "ids.txt"

    return write


@pytest.mark.parametrize(
    "content",
    [
        b"i0\ni1\ni2",
        b"\xef\xbb\xbfi0\ni1\ni2\n",
        b"i0\r\ni1\r\ni2\r\n",
        b"i0 \n i1\t\ni2\n\n",
    ],
    ids=["plain", "byte-order mark", "CRLF", "spaces"],
)
def test_what_stands_around_ids_is_no_part_of_them(content, id_file: IdFile, tmp_path: Path):
    assert read_file(tmp_path / "f.npy", id_file(content))[0] == IDS


def test_only_the_end_of_a_line_parts_ids(id_file: IdFile, tmp_path: Path):
    ids = ["i\u20280", "i\x0b1", "i 2\x85"]
    assert read_file(tmp_path / "f.npy", id_file("\n".join(ids).encode()))[0] == ids


def test_another_number_of_ids_names_their_file(id_file: IdFile, tmp_path: Path):
    path = id_file(b"i0\ni1\n")
    says = f"{path}: 2 ids, but {tmp_path / 'f.npy'} has 3 rows of features; give one id per row"
    assert refused(tmp_path / "f.npy", path) == says
    path = id_file(b"")
    assert refused(tmp_path / "f.npy", path).startswith(f"{path}: ")
    path = id_file(b"i0\n\xff\ni2\n")
    assert refused(tmp_path / "f.npy", path).startswith(f"{path}:2: not UTF-8 at byte 1 of the line")


def test_given_ids_count_and_those_in_the_file_do_not(id_file: IdFile, tmp_path: Path):
    np.savez(tmp_path / "f.npz", ids=np.arange(2.5), feats=ROWS)
    assert read_file(tmp_path / "f.npz", id_file(b"i0\ni1\ni2\n"))[0] == IDS


@pytest.mark.parametrize(
    ("array", "ids"),
    [
        (np.array([b"i0", "Zürich".encode(), b"7"]), ["i0", "Zürich", "7"]),
        (np.array(["i0", "i1", "7"]), ["i0", "i1", "7"]),
        (np.array([3, -4, 10**18]), ["3", "-4", str(10**18)]),
        (np.array([1, 2, 2**64 - 1], np.uint64), ["1", "2", str(2**64 - 1)]),
    ],
)
def test_ids_are_texts_or_whole_numbers(array, ids, tmp_path: Path):
    np.savez(tmp_path / "f.npz", ids=array, feats=ROWS)
    assert read_file(tmp_path / "f.npz", None)[0] == ids


@pytest.mark.parametrize(
    ("array", "form"),
    [
        (np.arange(3.0), "3 float64"),
        (np.array("abc"), "one number <U3"),
        (np.array(3), "one number int64"),
        (np.array([["i0"], ["i1"], ["i2"]]), "3 x 1 <U2"),
        (np.array([True, False, True]), "3 bool"),
    ],
)
def test_other_ids_are_refused(array, form, tmp_path: Path):
    np.savez(tmp_path / "f.npz", ids=array, feats=ROWS)
    says = f"ids of the form {form}; save a row of strings or of whole numbers"
    assert says in refused(tmp_path / "f.npz")


def test_ids_of_bytes_that_are_not_utf_8_are_refused(tmp_path: Path):
    np.savez(tmp_path / "f.npz", ids=np.array([b"a", b"\xff", b"c"]), feats=ROWS)
    assert "'utf-8' codec can't decode byte 0xff" in refused(tmp_path / "f.npz")


def test_compressed_features_that_do_not_fit_into_memory_are_to_be_saved_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    (tmp_path / "f.npz").write_bytes(npz())
    monkeypatch.setattr(np.lib.format, "read_array", full)
    assert "does not fit into memory; save it without compression" in refused(tmp_path / "f.npz")


def test_a_pipe_is_refused(tmp_path: Path):
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb") as stream:
        stream.write(npz(zipfile.ZIP_STORED, feats=npy(ROWS[:, :2])))
        stream.flush()
        assert "None" not in refused(Path(f"/dev/fd/{reading}"))
