"""polyref train --check: one valid recipe, and what is not there. It needs no torch."""

from __future__ import annotations

import tomllib
from pathlib import Path

import made_up
import pytest

from polyref.experiment.reading import read_recipe, recipe_toml
from polyref.experiment.recipe import recipe_of


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    stages = [{"name": "one", "fit": {"epochs": 5}}, {"name": "two"}]
    tables = made_up.recipe(tmp_path / "out", made_up.translation(tmp_path, 4))
    path = tmp_path / "recipe.toml"
    path.write_text(recipe_toml(recipe_of({**tables, "stage": stages})))
    return path


def test_it_prints_one_recipe_with_the_same_stages(run, recipe: Path):
    done = run("train", recipe, "--check")
    assert (done.code, done.err) == (0, "")
    assert recipe_of(tomllib.loads(done.out.decode())) == read_recipe(recipe)


def test_it_says_which_file_is_not_there_behind_the_recipe(run, recipe: Path):
    done = run("train", recipe, "--check", "--set", "data.train=gone.jsonl")
    assert done.code == 2
    assert done.err.endswith('stage "one": data.train: gone.jsonl: there is no such file; check the path\n')
    assert recipe_of(tomllib.loads(done.out.decode())).stages[1].data.train == "gone.jsonl"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("subwords.target=3", "subwords.target is 3; give"),
        ("expand.per_example=-4", "expand.per_example is -4; give"),
        ("fit.clip=inf", "fit.clip is inf; give a finite number"),
    ],
)
def test_values_that_cannot_be_are_refused_before_anything_is_printed(run, recipe: Path, setting, said):
    done = run("train", recipe, "--check", "--set", setting)
    assert (done.code, done.out) == (2, b"")
    assert f"{setting}: {said}" in done.err
    assert done.err.count("\n") == 1


def test_a_bad_record_is_said_before_anything_is_trained(run, recipe: Path, tmp_path: Path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"source": "a", "references": ["b"]}\n{"source": "a", "references": []}\n')
    done = run("train", recipe, "--check", "--set", f"data.train={bad}")
    assert (done.code, done.err) == (2, f'polyref: {bad}:2: "references" is empty; give at least one\n')


def test_an_output_that_cannot_be_a_folder_is_said(run, recipe: Path):
    done = run("train", recipe, "--check", "-o", recipe / "inside")
    assert done.code == 2
    assert done.err.endswith(f"{recipe} is not a folder; give another output\n")
