"""Whether a difference between two systems is more than chance: intervals and paired tests.

In:   the statistics of every example, for each run (seed) of a system, over the same examples.
Out:  an interval around a score; the difference between two systems, its interval and two p-values.
Not:  scores of texts (the metrics), tables (cli/score.py).

A system's score is the mean of its runs' scores. With one run each, examples are resampled, as sacreBLEU does. With
several runs, seeds and examples are: docs/scores.md says what is done about having few seeds, and why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.errors import InputError, SettingsError
from polyref.score.bleu import BleuSettings, CorpusBleu, corpus_bleu
from polyref.score.metric import MeanScore, Scored
from polyref.score.sentence_bleu import MAX_ORDER

BLEU_ROW = 2 + MAX_ORDER  # length, closest reference length, matches of orders 1 to 4
CLOSE = 1e-9  # numbers that are this close are the same
_BLOCK = 1 << 22  # weights in memory at once

Real = npt.NDArray[np.float64]
Runs = Sequence["Statistics"]  # one item per seed of a system


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the score of one run is made of: one row per example.

    A row of "bleu" has the length of the hypothesis, the closest length of a reference and the matches of orders 1
    to 4, as sacreBLEU counts them. A row of any other metric has the score of the example, and the score is the mean.
    """

    metric: str
    rows: Real

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, np.float64)
        rows = rows[:, None] if rows.ndim == 1 else rows
        columns = BLEU_ROW if self.metric == "bleu" else 1
        if rows.ndim != 2 or not len(rows) or rows.shape[1] != columns or not np.isfinite(rows).all():
            problem = f"these are not statistics of {self.metric or 'a score'}"
            raise InputError(problem, f"give {columns} finite number{'s' * (columns > 1)} per example")
        object.__setattr__(self, "rows", rows)

    @staticmethod
    def of(metric: str, scored: Scored) -> Statistics:
        """The statistics behind a result of `evaluate`."""
        if isinstance(scored, CorpusBleu):
            return Statistics(metric, scored.counts[:, :BLEU_ROW].astype(np.float64))
        if isinstance(scored, MeanScore):
            return Statistics(metric, scored.scores)
        problem = f"{metric} has no score for each example, so there is nothing to resample"
        raise SettingsError(problem, "leave it out of the metrics")

    def score(self, weights: npt.ArrayLike | None = None) -> float:
        """The score of all examples; `weights` says how often each one counts."""
        given = np.ones(len(self.rows)) if weights is None else np.asarray(weights, np.float64)
        return float(self.scores(given[None])[0])

    def scores(self, weights: Real) -> Real:
        """One score per row of `weights`, which has one number per example."""
        return _score_of(self.metric, weights @ self.summed)

    @property
    def summed(self) -> Real:
        """The rows as they are summed: with those of BLEU come the n-grams of orders 1 to 4, or a count of examples."""
        if self.metric != "bleu":
            return np.hstack([self.rows, np.ones_like(self.rows)])
        return np.hstack([self.rows, np.maximum(self.rows[:, :1] - np.arange(MAX_ORDER), 0)])

    def entry(self) -> list[Any]:
        """The statistics for a JSON record: rows of whole numbers, or one number per example."""
        if self.metric == "bleu":
            return np.rint(self.rows).astype(int).tolist()  # type: ignore[no-any-return]
        return [round(float(value), 6) for value in self.rows[:, 0]]


def statistics_of(entry: Sequence[Any], metric: str = "") -> Statistics:
    """The statistics of a JSON record: six numbers per example are those of BLEU, one is a score."""
    try:
        rows = np.asarray(entry, np.float64)
    except (TypeError, ValueError, OverflowError):
        problem = "the statistics are not numbers, or rows of different lengths"
        raise InputError(problem, f"give one number, or {BLEU_ROW} for BLEU, per example") from None
    return Statistics(metric or ("bleu" if rows.ndim == 2 and rows.shape[1] == BLEU_ROW else ""), rows)


def bleu_statistics(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], settings: BleuSettings | None = None
) -> Statistics:
    """The statistics of BLEU; references[k] are those of hypotheses[k]. Their score is smoothed by "exp", always."""
    return Statistics.of("bleu", corpus_bleu(hypotheses, references, settings))


