"""What is wrong with a file is said with its name, the line and the cure."""

import pickle
from pathlib import Path

import pytest
from malformed import GOOD, MALFORMED, Malformed, each
from malformed_formats import MALFORMED_FILES

from polyref.data import read
from polyref.errors import InputError, PolyrefError


@each(MALFORMED + MALFORMED_FILES)
def test_a_malformed_file_is_refused_with_its_name_and_line(case: Malformed, tmp_path: Path):
    path = case.write(tmp_path)
    with pytest.raises(InputError) as refused:
        list(read(path, format=case.format, max_line_bytes=case.max_line_bytes))
    assert refused.value.line == case.line
    assert str(refused.value).startswith(case.place(path))
    assert case.says in str(refused.value)
    assert refused.value.cure


def test_a_file_is_told_by_its_content_before_it_is_found_wrong(tmp_path: Path):
    for case in MALFORMED_FILES:
        if case.file == "captions.json":
            (tmp_path / "no suffix").write_bytes(case.content)
            with pytest.raises(InputError) as refused:
                list(read(tmp_path / "no suffix"))
            assert case.says in str(refused.value), case.name


def test_examples_before_the_fault_are_read(tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text(GOOD + "{\n")
    examples = read(str(path))
    assert next(examples).id == "good"
    with pytest.raises(InputError, match=":2: broken JSON"):
        next(examples)


def test_a_missing_file_is_refused_by_its_name(tmp_path: Path):
    with pytest.raises(InputError, match=r"nothing\.jsonl: there is no such file; check the path"):
        list(read(str(tmp_path / "nothing.jsonl")))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"file": "a.jsonl", "line": 17}, 'a.jsonl:17: "references" is empty; give at least one'),
        ({"file": "a.jsonl"}, 'a.jsonl: "references" is empty; give at least one'),
        ({}, '"references" is empty; give at least one'),
    ],
)
def test_an_error_reads_as_one_line_and_survives_the_way_between_processes(place, expected):
    error = InputError('"references" is empty', "give at least one", **place)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, InputError)
    assert isinstance(again, PolyrefError)
    assert str(error) == str(again) == expected
