"""The training set of a recipe is expanded once, for all that want it expanded in the same way."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import made_up
import pytest

from polyref.data import open_output, read
from polyref.errors import InputError, SettingsError
from polyref.experiment import inputs
from polyref.experiment.recipe import recipe_of


def expanded(path: str, folder: Path, *, data: dict[str, Any] | None = None, **expand: Any) -> str:
    """What a recipe with these keys trains on."""
    tables = made_up.recipe(folder, {"train": path, "dev": path, **(data or {})}, expand=expand)
    return inputs.expanded(recipe_of(tables).stages[0], folder)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return made_up.write(tmp_path / "train.jsonl", made_up.records(4))


def test_without_a_number_of_references_the_file_stays_as_it_is(path: str, tmp_path: Path):
    assert expanded(path, tmp_path) == path


def test_two_stages_share_what_is_expanded(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = expanded(path, tmp_path, per_example=5)
    assert all(len(example.pseudo_references) == 2 for example in read(first))
    monkeypatch.setattr(inputs, "expand_file", lambda job: pytest.fail("expanded twice"))
    assert expanded(path, tmp_path, per_example=5, workers=2) == first


def test_what_another_run_is_still_writing_is_not_taken(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class StoppedError(Exception):
        pass

    with ExitStack() as other:

        def half_way(job: inputs.Job) -> None:
            other.enter_context(open_output(job.output)).write(b"{")
            raise StoppedError

        with monkeypatch.context() as patch, pytest.raises(StoppedError):
            patch.setattr(inputs, "expand_file", half_way)
            expanded(path, tmp_path, per_example=5)
        assert len(list(read(expanded(path, tmp_path, per_example=5)))) == 4
        other.pop_all()


def test_two_runs_that_expand_at_once_get_the_same(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expand_file = inputs.expand_file
    seen: list[bytes] = []

    def together(job: inputs.Job) -> None:
        expand_file(job)  # the other run is faster
        seen.append(Path(job.output).read_bytes())
        expand_file(job)

    monkeypatch.setattr(inputs, "expand_file", together)
    assert [Path(expanded(path, tmp_path, per_example=5)).read_bytes()] == seen


def test_other_vectors_have_another_name_where_there_are_vectors(path: str, tmp_path: Path):
    soft = {"per_example": 5, "align": "soft"}
    found = [expanded(path, tmp_path, **soft, **more) for more in ({}, {"word_share": 0.0}, {"centre": False})]
    assert len(set(found)) == 3
    hard = expanded(path, tmp_path, per_example=5)
    assert expanded(path, tmp_path, per_example=5, word_share=0.0, centre=False) == hard


def test_other_ways_other_fields_and_other_files_have_other_names(path: str, tmp_path: Path):
    records = [{"prompt": f"other {record['source']}", **record} for record in made_up.records(3)]
    both = made_up.write(tmp_path / "both.jsonl", iter(records))
    found = [
        expanded(both, tmp_path, per_example=5),
        expanded(both, tmp_path, per_example=4),
        expanded(both, tmp_path, per_example=5, data={"source_field": "prompt"}),
        expanded(path, tmp_path, per_example=5),
    ]
    os.utime(path, ns=(1, 1))
    assert len({*found, expanded(path, tmp_path, per_example=5)}) == 5


def test_an_encoder_that_was_trained_anew_is_another_one(path: str, tmp_path: Path):
    table = tmp_path / "vectors.txt"
    soft = {"align": "soft", "encoder": f"vectors:{table}", "similarity": "cosine"}
    words = [word for record in made_up.records(4) for text in record["references"] for word in text.split()]
    found = []
    for number in ("1.0", "0.5"):
        table.write_text(
            "".join(f"{word} {len(word)} {number} {place}\n" for place, word in enumerate(sorted({*words})))
        )
        found.append(expanded(path, tmp_path, per_example=5, **soft))
    assert found[0] != found[1]


@pytest.mark.parametrize("unused", [{"encoder": "/gone"}, {"cache": "/gone"}, {"language_model": "/gone"}])
def test_what_has_no_effect_is_not_asked(path: str, tmp_path: Path, unused):
    """As where a grid goes through both alignments."""
    assert expanded(path, tmp_path, per_example=5, **unused) == expanded(path, tmp_path, per_example=5)


def test_parallel_text_is_expanded_under_its_one_name(tmp_path: Path):
    for suffix, lines in (("src", "who\n"), ("ref0", "a cat sits here today\n"), ("ref1", "one cat is here today\n")):
        (tmp_path / f"text.{suffix}").write_text(lines)
    [example] = read(expanded(str(tmp_path / "text"), tmp_path, per_example=5))
    assert example.pseudo_references


def test_chinese_is_expanded_by_characters(tmp_path: Path):
    """Its words have no spaces between them: as words, two references share nothing that they could be joined at."""
    references = ["一只猫坐在垫子上", "那只猫在垫子上睡觉"]
    path = made_up.write(tmp_path / "zh.jsonl", iter([{"source": "cat", "references": references}]))
    [by_words] = read(expanded(path, tmp_path, per_example=9))
    [by_characters] = read(expanded(path, tmp_path, per_example=9, tokenizer="characters"))
    assert not by_words.pseudo_references
    texts = [pseudo.text for pseudo in by_characters.pseudo_references]
    assert "一只猫在垫子上睡觉" in texts
    assert not any(" " in text for text in texts)


def test_what_is_wrong_names_its_key_or_its_file(tmp_path: Path, path: str):
    with pytest.raises(InputError, match=r'train\.jsonl:1: "prompt" is missing'):
        expanded(path, tmp_path, per_example=5, data={"source_field": "prompt"})
    with pytest.raises(InputError, match=r"gone\.jsonl: there is no such file"):
        expanded(str(tmp_path / "gone.jsonl"), tmp_path, per_example=5)
    with pytest.raises(SettingsError, match='there is no language model "/gone"; give english or the folder'):
        expanded(path, tmp_path, per_example=5, fluency=0.0, language_model="/gone")


def test_pseudo_references_of_references_that_are_cut_are_refused(path: str, tmp_path: Path):
    whole = expanded(path, tmp_path, per_example=5)
    assert len(list(read(expanded(whole, tmp_path, data={"examples": 2})))) == 2
    with pytest.raises(
        InputError, match=r"jsonl:1: has pseudo-references made of more references .* before it was exp"
    ):
        expanded(whole, tmp_path, data={"references": 2})
    assert not list(tmp_path.glob("*.part"))
