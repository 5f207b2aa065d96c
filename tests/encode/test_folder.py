"""An encoder on disk: its words, what is read back, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from small_encoders import WORDS, write_encoder

from polyref.encode import open_encoder
from polyref.encode.context import (
    ContextEncoder,
    Vocabulary,
    pieces,
    read_config,
    read_folder,
    write_config,
    write_folder,
)
from polyref.errors import InputError, PolyrefError, SettingsError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "encoder")


def change(folder: Path, **facts: Any) -> None:
    """Other facts in the description; None takes one away."""
    config = json.loads((folder / "config.json").read_text()) | facts
    (folder / "config.json").write_text(json.dumps({name: fact for name, fact in config.items() if fact is not None}))


def test_what_is_written_is_read_back(folder: Path):
    found = read_folder(folder)
    assert found.vocabulary == Vocabulary(tuple(WORDS), len(WORDS))
    assert found.config["baseline"] == 0.1
    assert {name: array.dtype for name, array in found.weights.items()} == dict.fromkeys(found.weights, np.float16)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "vocabulary.txt", "weights.safetensors"]


def test_the_vocabulary_is_text_with_a_word_a_line(folder: Path):
    assert (folder / "vocabulary.txt").read_text().splitlines() == WORDS


def test_words_with_odd_line_ends_in_them_come_back(tmp_path: Path):
    words = ["the", "a\rb", "\u2028", "\x85", " ", "łódź", "\r"]
    assert read_folder(write_encoder(tmp_path / "odd", words)).vocabulary.words == tuple(words)


def test_the_hash_follows_weights_words_and_the_share_of_the_own_vector(tmp_path: Path):
    def hash_of(name: str, **choices: Any) -> str:
        return read_folder(write_encoder(tmp_path / name, **choices)).hash

    same = {hash_of("one"), hash_of("two"), hash_of("calibrated", baseline=0.5)}
    assert len(same) == 1
    others = {
        hash_of("seed", seed=1),
        hash_of("words", words=[*WORDS[:-1], "emu"]),
        hash_of("share", word_share=0.5),
    }
    assert len(others | same) == 4


def test_a_folder_is_opened_by_its_path(folder: Path):
    encoder = open_encoder(str(folder))
    assert isinstance(encoder, ContextEncoder)
    assert encoder.name == str(folder)
    assert encoder.baseline == 0.1


def test_what_is_no_encoder_is_refused_with_the_choices(tmp_path: Path):
    with pytest.raises(SettingsError, match=r'there is no encoder ".*/nothing"; give english, the folder of one'):
        open_encoder(str(tmp_path / "nothing"))


def test_a_folder_without_a_description_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"there is no config.json in it; give a folder in which training"):
        open_encoder(str(tmp_path))


@pytest.mark.parametrize("content", ["", "{", "[]", "1", '"text"', "{}", '{"format": 99}', "[" * 100_000, "\ufeff{}"])
def test_a_description_that_is_none_is_refused(folder: Path, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(InputError, match=r"config.json: .*take another copy, or train it again"):
        read_folder(folder)


@pytest.mark.parametrize(
    "name", ["vector_size", "state_size", "buckets", "words", "predicted", "baseline", "word_share", "format"]
)
@pytest.mark.parametrize("fact", [None, "many", [], 1e400, float("nan"), -5, 2.5, 10**40])
def test_a_description_with_a_fact_that_makes_no_sense_is_refused(folder: Path, name, fact):
    change(folder, **{name: fact})
    with pytest.raises(InputError, match="train it again"):
        read_folder(folder)


@pytest.mark.parametrize(
    "name", ["vector_size", "state_size", "buckets", "words", "predicted", "vocabulary_hash", "weights_hash"]
)
def test_a_description_of_other_weights_is_refused(folder: Path, name):
    change(folder, **{name: 7})
    with pytest.raises(InputError, match="train it again"):
        read_folder(folder)


@pytest.mark.parametrize("cutoffs", [[], [0, 5], [5, 5], [9, 3], [3, 99], ["a"], "3", 3, [3.0, 9.0], [3], [2, 9]])
def test_clusters_that_do_not_fit_are_refused(tmp_path: Path, cutoffs):
    folder = write_encoder(tmp_path, cutoffs=[3, 9])
    assert read_folder(folder)
    change(folder, cutoffs=cutoffs)
    with pytest.raises(InputError, match="train it again"):
        read_folder(folder)


def test_an_output_of_another_kind_is_refused(folder: Path):
    change(folder, cutoffs=[3, 9])
    with pytest.raises(InputError, match=r"`output.head.weight` should have shape \(5, 16\), and has nothing"):
        read_folder(folder)


@pytest.mark.parametrize("file", ["weights.safetensors", "vocabulary.txt"])
@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "gone", "not UTF-8"])
def test_damaged_files_are_named(folder: Path, file, damage):
    path = folder / file
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        flipped = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        path.write_bytes(
            {"cut": content[:-9], "empty": b"", "flipped": flipped, "not UTF-8": b"\xff" + content}[damage]
        )
    with pytest.raises(InputError) as refused:
        read_folder(folder)
    assert file in str(refused.value) or damage == "not UTF-8"
    assert str(folder) in str(refused.value)
    assert "take another copy, or train it again" in str(refused.value)


def test_weights_that_are_no_safetensors_are_refused_even_with_the_right_hash(folder: Path):
    import hashlib

    (folder / "weights.safetensors").write_bytes(b"nonsense")
    change(folder, weights_hash=hashlib.sha256(b"nonsense").hexdigest()[:16])
    with pytest.raises(InputError, match=r"weights.safetensors: cannot be read"):
        read_folder(folder)


@pytest.mark.parametrize("name", ["vectors", "forward.state", "output.bias", "centre.own"])
def test_weights_that_are_missing_are_named(folder: Path, tmp_path: Path, name):
    arrays = load_file(folder / "weights.safetensors")
    del arrays[name]
    found = read_folder(folder)
    write_folder(tmp_path / "less", found.config, found.vocabulary, arrays)
    with pytest.raises(InputError, match=f"`{name}` should have shape .* and has nothing"):
        read_folder(tmp_path / "less")


def test_a_description_alone_can_be_changed(folder: Path):
    before = read_folder(folder).hash
    write_config(folder, read_config(folder) | {"baseline": 0.25})
    assert read_folder(folder).config["baseline"] == 0.25
    assert read_folder(folder).hash == before
    assert not list(folder.glob("*.partial"))


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path):
    save_file({"a": np.zeros(1)}, tmp_path / "weights.safetensors")
    with pytest.raises(PolyrefError):
        open_encoder(str(tmp_path / "weights.safetensors"))


# -- words ----------------------------------------------------------------------------------------------------------

COUNTS = Counter({"cat": 5, "the": 9, "dog": 5, "zebra": 2, "once": 1})


def test_predicted_words_come_by_frequency_and_ties_by_the_alphabet():
    vocabulary = Vocabulary.from_counts(COUNTS, 2)
    assert vocabulary.words == ("the", "cat", "dog", "zebra")
    assert vocabulary.predicted == 4


def test_words_that_occur_less_often_than_the_cut_off_are_left_out():
    assert Vocabulary.from_counts(COUNTS, 3).words == ("the", "cat", "dog")
    assert Vocabulary.from_counts(COUNTS, 5).words == ("the", "cat", "dog")
    assert Vocabulary.from_counts(COUNTS, 6).words == ("the",)
    assert Vocabulary.from_counts(COUNTS, 10).words == ()


def test_words_that_can_only_be_read_stand_behind_and_each_once():
    vocabulary = Vocabulary.from_counts(COUNTS, 5, ["cat", "zebra", "emu", "zebra", "ant"], most=5)
    assert vocabulary.words == ("the", "cat", "dog", "zebra", "emu")
    assert vocabulary.predicted == 3


def test_a_limit_on_readable_words_does_not_cut_the_predicted_ones():
    assert Vocabulary.from_counts(COUNTS, 5, ["emu"], most=1).words == ("the", "cat", "dog")


def test_a_word_is_found_as_it_is_first_and_then_in_lower_case():
    vocabulary = Vocabulary(("the", "The", "cat"), 2)
    assert [vocabulary.find(word) for word in ("the", "The", "THE", "Cat", "emu")] == [0, 1, 0, 2, -1]


def test_the_hash_depends_on_the_words_and_their_order():
    hashes = {Vocabulary(words, 1).hash for words in (("a", "b"), ("b", "a"), ("ab",), ("a",))}
    assert len(hashes) == 4


def test_pieces_are_runs_of_three_to_five_letters_with_the_edges_marked():
    expected = [crc32(piece.encode()) % 1000 for piece in ("<ab", "ab>", "<ab>")]
    assert list(pieces("ab", 1000)) == expected


@given(word=st.text(max_size=60), buckets=st.integers(1, 5000))
def test_every_word_has_a_piece_and_all_are_in_buckets(word, buckets):
    found = pieces(word, buckets)
    assert found
    assert all(0 <= bucket < buckets for bucket in found)


def test_of_a_very_long_word_only_the_beginning_counts():
    assert pieces("a" * 40 + "b" * 1000, 4096) == pieces("a" * 40, 4096)
    assert pieces("a" * 39 + "b", 4096) != pieces("a" * 40, 4096)


@pytest.mark.parametrize("name", ["vectors", "forward.state", "output.bias", "centre.own"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, np.float32, np.int16], ids=str)
def test_weights_that_are_not_numbers_or_of_another_type_are_refused(folder: Path, tmp_path: Path, name, wrong):
    arrays = load_file(folder / "weights.safetensors")
    if isinstance(wrong, float):
        arrays[name].flat[-1] = wrong
    else:
        arrays[name] = arrays[name].astype(wrong)
    found = read_folder(folder)
    write_folder(tmp_path / "other", found.config, found.vocabulary, arrays)
    with pytest.raises(InputError, match=f"`{name}` (holds numbers that are not finite|should be float16, and is )"):
        open_encoder(str(tmp_path / "other"))
