"""`polyref generate`."""

from __future__ import annotations

import gzip
import json
import os
import pty
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_folders import FEATURE_SIZE, SOURCES, small_folder

import polyref

TEXTS = [text for text in SOURCES if text]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_folder(tmp_path_factory.mktemp("translator"))


@pytest.fixture(scope="module")
def captioner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_folder(tmp_path_factory.mktemp("captioner"), "captioner")


@pytest.fixture(scope="module")
def said(model: Path) -> list[str]:
    return [found[0].text for found in polyref.load_model(model).generate(TEXTS)]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "input.jsonl"
    path.write_text("".join(json.dumps({"id": f"e{n}", "source": text}) + "\n" for n, text in enumerate(TEXTS)))
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_records_without_references_become_what_score_reads(run, model, said, records, tmp_path: Path):
    out = tmp_path / "out.jsonl"
    done = run("generate", model, records, "-o", out)
    assert done.code == 0
    assert done.out.decode() == f"{len(TEXTS)} hypotheses in {out}\n"
    assert lines_of(out) == [{"id": f"e{n}", "hypothesis": text} for n, text in enumerate(said)]
    references = tmp_path / "references.jsonl"
    references.write_text(
        "".join(json.dumps({"id": f"e{n}", "references": ["a mat"]}) + "\n" for n in reversed(range(len(TEXTS))))
    )
    assert run("score", out, references, "--allow-empty").code == 0


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_the_same_bytes_whatever_the_batch(run, model, batch, tmp_path: Path):
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{text} {number}\n" for number in range(5) for text in SOURCES))
    wanted = run("generate", model, path, "--best", 3)
    found = run("generate", model, path, "--best", 3, "--batch", batch)
    assert found.out == wanted.out
    assert len(found.out.splitlines()) == 30


def test_several_texts_each_have_scores_and_the_first_is_the_hypothesis(run, model, records):
    done = run("generate", model, records, "--best", 6, "--scoring", "plain")
    for line in done.out.splitlines():
        record = json.loads(line)
        assert list(record) == ["id", "hypothesis", "hypotheses"]
        assert len(record["hypotheses"]) == 6  # more than the model's own beam
        assert record["hypotheses"][0]["text"] == record["hypothesis"]
        scores = [one["score"] for one in record["hypotheses"]]
        assert scores == sorted(scores, reverse=True)
        assert all(one["score"] == one["log_prob"] == round(one["score"], 4) for one in record["hypotheses"])


@pytest.mark.parametrize("name", ["input.txt", "input.txt.gz", "input.src"])
def test_plain_lines_give_plain_lines_blank_ones_too(run, model, name, tmp_path: Path):
    content = "".join(f"{text}\n" for text in SOURCES).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    out = tmp_path / "out.txt"
    assert run("generate", model, tmp_path / name, "-o", out).code == 0
    wanted = [found[0].text for found in polyref.load_model(model).generate(SOURCES)]
    assert out.read_text() == "".join(f"{text}\n" for text in wanted)


def test_lines_of_any_file_are_read_where_that_is_said(run, model, said):
    stdin = "\n".join(TEXTS).encode()
    done = run("generate", model, "-", "--from", "lines", stdin=stdin)
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"id": str(number), "hypothesis": text} for number, text in enumerate(said, 1)
    ]
    done = run("generate", model, "-", stdin=stdin)
    assert done.code == 2
    assert "--from" in done.err


def test_a_line_break_in_a_text_does_not_break_the_lines(run, model, monkeypatch, tmp_path: Path):
    from polyref.model.folder import Generated, TrainedModel

    broken = [[Generated("one\r\ntwo", 0.0, 0.0)]]
    monkeypatch.setattr(TrainedModel, "generate", lambda self, texts, **choices: broken * len(texts))
    (tmp_path / "in.txt").write_text("a\nb\n")
    assert run("generate", model, tmp_path / "in.txt", "-o", tmp_path / "out.txt").code == 0
    assert (tmp_path / "out.txt").read_bytes() == b"one  two\none  two\n"
    done = run("generate", model, tmp_path / "in.txt")
    assert [json.loads(line)["hypothesis"] for line in done.out.splitlines()] == ["one\r\ntwo"] * 2


