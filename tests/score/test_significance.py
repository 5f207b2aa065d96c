"""Intervals and paired tests: what is chance between runs of one system stays chance."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from polyref.errors import InputError, SettingsError
from polyref.score import BleuSettings, Scored, bleu_of_counts, cider, corpus_bleu, evaluate
from polyref.score.significance import Statistics, bleu_statistics, compare, interval, statistics_of

HYPOTHESES = ["the cat sat on the mat", "two dogs ran along a beach", "it costs twenty pounds", "a"]
REFERENCES = [
    ["the cat sat on a mat", "a cat was sitting on the mat"],
    ["two dogs run along the beach"],
    ["it costs twenty pounds", "the price is 20 pounds"],
    ["a bird"],
]
PLAIN = BleuSettings("none")


def made_runs(
    generator: np.random.Generator, runs: int, examples: int = 80, *, by_seed: float = 0.1, by_output: float = 0.3
) -> list[Statistics]:
    """Runs of a system on examples of different difficulty: each seed has an effect, each output has noise."""
    of_examples = np.random.default_rng(0).normal(size=examples)
    of_seeds = generator.normal(0, by_seed, (runs, 1))
    scores = of_examples + of_seeds + generator.normal(0, by_output, (runs, examples))
    return [Statistics("made up", row) for row in scores]


def test_scores_are_those_of_the_metrics():
    found = evaluate(HYPOTHESES, REFERENCES)
    for name, scored in found.items():
        assert Statistics.of(name, scored).score() == pytest.approx(scored.score, abs=1e-9)


def test_a_weight_says_how_often_an_example_counts():
    statistics = bleu_statistics(HYPOTHESES, REFERENCES, PLAIN)
    twice = [2, 0, 1, 1]
    counts = corpus_bleu(HYPOTHESES, REFERENCES, PLAIN).counts
    assert statistics.score(twice) == pytest.approx(bleu_of_counts(np.array(twice) @ counts, PLAIN), abs=1e-9)
    scores = cider(HYPOTHESES, REFERENCES)
    assert Statistics.of("cider", scores).score(twice) == pytest.approx(float(np.array(twice) @ scores.scores) / 4)


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [
        (["a b c d e"], [["a x c y e"]]),  # no match above order 1: smoothed
        (["a b c"], [["a b c"]]),  # no n-gram of order 4
        (["x y z u"], [["a b c d"]]),  # no match
        ([""], [["a b c d"]]),
        (["a b c d", "", "e"], [["a b c d e f g"], ["x"], ["e"]]),
    ],
)
def test_bleu_of_odd_texts_is_that_of_sacrebleu(hypotheses, references):
    expected = corpus_bleu(hypotheses, references, PLAIN).score
    assert bleu_statistics(hypotheses, references, PLAIN).score() == pytest.approx(expected, abs=1e-9)


def test_statistics_survive_a_record():
    for name, scored in evaluate(HYPOTHESES, REFERENCES, metrics=["bleu", "cider"]).items():
        statistics = Statistics.of(name, scored)
        again = statistics_of(json.loads(json.dumps(statistics.entry())))
        assert again.score() == pytest.approx(statistics.score(), abs=1e-6)
    assert statistics_of([[6, 6, 5, 4, 3, 2]]).metric == "bleu"


@pytest.mark.parametrize("runs", [1, 3])
def test_the_same_system_does_not_differ(runs):
    ours = made_runs(np.random.default_rng(1), runs)
    found = compare(ours, ours)
    assert found.difference == 0
    assert found.low <= 0 <= found.high
    assert found.p_bootstrap == found.p_randomisation == 1


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (3, 3), (1, 4), (5, 2)])
def test_swapping_the_systems_changes_the_sign_only(ours, theirs):
    generator = np.random.default_rng(2)
    first, second = made_runs(generator, ours), made_runs(generator, theirs)
    found, other = compare(first, second), compare(second, first)
    assert (other.difference, other.low, other.high) == (-found.difference, -found.high, -found.low)
    assert (other.p_bootstrap, other.p_randomisation) == (found.p_bootstrap, found.p_randomisation)


def test_the_seed_decides_the_samples():
    generator = np.random.default_rng(3)
    ours, theirs = made_runs(generator, 3), made_runs(generator, 3)
    assert compare(ours, theirs, seed=1) == compare(ours, theirs, seed=1)
    assert compare(ours, theirs, seed=1) != compare(ours, theirs, seed=2)
    assert interval(ours, seed=1) == interval(ours, seed=1)


@pytest.mark.parametrize("runs", [1, 5])
def test_a_clear_difference_is_significant(runs):
    generator = np.random.default_rng(4)
    ours = [Statistics("made up", one.rows + 1) for one in made_runs(generator, runs)]
    found = compare(ours, made_runs(generator, runs))
    assert 0 < found.low < found.difference < found.high
    assert found.p_bootstrap < 0.01
    assert found.p_randomisation < 0.01


@pytest.mark.parametrize(("runs", "least"), [((2, 2), 2 / 6), ((3, 3), 2 / 20), ((1, 3), 1 / 4), ((3, 4), 1 / 35)])
def test_relabelled_runs_cannot_show_more_than_there_are_divisions(runs, least):
    generator = np.random.default_rng(5)
    ours = [Statistics("made up", one.rows + 100) for one in made_runs(generator, runs[0])]
    assert compare(ours, made_runs(generator, runs[1])).p_randomisation == pytest.approx(least, rel=0.2)


def test_an_interval_over_seeds_is_wider_than_that_of_one_seed_if_seeds_differ():
    runs = made_runs(np.random.default_rng(6), 3, by_seed=1.0)
    low, high = interval(runs)
    alone = interval(runs[:1])
    assert low < np.mean([one.score() for one in runs]) < high
    assert high - low > alone[1] - alone[0]


def test_intervals_widen_with_the_level():
    runs = made_runs(np.random.default_rng(7), 1)
    (low, high), (lower, higher) = interval(runs, level=0.9), interval(runs, level=0.99)
    assert lower < low < high < higher


@pytest.mark.parametrize(("by_seed", "by_output"), [(0.1, 0.3), (0.0, 0.5)], ids=["seeds differ", "outputs differ"])
@pytest.mark.parametrize("seeds", [3, 5, 8])
def test_two_groups_of_seeds_of_one_system_rarely_differ(seeds, by_seed, by_output):
    """In about 5 % of 200 tries: 95 % of such experiments have 4 to 16."""
    generator = np.random.default_rng(seeds)
    found = [0, 0]
    for attempt in range(200):
        groups = [made_runs(generator, seeds, by_seed=by_seed, by_output=by_output) for _ in range(2)]
        one = compare(*groups, samples=200, seed=attempt)
        found = [found[0] + (one.p_bootstrap <= 0.05), found[1] + (one.p_randomisation <= 0.05)]
    assert 1 <= found[0] <= 18
    assert found[1] <= 18
    if seeds == 3:
        assert found[1] == 0  # the smallest p is 0.1


def test_large_sets_are_resampled_in_blocks(monkeypatch):
    runs = made_runs(np.random.default_rng(8), 1, 300)
    low, high = interval(runs, samples=2000)
    monkeypatch.setattr("polyref.score.significance._BLOCK", 1000)
    again = interval(runs, samples=2000)
    assert again == pytest.approx((low, high), abs=0.02)
    assert math.isclose(again[1] - again[0], 2 * 1.96 * runs[0].rows.std() / math.sqrt(300), rel_tol=0.1)


@pytest.mark.parametrize(
    ("refused", "says"),
    [
        (lambda: compare([], [Statistics("x", np.ones(3))]), "there are no runs"),
        (
            lambda: compare([Statistics("x", np.ones(3))], [Statistics("x", np.ones(4))]),
            "different metrics or examples",
        ),
        (
            lambda: compare([Statistics("x", np.ones(3))], [Statistics("y", np.ones(3))]),
            "different metrics or examples",
        ),
        (lambda: interval([Statistics("x", np.ones(1))]), "one example cannot be resampled"),
        (lambda: Statistics("bleu", np.ones((3, 4))), "not statistics of bleu; give 6 finite numbers per example"),
        (lambda: Statistics("x", np.array([1, np.nan])), "not statistics of x; give 1 finite number per example"),
        (lambda: statistics_of([]), "not statistics of a score"),
        (lambda: statistics_of([[1, 2], [3]]), "rows of different lengths"),
        (lambda: statistics_of(["a"]), "are not numbers"),
    ],
)
def test_what_cannot_be_compared_is_refused(refused, says):
    with pytest.raises(InputError, match=says):
        refused()


def test_a_metric_without_scores_of_examples_is_refused():
    with pytest.raises(SettingsError, match="ratio has no score for each example"):
        Statistics.of("ratio", Scored(1.0, "signature"))
