"""What goes into a format comes out of it again: every text, weight, id, source, unknown key and result."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from made_examples import BREAKS, LETTERS, read_whole, record_lists, sentences, texts, write_lines

from polyref.data import WriteSettings, read, sample_examples, write
from polyref.data.formats import FORMATS
from polyref.data.writing import WriteReport

HOLDS_ALL = {
    "jsonl": ("out.jsonl", {}),
    "gzip": ("out.jsonl.gz", {}),
    "zstd": ("out.jsonl.zst", {}),
    "Parquet": ("out.parquet", {}),
    "COCO": ("out.json", {}),
    "COCO in zstd": ("out.json.zst", {}),
    "Karpathy": ("out.json", {"format": "karpathy"}),
    "CSV": ("out.csv", {}),
    "CSV in gzip": ("out.csv.gz", {}),
}
COLUMNS = {
    "CSV columns": ("out.csv", {"reference_columns": True}),
    "TSV columns": ("out.tsv", {"reference_columns": True}),
}
few = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def not_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk is most of the time of a small file."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def convert(folder: Path, records: list[dict[str, Any]], name: str, how: dict[str, Any]) -> tuple[Path, WriteReport]:
    """The records in a file of that name, by way of JSON Lines."""
    lines = write_lines(folder / "in.jsonl", records)
    return folder / name, write(read(lines), folder / name, settings=WriteSettings(**how))


@few
@given(records=record_lists())
def test_a_format_that_holds_all_loses_nothing(records, tmp_path: Path):
    lines = write_lines(tmp_path / "in.jsonl", records)
    expected = read_whole(lines)
    for format, (name, how) in HOLDS_ALL.items():
        report = write(read(lines), tmp_path / name, settings=WriteSettings(**how))
        assert (format, read_whole(tmp_path / name)) == (format, expected)
        assert (format, report.not_kept.counts) == (format, {})


@few
@given(records=record_lists(alphabet=LETTERS, sources=texts(LETTERS)))
def test_tsv_loses_nothing_of_texts_that_it_can_hold(records, tmp_path: Path):
    out, report = convert(tmp_path, records, "out.tsv", {})
    before, after = read_whole(tmp_path / "in.jsonl"), read_whole(out)
    # A name with a tab in it can be no name of a column; that is said.
    lost = [{key for key in others if any(mark in key for mark in BREAKS)} for _, others in before]
    assert after == [
        (example, {key: value for key, value in others.items() if key not in of_one})
        for (example, others), of_one in zip(before, lost, strict=True)
    ]
    assert sum(report.not_kept.counts.values()) == sum(map(len, lost))


@few
@given(records=record_lists(alphabet=LETTERS, sources=texts(LETTERS)))
def test_a_column_a_reference_loses_the_weights_of_references_and_says_so(records, tmp_path: Path):
    lines = write_lines(tmp_path / "in.jsonl", records)
    before = list(read(lines))
    weights = sum(reference.weight != 1 for example in before for reference in example.references)
    expected = [
        replace(example, references=tuple(replace(reference, weight=1.0) for reference in example.references))
        for example in before
    ]
    for name, how in COLUMNS.values():
        report = write(read(lines), tmp_path / name, settings=WriteSettings(**how))
        assert (name, list(read(tmp_path / name))) == (name, expected)
        assert report.not_kept.counts.get("weights of references", 0) == weights


@few
@given(records=record_lists(alphabet=LETTERS, sources=texts(LETTERS)))
def test_parallel_text_keeps_sources_and_references_and_says_what_else_there_was(records, tmp_path: Path):
    for older in tmp_path.glob("out.*"):
        older.unlink()
    out, report = convert(tmp_path, records, "out.src", {})
    before, after = (list(read(path)) for path in (tmp_path / "in.jsonl", out))
    assert [example.source for example in after] == [example.source for example in before]
    assert [[reference.text for reference in example.references] for example in after] == [
        [reference.text for reference in example.references] for example in before
    ]
    counts = report.not_kept.counts
    assert counts.get("ids", 0) == sum("id" in record for record in records)
    assert counts.get("pseudo-references", 0) == sum(len(example.pseudo_references) for example in before)
    assert counts.get("lattice summaries", 0) == sum(example.lattice is not None for example in before)


@pytest.mark.parametrize(
    ("name", "how"),
    [*HOLDS_ALL.values(), *COLUMNS.values(), ("out.tsv", {}), ("out.src", {}), ("out.src.gz", {}), ("out.src.zst", {})],
)
def test_the_same_examples_give_the_same_bytes(name, how, tmp_path: Path):
    digests = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        report = write(sample_examples(), folder / name, settings=WriteSettings(**how))
        digests.append([hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in report.files])
    assert digests[0] == digests[1]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_sources_and_references(format, tmp_path: Path):
    """Takes a new format as well, by its place in the dict."""
    path = tmp_path / "".join(["out", *FORMATS[format].suffixes[:1]])
    form = "{}" if format == "flickr" else "source {}"  # whose sources are its ids
    examples = [replace(example, source=form.format(example.id), record=None) for example in sample_examples()]
    write(examples, path, settings=WriteSettings(format))
    found = list(read(path, format=format))
    assert [example.source for example in found] == [example.source for example in examples]
    assert [example.references for example in found] == [example.references for example in examples]


@pytest.mark.parametrize("middle", ["m.parquet", "m.json", "m.csv", "m.tsv", "m.jsonl.zst"])
@pytest.mark.parametrize("last", ["l.jsonl", "l.parquet", "l.json", "l.csv"])
def test_the_sample_goes_through_two_formats_unchanged(middle, last, tmp_path: Path):
    write(sample_examples(), tmp_path / middle)
    write(read(tmp_path / middle), tmp_path / last)
    assert list(read(tmp_path / last)) == sample_examples()


@few
@given(text=sentences(LETTERS + BREAKS))
def test_a_text_with_breaks_is_refused_or_spaced_but_never_torn(text, tmp_path: Path):
    records = [{"id": "x", "source": "s", "references": [text]}]
    for name in ("out.tsv", "out.src"):
        out, _ = convert(tmp_path, records, name, {"line_breaks": "space"})
        [example] = read(out)
        [reference] = example.references
        assert reference.text.split() == text.split()
