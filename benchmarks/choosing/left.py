"""What a rule leaves of an example's sentences, and how far down the order of BLEU one has to look.

In:   the folder with the data sets (POLYREF_DATA).
Out:  a table on the terminal: how many examples still get 20 references, how deep the last of them lies, and how many
      of the chosen say something twice, lose something or lack the name, with the rule and without it.
Not:  the rules (rules.py), how good they are (evaluate.py).

    python -m benchmarks.choosing.left --examples 300
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.choosing.corpus import Corpus
from benchmarks.choosing.evaluate import examples_of
from benchmarks.choosing.rules import CHOSEN, RULES, Case, Rule, setting_of
from benchmarks.table import Table
from polyref import Example, Lattice, read
from polyref.align import AlignSettings
from polyref.encode import ContextEncoder, default_encoder
from polyref.judge import Usage
from polyref.judge.seams import risks
from polyref.lattice import SearchSettings

WANTED = 20  # references in all
LOOKED_AT = 1000
TOGETHER = 64  # sentences that the language model reads at once
SETS = {
    "COCO slice, 5 references": ("coco-val2017/slice1000.jsonl", None),
    "E2E dev, 2 references": ("e2e/dev.jsonl", 2),
    "E2E dev, all references": ("e2e/dev.jsonl", None),
}
SLOT = re.compile(r"(\w[\w ]*)\[([^\]]*)\]")


@dataclass
class Left:
    """Of one example. `depth` is the place of the last chosen sentence; `judged` the number of sentences looked at."""

    wanted: int
    chosen: list[tuple[str, ...]]
    depth: int
    judged: int
    sentences: int
    source: str
    references: tuple[tuple[str, ...], ...]


def choose(
    lattice: Lattice,
    example: Example,
    corpus: Corpus,
    usage: Usage,
    rule: Rule | None,
    model: ContextEncoder | None,
    *,
    look_at: int = LOOKED_AT,
) -> Left:
    """The best sentences that pass; the model is asked only about those that pass without it."""
    setting = setting_of(lattice, corpus)
    wanted = max(0, WANTED - len(setting.references))
    found = lattice.search(look_at if rule else wanted, SearchSettings())
    waiting = enumerate(lattice.words(found), 1)
    chosen: list[tuple[str, ...]] = []
    depth = judged = 0
    while len(chosen) < wanted and (some := list(islice(waiting, TOGETHER))):
        judged += len(some)
        passed = [(n, words) for n, words in some if rule is None or rule(Case(setting, words))]
        if rule is not None and model is not None:
            [of_passed] = risks([lattice], [[words for _, words in passed]], usage, model)
            cases = zip(passed, of_passed, strict=True)
            passed = [one for one, risk in cases if rule(Case(setting, one[1], risk))]
        for n, words in passed[: wanted - len(chosen)]:
            chosen.append(words)
            depth = n
    return Left(wanted, chosen, depth, judged, lattice.new, str(example.source), setting.references)


# -- said twice, lost, nameless: by the slots of the input, which no rule has seen -------------------------------------


def slot_faults(left: Left) -> Counter[str]:
    """How many of the chosen say a slot's value more often than any gold reference, or lack one that all have."""
    slots = {name: value.casefold() for name, value in SLOT.findall(left.source)}
    golds = [f" {' '.join(one)} " for one in left.references]
    faults: Counter[str] = Counter()
    for words in left.chosen:
        text = f" {' '.join(words)} "
        counts = {name: (text.count(value), [one.count(value) for one in golds]) for name, value in slots.items()}
        faults["twice"] += any(here > max(gold) for here, gold in counts.values())
        faults["lost"] += any(here == 0 and min(gold) > 0 for here, gold in counts.values())
        faults["name"] += "name" in counts and counts["name"][0] == 0 and max(counts["name"][1]) > 0
    return faults


def word_faults(left: Left) -> Counter[str]:
    """The same by words of four letters or more, as they are."""
    golds = [Counter(one) for one in left.references]
    shared = set.intersection(*[set(one) for one in golds])
    faults: Counter[str] = Counter()
    for words in left.chosen:
        here = Counter(words)
        faults["twice"] += any(count > max(g[w] for g in golds) for w, count in here.items() if len(w) > 3)
        faults["lost"] += any(word not in here for word in shared if len(word) > 3)
    return faults


def row_of(name: str, rule: str, found: Sequence[Left], seconds: float) -> list[str]:
    full = [left for left in found if len(left.chosen) == left.wanted]
    depths = [left.depth for left in full] or [0]
    low = [left for left in found if len(left.chosen) < left.wanted]
    exhausted = sum(left.judged >= left.sentences for left in low)
    total = max(sum(len(left.chosen) for left in found), 1)
    words: Counter[str] = Counter()
    slots: Counter[str] = Counter()
    for left in found:
        words.update(word_faults(left))
        slots.update(slot_faults(left))
    return [
        f"{name}: {rule}",
        f"{len(full) / len(found):.1%}",
        f"{np.mean([len(left.references) + len(left.chosen) for left in found]):.1f}",
        f"{np.median(depths):.0f} / {np.percentile(depths, 90):.0f} / {max(depths)}",
        f"{exhausted} of {len(low)}",
        f"{words['twice'] / total:.1%} / {words['lost'] / total:.1%}",
        f"{slots['twice'] / total:.1%} / {slots['lost'] / total:.1%} / {slots['name'] / total:.1%}",
        f"{1000 * seconds / len(found):.0f} ms",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.choosing.left", description=(__doc__ or "").splitlines()[0])
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    parser.add_argument("--examples", metavar="N", type=int, default=300, help="the first so many of each set")
    parser.add_argument("--look-at", metavar="N", type=int, default=LOOKED_AT, help="sentences, best first by BLEU")
    parser.add_argument("--set", choices=list(SETS), action="append", help="this one alone")
    parser.add_argument("--align", choices=("hard", "soft"), default="soft")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("set POLYREF_DATA to the folder with the data sets")
    model, rows = default_encoder(), []
    chosen: dict[str, tuple[Rule | None, ContextEncoder | None]] = {
        "BLEU alone": (None, None),
        "content, form": (RULES["content, form"], None),
        CHOSEN: (RULES[CHOSEN], model),
    }
    for name in settings.set or SETS:
        path, given = SETS[name]
        counted = examples_of(settings.data / path, given)
        corpus, writing = Corpus.of(counted), Usage.of(counted)
        examples = list(islice(read(settings.data / path), settings.examples))
        made = AlignSettings(align=settings.align)
        lattices = [
            Lattice.from_references([one.text for one in example.references[:given]], align=made)
            for example in examples
        ]
        both = list(zip(lattices, examples, strict=True))
        for rule_name, tools in chosen.items():
            started = perf_counter()
            found = [choose(*pair, corpus, writing, *tools, look_at=settings.look_at) for pair in both]
            rows.append(row_of(name, rule_name, found, perf_counter() - started))
    columns = [
        f"examples with {WANTED}", "references", "depth (median / 90 % / most)", "lattice exhausted, of those short",
        "words: twice / lost", "slots: twice / lost / no name", "per example",
    ]  # fmt: skip
    title = f"The best {settings.look_at:,} by BLEU, {settings.align} alignment, {settings.examples} examples"
    print(Table(title, ["", *columns], rows).markdown())


if __name__ == "__main__":
    main()
