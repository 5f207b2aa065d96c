"""What each judge leaves of a data set.

In:   the folder with the data sets (POLYREF_DATA).
Out:  a table on the terminal: how many examples still get 20 references, how many pseudo-references say something
      twice, lose something or lack the name, and how much was left out by each cause.
Not:  whether people agree (evaluate.py).

    python -m benchmarks.choosing.left --examples 300
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

from benchmarks.choosing.items import examples_of
from benchmarks.table import Table
from polyref import AlignSettings, Example, ExpandSettings, TextSettings, expand
from polyref.expansion import usage_of
from polyref.judge import Judge, JudgeSettings
from polyref.stats import Tally
from polyref.text import tokenize

WANTED = 20  # references in all
SETS = {
    "COCO slice, 5 references": ("coco-val2017/slice1000.jsonl", None),
    "E2E dev, 2 references": ("e2e/dev.jsonl", 2),
    "E2E dev, all references": ("e2e/dev.jsonl", None),
    "E2E test, all references": ("e2e/test.jsonl", None),
}
COLUMNS = (
    f"examples with {WANTED}", "pseudo-references", "words: twice / lost", "slots: twice / lost / no name", "left out",
)  # fmt: skip
SLOT = re.compile(r"(\w[\w ]*)\[([^\]]*)\]")


def _cut(text: str) -> tuple[str, ...]:
    return tokenize(text, TextSettings()).words


def word_faults(example: Example) -> Counter[str]:
    """How many pseudo-references say a word more often than any gold one, or lack one that all have.

    Only words of four letters or more count, each as it is.
    """
    golds = [Counter(_cut(one.text)) for one in example.references]
    shared = set.intersection(*map(set, golds))
    faults: Counter[str] = Counter()
    for pseudo in example.pseudo_references:
        here = Counter(_cut(pseudo.text))
        faults["twice"] += any(count > max(g[w] for g in golds) for w, count in here.items() if len(w) > 3)
        faults["lost"] += any(word not in here for word in shared if len(word) > 3)
    return faults


def slot_faults(example: Example) -> Counter[str]:
    """The same by the slots of the input, which no judge sees; and how many lack the name that some gold one has.

    A value may be part of a word: "The Mill's" has the name, too.
    """
    slots = {name: _joined(value) for name, value in SLOT.findall(str(example.source))}
    golds = [_joined(one.text) for one in example.references]
    faults: Counter[str] = Counter()
    for pseudo in example.pseudo_references:
        text = _joined(pseudo.text)
        counts = {name: (text.count(value), [one.count(value) for one in golds]) for name, value in slots.items()}
        faults["twice"] += any(here > max(gold) for here, gold in counts.values())
        faults["lost"] += any(here == 0 and min(gold) > 0 for here, gold in counts.values())
        faults["name"] += "name" in counts and counts["name"][0] == 0 and max(counts["name"][1]) > 0
    return faults


def _joined(text: str) -> str:
    return " ".join(_cut(text))


def cells(expanded: Sequence[Example], tally: Tally) -> list[str]:
    words: Counter[str] = Counter()
    slots: Counter[str] = Counter()
    for example in expanded:
        words.update(word_faults(example))
        slots.update(slot_faults(example))
    total = max(tally.pseudo, 1)
    has_slots = any(SLOT.search(str(example.source)) for example in expanded)
    return [
        f"{1 - tally.short.total() / len(expanded):.1%}",
        f"{tally.pseudo:,}",
        " / ".join([f"{words[fault] / total:.1%}" for fault in ("twice", "lost")]),
        " / ".join([f"{slots[fault] / total:.1%}" for fault in ("twice", "lost", "name")]) if has_slots else "",
        ", ".join([f"{cause} {count:,}" for cause, count in sorted(tally.left_out.items())]),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.choosing.left", description=(__doc__ or "").splitlines()[0])
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    parser.add_argument("--examples", metavar="N", type=int, default=300, help="the first ones of each set")
    parser.add_argument("--set", choices=list(SETS), action="append", help="this one alone; also several")
    parser.add_argument("--judge", choices=get_args(Judge), action="append", help="this one alone; also several")
    parser.add_argument("--align", choices=("hard", "soft"), default="soft")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("set POLYREF_DATA to the folder with the data sets")
    rows = []
    for name in settings.set or SETS:
        path, given = SETS[name]
        usage = usage_of(examples_of(settings.data / path, given), TextSettings())
        examples = list(islice(examples_of(settings.data / path, given), settings.examples))
        for judge in settings.judge or get_args(Judge):
            how = ExpandSettings(WANTED, judging=JudgeSettings(judge), align=AlignSettings(align=settings.align))
            tally = Tally()
            expanded = list(expand(examples, settings=how, usage=usage, tally=tally))
            rows.append([f"{name}: {judge}", *cells(expanded, tally)])
    remark = "Left out: sentences, or beginnings of many sentences where the search sees that none of them can pass."
    title = f"What each judge leaves, {settings.align} alignment, at most {settings.examples} examples"
    print(Table(title, ["", *COLUMNS], rows, [remark]).markdown())


if __name__ == "__main__":
    main()
