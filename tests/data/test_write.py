"""Examples that a program has made are written so that they can be read again, or refused."""

import itertools
import os
from dataclasses import replace
from pathlib import Path

import pytest

import polyref
from polyref.data import WriteSettings, read, sample_examples, write
from polyref.errors import InputError, OutputError
from polyref.example import Example, Reference

NAMES = ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "out.json", "out.csv", "out.tsv", "out.src"]
GOOD = Example("x", "s", (Reference("a cat"),))


def named(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(name, NAMES)


def test_the_sample_is_there_for_everyone():
    assert len(polyref.sample_examples()) == 64
    assert all(len(example.references) > 1 for example in polyref.sample_examples())


def test_a_report_counts_what_was_written(tmp_path: Path):
    report = write(sample_examples(), tmp_path / "out.csv")
    assert (report.examples, report.references) == (64, sum(len(example.references) for example in sample_examples()))
    assert (report.pseudo_references, report.files) == (0, [str(tmp_path / "out.csv")])


def test_a_json_lines_file_is_copied_to_the_letter(tmp_path: Path):
    content = b'{"source":  1.10, "references":["a"],"x":"\\u00e9"}\n{"references": ["b"], "source": null}\n'
    (tmp_path / "in.jsonl").write_bytes(content)
    write(read(tmp_path / "in.jsonl"), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == content


@pytest.mark.parametrize(
    ("example", "says"),
    [
        (Example("x", "s", ()), '"references" is empty'),
        (Example("x", "s", (Reference(" "),)), "reference 1 is blank"),
        (Example("x", "s", (Reference("a", 0.0),)), "the weight of reference 1 is 0"),
        (Example("x", "s", (Reference("a \ud83d"),)), 'the example "x" holds half a surrogate pair'),
        (Example("x", float("nan"), (Reference("a"),)), "NaN is not a JSON value"),
    ],
)
@named("name")
def test_an_example_that_could_not_be_read_again_is_refused(name, example, says, tmp_path: Path):
    with pytest.raises(InputError, match=says):
        write([replace(GOOD, id="good"), example], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@named("name")
def test_an_id_that_comes_twice_is_refused(name, tmp_path: Path):
    with pytest.raises(InputError, match='the examples to write:2: the id "x" comes twice'):
        write([GOOD, GOOD], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@named("name")
def test_no_examples_make_no_file(name, tmp_path: Path):
    with pytest.raises(InputError, match="there are no examples to write"):
        write([], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@named("name")
@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_stops_the_writing_leaves_an_older_file_as_it_was(name, stop, tmp_path: Path):
    def examples():
        yield from sample_examples()
        raise stop

    (tmp_path / name).write_text("older")
    with pytest.raises(stop):
        write(examples(), tmp_path / name)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "older")]


@named("name")
def test_a_failure_at_the_very_end_leaves_nothing(name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)"):
        write(sample_examples(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@named("name")
def test_a_missing_folder_is_refused_whatever_the_format(name, tmp_path: Path):
    with pytest.raises(OutputError, match=r"nowhere/out.* cannot be written \(there is no folder"):
        write(sample_examples(), tmp_path / "nowhere" / name)


@pytest.mark.parametrize("name", ["out.json", "out.csv", "out.tsv"])
def test_ids_for_some_examples_only_are_refused_where_each_needs_one(name, tmp_path: Path):
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"id": "2", "source": 1, "references": ["a"]}\n\n{"source": 1, "references": ["b"]}\n')
    with pytest.raises(OutputError, match="1 of 2 examples have no id"):
        write(read(lines), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_records_with_more_keys_than_a_table_should_have_columns_are_refused(tmp_path: Path):
    lines = tmp_path / "in.jsonl"
    records = (f'{{"source": 1, "references": ["a"], "key {number}": 1}}\n' for number in range(1001))
    lines.write_text("".join(records))
    with pytest.raises(OutputError, match="more than 1,000 different keys; write them as JSON Lines"):
        write(read(lines), tmp_path / "out.parquet")


def test_pseudo_references_become_references_in_every_format(tmp_path: Path):
    expanded = list(polyref.expand(itertools.islice(sample_examples(), 2), per_example=8))
    for name in NAMES:
        write(expanded, tmp_path / name, settings=WriteSettings(pseudo_as_references=True))
        for before, after in zip(expanded, read(tmp_path / name), strict=True):
            texts = [reference.text for reference in (*before.references, *before.pseudo_references)]
            assert [reference.text for reference in after.references] == texts
            assert (after.pseudo_references, after.lattice) == ((), None)


def test_expanded_examples_survive_every_format_that_can_hold_them(tmp_path: Path):
    settings = polyref.ExpandSettings(per_example=8, shortfall="repeat")
    write(polyref.expand(itertools.islice(sample_examples(), 5), settings=settings), tmp_path / "first.jsonl")
    expected = list(read(tmp_path / "first.jsonl"))
    for name in NAMES[:-1]:
        write(expected, tmp_path / name)
        assert list(read(tmp_path / name)) == expected, name
