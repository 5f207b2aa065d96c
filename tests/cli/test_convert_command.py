"""`polyref convert`: from any format to any other, or one line that says why not."""

import json
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from samples import caption_lines

from polyref.data import read, sample_examples, write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_refused(done, says: str) -> None:
    assert done.code == 2, done.err
    assert done.out == b""
    assert done.err.startswith("polyref: ")
    assert done.err.count("\n") == 1
    assert says in done.err


def test_the_output_may_be_named_as_for_other_verbs(run, captions_file, tmp_path: Path):
    assert run("convert", captions_file, tmp_path / "a.csv").code == 0
    assert run("convert", captions_file, "-o", tmp_path / "b.csv").code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    done = run("convert", captions_file)
    assert (done.code, done.err) == (2, "polyref: there is an input and no output; name the output behind it\n")


def test_a_file_is_written_in_the_format_that_its_name_tells(run, captions_file, tmp_path: Path):
    expected = list(read(captions_file))
    for name in ("out.parquet", "out.json", "out.csv", "out.tsv", "out.jsonl.zst"):
        done = run("convert", captions_file, tmp_path / name)
        assert (done.code, done.err) == (0, "")
        assert done.out.decode() == f"3 examples with 9 references in {tmp_path / name}\n"
        assert list(read(tmp_path / name)) == expected


def test_parallel_text_goes_in_and_out(run, captions_file, tmp_path: Path):
    done = run("convert", captions_file, tmp_path / "out.src")
    assert done.out.decode().endswith(f"in {tmp_path / 'out.src'} to {tmp_path / 'out.ref2'}\n")
    assert done.err == (
        f"polyref: {tmp_path / 'out.src'}: not kept: ids (3), sources that are not strings (written as JSON) (3)\n"
    )
    files = [tmp_path / name for name in ("out.src", "out.ref0", "out.ref1", "out.ref2")]
    run("convert", *files, tmp_path / "named.jsonl")
    run("convert", tmp_path / "out", tmp_path / "found.jsonl")
    assert (tmp_path / "named.jsonl").read_bytes() == (tmp_path / "found.jsonl").read_bytes()
    assert (tmp_path / "named.jsonl").read_bytes().count(b"\n") == 3


def test_a_machine_gets_one_object(run, captions_file, tmp_path: Path):
    done = run("convert", captions_file, tmp_path / "out.src", "--json")
    assert done.err == ""
    assert json.loads(done.out) == {
        "examples": 3,
        "references": 9,
        "pseudo_references": 0,
        "files": [str(tmp_path / name) for name in ("out.src", "out.ref0", "out.ref1", "out.ref2")],
        "not_kept": {"ids": 3, "sources that are not strings (written as JSON)": 3},
        "not_read": {},
    }


