"""Validation: which examples count, and for what."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import made_up  # noqa: E402

from polyref.data import read  # noqa: E402
from polyref.data.corpus import Corpus  # noqa: E402
from polyref.experiment import validation as validation_room  # noqa: E402
from polyref.experiment.inputs import find_vocabularies  # noqa: E402
from polyref.experiment.pairs import Collation  # noqa: E402
from polyref.experiment.recipe import ValidationSection, recipe_of  # noqa: E402
from polyref.experiment.validation import Validation  # noqa: E402
from polyref.model.folder import TrainedModel, new_model  # noqa: E402
from polyref.model.settings import BeamSettings  # noqa: E402
from polyref.score import evaluate  # noqa: E402

EXAMPLES = 20


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All that a validation is made of, but its settings."""
    folder: Path = tmp_path_factory.mktemp("dev")
    dev = Corpus.of(read(made_up.write(folder / "dev.jsonl", made_up.records(EXAMPLES))))
    [stage] = recipe_of(made_up.recipe(folder, {"train": "dev.jsonl", "dev": "dev.jsonl"})).stages
    words = find_vocabularies(stage, folder, dev)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = new_model(stage.model, *words).eval()
    beam = BeamSettings(beam=2, longest=5)
    return {"corpus": dev, "collation": Collation(TrainedModel(model, *words, beam)), "beam": beam}


def perplexity(validated: dict[str, Any], **choices: Any) -> float:
    validation = Validation(settings=ValidationSection(goal="perplexity", metrics=(), **choices), **validated)
    with torch.inference_mode():
        return validation()


def expected(validated: dict[str, Any], examples: list[int]) -> float:
    """The same, one pair at a time."""
    corpus, collation = validated["corpus"], validated["collation"]
    total, count = 0.0, 0
    for number in examples:
        for slot in range(3):
            pair = [corpus.source(number).encode()], [corpus.reference(number, slot).encode()]
            loss, tokens = collation.trained.model.loss(collation.batch(collation.rows(*pair)))
            total, count = total + float(loss.detach()), count + tokens
    return math.exp(total / count)


@pytest.mark.parametrize(("examples", "chosen"), [(1, [0]), (3, [0, 6, 13]), (0, range(20)), (99, range(20))])
def test_perplexity_is_that_of_the_chosen_examples(validated, examples, chosen):
    assert perplexity(validated, examples=examples) == pytest.approx(expected(validated, list(chosen)), rel=1e-5)


def test_other_examples_have_another_perplexity(validated):
    found = sorted(perplexity(validated, examples=count) for count in (1, 3, EXAMPLES))
    assert all(larger - smaller > 1e-3 for smaller, larger in pairwise(found))


def test_perplexity_and_scores_are_of_the_same_examples(validated, monkeypatch):
    scored = []

    def noted(texts, references, **how):
        scored.extend(references)
        return evaluate(texts, references, **how)

    monkeypatch.setattr(validation_room, "evaluate", noted)
    settings = ValidationSection(goal="bleu", metrics=("bleu", "perplexity"), examples=3)
    validation = Validation(settings=settings, **validated)
    with torch.inference_mode():
        validation()
    assert scored == [[validated["corpus"].reference(number, slot) for slot in range(3)] for number in (0, 6, 13)]
    assert validation.scores["perplexity"] == pytest.approx(perplexity(validated, examples=3))
