"""Weights come back as they were; those of another model are refused by name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import small_captioner, small_translator

from polyref.errors import InputError, OutputError
from polyref.model.weights import copy_weights, load_weights, save_weights


@pytest.mark.parametrize(
    "make", [small_translator, small_captioner, lambda seed: small_translator(seed=seed, tied=True)]
)
def test_weights_come_back_as_they_were(make, tmp_path: Path):
    model, other = make(seed=1), make(seed=2)
    save_weights(model, tmp_path / "weights.safetensors")
    load_weights(other, tmp_path / "weights.safetensors")
    for name, weight in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], weight), name
    assert [path.name for path in tmp_path.iterdir()] == ["weights.safetensors"]


def test_a_vocabulary_that_does_not_fit_is_said_with_both_shapes(tmp_path: Path):
    path = tmp_path / "weights.safetensors"
    save_weights(small_translator(words=11), path)
    with pytest.raises(InputError) as caught:
        load_weights(small_translator(words=13), path)
    assert str(caught.value) == (
        f"{path}: words.output is 11 x 12 in the file, but 13 x 12 in the model; "
        "open it with the vocabulary and the settings that it was trained with"
    )


def test_a_model_that_did_not_fit_is_left_as_it_was(tmp_path: Path):
    save_weights(small_translator(words=11, seed=1), tmp_path / "weights.safetensors")
    model = small_translator(words=13)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with pytest.raises(InputError):
        load_weights(model, tmp_path / "weights.safetensors")
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


def test_weights_that_are_missing_or_too_many_are_named(tmp_path: Path):
    path = tmp_path / "weights.safetensors"
    save_weights(small_translator(), path)
    weights = load_file(path)
    save_file({**weights, "spare": torch.zeros(1)}, path)
    with pytest.raises(InputError, match="spare is not in the model"):
        load_weights(small_translator(), path)
    del weights["attention.project.weight"]
    save_file(weights, path)
    with pytest.raises(InputError, match=r"attention\.project\.weight is missing"):
        load_weights(small_translator(), path)


def test_a_file_that_holds_no_weights_is_refused(tmp_path: Path):
    (tmp_path / "weights.safetensors").write_bytes(b"nothing")
    (tmp_path / "folder").mkdir()
    for name, says in (("weights.safetensors", ""), ("missing", "No such file"), ("folder", "it is a folder")):
        with pytest.raises(InputError, match=f"{name}: the weights cannot be read .*{says}"):
            load_weights(small_translator(), tmp_path / name)


def test_what_cannot_be_written_says_where(tmp_path: Path):
    with pytest.raises(OutputError, match=r"missing/weights\.safetensors: cannot be written"):
        save_weights(small_translator(), tmp_path / "missing" / "weights.safetensors")


@pytest.fixture
def umask():
    """Others may read what we write, as is usual."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_whoever_may_read_the_folder_may_read_the_weights(tmp_path: Path, umask):
    save_weights(small_translator(), tmp_path / "weights.safetensors")
    copy_weights(tmp_path / "weights.safetensors", tmp_path / "copy.safetensors")
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, path.name


def test_a_copy_replaces_what_was_there(tmp_path: Path):
    save_weights(small_translator(seed=1), tmp_path / "one")
    save_weights(small_translator(seed=2), tmp_path / "other")
    copy_weights(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == (tmp_path / "one").read_bytes()
    with pytest.raises(InputError, match="gone: the weights cannot be read"):
        copy_weights(tmp_path / "gone", tmp_path / "other")
    with pytest.raises(InputError, match="it is a folder"):
        copy_weights(tmp_path, tmp_path / "other")


def test_nothing_is_left_of_weights_that_could_not_be_written(tmp_path: Path, monkeypatch):
    path = tmp_path / "weights.safetensors"
    save_weights(small_translator(seed=1), path)
    save_weights(small_translator(seed=2), tmp_path / "other")
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # written, but not on the disk
    for write in (lambda: save_weights(small_translator(), path), lambda: copy_weights(tmp_path / "other", path)):
        with pytest.raises(OutputError, match="No space left"):
            write()
        assert path.read_bytes() == before
        assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "weights.safetensors"]
