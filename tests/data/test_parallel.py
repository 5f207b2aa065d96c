"""Parallel text: files whose lines belong together."""

import gzip
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from polyref.data import WriteSettings, read, write
from polyref.errors import InputError, OutputError, SettingsError
from polyref.example import Example, PseudoReference, Reference


def files(folder: Path, **contents: str) -> None:
    for name, content in contents.items():
        (folder / f"data.{name}").write_text(content, "utf-8", newline="")


def short(path: object, **settings: object) -> list[tuple[str, object, list[str]]]:
    return [
        (example.id, example.source, [reference.text for reference in example.references])
        for example in read(path, **settings)
    ]


RAGGED = {"src": "s\nt \n\n", "ref0": "a\n\nd\n", "ref1": "b\nc \n\n"}
EXPECTED = [("1", "s", ["a", "b"]), ("2", "t ", ["c "]), ("3", "", ["d"])]


def test_a_source_file_brings_its_references_with_it(tmp_path: Path):
    files(tmp_path, **RAGGED)
    assert short(tmp_path / "data.src") == EXPECTED


def test_the_beginning_of_the_names_will_do(tmp_path: Path):
    files(tmp_path, **RAGGED)
    assert short(tmp_path / "data") == EXPECTED


def test_files_can_be_named_one_by_one(tmp_path: Path):
    files(tmp_path, de="s\nt \n\n", en="a\n\nd\n", gb="b\nc \n\n")
    assert short([tmp_path / f"data.{name}" for name in ("de", "en", "gb")]) == EXPECTED


@pytest.mark.parametrize("names", [["ref"], ["ref1", "ref2", "ref3"], [f"ref{number}" for number in range(12)]])
def test_files_of_references_are_taken_in_the_order_of_their_numbers(names, tmp_path: Path):
    files(tmp_path, src="s\n", **{name: f"{name}\n" for name in names})
    assert short(tmp_path / "data.src") == [("1", "s", names)]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstandard.compress)])
def test_the_files_may_be_compressed(suffix, pack, tmp_path: Path):
    for name, content in RAGGED.items():
        (tmp_path / f"data.{name}{suffix}").write_bytes(pack(content.encode()))
    assert short(tmp_path / f"data.src{suffix}") == short(tmp_path / "data") == EXPECTED


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_last_line_may_lack_its_end(end, tmp_path: Path):
    files(tmp_path, src=f"s{end}t", ref0=f"a{end}b{end}")
    assert short(tmp_path / "data.src") == [("1", "s", ["a"]), ("2", "t", ["b"])]


def test_a_line_that_looks_like_json_is_a_text(tmp_path: Path):
    files(tmp_path, src='{"name": "x"}\n', ref0="a\n")
    assert short(tmp_path / "data.src") == [("1", '{"name": "x"}', ["a"])]


def test_several_files_of_records_are_no_parallel_text(tmp_path: Path):
    files(tmp_path, a='{"source": 1, "references": ["a"]}\n', b="x\n")
    paths = [tmp_path / "data.a", tmp_path / "data.b"]
    with pytest.raises(
        InputError, match=r"data\.a: several files are taken for parallel text, but this is something else"
    ):
        list(read(paths))
    assert len(list(read(paths, format="parallel"))) == 1


def test_counts_are_told_for_every_file_that_differs(tmp_path: Path):
    files(tmp_path, src="s\nt\nu\n", ref0="a\nb\nc\n", ref1="a\n", ref2="1\n2\n3\n4\n5\n")
    with pytest.raises(InputError) as refused:
        list(read(tmp_path / "data.src"))
    at = tmp_path / "data"
    assert str(refused.value) == (f"{at}.src: 3 lines, but {at}.ref1 has 1, {at}.ref2 has 5; give every file as many")


EXAMPLES = [
    Example("x", "s", (Reference("a"), Reference("b", 2.0)), (PseudoReference("p", 90.0),)),
    Example("y", {"n": 1}, (Reference("c"),)),
]


def test_shorter_examples_have_blank_lines_and_losses_are_said(tmp_path: Path):
    report = write(EXAMPLES, tmp_path / "out.src")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "out.src": 's\n{"n": 1}\n',
        "out.ref0": "a\nc\n",
        "out.ref1": "b\n\n",
    }
    assert report.files == [str(tmp_path / name) for name in ("out.src", "out.ref0", "out.ref1")]
    assert report.not_kept.counts == {
        "ids": 2,
        "sources that are not strings (written as JSON)": 1,
        "weights of references": 1,
        "pseudo-references": 1,
    }


