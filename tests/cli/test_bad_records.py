"""Bad records: refused before the work begins, or set aside while the run goes on."""

import gzip
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from malformed_formats import parquet

GOOD = [f'{{"id": "g{n}", "source": "s", "references": ["a cat sleeps", "the cat is asleep"]}}' for n in range(4)]
BAD = {
    '{"id": "b0", "source"': "broken JSON: Expecting ':' delimiter at column 22",
    '{"id": "b1", "source": "s"}': '"references" is missing',
    '{"id": "b2", "source": "s", "references": ["a", " "]}': "reference 2 is blank",
    '{"id": "g0", "source": "s", "references": ["a"]}': 'the id "g0" comes twice',
    '{"id": "b3", "source": "\\udc80", "references": ["a"]}': '"source" holds half a surrogate pair',
    json.dumps({"source": "s", "references": ["x" * 900]}): "the line is longer than 900 bytes",
}
TOO_MUCH = json.dumps({"source": "s", "references": ["a"] * 1001})


def mixed() -> list[str]:
    bad = list(BAD)
    return [GOOD[0], *bad[:2], GOOD[1], GOOD[2], *bad[2:], GOOD[3]]


def set_aside(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(mixed()) + "\n")
    return path


VERBS = {"expand": ["-o"], "convert": []}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("is_pipe", [False, True], ids=["file", "pipe"])
def test_bad_records_are_set_aside_and_the_run_goes_on(verb, is_pipe, run, file, tmp_path: Path):
    arguments = [*VERBS[verb], tmp_path / "out.jsonl", "--skip-bad", tmp_path / "bad.jsonl", "--max-line-bytes", 900]
    given = "-" if is_pipe else file
    done = run(verb, given, *arguments, "--json", stdin=file.read_bytes() if is_pipe else b"")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["not_read"] == {"bad records": 6}
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        f"g{n}" for n in range(4)
    ]
    found = set_aside(tmp_path / "bad.jsonl")
    assert [one["line"] for one in found] == [2, 3, 6, 7, 8, 9]
    assert [one["record"] for one in found] == [*list(BAD)[:-1], list(BAD)[-1][:900]]
    for one, reason in zip(found, BAD.values(), strict=True):
        assert one["reason"] == reason
    done = run(verb, file, *arguments)
    assert done.err == f"polyref: {file}: not read: bad records (6)\n"


def test_the_number_of_workers_changes_no_byte(run_apart, tmp_path: Path):
    lines = [line for number in range(300) for line in (json.dumps({"source": number, "references": ["a b"]}), "{")]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, TOO_MUCH]))
    for workers in (1, 2):
        done = run_apart(
            "expand", tmp_path / "in.jsonl", "-o", tmp_path / f"out{workers}", "--align", "hard", "--engine", "plain",
            "--workers", workers, "--skip-bad", tmp_path / f"bad{workers}",
        )  # fmt: skip
        assert done.code == 0, done.err
    for name in ("out", "bad"):
        assert (tmp_path / f"{name}1").read_bytes() == (tmp_path / f"{name}2").read_bytes()
    assert len(set_aside(tmp_path / "bad1")) == 301
    assert set_aside(tmp_path / "bad1")[-1]["reason"] == "one example has 1,001 references"


@pytest.mark.parametrize(
    ("name", "content", "line", "reason", "record"),
    [
        ("in.csv", b"source,reference\ns,a\nt\nu,b\n", 3, "the row has 1 cell, but the header has 2", '[["t"]]'),
        ("in.tsv", b"source\treference\ns\ta\nt\t \nu\tb\n", 3, "the reference is blank", '[["t", " "]]'),
        ("in.csv", b"source,ref0,ref1\ns,a,\nt,,\nu,b,\n", 3, "all references are blank", '[["t", "", ""]]'),
        (
            "in.parquet",
            parquet(**{"source": ["s", "t", "u"], "references": [["a"]] * 3, "x:json": ["1", "{", "2"]}),
            2,
            '"x:json" is not JSON',
            '{"source": "t", "references": ["a"], "x:json": "{"}',
        ),
        (
            "in.parquet",
            parquet(source=["s", "t" * 900, "u"], references=[["a"]] * 3),
            2,
            "the row has 935 bytes as JSON, and 900 are the most",
            json.dumps({"source": "t" * 900, "references": ["a"]}),
        ),
        (
            "in.json",
            json.dumps(
                {
                    "images": [{"id": n} for n in (1, 2, 3)],
                    "annotations": [{"image_id": n, "caption": " " if n == 2 else "a"} for n in (1, 2, 3)],
                }
            ).encode(),
            2,
            "reference 1 is blank",
            '{"id": 2, "source": 2, "references": [" "], "annotation_ids": [null]}',
        ),
    ],
)
def test_a_bad_record_of_any_format_is_set_aside(name, content, line, reason, record, run, tmp_path: Path):
    (tmp_path / name).write_bytes(content)
    arguments = (tmp_path / name, tmp_path / "out.jsonl", "--max-line-bytes", 900)
    done = run("convert", *arguments)
    assert done.code == 2
    assert reason in done.err
    assert f":{line}: " in done.err
    done = run("convert", *arguments, "--skip-bad", tmp_path / "bad")
    assert done.code == 0, done.err
    assert set_aside(tmp_path / "bad") == [{"line": line, "reason": reason, "record": record}]
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 2


