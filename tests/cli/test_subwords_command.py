"""`polyref subwords`."""

from __future__ import annotations

import gzip
import json
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
    assert done.err == "polyref: fewer than 400: no other pair of units comes twice\n"


def test_a_piece_that_is_no_subword_is_named_with_its_line(run, subwords, tmp_path: Path):
    (tmp_path / "cut.txt").write_text("two Ġdogs\ntwo <unk> Ġdogs\n")
    done = run("subwords", "restore", subwords, tmp_path / "cut.txt", "-o", tmp_path / "out.txt")
    assert (done.code, done.out) == (2, b"")
    assert 'cut.txt:2: "<unk>" is none of the subwords' in done.err
    assert not (tmp_path / "out.txt").exists()


def test_spaces_around_pieces_do_not_matter_and_a_line_stays_a_line(run, subwords):
    assert run("subwords", "restore", subwords, stdin="  two   Ġdogs \nĊ two\n".encode()).out == b"two dogs\n two\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["learn", "FILE", "-o", "out.json", "--size", "10"], "give 259 or more"),
        (["learn", "FILE", "-o", "FILE", "--size", "300"], "this is the input file"),
        (["learn", "gone.txt", "-o", "out.json", "--size", "300"], "there is no such file"),
        (["apply", "FILE", "FILE"], "holds no subwords"),
        (["apply", "gone.json", "FILE"], "cannot be opened"),
        (["apply", "SUBWORDS", "gone.txt"], "there is no such file"),
        (["apply", "SUBWORDS", "FILE", "-o", "FILE"], "this is the input file"),
        (["apply", "SUBWORDS", "LATIN"], "not UTF-8"),
        (["apply", "SUBWORDS", "FILE", "--max-line-bytes", "3"], "longer than 3 bytes"),
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
