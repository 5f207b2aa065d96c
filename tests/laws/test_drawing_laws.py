"""How often what is drawn comes, over many epochs. The seeds were chosen once, before any run."""

from __future__ import annotations

import numpy as np
from scipy import stats

from polyref.schedule import Schedule, ScheduleSettings, Sizes

EPOCHS = 20_000
LEAST = 1e-4  # a chance below this is no chance


def drawn(sizes: Sizes, settings: ScheduleSettings, epochs: int = EPOCHS) -> np.ndarray:
    """How often each pair of a small set comes in many epochs."""
    schedule = Schedule(sizes, settings)
    numbers = np.arange(len(schedule))
    counts = np.zeros(sizes.pairs, np.int64)
    for epoch in range(epochs):
        found = schedule.pairs(epoch, numbers)
        counts += np.bincount(sizes.start_of(found.examples) + found.references, minlength=sizes.pairs)
    return counts


def test_sample_one_takes_each_reference_equally_often():
    sizes = Sizes([1, 2, 3, 5])
    counts = drawn(sizes, ScheduleSettings("sample_one", seed=1))
    assert counts[0] == EPOCHS
    for first, end in ((1, 3), (3, 6), (6, 11)):
        assert counts[first:end].sum() == EPOCHS
        assert stats.chisquare(counts[first:end]).pvalue > LEAST


def test_sample_one_takes_each_reference_by_its_weight():
    weights = [1.0, 2.0, 3.0, 0.1, 0.1, 0.8]
    sizes = Sizes([3, 2], [3, 3], np.array(weights))
    counts = drawn(sizes, ScheduleSettings("sample_one", seed=2))
    assert stats.chisquare(counts[:3], EPOCHS * np.array([1, 2, 3]) / 6).pvalue > LEAST
    assert stats.chisquare(counts[3:], EPOCHS * np.array([0.1, 0.1, 0.8])).pvalue > LEAST


def test_half_of_what_sample_one_draws_is_gold():
    epochs, sizes = 5_000, Sizes([2, 1, 1], [6, 2, 1])
    counts = drawn(sizes, ScheduleSettings("sample_one", seed=3, gold_share=0.5), epochs)
    expected = epochs * np.array([1 / 4] * 2 + [1 / 8] * 4)
    assert stats.chisquare(counts[:6], expected).pvalue > LEAST
    assert stats.chisquare(counts[6:8]).pvalue > LEAST
    assert counts[8] == epochs  # there is nothing else to take


def test_half_of_what_a_shuffle_draws_is_gold():
    epochs = 5_000
    sizes = Sizes([2], [6])
    counts = drawn(sizes, ScheduleSettings(seed=4, gold_share=0.5), epochs)
    assert stats.chisquare(counts, 6 * epochs * np.array([1 / 4] * 2 + [1 / 8] * 4)).pvalue > LEAST


def test_shuffle_puts_each_pair_everywhere_equally_often():
    epochs, sizes = 6_000, Sizes([2, 1, 3])
    schedule = Schedule(sizes, ScheduleSettings(seed=5))
    counts = np.zeros((6, 6), np.int64)
    for epoch in range(epochs):
        found = schedule.pairs(epoch, np.arange(6))
        counts[np.arange(6), sizes.start_of(found.examples) + found.references] += 1
    # Every row and every column adds up to the epochs, which leaves 5 times 5 free; their scale is 5/6.
    statistic = ((counts - epochs / 6) ** 2 / (epochs / 6)).sum() * 5 / 6
    assert stats.chi2.sf(statistic, 25) > LEAST


def test_what_one_epoch_draws_says_nothing_of_the_next():
    schedule = Schedule(Sizes([3]), ScheduleSettings("sample_one", seed=6))
    found = [schedule.pair(0, epoch)[1] for epoch in range(6_000)]
    table = np.zeros((3, 3), np.int64)
    np.add.at(table, (found[0::2], found[1::2]), 1)
    assert stats.chi2_contingency(table).pvalue > LEAST


def test_what_one_seed_draws_says_nothing_of_the_next():
    found = [Schedule(Sizes([3]), ScheduleSettings("sample_one", seed=seed)).pair(0, 0)[1] for seed in range(6_000)]
    table = np.zeros((3, 3), np.int64)
    np.add.at(table, (found[0::2], found[1::2]), 1)
    assert stats.chi2_contingency(table).pvalue > LEAST
    assert stats.chisquare(table.sum(axis=0) + table.sum(axis=1)).pvalue > LEAST