def test_a_line_of_parallel_text_without_references_is_set_aside(run, tmp_path: Path):
    for name, content in {"in.src": "s\nt\nu\n", "in.ref0": "a\n\nb\n", "in.ref1": "c\n \n\n"}.items():
        (tmp_path / name).write_text(content)
    done = run("convert", tmp_path / "in.src", tmp_path / "out.jsonl", "--skip-bad", tmp_path / "bad")
    assert done.code == 0, done.err
    [one] = set_aside(tmp_path / "bad")
    assert (one["line"], one["record"]) == (2, '["t", "", " "]')


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{\n{"source": 1}\n', "in:1: every record is bad, the first one since: broken JSON"),
        (gzip.compress(GOOD[0].encode() * 99)[:-9], "the gzip data ends too early"),
        (b"", "the file is empty"),
    ],
    ids=["all bad", "cut off", "empty"],
)
def test_what_is_wrong_with_the_file_as_a_whole_is_refused_all_the_same(verb, content, says, run, tmp_path: Path):
    (tmp_path / "in").write_bytes(content)
    done = run(verb, tmp_path / "in", *VERBS[verb], tmp_path / "out.jsonl", "--skip-bad", tmp_path / "bad")
    assert done.code == 2
    assert says in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["in.jsonl", "out.jsonl", "-"])
def test_bad_records_have_a_file_of_their_own(verb, name, run, file, tmp_path: Path):
    bad = name if name == "-" else tmp_path / name
    done = run(verb, file, *VERBS[verb], tmp_path / "out.jsonl", "--skip-bad", bad)
    assert done.code == 2
    assert "choose another name" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("bad", ["{", GOOD[0], TOO_MUCH], ids=["broken", "an id twice", "too much"])
def test_a_bad_last_line_is_refused_before_the_work_begins(bad, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("polyref.scale.workers.expand_chunk", None)
    (tmp_path / "in.jsonl").write_text("\n".join([*GOOD, bad]))
    done = run("expand", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl")
    assert done.code == 2
    assert f"in.jsonl:{5}: " in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_line_that_is_not_utf_8_is_set_aside_with_its_bytes_escaped(run, tmp_path: Path):
    (tmp_path / "in.jsonl").write_bytes(GOOD[0].encode() + b"\n\xff{}\n" + GOOD[1].encode())
    done = run("expand", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl", "--skip-bad", tmp_path / "bad")
    assert done.code == 0, done.err
    [one] = set_aside(tmp_path / "bad")
    assert one == {"line": 2, "reason": "not UTF-8 at byte 1 of the line", "record": "\\xff{}"}


def test_bad_records_do_not_become_references_of_the_input(run, tmp_path: Path):
    for name in ("in.src", "in.ref0"):
        (tmp_path / name).write_text("a\n")
    done = run("convert", tmp_path / "in.src", tmp_path / "out.jsonl", "--skip-bad", tmp_path / "in.ref1")
    assert done.code == 2
    assert "which would be read as references; choose another name" in done.err


@pytest.mark.parametrize(
    ("arguments", "redirected"),
    [
        (["b.jsonl", "--skip-bad", "mix"], ">mix"),
        (["b.jsonl", "--skip-bad", "/dev/stdout"], ">mix"),
        (["-", "-o", "o.jsonl", "--skip-bad", "b.jsonl"], "<b.jsonl"),
        (["-", "-o", "b.jsonl"], "<b.jsonl"),
    ],
)
def test_a_redirected_channel_is_not_written_over(arguments, redirected, tmp_path: Path):
    content = "\n".join(mixed()).encode()
    (tmp_path / "b.jsonl").write_bytes(content)
    line = shlex.join([sys.executable, "-m", "polyref", "expand", *arguments]) + redirected
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True)
    assert done.returncode == 2
    assert b"choose another name" in done.stderr
    assert (tmp_path / "b.jsonl").read_bytes() == content
