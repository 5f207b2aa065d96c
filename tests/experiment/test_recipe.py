"""What a recipe may say, and what it is told when it says something else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from polyref.experiment.checking import section_of
from polyref.experiment.keys import MEANINGS, keys, table

from polyref.errors import SettingsError
from polyref.experiment.recipe import recipe_of

ROOT = Path(__file__).parents[2]
SMALLEST = {"run": {"output": "out"}, "data": {"train": "a.jsonl", "dev": "b.jsonl"}}


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
        ({"fit": {"epochs": 0}}, "[fit] epochs is 0; give 1 or more"),
        ({"fit": {"decay": 0.5}}, '"fit.decay" is 0.5; give a table'),
        ({"fit": {"seed": 1}}, '"fit.seed" follows from another key; set run.seed'),
        ({"fit": {"goal": "lowest"}}, '"fit.goal" follows from another key; set validation.goal'),
        ({"fit": {"optimiser": "adam"}}, '"fit.optimiser" is "adam"; choose one of sgd, adamw'),
        ({"fit": 3}, '"fit" is no table; write it as [fit]'),
        ({"run": {}}, '"run.output" is missing; give it'),
        ({"run": {"output": ""}}, "[run] output has no name; name a folder"),
        ({"run": {"output": "x", "threads": -1}}, "[run] threads is -1; give 0 for torch's own choice, or up to 1024"),
        ({"data": {"train": "a"}}, '"data.dev" is missing; give it'),
        ({"data": {"train": "", "dev": "b"}}, "[data] train names no file; name one"),
        ({"model": {"kind": "parrot"}}, '"model.kind" is "parrot"; choose one of translator, captioner'),
        (
            {"model": {"feature_size": 3}},
            '"model.feature_size" is for a captioner, and this is a translator; take it out',
        ),
        (
            {"model": {"kind": "captioner", "input_feeding": True}},
            '"model.input_feeding" is for a translator, and this is',
        ),
        ({"model": {"embeding_size": 3}}, 'unknown key of [model] "embeding_size"; did you mean "embedding_size"?'),
        ({"model": {"kind": []}}, '"model.kind" is "[]"; choose one of translator, captioner'),
        ({"model": {"kind": "captioner"}}, 'a captioner reads features of images, but "data.features" names no file'),
        ({"schedule": {"name": "shufle"}}, '[schedule] name: unknown schedule "shufle"; did you mean shuffle?'),
        ({"schedule": {"fresh": {"by": "rank"}}}, '"schedule.fresh.per_example" is missing; give it'),
        ({"batch": {"pairs": 0}}, "[batch] pairs: a batch of 0 pairs holds nothing; give 1 or more"),
        ({"validation": {"goal": "cidre"}}, '[validation] goal: unknown metric "cidre"; did you mean "cider"?'),
        ({"validation": {"goal": "rouge-l"}}, '[validation] goal is "rouge-l", which is not among the metrics'),
        ({"validation": {"metrics": "bleu"}}, '"validation.metrics" is "bleu"; give a list of texts'),
        ({"expand": {"veto": ["nothing"]}}, '[expand] veto: unknown veto "nothing"'),
        ({"fit": {"clip": float("inf")}}, '"fit.clip" is inf; give a finite number'),
        ({"fit": {"decay": {"gain": float("nan")}}}, '"fit.decay.gain" is nan; give a finite number'),
        ({"fit": {"clip": 10**400}}, '"fit.clip" is too large or too small a number; give one of fewer digits'),
        ({"fit": {"clip": -1}}, "[fit] clip is -1.0; give a number above 0"),
        ({"fit": {"save_every": 0}}, "[fit] save_every is 0; give 1 or more"),
        ({"fit": {"learning_rate": 0}}, "[fit] learning_rate is 0.0; give a number above 0, at most 100"),
        ({"fit": {"decay": {"factor": 2, "stop_after": 3}}}, "[fit.decay] factor: the decay is 2.0; give a number"),
        ({"run": {"output": "x", "seed": -1}}, "[run] seed is -1; give a number from 0 to 4294967295"),
        ({"run": {"output": "a\0b"}}, r'"run.output" is "a\0b"; give a text of Unicode characters'),
        ({"run": {"output": "a\udcff"}}, r'"run.output" is "a\udcff"; give a text of Unicode characters'),
        ({"expand": {"per_example": -4}}, "[expand] per_example is -4; give a number from 1 to "),
        ({"expand": {"per_example": 0}}, "[expand] per_example is 0; give a number from 1 to "),
        ({"expand": {"workers": -1}}, "[expand] workers is -1; give a number from 1 to 1024"),
        ({"expand": {"fluency": float("nan")}}, '"expand.fluency" is nan; give a finite number'),
        ({"expand": {"fluency": 1000}}, "[expand] fluency margin is 1000.0; give a number"),
        ({"expand": {"penalty": 2, "adaptive": {}}}, "[expand] penalty is 2.0; give a number from 0 to 1"),
        ({"expand": {"adaptive": {"at_least": 0}}}, "[expand.adaptive] at_least is 0; give 1 or more"),
        (
            {"subwords": {"target": 3}},
            "[subwords] target is 3; give a number from 259 to 1,000,000: 256 bytes are units",
        ),
        ({"subwords": {"source": 0}}, "[subwords] source is 0; give a number from 259"),
        ({"subwords": {"target": 2_000_000}}, "[subwords] target is 2000000; give a number from 259 to 1,000,000"),
        ({"subwords": {"target": 10**23}}, '"subwords.target" is too large or too small a number'),
        ({"schedule": {"fresh": {"per_example": 0}}}, "[schedule.fresh] per_example: fresh is 0; give a "),
        ({"schedule": {"limit": 0, "gold_only": True}}, "[schedule] limit is 0; give 1 or more"),
        (
            {"schedule": {"limit": 3, "gold_only": True}},
            "[schedule]: gold references are never cut; leave the limit out",
        ),
        ({"beam": {"best": 20}}, "[beam] best is 20, more than the beam of 15; lower it"),
        ({"beam": {"beam": 0}}, "[beam] beam is 0; give a "),
        ({"validation": {"beam": {"longest": 0}}}, "[validation.beam] longest is 0; give a "),
        (
            {"validation": {"metrics": ["blue"]}},
            '[validation] metrics: unknown metric "blue"; did you mean "bleu"? choose from bleu,',
        ),
        ({"validation": {"metrics": ["bleu", "x"]}}, "choose from bleu, cider, rouge-l, perplexity"),
        ({"validation": {"examples": -1}}, "[validation] examples is -1; give 0 for all, or more"),
        ({"validation": {"at_once": 0}}, "[validation] at_once is 0; give 1 or more"),
        (
            {"batch": {"bucket": 5}, "schedule": {"name": "Uniform"}},
            "take batch.bucket out, or choose another schedule",
        ),
        (
            {"expand": {"per_example": 5}, "schedule": {"fresh": {"per_example": 3}}},
            "schedule.fresh draws from lattices, which expand does not keep; set expand.keep_lattice = true",
        ),
        ({"data": {"train": "a", "dev": "b", "features": "c"}}, '"data.features" is for captioners; take it out'),
        ({"data": {"train": "a", "dev": "b", "id_field": "source"}}, "[data] id_field: two fields have the same name"),
        ({"data": {1: "a"}}, 'unknown key of [data] "1"'),
        ({"stage": ["x"]}, '"stage" is no list of tables; begin each stage with [[stage]]'),
        ({"stage": [{"name": "a", "fit": 3}]}, 'stage "a": "fit" is no table; write it as [fit]'),
        ({"stage": [{"name": "a", "fit": {"epochs": 0}}]}, 'stage "a": [fit] epochs is 0; give 1 or more'),
        ({"fit": {"epochs": 0}, "stage": [{"name": "a"}]}, "[fit] epochs is 0; give 1 or more"),
        ({"stage": {}}, '"stage" is no list of tables; begin each stage with [[stage]]'),
        ({"stage": [{"name": "a"}, {"name": "a"}]}, "each stage needs a name of its own"),
        ({"stage": [{"name": "../a"}]}, "each stage needs a name of its own"),
        (
            {"stage": [{"name": "a", "model": {}}]},
            'stage "a": "model" is for all stages; set it at the top, as [model]',
        ),
        ({"grid": {"fit.epoch": [1]}}, 'unknown key of the grid in "fit" "epoch"; did you mean "epochs"?'),
        ({"grid": {"fitt.epochs": [1]}}, 'unknown section of the grid "fitt"; did you mean "fit"?'),
        ({"grid": {"fit.decay.facter": [1]}}, 'unknown key of the grid in "fit" "decay.facter"; did you mean'),
        ({"grid": {"epochs": [1]}}, 'unknown section of the grid "epochs"'),
        ({"grid": {"stage.b.fit.epochs": [1]}, "stage": [{"name": "a"}]}, 'unknown stage of the grid "b"'),
        ({"grid": {"fit.clip": [1.0, float("inf")]}}, '"grid.fit.clip" is inf; give a finite number'),
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


def test_stages_add_to_what_is_said_for_all_and_start_from_each_other():
    stages = [{"name": "one", "fit": {"epochs": 5, "learning_rate": 0.1}}, {"name": "two", "fit": {"epochs": 7}}]
    one, two = recipe_of({**SMALLEST, "fit": {"clip": 2.0}, "stage": stages}).stages
    assert (one.fit.epochs, one.fit.learning_rate, one.fit.clip) == (5, 0.1, 2.0)
    assert (two.fit.epochs, two.fit.learning_rate, two.fit.clip) == (7, 1e-3, 2.0)
    assert (one.run.output, one.run.init_from) == ("out/one", "")
    assert (two.run.output, two.run.init_from) == ("out/two", "out/one")


def test_a_table_of_a_stage_adds_to_that_table_at_the_top():
    tables = {
        **SMALLEST,
        "fit": {"decay": {"stop_after": 77, "factor": 0.3}},
        "validation": {"metrics": ["bleu", "cider"]},
        "stage": [
            {"name": "a", "fit": {"decay": {"factor": 0.9}}, "validation": {"metrics": ["bleu"]}},
            {"name": "b"},
        ],
    }
    one, two = recipe_of(tables).stages
    assert (one.fit.decay.stop_after, one.fit.decay.factor) == (77, 0.9)
    assert (two.fit.decay.stop_after, two.fit.decay.factor) == (77, 0.3)
    assert (one.validation.metrics, two.validation.metrics) == (("bleu",), ("bleu", "cider"))  # lists do not add up


def test_metrics_have_one_name_each_whatever_they_are_called():
    [stage] = recipe_of({**SMALLEST, "validation": {"metrics": ["ROUGE", "cider-d", "cider"], "goal": "rouge"}}).stages
    assert (stage.validation.metrics, stage.validation.goal) == (("rouge-l", "cider"), "rouge-l")


def test_a_mistake_in_making_settings_is_no_missing_key():
    @dataclass
    class Broken:
        value: int = 0

        def __post_init__(self) -> None:
            raise TypeError("from elsewhere")

    with pytest.raises(TypeError, match="from elsewhere"):
        section_of("broken", {}, Broken)


def test_paths_may_be_paths(tmp_path: Path):
    recipe = recipe_of({"run": {"output": tmp_path}, "data": {"train": tmp_path / "a", "dev": tmp_path / "b"}})
    assert recipe.output == str(tmp_path)
    assert recipe.stages[0].data.dev == str(tmp_path / "b")


@pytest.mark.parametrize("grid", [{"fit.decay.factor": [0.5]}, {"fit": {"decay": {"factor": [0.5]}}}])
def test_keys_of_the_grid_are_written_in_quotes_or_as_tables(grid):
    assert recipe_of({**SMALLEST, "grid": grid}).grid == {"fit.decay.factor": [0.5]}


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


def test_every_key_is_explained_and_nothing_else():
    assert {key for key, _ in keys()} == set(MEANINGS)


def test_the_page_about_recipes_has_the_table_of_keys():
    assert table() in (ROOT / "docs" / "recipes.md").read_text("utf-8")
