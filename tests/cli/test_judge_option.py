"""`--judge`: which sentences are left out, and that it is said why."""

import json

import pytest
from samples import caption_lines

from polyref import read
from polyref.expansion import ExpandSettings, expand
from polyref.judge import JudgeSettings
from polyref.lattice import PlainEngine


@pytest.mark.parametrize("engine", ["plain", pytest.param("compiled", marks=pytest.mark.compiled)])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("judge", ["content", "seams"])
def test_the_command_writes_the_same_with_any_number_of_workers(run, tmp_path, judge, engine, workers):
    path, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    path.write_text(caption_lines(160))
    examples = list(read(path))
    settings = ExpandSettings(per_example=6, judging=JudgeSettings(judge))
    done = run("expand", path, "-o", out, "-k", 6, "--judge", judge, "--engine", engine, "--workers", workers)
    assert done.code == 0
    expected = list(expand(examples, settings=settings, engine=PlainEngine()))
    written = [json.loads(line)["pseudo_references"] for line in out.read_text().splitlines()]
    assert [[one["text"] for one in each] for each in written] == [
        [one.text for one in each.pseudo_references] for each in expected
    ]
    assert all(("risk" in one) == (judge == "seams") for each in written for one in each)


def test_the_lattice_command_explains_what_is_left_out(run, tmp_path):
    given, sentences = tmp_path / "given.jsonl", tmp_path / "sentences.txt"
    given.write_text(json.dumps({"id": "1", "references": ["near rivers mill", "mill near rivers"]}) + "\n")
    sentences.write_text("mill near rivers mill\nnear rivers\nmill\n")
    done = run("lattice", given, "--score", sentences, "--json")
    assert [one.get("left_out") for one in json.loads(done.out)["score"]] == [
        'says "mill" twice',
        'does not say "mill", which every reference says',
        None,
    ]
    shown = run("lattice", given, "--score", sentences).out.decode()
    assert '          left out: says "mill" twice\n' in shown
    assert (
        "left_out"
        not in json.loads(run("lattice", given, "--score", sentences, "--json", "--judge", "bleu").out)["score"][0]
    )


def test_the_lattice_command_asks_no_language_model(run, captions_file):
    done = run("lattice", captions_file, "--judge", "seams")
    assert (done.code, done.out) == (2, b"")
    assert "--judge asks a language model, which only expand does; choose content" in done.err