def test_pseudo_references_can_be_made_references(tmp_path: Path):
    write(EXAMPLES, tmp_path / "out", settings=WriteSettings("parallel", pseudo_as_references=True))
    assert (tmp_path / "out.ref2").read_text() == "p\n\n"


def test_a_line_break_is_refused_and_nothing_is_left(tmp_path: Path):
    with pytest.raises(SettingsError, match=r'a text of example "x" has line breaks, which parallel text cannot hold'):
        write([Example("x", "s", (Reference("a\nb"),))], tmp_path / "out.src")
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_that_would_be_read_with_the_new_ones_is_refused(tmp_path: Path):
    (tmp_path / "out.ref2").write_text("older\n")
    with pytest.raises(OutputError, match=r"out\.ref2: this would be taken for a file of the new ones"):
        write(EXAMPLES, tmp_path / "out.src")
    assert [path.name for path in tmp_path.iterdir()] == ["out.ref2"]


def test_older_files_of_the_same_names_are_replaced(tmp_path: Path):
    for _ in range(2):
        write(EXAMPLES, tmp_path / "out.src")
    assert len(list(tmp_path.iterdir())) == 3


def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_is_written(tmp_path: Path):
    (tmp_path / "out.ref1").mkdir()
    with pytest.raises(OutputError, match=r"out\.ref1: this is not a file"):
        write(EXAMPLES, tmp_path / "out.src")
    assert [path.name for path in tmp_path.iterdir()] == ["out.ref1"]


KILLED = """
import os, signal, sys
from pathlib import Path
import polyref
replace, count = Path.replace, 0
def counted(*paths):
    global count
    count += 1
    if count == 2:
        os.kill(os.getpid(), getattr(signal, sys.argv[3]))
    return replace(*paths)
Path.replace = counted
polyref.write(polyref.read(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize("given", [["out.src"], ["out"], ["out.src", "out.ref0", "out.ref1"]], ids=" ".join)
@pytest.mark.parametrize("is_there", [False, True])
def test_files_of_which_some_are_new_are_all_new_for_whoever_reads_them(given, is_there, tmp_path: Path, monkeypatch):
    """The process is killed after the first of three files has its name."""
    monkeypatch.chdir(tmp_path)
    if is_there:
        write([Example("x", "s", (Reference("old"), Reference("older")))], "out.src")
    write([Example("x", "t", (Reference("new"), Reference("newer")))], "in.jsonl")
    subprocess.run([sys.executable, "-c", KILLED, "in.jsonl", "out.src", "SIGKILL"])
    assert len(list(tmp_path.glob(".*"))) == 3  # a note, and two that have no name yet
    found = read(given[0]) if len(given) == 1 else read(given, format="parallel")
    assert [(one.source, [reference.text for reference in one.references]) for one in found] == [
        ("t", ["new", "newer"])
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.ref0", "out.ref1", "out.src"]


def test_files_that_are_mixed_and_cannot_be_put_right_are_refused(tmp_path: Path):
    write([Example("x", "s", (Reference("old"), Reference("older")))], tmp_path / "out.src")
    (tmp_path / ".out.src.renaming").write_text('[["somebody else\'s", "out.src"]]')
    with pytest.raises(InputError, match=r"out\.src: a run was killed while it replaced this file and others"):
        list(read(tmp_path / "out.src"))
    write(EXAMPLES, tmp_path / "out.src")
    assert short(tmp_path / "out.src")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.ref0", "out.ref1", "out.src"]


def test_a_program_that_a_signal_ends_leaves_all_files_new(tmp_path: Path):
    """Without a handler of its own: the system would end it at once."""
    write([Example("x", "s", (Reference("old"), Reference("older")))], tmp_path / "out.src")
    write([Example("x", "t", (Reference("new"), Reference("newer")))], tmp_path / "in.jsonl")
    paths = [str(tmp_path / name) for name in ("in.jsonl", "out.src")]
    assert subprocess.run([sys.executable, "-c", KILLED, *paths, "SIGTERM"]).returncode == -signal.SIGTERM
    assert short(paths[1]) == [("1", "t", ["new", "newer"])]


def test_parallel_text_cannot_go_to_standard_output():
    with pytest.raises(OutputError, match="parallel text is several files"):
        write(EXAMPLES, "-", settings=WriteSettings("parallel"))
