"""What holds for every comparison of two systems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyref.score.significance import Comparison, Runs, Statistics, compare, interval

FEWER = settings(max_examples=40)
SAMPLES = 60


@st.composite
def two_systems(draw: st.DrawFn) -> tuple[Runs, Runs]:
    """Some runs of each system, on the same examples, by BLEU or by a score of each example."""
    examples = draw(st.integers(2, 12))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    is_bleu = draw(st.booleans())

    def run() -> Statistics:
        if not is_bleu:
            return Statistics("made up", generator.integers(0, 5, examples) / 4)
        lengths = generator.integers(0, 9, examples)
        matches = [np.maximum(lengths - order, 0) for order in range(4)]
        for order in range(4):
            matches[order] = generator.binomial(matches[order], 0.7)
        return Statistics("bleu", np.stack([lengths, generator.integers(1, 9, examples), *matches], axis=1))

    ours, theirs = ([run() for _ in range(draw(st.integers(1, 4)))] for _ in range(2))
    return ours, theirs


def compared(ours: Runs, theirs: Runs) -> Comparison:
    return compare(ours, theirs, samples=SAMPLES)


@FEWER
@given(two_systems())
def test_swapping_the_systems_flips_the_sign(systems):
    found, other = compared(*systems), compared(*reversed(systems))
    assert other.difference == -found.difference
    if found.difference:
        assert (other.low, other.high) == (-found.high, -found.low)
        assert (other.p_bootstrap, other.p_randomisation) == (found.p_bootstrap, found.p_randomisation)


@FEWER
@given(two_systems())
def test_a_system_does_not_differ_from_itself(systems):
    found = compared(systems[0], systems[0])
    assert (found.difference, found.p_bootstrap, found.p_randomisation) == (0, 1, 1)


@FEWER
@given(two_systems())
def test_numbers_stay_in_their_bounds(systems):
    found = compared(*systems)
    assert found.low <= found.high
    assert 1 / (SAMPLES + 1) <= found.p_bootstrap <= 1
    assert 1 / (SAMPLES + 1) <= found.p_randomisation <= 1
    means = [np.mean([one.score() for one in runs]) for runs in systems]
    assert found.difference == pytest.approx(means[0] - means[1], abs=1e-9)
    low, high = interval(systems[0], samples=SAMPLES)
    assert low <= high


@FEWER
@given(two_systems(), st.integers(1, 3))
def test_as_many_copies_of_all_examples_do_not_change_a_score(systems, times):
    for one in systems[0]:
        assert Statistics(one.metric, np.tile(one.rows, (times, 1))).score() == pytest.approx(one.score(), abs=1e-9)