def test_every_format_is_read_with_references_and_tables_without(run, model, records, tmp_path: Path):
    full = tmp_path / "full.jsonl"
    with full.open("w") as file:
        for number, text in enumerate(TEXTS):
            record = {"id": f"e{number}", "source": text, "references": ["a", "b"]}
            file.write(json.dumps(record) + "\n")
    wanted = run("generate", model, full).out
    for name in ("full.csv", "full.tsv", "full.parquet"):
        assert run("convert", full, tmp_path / name).code == 0
        assert run("generate", model, tmp_path / name).out == wanted, name
    assert run("convert", full, tmp_path / "full.src").code == 0
    by_number = run("generate", model, tmp_path / "full.src").out
    assert [json.loads(line)["id"] for line in by_number.splitlines()] == ["1", "2", "3", "4", "5"]
    assert run("generate", model, records).out == wanted
    (tmp_path / "bare.csv").write_text("id,mr\n" + "".join(f'e{n},"{text}"\n' for n, text in enumerate(TEXTS)))
    assert run("generate", model, tmp_path / "bare.csv").out == wanted
    (tmp_path / "bare.tsv").write_text("source\tid\n" + "".join(f"{text}\te{n}\n" for n, text in enumerate(TEXTS)))
    assert run("generate", model, tmp_path / "bare.tsv").out == wanted
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    table = arrow.table({"id": [f"e{n}" for n in range(len(TEXTS))], "source": TEXTS})
    parquet.write_table(table, tmp_path / "bare.parquet")
    assert run("generate", model, tmp_path / "bare.parquet").out == wanted


def test_a_captioner_reads_features_of_the_images_that_sources_name(run, captioner, tmp_path: Path):
    images = np.random.default_rng(1).normal(size=(7, FEATURE_SIZE)).astype(np.float16)
    np.savez(tmp_path / "features.npz", ids=np.array([str(n) for n in range(40, 47)]), feats=images)
    np.save(tmp_path / "features.npy", images)
    (tmp_path / "ids.txt").write_text("".join(f"{n}\n" for n in range(40, 47)))
    # A number is looked up as it is written, as in training.
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": f"i{n}", "source": n}) + "\n" for n in (46, 45, 41)))
    done = run("generate", captioner, tmp_path / "in.jsonl", "--features", tmp_path / "features.npz")
    found = polyref.load_model(captioner).generate(images[[6, 5, 1]].astype(np.float32))
    assert [json.loads(line)["hypothesis"] for line in done.out.splitlines()] == [texts[0].text for texts in found]
    options = ["--features", tmp_path / "features.npy", "--feature-ids", tmp_path / "ids.txt"]
    assert run("generate", captioner, tmp_path / "in.jsonl", *options).out == done.out
    (tmp_path / "in.jsonl").write_text('{"source": "48"}')
    done = run(
        "generate", captioner, tmp_path / "in.jsonl", "--features", tmp_path / "features.npz", "-o", tmp_path / "o"
    )
    assert (done.code, done.out) == (2, b"")
    assert 'no features for "48"' in done.err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--batch", "0"], "batch is 0; give a whole number from 1 to 100,000"),
        (["--batch", "99999999999999999999"], "batch is a number with too many digits; give a whole number"),
        (["--beam", "99999999999999999999"], "--beam is a number with too many digits; give a whole number"),
        (["--scoring", "normalised", "--power", "1000"], "--power is 1000.0; give a number above 0 and at most 10"),
        (["--scoring", "normalised", "--power", "nan"], "--power is nan"),
        (["--reward", "1e308"], "--reward is 1e+308; give a number above 0 and at most 100,000"),
        (["--bound", "inf"], "--bound is inf"),
        (["--power", "0.7"], "--power has no effect on rewarded scores; set --scoring to normalised, or leave it out"),
        (
            ["--scoring", "plain", "--reward", "5"],
            "--reward has no effect without --scoring rewarded",
        ),
        (
            ["--scoring", "normalised", "--bound", "5"],
            "--bound has no effect without --scoring rewarded",
        ),
        (["--best", "3", "--beam", "2"], "more than the beam of 2"),
        (["--best", "0"], "best is 0"),
        (["--best", "0", "-o", "out.txt"], "best is 0"),
        (["--longest", "0"], "longest is 0"),
        (["--features", "x.npz"], "--features has no effect on a translator, which reads texts; leave it out"),
        (["--feature-ids", "x.txt"], "--feature-ids has no effect without --features; add that, or leave it out"),
        (["-o", "out.txt", "--best", "2"], "a line holds one text"),
        (["-o", "out.csv"], "end the name in .jsonl or .txt"),
        (["--source-field", "text"], '"text" is missing; add it, or name another key with --source-field'),
        (["-o", "/nowhere/out.jsonl"], "cannot be written"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run, model, records, options, says):
    done = run("generate", model, records, *options)
    assert (done.code, done.out) == (2, b"")
    assert says in done.err
    assert done.err.count("\n") == 1