def _score_of(metric: str, sums: Real) -> Real:
    """Scores from sums over examples, one per row."""
    if metric != "bleu":
        return sums[:, 0] / sums[:, 1]
    length, closest, matches, ngrams = sums[:, 0], sums[:, 1], sums[:, 2:BLEU_ROW], sums[:, BLEU_ROW:]
    is_there = matches > CLOSE  # sums of means are not exact
    is_scored = (ngrams > CLOSE).all(axis=1) & is_there.any(axis=1)
    ngrams, length = np.maximum(ngrams, CLOSE), np.maximum(length, CLOSE)
    # Smoothing "exp": an order without matches has half a match, the next one a quarter.
    halvings = np.cumsum(~is_there, axis=1)
    precisions = np.where(is_there, matches, 0.5**halvings) / ngrams
    brevity = np.minimum(0, 1 - closest / length)
    return np.where(is_scored, 100 * np.exp(brevity + np.log(precisions).mean(axis=1)), 0.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two systems' scores, its 95 % interval, and how often chance alone gives as large a one."""

    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float


def interval(systems: Runs, *, level: float = 0.95, samples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The interval around a system's score; one item per run."""
    _check(systems)
    return _middle(_bootstrap([systems], samples, np.random.default_rng(seed)).draws, level)


def compare(ours: Runs, theirs: Runs, *, samples: int = 1000, seed: int = 0) -> Comparison:
    """Ours minus theirs; one item per run, over the same examples. The tests are two-sided."""
    _check([*ours, *theirs], ours, theirs)
    difference = _mean(ours) - _mean(theirs)
    if difference < 0:  # the same draws for both directions: only the sign changes
        other = compare(theirs, ours, samples=samples, seed=seed)
        return Comparison(-other.difference, -other.high, -other.low, other.p_bootstrap, other.p_randomisation)
    generator = np.random.default_rng(seed)
    draws, of_systems = _bootstrap([ours, theirs], samples, generator)
    p_bootstrap = _share(draws - draws.mean(), difference)
    swapped = _swapped(ours, theirs, samples, generator)
    if len(ours) == len(theirs) == 1:
        return Comparison(difference, *_middle(draws, 0.95), p_bootstrap, _share(swapped, difference))
    moved = _relabelled(ours, theirs, samples, generator) + math.sqrt(of_systems) * swapped
    p_randomisation = max(smallest_p(len(ours), len(theirs)), _share(moved, difference))
    return Comparison(difference, *_middle(draws, 0.95), p_bootstrap, p_randomisation)


def smallest_p(ours: int, theirs: int) -> float:
    """The smallest p that randomisation reaches with so many runs of each system, of which one has several."""
    # As the runs are divided; with as many of each, the other way round is as large a difference.
    return (2 if ours == theirs else 1) / math.comb(ours + theirs, ours)


def _check(all_runs: Runs, *systems: Runs) -> None:
    if not all_runs or not all(systems):
        raise InputError("there are no runs", "give at least one of each system")
    if len({one.metric for one in all_runs}) > 1 or len({len(one.rows) for one in all_runs}) > 1:
        raise InputError("the runs have different metrics or examples", "score all of them in the same way")
    if len(all_runs[0].rows) < 2:
        raise InputError("one example cannot be resampled", "give at least two")


def _mean(runs: Runs) -> float:
    return math.fsum(one.score() for one in runs) / len(runs)


def _middle(draws: Real, level: float) -> tuple[float, float]:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _share(differences: Real, observed: float) -> float:
    """How many of the drawn differences are at least as large; the observed one is one of them."""
    reached = int((np.abs(differences) >= abs(observed) - CLOSE).sum())
    return (reached + 1) / (len(differences) + 1)


# -- bootstrap --------------------------------------------------------------------------------------------------------


class _Bootstrap(NamedTuple):
    draws: Real  # the score of a system, or the difference of two, in each sample
    of_systems: float  # of the variance over examples, the part that all runs of a system share: the rest is noise


def _bootstrap(systems: Sequence[Runs], samples: int, generator: np.random.Generator) -> _Bootstrap:
    """Resample examples, and seeds where a system has several runs."""
    scores = _resampled(systems, samples, generator)
    if all(len(runs) == 1 for runs in systems):
        return _Bootstrap(_difference([of_runs[:, 0] for of_runs in scores]), 1.0)
    picked = [generator.integers(of_runs.shape[1], size=of_runs.shape) for of_runs in scores]
    draws = _difference([np.take_along_axis(*both, axis=1).mean(axis=1) for both in zip(scores, picked, strict=True)])
    variance, freedom, of_systems = _variance(systems, scores)
    if draws.var():
        # Few seeds vary too little when they are drawn again, and noise of single outputs is drawn twice. So the spread
        # is set to the right variance, and spread further as Student's t is: that variance is itself an estimate.
        stretch = math.sqrt(variance / draws.var(ddof=1))
        tails = np.sqrt(freedom / generator.chisquare(freedom, samples)) if math.isfinite(freedom) else 1.0
        draws = draws.mean() + (draws - draws.mean()) * stretch * tails
    return _Bootstrap(draws, of_systems)


def _resampled(systems: Sequence[Runs], samples: int, generator: np.random.Generator) -> list[Real]:
    """The scores of each system, samples x runs, on examples that are drawn again: the same ones for all runs."""
    examples = len(systems[0][0].rows)
    scores = [np.empty((samples, len(runs))) for runs in systems]
    size = max(1, _BLOCK // examples)
    for start in range(0, samples, size):
        rows = min(size, samples - start)
        drawn = generator.integers(examples, size=(rows, examples)) + examples * np.arange(rows)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=rows * examples).reshape(rows, examples).astype(np.float64)
        for runs, of_system in zip(systems, scores, strict=True):
            for run, statistics in enumerate(runs):
                of_system[start : start + rows, run] = statistics.scores(weights)
    return scores


def _difference(of_systems: Sequence[Real]) -> Real:
    return of_systems[0] - of_systems[1] if len(of_systems) == 2 else of_systems[0]


def _variance(systems: Sequence[Runs], scores: Sequence[Real]) -> tuple[float, float, float]:
    """The variance of the difference over seeds and examples, its degrees of freedom (Satterthwaite), and the part of
    the variance over examples that is not noise.

    Runs are nested in systems and share their examples, as readers and cases do in studies of radiology (Obuchowski and
    Rockette 1995). The scores of runs vary by their seeds and by noise of single outputs: their variance / runs holds
    both. What resampled examples add to that is their variance without this noise, which would else count twice.
    """
    of_examples = float(_difference([of_runs.mean(axis=1) for of_runs in scores]).var(ddof=1))
    # A single run does not show how much seeds vary: beside several runs of the other system, it varies as those do.
    alone = sum(1.0 for runs in systems if len(runs) == 1)
    by_seeds = noise = uncertainty = 0.0
    for runs, of_runs in zip(systems, scores, strict=True):
        if len(runs) == 1:
            continue
        share, free = 1 / len(runs) + alone, len(runs) - 1
        apart = of_runs - of_runs.mean(axis=1, keepdims=True)
        noise += share * float(apart.var(axis=0, ddof=1).sum()) / free
        of_seeds = share * float(np.var([one.score() for one in runs], ddof=1))
        by_seeds += of_seeds
        uncertainty += of_seeds**2 / free
    of_systems = max(of_examples - noise, 0.0)
    variance = of_systems + by_seeds
    freedom = variance**2 / uncertainty if uncertainty else math.inf
    return variance, freedom, of_systems / of_examples if of_examples else 0.0


# -- approximate randomisation ----------------------------------------------------------------------------------------


def _swapped(ours: Runs, theirs: Runs, samples: int, generator: np.random.Generator) -> Real:
    """Differences if the systems swap their outputs, those of all runs, on a random half of the examples."""
    metric = ours[0].metric
    mine, others = (np.mean([one.summed for one in runs], axis=0) for runs in (ours, theirs))
    both, apart = mine + others, mine - others
    found = []
    size = max(1, _BLOCK // len(apart))
    for start in range(0, samples, size):
        # Each sum of ours is half of both, plus or minus half of what is apart.
        signs = generator.integers(2, size=(min(size, samples - start), len(apart))) - 0.5
        middle, moved = both.sum(axis=0) / 2, signs @ apart
        found.append(_score_of(metric, middle + moved) - _score_of(metric, middle - moved))
    return np.concatenate(found)


def _relabelled(ours: Runs, theirs: Runs, samples: int, generator: np.random.Generator) -> Real:
    """Differences if the runs are divided between the systems at random."""
    scores = np.array([one.score() for one in (*ours, *theirs)])
    scores = scores[np.argsort(generator.random((samples, len(scores))), axis=1)]
    divided: Real = scores[:, : len(ours)].mean(axis=1) - scores[:, len(ours) :].mean(axis=1)
    return divided
