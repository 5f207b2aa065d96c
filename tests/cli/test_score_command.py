"""`polyref score`: a table for a person, an object for a machine, and a clear word about what does not fit."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from polyref import evaluate, read, write

HYPOTHESES = {"a": "A cat sits on the mat.", "b": "Two dogs run along the beach.", "c": "It costs £20."}
REFERENCES = {
    "a": ["a cat is sitting on the mat", "The cat sits on a mat."],
    "b": ["Two dogs run on the beach.", "Dogs run along a beach."],
    "c": ["It costs £20.", "The price is 20 pounds."],
}
LISTS = list(REFERENCES.values())


def records(**texts: object) -> str:
    return "".join(json.dumps({"id": id, "hypothesis": text}) + "\n" for id, text in texts.items())


def examples(references: dict[str, list[str]]) -> str:
    return "".join(json.dumps({"id": id, "source": id, "references": texts}) + "\n" for id, texts in references.items())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hypotheses and references as records, and as plain text: hyp.txt, ref0.txt, ref1.txt."""
    (tmp_path / "hyp.jsonl").write_text(records(**HYPOTHESES))
    (tmp_path / "ref.jsonl").write_text(examples(REFERENCES))
    (tmp_path / "hyp.txt").write_text("\n".join(HYPOTHESES.values()) + "\n")
    for k in range(2):
        (tmp_path / f"ref{k}.txt").write_text("\n".join(texts[k] for texts in LISTS) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(done) -> dict[str, float]:
    assert done.err == ""
    return {metric: found["score"] for metric, found in json.loads(done.out)["scores"].items()}


def expected(references: list[list[str]] = LISTS, **options) -> dict[str, float]:
    found = evaluate(list(HYPOTHESES.values()), references, **options)
    return {metric: scored.score for metric, scored in found.items()}


def test_a_machine_gets_one_object(run, folder):
    found = json.loads(run("score", "hyp.jsonl", "ref.jsonl", "--json").out)
    assert found["examples"] == 3
    assert found["references"] == 6
    assert found["scores"]["bleu"]["signature"].startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert len(found["scores"]["bleu"]["precisions"]) == 4
    assert found["scores"]["bleu"]["orders"][3] == found["scores"]["bleu"]["score"]
    assert found["scores"]["cider"]["scale"] == "0 to 10"
    assert {metric: scored["score"] for metric, scored in found["scores"].items()} == expected()


def test_a_person_gets_a_table(run, folder):
    lines = run("score", "hyp.jsonl", "ref.jsonl", "--fold-case").out.decode().splitlines()
    found = expected(fold_case=True)
    assert lines[0] == "3 hypotheses, 6 references (2 each)"
    assert lines[1].split() == ["score", "scale", "signature"]
    assert lines[2].split()[:2] == ["BLEU", f"{found['bleu']:.2f}"]
    assert lines[3].split()[:2] == ["CIDEr", f"{found['cider']:.4f}"]
    assert lines[4].split()[:2] == ["ROUGE-L", f"{found['rouge-l']:.4f}"]
    assert "|case:lc|" in lines[2]
    assert lines[5].startswith("BLEU-1 to BLEU-4: ")
    assert lines[5].endswith(f", {found['bleu']:.2f}")


def test_the_order_of_records_with_ids_does_not_matter(run, folder):
    (folder / "hyp.jsonl").write_text(records(**dict(reversed(HYPOTHESES.items()))))
    assert scores(run("score", "hyp.jsonl", "ref.jsonl", "--json")) == expected()


def test_ids_may_be_whole_numbers(run, folder):
    (folder / "hyp.jsonl").write_text(records(**HYPOTHESES).replace('"c"', "7"))
    (folder / "ref.jsonl").write_text(examples(REFERENCES).replace('"id": "c"', '"id": "7"'))
    assert scores(run("score", "hyp.jsonl", "ref.jsonl", "--json")) == expected()


@pytest.mark.parametrize("hypotheses", ["hyp.jsonl", "hyp.txt"])
def test_plain_text_goes_by_lines(run, folder, hypotheses):
    assert scores(run("score", hypotheses, "ref0.txt", "ref1.txt", "--json")) == expected()
    assert scores(run("score", hypotheses, "ref1.txt", "--json")) == expected([texts[1:] for texts in LISTS])
    assert scores(run("score", "hyp.txt", "ref.jsonl", "--json")) == expected()


def test_a_text_that_looks_a_little_like_json_is_plain_text(run, folder):
    for name in ("ref0.txt", "hyp.txt"):
        text = (folder / name).read_text()
        (folder / name).write_text('"' + text.replace("\n", '"\n', 1))
    assert run("score", "hyp.txt", "ref0.txt").code == 0


def test_a_blank_line_is_no_reference(run, folder):
    (folder / "ref1.txt").write_text(f"{LISTS[0][1]}\n\n{LISTS[2][1]}\n")
    ragged = [LISTS[0], LISTS[1][:1], LISTS[2]]
    done = run("score", "hyp.txt", "ref0.txt", "ref1.txt", "--json")
    assert scores(done) == expected(ragged)
    assert "nrefs:var" in done.out.decode()


@pytest.mark.parametrize("name", ["in.parquet", "in.json", "in.csv", "in.src"])
def test_references_may_be_in_any_format(run, folder, name):
    write(read(folder / "ref.jsonl"), folder / name)
    hypotheses = "hyp.txt" if name == "in.src" else "hyp.jsonl"
    done = run("score", hypotheses, name, "--json")
    assert scores(done) == pytest.approx(expected())


def test_files_may_be_compressed_and_come_from_standard_input(run, folder):
    (folder / "hyp.jsonl.gz").write_bytes(gzip.compress((folder / "hyp.jsonl").read_bytes()))
    assert scores(run("score", "hyp.jsonl.gz", "ref.jsonl", "--json")) == expected()
    content = (folder / "hyp.txt").read_bytes()
    assert scores(run("score", "-", "ref0.txt", "ref1.txt", "--json", stdin=content)) == expected()
    content = (folder / "ref.jsonl").read_bytes()
    assert scores(run("score", "hyp.jsonl", "-", "--json", stdin=content)) == expected()


def test_options_choose_metrics_tokens_and_fields(run, folder):
    (folder / "hyp.jsonl").write_text(
        records(**HYPOTHESES).replace('"hypothesis"', '"output"').replace('"id"', '"key"')
    )
    (folder / "ref.jsonl").write_text(
        examples(REFERENCES).replace('"references"', '"answers"').replace('"id"', '"key"')
    )
    options = ["--id-field", "key", "--hypothesis-field", "output", "--references-field", "answers"]
    done = run(
        "score", "hyp.jsonl", "ref.jsonl", "--metrics", "cider-d,bleu", "--tokenizer", "char", *options, "--json"
    )
    assert list(scores(done).items()) == list(expected(metrics=["cider", "bleu"], tokenizer="char").items())


COCO_IDS = {"a": 42, "b": 7, "c": "photo"}


@pytest.mark.parametrize("indent", [None, 2])
def test_results_as_captioners_write_them_are_read(run, folder, indent):
    found = [
        {"image_id": COCO_IDS[id], "caption": HYPOTHESES[id], "id": n, "score": -1.5} for n, id in enumerate("bca")
    ]
    (folder / "results.json").write_text("\ufeff\n" + json.dumps(found, indent=indent) + "\n")
    images = [{"id": id, "file_name": "x.jpg"} for id in COCO_IDS.values()]
    captions = [
        {"id": n, "image_id": COCO_IDS[id], "caption": text}
        for n, (id, text) in enumerate((id, text) for id, texts in REFERENCES.items() for text in texts)
    ]
    (folder / "captions.json").write_text(json.dumps({"images": images, "annotations": captions}))
    assert scores(run("score", "results.json", "captions.json", "--json")) == expected()
    (folder / "results.json.gz").write_bytes(gzip.compress((folder / "results.json").read_bytes()))
    assert scores(run("score", "results.json.gz", "captions.json", "--json")) == expected()
    content = (folder / "results.json").read_bytes()
    assert scores(run("score", "-", "captions.json", "--json", stdin=content)) == expected()


@pytest.mark.parametrize("first", ["[1] says so", '["Stop", he said]', "[laughs] a cat", "[a cat]", "[{name}] a cat"])
def test_a_text_that_begins_with_a_bracket_is_plain_text(run, folder, first):
    lines = [first, *list(HYPOTHESES.values())[1:]]
    (folder / "hyp.txt").write_text("\n".join(lines) + "\n")
    found = json.loads(run("score", "hyp.txt", "ref.jsonl", "--json").out)
    assert found["scores"]["bleu"]["score"] == evaluate(lines, LISTS)["bleu"].score


def test_an_empty_hypothesis_may_be_allowed(run, folder):
    (folder / "hyp.txt").write_text("a cat\n\nIt costs £20.\n")
    assert run("score", "hyp.txt", "ref.jsonl").code == 2
    assert run("score", "hyp.txt", "ref.jsonl", "--allow-empty").code == 0


def test_cider_of_one_example_is_said_to_be_zero(run, folder):
    for name in ("hyp.txt", "ref0.txt"):
        (folder / name).write_text("a cat\n")
    done = run("score", "hyp.txt", "ref0.txt")
    assert done.code == 0
    assert done.err == "polyref: CIDEr of one example is always 0; its weights come from the other examples\n"
    assert run("score", "hyp.txt", "ref0.txt", "--metrics", "bleu,rouge-l").err == ""


def test_a_limit_on_lines_counts_for_both_files(run, folder):
    for arguments in (["hyp.txt", "ref.jsonl"], ["hyp.txt", "ref0.txt"]):
        done = run("score", *arguments, "--max-line-bytes", 10)
        assert (done.code, done.out) == (2, b"")
        assert "longer than 10 bytes" in done.err


def test_scoring_loads_neither_the_compiler_nor_what_it_is_compared_with(folder):
    code = """
import sys
from polyref.cli import main
sys.argv = ["polyref", "score", "hyp.jsonl", "ref.jsonl"]
try:
    main()
finally:
    print(*{"numba", "torch", "pyarrow", "pycocoevalcap"} & set(sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "\n")
    assert "ROUGE-L" in done.stdout


LISTS_CURE = 'give COCO results, [{"image_id": 42, "caption": "..."}, ...], or one record or text per line'
BAD = {
    "an empty hypothesis": (
        {"hyp.txt": "a\n \nc\n"},
        ["hyp.txt", "ref.jsonl"],
        "hyp.txt:2: the hypothesis is empty; give a text, or set --allow-empty to score it as no words",
    ),
    "an empty hypothesis in a record": (
        {"hyp.jsonl": records(a="x", b="", c="z")},
        ["hyp.jsonl", "ref.jsonl"],
        "hyp.jsonl:2: the hypothesis is empty; ",
    ),
    "a hypothesis of no width": (
        {"hyp.jsonl": records(a="x", b=" \u200b\ufeff", c="z")},
        ["hyp.jsonl", "ref.jsonl"],
        "hyp.jsonl:2: the hypothesis is empty; ",
    ),
    "half a character in a hypothesis": (
        {"hyp.jsonl": records(a="x", b="\ud800 cat", c="z")},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:2: "hypothesis" holds half a surrogate pair; repair the \\u escapes',
    ),
    "half a character in an id": (
        {"hyp.jsonl": '{"id": "\\ud800", "hypothesis": "x"}\n'},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:1: "id" holds half a surrogate pair; repair the \\u escapes',
    ),
    "a list on each line": (
        {"hyp.jsonl": "".join(f"[{json.dumps({'id': id, 'hypothesis': 'x'})}]\n" for id in "abc")},
        ["hyp.jsonl", "ref.jsonl"],
        f"hyp.jsonl:2: broken JSON: Extra data at column 1; {LISTS_CURE}",
    ),
    "a list of records": (
        {"hyp.json": json.dumps([{"id": "a", "hypothesis": "x"}])},
        ["hyp.json", "ref.jsonl"],
        f'hyp.json:1: "image_id" is missing; {LISTS_CURE}',
    ),
    "a list of texts": (
        {"hyp.json": '["a cat", "two dogs", "a mat"]'},
        ["hyp.json", "ref.jsonl"],
        f"hyp.json:1: place 1 of the list holds a string, not an object; {LISTS_CURE}",
    ),
    "an empty list": ({"hyp.json": "[]\n"}, ["hyp.json", "ref.jsonl"], f"hyp.json: the list is empty; {LISTS_CURE}"),
    "results without caption": (
        {"hyp.json": '[\n{"image_id": 1, "caption": "x"},\n{"image_id": 2}\n]'},
        ["hyp.json", "ref.jsonl"],
        f'hyp.json:2: "caption" is missing; {LISTS_CURE}',
    ),
    "results with an id twice": (
        {"hyp.json": '[{"image_id": 1, "caption": "x"}, {"image_id": "1", "caption": "y"}]'},
        ["hyp.json", "ref.jsonl"],
        'hyp.json:2: the id "1" is there twice, first at place 1; give one hypothesis for each example',
    ),
    "results with an id that is no text": (
        {"hyp.json": '[{"image_id": 1.5, "caption": "x"}]'},
        ["hyp.json", "ref.jsonl"],
        'hyp.json:1: "image_id" is neither a string nor a whole number; give one of the two',
    ),
    "results with a caption that is no text": (
        {"hyp.json": '[{"image_id": 1, "caption": ["x"]}]'},
        ["hyp.json", "ref.jsonl"],
        'hyp.json:1: "caption" is not a string; give one',
    ),
    "results that were cut off": (
        {"hyp.json": '[{"image_id": 1, "caption": "x"},\n{"image_'},
        ["hyp.json", "ref.jsonl"],
        "hyp.json:2: broken JSON: ",
    ),
    "results that are not UTF-8": (
        {"hyp.json": b'[{"image_id": 1, "caption": "\xff"}]'},
        ["hyp.json", "ref.jsonl"],
        "hyp.json: not UTF-8 at byte 30; save the file as UTF-8",
    ),
    "results that are nested": (
        {"hyp.json": '[{"' + "x" * 70000 + '": ' + "[" * 100000},
        ["hyp.json", "ref.jsonl"],
        "hyp.json: the JSON is nested too deeply; ",
    ),
    "a line of no length": (
        {},
        ["hyp.txt", "ref.jsonl", "--max-line-bytes", "0"],
        "--max-line-bytes is 0; give a whole number from 1 to ",
    ),
    "an id twice": (
        {"hyp.jsonl": records(a="x", b="y") + records(a="z")},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:3: the id "a" is there twice, first on line 1; give one hypothesis for each example',
    ),
    "an id twice among the references": (
        {"ref.jsonl": examples(REFERENCES) + examples({"a": ["x"]})},
        ["hyp.jsonl", "ref.jsonl"],
        "ref.jsonl:4: ",
    ),
    "an example without hypothesis": (
        {"hyp.jsonl": records(a="x")},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl: there is no hypothesis for "b" and 1 more of ref.jsonl; give one for each example',
    ),
    "a hypothesis without example": (
        {"hyp.jsonl": records(**HYPOTHESES, d="x")},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:4: ref.jsonl has no example with the id "d"; give the references of the same examples',
    ),
    "ids of something else": (
        {"hyp.jsonl": records(x="x", y="y", z="z")},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:1: ref.jsonl has no example with the id "x"; ',
    ),
    "an id that is missing": (
        {"hyp.jsonl": records(a="x") + '{"hypothesis": "y"}\n'},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:2: "id" is missing, but not so on the lines before; give an id to all records or to none',
    ),
    "an id that is there at last": (
        {"hyp.jsonl": '{"hypothesis": "y"}\n' + records(a="x")},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:2: "id" is given, but not so on the lines before; ',
    ),
    "more hypotheses than examples": (
        {"hyp.txt": "a\nb\nc\nd\n"},
        ["hyp.txt", "ref.jsonl"],
        "hyp.txt: 4 hypotheses, but ref.jsonl has references for 3; give one hypothesis for each example",
    ),
    "files of different lengths": (
        {"ref1.txt": "a\nb\n"},
        ["hyp.txt", "ref0.txt", "ref1.txt"],
        "ref0.txt: 3 lines, but ref1.txt has 2; give every file as many",
    ),
    "a line that is blank everywhere": (
        {"ref0.txt": "a\n\nc\n", "ref1.txt": "a\n\nc\n"},
        ["hyp.txt", "ref0.txt", "ref1.txt"],
        "ref0.txt:2: line 2 is blank in every file of references; give at least one reference",
    ),
    "records the other way round": (
        {"ref.jsonl": examples({"first": ["x", "y", "z"], "second": ["u", "v", "w"]})},
        ["hyp.jsonl", "ref.jsonl"],
        "ref.jsonl: the references seem to be the other way round: 2 records of 3 references, for 3 "
        "hypotheses; give 3 records",
    ),
    "files the other way round": (
        {"r0": "x\ny\n", "r1": "x\ny\n", "r2": "x\ny\n"},
        ["hyp.txt", "r0", "r1", "r2"],
        "r0: the references seem to be the other way round: 3 files of 2 lines, for 3 hypotheses; let line k ",
    ),
    "several data sets": (
        {},
        ["hyp.txt", "ref0.txt", "ref.jsonl"],
        "ref.jsonl: several files of references are plain text, but this is something else; give one data set, or",
    ),
    "a format for several files": (
        {},
        ["hyp.txt", "ref0.txt", "ref1.txt", "--from", "csv"],
        "--from does not fit several files of references, which are plain text",
    ),
    "a record without hypothesis": (
        {},
        ["ref.jsonl", "ref.jsonl"],
        'ref.jsonl:1: "hypothesis" is missing; add it, or name another key with --hypothesis-field (',
    ),
    "broken JSON": ({"hyp.jsonl": '{"id": \n'}, ["hyp.jsonl", "ref.jsonl"], "hyp.jsonl:1: broken JSON: "),
    "a list among records": (
        {"hyp.jsonl": records(a="x") + "[1]\n"},
        ["hyp.jsonl", "ref.jsonl"],
        "hyp.jsonl:2: the line holds a list, not an object; ",
    ),
    "a hypothesis that is no text": (
        {"hyp.jsonl": records(a=["x"])},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:1: "hypothesis" is not a string; ',
    ),
    "an id that is no text": (
        {"hyp.jsonl": '{"id": 1.5, "hypothesis": "x"}\n'},
        ["hyp.jsonl", "ref.jsonl"],
        'hyp.jsonl:1: "id" is neither a string nor a whole number; ',
    ),
    "an empty file of hypotheses": ({"hyp.txt": ""}, ["hyp.txt", "ref.jsonl"], "hyp.txt: the file is empty; "),
    "an empty file of references": (
        {"ref1.txt": ""},
        ["hyp.txt", "ref0.txt", "ref1.txt"],
        "ref0.txt: 3 lines, but ref1.txt has 0; give every file as many",
    ),
    "no file": ({}, ["nowhere.txt", "ref.jsonl"], "nowhere.txt: there is no such file"),
    "no file of references": ({}, ["hyp.txt", "nowhere.txt"], "nowhere.txt: there is no such file"),
    "standard input twice": ({}, ["-", "-"], "standard input can be read once; name a file for the other"),
    "an unknown metric": (
        {},
        ["hyp.txt", "ref0.txt", "--metrics", "bleu,meteor"],
        'unknown metric "meteor"; choose from',
    ),
    "text that is not UTF-8": ({"hyp.txt": b"a\n\xff\n"}, ["hyp.txt", "ref.jsonl"], "hyp.txt:2: not UTF-8 at byte 1"),
}


@pytest.mark.parametrize(("files", "arguments", "says"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused(run, folder, files, arguments, says):
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("score", *arguments)
    assert done.code == 2
    assert done.out == b""
    assert done.err.count("\n") == 1
    assert done.err.startswith(f"polyref: {says}")