def test_a_captioner_without_features_and_no_model_are_refused(run, captioner, records, tmp_path: Path):
    assert "give --features FILE" in run("generate", captioner, records).err
    done = run("generate", tmp_path / "gone", records)
    assert done.code == 2
    assert "there is no such folder; give a folder that polyref train has made" in done.err
    assert "this is a file; give a folder" in run("generate", records, records).err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "e0", "source": "x"}', 'the id "e0" comes twice'),
        ('{"source": null}', '"source" is missing'),
        ('{"id": 1.5, "source": "x"}', '"id" is the number 1.5'),
        ('{"source": "\\ud800"}', "half a surrogate pair"),
        ("{", "broken JSON"),
        ("[1]", "the line holds a list, not an object"),
    ],
)
def test_a_bad_record_is_named_and_nothing_is_left(run, model, records, line, says, tmp_path: Path):
    with records.open("a") as file:
        file.write(line + "\n")
    done = run("generate", model, records, "-o", tmp_path / "out.jsonl")
    assert (done.code, done.out) == (2, b"")
    assert f"input.jsonl:{len(TEXTS) + 1}: " in done.err
    assert says in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["input.jsonl"]


def test_the_input_is_not_written_over(run, model, records):
    before = records.read_bytes()
    assert "this is the input file" in run("generate", model, records, "-o", records).err
    assert records.read_bytes() == before


@pytest.mark.parametrize("name", ["weights.safetensors", "model.json", "target.json", "log.jsonl", "expanded-a.jsonl"])
def test_the_model_is_not_written_over(run, records, name, tmp_path: Path):
    folder = small_folder(tmp_path / "model")
    for made in ("log.jsonl", "expanded-a.jsonl"):
        (folder / made).write_text("{}\n")
    before = (folder / name).read_bytes()
    (tmp_path / "link").symlink_to(folder / name)
    for output in (folder / name, tmp_path / "link"):
        done = run("generate", folder, records, "-o", output)
        assert done.code == 2
        assert f"{output}: this is {name} of the model; choose another name for the output" in done.err
    assert (folder / name).read_bytes() == before


def test_hypotheses_in_the_folder_of_the_model_are_written_again(run, records, tmp_path: Path):
    folder = small_folder(tmp_path / "model")
    for _ in range(2):
        assert run("generate", folder, records, "-o", folder / "said.jsonl").code == 0


