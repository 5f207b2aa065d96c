"""`polyref lattice`: how large a lattice is, and what is in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from samples import CAT, Families

INDONESIA = [
    "Indonesia reiterated its opposition to foreign military presence",
    "Indonesia repeats its opposition against station of foreign troops in Indonesia",
    "Indonesia reiterates opposition to garrisoning foreign armies",
]
ELEPHANTS = [
    "Two elephants in an enclosure next to a brick building",
    "Two elephants try to fit through a small entry",
]
MISTAKES = [
    "Two elephants try to a small entry",
    "Two elephants in an enclosure next to fit through a brick building",
]
CAT_SCORES = {
    "a grey tiger cat sleeping in a brown bowl on a table near a window": 100.0,
    "a grey tiger cat sleeping in a brown bowl on a dining room table": 100.0,
    "a brown and black cat is sleeping in a bowl on the kitchen table": 100.0,
    "a grey tiger cat sleeping in a fruit bowl on a table": 97.1,
    "a cat asleep in a red bowl that sits on a table": 97.1,
    "a gray tabby cat is sleeping in a bowl on a table": 97.1,
    "a grey and tabby cat inside of a red bowl on the dining room table": 0.0,
    "a grey and tabby cat inside of a red bowl on a kitchen table": 0.0,
}
AS_IN_THE_PAPER = ["--tokenizer", "whitespace", "--keep-case", "--json"]


def example(references: list[str], **keys: Any) -> bytes:
    return json.dumps({"references": references, **keys}).encode() + b"\n"


@pytest.fixture
def report(run):
    """The lattices of standard input, as `--json` shows them."""

    def reports(stdin: bytes, *options: object) -> list[dict[str, Any]]:
        done = run("lattice", "-", "--json", *options, stdin=stdin)
        assert (done.code, done.err) == (0, "")
        return [json.loads(line) for line in done.out.splitlines()]

    return reports


def test_one_object_a_line_tells_the_size_of_each_lattice(report):
    first, second = report(example(CAT, id="cat", source=1) + example(["a b", "a c"]))
    assert list(first) == ["id", "states", "arcs", "sentences", "new", "pieces", "penalty", "deterministic"]
    assert (first["id"], first["sentences"], first["new"], first["pieces"]) == ("cat", "2560", "2555", 1)
    assert second == {
        "id": "2",
        "states": 4,
        "arcs": 3,
        "sentences": "2",
        "new": "0",
        "pieces": 1,
        "penalty": None,
        "deterministic": True,
    }


def test_references_that_share_nothing_are_in_pieces(report):
    assert report(example(["a b", "c d", "a e"]))[0]["pieces"] == 2


def test_equal_references_are_one(report):
    [one] = report(example(["a b", "A  b", "a c"]))
    assert (one["sentences"], one["new"], one["pieces"]) == ("2", "0", 1)


def test_a_count_that_no_number_holds_is_written_in_full(report):
    halves = [" ".join(f"{side}{n} s{n}" for n in range(70)) for side in "ab"]
    [one] = report(example(halves))
    assert one["sentences"] == str(2**70)
    assert one["new"] == str(2**70 - 2)


def test_one_example_can_be_asked_for(report):
    stdin = example(["a b"], id="x") + example(["a b", "c"], id=42) + example(["d"])
    assert [one["id"] for one in report(stdin, "--id", "42")] == ["42"]
    assert [one["id"] for one in report(stdin, "--id", "3")] == ["3"]
    assert [one["id"] for one in report(stdin)] == ["x", "42", "3"]


def test_the_first_sentences_can_be_listed(report):
    stdin = example(["a x b", "a y b c"])
    [everything] = report(stdin, "--list", 10)
    assert sorted(everything["list"]) == ["a x b", "a x b c", "a y b", "a y b c"]
    assert report(stdin, "--list", 3)[0]["list"] == everything["list"][:3]


def test_sentences_can_be_sampled_with_a_seed(report):
    first, again, other = (report(example(CAT), "--sample", 20, "--seed", seed)[0]["sample"] for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 20


def test_the_best_sentences_can_be_shown(report):
    best = report(example(CAT), "--best", 5)[0]["best"]
    assert [sentence["bleu"] for sentence in best] == [100.0] * 5
    assert not {sentence["text"] for sentence in best} & set(CAT)


def test_nothing_is_listed_where_nothing_was_asked_for(report):
    assert not report(example(CAT))[0].keys() & {"list", "sample", "best", "score"}


@pytest.mark.parametrize("options", [["--engine", "plain"], []])
def test_given_sentences_are_scored_and_looked_up(options, report, tmp_path: Path):
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("\n".join(CAT_SCORES) + "\n\n")
    scored = report(example(CAT), "--score", sentences, *options)[0]["score"]
    assert {one["text"]: round(one["bleu"], 1) for one in scored} == CAT_SCORES
    assert [one["in_lattice"] for one in scored] == [True] * 6 + [False] * 2


@pytest.mark.parametrize("engine", ["plain", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_indonesia_has_36_sentences_33_of_them_new(engine, report):
    [one] = report(example(INDONESIA), "--align", "hard", "--engine", engine, *AS_IN_THE_PAPER)
    assert (one["sentences"], one["new"]) == ("36", "33")


@pytest.mark.parametrize("engine", ["plain", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_indonesia_has_216_sentences_where_its_words_are_alike(engine, report, tmp_path: Path):
    alike = Families([(1.0, "reiterated repeats reiterates"), (1.0, "military troops armies")])
    encoder = ["--align", "soft", "--encoder", alike.save(tmp_path / "alike.npz"), "--engine", engine]
    options = [*encoder, "--similarity", "cosine", "--penalty", "0.5", *AS_IN_THE_PAPER]
    [one] = report(example(INDONESIA), *options)
    assert (one["sentences"], one["new"], one["penalty"]) == ("216", "213", 0.5)


def test_the_elephants_are_mistaken_only_where_to_is_to(report, tmp_path: Path):
    sentences = tmp_path / "mistakes.txt"
    sentences.write_text("\n".join(MISTAKES))
    nowhere = Families([(1.0, "to")])
    nowhere.vectors[:] = 0  # a vector without length is alike to nothing, itself included
    soft = ["--align", "soft", "--encoder", nowhere.save(tmp_path / "to.npz"), "--similarity", "cosine"]
    for options, found in ((["--align", "hard"], True), (soft, False)):
        [one] = report(example(ELEPHANTS), "--score", sentences, *options, *AS_IN_THE_PAPER)
        assert [scored["in_lattice"] for scored in one["score"]] == [found, found]


def test_the_paper_read_literally_leaves_pieces(report):
    pairs = example(["a b c x", "a b c y", "p q r x", "p q r y"])
    assert report(pairs)[0]["pieces"] == 1
    assert report(pairs, "--merge-order", "paper")[0]["pieces"] == 2


def test_a_person_is_shown_the_same_in_words(run, tmp_path: Path):
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("a b\n")
    shown = run("lattice", "-", "--list", 1, "--sample", 1, "--score", sentences, stdin=example(["a c", "d", "a b"]))
    first, *others = shown.out.decode().splitlines()
    assert first.startswith("1: 3 references, ")
    assert first.endswith(", in 2 pieces; 3 sentences, 0 of them new")
    assert len(others) == 4
    assert others[-2:] == ["  100.00  in the lattice: a b", "          left out: it is a reference itself"]


def test_a_file_that_was_expanded_by_soft_alignment_is_told_apart(run, captions_file):
    expanded = captions_file.with_name("soft.jsonl")
    run("expand", captions_file, "--align", "soft", "-o", expanded)
    says = "soft.jsonl: was expanded by soft alignment; --align soft gives the lattices of that"
    assert run("lattice", expanded).err.count(says) == 1
    assert run("lattice", expanded, "--align", "soft").err == ""
    assert run("lattice", captions_file).err == ""


def test_text_is_written_as_utf8_whatever_the_terminal(run_apart):
    stdin = '{"id": "é", "references": ["日本語"]}\n'.encode()
    done = run_apart("lattice", "-", "--json", "--list", 1, stdin=stdin, environment={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert json.loads(done.out)["list"] == ["日本語"]
