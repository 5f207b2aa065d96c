"""`polyref encoder`: train, list, show, calibrate."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from samples import caption_lines
from small_encoders import GERMAN, WORDS, caption_text, drawn_text, write_encoder

from polyref.encode.context import ContextEncoder, read_config, read_folder, write_config

SMALL = ["--vector-size", 8, "--state-size", 6, "--epochs", 2, "--cutoff", 1, "--held-out", 0.2, "--threads", 1]
LONGEST_WAIT = 120.0  # seconds; only a run that hangs comes near it
FILES = ["config.json", "vocabulary.txt", "weights.safetensors"]


def torch_here():
    return pytest.importorskip("torch")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def whole_in(checkpoints: Path) -> set[str]:
    return {path.name for path in checkpoints.glob("*-*-*") if path.suffix != ".partial"}


def refused(finished, said: str) -> None:
    """One line on standard error, exit code 2, nothing else."""
    assert finished.code == 2
    assert finished.err.startswith("polyref: ")
    assert finished.err.count("\n") == 1
    assert said in finished.err


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "captions.txt"
    path.write_text(caption_text(30))
    return path


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """An encoder that was not trained, but opens like one."""
    return write_encoder(tmp_path / "encoders" / "small")


# train


def test_an_encoder_is_trained_told_of_and_opened(run, text: Path, tmp_path: Path):
    torch_here()
    done = run("encoder", "train", text, "-o", tmp_path / "mine", *SMALL, "--licence", "my own")
    assert done.code == 0
    assert "words to train on" in done.err
    assert [line.split()[1] for line in done.err.splitlines() if line.startswith("epoch ")] == ["1", "2"]
    assert "best so far" in done.err
    assert "my own" in done.out.decode()
    assert names_in(tmp_path / "mine") == FILES
    assert read_folder(tmp_path / "mine").config["licence"] == "my own"


def test_with_json_one_object_is_all_that_is_printed(run, text: Path, tmp_path: Path):
    torch_here()
    done = run("encoder", "train", text, "-o", tmp_path / "mine", *SMALL, "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    facts = json.loads(done.out)
    assert facts["name"] == str(tmp_path / "mine")
    assert facts["training"]["settings"]["model"]["state_size"] == 6
    assert len(facts["training"]["perplexity_by_epoch"]) == 2


def test_every_option_arrives_where_it_belongs(run, tmp_path: Path):
    torch_here()
    (tmp_path / "data.jsonl").write_text(caption_lines(30))
    (tmp_path / "test.txt").write_text(caption_text(3))
    options = {
        "--cutoff": 2,
        "--readable": 77,
        "--vector-size": 16,
        "--state-size": 5,
        "--softmax": "adaptive",
        "--dropout": 0.25,
        "--epochs": 1,
        "--optimiser": "sgd",
        "--learning-rate": 0.5,
        "--decay": 0.75,
        "--gain": 0.03,
        "--stop-after": 3,
        "--clip": 2.5,
        "--words-at-once": 100,
        "--held-out": 0.3,
        "--save-every": 9,
        "--seed": 4,
        "--threads": 1,
        "--tokenizer": "whitespace",
    }
    flat = [part for option in options.items() for part in option]
    arguments = [tmp_path / "data.jsonl", "-o", tmp_path / "mine", "--without", tmp_path / "test.txt", *flat]
    done = run("encoder", "train", *arguments, "--keep-case", "--json", "-q")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["training"]["settings"] == {
        "cutoff": 2,
        "readable": 77,
        "words_at_once": 100,
        "held_out": 0.3,
        "use": "references",
        "licence": "",
        "text": {"tokenizer": "whitespace", "fold_case": False},
        "model": {
            "vector_size": 16,
            "state_size": 5,
            "buckets": 4096,
            "softmax": "adaptive",
            "dropout": 0.25,
            "spelled": 0.05,
            "freeze": False,
        },
        "fit": {
            "epochs": 1,
            "updates": None,
            "optimiser": "sgd",
            "learning_rate": 0.5,
            "weight_decay": 0.0,
            "clip": 2.5,
            "decay": {"factor": 0.75, "gain": 0.03, "stop_after": 3},
            "goal": "lowest",
            "save_every": 9,
            "seed": 4,
            "average": None,
            "validate_every": None,
            "recent": 3,
            "patience": None,
            "precision": "float32",
        },
    }


def test_updates_are_a_limit_without_one_of_epochs(run, text: Path, tmp_path: Path):
    torch_here()
    sizes = ["--vector-size", 8, "--state-size", 6, "--cutoff", 1, "--held-out", 0.2, "--threads", 1]
    options = [*sizes, "--words-at-once", 100, "--stop-after", 99, "--updates", 133]
    done = run("encoder", "train", text, "-o", tmp_path / "mine", *options)
    assert done.code == 0
    training = json.loads((tmp_path / "mine" / "config.json").read_text())["training"]
    epochs = training["epochs"]
    assert epochs > 20
    assert done.err.count("in validation") == len(training["perplexity_by_epoch"]) == epochs + 1


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--epochs", 0, "--epochs is 0; give a whole number, 1 or more"),
        ("--cutoff", 0, "--cutoff is 0; give a whole number, 1 or more"),
        ("--learning-rate", "nan", "--learning-rate is nan; give a number above 0 and at most 100"),
        ("--held-out", 0, "--held-out is 0.0; give a number above 0 and at most 0.5"),
        ("--threads", 0, "--threads is 0; give a whole number from 1 to 1,024"),
        ("--dropout", 1, "--dropout is 1.0; give a number from 0 to less than 1"),
        ("--stop-after", 0, "--stop-after is 0"),
        ("--state-size", -1, "--state-size is -1"),
        ("--seed", -1, "--seed is -1; give a whole number from 0 to less than 2^32"),
        ("--clip", 0, "--clip is 0.0; give a number above 0"),
        ("--vectors", "nothing.npz", "nothing.npz: there is no such file"),
        ("--without", "nothing.txt", "nothing.txt: there is no such file"),
        ("--cutoff", 1000, "no word occurs 1000 times; give more text, or a lower cut-off"),
        ("--softmax", "adaptive", "--vector-size is 8; the adaptive softmax needs 16 or more"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_and_nothing_is_written(
    run, text: Path, tmp_path: Path, option, value, said
):
    torch_here()
    done = run("encoder", "train", text, "-o", tmp_path / "mine", *SMALL, option, value)
    refused(done, said)
    assert done.out == b""
    assert names_in(tmp_path) == ["captions.txt"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "0 sentences to train on and 0 to validate; give more text"),
        (b"good\nb\xe4d\n", "bad.txt:2: not UTF-8; save the text as UTF-8"),
        (b"one line only\n", "give more text, or hold out another share"),
    ],
)
def test_text_that_cannot_be_used_is_refused_and_nothing_is_written(run, tmp_path: Path, content, said):
    torch_here()
    (tmp_path / "bad.txt").write_bytes(content)
    refused(run("encoder", "train", tmp_path / "bad.txt", "-o", tmp_path / "mine", *SMALL), said)
    assert names_in(tmp_path) == ["bad.txt"]


def test_a_data_set_with_a_fault_names_its_line(run, tmp_path: Path):
    torch_here()
    (tmp_path / "data.jsonl").write_text(caption_lines(2) + '{"source": 1, "references": []}\n')
    refused(run("encoder", "train", tmp_path / "data.jsonl", "-o", tmp_path / "mine", *SMALL), "data.jsonl:3: ")
    assert names_in(tmp_path) == ["data.jsonl"]


def test_sources_that_are_not_strings_are_refused_with_a_cure(run, tmp_path: Path):
    torch_here()
    (tmp_path / "data.jsonl").write_text(caption_lines(2))
    done = run("encoder", "train", tmp_path / "data.jsonl", "-o", tmp_path / "mine", *SMALL, "--use", "source")
    refused(done, "data.jsonl:1: the source is not a string; set --use to references")


def test_no_text_and_no_folder_are_refused(run, text: Path, tmp_path: Path):
    torch_here()
    assert run("encoder", "train", "-o", tmp_path / "mine").code == 2
    assert run("encoder", "train", text).code == 2
    refused(run("encoder", "train", tmp_path / "none.txt", "-o", tmp_path / "mine"), "none.txt: there is no such file")
    assert names_in(tmp_path) == ["captions.txt"]


def test_nothing_can_be_frozen_without_vectors(run, text: Path, tmp_path: Path):
    torch_here()
    done = run("encoder", "train", text, "-o", tmp_path / "mine", *SMALL, "--freeze")
    refused(done, "there are no vectors to freeze; give a table of vectors")


def test_a_file_where_the_folder_should_be_is_named(run, text: Path):
    torch_here()
    before = text.read_bytes()
    refused(run("encoder", "train", text, "-o", text, *SMALL), "captions.txt: cannot be written")
    assert text.read_bytes() == before


def test_a_finished_encoder_is_not_trained_over(run, text: Path, encoder: Path):
    torch_here()
    before = content_of(encoder)
    refused(run("encoder", "train", text, "-o", encoder, *SMALL), "small holds a finished encoder with other settings")
    assert content_of(encoder) == before


def test_a_run_that_is_finished_says_so(run, text: Path, tmp_path: Path):
    torch_here()
    command = ("encoder", "train", text, "-o", tmp_path / "mine", *SMALL)
    first = run(*command)
    before = content_of(tmp_path / "mine")
    again = run(*command)
    assert (again.code, again.out) == (0, first.out)
    assert again.err == f"{tmp_path / 'mine'}: this encoder is finished; there is nothing left to train\n"
    assert content_of(tmp_path / "mine") == before
    facts = run(*command, "--json")
    assert (facts.code, json.loads(facts.out)["name"]) == (0, str(tmp_path / "mine"))


def test_two_runs_in_one_folder_are_refused(run, start, text: Path, tmp_path: Path):
    torch_here()
    command = ("encoder", "train", text, "-o", tmp_path / "mine", *SMALL, "--epochs", 100_000, "--stop-after", 100_000)
    process = start(*command)
    last = time.monotonic() + LONGEST_WAIT
    while not (tmp_path / "mine" / "training").exists():
        assert time.monotonic() < last and process.poll() is None, "waited in vain"
        time.sleep(0.02)
    refused(run(*command), "mine: another run trains in this folder; wait until it ends, or give another folder")


def test_without_torch_training_says_what_to_install(run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run("encoder", "train", text, "-o", tmp_path / "mine", *SMALL)
    refused(done, 'training an encoder needs torch; install it with: pip install "polyref[torch]"')
    assert names_in(tmp_path) == ["captions.txt"]


def test_without_torch_all_other_verbs_work(run, run_apart, text: Path, encoder: Path, tmp_path: Path):
    """In a process of its own, where torch cannot be imported and nothing has been."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None\n")
    environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for arguments in (["show", encoder], ["list", encoder.parent]):
        done = run_apart("encoder", *arguments, environment=environment)
        assert (done.code, done.err) == (0, "")


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(run, start, text: Path, tmp_path: Path):
    torch_here()
    options = [*SMALL, "--epochs", 30, "--stop-after", 100, "--save-every", 5, "--words-at-once", 64]
    assert run("encoder", "train", text, "-o", tmp_path / "whole", *options).code == 0
    checkpoints, rng, seen = tmp_path / "killed" / "training" / "checkpoints", random.Random(1), set()
    for _ in range(2):
        process = start("encoder", "train", text, "-o", tmp_path / "killed", *options)
        last = time.monotonic() + LONGEST_WAIT
        while process.poll() is None and not whole_in(checkpoints) - seen:
            assert time.monotonic() < last, "waited in vain"
            time.sleep(0.005)
        time.sleep(rng.random() * 0.1)
        assert process.poll() is None, "it was through before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(LONGEST_WAIT)
        seen |= whole_in(checkpoints)
        left = content_of(tmp_path / "killed")
        done = run("encoder", "train", text, "-o", tmp_path / "killed", *options, "--seed", 3, "-q")
        refused(done, "killed/training holds a run with other settings or other data; give those again, or another")
        assert content_of(tmp_path / "killed") == left
        assert names_in(tmp_path / "killed") == ["training"]
    assert run("encoder", "train", text, "-o", tmp_path / "killed", *options).code == 0
    assert content_of(tmp_path / "killed") == content_of(tmp_path / "whole")


