"""An id that comes twice is noticed, and nothing else is taken for it."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyref.data import read
from polyref.data.formats import format as seen
from polyref.errors import InputError


def record(id: object) -> str:
    return f'{{"id": "{id}", "source": 1, "references": ["a cat"]}}\n'


def ids_of(path: str) -> list[str]:
    return [example.id for example in read(path)]


@pytest.fixture
def one_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every id collides with every other."""
    monkeypatch.setattr(seen, "_fingerprint", lambda id: 1)


@pytest.mark.usefixtures("one_fingerprint")
def test_two_ids_with_one_fingerprint_are_no_duplicate(tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(map(record, "abc")) + '{"source": 1, "references": ["no id"]}\n')
    assert ids_of(str(path)) == ["a", "b", "c", "4"]


@pytest.mark.usefixtures("one_fingerprint")
def test_a_duplicate_behind_a_collision_names_its_own_first_line(tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(map(record, "abcb")))
    with pytest.raises(InputError, match=r':4: the id "b" comes twice \(first on line 2\)'):
        ids_of(str(path))


@pytest.mark.parametrize("repeated", [0, 511, 512, 2999])
def test_a_duplicate_is_noticed_after_the_table_has_grown(repeated, tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(map(record, [*range(3000), repeated])))
    with pytest.raises(InputError, match=rf":3001: .* comes twice \(first on line {repeated + 1}\)"):
        ids_of(str(path))


def test_many_different_ids_are_all_read(tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(map(record, range(3000))))
    assert ids_of(str(path)) == [str(number) for number in range(3000)]


def test_a_duplicate_on_standard_input_is_refused_without_the_first_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((record("a") * 2).encode())))
    with pytest.raises(InputError, match=r'^<stdin>:2: the id "a" comes twice; give each example'):
        ids_of("-")


@pytest.fixture
def pipe_with_a_duplicate() -> Iterator[str]:
    """What a shell's <(...) gives: a path that can be read once."""
    reading, writing = os.pipe()
    os.write(writing, (record("a") + record("b") + record("a")).encode())
    os.close(writing)
    yield f"/dev/fd/{reading}"
    os.close(reading)


def test_a_duplicate_in_a_pipe_that_cannot_be_read_again_is_refused_all_the_same(pipe_with_a_duplicate: str):
    with pytest.raises(InputError, match=':3: the id "a" comes twice'):
        ids_of(pipe_with_a_duplicate)
