"""`polyref subwords`."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import caption_lines

from polyref.text.subwords import SMALLEST, Subwords

TEXT = (
    "two dogs run along the beach\n"
    "\n"
    "  spaces  before, between and behind  \n"
    "Ġ is a letter too, and so is ▁ or @@\n"
    "tabs\tand\rreturns\r\n"
    "一只猫在垫子上睡觉。 \u00a0\u2028 👍🏽 \x85 \x0b\n"
    "no token the begin the end\n"
    "the last line has no end"
)


@pytest.fixture(scope="module")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subwords") / "subwords.json"
    Subwords.learn(["two dogs run along the beach", "the dogs run"] * 3, 290).save(path)
    return path


def test_what_is_cut_is_restored_exactly(run, subwords):
    cut = run("subwords", "apply", subwords, stdin=TEXT.encode())
    assert (cut.code, cut.err) == (0, "")
    assert cut.out != TEXT.encode()
    back = run("subwords", "restore", subwords, stdin=cut.out)
    assert (back.code, back.err) == (0, "")
    assert back.out == TEXT.encode()


def test_pieces_have_one_space_between_them_and_a_letter_for_a_space(run, subwords):
    cut = run("subwords", "apply", subwords, stdin=TEXT.encode()).out.decode()
    lines = cut.split("\n")
    assert len(lines) == len(TEXT.split("\n"))
    for line in lines:
        assert line.split() == ([] if not line else line.split(" "))  # no other space, of any kind
    assert lines[0] == "two Ġdogs Ġrun Ġalong Ġthe Ġbeach"
    assert lines[1] == ""
    assert lines[2].startswith("Ġ Ġ s p ac e s Ġ Ġbe f")


def test_many_lines_are_cut_as_each_alone(run, subwords, monkeypatch, tmp_path: Path):
    import polyref.cli.subwords as module

    path = tmp_path / "text.txt.gz"
    path.write_bytes(gzip.compress((TEXT + "\n").encode() * 5))
    wanted = run("subwords", "apply", subwords, path).out
    monkeypatch.setattr(module, "_LINES_AT_ONCE", 3)
    assert run("subwords", "apply", subwords, path, "-o", tmp_path / "out.txt").out == b""
    assert (tmp_path / "out.txt").read_bytes() == wanted
    assert run("subwords", "restore", subwords, tmp_path / "out.txt").out == (TEXT + "\n").encode() * 5


def test_both_files_of_a_stream_can_be_cut(run, tmp_path: Path):
    examples = tmp_path / "examples.jsonl"
    examples.write_text(caption_lines(5))
    assert run("stream", examples, "--format", "parallel", "-o", tmp_path / "train").code == 0
    assert run("subwords", "learn", tmp_path / "train.src", "-o", tmp_path / "s.json", "--size", 270).code == 0
    options = ["--from", "lines", "-o", tmp_path / "t.json", "--size", 300]
    assert run("subwords", "learn", tmp_path / "train.trg", *options).code == 0
    for name, subwords in (("train.src", "s.json"), ("train.trg", "t.json")):
        cut = run("subwords", "apply", tmp_path / subwords, tmp_path / name).out
        assert run("subwords", "restore", tmp_path / subwords, stdin=cut).out == (tmp_path / name).read_bytes()


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ([], ["the cat", "a cat", "the dog"]),
        (["--side", "source"], ["die Katze", "[1, 2]"]),
        (["--side", "both"], ["die Katze", "the cat", "a cat", "[1, 2]", "the dog"]),
        (["--fold-case", "--side", "source"], ["die katze", "[1, 2]"]),
    ],
    ids=["target", "source", "both", "small letters"],
)
def test_either_side_of_a_data_set_is_learned_from(run, options, texts, tmp_path: Path):
    data = tmp_path / "data.jsonl"
    records = [
        {"source": "die Katze", "references": ["the cat", "a cat"], "pseudo_references": [{"text": "xx", "bleu": 1}]},
        {"source": [1, 2], "references": ["the dog"]},
    ]
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    out = tmp_path / "learned.json"
    done = run("subwords", "learn", data, data, "-o", out, "--size", SMALLEST + 9, *options, "--json")
    assert json.loads(done.out) == {"subwords": len(Subwords.load(out)), "texts": 2 * len(texts), "file": str(out)}
    assert Subwords.load(out) == Subwords.learn(texts * 2, SMALLEST + 9)


def test_sources_are_learned_from_without_references(run, tmp_path: Path):
    (tmp_path / "data.jsonl").write_text('{"source": "two dogs"}\n')
    out = tmp_path / "learned.json"
    done = run("subwords", "learn", tmp_path / "data.jsonl", "-o", out, "--size", 400, "--side", "source")
    assert done.out.decode() == f"259 subwords from 1 texts in {out}\n".replace("1 texts", "1 text")
    assert done.err == "polyref: fewer than 400: no other pair of units occurs twice\n"


def test_a_piece_that_is_no_subword_is_named_with_its_line(run, subwords, tmp_path: Path):
    (tmp_path / "cut.txt").write_text("two Ġdogs\ntwo <unk> Ġdogs\n")
    done = run("subwords", "restore", subwords, tmp_path / "cut.txt", "-o", tmp_path / "out.txt")
    assert (done.code, done.out) == (2, b"")
    assert 'cut.txt:2: "<unk>" is not one of the subwords' in done.err
    assert not (tmp_path / "out.txt").exists()


def test_spaces_around_pieces_do_not_matter_and_a_line_stays_a_line(run, subwords):
    assert run("subwords", "restore", subwords, stdin="  two   Ġdogs \nĊ two\n".encode()).out == b"two dogs\n two\n"


def test_a_dash_is_standard_output(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("two dogs\n")
    assert run("subwords", "learn", "text.txt", "-o", "there.json", "--size", 300).code == 0
    done = run("subwords", "learn", "text.txt", "-o", "-", "--size", 300, "--json")
    assert done.out == (tmp_path / "there.json").read_bytes()
    assert json.loads(done.err) == {"subwords": 259, "texts": 1, "file": "-"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "there.json"]


def test_a_link_stays_a_link_and_a_pipe_stays_a_pipe(run, tmp_path: Path):
    (tmp_path / "text.txt").write_text("two dogs\n")
    (tmp_path / "real.json").write_text("older\n")
    (tmp_path / "link.json").symlink_to("real.json")
    assert run("subwords", "learn", tmp_path / "text.txt", "-o", tmp_path / "link.json", "--size", 300).code == 0
    assert (tmp_path / "link.json").is_symlink()
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    assert run("subwords", "learn", tmp_path / "text.txt", "-o", tmp_path / "pipe", "--size", 300).code == 0
    reader.join()
    assert read == [(tmp_path / "real.json").read_bytes()]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("output", ["", ".", "missing/out.json"])
def test_a_place_that_cannot_be_written_is_noticed_before_anything_is_read(run, output, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("subwords", "learn", "gone.txt", "-o", output, "--size", 300)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith(f"polyref: {output}: ")
    assert "gone.txt" not in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["apply", "restore"])
def test_subwords_are_not_written_over(run, verb, subwords, tmp_path: Path):
    before = subwords.read_bytes()
    (tmp_path / "link.json").symlink_to(subwords)
    (tmp_path / "text.txt").write_text("two\n")
    for output in (subwords, tmp_path / "link.json"):
        done = run("subwords", verb, subwords, tmp_path / "text.txt", "-o", output)
        assert (done.code, done.out) == (2, b"")
        assert done.err == f"polyref: {output}: this is the file of subwords; choose another name for the output\n"
    assert subwords.read_bytes() == before


LONGEST_WAIT = 40.0  # seconds; only a run that hangs comes near it


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "TERM"])
def test_learning_that_is_stopped_ends_and_leaves_nothing(
    number, code, start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
):
    # One word of a million letters: it is read at once, and learned from for minutes.
    word = bytes(random.Random(1).choices(b"abcdefghijklmnopqrstuvwxyz", k=1_000_000))
    process = start("subwords", "learn", "-", "--from", "lines", "-o", tmp_path / "out.json", "--size", 30_000)
    last = time.monotonic() + LONGEST_WAIT
    while not any(tmp_path.iterdir()):
        assert time.monotonic() < last, "waited in vain"
        time.sleep(0.02)
    process.stdin.write(word)
    process.stdin.close()
    time.sleep(1)  # it learns by then; if not yet, it must end all the same
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait(LONGEST_WAIT) == code
    said = process.stderr.read()
    assert b"Traceback" not in said
    assert b"panicked" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["learn", "FILE", "-o", "out.json", "--size", "10"], "give a number from 259 to 1,000,000"),
        (["learn", "FILE", "-o", "out.json", "--size", "99999999999999999999"], "give a number from 259 to 1,000,000"),
        (["learn", "FILE", "-o", "out.json", "--size", "300", "--max-line-bytes", "0"], "--max-line-bytes is 0; give"),
        (["learn", "FILE", "-o", "FILE", "--size", "300"], "this is the input file"),
        (["learn", "LATIN", "FILE", "-o", "FILE", "--size", "300"], "this is the input file"),
        (["learn", "gone.txt", "-o", "out.json", "--size", "300"], "there is no such file"),
        (["apply", "FILE", "FILE"], "holds no subwords"),
        (["apply", "gone.json", "FILE"], "there is no such file"),
        (["apply", "SUBWORDS", "gone.txt"], "there is no such file"),
        (["apply", "SUBWORDS", "FILE", "-o", "FILE"], "this is the input file"),
        (["apply", "SUBWORDS", "LATIN"], "not UTF-8"),
        (["apply", "SUBWORDS", "FILE", "--max-line-bytes", "3"], "longer than 3 bytes"),
        (["apply", "SUBWORDS", "FILE", "--max-line-bytes", "0"], "--max-line-bytes is 0; give"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run, subwords, arguments, says, tmp_path: Path):
    (tmp_path / "text.txt").write_text("a text\n")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    names = {"FILE": tmp_path / "text.txt", "SUBWORDS": subwords, "LATIN": tmp_path / "latin.txt"}
    done = run("subwords", *[names.get(argument, argument) for argument in arguments])
    assert (done.code, done.out) == (2, b"")
    assert says in done.err
    assert done.err.count("\n") == 1
    assert not Path("out.json").exists()
