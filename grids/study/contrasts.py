"""The differences that docs/results.md speaks of and no report of one grid has: of some seeds alone, or of two grids.

    python grids/study/contrasts.py results > contrasts.md

In:   the folder with the records of the study.
Out:  Markdown: differences of test scores with their intervals and p-values, and scores without the brevity penalty.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from polyref.experiment.layout import cell_name
from polyref.report.records import Records, read_records
from polyref.score.significance import Statistics, compare

ALL = range(1, 1000)
DIGITS = {"bleu": 2, "cider": 3}
# What it is, the cell and the one it is compared with (each grid/cell), and which seeds.
CONTRASTS: list[tuple[str, str, str, Collection[int]]] = [
    ("Flickr8k, all images, seeds 4 to 8, which decide", "flickr8k-full/judged", "flickr8k-full/gold", range(4, 9)),
    ("the same, seeds 1 to 3, before", "flickr8k-full/judged", "flickr8k-full/gold", range(1, 4)),
    ("the same, all seeds", "flickr8k-full/judged", "flickr8k-full/gold", ALL),
    ("E2E, all inputs", "e2e-full/judged", "e2e-full/gold", ALL),
    ("Flickr8k, 1,000 images, two captions", "flickr8k-techniques/judged", "flickr8k-techniques/gold", ALL),
    ("E2E, 1,000 inputs, by BLEU", "e2e-techniques/judged", "e2e-techniques/gold", ALL),
    ("the same, by CIDEr, seeds 6 to 20, which decide", "e2e-cider/judged", "e2e-cider/gold", range(6, 21)),
    ("the same, all seeds", "e2e-cider/judged", "e2e-cider/gold", ALL),
    ("E2E, 300 inputs", "e2e-300/judged", "e2e-300/gold", ALL),
    ("the same, judged and drawn at random", "e2e-300/judged", "e2e-300/control", ALL),
    ("English to French, two references", "tatoeba-techniques/judged", "tatoeba-techniques/gold", ALL),
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


def differences(results: Path) -> list[str]:
    rows = [
        "| | metric | seeds | difference | 95 % interval | p, bootstrap | p, randomisation |",
        "|---|---|---:|---:|---|---:|---:|",
    ]
    for title, one, other, seeds in CONTRASTS:
        for metric, digits in DIGITS.items():
            ours, theirs = (statistics(results, name, seeds, metric) for name in (one, other))
            if ours and theirs:
                found = compare(ours, theirs)
                low, middle, high = (f"{number:+.{digits}f}" for number in (found.low, found.difference, found.high))
                p_values = f"{found.p_bootstrap:.3f} | {found.p_randomisation:.3f}"
                count = f"{len(ours)}, {len(theirs)}" if len(ours) != len(theirs) else f"{len(ours)}"
                rows.append(f"| {title} | {metric} | {count} | {middle} | {low} to {high} | {p_values} |")
    return rows


def lengths(results: Path) -> list[str]:
    """BLEU with and without the brevity penalty."""
    rows = ["| cell | seeds | BLEU | brevity penalty | without it |", "|---|---:|---:|---:|---:|"]
    for name in dict.fromkeys(name for _, one, other, _ in CONTRASTS for name in (one, other)):
        found = statistics(results, name, ALL, "bleu")
        if not found:
            continue
        penalties = []
        for each in found:
            said, closest = each.rows.sum(axis=0)[:2]
            penalties.append(min(1.0, math.exp(1 - closest / said)))
        scores = [each.score() for each in found]
        free = list(np.array(scores) / penalties)
        texts = [spread(scores), f"{fmean(penalties):.3f}", spread(free)]
        rows.append(f"| {name} | {len(found)} | {' | '.join(texts)} |")
    return rows


def spread(scores: list[float]) -> str:
    return f"{fmean(scores):.2f}" + (f" ± {stdev(scores):.2f}" if len(scores) > 1 else "")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(
        "# Contrasts of the study\n\nTest scores; p-values are two-sided and not corrected for several comparisons.\n"
    )
    print("\n".join([*differences(place), "", *lengths(place)]))
