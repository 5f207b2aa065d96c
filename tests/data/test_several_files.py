"""Several files one after the other, and a folder of shards, are read as one data set."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from polyref.data import Input, ReadSettings, read, write
from polyref.data.corpus import indexed
from polyref.errors import InputError


def record(**values: object) -> str:
    return json.dumps({"source": "s", "references": ["a cat", "the cat"], **values}) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "shards"
    place.mkdir()
    (place / "00001.jsonl").write_text(record(source="third"))
    (place / "00000.jsonl").write_text(record(source="first") + "\n" + record(source="second"))
    (place / "_manifest.jsonl").write_text("not an example\n")
    (place / ".00002.jsonl.part").write_text("nor this")
    return place


def test_a_folder_is_read_in_the_order_of_names(folder):
    examples = list(read(folder))
    assert [example.source for example in examples] == ["first", "second", "third"]
    assert [example.id for example in examples] == ["1", "3", "4"]  # lines go on from one file to the next
    with indexed(Input.of(folder), folder=folder.parent / "indexes") as corpus:
        assert [corpus.source(number) for number in range(len(corpus))] == ["first", "second", "third"]


def test_files_may_be_named_one_by_one(folder, tmp_path):
    files = sorted(folder.glob("0*.jsonl"))
    assert list(read(files)) == list(read(folder))
    write(read(files[0]), tmp_path / "a.parquet")
    write([replace(example, id="last") for example in read(files[1])], tmp_path / "b.csv")
    mixed = read([tmp_path / "a.parquet", tmp_path / "b.csv"])
    assert [(example.id, example.source) for example in mixed] == [("1", "first"), ("2", "second"), ("last", "third")]


def test_a_fault_names_where_it_is(folder):
    (folder / "00001.jsonl").write_text(record() + '{"source": "s", "references": []}\n')
    with pytest.raises(InputError, match=r'"references" is empty') as error:
        list(read(folder))
    assert (error.value.file, error.value.line) == (str(folder), 5)
    (folder / "00001.jsonl").write_text(record(id="3"))
    with pytest.raises(InputError, match=r'the id "3" comes twice \(first on line 3\)'):
        list(read(folder))


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(InputError, match="there are no files in this folder; name another one"):
        list(read(tmp_path))


def test_a_format_holds_for_all_files(folder):
    with pytest.raises(InputError, match=r"00000.jsonl"):
        list(Input.of(folder, ReadSettings("parquet")).examples())
