"""How good rules for choosing are, against pseudo-references that people judged.

In:   the folder with the data sets (POLYREF_DATA).
Out:  tables on the terminal: for each rule, how many of the kept are bad and how many good ones are lost.
Not:  the rules (rules.py), the items (items.py), what is left of an example's sentences (left.py), how the risk was
      fitted (nested.py).

    python -m benchmarks.choosing                   # all items
    python -m benchmarks.choosing --part develop    # or: test
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.choosing.corpus import Corpus, References
from benchmarks.choosing.items import CAUSES, SETS, Item, load_items
from benchmarks.choosing.rules import CHOSEN, RULES, By, Case, Rule, frequent_words, setting_of
from benchmarks.choosing.sample import GIVEN
from benchmarks.table import Table
from polyref import Lattice, read
from polyref.align import AlignSettings
from polyref.encode import default_encoder
from polyref.judge import Usage
from polyref.judge.seams import risks
from polyref.text import TextSettings, tokenize

DRAWS = 2000
Bools = npt.NDArray[np.bool_]


def examples_of(path: Path, given: int | None = None) -> list[References]:
    """The references of a whole file as words; of each example, the first ones."""
    return [[tokenize(one.text, TextSettings()).words for one in example.references[:given]] for example in read(path)]


def cases_of(items: Sequence[Item], data: Path, by: By) -> list[Case]:
    encoder = default_encoder()
    frequent = frequent_words(encoder) if by == "table" else None
    files = {name: examples_of(data / SETS[name], GIVEN.get(name)) for name in dict.fromkeys(i.set for i in items)}
    corpora = {name: Corpus.of(examples) for name, examples in files.items()}
    writings = {name: Usage.of(examples) for name, examples in files.items()}
    cases = []
    for item in items:
        lattice = Lattice.from_references(item.references, align=AlignSettings(align=item.method))
        words = tokenize(item.sentence, TextSettings()).words
        [[risk]] = risks([lattice], [[words]], writings[item.set], encoder)
        cases.append(Case(setting_of(lattice, corpora[item.set], frequent), words, risk))
    return cases


# -- scores -----------------------------------------------------------------------------------------------------------


def bad_kept(kept: Bools, bad: Bools) -> float:
    return float(bad[kept].mean()) if kept.any() else 0.0


def good_lost(kept: Bools, good: Bools) -> float:
    return float((~kept)[good].mean()) if good.any() else 0.0


def interval(score: Callable[[Bools, Bools], float], kept: Bools, which: Bools, seed: int = 1) -> tuple[float, float]:
    """95 % of what the score is on items drawn again."""
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(kept), (DRAWS, len(kept)))
    low, high = np.percentile([score(kept[rows], which[rows]) for rows in drawn], [2.5, 97.5])
    return float(low), float(high)


def _cells(kept: Bools, bad: Bools, good: Bools) -> list[str]:
    cells = [f"{kept.sum()} of {len(kept)}"]
    for score, which in ((bad_kept, bad), (good_lost, good)):
        low, high = interval(score, kept, which)
        cells.append(f"{score(kept, which):.1%} ({low:.0%} to {high:.0%})")
    return cells


def tables(items: Sequence[Item], cases: Sequence[Case], rules: dict[str, Rule], chosen: str) -> list[Table]:
    labels = [item.labels["settled"] for item in items]
    bad = np.array([label.label == "bad" for label in labels])
    good = np.array([label.label == "good" for label in labels])
    kept = {name: np.array([rule(case) for case in cases], np.bool_) for name, rule in rules.items()}
    columns = ["kept", "bad among kept (95 %)", "good lost (95 %)"]
    rows = [[name, *_cells(keep, bad, good)] for name, keep in kept.items()]
    by_group = []
    for group in dict.fromkeys([*[item.set for item in items], *sorted(item.method for item in items)]):
        inside = np.array([group in (item.set, item.method) for item in items])
        before = f"{bad[inside].mean():.1%}"
        by_group.append([group, before, *_cells(kept[chosen][inside], bad[inside], good[inside])])
    by_cause = []
    for cause in CAUSES:
        of_cause = bad & np.array([cause in label.causes for label in labels])
        if of_cause.any():
            left = (of_cause & kept[chosen]).sum()
            by_cause.append([cause, str(of_cause.sum()), str(left), f"{left / kept[chosen].sum():.1%}"])
    return [
        Table(f"Each rule on {len(items)} items", ["", *columns], rows),
        Table(f"{chosen}: by set and method", ["", "bad before", *columns], by_group),
        Table(f"{chosen}: bad items by cause", ["", "before", "kept", "of the kept"], by_cause),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.choosing", description=(__doc__ or "").splitlines()[0])
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    parser.add_argument("--part", choices=("develop", "test"), help="this part alone")
    parser.add_argument("--by", choices=("file", "table"), default="file", help="what tells content words")
    parser.add_argument("--rule", choices=list(RULES), help="this rule alone")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("the references are looked up in the data sets; set POLYREF_DATA to their folder")
    items = [item for item in load_items(Path(settings.data)) if settings.part in (None, item.part)]
    chosen = settings.rule or CHOSEN
    rules = {chosen: RULES[chosen]} if settings.rule else RULES
    cases = cases_of(items, Path(settings.data), settings.by)
    print("\n\n".join(table.markdown() for table in tables(items, cases, rules, chosen)))
