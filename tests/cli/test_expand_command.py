"""`polyref expand`: a file in, the same file with pseudo-references out."""

import gzip
import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import command
from samples import CAT, FAMILIES, Families, caption_lines

from polyref import AlignSettings

SUMMARY = {
    "examples",
    "references_before",
    "references_after",
    "fell_short",
    "fell_short_why",
    "not_exact",
    "left_out",
    "sentences_median",
    "sentences_largest",
    "mean_bleu_kept",
    "seconds",
    "not_read",
    "not_kept",
}
CAT_RECORD = json.dumps({"id": "cat", "source": 1, "references": CAT}).encode()


def records(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_the_result_is_a_file_and_the_summary_stands_on_standard_output(run, captions_file):
    output = captions_file.with_name("out.jsonl")
    done = run("expand", captions_file, "-o", output, "-k", 6)
    assert (done.code, done.err) == (0, "")
    assert b"references      9 before, 18 after\n" in done.out
    assert [len(record["pseudo_references"]) for record in records(output.read_bytes())] == [3, 3, 3]


def test_the_result_on_standard_output_sends_the_summary_to_standard_error(run, captions_file):
    done = run("expand", captions_file, "-k", 6)
    assert len(records(done.out)) == 3
    assert "references      9 before, 18 after\n" in done.err


def test_a_dash_reads_standard_input(run, captions_file):
    content = captions_file.read_bytes()
    assert run("expand", "-", stdin=content).out == run("expand", captions_file).out
    assert run("expand", "-", stdin=gzip.compress(content)).out == run("expand", captions_file).out


def test_what_was_read_is_kept_to_the_letter(run, captions_file):
    lines = run("expand", captions_file).out.decode().splitlines()
    for before, after in zip(captions_file.read_text().splitlines(), lines, strict=True):
        assert after.startswith(before[:-1] + ', "pseudo_references": [')


def test_a_name_in_gz_is_compressed(run, captions_file):
    plain, packed = captions_file.with_name("out.jsonl"), captions_file.with_name("out.jsonl.gz")
    for output in (plain, packed):
        run("expand", captions_file, "-o", output)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_the_summary_for_a_machine_is_one_object(run, captions_file):
    done = run("expand", captions_file, "-o", captions_file.with_name("out.jsonl"), "--json")
    [summary] = records(done.out)
    assert summary.keys() == SUMMARY
    assert (summary["examples"], summary["references_before"]) == (3, 9)
    assert isinstance(summary["sentences_median"], str)
    assert isinstance(summary["sentences_largest"], str)
    assert summary["seconds"].keys() == {"read", "tokens", "encode", "lattice", "judge", "search", "write"}


def test_the_summary_for_a_machine_stays_apart_from_the_result(run, captions_file):
    done = run("expand", captions_file, "--json")
    assert len(records(done.out)) == 3
    assert json.loads(done.err).keys() == SUMMARY


def test_the_summary_says_how_many_fell_short(run, captions_file):
    done = run("expand", captions_file, "-o", captions_file.with_name("out.jsonl"), "-k", 10_000, "--json")
    assert json.loads(done.out)["fell_short"] == 3


def test_the_summary_says_why_examples_fell_short_and_what_to_do(run, tmp_path: Path):
    short = [["red car", "blue car", "red bus"], ["a car"], ["a b c d x e f g h", "a b c d y e f g z"]]
    lines = [json.dumps({"source": 1, "references": references}) for references in short]
    told = run("expand", "-", "-o", tmp_path / "out.jsonl", stdin="\n".join(lines).encode()).out.decode()
    assert told.splitlines()[2:5] == [
        "fell short      3 examples with fewer than 20 references",
        "                2 of them: no other sentence; try --align soft",
        "                1 of them: others have a BLEU of 0; --min-bleu 0 keeps them",
    ]
    every = ("expand", "-", "-o", tmp_path / "out.jsonl", "--min-bleu", 0, "--json")
    why = json.loads(run(*every, stdin="\n".join(lines).encode()).out)["fell_short_why"]
    assert why == {"no_more": 3}
    assert [len(one["pseudo_references"]) for one in records((tmp_path / "out.jsonl").read_bytes())] == [1, 0, 2]


def test_the_summary_says_that_others_are_left_out(run, tmp_path: Path):
    record = b'{"source": 1, "references": ["the man in the hat sings a song", "a man with a hat sings the song"]}'
    why = json.loads(run("expand", "-", "-o", tmp_path / "out.jsonl", "--json", stdin=record).out)["fell_short_why"]
    assert why == {"left_out": 1}
    told = run("expand", "-", "-o", tmp_path / "out.jsonl", stdin=record).out.decode()
    assert "1 of them: others are left out; --judge bleu keeps more\n" in told


@pytest.mark.parametrize(("shortfall", "count"), [("keep", 2), ("repeat", 9)])
def test_the_shortfall_is_kept_or_filled(shortfall, count, run):
    record = b'{"source": 1, "references": ["a b c d x e f g h", "a b c d y e f g z"]}'
    [result] = records(run("expand", "-", "-k", 11, "--shortfall", shortfall, stdin=record).out)
    assert len(result["pseudo_references"]) == count


def test_the_counts_of_an_example_are_written_with_it(run):
    [result] = records(run("expand", "-", stdin=CAT_RECORD).out)
    expected = {"sentences": "2560", "log10_sentences": 3.41, "penalty": None, "exact": True}
    assert result["lattice"] == expected
    assert [pseudo["bleu"] for pseudo in result["pseudo_references"][:3]] == [100.0, 100.0, 100.0]


def test_other_names_of_keys_can_be_given(run):
    record = b'{"key": 7, "prompt": "hi", "answers": ["a cat sits here", "the cat sits here"]}'
    fields = ["--id-field", "key", "--source-field", "prompt", "--references-field", "answers"]
    done = run("expand", "-", *fields, stdin=record)
    assert list(records(done.out)[0]) == ["key", "prompt", "answers", "pseudo_references", "lattice"]


@pytest.mark.parametrize(
    ("references", "options", "sentences"),
    [
        (["one The big cat", "two the old cat"], [], "4"),
        (["one The big cat", "two the old cat"], ["--keep-case"], "2"),
        (["one cat, sat", "two cat sat"], ["--tokenizer", "whitespace"], "2"),
        (["one cat, sat", "two cat sat"], [], "4"),
    ],
)
def test_words_are_cut_and_folded_as_asked(references, options, sentences, run):
    record = json.dumps({"source": 1, "references": references}).encode()
    [result] = records(run("expand", "-", *options, stdin=record).out)
    assert result["lattice"]["sentences"] == sentences


def test_a_budget_that_is_too_small_is_told(run):
    done = run("expand", "-", "-k", 50, "--node-budget", 1, "--json", stdin=CAT_RECORD)
    assert records(done.out)[0]["lattice"]["exact"] is False
    assert json.loads(done.err)["not_exact"] == 1


def test_the_seed_decides_among_equals(run):
    first, again, other = (run("expand", "-", "--seed", seed, stdin=CAT_RECORD).out for seed in (0, 0, 1))
    assert first == again != other


def test_sentences_below_a_score_are_left_out(run):
    [result] = records(run("expand", "-", "-k", 10_000, "--min-bleu", "97.5", stdin=CAT_RECORD).out)
    [everything] = records(run("expand", "-", "-k", 10_000, stdin=CAT_RECORD).out)
    kept = [pseudo for pseudo in everything["pseudo_references"] if pseudo["bleu"] >= 97.5]
    assert 0 < len(kept) < len(everything["pseudo_references"])
    assert sorted(result["pseudo_references"], key=str) == sorted(kept, key=str)


# -- soft alignment ---------------------------------------------------------------------------------------------

PEOPLE = b'{"source": 1, "references": ["old man walks home every day", "young person walks home every day"]}'


@pytest.fixture
def soft(tmp_path: Path) -> list[str]:
    return ["--align", "soft", "--encoder", Families(FAMILIES).save(tmp_path / "families.npz")]


@pytest.mark.parametrize(
    ("options", "penalty", "sentences"),
    [
        (["--similarity", "cosine"], AlignSettings().penalty, "4"),
        (["--preset", "paper"], 0.6, "4"),
        (["--similarity", "cosine", "--penalty", "0.9"], 0.9, "2"),
        (["--similarity", "cosine", "--penalty", "adaptive"], 0.3, "4"),
        (["--similarity", "cosine", "--penalty", "adaptive", "--at-least", "2"], 0.9, "2"),
        (["--similarity", "cosine", "--penalty", "adaptive", "--at-least", "4"], 0.85, "4"),
        (["--preset", "paper", "--penalty", "adaptive", "--at-least", "4", "--penalty-step", "0.2"], 0.7, "4"),
        (["--similarity", "cosine", "--penalty", "adaptive", "--penalty-floor", "0.88"], 0.88, "2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_the_penalty_is_fixed_or_gives_way(options, penalty, sentences, soft, run):
    [result] = records(run("expand", "-", *soft, *options, stdin=PEOPLE).out)
    assert (result["lattice"]["penalty"], result["lattice"]["sentences"]) == (penalty, sentences)


def test_rescaling_makes_words_less_alike_than_their_cosine(soft, run):
    """The baseline of the table lies above 0, so that a cosine just above the penalty falls under it."""
    at = ["--penalty", "0.859"]
    [raw] = records(run("expand", "-", *soft, *at, "--similarity", "cosine", stdin=PEOPLE).out)
    [rescaled] = records(run("expand", "-", *soft, *at, stdin=PEOPLE).out)
    assert (raw["lattice"]["sentences"], rescaled["lattice"]["sentences"]) == ("4", "2")


# -- what a person sees -----------------------------------------------------------------------------------------


def test_no_verb_shows_the_help(run):
    done = run()
    shown = done.out.decode() + done.err
    assert "expand" in shown
    assert "lattice" in shown


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["expand", "--help"], ["lattice", "-h"]])
def test_help_is_shown_for_every_verb(arguments, run):
    done = run(*arguments)
    assert done.code == 0
    assert b"Usage: " in done.out


def test_the_version_is_shown(run):
    assert run("--version").out == b"polyref 0.1.0\n"


def test_progress_is_shown_on_a_terminal_only(captions_file):
    ours, theirs = pty.openpty()
    output = captions_file.with_name("out.jsonl")
    done = subprocess.run(command("expand", captions_file, "-o", output), stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert done.returncode == 0
    assert b"expanding" in shown
    assert b"examples        3\n" in done.stdout


@pytest.mark.compiled
def test_two_workers_in_a_process_of_their_own_write_the_same(run, run_apart, tmp_path: Path):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(300))
    alone = run("expand", path, "--engine", "plain").out
    done = run_apart("expand", path, "--engine", "compiled", "--workers", 2, "-o", tmp_path / "out.jsonl")
    assert done.code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == alone


def test_parallel_text_gets_pseudo_references_among_the_references(run, tmp_path):
    given = tmp_path / "given.jsonl"
    given.write_text(
        '{"source": "s", "references": ["a cat sleeps on the mat", "the cat is asleep on a mat"]}\n', encoding="utf-8"
    )
    done = run("expand", given, "-o", tmp_path / "out.src", "-k", 4, "--judge", "bleu")
    assert done.code == 0
    written = [(tmp_path / f"out.ref{n}").read_text("utf-8").strip() for n in range(4)]
    assert written[:2] == ["a cat sleeps on the mat", "the cat is asleep on a mat"]
    assert len(set(written)) == 4
    assert not (tmp_path / "out.ref4").exists()


def test_sources_without_references_beside_them_are_told_so(run, tmp_path):
    lone = tmp_path / "lone.src"
    lone.write_text("hello there\n", encoding="utf-8")
    done = run("expand", lone, "-o", tmp_path / "out.jsonl")
    assert done.code == 2
    assert "there are no files of references" in done.err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_kept_lattice_stands_behind_its_counts_and_changes_nothing_else(run, captions_file):
    without, kept = run("expand", captions_file).out, run("expand", captions_file, "--keep-lattice").out
    results = records(kept)
    for result in results:
        found = result["lattice"].pop("kept")
        assert [len(states) for states in found["states"]] == [len(text.split()) for text in result["references"]]
        assert (found["tokenizer"], found["fold_case"]) == ("words", True)
    assert results == records(without)


def test_a_kept_lattice_is_that_of_the_text_settings(run):
    options = ["--keep-lattice", "--tokenizer", "whitespace", "--keep-case", "--judge", "bleu"]
    [result] = records(run("expand", "-", *options, stdin=b'{"source": 1, "references": ["A cat.", "a cat."]}').out)
    assert result["lattice"]["kept"] == {"states": [[1, 2], [1, 2]], "tokenizer": "whitespace", "fold_case": False}


@pytest.mark.parametrize("name", ["kept.parquet", "kept.csv", "kept.json"])
def test_other_formats_carry_kept_lattices(name, run, captions_file):
    there, back = captions_file.with_name(name), captions_file.with_name("back.jsonl")
    expected = run("expand", captions_file, "--keep-lattice").out
    assert run("expand", captions_file, "--keep-lattice", "-o", there).code == 0
    assert run("convert", there, back).code == 0
    assert [record["lattice"] for record in records(back.read_bytes())] == [
        record["lattice"] for record in records(expected)
    ]


def test_expanding_without_keeping_drops_what_was_kept(run, captions_file):
    kept = run("expand", captions_file, "--keep-lattice").out
    assert run("expand", "-", stdin=kept).out == run("expand", captions_file).out
    assert run("expand", "-", "--keep-lattice", stdin=kept).out == kept


def test_the_same_lattices_are_kept_by_several_workers(run, tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text(caption_lines(300))
    options = ["expand", path, "--keep-lattice", "--engine", "plain"]
    assert run(*options, "--workers", 2).out == run(*options).out


def test_parallel_text_cannot_hold_lattices(run, captions_file):
    done = run("expand", captions_file, "--keep-lattice", "--to", "parallel", "-o", captions_file.with_name("out"))
    assert done.code == 2
    assert "--keep-lattice has no effect on the format parallel, which cannot hold lattices; choose" in done.err
