"""Records as Examples: keys, ids, weights, and how many references are taken; no id comes twice."""

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polyref.data import Fields, read
from polyref.errors import InputError, SettingsError
from polyref.example import JUDGEMENTS, Example, LatticeSummary, PseudoReference, Reference


@pytest.fixture
def read_records(tmp_path: Path):
    def read_them(*records: dict[str, Any], **settings: Any) -> list[Example]:
        path = tmp_path / "examples.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return list(read(str(path), **settings))

    return read_them


def test_a_record_becomes_an_example(read_records):
    [example] = read_records({"id": "cat", "source": "Katze", "references": ["a cat", "the cat"]})
    assert example == Example("cat", "Katze", (Reference("a cat"), Reference("the cat")))


@pytest.mark.parametrize("source", ["text", None, 7, [{"role": "user", "content": "hi"}], {"image": 3}, ""])
def test_a_source_is_any_json(read_records, source):
    assert read_records({"source": source, "references": ["a"]})[0].source == source


@pytest.mark.parametrize(
    ("id", "expected"),
    [("x", "x"), ("", ""), (42, "42"), (-1, "-1"), (2**70, str(2**70)), (None, "1"), ("é", "é")],
)
def test_an_id_is_a_text_or_a_whole_number(read_records, id, expected):
    assert read_records({"id": id, "source": 1, "references": ["a"]})[0].id == expected


def test_a_record_without_id_is_named_by_its_line(tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text('\n{"source": 1, "references": ["a"]}\n\n{"source": 1, "references": ["b"]}\n')
    assert [(example.id, example.line) for example in read(str(path))] == [("2", 2), ("4", 4)]


def test_references_may_have_weights(read_records):
    references = ["a", {"text": "b"}, {"text": "c", "weight": 2}, {"text": "d", "weight": 0.25, "by": "Ann"}]
    [example] = read_records({"source": 1, "references": references})
    assert example.references == (Reference("a"), Reference("b"), Reference("c", 2.0), Reference("d", 0.25))


def test_other_names_of_keys_can_be_given(read_records):
    record = {"key": 7, "prompt": "hi", "answers": ["hello"], "source": "web", "references": 5}
    [example] = read_records(record, fields=Fields("key", "prompt", "answers"))
    assert example == Example("7", "hi", (Reference("hello"),))


def test_a_missing_key_is_named_with_the_keys_that_are_there(read_records):
    with pytest.raises(InputError, match=r'references_field \(the keys here: "prompt", "replies"\)'):
        read_records({"prompt": "hi", "replies": ["hello"]})


def test_a_source_need_not_be_there_where_nobody_asks_for_it(read_records):
    assert read_records({"references": ["a"]}, require_source=False)[0].source is None


@pytest.mark.parametrize("names", [("a", "a", "b"), ("a", "b", "a"), ("b", "a", "a")])
def test_two_fields_under_one_name_are_refused(names):
    with pytest.raises(SettingsError, match='field is "a", and so is another field; name three different ones'):
        Fields(*names)


@pytest.mark.parametrize("name", ["pseudo_references", "lattice"])
def test_the_names_of_the_result_are_refused(name):
    with pytest.raises(SettingsError, match="which is kept for the result"):
        Fields(references=name)


EXPANDED = {
    "source": 1,
    "references": ["gold 1", "gold 2"],
    "pseudo_references": [
        {"text": "pseudo 1", "bleu": 97.1},
        {"text": "pseudo 2", "bleu": 50},
        {"text": "gold 1", "bleu": 100.0, "repeat": True},
    ],
    "lattice": {"sentences": "216", "log10_sentences": 2.33, "penalty": 0.6, "exact": True},
}


def test_an_expanded_record_is_read_with_its_result(read_records):
    [example] = read_records(EXPANDED)
    assert example.lattice == LatticeSummary(216, 0.6, exact=True)
    assert example.pseudo_references == (
        PseudoReference("pseudo 1", 97.1),
        PseudoReference("pseudo 2", 50.0),
        PseudoReference("gold 1", 100.0, repeat=True),
    )


@pytest.mark.parametrize(
    ("more", "judged"),
    [
        ({}, {}),
        ({"fluency": None, "content": None, "crossings": None, "risk": None}, {}),
        ({"fluency": -2.3, "content": 0.75, "crossings": 2, "risk": 1.5}, {}),
        ({"fluency": 0, "content": 1, "crossings": 2.0, "risk": 0}, {"crossings": 2}),
    ],
)
def test_a_judgement_may_be_there_or_not(read_records, more, judged):
    pseudo = {"text": "pseudo 1", "bleu": 97.1, **more}
    [example] = read_records({"source": 1, "references": ["gold 1"], "pseudo_references": [pseudo]})
    [found] = example.pseudo_references
    assert found == PseudoReference("pseudo 1", 97.1, **{**more, **judged})
    kinds = [type(getattr(found, name)) for name in JUDGEMENTS if more.get(name) is not None]
    assert kinds == [float, float, int, float][: len(kinds)]


@pytest.mark.parametrize(("limit", "pseudo"), [(1, 0), (2, 0), (3, 1), (4, 2), (5, 3), (100, 3)])
def test_a_limit_takes_all_gold_references_and_then_pseudo_references_by_rank(read_records, limit, pseudo):
    [whole], [example] = read_records(EXPANDED), read_records(EXPANDED, limit=limit)
    assert example.references == whole.references
    assert example.pseudo_references == whole.pseudo_references[:pseudo]


def test_a_limit_below_one_is_refused(read_records):
    with pytest.raises(SettingsError, match="limit is 0; give 1 or more"):
        read_records(EXPANDED, limit=0)


def test_a_file_is_read_one_example_at_a_time(tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text('{"source": 1, "references": ["a"]}\nbroken\n')
    assert next(read(str(path))).id == "1"


def record(id: object) -> str:
    return f'{{"id": "{id}", "source": 1, "references": ["a cat"]}}\n'


def ids_of(path: str) -> list[str]:
    return [example.id for example in read(path)]


@pytest.fixture
def one_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every id collides with every other."""
    monkeypatch.setattr("polyref.data.formats.format._fingerprint", lambda id: 1)


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
