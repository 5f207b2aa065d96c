"""`polyref stats`: a table for a person, an object a data set for a machine."""

import json
from pathlib import Path

import pytest

from polyref.data import read, sample_examples, write
from polyref.stats import statistics
from polyref.text import TextSettings


@pytest.fixture
def sample_file(tmp_path: Path) -> Path:
    write(sample_examples(), tmp_path / "sample.jsonl")
    return tmp_path / "sample.jsonl"


def test_a_machine_gets_an_object_a_file(run, sample_file):
    done = run("stats", sample_file, "--json")
    assert json.loads(done.out) == {"file": str(sample_file), **statistics(sample_examples())}


def test_a_person_gets_a_table_with_a_column_a_file(run, sample_file, captions_file):
    done = run("stats", sample_file, captions_file)
    lines = done.out.decode().splitlines()
    assert lines[0].split() == ["sample.jsonl", "captions.jsonl"]
    assert lines[1].split() == ["examples", "64", "3"]
    rows = {line[:40].strip(): line[40:].split() for line in lines}
    assert rows["BLEU against the others"][0] == f"{statistics(sample_examples())['overlap']['bleu']:.2f}"


def test_every_format_gives_the_same_statistics(run, sample_file, tmp_path: Path):
    expected = statistics(sample_examples())
    for name in ("in.parquet", "in.json", "in.csv", "in.src"):
        write(read(sample_file), tmp_path / name)
        found = json.loads(run("stats", tmp_path / name, "--json").out)
        assert {**found, "file": None} == {"file": None, **expected}


def test_files_of_parallel_text_named_one_by_one_are_one_data_set(run, tmp_path: Path):
    for name, content in (("de", "s\nt\n"), ("en", "a\nb\n"), ("gb", "c\n\n")):
        (tmp_path / name).write_text(content)
    done = run("stats", *[tmp_path / name for name in ("de", "en", "gb")], "--from", "parallel", "--json")
    assert json.loads(done.out)["references"] == 3


def test_the_words_are_those_of_the_options(run, sample_file):
    done = run("stats", sample_file, "--json", "--tokenizer", "whitespace", "--keep-case")
    text = TextSettings("whitespace", fold_case=False)
    assert json.loads(done.out)["vocabulary"] == statistics(sample_examples(), text)["vocabulary"]


def test_pseudo_references_have_rows_of_their_own(run, sample_file, tmp_path: Path):
    run("expand", sample_file, "-o", tmp_path / "expanded.jsonl", "-k", 6)
    assert "pseudo-references" not in run("stats", sample_file).out.decode()
    assert "pseudo BLEU, mean" in run("stats", tmp_path / "expanded.jsonl").out.decode()


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [("fluency", -2.25, "-2.25"), ("content", 0.75, "0.75"), ("crossings", 3, "3.00"), ("risk", 1.5, "1.50")],
)
def test_the_mean_of_a_judgement_is_a_row_where_there_is_one(run, name, value, shown):
    pseudo = {"text": "b", "bleu": 1, name: value}
    record = json.dumps({"references": ["a"], "pseudo_references": [pseudo]}).encode()
    rows = [line.split() for line in run("stats", "-", stdin=record).out.decode().splitlines()]
    assert [row for row in rows if row[0] == "pseudo"][3:] == [["pseudo", f"{name},", "mean", shown]]
    assert json.loads(run("stats", "-", "--json", stdin=record).out)["pseudo_references"][name] == value
    del pseudo[name]
    record = json.dumps({"references": ["a"], "pseudo_references": [pseudo]}).encode()
    assert name not in run("stats", "-", stdin=record).out.decode()


def test_a_source_is_not_needed(run):
    done = run("stats", "-", stdin=b'{"references": ["a cat", "the cat"]}\n')
    assert done.code == 0
    assert "source" not in done.out.decode()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["-", "--references-field", "captions"], '<stdin>:1: "captions" is missing'),
        (["-", "--from", "tsv"], '<stdin>:1: there is no column "reference"'),
    ],
)
def test_what_cannot_be_read_is_refused(arguments, says, run):
    done = run("stats", *arguments, stdin=b'{"references": ["a"]}\n')
    assert done.code == 2
    assert done.out == b""
    assert done.err.count("\n") == 1
    assert says in done.err


def test_files_of_one_name_are_told_apart_by_their_folders(run, captions_file, tmp_path: Path):
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.jsonl").write_bytes(captions_file.read_bytes())
    done = run("stats", tmp_path / "one/train.jsonl", tmp_path / "other/train.jsonl")
    assert done.out.split()[:2] == [b"one/train.jsonl", b"other/train.jsonl"]


def test_a_page_about_a_run_is_written_beside_the_table(run, sample_file, tmp_path: Path):
    expanded, page = tmp_path / "expanded.jsonl", tmp_path / "run.html"
    run("expand", sample_file, "-o", expanded, "-k", 6)
    done = run("stats", expanded, "-o", page)
    assert done.out == run("stats", expanded).out
    assert done.err == f"polyref: {page}: a page about 64 examples written\n"
    assert "<h1>expanded.jsonl</h1>" in page.read_text("utf-8")


def test_a_page_is_refused_where_there_is_no_run(run, sample_file, tmp_path: Path):
    refusals = {
        (sample_file, "-o", tmp_path / "run.html"): f"{sample_file}:1: the page is about a run of expand",
        (sample_file, sample_file, "-o", tmp_path / "run.html"): "--output describes one file, which is read twice",
        ("-", "-o", tmp_path / "run.html"): "--output describes one file, which is read twice; name one file",
        (sample_file, "-o", tmp_path / "run.pdf"): 'unknown suffix ".pdf"',
    }
    for arguments, says in refusals.items():
        done = run("stats", *arguments)
        assert done.code == 2 and says in done.err
    assert [path.name for path in tmp_path.iterdir()] == [sample_file.name]
