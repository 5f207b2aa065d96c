"""What a recipe may say, how it is changed, and how it is written down."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from polyref.errors import InputError, PolyrefError, SettingsError
from polyref.experiment.keys import MEANINGS, keys, table
from polyref.experiment.reading import read_recipe, toml_of
from polyref.experiment.recipe import recipe_of

ROOT = Path(__file__).parents[2]
RECIPES = [path for path in sorted((ROOT / "recipes").rglob("*.toml")) if path.name != "small.toml"]
SMALLEST = {"run": {"output": "out"}, "data": {"train": "a.jsonl", "dev": "b.jsonl"}}
STAGED = """
[run]
output = "out"
[data]
train = "a.jsonl"
dev = "b.jsonl"
[fit]
clip = 2.0
[[stage]]
name = "one"
fit = {epochs = 5, learning_rate = 0.1}
[[stage]]
name = "two"
fit = {epochs = 7}
schedule = {limit = 4}
"""


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(STAGED)
    return path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fti": {}}, 'unknown section "fti"; did you mean "fit"?'),
        ({"fit": {"epoch": 3}}, 'unknown key of [fit] "epoch"; did you mean "epochs"?'),
        ({"fit": {"decay": {"facter": 1}}}, 'unknown key of [fit.decay] "facter"; did you mean "factor"?'),
        ({"fit": {"colour": 1}}, 'unknown key of [fit] "colour"; there are epochs, optimiser,'),
        ({"fit": {"epochs": "three"}}, '"fit.epochs" is "three"; give a whole number'),
        ({"fit": {"epochs": True}}, '"fit.epochs" is true; give a whole number'),
        ({"fit": {"epochs": 2.5}}, '"fit.epochs" is 2.5; give a whole number'),
        ({"fit": {"epochs": 0}}, "[fit]: epochs is 0; give 1 or more"),
        ({"fit": {"decay": 0.5}}, '"fit.decay" is 0.5; give a table'),
        ({"fit": {"seed": 1}}, '"fit.seed" follows from another key; set run.seed'),
        ({"fit": {"goal": "lowest"}}, '"fit.goal" follows from another key; set validation.goal'),
        ({"fit": {"optimiser": "adam"}}, '"fit.optimiser" is "adam"; choose one of sgd, adamw'),
        ({"fit": 3}, '"fit" is no table; write it as [fit]'),
        ({"run": {}}, '"run.output" is missing; give it'),
        ({"run": {"output": ""}}, "[run]: the output has no name"),
        ({"run": {"output": "x", "threads": -1}}, "[run]: threads is -1"),
        ({"data": {"train": "a"}}, '"data.dev" is missing; give it'),
        ({"data": {"train": "", "dev": "b"}}, "[data]: train names no file"),
        ({"model": {"kind": "parrot"}}, '"model.kind" is "parrot"; choose one of translator, captioner'),
        ({"model": {"feature_size": 3}}, 'unknown key of [model] "feature_size"'),
        ({"model": {"kind": "captioner"}}, 'a captioner reads features of images, but "data.features" names no file'),
        ({"schedule": {"name": "shufle"}}, '[schedule]: unknown schedule "shufle"; did you mean shuffle?'),
        ({"schedule": {"fresh": {"by": "rank"}}}, '"schedule.fresh.per_example" is missing; give it'),
        ({"batch": {"pairs": 0}}, "[batch]: a batch of 0 pairs holds nothing"),
        ({"validation": {"goal": "cidre"}}, '[validation]: unknown metric "cidre"'),
        ({"validation": {"goal": "rouge-l"}}, '[validation]: the goal is "rouge-l", which is not among the metrics'),
        ({"validation": {"metrics": "bleu"}}, '"validation.metrics" is "bleu"; give a list of texts'),
        ({"expand": {"veto": ["nothing"]}}, '[expand]: unknown veto "nothing"'),
        ({"stage": {}}, '"stage" is no list of tables; begin each stage with [[stage]]'),
        ({"stage": [{"name": "a"}, {"name": "a"}]}, "each stage needs a name of its own"),
        ({"stage": [{"name": "../a"}]}, "each stage needs a name of its own"),
        ({"stage": [{"name": "a", "model": {}}]}, 'unknown section of stage "a" "model"'),
        ({"grid": {"fit.epoch": [1]}}, 'unknown key of the grid in "fit" "epoch"; did you mean "epochs"?'),
        ({"grid": {"fitt.epochs": [1]}}, 'unknown section of the grid "fitt"; did you mean "fit"?'),
        ({"grid": {"fit.epochs": 1}}, '"grid.fit.epochs" is no list of values'),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(changes, said):
    with pytest.raises(SettingsError) as refused:
        recipe_of({**SMALLEST, **changes})
    assert said in str(refused.value)


def test_a_recipe_without_stages_is_one_stage():
    recipe = recipe_of(SMALLEST)
    [stage] = recipe.stages
    assert (recipe.output, stage.name, stage.kind, stage.beam.beam) == ("out", "", "translator", 15)


def test_stages_add_to_what_is_said_for_all_and_start_from_each_other(staged: Path):
    one, two = read_recipe(staged).stages
    assert (one.fit.epochs, one.fit.learning_rate, one.fit.clip) == (5, 0.1, 2.0)
    assert (two.fit.epochs, two.fit.learning_rate, two.fit.clip) == (7, 1e-3, 2.0)
    assert (one.run.output, one.run.init_from) == ("out/one", "")
    assert (two.run.output, two.run.init_from) == ("out/two", "out/one")


def test_a_key_is_changed_wherever_the_recipe_sets_it(staged: Path):
    one, two = read_recipe(staged, settings=["fit.epochs=1", "fit.clip=3", "schedule.limit=9", "run.seed=8"]).stages
    assert (one.fit.epochs, two.fit.epochs) == (1, 1)
    assert (one.fit.clip, two.fit.clip) == (3.0, 3.0)
    assert (one.schedule.limit, two.schedule.limit) == (None, 9)
    assert (one.run.seed, two.fit.seed) == (8, 8)


def test_a_stage_alone_is_changed_by_its_name(staged: Path):
    one, two = read_recipe(staged, settings=["stage.two.fit.epochs=1"]).stages
    assert (one.fit.epochs, two.fit.epochs) == (5, 1)
    with pytest.raises(SettingsError, match='there is no stage "three" to change'):
        read_recipe(staged, settings=["stage.three.fit.epochs=1"])


def test_override_files_come_first_and_single_keys_last(staged: Path, tmp_path: Path):
    for name, epochs in (("a.toml", 2), ("b.toml", 3)):
        (tmp_path / name).write_text(
            f"[fit]\nepochs = {epochs}\naverage = 0.9\n[[stage]]\nname = 'one'\nbatch = {{pairs = 5}}"
        )
    files = [tmp_path / "a.toml", tmp_path / "b.toml"]
    one, two = read_recipe(staged, overrides=files).stages
    assert (one.fit.epochs, two.fit.average, one.batch.pairs, two.batch.pairs) == (3, 0.9, 5, 64)
    assert read_recipe(staged, overrides=files, settings=["fit.epochs=4"]).stages[0].fit.epochs == 4


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("data.train=other file.jsonl", "other file.jsonl"),
        ('data.train="quoted"', "quoted"),
        ("data.train=a=b", "a=b"),
    ],
)
def test_a_value_that_is_no_toml_is_a_text(setting, found):
    assert read_recipe(SMALLEST, settings=[setting]).stages[0].data.train == found


def test_an_empty_value_takes_a_key_out():
    tables = {**SMALLEST, "fit": {"average": 0.9}}
    assert read_recipe(tables, settings=["fit.average="]).stages[0].fit.average is None
    assert tables["fit"] == {"average": 0.9}  # the caller's tables stay


@pytest.mark.parametrize("setting", ["epochs=3", "fit.epochs", "=3", "fit.=3"])
def test_a_setting_without_a_key_is_refused(setting):
    with pytest.raises(SettingsError, match=r"sets nothing; write section\.key=value"):
        read_recipe(SMALLEST, settings=[setting])


def test_tokens_without_pairs_have_no_limit_of_pairs():
    [stage] = recipe_of({**SMALLEST, "batch": {"tokens": 500}}).stages
    assert stage.batch.pairs is None
    assert recipe_of({**SMALLEST, "batch": {}}).stages[0].batch.pairs == 64


def test_a_beam_for_validation_adds_to_the_beam():
    tables = {**SMALLEST, "beam": {"beam": 7, "longest": 9}, "validation": {"beam": {"beam": 2}}}
    [stage] = recipe_of(tables).stages
    assert (stage.validation.beam.beam, stage.validation.beam.longest) == (2, 9)


def test_perplexity_is_to_be_low_and_all_else_high():
    by_perplexity = {**SMALLEST, "validation": {"goal": "perplexity"}}
    assert recipe_of(by_perplexity).stages[0].fit.goal == "lowest"
    assert recipe_of(SMALLEST).stages[0].fit.goal == "highest"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_written_out_whole_is_read_back_as_it_was(path: Path):
    for stage in read_recipe(path).stages:
        [again] = recipe_of(tomllib.loads(toml_of(stage))).stages
        assert again.content() == stage.content()
        assert again.fit == stage.fit


@pytest.mark.parametrize("content", ["[fit", "a = ", b"\xff\xfe"])
def test_a_file_that_is_no_recipe_is_named(tmp_path: Path, content):
    path = tmp_path / "recipe.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=r"recipe\.toml: is no"):
        read_recipe(path)
    with pytest.raises(PolyrefError, match=r"gone.toml: cannot be opened"):
        read_recipe(tmp_path / "gone.toml")


def test_every_key_is_explained_and_nothing_else():
    assert {key for key, _ in keys()} == set(MEANINGS)


def test_the_page_about_recipes_has_the_table_of_keys():
    assert table() in (ROOT / "docs" / "recipes.md").read_text("utf-8")