def test_what_is_not_read_is_said(run, tmp_path: Path):
    document = {"info": {"x": 1}, "images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1, "caption": "a"}]}
    (tmp_path / "in.json").write_text(json.dumps(document))
    done = run("convert", tmp_path / "in.json", tmp_path / "out.jsonl")
    assert done.err == f'polyref: {tmp_path / "in.json"}: not read: top-level keys ("info") (1)\n'


def test_formats_can_be_named(run, tmp_path: Path, captions_file):
    done = run("convert", captions_file, "-", "--to", "csv")
    assert done.out.startswith(b"id,source:json,reference\nexample 0,0,")
    assert done.err.startswith("3 examples")
    back = run("convert", "-", "-", "--from", "csv", stdin=done.out)
    assert [json.loads(line)["id"] for line in back.out.splitlines()] == ["example 0", "example 1", "example 2"]


def test_pseudo_references_are_limited_and_made_references(run, tmp_path: Path, captions_file):
    run("expand", captions_file, "-o", tmp_path / "expanded.jsonl", "-k", 8)
    run("convert", tmp_path / "expanded.jsonl", tmp_path / "out.src", "--limit", 5, "--pseudo-as-references")
    assert (tmp_path / "out.ref4").exists()
    assert not (tmp_path / "out.ref5").exists()


def test_columns_and_field_names_are_options(run, tmp_path: Path):
    (tmp_path / "in.csv").write_text("prompt,answer\ns,one\ns,two\n")
    fields = ["--source-field", "prompt", "--references-field", "answer"]
    done = run("convert", tmp_path / "in.csv", tmp_path / "out.tsv", "--reference-columns", *fields)
    assert done.code == 0, done.err
    assert (tmp_path / "out.tsv").read_text() == "id\tprompt\tanswer0\tanswer1\n1\ts\tone\ttwo\n"


@pytest.mark.parametrize(
    ("output", "options", "says"),
    [
        ("out.txt", [], "the name does not tell the format; end it in one of .jsonl"),
        ("out.parquet.gz", [], "Parquet is compressed already"),
        ("captions.jsonl", [], "this is the input file; choose another name for the output"),
        ("nowhere/out.parquet", [], "cannot be written (there is no folder "),
        ("nowhere/out.src", [], "cannot be written (there is no folder "),
        ("out.jsonl", ["--reference-columns"], "reference columns belong to csv and tsv"),
        ("out.jsonl", ["--limit", "0"], "limit is 0; give 1 or more"),
        ("out.jsonl", ["--from", "csv"], 'there is no column "reference"'),
        ("out.jsonl", ["--from", "parquet"], "cannot be read as Parquet"),
        ("out.jsonl", ["--from", "coco"], "broken JSON: Extra data"),
        ("out.jsonl", ["--from", "parallel"], "there are no files of references"),
    ],
)
def test_a_conversion_that_makes_no_sense_is_refused(output, options, says, run, captions_file):
    assert_refused(run("convert", captions_file, captions_file.parent / output, *options), says)
    assert names(captions_file.parent) == ["captions.jsonl"]


@pytest.mark.parametrize("output", ["data", "data.src", "./data.src.gz"])
def test_the_files_of_parallel_text_are_not_written_over(output, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("src", "ref0"):
        Path(f"data.{name}").write_text("a\n")
    done = run("convert", "data.src", output, "--to", "parallel")
    assert_refused(done, "this is the input file; choose another name")
    assert names(tmp_path) == ["data.ref0", "data.src"]


def test_expand_reads_and_writes_the_other_formats(run, captions_file, tmp_path: Path):
    run("expand", captions_file, "-o", tmp_path / "expected.jsonl", "-k", 6)
    expected = list(read(tmp_path / "expected.jsonl"))
    for name in ("in.parquet", "in.csv", "in.json"):
        write(read(captions_file), tmp_path / name)
        for output in ("out.parquet", "out.csv", "out.jsonl.zst"):
            done = run("expand", tmp_path / name, "-o", tmp_path / output, "-k", 6, "--workers", 2)
            assert done.code == 0, done.err
            found = list(read(tmp_path / output))
            assert [example.pseudo_references for example in found] == [
                example.pseudo_references for example in expected
            ]
            assert [example.lattice for example in found] == [example.lattice for example in expected]


def test_lattice_reads_the_other_formats(run, captions_file, tmp_path: Path):
    expected = run("lattice", captions_file, "--json").out
    for name in ("in.parquet", "in.csv", "in.json"):
        write(read(captions_file), tmp_path / name)
        assert run("lattice", tmp_path / name, "--json").out == expected


def test_expand_says_what_its_output_cannot_hold(run, captions_file, tmp_path: Path):
    done = run("expand", captions_file, "-o", tmp_path / "out.src", "-k", 4)
    assert "out.src: not kept: ids (3)" in done.err
    machine = run("expand", captions_file, "-o", tmp_path / "out.src", "-k", 4, "--json")
    assert machine.err == ""
    assert json.loads(machine.out)["not_kept"]["ids"] == 3
    assert "pseudo-references" not in done.err  # they are references there
    assert (tmp_path / "out.ref3").exists()


def has_open_file(process, folder: Path) -> bool:
    """Whether a process writes to a file in a folder, be it one without a name."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            if str(link.readlink()).startswith(f"{folder}/"):
                return True
    return False


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at the open files of a process")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "TERM"])
@pytest.mark.parametrize("output", ["out.jsonl", "out.parquet"])
def test_a_conversion_that_is_stopped_leaves_nothing(output, number, code, start, tmp_path: Path):
    process = start("convert", "-", tmp_path / output)
    process.stdin.write(caption_lines(3).encode())
    process.stdin.flush()
    last = time.monotonic() + 60
    while not has_open_file(process, tmp_path):
        assert time.monotonic() < last, "waited in vain"
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(60) == code
    assert b"Traceback" not in process.stderr.read()
    assert names(tmp_path) == []


def test_the_sample_round_trips_on_the_command_line(run, tmp_path: Path):
    write(sample_examples(), tmp_path / "in.jsonl")
    run("convert", tmp_path / "in.jsonl", tmp_path / "middle.parquet")
    run("convert", tmp_path / "middle.parquet", tmp_path / "out.jsonl")
    before, after = ((tmp_path / name).read_text("utf-8").splitlines() for name in ("in.jsonl", "out.jsonl"))
    assert list(map(json.loads, after)) == list(map(json.loads, before))
