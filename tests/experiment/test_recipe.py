"""What a recipe may say, and what it is told when it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyref.errors import SettingsError
from polyref.experiment.reading import table_of_keys
from polyref.experiment.recipe import recipe_of

ROOT = Path(__file__).parents[2]
SMALLEST = {"run": {"output": "out"}, "data": {"train": "a.jsonl", "dev": "b.jsonl"}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fti": {}}, 'fti is not a known section; did you mean "fit"?'),
        ({"fit": {"epoch": 3}}, 'fit.epoch is not a known key; did you mean "epochs"?'),
        ({"fit": {"decay": {"facter": 1}}}, 'fit.decay.facter is not a known key; did you mean "factor"?'),
        ({"fit": {"colour": 1}}, "clip, decay, save_every, average, validate_every, recent, patience, precision"),
        ({"fit": {"epochs": True}}, "fit.epochs is true; give a whole number, 1 or more"),
        ({"fit": {"epochs": 0}}, "fit.epochs is 0; give a whole number, 1 or more"),
        ({"fit": {"decay": 0.5}}, "fit.decay is 0.5; give a table"),
        ({"fit": {"seed": 1}}, "fit.seed follows from another key; set run.seed"),
        ({"schedule": {"seed": 1}}, "schedule.seed follows from another key; set run.seed"),
        ({"fit": {"goal": "lowest"}}, "fit.goal follows from another key; set validation.goal"),
        ({"fit": {"optimiser": "adam"}}, 'fit.optimiser is "adam"; did you mean adamw? choose one of sgd, adamw'),
        ({"fit": {"clip": 10**400}}, "fit.clip is a number with too many digits; give a number above 0"),
        ({"fit": {"decay": {"factor": 2}}}, "fit.decay.factor is 2; give a number above 0 and at most 1"),
        ({"fit": 3}, "fit is not a table; write it as [fit]"),
        ({"run": {}}, "run.output is missing; give it"),
        ({"run": {"output": " "}}, "run.output has no name; name a folder"),
        ({"run": {"output": "x", "threads": -1}}, "run.threads is -1; give a whole number from 0 to 1,024"),
        ({"run": {"output": "a\0b"}}, r'run.output is "a\0b"; give a string of Unicode characters, without \0'),
        ({"data": {"train": "a"}}, "data.dev is missing; give it"),
        ({"data": {"train": "", "dev": "b"}}, "data.train does not name a file; name one"),
        ({"data": {1: "a"}}, "data.1 is not a known key; choose from train, dev, test"),
        (
            {"data": {"train": "a", "dev": "b", "id_field": "source"}},
            'data.id_field is "source", and so is another field; name three different ones',
        ),
        (
            {"data": {"train": "a", "dev": "b", "features": "c"}},
            'data.features is for captioners; take it out, or set model.kind = "captioner"',
        ),
        (
            {"model": {"kind": "captioner"}},
            "data.features does not name a file, but a captioner reads features of images; name one",
        ),
        ({"model": {"kind": "parrot"}}, 'model.kind is "parrot"; choose one of translator, captioner'),
        ({"model": {"kind": []}}, "model.kind is []; choose one of translator, captioner"),
        (
            {"model": {"feature_size": 3}},
            "model.feature_size is for a captioner, and this is a translator; take it out",
        ),
        ({"model": {"embeding_size": 3}}, 'model.embeding_size is not a known key; did you mean "embedding_size"?'),
        ({"model": {"kin": "captioner"}}, 'model.kin is not a known key; did you mean "kind"?'),
        (
            {"schedule": {"name": "shufle"}},
            'schedule.name is "shufle"; did you mean shuffle? choose one of first, sample',
        ),
        ({"schedule": {"fresh": {"by": "rank"}}}, "schedule.fresh.per_example is missing; give it"),
        ({"schedule": {"limit": 3, "gold_only": True}}, "schedule.limit does not cut gold references; leave it out"),
        ({"batch": {"pairs": 0}}, "batch.pairs is 0; give a whole number, 1 or more"),
        ({"batch": {"bucket": 5}, "schedule": {"name": "Uniform"}}, "batch.bucket does not go with uniform"),
        (
            {"subwords": {"target": 3}},
            "subwords.target is 3; give a whole number from 259 to 1,000,000: 256 of them are",
        ),
        ({"expand": {"per_example": 0}}, "expand.per_example is 0; give a whole number, 1 or more"),
        ({"expand": {"fluency": float("nan")}}, "expand.fluency is nan; give a number from -100 to 100"),
        (
            {"expand": {"penalty": "adaptve"}},
            'expand.penalty is "adaptve"; did you mean adaptive? give a number from 0',
        ),
        (
            {"expand": {"penalty_floor": 0.95}},
            "expand.penalty_floor is 0.95, above the penalty_start of 0.9; swap them",
        ),
        ({"expand": {"veto": ["nothing"]}}, 'expand.veto holds "nothing"; give a list with any of numbers, negation'),
        ({"expand": {"veto": 3}}, "expand.veto is 3; give a list with any of numbers, negation, marks, contrasts"),
        (
            {"expand": {"per_example": 5}, "schedule": {"fresh": {"per_example": 3}}},
            "schedule.fresh needs lattices, which expand does not keep; set expand.keep_lattice = true",
        ),
        ({"beam": {"best": 20}}, "beam.best is 20, more than the beam of 15; lower it, or widen the beam"),
        (
            {"validation": {"beam": {"longest": 0}}},
            "validation.beam.longest is 0; give a whole number from 1 to 100,000",
        ),
        (
            {"validation": {"goal": "cidre"}},
            'validation.goal is "cidre"; did you mean cider? choose one of bleu, cider',
        ),
        (
            {"validation": {"goal": ["bleu"]}},
            'validation.goal is ["bleu"]; choose one of bleu, cider',
        ),
        (
            {"validation": {"goal": "rouge-l"}},
            'validation.goal is "rouge-l", which is not among the metrics; add it to',
        ),
        ({"validation": {"metrics": "bleu"}}, 'validation.metrics is "bleu"; give a list with any of bleu, cider'),
        ({"validation": {"metrics": ["blue"]}}, 'validation.metrics holds "blue"; did you mean bleu? give a list with'),
        ({"validation": {"metrics": [3]}}, "validation.metrics holds 3; give a list with any of bleu, cider"),
        ({"stage": ["x"]}, "stage is not a list of tables; begin each stage with [[stage]]"),
        ({"stage": {}}, "stage is not a list of tables; begin each stage with [[stage]]"),
        ({"stage": [{"name": "a", "fit": 3}]}, 'stage "a": fit is not a table; write it as [fit]'),
        ({"stage": [{"name": "a", "fit": {"epochs": 0}}]}, 'stage "a": fit.epochs is 0; give a whole number'),
        ({"fit": {"epochs": 0}, "stage": [{"name": "a"}]}, "fit.epochs is 0; give a whole number, 1 or more"),
        ({"stage": [{"name": "a"}, {"name": "a"}]}, "each stage needs a name of its own"),
        ({"stage": [{"name": "../a"}]}, "each stage needs a name of its own"),
        ({"stage": [{"name": "a", "model": {}}]}, 'stage "a": model is for all stages; set it at the top, as [model]'),
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


def test_paths_may_be_paths(tmp_path: Path):
    recipe = recipe_of({"run": {"output": tmp_path}, "data": {"train": tmp_path / "a", "dev": tmp_path / "b"}})
    assert recipe.output == str(tmp_path)
    assert recipe.stages[0].data.dev == str(tmp_path / "b")


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


def test_the_page_about_recipes_has_the_table_of_keys():
    assert table_of_keys() in (ROOT / "docs" / "recipes.md").read_text("utf-8")
