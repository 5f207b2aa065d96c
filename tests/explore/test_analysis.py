"""What is said about an example, and that it is what the commands give."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from served import CAT, Served, serving, write_examples

from polyref import AlignSettings, Example, Lattice, Reference
from polyref.data import ReadSettings
from polyref.expansion import ExpandSettings
from polyref.explore.analysis import Analyst, Download
from polyref.explore.asking import LookSettings, Question, base_of, commands, controls, encoders_of, settings_of
from polyref.judge import JudgeSettings
from polyref.scale import ToolSettings
from polyref.settings import keys
from polyref.text import TextSettings

EXAMPLE = Example("cat", "photo", tuple(map(Reference, CAT)))


def look_settings(align: AlignSettings | None = None, per_example: int = 20, judge: str = "content") -> LookSettings:
    expand = ExpandSettings(per_example, align=align or AlignSettings(), judging=JudgeSettings(judge))
    return LookSettings(expand)


def asked(kind: str = "look", settings: LookSettings | None = None, references: list[str] = CAT, **more) -> Question:
    return Question(
        kind, Example("cat", "photo", tuple(map(Reference, references))), True, settings or look_settings(), **more
    )


@pytest.fixture(scope="module")
def analyst() -> Analyst:
    return Analyst([EXAMPLE])


def test_the_number_of_sentences_and_the_best_are_those_of_the_lattice(analyst: Analyst):
    found = analyst.look(asked(settings=look_settings(judge="bleu")))
    lattice = Lattice.from_references(CAT)
    assert (found["size"]["sentences"], found["size"]["new"]) == ("2560", "2555")
    assert [one["text"] for one in found["sentences"]] == [one.text for one in lattice.best(15)]


def test_the_parts_of_a_sentence_are_its_text_and_its_way_is_in_the_map(analyst: Analyst):
    found = analyst.look(asked())
    for one in found["sentences"]:
        assert "".join(text for text, _, _ in one["parts"]) == one["text"]
        assert {str(node) for node in one["nodes"]} & {str(node) for node in found["words"]}
        assert one["path"].startswith("M")
    assert {"bleu", "content", "crossings", "fluency", "risk"} <= set(found["sentences"][0])


def test_a_word_tells_who_says_it_and_by_what_similarity_it_was_linked(analyst: Analyst):
    soft = AlignSettings(align="soft", penalty=0.5)
    found = analyst.look(
        asked(settings=look_settings(soft), references=["a cat sleeps on the mat", "a cat is asleep on a mat"])
    )
    words = {one["word"]: one for one in found["words"].values()}
    assert words["cat"]["references"] == [0, 1]
    [(left, left_word, right, right_word, alike)] = words["cat"]["links"]
    assert (left, left_word, right, right_word) == (0, "cat", 1, "cat")
    assert 0.5 < alike <= 1
    hard = analyst.look(asked(references=["a cat", "a dog"]))
    words = {one["word"]: one for one in hard["words"].values()}
    assert words["a"]["links"] == [[0, "a", 1, "a", 1.0]]
    assert words["dog"]["links"] == []


def test_a_matrix_tells_numbers_and_why_words_are_never_linked(analyst: Analyst):
    soft = look_settings(AlignSettings(align="soft", penalty=0.5))
    found = analyst.matrix(asked("matrix", soft, ["two dogs run not", "three dogs run ."], pair=(0, 1)))
    never = {(u, v): why for u, v, why in found["never"]}
    assert never[0, 0] == "they are different numbers"
    assert never[3, 1] == "one of them negates"
    assert "punctuation" in never[0, 3]
    assert found["similarity"][0][0] == -1
    assert -1 < found["before"][0][0] <= 1
    assert [1, 1] in [list(link) for link in found["links"]]
    assert found["before"][1][1] >= found["similarity"][1][1]


def test_a_hard_matrix_has_no_penalty_and_the_references_may_be_equal_elsewhere(analyst: Analyst):
    found = analyst.matrix(asked("matrix", references=["a cat", "a cat", "a dog"], pair=(2, 1)))
    assert found["penalty"] is None
    assert found["before"] is None
    assert tuple(found["pair"]) == (1, 2)


def test_the_curve_has_what_each_penalty_gives(analyst: Analyst):
    soft = AlignSettings(align="soft", penalty="adaptive")
    points = analyst.curve(asked("curve", look_settings(soft)))["points"]
    assert (points[0][0], points[-1][0]) == (0.0, 1.0)
    for penalty, count, _ in points[10:31:10]:
        lattice = Lattice.from_references(CAT, align=AlignSettings(align="soft", penalty=penalty))
        assert count == str(lattice.count)
    assert analyst.curve(asked("curve"))["points"] == []


def test_what_is_left_out_has_a_reason_and_a_way(analyst: Analyst):
    found = analyst.left_out(asked("left-out"))["sentences"]
    assert found
    assert all(one["reason"] and one["nodes"] for one in found)
    assert analyst.left_out(asked("left-out", look_settings(judge="bleu")))["sentences"] == []


@pytest.mark.parametrize("form", ["svg", "png"])
def test_a_picture_can_be_exported_with_the_sentence_marked(form: str, analyst: Analyst):
    if form == "png":
        pytest.importorskip("resvg_py", reason="PNG needs resvg-py")
    best = analyst.look(asked())["sentences"][0]["text"]
    found = analyst.export(asked("export", form=form, sentence=best))
    assert isinstance(found, Download)
    assert found.content.startswith(b"<svg" if form == "svg" else b"\x89PNG")
    assert form == "png" or best.split()[-1].encode() in found.content


def test_encodings_are_kept_while_the_penalty_moves(analyst: Analyst, monkeypatch: pytest.MonkeyPatch):
    soft = AlignSettings(align="soft", penalty=0.5)
    analyst.look(asked(settings=look_settings(soft)))
    encoder = analyst._encoder(look_settings(soft))
    monkeypatch.setattr(type(encoder), "encode", lambda *_: pytest.fail("encoded again"))
    analyst.look(asked(settings=look_settings(replace(soft, penalty=0.7))))


def test_a_language_model_is_asked_where_the_rules_say_so(analyst: Analyst):
    found = analyst.look(asked(settings=look_settings(judge="seams")))
    assert all(one["risk"] is not None for one in found["sentences"])


# -- settings and commands --------------------------------------------------------------------------------------------


def test_there_is_a_control_for_every_setting_of_expand_that_concerns_one_example():
    names = {one["name"] for one in controls(LookSettings(), ["english"])}
    of_expand = {key.name for key in keys(ExpandSettings)}
    assert of_expand - names == {
        *("keep_lattice", "shortfall", "tie_limit", "unseen_marks", "node_budget", "example_seconds")
    }
    assert {"encoder", "word_share", "centre"} <= names


def test_a_page_begins_with_what_was_given_and_asks_for_what_differs_from_the_declared():
    given = LookSettings(ExpandSettings(8), ToolSettings(encoder="vectors:words.npz"))
    [per_example] = [one for one in controls(given, ["english"]) if one["name"] == "per_example"]
    assert (per_example["value"], per_example["default"]) == (8, 20)
    assert settings_of({}, base_of(given), ["english"]).expand.per_example == 20
    assert encoders_of(given) == ["vectors:words.npz", "english"]


def test_options_without_effect_are_not_in_the_command():
    hard = LookSettings(ExpandSettings(align=AlignSettings(penalty=0.9, veto=())))
    question = Question("look", EXAMPLE, False, hard)
    assert commands(question, "my file.jsonl", ReadSettings())["expand"] == (
        "polyref expand 'my file.jsonl' -o expanded.jsonl"
    )
    soft = AlignSettings(align="soft", penalty=0.55, penalty_start=0.8, veto=())
    question = replace(
        question, settings=LookSettings(ExpandSettings(5, align=soft, text=TextSettings(fold_case=False)))
    )
    made = commands(question, "-x.jsonl", ReadSettings(format="jsonl"))
    assert made["expand"] == (
        "polyref expand ./-x.jsonl -o expanded.jsonl --per-example 5 --keep-case --align soft --penalty 0.55 "
        "--veto none --from jsonl"
    )
    assert made["draw"].startswith("polyref lattice ./-x.jsonl --id=cat -o map.svg --keep-case --align soft")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"per_example": 12, "judge": "bleu", "seed": 5},
        {"align": "soft", "penalty": 0.55, "veto": ["numbers"], "judge": "seams", "fluency": 0.5},
        {"align": "soft", "penalty": "adaptive", "penalty_floor": 0.4, "tokenizer": "whitespace", "fold_case": False},
    ],
    ids=["default", "bleu", "seams", "adaptive"],
)
def test_the_command_gives_what_the_page_shows(settings, served: Served, file: Path, run_command):
    found = served.post("look", {"example": "cat", "settings": settings}).json
    expanded = run_command(found["commands"]["expand"])
    shown = [{name: value for name, value in one.items() if name in ("text", "bleu")} for one in found["sentences"]]
    assert [{"text": one["text"], "bleu": one["bleu"]} for one in expanded["pseudo_references"]] == shown
    assert expanded["lattice"]["sentences"] == found["size"]["sentences"]
    exported = json.loads(served.post("export", {"example": "cat", "settings": settings, "form": "jsonl"}).content)
    assert exported == expanded


@pytest.fixture
def run_command(tmp_path: Path):
    """Run a command in an empty folder; gives the first record that it writes."""

    def run(line: str) -> dict:
        program, *arguments = shlex.split(line)
        assert program == "polyref"
        subprocess.run([sys.executable, "-m", "polyref", *arguments], cwd=tmp_path, check=True, capture_output=True)
        return json.loads((tmp_path / "expanded.jsonl").read_text("utf-8").splitlines()[0])

    return run


def test_the_command_of_own_references_works_on_what_is_exported(served: Served, tmp_path: Path, run_command):
    given = {"references": CAT, "settings": {"per_example": 9}}
    (tmp_path / "own.jsonl").write_bytes(served.post("export", given | {"form": "jsonl"}).content)
    found = served.post("look", given).json
    expanded = run_command(found["commands"]["expand"])
    assert [one["text"] for one in expanded["pseudo_references"]] == [one["text"] for one in found["sentences"]]


def test_the_explorer_begins_with_the_settings_of_its_command(tmp_path: Path):
    with serving(write_examples(tmp_path / "examples.jsonl"), "--align", "soft", "-k", 7) as served:
        values = {one["name"]: one["value"] for one in served.get("/api/about").json["controls"]}
    assert (values["align"], values["per_example"]) == ("soft", 7)