def test_the_features_and_their_ids_are_not_written_over(run, captioner, tmp_path: Path):
    np.save(tmp_path / "features.npy", np.zeros((1, FEATURE_SIZE), np.float32))
    (tmp_path / "ids.txt").write_text("1\n")
    (tmp_path / "in.jsonl").write_text('{"source": "1"}')
    options = ["--features", tmp_path / "features.npy", "--feature-ids", tmp_path / "ids.txt"]
    for name, what in (("features.npy", "the file of features"), ("ids.txt", "the file of ids")):
        before = (tmp_path / name).read_bytes()
        done = run("generate", captioner, tmp_path / "in.jsonl", *options, "-o", tmp_path / name)
        assert done.code == 2
        assert f"this is {what}; choose another name" in done.err
        assert (tmp_path / name).read_bytes() == before


def test_ids_without_features_are_found_before_anything_is_generated(run, captioner, monkeypatch, tmp_path: Path):
    from polyref.model.folder import TrainedModel

    np.savez(tmp_path / "features.npz", ids=np.array(["1"]), feats=np.zeros((1, FEATURE_SIZE), np.float32))
    rows = [{"id": str(n), "source": "1"} for n in range(20)]
    rows += [{"id": name, "source": name} for name in ("gone", "lost", "off", "away")]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "in.jsonl").write_text(lines)
    calls = []
    generate = TrainedModel.generate
    monkeypatch.setattr(TrainedModel, "generate", lambda *some, **more: calls.append(1) or generate(*some, **more))
    options = ["--features", tmp_path / "features.npz", "--batch", 1]
    done = run("generate", captioner, tmp_path / "in.jsonl", *options)
    assert (done.code, done.out, calls) == (2, b"", [])
    assert 'no features for "gone", "lost", "off" and 1 more' in done.err
    done = run("generate", captioner, "-", *options, stdin=lines.encode())  # it cannot be read twice
    assert (done.code, len(calls)) == (2, 3)
    assert 'no features for "gone"' in done.err


def test_how_many_texts_there_are_is_as_in_the_folder_unless_it_is_told(run, records, tmp_path: Path):
    folder = small_folder(tmp_path / "model")
    about = json.loads((folder / "model.json").read_text())
    about["beam"]["best"] = 2
    (folder / "model.json").write_text(json.dumps(about))
    said = [json.loads(line) for line in run("generate", folder, records).out.splitlines()]
    assert [len(record["hypotheses"]) for record in said] == [2] * len(TEXTS)
    found = polyref.load_model(folder).generate(TEXTS)
    assert [[one["text"] for one in record["hypotheses"]] for record in said] == [
        [one.text for one in of_one] for of_one in found
    ]
    one = [json.loads(line) for line in run("generate", folder, records, "--best", 1).out.splitlines()]
    assert one == [{"id": record["id"], "hypothesis": record["hypothesis"]} for record in said]
    assert run("generate", folder, records, "-o", tmp_path / "out.txt").code == 0  # a line holds one text
    assert (tmp_path / "out.txt").read_text().splitlines() == [record["hypothesis"] for record in said]


def test_the_summary_for_a_machine_goes_where_the_hypotheses_do_not(run, model, records, tmp_path: Path):
    counts = {"hypotheses": 5, "empty": 5}
    done = run("generate", model, records, "--longest", 1, "--json")
    assert json.loads(done.err) == counts
    done = run("generate", model, records, "--longest", 1, "--json", "-o", tmp_path / "out.jsonl")
    assert json.loads(done.out) == counts
    done = run("generate", model, records, "--longest", 1, "-o", tmp_path / "out.jsonl")
    assert done.err == "polyref: 5 of them empty; polyref score takes them with --allow-empty\n"


def test_a_terminal_sees_progress(start, model, records, tmp_path: Path):
    parent, child = pty.openpty()
    process = start("generate", model, records, "-o", tmp_path / "out.jsonl", stderr=child)
    assert process.wait() == 0
    os.close(child)
    assert b"generating" in os.read(parent, 1 << 16)
    os.close(parent)
