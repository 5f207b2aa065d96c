"""The differences that docs/results.md speaks of and no report of one grid has: of some seeds alone, or of two grids.

    python grids/study/contrasts.py results docs/report

In:   the folder with the records of the study.
Out:  contrasts.md: differences of test scores with their intervals and p-values, and scores without the brevity penalty;
      contrasts.svg: the primary contrasts.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from polyref.experiment.layout import cell_name
from polyref.report.records import Records, read_records
from polyref.score.significance import Comparison, Statistics, compare

ALL = range(1, 1000)
DIGITS = {"bleu": 2, "cider": 3}
Contrast = tuple[str, str, str, Collection[int]]  # what it is; the cell, and the one it is compared with; which seeds
# The judged choice and gold, in every setting; where seeds were named to decide, by these.
PRIMARY: list[Contrast] = [
    ("Flickr8k, 6,000 images, 5 captions", "flickr8k-full/judged", "flickr8k-full/gold", range(4, 9)),
    ("E2E, 4,862 inputs, 8.4 texts", "e2e-full/judged", "e2e-full/gold", ALL),
    ("Flickr8k, 1,000 images, 2 captions", "flickr8k-techniques/judged", "flickr8k-techniques/gold", ALL),
    ("E2E, 300 inputs, 2 texts", "e2e-300/judged", "e2e-300/gold", ALL),
    ("E2E, 1,000 inputs, 2 texts, by BLEU", "e2e-techniques/judged", "e2e-techniques/gold", ALL),
    ("the same, by CIDEr", "e2e-cider/judged", "e2e-cider/gold", range(6, 21)),
    ("the same, with a length reward", "e2e-reward/judged", "e2e-reward/gold", ALL),
    ("English to French, 2 translations", "tatoeba-techniques/judged", "tatoeba-techniques/gold", ALL),
]
OTHERS: list[Contrast] = [
    ("Flickr8k, 6,000 images, seeds 1 to 3", "flickr8k-full/judged", "flickr8k-full/gold", range(1, 4)),
    ("the same, all seeds", "flickr8k-full/judged", "flickr8k-full/gold", ALL),
    ("E2E, 1,000 inputs, by CIDEr, all seeds", "e2e-cider/judged", "e2e-cider/gold", ALL),
    ("E2E, 300 inputs: judged and drawn at random", "e2e-300/judged", "e2e-300/control", ALL),
    ("two stages, E2E", "e2e-two-stages/stages", "e2e-techniques/gold", ALL),
    ("two stages, English to French", "tatoeba-two-stages/stages", "tatoeba-techniques/gold", ALL),
    ("Flickr8k: Shuffle 20 and Shuffle 5", "flickr8k-table5/shuffle-20-soft", "flickr8k-table5/shuffle-5", ALL),
    ("Flickr8k: Sample One 10, soft, and 5", "flickr8k-table4/sample-one-10-soft", "flickr8k-table5/sample-one-5", ALL),
    ("Flickr8k: Sample One 20, hard, and 5", "flickr8k-table4/sample-one-20-hard", "flickr8k-table5/sample-one-5", ALL),
    ("Flickr8k: Shuffle 20, judged, and Shuffle 5", "flickr8k-remedies/judged", "flickr8k-table5/shuffle-5", ALL),
    ("the same, half gold", "flickr8k-remedies/share", "flickr8k-table5/shuffle-5", ALL),
    ("the same, soft targets", "flickr8k-remedies/soft", "flickr8k-table5/shuffle-5", ALL),
    ("Shuffle 5 with soft targets, and without", "flickr8k-remedies/soft-gold", "flickr8k-table5/shuffle-5", ALL),
    ("Shuffle 5 and Sample One 5 for as long", "flickr8k-table5/shuffle-5", "flickr8k-equal/sample-one-5", ALL),
    ("Sample One 5, 4,000 updates and 800", "flickr8k-equal/sample-one-5", "flickr8k-table5/sample-one-5", ALL),
    (
        "Sample One 20, soft, and 5, both for as long",
        "flickr8k-equal/sample-one-20-soft",
        "flickr8k-equal/sample-one-5",
        ALL,
    ),
    (
        "English to French, less pre-training: Uniform 50, soft, and 4",
        "tatoeba-small/uniform-50-soft",
        "tatoeba-small/uniform-4",
        ALL,
    ),
    ("the best remedy and Sample One 5", "flickr8k-remedies/share", "flickr8k-table5/sample-one-5", ALL),
]


@cache
def records_of(folder: Path) -> Records:
    return read_records(folder)


def statistics(results: Path, name: str, seeds: Collection[int], metric: str) -> list[Statistics]:
    """Of the tested runs of a grid/cell that have the metric, as far as there are any."""
    grid, cell = name.split("/")
    if not (results / grid).exists():
        return []
    runs = [run for run in records_of(results / grid).runs if cell_name(run.cell) == cell and run.seed in seeds]
    tests = [run.test.per_example for run in sorted(runs, key=lambda run: run.seed) if run.test is not None]
    return [test[metric] for test in tests if metric in test]


def found(results: Path, contrast: Contrast, metric: str, least: int = 1) -> tuple[str, Comparison] | None:
    """How many seeds, and what they come to; None before each side has the least number."""
    _, one, other, seeds = contrast
    ours, theirs = (statistics(results, name, seeds, metric) for name in (one, other))
    if min(len(ours), len(theirs)) < least:
        return None
    return f"{len(ours)}, {len(theirs)}" if len(ours) != len(theirs) else f"{len(ours)}", compare(ours, theirs)


def differences(results: Path) -> list[str]:
    rows = [
        "| | metric | seeds | difference | 95 % interval | p, bootstrap | p, randomisation |",
        "|---|---|---:|---:|---|---:|---:|",
    ]
    for contrast in PRIMARY + OTHERS:
        for metric, digits in DIGITS.items():
            if both := found(results, contrast, metric):
                count, one = both
                low, middle, high = (f"{number:+.{digits}f}" for number in (one.low, one.difference, one.high))
                p_values = f"{one.p_bootstrap:.3f} | {one.p_randomisation:.3f}"
                rows.append(f"| {contrast[0]} | {metric} | {count} | {middle} | {low} to {high} | {p_values} |")
    return rows


def draw(results: Path, output: Path) -> None:
    """The primary contrast of every setting, with its interval."""
    style = {"svg.hashsalt": "polyref", "font.family": ["DejaVu Sans"], "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(7.6, 0.38 * len(PRIMARY) + 0.75), layout="constrained")
        both = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        for axes, metric, title in zip(both, DIGITS, ("BLEU", "CIDEr"), strict=True):
            for place, contrast in enumerate(PRIMARY):
                if there := found(results, contrast, metric, least=3):
                    one = there[1]
                    ink = "#1a5fb4" if one.p_bootstrap < 0.05 else "#5c6370"
                    axes.plot([one.low, one.high], [place, place], color=ink, linewidth=1.6, solid_capstyle="butt")
                    axes.plot([one.difference], [place], "o", color=ink, markersize=5)
            axes.axvline(0, color="#9aa0a6", linewidth=0.8, zorder=0)
            axes.set_xlabel(f"{title}: judged minus gold")
            axes.locator_params(axis="x", nbins=6 if metric == "bleu" else 4)
            axes.tick_params(axis="y", length=0)
            for side in ("top", "right", "left"):
                axes.spines[side].set_visible(False)
        both[0].set_yticks(range(len(PRIMARY)), [contrast[0] for contrast in PRIMARY])
        both[0].invert_yaxis()
        figure.savefig(output, metadata={"Date": None})


def lengths(results: Path) -> list[str]:
    """BLEU with and without the brevity penalty."""
    rows = ["| cell | seeds | BLEU | brevity penalty | without it |", "|---|---:|---:|---:|---:|"]
    for name in dict.fromkeys(name for _, one, other, _ in PRIMARY + OTHERS for name in (one, other)):
        seen = statistics(results, name, ALL, "bleu")
        if not seen:
            continue
        penalties = []
        for each in seen:
            said, closest = each.rows.sum(axis=0)[:2]
            penalties.append(min(1.0, math.exp(1 - closest / said)))
        scores = [each.score() for each in seen]
        free = list(np.array(scores) / penalties)
        texts = [spread(scores), f"{fmean(penalties):.3f}", spread(free)]
        rows.append(f"| {name} | {len(seen)} | {' | '.join(texts)} |")
    return rows


def spread(scores: list[float]) -> str:
    return f"{fmean(scores):.2f}" + (f" ± {stdev(scores):.2f}" if len(scores) > 1 else "")


if __name__ == "__main__":
    results, folder = map(Path, sys.argv[1:3])
    head = (
        "# Contrasts of the study\n\nTest scores; p-values are two-sided and not corrected for several comparisons.\n"
    )
    lines = [head, *differences(results), "", *lengths(results)]
    (folder / "contrasts.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw(results, folder / "contrasts.svg")
