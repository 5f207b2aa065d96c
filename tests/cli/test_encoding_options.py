"""`polyref expand` with the built-in encoder, --fluency, --language-model, --cache and --baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import CAT, FAMILIES, Families, caption_lines
from small_encoders import write_encoder

from polyref import AlignSettings, Lattice
from polyref.encode import ContextEncoder, default_encoder

CAT_RECORD = json.dumps({"id": "cat", "source": 1, "references": CAT}).encode()
PEOPLE = b'{"source": 1, "references": ["old man walks home every day", "young person walks home every day"]}'
FRENCH = [
    "un chat gris est couché dans un bol rouge posé sur une table près de la fenêtre",
    "un chat brun et noir est endormi dans un saladier sur la table de la cuisine",
    "le chat dort dans un grand bol en bois que quelqu'un avait laissé sur la table de la salle à manger",
    "une photo où dort un chat gris couché dans un bol rouge près de la fenêtre fermée de la cuisine",
]
FRENCH_RECORD = json.dumps({"source": 1, "references": FRENCH}, ensure_ascii=False).encode()
SOFT = ["--align", "soft"]


def one(content: bytes) -> dict[str, Any]:
    [line] = content.splitlines()
    return json.loads(line)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "model", sorted({word for caption in CAT for word in caption.split()}))


# -- the built-in encoder ---------------------------------------------------------------------------------------


def test_soft_alignment_takes_the_built_in_encoder(run):
    named, unnamed = (
        run("expand", "-", *SOFT, *options, stdin=CAT_RECORD) for options in (["--encoder", "english"], [])
    )
    assert (named.code, unnamed.code) == (0, 0)
    assert named.out == unnamed.out
    assert one(named.out)["lattice"]["penalty"] == AlignSettings().penalty


@pytest.mark.parametrize("verb", ["lattice", "align"])
def test_lattices_are_looked_at_with_the_built_in_encoder(verb, run):
    named, unnamed = (
        run(verb, "-", *SOFT, "--json", *options, stdin=CAT_RECORD) for options in (["--encoder", "english"], [])
    )
    assert (named.code, named.out) == (unnamed.code, unnamed.out) == (0, unnamed.out)
    assert one(unnamed.out)


@pytest.mark.parametrize("verb", ["expand", "lattice", "align"])
def test_text_in_another_language_is_refused_with_a_cure(verb, run):
    done = run(verb, "-", *SOFT, stdin=FRENCH_RECORD)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith('polyref: the encoder "english" does not know ')
    for cure in ("vectors:FILE", "huggingface:NAME", "the folder of one that you trained", "set --align to hard"):
        assert cure in done.err
    assert done.err.count("\n") == 1
    assert run(verb, "-", stdin=FRENCH_RECORD).code == 0


def test_a_file_in_another_language_leaves_nothing_behind(run, tmp_path: Path):
    output = tmp_path / "out.jsonl"
    for workers in (1, 2):
        done = run("expand", "-", *SOFT, "-o", output, "--engine", "plain", "--workers", workers, stdin=FRENCH_RECORD)
        assert done.code == 2
        assert "set --align to hard" in done.err
        assert not list(tmp_path.iterdir())


def test_the_built_in_encoder_is_listed_and_shown(run, tmp_path: Path):
    first = run("encoder", "list", tmp_path).out.decode().splitlines()[0]
    assert first.startswith("english: ")
    assert first.endswith(" (default)")
    listed = one(run("encoder", "list", tmp_path, "--json").out)
    shown = one(run("encoder", "show", "english", "--json").out)
    assert (listed["name"], shown["name"]) == ("english", "english")
    assert shown["hash"] == default_encoder().hash
    assert shown["baseline"] == listed["baseline"] == default_encoder().baseline
    assert {key: shown[key] for key in listed} == listed
    told = run("encoder", "show", "english").out.decode()
    for key, value in (("hash", shown["hash"]), ("words", f"{shown['words']:,}"), ("baseline", shown["baseline"])):
        assert f"{key:<24} {value}\n" in told


# -- fluency ----------------------------------------------------------------------------------------------------


def test_fluency_is_written_beside_bleu(run):
    result = one(run("expand", "-", "--fluency", "0.25", stdin=CAT_RECORD).out)
    assert len(result["pseudo_references"]) == 15
    assert {tuple(pseudo) for pseudo in result["pseudo_references"]} == {
        ("text", "bleu", "fluency", "content", "crossings")
    }
    floor = min(default_encoder().fluency([text.split() for text in CAT])) - 0.25
    for pseudo in result["pseudo_references"]:
        assert pseudo["fluency"] == default_encoder().fluency([pseudo["text"].split()])[0] >= round(floor, 4)
    scores = [pseudo["bleu"] for pseudo in result["pseudo_references"]]
    assert scores == sorted(scores, reverse=True)
    plain = one(run("expand", "-", stdin=CAT_RECORD).out)
    assert {tuple(pseudo) for pseudo in plain["pseudo_references"]} == {("text", "bleu", "content", "crossings")}


def test_the_summary_says_how_many_were_not_fluent(run, model):
    options = ["-k", "20", "--judge", "bleu", "--fluency", "-0.1", "--language-model", model]
    lattice, judge = Lattice.from_references(CAT, engine="plain"), ContextEncoder.load(str(model))
    floor = round(min(judge.fluency([text.split() for text in CAT])) + 0.1, 4)
    fluencies = [judge.fluency([sentence.words])[0] for sentence in lattice.best(15 * 32)]
    fluent = [place for place, value in enumerate(fluencies) if value >= floor][:15]
    assert len(fluent) == 15
    left_out = fluent[-1] + 1 - 15
    assert left_out > 0
    assert json.loads(run("expand", "-", *options, "--json", stdin=CAT_RECORD).err)["left_out"] == {"fluency": left_out}
    assert f"left out        {left_out:,} are not fluent\n" in run("expand", "-", *options, stdin=CAT_RECORD).err
    assert "not fluent" not in run("expand", "-", stdin=CAT_RECORD).err


def test_a_margin_that_leaves_out_nothing_changes_no_sentence(run):
    plain = one(run("expand", "-", stdin=CAT_RECORD).out)
    judged = one(run("expand", "-", "--fluency", "100", stdin=CAT_RECORD).out)
    for pseudo in judged["pseudo_references"]:
        del pseudo["fluency"]
    assert judged == plain


def test_a_language_model_judges_hard_alignments_as_well(run, model):
    result = one(run("expand", "-", "--fluency", "0.1", "--language-model", model, stdin=CAT_RECORD).out)
    judge = ContextEncoder.load(str(model))
    texts = [pseudo["text"].split() for pseudo in result["pseudo_references"]]
    assert [pseudo["fluency"] for pseudo in result["pseudo_references"]] == judge.fluency(texts)
    english = one(run("expand", "-", "--fluency", "0.1", "--language-model", "english", stdin=CAT_RECORD).out)
    assert english == one(run("expand", "-", "--fluency", "0.1", stdin=CAT_RECORD).out) != result


def test_the_encoder_judges_unless_another_model_is_named(run, model):
    options = [*SOFT, "--encoder", model, "--fluency", "0.1"]
    own, named, other = (
        one(run("expand", "-", *options, *more, stdin=CAT_RECORD).out)
        for more in ([], ["--language-model", model], ["--language-model", "english"])
    )
    assert own == named != other


def test_word_vectors_leave_judging_to_the_built_in_model(run, tmp_path: Path):
    options = [*SOFT, "--encoder", Families(FAMILIES).save(tmp_path / "families.npz"), "--similarity", "cosine"]
    result = one(run("expand", "-", *options, "--fluency", "100", stdin=PEOPLE).out)
    texts = [pseudo["text"].split() for pseudo in result["pseudo_references"]]
    assert texts
    assert [pseudo["fluency"] for pseudo in result["pseudo_references"]] == default_encoder().fluency(texts)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--language-model", "english"],
            "--language-model judges fluency and seams, and is asked for neither; set --fluency, or set --judge to",
        ),
        (["--cache", "folder"], "--cache has no effect without --align soft; add that, or leave it out"),
        (["--fluency", "1000"], "--fluency is 1000.0; give a number from -100 to 100, such as 0"),
        (["--fluency", "nan"], "--fluency is nan"),
        (
            ["--fluency", "0.2", "--language-model", "french"],
            'there is no language model "french"; give english or the folder',
        ),
        (["--fluency", "0.2", "--language-model", "vectors:x.npz"], 'there is no language model "vectors:x.npz"'),
        (["--align", "soft", "--baseline", "1"], "--baseline is 1.0; give a number above -1 and below 1"),
        (["--align", "soft", "--cache", ""], "--cache has no name; name a folder"),
    ],
)
def test_options_without_sense_are_refused(options, says, run, tmp_path: Path):
    output = tmp_path / "out.jsonl"
    done = run("expand", "-", "-o", output, *options, stdin=CAT_RECORD)
    assert done.code == 2
    assert says in done.err
    assert not list(tmp_path.iterdir())


# -- the vectors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["expand", "lattice", "align"])
def test_the_papers_preset_takes_the_states_as_they_are(verb, run):
    """Section 3.2: "we concatenate both forward and backward hidden states to represent each word"."""
    cosine = ["--similarity", "cosine", "--penalty", "0.7", "--veto", "none", "--position", "0"]
    states = ["--word-share", "0", "--no-centre"]
    extra = [] if verb == "expand" else ["--json"]
    cosine += [] if verb == "align" else ["--judge", "bleu"]
    preset, spelled_out, usual = (
        run(verb, "-", *SOFT, *extra, *options, stdin=CAT_RECORD).out
        for options in (["--preset", "paper", "--penalty", "0.7"], [*cosine, *states], cosine)
    )
    assert preset == spelled_out != usual
    if verb == "align":
        sentences = [text.split() for text in CAT[:2]]
        first, second = (np.concatenate([f[1:], b[:-1]], 1) for f, b in default_encoder().states(sentences))
        lengths = np.linalg.norm(first, axis=1)[:, None] * np.linalg.norm(second, axis=1)
        assert np.allclose(one(preset)["similarity"], first @ second.T / lengths, atol=1e-3)


def test_a_part_of_the_preset_can_be_set_otherwise(run):
    shares = [
        one(run("align", "-", *SOFT, "--json", "--preset", "paper", *more, stdin=CAT_RECORD).out)["similarity"]
        for more in ([], ["--word-share", "0.3"], ["--word-share", "1"])
    ]
    assert shares[0] != shares[1] != shares[2]


@pytest.mark.parametrize("options", [["--word-share", "0.3"], ["--no-centre"]], ids=" ".join)
@pytest.mark.parametrize("verb", ["expand", "lattice", "align"])
def test_hard_alignment_has_no_vectors_to_choose(verb, options, run):
    done = run(verb, "-", *options, stdin=CAT_RECORD)
    assert (done.code, done.out) == (2, b"")
    assert f"{options[0]} has no effect without --align soft; add that, or leave it out" in done.err


def test_a_table_of_vectors_has_no_share_and_takes_the_preset_as_before(run, tmp_path: Path):
    table = [*SOFT, "--encoder", Families(FAMILIES).save(tmp_path / "families.npz")]
    done = run("expand", "-", *table, "--word-share", "0.3", stdin=PEOPLE)
    assert (done.code, done.out) == (2, b"")
    assert "--word-share has no effect on vectors:, whose vectors are taken as they are; leave it out" in done.err
    cosine = ["--similarity", "cosine", "--penalty", "0.6", "--veto", "none", "--position", "0", "--judge", "bleu"]
    preset, spelled_out = (run("expand", "-", *table, *more, stdin=PEOPLE) for more in (["--preset", "paper"], cosine))
    assert (preset.code, preset.out) == (0, spelled_out.out)


# -- the cache --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--fluency", "0.25"]], ids=["", "with fluency"])
def test_a_cache_gives_the_same_and_is_used_the_second_time(more, run, tmp_path: Path, monkeypatch):
    path, cache = tmp_path / "captions.jsonl", tmp_path / "cache"
    path.write_text(caption_lines(20))
    expected = run("expand", path, *SOFT, *more).out
    encoded: list[int] = []
    encode = ContextEncoder.encode

    def counted(self: ContextEncoder, sentences: Any) -> Any:
        encoded.append(len(sentences))
        return encode(self, sentences)

    monkeypatch.setattr(ContextEncoder, "encode", counted)
    assert run("expand", path, *SOFT, *more, "--cache", cache).out == expected
    assert len(encoded) == 1
    assert len(list(cache.glob("encodings-*.sqlite"))) == 1
    assert run("expand", path, *SOFT, *more, "--cache", cache).out == expected
    assert len(encoded) == 1


def test_a_cache_that_cannot_be_made_is_told(run, tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("no folder")
    done = run("expand", "-", *SOFT, "--cache", file, stdin=CAT_RECORD)
    assert (done.code, done.out) == (2, b"")
    assert "the cache of encodings cannot be opened" in done.err


# -- the baseline -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("baseline", "similarity"), [("0", 0.86), ("0.5", 0.72), ("-0.5", 0.9067)])
def test_the_baseline_changes_how_alike_words_are(baseline, similarity, run, tmp_path: Path):
    """(0.86 - b) / (1 - b)"""
    options = [*SOFT, "--encoder", Families(FAMILIES).save(tmp_path / "families.npz"), "--position", "0"]
    found = one(run("align", "-", *options, "--baseline", baseline, "--json", stdin=PEOPLE).out)
    assert found["similarity"][1][1] == pytest.approx(similarity, abs=5e-4)


def test_the_baseline_decides_which_words_are_linked(run, tmp_path: Path):
    options = [*SOFT, "--encoder", Families(FAMILIES).save(tmp_path / "families.npz")]
    low, high = (
        one(run("expand", "-", *options, "--baseline", baseline, stdin=PEOPLE).out)["lattice"]["sentences"]
        for baseline in ("0", "0.8")
    )
    assert (low, high) == ("4", "2")
