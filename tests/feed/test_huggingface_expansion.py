"""Pseudo-references by Dataset.map: the same however the rows are dealt out, and found again in the cache."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pytest
from datasets.fingerprint import Hasher

import polyref
from polyref import (
    AlignSettings,
    Example,
    ExpandSettings,
    Fields,
    InputError,
    Reference,
    TextSettings,
    expand,
    render,
    sample_examples,
)
from polyref.feed import huggingface
from polyref.feed.huggingface import from_dataset, to_dataset
from polyref.judge import Usage

# Some have nothing to give: a batch of those alone has no values from which its types could be told.
BARE = [Example(f"bare{n}", "s", (Reference("one of a kind"),)) for n in range(3)]
EXAMPLES = [*BARE, *sample_examples()[:3], *[Example(f"more{n}", "s", (Reference("alone"),)) for n in range(3)]]
SETTINGS = {
    "hard": ExpandSettings(),
    "soft": ExpandSettings(align=AlignSettings("soft")),
    "all columns": ExpandSettings(shortfall="repeat", fluency=0.5, keep_lattice=True),
}


@pytest.fixture(autouse=True)
def no_bars() -> None:
    datasets.disable_progress_bars()


def records(examples: Any) -> list[dict[str, Any]]:
    return [json.loads(render(example)) for example in examples]


@pytest.mark.parametrize("chosen", SETTINGS)
def test_any_size_of_batch_gives_what_expand_gives(chosen):
    settings = SETTINGS[chosen]
    expected = records(expand(EXAMPLES, 9, settings=settings))
    before = to_dataset(EXAMPLES)
    kinds = set()
    for size in (1, 1000):
        made = polyref.expander(9, settings=settings, learn_from=before)
        found = before.map(made, batched=True, batch_size=size)
        assert records(from_dataset(found)) == expected
        kinds.add(str(found.features))
    assert len(kinds) == 1


def test_several_processes_give_the_same():
    before = to_dataset(EXAMPLES)
    alone = before.map(polyref.expander(9), batched=True)
    together = before.map(polyref.expander(9), batched=True, batch_size=5, num_proc=2)
    assert together.to_list() == alone.to_list()
    assert together.features == alone.features


def test_only_two_columns_are_new():
    before = to_dataset(EXAMPLES)
    found = before.map(polyref.expander(9), batched=True)
    assert found.column_names == [*before.column_names, "pseudo_references", "lattice"]
    assert found.remove_columns(["pseudo_references", "lattice"]).to_list() == before.to_list()


def test_weights_and_other_names_are_no_hindrance():
    answers = [[{"text": "a b c d e", "weight": 2.0}, {"text": "a x c d e", "weight": None}]]
    given = datasets.Dataset.from_dict({"answers": answers, "n": [1]})
    [found] = given.map(polyref.expander(fields=Fields(references="answers")), batched=True).to_list()
    assert found["n"] == 1
    assert found["lattice"]["sentences"] == "2"


JUDGE = {"bleu": [], "content": ["content", "crossings"], "seams": ["content", "crossings", "risk"]}


@pytest.mark.parametrize("judge", JUDGE)
def test_which_columns_there_are_depends_on_the_settings_alone(judge):
    judging = SimpleNamespace(judge=judge)
    settings: Any = SimpleNamespace(fluency=0.5, shortfall="repeat", keep_lattice=True, judging=judging)
    made = huggingface.Expander(settings, Fields())
    pseudo = [column.name for column in made._pseudo_type().value_type]
    assert pseudo == ["text", "bleu", "fluency", *JUDGE[judge], "repeat"]
    kept = [column.name for column in made._lattice_type().field("kept").type]
    assert kept == ["states", "tokenizer", "fold_case", *(["rules"] if judge != "bleu" else [])]


# -- what words tell about each other ---------------------------------------------------------------------------------

TWICE = [Example(f"{n}", "s", (Reference("The dog and the cat"), Reference("a dog"))) for n in range(3)]


@pytest.mark.parametrize("how", ["examples", "an iterator", "a data set", "a data set of tensors"])
def test_words_are_learned_from_examples_or_from_a_data_set(how):
    given = {"examples": lambda: TWICE, "an iterator": lambda: iter(TWICE), "a data set": lambda: to_dataset(TWICE)}
    given["a data set of tensors"] = lambda: to_dataset(TWICE).with_format("numpy")
    made = polyref.expander(learn_from=given[how]())
    assert made.usage == Usage.of([[["the", "dog", "and", "the", "cat"], ["a", "dog"]]] * 3)
    assert made.usage.common == {"a": 3, "and": 3, "cat": 3, "dog": 3, "the": 3}
    assert polyref.expander().usage == Usage()


def test_what_is_learned_is_handed_on_and_nothing_is_learned_from_a_batch(monkeypatch: pytest.MonkeyPatch):
    used = []
    monkeypatch.setattr(huggingface, "expand", lambda *given, usage, **named: used.append(usage) or expand(*given))
    for made in (polyref.expander(learn_from=TWICE), polyref.expander()):
        made({"references": [["a b", "a c"]]})
        assert used.pop() is made.usage is not None


def test_no_more_than_the_first_examples_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface, "EXAMPLES_READ", 2)
    later = Example("later", "s", (Reference("later"),))
    for given in ([*TWICE[:2], later], to_dataset([*TWICE[:2], later])):
        assert polyref.expander(learn_from=given).usage.common.keys() == {"a", "and", "cat", "dog", "the"}


def test_words_are_learned_as_the_settings_cut_them_and_from_the_column_that_the_fields_name():
    given = datasets.Dataset.from_dict({"answers": [["x-x Y.", "y"]] * 2, "id": [7, 7]})
    settings = ExpandSettings(text=TextSettings("whitespace", fold_case=False))
    made = polyref.expander(settings=settings, fields=Fields(references="answers"), learn_from=given)
    assert made.usage == Usage.of([[["x-x", "Y."], ["y"]]] * 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (datasets.DatasetDict(train=datasets.Dataset.from_dict({"a": [1]})), "learn_from is a DatasetDict, neither a"),
        (["a dog"], 'neither a datasets.Dataset nor examples; give one split, such as data["train"]'),
        (
            datasets.Dataset.from_dict({"a": [1], "b": [2]}),
            'there is no column "references"; name another with fields=',
        ),
        (datasets.Dataset.from_dict({"references": [["a"], []]}), 'a batch of the data set:2: "references" is empty'),
    ],
    ids=["several splits", "texts", "no references", "no reference"],
)
def test_what_nothing_can_be_learned_from_is_refused(given, says):
    with pytest.raises(InputError) as refused:
        polyref.expander(learn_from=given)
    assert says in str(refused.value)


# -- the cache of datasets ------------------------------------------------------------------------------------------


def test_the_same_settings_have_one_fingerprint_and_others_another():
    hashes = [Hasher.hash(polyref.expander(20, settings=ExpandSettings())) for _ in range(2)]
    assert hashes[0] == hashes[1]
    others = [
        polyref.expander(19),
        polyref.expander(settings=ExpandSettings(shortfall="repeat")),
        polyref.expander(fields=Fields(references="answers")),
        polyref.expander(encoder="english"),
        polyref.expander(learn_from=TWICE),
    ]
    assert len({hashes[0], *map(Hasher.hash, others)}) == 6


def test_another_process_with_other_hashes_has_the_same_fingerprint():
    made = "polyref.expander(7, learn_from=polyref.sample_examples() * 2)"
    code = f"import polyref; from datasets.fingerprint import Hasher; print(Hasher.hash({made}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == Hasher.hash(polyref.expander(7, learn_from=sample_examples() * 2))


def test_what_was_used_does_not_change_the_fingerprint():
    used = polyref.expander(5)
    used({"references": [["a b", "a c"]]})
    assert Hasher.hash(used) == Hasher.hash(polyref.expander(5))
    assert pickle.loads(pickle.dumps(used)) == used


def test_the_second_time_nothing_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    to_dataset(EXAMPLES[:6]).save_to_disk(tmp_path / "given")
    first = datasets.load_from_disk(tmp_path / "given").map(polyref.expander(5), batched=True)
    monkeypatch.setattr(huggingface, "expand", lambda *given, **named: pytest.fail("expanded again"))
    again = datasets.load_from_disk(tmp_path / "given").map(polyref.expander(5), batched=True)
    assert again.to_list() == first.to_list()


# -- what is wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"answers": [["a"]]}, 'there is no column "references"; name another with fields=Fields(references=...)'),
        ({"references": [["a"], []]}, 'a batch of the data set:2: "references" is empty; give at least one'),
        ({"references": ["a"]}, 'a batch of the data set:1: "references" is a string; give a list of strings'),
        ({"id": [None], "references": [["a", " "]]}, "a batch of the data set:1: reference 2 is blank"),
    ],
)
def test_rows_that_are_no_examples_are_refused(columns, says):
    with pytest.raises(InputError) as refused:
        polyref.expander()(columns)
    assert says in str(refused.value)


def test_an_encoder_that_is_not_there_is_noticed_at_once():
    with pytest.raises(polyref.SettingsError, match='there is no encoder "klingon"'):
        polyref.expander(encoder="klingon")
