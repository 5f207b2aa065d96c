"""Parquet as other people write it, and as they read it."""

import datetime
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyref.data import Fields, Losses, read, write
from polyref.example import Example, KeptLattice, LatticeSummary, PseudoReference, Reference


@pytest.fixture
def parquet(tmp_path: Path):
    def write_it(**columns: Any) -> Path:
        path = tmp_path / "in.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return write_it


TEXTS = [["a cat", "the cat"], ["a dog"]]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
        pa.list_(pa.struct([("text", pa.string()), ("weight", pa.float64())])),
    ],
    ids=["list", "large list", "dictionary", "structs"],
)
def test_references_may_be_any_list_of_texts(kind, parquet):
    structs = [[{"text": text} for text in row] for row in TEXTS]
    path = parquet(source=["s", "t"], references=pa.array(structs if "struct" in str(kind) else TEXTS, kind))
    assert [[reference.text for reference in example.references] for example in read(path)] == TEXTS


def test_lists_of_a_fixed_size_are_lists_too(parquet):
    path = parquet(source=["s"], references=pa.array([["a", "b"]], pa.list_(pa.string(), 2)))
    assert next(read(path)).references == (Reference("a"), Reference("b"))


def test_a_dotted_name_reaches_into_structs_and_lists_of_structs(parquet):
    path = parquet(
        translation=[{"de": "Hund", "en": "dog"}],
        sentences=[[{"raw": "a dog", "id": 1}, {"raw": "the dog", "id": 2}]],
    )
    [example] = read(path, Fields(source="translation.de", references="sentences.raw"))
    assert (example.source, example.references) == ("Hund", (Reference("a dog"), Reference("the dog")))


def test_other_columns_pass_through_as_far_as_json_holds_them(parquet):
    losses = Losses()
    path = parquet(
        source=["s"],
        references=[["a"]],
        n=[3],
        x=[0.5],
        flag=[True],
        tags=[["x", None]],
        nested=[{"a": 1, "b": None}],
        missing=pa.array([None], pa.string()),
        nan=[float("nan")],
        day=[datetime.date(2020, 1, 2)],
        price=[Decimal("1.50")],
        image=[b"\xff\xd8"],
        picture=[{"bytes": b"\xff", "path": "x.jpg"}],
    )
    [example] = read(path, losses=losses)
    assert json.loads(str(example.record)) == {
        "source": "s",
        "references": ["a"],
        "n": 3,
        "x": 0.5,
        "flag": True,
        "tags": ["x", None],
        "nested": {"a": 1, "b": None},
        "nan": None,
        "day": "2020-01-02",
        "price": "1.50",
    }
    assert len(losses.counts) == 5
    assert 'columns that JSON cannot hold ("image": binary)' in losses.counts
    assert "numbers that are not finite (read as null)" in losses.counts


def test_what_is_written_has_plain_types(tmp_path: Path):
    lines = tmp_path / "in.jsonl"
    lines.write_text(
        '{"id": 1, "source": "s", "references": ["a"], "url": "u", "n": 5, "mixed": 1, "tags": ["x"]}\n'
        '{"id": 2, "source": "t", "references": ["b", "c"], "n": 6, "mixed": "one"}\n'
    )
    write(read(lines), tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    texts = pa.list_(pa.field("element", pa.string()))
    assert [(column.name, column.type) for column in found.schema] == [
        ("id", pa.int64()),
        ("source", pa.string()),
        ("references", texts),
        ("url", pa.string()),
        ("n", pa.int64()),
        ("mixed:json", pa.string()),
        ("tags", texts),
    ]
    assert found.to_pylist()[1] == {
        "id": 2,
        "source": "t",
        "references": ["b", "c"],
        "url": None,
        "n": 6,
        "mixed:json": '"one"',
        "tags": None,
    }


def test_results_are_nested_columns(tmp_path: Path):
    pseudo = PseudoReference("a dog", 97.1), PseudoReference("a", 100.0, repeat=True)
    example = Example("x", "s", (Reference("a"), Reference("b", 2.0)), pseudo, LatticeSummary(10**40, None, exact=True))
    write([example], tmp_path / "out.parquet")
    [row] = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert row["references"] == [{"text": "a", "weight": None}, {"text": "b", "weight": 2.0}]
    assert row["pseudo_references"][0] == {"text": "a dog", "bleu": 97.1, "repeat": False}
    assert row["lattice"]["sentences"] == "1" + "0" * 40
    assert list(read(tmp_path / "out.parquet")) == [example]


def test_a_fluency_that_was_not_measured_is_null(tmp_path: Path):
    pseudo = PseudoReference("a dog", 97.1), PseudoReference("a", 100.0, fluency=-2.3145)
    example = Example("x", "s", (Reference("a"),), pseudo)
    write([example], tmp_path / "out.parquet")
    [row] = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert row["pseudo_references"] == [
        {"text": "a dog", "bleu": 97.1, "fluency": None},
        {"text": "a", "bleu": 100.0, "fluency": -2.3145},
    ]
    assert list(read(tmp_path / "out.parquet")) == [example]


def test_judgements_and_rules_have_columns_of_their_own(tmp_path: Path):
    pseudo = PseudoReference("a dog", 97.1, content=0.5, crossings=2, risk=0.25), PseudoReference("a", 100.0)
    kept = KeptLattice(((1,),), "words", True, rules=((0, -1, 0),))
    summary = LatticeSummary(2, None, exact=True)
    examples = [
        Example("x", "s", (Reference("a"),), pseudo, replace(summary, kept=kept)),
        Example("y", "t", (Reference("b"),), (), replace(summary, kept=replace(kept, rules=None))),
    ]
    write(examples, tmp_path / "out.parquet")
    schema = pq.read_table(tmp_path / "out.parquet").schema
    columns = [(column.name, str(column.type)) for column in schema.field("pseudo_references").type.value_type]
    assert columns[2:] == [("content", "double"), ("crossings", "int32"), ("risk", "double")]
    assert str(schema.field("lattice").type.field("kept").type).count("list<element: int32>") == 2
    assert list(read(tmp_path / "out.parquet")) == examples


def test_a_fluency_that_is_not_finite_is_none_which_is_said(parquet):
    pseudo = [[{"text": "a dog", "bleu": 97.1, "fluency": float("nan")}]]
    losses = Losses()
    [example] = read(parquet(source=["s"], references=[["a"]], pseudo_references=pseudo), losses=losses)
    assert example.pseudo_references == (PseudoReference("a dog", 97.1),)
    assert losses.counts == {"numbers that are not finite (read as null)": 1}


def test_a_file_is_read_a_batch_at_a_time(tmp_path: Path):
    lines = [f'{{"source": {number}, "references": ["a"]}}\n' for number in range(3000)]
    (tmp_path / "in.jsonl").write_text("".join(lines))
    write(read(tmp_path / "in.jsonl"), tmp_path / "out.parquet")
    records = read(tmp_path / "out.parquet")
    assert next(records).source == 0
    assert sum(1 for _ in records) == 2999
