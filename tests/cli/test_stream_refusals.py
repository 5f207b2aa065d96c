"""`polyref stream`: what has no effect, or cannot be, is refused before anything is written."""

from __future__ import annotations

import json

import pytest

RECORDS = [
    {"id": "a", "source": "one", "references": ["a cat sleeps here", "the cat is asleep here"]},
    {"id": "b", "source": "two", "references": ["two dogs run", "dogs run along the beach"]},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--limit", 2**63], "--limit is 9223372036854775808; give a whole number from 1 to less than 2^31"),
        (["--ranks", 2**63, "--schedule", "uniform"], "there is no rank"),
        (["--epochs", 10**22, "-o", "x.{epoch}.tsv"], "give less than 2^31"),
        (["--epochs", 10**22, "--count"], "give less than 2^31"),
        (["--epoch", 2**63 - 2, "--epochs", 3], "the epoch is 9223372036854775808; give less than 2^63"),
        (["--count", "-o", "pairs.tsv"], "--count writes no pairs; leave -o out"),
        (["--count", "--start", 1], "leave --start out"),
        (["--count", "--ranks", 2], "leave --ranks out"),
        (["--gold-only", "--gold-share", 0.5], "--gold-share has no effect with"),
        (["--languages", "de,en"], "add --format parallel"),
        (["-o", "pairs.parquet"], "the name does not tell how pairs are written; give --format"),
    ],
)
def test_what_cannot_be_is_refused(run, file, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    done = run("stream", file, *options)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["captions.jsonl"]


def test_the_name_of_the_output_tells_its_format(run, file, tmp_path):
    for name in ("pairs.jsonl", "pairs.tsv", "pairs"):
        assert run("stream", file, "-o", tmp_path / name).code == 0
    assert json.loads((tmp_path / "pairs.jsonl").read_text().splitlines()[0])["gold"] is True
    assert (tmp_path / "pairs.tsv").read_text() == (tmp_path / "pairs").read_text()


def test_fresh_paths_that_are_said_again_are_counted(run, file, tmp_path):
    run("expand", file, "--keep-lattice", "-o", tmp_path / "kept.jsonl")
    few = run("stream", tmp_path / "kept.jsonl", "--fresh", 5, "--min-bleu", 100)
    assert few.code == 0
    assert "had fewer than 5 fresh paths that pass, and repeats them" in few.err
    assert "repeats them" not in run("stream", tmp_path / "kept.jsonl", "--fresh", 1, "--min-bleu", 0).err
