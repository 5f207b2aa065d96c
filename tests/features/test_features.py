"""Feature files: three forms, one meaning; and what is wrong in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from polyref.errors import InputError
from polyref.features.features import Features

IDS = ["cat", "dog", "42", "Zürich"]
ROWS = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def write_npz(path: Path) -> Features:
    np.savez(path / "f.npz", ids=np.array(IDS), feats=ROWS)
    return Features.open(path / "f.npz")


def write_compressed(path: Path) -> Features:
    np.savez_compressed(path / "f.npz", ids=np.array(IDS), feats=ROWS)
    return Features.open(str(path / "f.npz"))


def write_npy(path: Path) -> Features:
    np.save(path / "f.npy", ROWS)
    (path / "ids.txt").write_text("\n".join(IDS) + "\n", encoding="utf-8")
    return Features.open(path / "f.npy", path / "ids.txt")


def write_fortran(path: Path) -> Features:
    np.save(path / "f.npy", np.asfortranarray(ROWS))
    (path / "ids.txt").write_text("\n".join(IDS), encoding="utf-8")
    return Features.open(path / "f.npy", path / "ids.txt")


def write_safetensors(path: Path) -> Features:
    save_file({"other": np.zeros(3), "feats": ROWS}, path / "f.safetensors", {"ids": json.dumps(IDS)})
    return Features.open(path / "f.safetensors")


def write_safetensors_with_ids(path: Path) -> Features:
    save_file({"feats": ROWS}, path / "f.safetensors")
    (path / "ids.txt").write_text("\n".join(IDS), encoding="utf-8")
    return Features.open(path / "f.safetensors", path / "ids.txt")


WRITERS = [write_npz, write_compressed, write_npy, write_fortran, write_safetensors, write_safetensors_with_ids]


@pytest.mark.parametrize("write", WRITERS)
def test_rows_are_found_by_their_ids(write: Callable[[Path], Features], tmp_path: Path):
    features = write(tmp_path)
    assert (len(features), features.size) == (4, 6)
    assert "Zürich" in features
    assert "Bern" not in features
    assert np.array_equal(features.rows(["Zürich", "cat", "cat"]), ROWS[[3, 0, 0]])
    features.check(IDS, size=6)


@pytest.mark.parametrize("write", [write for write in WRITERS if write is not write_compressed])
def test_rows_stay_in_the_file(write: Callable[[Path], Features], tmp_path: Path):
    assert isinstance(write(tmp_path)._rows, np.memmap)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.uint8])
def test_other_numbers_are_read_as_float32(dtype, tmp_path: Path):
    np.savez(tmp_path / "f.npz", ids=np.array([7, 9]), feats=np.array([[1, 2], [3, 4]], dtype))
    found = Features.open(tmp_path / "f.npz").rows(["9"])
    assert found.dtype == np.float32
    assert found.tolist() == [[3, 4]]


def test_missing_features_name_some_ids():
    features = Features(IDS, ROWS, name="f.npz")
    with pytest.raises(InputError, match=r'f\.npz: no features for "bird"; add them, or leave those examples out'):
        features.check(["cat", "bird"])
    with pytest.raises(InputError, match='no features for "a", "b", "c" and 1,001 more'):
        features.check(["a", "b", "c", *(f"x{k}" for k in range(1001)), "cat"])
    with pytest.raises(InputError, match='no features for "bird"'):
        features.rows(["bird"])


def test_features_of_another_size_are_refused():
    with pytest.raises(InputError, match="6 features per image, but the model reads 2048"):
        Features(IDS, ROWS).check(IDS, size=2048)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused_where_they_are_used(value):
    rows = ROWS.copy()
    rows[1, 3] = value
    features = Features(IDS, rows)
    features.check(["cat", "42"])
    with pytest.raises(InputError, match=r'not numbers \(NaN or infinite\) for "dog"'):
        features.check(IDS)


@pytest.mark.parametrize("value", [3e38, -3e38, 2e12])
def test_features_that_are_too_large_are_refused_with_their_file(value):
    rows = ROWS.copy()
    rows[1, 3] = value
    features = Features(IDS, rows, name="f.npz")
    features.check(["cat", "42"])
    with pytest.raises(InputError, match=r'f\.npz: features as large as .* for "dog"; scale them down'):
        features.check(IDS)


def test_features_beyond_single_precision_are_refused_like_infinite_ones():
    with pytest.raises(InputError, match=r'not numbers .* for "dog"'):
        Features(IDS[:2], np.array([[1.0], [1e200]])).check(IDS[:2])


def test_standardisation_is_that_of_the_given_ids_alone():
    features = Features(IDS, ROWS)
    mean, deviation = features.standardisation(["cat", "42"])
    assert mean == pytest.approx(ROWS[[0, 2]].mean(0), abs=1e-6)
    assert deviation == pytest.approx(ROWS[[0, 2]].std(0), abs=1e-6)
    assert mean != pytest.approx(ROWS.mean(0), abs=1e-3)


def test_a_feature_that_never_changes_is_not_divided_by_nothing():
    rows = ROWS.copy()
    rows[:, 2] = 0.1
    rows[:, 4] = 0
    _, deviation = Features(IDS, rows).standardisation(IDS)
    assert deviation[2] == deviation[4] == 1


def test_large_numbers_are_standardised_as_exactly_as_small_ones():
    rows = (ROWS.astype(np.float64) + 10_000).astype(np.float32)
    _, deviation = Features(IDS, rows).standardisation(IDS)
    assert deviation == pytest.approx(rows.astype(np.float64).std(0), rel=1e-4)


# -- fingerprints ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", WRITERS)
def test_a_fingerprint_is_of_what_is_stored_and_not_of_the_form(write: Callable[[Path], Features], tmp_path: Path):
    assert write(tmp_path).fingerprint(IDS) == Features(IDS, ROWS).fingerprint(IDS)


def test_a_fingerprint_changes_with_the_values_the_ids_their_number_and_the_size():
    ids = ["cat", "dog"]
    changed = ROWS.copy()
    changed[1, 5] = np.nextafter(changed[1, 5], np.float32(9))
    found = [
        Features(IDS, ROWS).fingerprint(ids),
        Features(IDS, changed).fingerprint(ids),
        Features(["cat", "cow", *IDS[2:]], ROWS).fingerprint(["cat", "cow"]),
        Features(IDS, ROWS).fingerprint(["dog", "cat"]),
        Features(IDS, ROWS).fingerprint(["cat"]),
        Features(IDS, ROWS[:, :5]).fingerprint(ids),
        Features(IDS, ROWS.astype(np.float64)).fingerprint(ids),
        Features(IDS, ROWS.view(np.int32)).fingerprint(ids),
        Features(IDS, ROWS).fingerprint([]),
    ]
    assert len(set(found)) == len(found)
    assert all(len(bytes.fromhex(one)) == 16 for one in found)
    other = ROWS.copy()
    other[2:] = 0
    assert Features(IDS, other).fingerprint(ids) == found[0]  # what no id asks for does not count


def test_a_fingerprint_of_many_ids_is_of_a_thousand_spread_over_them():
    ids = [str(number) for number in range(5000)]
    rows = np.arange(5000, dtype=np.float32)[:, None]
    expected = Features(ids, rows).fingerprint(ids)
    counts = []
    for number in (*range(8), *range(4990, 5000)):
        changed = rows.copy()
        changed[number] += 1
        counts.append(Features(ids, changed).fingerprint(ids) != expected)
    assert [place for place, changes in enumerate(counts) if changes] == [0, 5, 8, 13]  # one in five
    assert Features([*ids[:-1], "last"], rows).fingerprint([*ids[:-1], "last"]) == expected
    assert Features(ids, rows).fingerprint(ids[:-1]) != expected


def test_a_fingerprint_of_features_that_are_not_there_is_refused():
    with pytest.raises(InputError, match='no features for "bird"'):
        Features(IDS, ROWS).fingerprint(["cat", "bird"])


@pytest.mark.parametrize(
    ("ids", "rows", "says"),
    [
        (IDS[:3], ROWS, "3 ids, but 4 rows of features; give one id per row"),
        (["a", "b", "a", "c"], ROWS, 'the id "a" is there twice'),
        (IDS, ROWS[0], "features of the form 6 float32; give ids x numbers"),
        (IDS, np.array([["x"]] * 4), "give ids x numbers"),
        (IDS, ROWS[:, :0], "give ids x numbers"),
    ],
)
def test_ids_and_rows_that_do_not_match_are_refused(ids, rows, says):
    with pytest.raises(InputError, match=says):
        Features(ids, rows)


def _truncated(path: Path) -> None:
    np.save(path, ROWS)
    path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.write_bytes(b""), "cannot be read \\(unknown format\\); make it again"),
        (lambda path: path.write_bytes(b"cat 1 2 3\n"), "unknown format"),
        (lambda path: path.write_bytes(b"PK\x03\x04 broken"), "cannot be read"),
        (_truncated, "cannot be read"),
        (lambda path: np.save(path, ROWS), "features without their ids; give a file of ids, one per line"),
        (lambda path: np.save(path, np.array([{}]), allow_pickle=True), "cannot be read .*Python objects"),
        (lambda path: path.write_bytes((10**6).to_bytes(8, "little") + b"{}"), "invalid header length"),
        (lambda path: path.write_bytes((9).to_bytes(8, "little") + b'{"feats":'), "cannot be read"),
    ],
)
def test_a_file_that_is_wrong_says_what(write, says, tmp_path: Path):
    path = tmp_path / "f.npy"
    write(path)
    with pytest.raises(InputError, match=rf"f\.npy: .*{says}"):
        Features.open(path)


def test_an_archive_without_features_is_refused(tmp_path: Path):
    np.savez(tmp_path / "f.npz", ids=np.array(IDS), vectors=ROWS)
    with pytest.raises(InputError, match='holds "ids", "vectors", but no "feats"'):
        Features.open(tmp_path / "f.npz")


def test_ids_that_cannot_be_read_are_refused(tmp_path: Path):
    np.save(tmp_path / "f.npy", ROWS)
    with pytest.raises(InputError, match=r"ids\.txt: there is no such file"):
        Features.open(tmp_path / "f.npy", tmp_path / "ids.txt")
    (tmp_path / "ids.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"ids\.txt:\d+: not UTF-8"):
        Features.open(tmp_path / "f.npy", tmp_path / "ids.txt")


def test_a_type_that_numpy_has_not_is_refused(tmp_path: Path):
    header = json.dumps({"feats": {"dtype": "BF16", "shape": [1, 1], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "f.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(InputError, match="feats of the type BF16; save float32"):
        Features.open(tmp_path / "f.safetensors")
