"""`polyref score` beyond scores: comparisons, intervals, diversity, facts, and scores of every example."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from polyref import evaluate
from polyref.score import sentence_bleu
from polyref.score.diversity import diversity
from polyref.score.significance import Statistics, compare, interval

SOURCES = ["name[Aromi], familyFriendly[yes]", "name[The Mill], food[French]", "name[Zizzi]", "food[Thai]"]
REFERENCES = [
    ["Aromi is a place for families.", "At Aromi children are welcome."],
    ["The Mill serves French food.", "French food is what the Mill has."],
    ["Zizzi is a pub in town.", "There is a pub in town, Zizzi."],
    ["It has Thai food for all.", "Thai food is served here."],
]
OURS = [
    ["Aromi is a place for children.", "The Mill serves French food.", "It is a pub in town.", "It has Thai food."],
    ["Aromi is for families.", "The Mill has French food.", "Zizzi is a pub.", "Thai food is served."],
    ["Aromi is a place.", "The Mill serves food.", "Zizzi is a pub in town.", "Thai food is here for all."],
]
OTHER = ["Aromi is open.", "The Mill serves French food here.", "Zizzi is a pub in town.", "It has food."]
IDS = ["a", "b", "c", "d"]


def records(texts: list[str]) -> str:
    return "".join(json.dumps({"id": id, "hypothesis": text}) + "\n" for id, text in zip(IDS, texts, strict=True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for number, texts in enumerate(OURS, 1):
        (tmp_path / f"ours-{number}.jsonl").write_text(records(texts))
    (tmp_path / "other.jsonl").write_text(records(OTHER))
    rows = zip(IDS, SOURCES, REFERENCES, strict=True)
    examples = [{"id": id, "source": source, "references": texts} for id, source, texts in rows]
    (tmp_path / "ref.jsonl").write_text("".join(json.dumps(one) + "\n" for one in examples))
    (tmp_path / "train.txt").write_text("aromi is open\nsomething else\nand more\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def statistics(metric: str, *runs: list[str]) -> list[Statistics]:
    return [Statistics.of(metric, evaluate(texts, REFERENCES)[metric]) for texts in runs]


def as_json(done) -> dict:
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_a_machine_gets_every_number_of_a_comparison(run, folder):
    found = as_json(run("score", "ours-1.jsonl", "ref.jsonl", "--against", "other.jsonl", "--confidence", "--json"))
    assert found["files"] == ["ours-1.jsonl"]
    [against] = found["against"]
    assert against["files"] == ["other.jsonl"]
    for metric in ("bleu", "cider", "rouge-l"):
        ours, theirs = statistics(metric, OURS[0]), statistics(metric, OTHER)
        assert found["scores"][metric]["interval"] == pytest.approx(interval(ours))
        expected = compare(ours, theirs)
        scores = against["scores"][metric]
        assert scores["score"] == pytest.approx(theirs[0].score())
        assert scores["difference"] == pytest.approx(expected.difference)
        assert (scores["low"], scores["high"]) == pytest.approx((expected.low, expected.high))
        assert scores["p_bootstrap"] == expected.p_bootstrap
        assert scores["p_randomisation"] == expected.p_randomisation


@pytest.mark.parametrize(
    "ours", ["ours-*.jsonl", "ours-1.jsonl,ours-2.jsonl, ours-3.jsonl", "ours-[12].jsonl,ours-3.jsonl"]
)
def test_several_files_are_runs_of_one_system(run, folder, ours):
    found = as_json(run("score", ours, "ref.jsonl", "--against", "other.jsonl", "--json"))
    runs = [evaluate(texts, REFERENCES)["bleu"] for texts in OURS]
    scores = found["scores"]["bleu"]
    assert scores["runs"] == [one.score for one in runs]
    assert scores["score"] == pytest.approx(np.mean(scores["runs"]))
    assert scores["orders"] == pytest.approx(np.mean([one.orders for one in runs], axis=0))
    expected = compare(statistics("bleu", *OURS), statistics("bleu", OTHER))
    assert found["against"][0]["scores"]["bleu"]["p_bootstrap"] == expected.p_bootstrap


def test_a_file_with_a_comma_or_bracket_in_its_name_is_a_file(run, folder):
    for name in ("a,b.jsonl", "a[1].jsonl"):
        (folder / "ours-1.jsonl").replace(folder / name)
        assert as_json(run("score", name, "ref.jsonl", "--json"))["files"] == [name]
        (folder / name).replace(folder / "ours-1.jsonl")


def test_a_pattern_may_be_an_absolute_path(run, folder):
    assert len(as_json(run("score", f"{folder}/ours-*.jsonl", "ref.jsonl", "--json"))["files"]) == 3


def test_a_person_reads_a_table_for_each_other_system(run, folder):
    done = run(
        "score", "ours-*.jsonl", "ref.jsonl", "--confidence", "--against", "other.jsonl", "--against", "ours-1.jsonl"
    )
    lines = done.out.decode().splitlines()
    assert lines[0] == "3 runs of 4 hypotheses, 8 references (2 each)"
    assert lines[1].split() == ["score", "runs", "95", "%", "interval", "scale", "signature"]
    first, second = lines.index("against other.jsonl"), lines.index("against ours-1.jsonl")
    assert lines[first + 2].startswith("BLEU ")
    assert lines[first + 5] == "With so few runs, p of randomisation is never below 0.25."
    assert second == first + 7


def test_one_run_against_one_says_what_is_not_tested(run, folder):
    lines = run("score", "ours-1.jsonl", "ref.jsonl", "--against", "ours-1.jsonl", "--metrics", "bleu").out.decode()
    assert "One run each: whether other seeds would differ is not tested." in lines
    assert lines.splitlines()[-2].split()[2:] == ["+0.00", "+0.00", "to", "+0.00", "1.000", "1.000"]


def test_diversity_of_each_system(run, folder):
    arguments = [
        "score",
        "ours-1.jsonl",
        "ref.jsonl",
        "--against",
        "other.jsonl",
        "--diversity",
        "--training",
        "train.txt",
    ]
    found = as_json(run(*arguments, "--json"))
    expected = diversity(OTHER, training=["aromi is open", "something else"])
    of_other = found["against"][0]["diversity"]
    assert of_other["distinct"] == pytest.approx(expected.distinct)
    assert of_other["self_bleu"] == pytest.approx(expected.self_bleu)
    assert (found["diversity"]["new"], of_other["new"]) == (1.0, 0.75)
    lines = run(*arguments).out.decode().splitlines()
    assert lines[-7].split() == ["diversity", "ours-1.jsonl", "other.jsonl"]
    assert lines[-6].split() == ["distinct", "outputs", "4", "4"]
    assert lines[-1].split() == ["new,", "not", "in", "training", "100.0%", "75.0%"]


def test_facts_that_outputs_lack(run, folder):
    arguments = ["score", "ours-*.jsonl", "ref.jsonl", "--against", "other.jsonl", "--facts"]
    found = as_json(run(*arguments, "--json"))
    assert found["facts"]["name"] == {"given": 3, "in_references": 1, "missing": pytest.approx(1 / 3)}
    assert found["facts"]["familyFriendly"] == {"given": 1, "in_references": 0, "missing": None}
    assert found["against"][0]["facts"]["food"]["missing"] == 1
    lines = run(*arguments).out.decode().splitlines()
    assert lines[-5].split() == ["outputs", "without", "of", "ours-1.jsonl", "+2", "other.jsonl", "references"]
    assert lines[-4].split() == ["name", "3", "0.3", "0", "0.0%"]
    assert lines[-1] == "familyFriendly (0%)"


def test_every_example_has_a_record_for_each_file(run, folder):
    done = run(
        "score", "ours-1.jsonl", "ref.jsonl", "--against", "other.jsonl", "--facts", "--per-example", "out.jsonl"
    )
    assert done.code == 0
    found = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [(one["id"], one["file"]) for one in found] == [
        (id, file) for file in ("ours-1.jsonl", "other.jsonl") for id in IDS
    ]
    expected = evaluate(OURS[0], REFERENCES)
    assert [one["cider"] for one in found[:4]] == pytest.approx(expected["cider"].scores.tolist())
    cut = [text.replace(".", " .").split() for text in (OURS[0][1], *REFERENCES[1])]
    assert found[1]["bleu"] == pytest.approx(sentence_bleu(cut[0], cut[1:]))
    assert [one["missing"] for one in found] == [[], [], ["name"], [], [], [], [], ["food"]]


def test_examples_without_ids_are_numbered(run, folder):
    (folder / "hyp.txt").write_text("a\nb\n")
    (folder / "ref.txt").write_text("a\nc\n")
    run("score", "hyp.txt", "ref.txt", "--per-example", "out.jsonl", "--metrics", "rouge-l")
    found = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert found == [{"id": 1, "file": "hyp.txt", "rouge-l": 1.0}, {"id": 2, "file": "hyp.txt", "rouge-l": 0.0}]


BAD = {
    "a pattern without files": (["x-*.jsonl", "ref.jsonl"], "x-*.jsonl: no file matches this pattern; check the path"),
    "a run twice": (
        ["ours-1.jsonl,./ours-1.jsonl", "ref.jsonl"],
        "ours-1.jsonl,./ours-1.jsonl: a file is there twice; ",
    ),
    "another system without a file": (
        ["ours-1.jsonl", "ref.jsonl", "--against", "no.jsonl"],
        "no.jsonl: there is no such",
    ),
    "standard input twice": (["-", "ref.jsonl", "--against", "-"], "standard input can be read once; "),
    "other examples": (
        ["ours-1.jsonl", "ref.jsonl", "--against", "train.txt"],
        "train.txt: 3 hypotheses, but ref.jsonl has references for 4; ",
    ),
    "training without diversity": (
        ["ours-1.jsonl", "ref.jsonl", "--training", "train.txt"],
        "--training has no effect without --diversity; add that, or leave it out",
    ),
    "facts without sources": (["ours.txt", "plain.txt", "--facts"], "plain.txt: there are no sources; "),
    "facts without slots": (
        ["ours.txt", "other-sources.jsonl", "--facts"],
        'other-sources.jsonl: example "a": the source has no slots; give sources such as',
    ),
    "one example": (["ours.txt", "plain.txt", "--confidence"], "one example cannot be resampled; give at least two"),
    "scores over an input": (
        ["ours-1.jsonl", "ref.jsonl", "--per-example", "ref.jsonl"],
        "ref.jsonl: this is an input file; choose another name",
    ),
    "scores of examples among the scores": (
        ["ours-1.jsonl", "ref.jsonl", "--per-example", "-"],
        "--per-example is standard output, where the scores go; name a file",
    ),
}


@pytest.mark.parametrize(("arguments", "says"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused(run, folder, arguments, says):
    (folder / "ours.txt").write_text("a dog\n")
    (folder / "plain.txt").write_text("a dog\n")
    (folder / "other-sources.jsonl").write_text('{"id": "a", "source": "ein Hund", "references": ["a dog"]}\n')
    done = run("score", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith(f"polyref: {says}")
