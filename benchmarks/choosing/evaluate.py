"""How good polyref's judges are, against pseudo-references that people judged.

In:   the folder with the data sets (POLYREF_DATA).
Out:  tables on the terminal: for each rule, how many of the kept are bad and how many good ones are lost.
Not:  the judges (polyref.judge), the items (items.py), what is left of an example's sentences (left.py).

    python -m benchmarks.choosing                 # each part, then all
    python -m benchmarks.choosing --part fresh    # this part alone; may be given several times

A rule is a function of a Case that says whether to keep it. To score one of your own:

    from benchmarks.choosing.evaluate import load_cases, score
    cases = load_cases("FOLDER WITH THE DATA SETS")
    print(score("Mine", {"short": lambda case: len(case.words) < 12}, cases).markdown())
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.choosing.items import CAUSES, GIVEN, SETS, Item, Label, examples_of, load_items
from benchmarks.table import Table
from polyref import AlignSettings, Lattice, TextSettings
from polyref.encode import default_encoder
from polyref.expansion import usage_of
from polyref.judge import explain, rules_of
from polyref.judge.seams import LIMIT, risks
from polyref.lattice import CAUSES as CAUSES_OF_RULES
from polyref.lattice import Rules
from polyref.lattice.plain.rules import LOST, SAME, TWICE
from polyref.text import tokenize

DRAWS = 2000
LIMITS = (3.0, 3.5, 4.0, 4.25, 4.5, 5.0, 6.0)
CHOSEN_BEFORE = "default"  # this part was drawn from what `content` had left: it tells nothing about other rules
COLUMNS = ("kept", "bad among kept (95 %)", "good lost (95 %)")
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Case:
    """An item with what polyref knows of it: its lattice and rules, its words, the risk of its seams."""

    item: Item
    lattice: Lattice
    words: tuple[str, ...]
    risk: float

    @property
    def label(self) -> Label:
        return self.item.labels["settled"]

    @cached_property
    def why(self) -> str | None:
        """Why `content` leaves it out, in words; None if it does not."""
        return explain(self.lattice, self.words)

    @cached_property
    def causes(self) -> frozenset[str]:
        """Every cause for which `content` leaves it out; the search stops at the first."""
        numbers = {word: number for number, word in enumerate(self.lattice.numbering.vocabulary)}
        said = [numbers[word] for word in self.words]
        rules = self.lattice.rules or Rules((), ())
        found = {SAME} if rules.core(said) in set(map(rules.core, self.lattice.numbering.references)) else set()
        for rule in rules.rules:
            if Rules((rule,), rules.same).broken(said):
                found.add(LOST if rule.cause == TWICE and rule.holds(said) < rule.least else rule.cause)
        return frozenset([CAUSES_OF_RULES[cause] for cause in found])


Rule = Callable[[Case], bool]


def without(cause: str) -> Rule:
    return lambda case: cause not in case.causes


def content(case: Case) -> bool:
    return case.why is None


def seams(limit: float) -> Rule:
    return lambda case: case.why is None and case.risk <= limit


RULES: dict[str, Rule] = {
    "everything": lambda case: True,
    **{f"not {cause}": without(cause) for cause in CAUSES_OF_RULES},
    "content": content,
    "seams": seams(LIMIT),
    **{f"seams, limit {limit:g}": seams(limit) for limit in LIMITS if limit != LIMIT},
}


def load_cases(data: Path | str, parts: Sequence[str] = ()) -> list[Case]:
    """The items of these parts that people have read, as polyref sees them; of all parts without any."""
    items = [item for item in load_items(Path(data), parts) if "settled" in item.labels]
    cases: list[Case] = []
    for name in dict.fromkeys(item.set for item in items):
        own = [item for item in items if item.set == name]
        usage = usage_of(examples_of(Path(data) / SETS[name], GIVEN.get(name)), TextSettings())
        lattices = [Lattice.from_references(one.references, align=AlignSettings(align=one.method)) for one in own]
        words = [tokenize(one.sentence, TextSettings()).words for one in own]
        risky = risks(lattices, [[one] for one in words], usage, default_encoder())
        for lattice in lattices:
            lattice.rules = rules_of(lattice, usage)
        cases += map(Case, own, lattices, words, [risk for [risk] in risky])
    return cases


# -- scores -----------------------------------------------------------------------------------------------------------


def bad_kept(kept: Bools, bad: Bools) -> float:
    return float(bad[kept].mean()) if kept.any() else 0.0


def good_lost(kept: Bools, good: Bools) -> float:
    return float((~kept)[good].mean()) if good.any() else 0.0


def interval(measure: Callable[[Bools, Bools], float], kept: Bools, which: Bools) -> tuple[float, float]:
    """95 % of what the measure is on items drawn again."""
    drawn = np.random.default_rng(1).integers(0, len(kept), (DRAWS, len(kept)))
    low, high = np.percentile([measure(kept[rows], which[rows]) for rows in drawn], [2.5, 97.5])
    return float(low), float(high)


def cells(rule: Rule, cases: Sequence[Case]) -> list[str]:
    """How many cases a rule keeps, the bad among them, and the good among the others."""
    kept, bad, good = (
        np.array([test(case) for case in cases], np.bool_)
        for test in (rule, lambda case: case.label.label == "bad", lambda case: case.label.label == "good")
    )
    found = [f"{kept.sum()} of {len(kept)}"]
    for measure, which in ((bad_kept, bad), (good_lost, good)):
        low, high = interval(measure, kept, which)
        found.append(f"{measure(kept, which):.1%} ({low:.0%} to {high:.0%})")
    return found


def score(title: str, rules: dict[str, Rule], cases: Sequence[Case]) -> Table:
    """Each rule on the same cases."""
    return Table(title, ["", *COLUMNS], [[name, *cells(rule, cases)] for name, rule in rules.items()])


def by_group(name: str, rule: Rule, cases: Sequence[Case]) -> Table:
    """One rule on the cases of each set and of each method."""
    rows = []
    for group in dict.fromkeys([*[case.item.set for case in cases], *sorted(case.item.method for case in cases)]):
        own = [case for case in cases if group in (case.item.set, case.item.method)]
        before = sum(case.label.label == "bad" for case in own) / len(own)
        rows.append([group, f"{before:.1%}", *cells(rule, own)])
    return Table(f"{name}: by set and method", ["", "bad before", *COLUMNS], rows)


def by_cause(rules: dict[str, Rule], cases: Sequence[Case]) -> Table:
    """How many bad ones of each cause the rules keep; one may have several causes."""
    bad = [case for case in cases if case.label.label == "bad"]
    kept = [[case for case in bad if rule(case)] for rule in rules.values()]
    counts = [[str(sum(cause in case.label.causes for case in some)) for some in kept] for cause in CAUSES]
    rows = [[cause, *row] for cause, row in zip(CAUSES, counts, strict=True)]
    return Table("Bad ones kept, by cause", ["", *rules], [*rows, ["all", *[str(len(some)) for some in kept]]])


def tables(cases: Sequence[Case]) -> list[Table]:
    """All rules on each part and on all; then polyref's judges by set, by method and by cause."""
    parts = list(dict.fromkeys(case.item.part for case in cases))
    found = [score(f"Part {part}", RULES, [case for case in cases if case.item.part == part]) for part in parts]
    if len(parts) > 1:
        cases = [case for case in cases if case.item.part != CHOSEN_BEFORE]
        named = ", ".join([part for part in parts if part != CHOSEN_BEFORE])
        found.append(score(f"All that BLEU alone has drawn: {named}", RULES, cases))
    judges = {name: RULES[name] for name in ("content", "seams")}
    found += [by_group(name, rule, cases) for name, rule in judges.items()]
    return [*found, by_cause({"everything": RULES["everything"], **judges}, cases)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.choosing", description=(__doc__ or "").splitlines()[0])
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    parser.add_argument("--part", metavar="NAME", action="append", default=[], help="this part alone; also several")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("the references are looked up in the data sets; set POLYREF_DATA to their folder")
    cases = load_cases(settings.data, settings.part)
    if not cases:
        parser.error("there are no items with labels of such a part")
    print("\n\n".join(table.markdown() for table in tables(cases)))
