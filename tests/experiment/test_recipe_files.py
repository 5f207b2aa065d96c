"""A recipe names files; that they are there can be checked before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_up
import pytest

from polyref.errors import InputError
from polyref.experiment.inputs import check_files
from polyref.experiment.recipe import recipe_of


def checked(folder: Path, *, stage: list[dict[str, Any]] | None = None, **sections: dict[str, Any]) -> None:
    tables = made_up.recipe(folder / "out", made_up.images(folder, 4), **sections)
    check_files(recipe_of({**tables, "stage": stage or []}))


def test_what_is_there_is_not_missed(tmp_path: Path):
    checked(tmp_path)
    checked(tmp_path, stage=[{"name": "one"}, {"name": "two"}])  # the first leaves what the second starts from
    checked(tmp_path, expand={"encoder": "english"}, run={"init_from": str(tmp_path)})
    checked(tmp_path, expand={"encoder": f"vectors:{tmp_path / 'train.jsonl'}"})
    checked(tmp_path, expand={"encoder": "huggingface:some/model"})


def test_parallel_text_goes_by_one_name(tmp_path: Path):
    for suffix in ("src", "ref0", "ref1"):
        (tmp_path / f"text.{suffix}").write_text("a\n")
    checked(tmp_path, data={"train": str(tmp_path / "text"), "dev": str(tmp_path / "text.src")})


@pytest.mark.parametrize(
    ("section", "key", "path", "said"),
    [
        ("data", "train", "gone.jsonl", "data.train: gone.jsonl: there is no such file; check the path"),
        ("data", "features", "gone.npz", "data.features: gone.npz: there is no such file"),
        ("data", "feature_ids", "gone.txt", "data.feature_ids: gone.txt: there is no such file"),
        ("expand", "encoder", "/gone", "expand.encoder: /gone: there is no such encoder"),
        ("expand", "encoder", "vectors:gone.txt", "expand.encoder: vectors:gone.txt: there is no such encoder"),
        ("expand", "language_model", "/gone", "expand.language_model: /gone: there is no such language model"),
        ("run", "init_from", "gone", "run.init_from: gone: there is no such folder"),
    ],
)
def test_what_is_not_there_is_named_with_its_key(tmp_path: Path, section, key, path, said):
    with pytest.raises(InputError) as refused:
        checked(tmp_path, **{section: {key: path}})
    assert str(refused.value).startswith(said)


def test_what_a_later_stage_needs_is_looked_for_too(tmp_path: Path):
    with pytest.raises(InputError, match=r'stage "two": data\.train: gone\.jsonl: there is no such file'):
        checked(tmp_path, stage=[{"name": "one"}, {"name": "two", "data": {"train": "gone.jsonl"}}])
