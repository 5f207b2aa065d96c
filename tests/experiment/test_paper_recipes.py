"""The paper's recipes hold the numbers of its Section 4, and run from end to end once they are made small."""

from __future__ import annotations

from pathlib import Path

import made_up
import pytest

from polyref.align import PRESETS
from polyref.encode import VectorSettings
from polyref.experiment.grid import read_grid
from polyref.experiment.reading import read_recipe
from polyref.model.settings import CaptionerSettings, TranslatorSettings
from polyref.settings import contents

PAPER = Path(__file__).parents[2] / "recipes" / "paper"


def test_the_translation_recipe_has_the_numbers_of_section_4_1():
    recipe = read_recipe(PAPER / "nist-zh-en.toml")
    pretrain, finetune = recipe.stages
    assert (pretrain.subwords.source, pretrain.subwords.target) == (18_000, 10_000)
    assert pretrain.model == TranslatorSettings(embedding_size=500, layers=2, dropout=0.3)
    assert (pretrain.fit.optimiser, pretrain.fit.epochs, pretrain.batch.pairs) == ("sgd", 20, 64)
    assert (pretrain.fit.learning_rate, pretrain.fit.decay.factor) == (0.1, 0.5)
    assert (pretrain.validation.goal, finetune.validation.goal) == ("perplexity", "bleu")
    assert (finetune.fit.epochs, finetune.fit.learning_rate, finetune.fit.decay.factor) == (30, 0.01, 0.75)
    assert (finetune.beam.beam, finetune.beam.scoring) == (15, "rewarded")
    expand = finetune.expand.settings
    assert expand.align.penalty == "adaptive"
    assert (expand.align.penalty_start, expand.align.penalty_step, expand.align.at_least) == (0.9, 0.05, 100)
    assert (pretrain.expands, finetune.expands) == (False, True)
    assert (expand.per_example, finetune.batch.pairs) == (100, 100)
    assert (finetune.schedule.schedule.schedule, finetune.schedule.limit) == ("uniform", 50)
    assert finetune.run.init_from == pretrain.run.output


def test_the_caption_recipe_has_the_numbers_of_section_4_2():
    recipe = read_recipe(PAPER / "coco-karpathy.toml")
    [stage] = recipe.stages
    assert stage.model == CaptionerSettings(feature_size=2048, embedding_size=512)
    expand = stage.expand.settings
    assert (stage.fit.epochs, stage.beam.beam, expand.align.penalty, expand.per_example) == (100, 5, 0.6, 50)
    assert (stage.schedule.schedule.schedule, stage.schedule.limit) == ("shuffle", 20)


@pytest.mark.parametrize("name", ["nist-zh-en", "coco-karpathy"])
def test_words_are_aligned_by_the_cosine_of_their_vectors_and_by_nothing_else(name):
    """Section 3: "the normalized cosine similarity score of word"; no word is barred, and no position counts."""
    section = read_recipe(PAPER / f"{name}.toml").stages[-1].expand
    expand = section.settings
    assert (expand.align.align, expand.align.similarity) == ("soft", "cosine")
    assert (expand.align.veto, expand.align.position, expand.fluency) == ((), 0.0, None)
    assert section.tools.vectors == VectorSettings(word_share=0.0, centre=False)
    for key, value in PRESETS["paper"].items():
        assert key == "penalty" or contents(section)[key] == value


@pytest.mark.parametrize("name", ["nist-zh-en", "coco-karpathy"])
def test_the_language_model_is_trained_for_20_epochs(name):
    """Section 4.1: "for 20 epochs to minimize the perplexity"; the first one always gains, so 20 never stop early."""
    assert "--epochs 20 --stop-after 20\n" in (PAPER / f"{name}.toml").read_text()


def test_uniform_goes_through_the_examples_as_they_come():
    """Section 2: D' of Uniform is an ordered set over i = 1 to |D|; Shuffle alone "shuffles ... before each epoch"."""
    assert read_recipe(PAPER / "nist-zh-en.toml").stages[-1].schedule.schedule.order == "given"


@pytest.mark.parametrize(
    ("name", "cells", "batches"),
    [
        ("nist-zh-en", 1 + 3 + 3 * 4 * 2, ["100", "200", "400"]),
        ("coco-karpathy", 1 + 3 + 3 * 3 * 2, ["50", "250", "500", "1000"]),
    ],
)
def test_the_tables_have_the_cells_of_the_paper_and_the_best_batch_of_each(name, cells, batches, monkeypatch):
    """Tables 2 and 4; "the mean of three runs", and the best batch size for each method."""
    monkeypatch.chdir(PAPER.parents[1])
    grid = read_grid(PAPER.parents[1] / "grids" / "paper" / f"{name}.toml")
    assert len(grid.groups()) == cells
    assert grid.axes["batch"] == batches
    assert grid.top.pick == ("batch",)
    assert len(grid.top.seeds) == 3


@pytest.mark.parametrize("name", ["nist-zh-en", "coco-karpathy"])
def test_no_two_cells_of_the_tables_train_the_same(name, monkeypatch):
    monkeypatch.chdir(PAPER.parents[1])
    grid = read_grid(PAPER.parents[1] / "grids" / "paper" / f"{name}.toml")
    jobs = [grid.jobs(cell, 1)[-1].name for cell in range(len(grid.cells))]
    assert len(set(jobs)) == len(jobs)


def test_no_recipe_stops_before_its_epochs_are_over():
    for name in ("nist-zh-en", "coco-karpathy"):
        for stage in read_recipe(PAPER / f"{name}.toml").stages:
            assert stage.fit.patience is None
            assert stage.fit.decay.stop_after >= stage.fit.epochs


@pytest.mark.parametrize("name", ["nist-zh-en", "coco-karpathy"])
def test_a_recipe_runs_from_end_to_end_on_made_up_examples(tmp_path: Path, name):
    pytest.importorskip("torch")
    pytest.importorskip("tokenizers")
    import polyref
    from polyref.model.folder import load_model

    captions = name == "coco-karpathy"
    data = made_up.images(tmp_path, 12, 2048) if captions else made_up.translation(tmp_path, 12)
    settings = [f"run.output={tmp_path / 'out'}", *(f"data.{key}={path}" for key, path in data.items())]
    done = polyref.train(PAPER / f"{name}.toml", override_files=[PAPER / "small.toml"], overrides=settings)
    assert [stage.folder.name for stage in done] == (["out"] if captions else ["pretrain", "finetune"])
    assert all(stage.epochs == 2 for stage in done)
    assert len(list((tmp_path / "out").rglob("expanded-*.jsonl"))) == 1
    model = load_model(done[-1].folder)
    inputs = ["dev-e0"] if captions else ["who[cat]"]
    assert model.generate(inputs, features=data.get("features"))[0]
