"""How good the seams' risk is on items that did not choose its numbers.

In:   the folder with the data sets (POLYREF_DATA).
Out:  a table on the terminal: bad among the kept and good lost, where the numbers of the risk and its limit are picked
      anew without the items that are then judged: without a tenth of them, or without a whole data set.
Not:  the risk (polyref.judge.seams), the rules as they are (evaluate.py).

The numbers with the largest area under the curve of bad against good are picked, then the limit that loses no more than
a given share of the good. Which measures there are was decided with all items in view: no protocol undoes that.

    python -m benchmarks.choosing.nested
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks.choosing.corpus import Corpus
from benchmarks.choosing.evaluate import Bools, bad_kept, examples_of, good_lost
from benchmarks.choosing.items import SETS, Item, load_items
from benchmarks.choosing.rules import RULES, Case, setting_of
from benchmarks.choosing.sample import GIVEN
from benchmarks.table import Table
from polyref import Lattice
from polyref.align import AlignSettings
from polyref.encode import Reading, default_encoder
from polyref.judge import Usage, seams
from polyref.text import TextSettings, tokenize

LOST = (0.25, 0.27, 0.29)
REPEATED = 5
FOLDS = 10
Numbers = tuple[int, float, float]  # common words, the weight of others, that of the shift
GRID: list[Numbers] = list(product((20, 40, 60, 100, 150), (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 1.0, 2.0, 3.0, 5.0, 8.0)))
FIXED = (seams.COMMON_WORDS, seams.WEIGHT_OF_OTHERS, seams.SHIFT_WEIGHT)
Floats = npt.NDArray[np.float64]


class Remembering:
    """The built-in model; a sentence is read once."""

    def __init__(self) -> None:
        self.model = default_encoder()
        self.known: dict[tuple[str, ...], Reading] = {}

    def readings(self, sentences: Sequence[Sequence[str]]) -> list[Reading]:
        wanted = list(map(tuple, sentences))
        new = [one for one in dict.fromkeys(wanted) if one not in self.known]
        self.known.update(zip(new, self.model.readings(new), strict=True))
        return [self.known[one] for one in wanted]


def measured(items: Sequence[Item], data: Path) -> tuple[Bools, dict[Numbers, Floats]]:
    """Which items pass content and form; the risk of each for all numbers of the grid."""
    files = {name: examples_of(data / path, GIVEN.get(name)) for name, path in SETS.items()}
    corpora = {name: Corpus.of(examples) for name, examples in files.items()}
    lattices = [Lattice.from_references(one.references, align=AlignSettings(align=one.method)) for one in items]
    words = [tokenize(one.sentence, TextSettings()).words for one in items]
    cases = [
        Case(setting_of(lattice, corpora[one.set]), own)
        for one, lattice, own in zip(items, lattices, words, strict=True)
    ]
    passed = np.array([RULES["content, form"](case) for case in cases], np.bool_)
    model = Remembering()
    found: dict[Numbers, Floats] = {}
    for common, others, shift in GRID:
        with patch.multiple(seams, COMMON_WORDS=common, WEIGHT_OF_OTHERS=others, SHIFT_WEIGHT=shift):
            writings = {name: Usage.of(examples) for name, examples in files.items()}
            each = [
                seams.risks([lattice], [[own]], writings[one.set], model)[0][0]
                for one, lattice, own in zip(items, lattices, words, strict=True)
            ]
        found[common, others, shift] = np.array(each)
    return passed, found


def area(risk: Floats, bad: Bools, good: Bools) -> float:
    """How often a bad item has more risk than a good one."""
    above, below = risk[bad][:, None], risk[good][None]
    return float(((above > below) + 0.5 * (above == below)).mean())


def limit_for(risk: Floats, passed: Bools, good: Bools, lost: float) -> float:
    """The limit that loses at most this share of the good, those included that content and form lose."""
    kept = np.sort(risk[good & passed])
    return float(kept[max(len(kept) - 1 - max(int(lost * good.sum()) - int((good & ~passed).sum()), 0), 0)])


def by_tenths(items: Sequence[Item], seed: int) -> list[Bools]:
    """Ten parts with about as many items of each set and label."""
    generator, part = np.random.default_rng(seed), np.zeros(len(items), np.int64)
    groups = [(one.set, one.labels["settled"].label) for one in items]
    for group in dict.fromkeys(groups):
        rows = generator.permutation([n for n, of in enumerate(groups) if of == group])
        part[rows] = (np.arange(len(rows)) + generator.integers(FOLDS)) % FOLDS
    return [part == k for k in range(FOLDS)]


def by_set(items: Sequence[Item]) -> list[Bools]:
    return [np.array([one.set == name for one in items]) for name in SETS]


def judged(
    parts: Sequence[Bools], passed: Bools, found: dict[Numbers, Floats], bad: Bools, good: Bools, lost: float
) -> tuple[Bools, list[Numbers]]:
    """What is kept of each part, by what the others pick; and what they pick."""
    kept, picked = np.zeros(len(bad), np.bool_), []
    for part in parts:
        rest = ~part & passed
        best = max(found, key=lambda numbers: area(found[numbers], bad & rest, good & rest))
        limit = limit_for(found[best], passed & ~part, good & ~part, lost)
        kept |= part & passed & (found[best] <= limit)
        picked.append(best)
    return kept, picked


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.choosing.nested", description=(__doc__ or "").splitlines()[0]
    )
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("the references are looked up in the data sets; set POLYREF_DATA to their folder")
    items = load_items(settings.data)
    bad = np.array([one.labels["settled"].label == "bad" for one in items])
    good = np.array([one.labels["settled"].label == "good" for one in items])
    passed, found = measured(items, settings.data)
    rows = []
    for lost in LOST:
        for name, grid in (("all picked", found), ("limit picked", {FIXED: found[FIXED]})):
            for without, ways in (
                ("a tenth", [by_tenths(items, seed) for seed in range(REPEATED)]),
                ("a set", [by_set(items)]),
            ):
                each = [judged(parts, passed, grid, bad, good, lost) for parts in ways]
                scores = np.array([(bad_kept(kept, bad), good_lost(kept, good)) for kept, _ in each])
                often = Counter(numbers for _, picked in each for numbers in picked).most_common(1)[0][0]
                cells = [f"{of.mean():.1%} ({of.min():.1%} to {of.max():.1%})" for of in scores.T]
                rows.append([f"{name}, without {without}", f"{lost:.0%}", *cells, str(often)])
    columns = ["good lost, wanted", "bad among kept", "good lost", "picked most: common words, others' weight, shift"]
    print(Table(f"Numbers picked on other items than are judged ({len(items)})", ["", *columns], rows).markdown())


if __name__ == "__main__":
    main()
