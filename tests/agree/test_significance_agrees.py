"""Intervals and paired tests of one run each are sacreBLEU's, within the noise of resampling."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from polyref.score import BleuSettings
from polyref.score.significance import Statistics, bleu_statistics, compare, interval
from polyref.score.significance import _bootstrap as bootstrap

EXAMPLES, SAMPLES = 150, 1000
PLAIN = BleuSettings("none")


def copies(references: list[list[str]], errors: float, seed: int) -> list[str]:
    """A system that copies a reference, with some words wrong."""
    generator = random.Random(seed)
    picked = [generator.choice(texts).split() for texts in references]
    return [" ".join("z" if generator.random() < errors else word for word in words) for words in picked]


@lru_cache
def corpus() -> tuple[list[list[str]], list[list[str]], tuple[Statistics, ...]]:
    """References of each example; a baseline, a system that differs little from it, and one that differs more."""
    generator = random.Random(1)
    texts = [
        [" ".join(generator.choices("abcdef", k=generator.randint(4, 12))) for _ in range(3)] for _ in range(EXAMPLES)
    ]
    systems = [copies(texts, 0.2, 1), copies(texts, 0.19, 5), copies(texts, 0.165, 3)]
    return texts, systems, tuple(bleu_statistics(system, texts, PLAIN) for system in systems)


@lru_cache
def theirs(kind: str) -> list[sacrebleu.significance.Result]:
    """What sacreBLEU says of each system; all but the first are compared with that."""
    texts, systems, _ = corpus()
    metric = sacrebleu.BLEU(
        tokenize="none", force=True, references=[list(stream) for stream in zip(*texts, strict=True)]
    )
    named = [(f"system {number}", system) for number, system in enumerate(systems)]
    return PairedTest(named, {"BLEU": metric}, None, test_type=kind, n_samples=SAMPLES)()[1]["BLEU"]


@pytest.mark.parametrize("system", [0, 1, 2])
def test_an_interval_is_as_wide_and_where_it_is(system):
    statistics, expected = corpus()[2][system], theirs("bs")[system]
    low, high = interval([statistics], samples=SAMPLES)
    assert statistics.score() == pytest.approx(expected.score, abs=1e-9)
    assert (low + high) / 2 == pytest.approx(expected.mean, abs=0.25 * expected.ci)
    assert (high - low) / 2 == pytest.approx(expected.ci, rel=0.15)


@pytest.mark.parametrize("system", [1, 2])
def test_approximate_randomisation_has_the_same_p(system):
    baseline, ours = corpus()[2][0], corpus()[2][system]
    found = compare([ours], [baseline], samples=SAMPLES)
    assert found.p_randomisation == pytest.approx(theirs("ar")[system].p_value, abs=0.06)
    assert found.p_bootstrap == pytest.approx(theirs("ar")[system].p_value, abs=0.08)


@pytest.mark.parametrize("system", [1, 2])
def test_bootstrap_samples_have_the_same_p_by_sacrebleus_formula(system):
    """sacreBLEU takes absolute values before it centres the differences: its p is below that of a two-sided test."""
    baseline, ours = corpus()[2][0], corpus()[2][system]
    found = compare([ours], [baseline], samples=SAMPLES)
    apart = np.abs(bootstrap([[ours], [baseline]], SAMPLES, np.random.default_rng(0)).draws)
    p = (int((apart - apart.mean() > abs(found.difference)).sum()) + 1) / (SAMPLES + 1)
    assert p == pytest.approx(theirs("bs")[system].p_value, abs=0.04)
    assert p < found.p_bootstrap