# list


def test_encoders_in_a_folder_are_listed_and_other_folders_are_not(run, encoder: Path):
    place = encoder.parent
    write_encoder(place / "another", baseline=0.25)
    (place / "no encoder").mkdir()
    for name, content in {"other program": '{"format": 1}', "broken": "{", "model": '{"model_type": "bert"}'}.items():
        (place / name).mkdir()
        (place / name / "config.json").write_text(content)
    done = run("encoder", "list", place)
    assert (done.code, done.err) == (0, "")
    lines = [line for line in done.out.decode().splitlines() if not line.startswith("english:")]
    assert lines == [
        f"{place / 'another'}: {len(WORDS)} words, states of 6, perplexity 12.5, baseline 0.25",
        f"{place / 'small'}: {len(WORDS)} words, states of 6, perplexity 12.5, baseline 0.1",
    ]


def test_listing_as_json_gives_an_object_a_line(run, encoder: Path):
    done = run("encoder", "list", encoder.parent, "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [facts["words"] for facts in found if facts["name"] == str(encoder)] == [len(WORDS)]


def test_listing_looks_here_where_nothing_is_named(run, encoder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(encoder.parent)
    assert "small: 20 words" in run("encoder", "list").out.decode()


def test_listing_what_is_no_folder_is_refused(run, tmp_path: Path):
    refused(run("encoder", "list", tmp_path / "nothing"), "nothing is not a folder; name one that holds encoders")


# show


def test_an_encoder_is_shown(run, encoder: Path):
    done = run("encoder", "show", encoder)
    assert (done.code, done.err) == (0, "")
    shown = dict(line.split(maxsplit=1) for line in done.out.decode().splitlines() if len(line.split()) == 2)
    assert str(encoder) in "".join(done.out.decode().split())  # which may take several lines
    assert shown["hash"] == read_folder(encoder).hash
    assert shown["baseline"] == "0.1"


def test_yes_and_no_are_shown_as_such(run, encoder: Path):
    write_config(encoder, read_config(encoder) | {"fold_case": False, "frozen": True, "thousands": 12345})
    rows = [line.split() for line in run("encoder", "show", encoder).out.decode().splitlines()]
    assert ["fold", "case", "False"] in rows
    assert ["frozen", "True"] in rows
    assert ["thousands", "12,345"] in rows


def test_an_encoder_is_shown_as_json(run, encoder: Path):
    facts = json.loads(run("encoder", "show", encoder, "--json").out)
    assert facts == {"name": str(encoder), "hash": read_folder(encoder).hash, **read_config(encoder)}


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", b"{", "config.json: cannot be read"),
        ("config.json", b'{"format": 1}', "config.json: `vector_size` should be a whole number above 0"),
        ("config.json", b"\xff", "config.json: cannot be read"),
        (
            "config.json",
            None,
            "there is no config.json in it; give a folder in which training has finished",
        ),
        ("weights.safetensors", b"nonsense", "weights.safetensors: not the weights that the description belongs to"),
        ("weights.safetensors", None, "cannot be read"),
        ("vocabulary.txt", b"a\nb\n", "vocabulary.txt: not the vocabulary that the weights belong to"),
        ("vocabulary.txt", b"\xff\n", "cannot be read"),
        ("vocabulary.txt", None, "cannot be read"),
    ],
)
def test_a_damaged_encoder_is_refused_in_one_line(run, encoder: Path, text: Path, file, content, said):
    (encoder / file).unlink()
    if content is not None:
        (encoder / file).write_bytes(content)
    for arguments in (["show", encoder], ["calibrate", encoder, text, "--save"]):
        done = run("encoder", *arguments)
        refused(done, said)
        assert done.out == b""


def test_what_is_no_encoder_is_refused(run, tmp_path: Path, text: Path):
    refused(run("encoder", "show", tmp_path), "there is no config.json in it")
    refused(run("encoder", "show", "nothing at all"), 'there is no encoder "nothing at all"; give english, the folder')
    refused(run("encoder", "show", text), f'there is no encoder "{text}"')


# calibrate


@pytest.fixture
def own_text(tmp_path: Path) -> Path:
    path = tmp_path / "own.txt"
    path.write_text(drawn_text(WORDS, 60))
    return path


def test_a_baseline_is_measured_and_not_kept(run, encoder: Path, own_text: Path):
    before = content_of(encoder)
    done = run("encoder", "calibrate", encoder, own_text)
    assert (done.code, done.err) == (0, "")
    first, second = done.out.decode().splitlines()
    measured = first.split()[1]
    assert first == f"baseline {measured} on 60 sentences of yours; 0.1000 before"
    assert second == f"use it with: --baseline {measured}"
    assert content_of(encoder) == before


def test_a_baseline_is_measured_and_kept(run, encoder: Path, own_text: Path):
    measured = json.loads(run("encoder", "calibrate", encoder, own_text, "--json").out)
    assert measured == {"name": str(encoder), "baseline": measured["baseline"], "before": 0.1, "sentences": 60}
    assert measured["baseline"] != 0.1
    hash_before = read_folder(encoder).hash
    done = run("encoder", "calibrate", encoder, own_text, "--save")
    assert done.out.decode().splitlines()[1] == f"kept in {encoder}"
    assert read_folder(encoder).config["baseline"] == measured["baseline"]
    assert read_folder(encoder).hash == hash_before
    assert names_in(encoder) == FILES
    again = json.loads(run("encoder", "calibrate", encoder, own_text, "--json").out)
    assert again["baseline"] == again["before"] == measured["baseline"]


def test_a_baseline_of_other_vectors_is_measured_but_not_kept(run, encoder: Path, own_text: Path):
    before = content_of(encoder)
    usual, other = (
        json.loads(run("encoder", "calibrate", encoder, own_text, "--json", *options).out)
        for options in ([], ["--word-share", "0.5", "--no-centre"])
    )
    assert other["baseline"] != usual["baseline"]
    assert other["before"] is None  # what the folder has is that of its usual vectors
    done = run("encoder", "calibrate", encoder, own_text, "--no-centre")
    assert "before" not in done.out.decode()
    refused(
        run("encoder", "calibrate", encoder, own_text, "--no-centre", "--save"), "of its usual vectors only; use --"
    )
    assert content_of(encoder) == before


def test_of_each_example_one_sentence_is_taken(run, encoder: Path, tmp_path: Path):
    """References of one example are alike; a baseline is of sentences that have nothing to do with each other."""
    lines = drawn_text(WORDS, 90, seed=2).splitlines()
    records = [{"source": k, "references": lines[k : k + 3]} for k in range(0, 90, 3)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert json.loads(run("encoder", "calibrate", encoder, tmp_path / "data.jsonl", "--json").out)["sentences"] == 30


def test_a_table_is_calibrated_but_not_written_to(run, own_text: Path, tmp_path: Path):
    from samples import Families

    name = Families([(0.5, " ".join(WORDS[:10])), (0.3, " ".join(WORDS[10:18]))]).save(tmp_path / "table.npz")
    before = (tmp_path / "table.npz").read_bytes()
    refused(run("encoder", "calibrate", name, own_text, "--save"), "is not a folder of your own; use --baseline")
    assert (tmp_path / "table.npz").read_bytes() == before


def test_an_encoder_inside_the_package_is_not_written_to(run, own_text: Path, encoder: Path, monkeypatch):
    """Not even a folder of that name that happens to be here."""
    import shutil

    from polyref.encode import opening

    shutil.copytree(encoder, encoder.parent / "english")
    monkeypatch.chdir(encoder.parent)
    monkeypatch.setattr(opening, "open_builtin", lambda name, vectors: ContextEncoder.load(str(encoder)))
    before = content_of(encoder.parent)
    refused(
        run("encoder", "calibrate", "english", own_text, "--save"),
        "english is not a folder of your own; use --baseline",
    )
    assert content_of(encoder.parent) == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "0 sentences; give more text"),
        ("one\n", "1 sentences; give more text"),
        (drawn_text(GERMAN[:-2], 60), "are not enough to measure"),
    ],
)
def test_text_that_tells_nothing_is_refused(run, encoder: Path, tmp_path: Path, content, said):
    (tmp_path / "text.txt").write_text(content)
    before = content_of(encoder)
    refused(run("encoder", "calibrate", encoder, tmp_path / "text.txt", "--save"), said)
    assert content_of(encoder) == before


def test_help_names_the_four_verbs(run):
    out = run("encoder", "--help").out.decode()
    assert all(verb in out for verb in ("train", "list", "show", "calibrate"))


def test_an_output_without_a_name_is_refused_before_anything_is_read(run, tmp_path: Path):
    refused(run("encoder", "train", tmp_path / "nowhere.txt", "-o", ""), "the output has no name; give -o FOLDER")
