"""How often tests call two groups of runs different that are not: the table of docs/scores.md.

In:   made-up runs with known effects of seeds, examples and single outputs; or the records of trained ones. Out: a
      table, in per cent. Not: speed.

    python -m benchmarks.error_rates --tries 1000
    python -m benchmarks.error_rates --tries 200 --records results/e2e-cider

Of records, the seeds of each cell with at least eight are divided at random into two halves.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from polyref.score.significance import Runs, Statistics, compare, statistics_of
from polyref.score.significance import _difference as difference_of
from polyref.score.significance import _resampled as resampled

EXAMPLES, SAMPLES, LEVEL = 200, 500, 0.05
SEEDS = (1, 2, 3, 5, 8)
# Standard deviations: of seeds, of single outputs, and of what a system does better or worse on an example. Those of
# examples are 1.
KINDS = {
    "seeds differ much": (0.1, 0.3, 0.0),
    "seeds differ little": (0.02, 0.5, 0.0),
    "seeds do not differ": (0.0, 0.5, 0.0),
    "systems differ by example, not in the mean": (0.05, 0.3, 0.8),
}


def made_systems(generator: np.random.Generator, runs: int, kind: str) -> list[Runs]:
    """Two systems whose expected scores are the same."""
    of_seed, of_output, of_system = KINDS[kind]
    examples = generator.normal(size=EXAMPLES)
    systems: list[Runs] = []
    for _ in range(2):
        on_examples = examples + generator.normal(0, of_system, EXAMPLES)
        scores = (
            on_examples + generator.normal(0, of_seed, (runs, 1)) + generator.normal(0, of_output, (runs, EXAMPLES))
        )
        systems.append([Statistics("made up", row) for row in scores])
    return systems


def plain_bootstrap(systems: list[Runs], difference: float, seed: int) -> float:
    """p if seeds and examples are drawn again, and nothing is corrected."""
    generator = np.random.default_rng(seed)
    scores = resampled(systems, SAMPLES, generator)
    picked = [np.take_along_axis(one, generator.integers(one.shape[1], size=one.shape), 1).mean(1) for one in scores]
    draws = difference_of(picked)
    return float((np.abs(draws - draws.mean()) >= abs(difference)).sum() + 1) / (SAMPLES + 1)


def rates(kind: str, runs: int, tries: int) -> tuple[float, float, float]:
    """Of bootstrap, randomisation and the plain bootstrap."""
    generator = np.random.default_rng(runs)
    found = np.zeros(3)
    for attempt in range(tries):
        systems = made_systems(generator, runs, kind)
        one = compare(*systems, samples=SAMPLES, seed=attempt)
        plain = plain_bootstrap(systems, one.difference, attempt)
        found += np.array([one.p_bootstrap, one.p_randomisation, plain]) <= LEVEL
    bootstrap, randomisation, plain = (found / tries).tolist()
    return bootstrap, randomisation, plain


def trained(folder: Path, metric: str) -> dict[str, Runs]:
    """The runs of each cell on the test set."""
    cells: dict[str, Runs] = {}
    for path in sorted(folder.glob("*-seed*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        cells.setdefault(path.name.rpartition("-seed")[0], []).append(
            statistics_of(record["test"]["per_example"][metric], metric)
        )
    return {cell: runs for cell, runs in cells.items() if len(runs) >= 8}


def rates_of_records(runs: Runs, tries: int) -> tuple[float, float]:
    """Of bootstrap and randomisation, for groups of the same cell."""
    generator = np.random.default_rng(0)
    found = np.zeros(2)
    for attempt in range(tries):
        order = generator.permutation(len(runs))
        groups = [[runs[n] for n in some] for some in np.array_split(order, 2)]
        one = compare(*groups, samples=SAMPLES, seed=attempt)
        found += np.array([one.p_bootstrap, one.p_randomisation]) <= LEVEL
    bootstrap, randomisation = (found / tries).tolist()
    return bootstrap, randomisation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--records", type=Path)
    given = parser.parse_args()
    tries = given.tries
    if given.records is not None:
        print(f"| significant, of {tries:,} | score | bootstrap | randomisation |\n|---|---|---:|---:|")
        for metric in ("bleu", "cider"):
            for cell, runs in trained(given.records, metric).items():
                both = rates_of_records(runs, tries)
                print(f"| {cell} | {metric} |", *(f"{rate:.1%} |" for rate in both), flush=True)
        return
    print(f"| significant, of {tries:,} | test |", *(f"{runs} seeds |" if runs > 1 else "1 seed |" for runs in SEEDS))
    print("|---|---|" + "---:|" * len(SEEDS))
    for kind in KINDS:
        columns = [rates(kind, runs, tries) for runs in SEEDS]
        for test, row in zip(
            ("bootstrap", "randomisation", "(plain bootstrap)"), zip(*columns, strict=True), strict=True
        ):
            print(f"| {kind} | {test} |", *(f"{rate:.1%} |" for rate in row), flush=True)


if __name__ == "__main__":
    main()
