"""Count: what a data set is like (the paper's Table 1, and how alike references are), and what happens during a run.

In:   examples, one after the other; for a run, one call per example and the time that each stage took.
Out:  summaries of plain values. The memory of `statistics` grows with the vocabulary, not with the examples (eight
      bytes per distinct reference).
Not:  printing them (cli/).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate, combinations
from time import perf_counter
from typing import Any, TypeVar

from polyref.data import SeenTexts
from polyref.example import JUDGEMENTS, Example, PseudoReference
from polyref.score.diversity import leave_one_out
from polyref.text import TextSettings, tokenize

Words = tuple[str, ...]
Number = TypeVar("Number", int, float)


def statistics(examples: Iterable[Example], text: TextSettings | None = None) -> dict[str, Any]:
    """The statistics of examples, as one object of plain values; None where there is nothing to take a mean of."""
    found = _Statistics(text or TextSettings())
    for example in examples:
        found.add(example)
    return found.summary()


@dataclass(slots=True)
class _Mean:
    total: float = 0.0
    number: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.number += 1

    def rounded(self, digits: int = 2) -> float | None:
        return round(self.total / self.number, digits) if self.number else None


class _Statistics:
    """Sums over examples; `summary` makes numbers of them."""

    def __init__(self, text: TextSettings):
        self._text = text
        self._counts: defaultdict[str, Counter[int]] = defaultdict(Counter)  # texts by their length, and such
        self._means: defaultdict[str, _Mean] = defaultdict(_Mean)
        self._vocabulary: Counter[str] = Counter()
        self._distinct = SeenTexts()
        self._identical = 0  # references that an earlier one of their example equals, word for word
        self._repeats = self._expanded = 0  # pseudo-references that repeat others; examples that have any

    def add(self, example: Example) -> None:
        counts, means = self._counts, self._means
        references = [tokenize(reference.text, self._text).words for reference in example.references]
        counts["per example"][len(references)] += 1
        for words in references:
            counts["references"][len(words)] += 1
            self._vocabulary.update(words)
            self._distinct.add("\n".join(words))
        self._identical += len(references) - len(set(references))
        if isinstance(example.source, str) and example.source != example.id:  # else it is the name of an image
            counts["sources"][len(tokenize(example.source, self._text))] += 1
        if len(references) > 1:
            scores = leave_one_out(references)
            means["overlap"].add(word_overlap(references))
            means["bleu"].add(sum(scores) / len(scores))
            means["bleu zero"].add(scores.count(0.0) / len(scores))
        self._expanded += bool(example.pseudo_references)
        for pseudo in example.pseudo_references:
            if pseudo.repeat:
                self._repeats += 1
                continue
            counts["pseudo"][len(tokenize(pseudo.text, self._text))] += 1
            means["pseudo bleu"].add(pseudo.bleu)
            for name in JUDGEMENTS:
                if (value := getattr(pseudo, name)) is not None:
                    means[name].add(value)

    def summary(self) -> dict[str, Any]:
        counts, means, each = self._counts, self._means, self._counts["per example"]
        examples, references, pseudo = each.total(), counts["references"].total(), counts["pseudo"].total()
        seen_once = sum(1 for count in self._vocabulary.values() if count == 1)
        return {
            "examples": examples,
            "references": references,
            "references_per_example": {
                "mean": _Mean(references, examples).rounded(),
                "least": min(each, default=None),
                "most": max(each, default=None),
                "examples_by_references": {str(count): each[count] for count in sorted(each)},
            },
            "distinct_references": len(self._distinct),
            "identical_references": self._identical,
            "tokens_per_reference": _lengths(counts["references"]),
            "vocabulary": {"words": len(self._vocabulary), "seen_once": seen_once},
            "tokens_per_source": _lengths(counts["sources"]) if counts["sources"] else None,
            "overlap": {
                "examples": means["overlap"].number,
                "word_overlap": means["overlap"].rounded(4),
                "bleu": means["bleu"].rounded(),
                "bleu_zero": means["bleu zero"].rounded(4),
            },
            "pseudo_references": {
                "pseudo_references": pseudo,
                "repeats": self._repeats,
                "examples": self._expanded,
                "per_example": _Mean(pseudo, examples).rounded(),
                "tokens_per_pseudo_reference": _lengths(counts["pseudo"]),
                "bleu": means["pseudo bleu"].rounded(),
                **{name: means[name].rounded(4) for name in JUDGEMENTS},
            }
            if pseudo
            else None,
        }


def _median(counts: Counter[Number]) -> float:
    """Of numbers, each of which comes so many times."""
    values, total = sorted(counts), counts.total()
    passed = list(accumulate(counts[value] for value in values))
    return sum(values[bisect_right(passed, place)] for place in ((total - 1) // 2, total // 2)) / 2


def _lengths(counts: Counter[int]) -> dict[str, Any]:
    """How many words texts have; `counts` has the number of texts of each length."""
    texts = counts.total()
    tokens = sum(length * count for length, count in counts.items())
    mean, halfway = _Mean(tokens, texts).rounded(), _median(counts) if texts else None
    return {"tokens": tokens, "mean": mean, "median": halfway, "longest": max(counts, default=None)}


def word_overlap(references: Sequence[Words]) -> float:
    """The words that two references share among all the words they have (Jaccard), 0 to 1; the mean over all pairs."""
    sets = [frozenset(words) for words in references]
    pairs = list(combinations(sets, 2))
    return sum(len(one & other) / max(1, len(one | other)) for one, other in pairs) / len(pairs)


# -- a run --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """Sums over the examples of a run. Two tallies can be added, so that workers can keep their own."""

    examples: int = 0
    gold: int = 0
    pseudo: int = 0
    repeats: int = 0
    short: Counter[str] = field(default_factory=Counter)  # examples with too few references, by the reason
    inexact: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # by cause: what was not good enough to be chosen
    bleu: float = 0.0
    largest: int = 0
    sentences: Counter[float] = field(default_factory=Counter)  # examples by the size of their lattice, in three digits
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def count(
        self, example: Example, pseudo: Sequence[PseudoReference], *, sentences: int, exact: bool, short: str | None
    ) -> None:
        self.examples += 1
        self.gold += len(example.references)
        new = [reference.bleu for reference in pseudo if not reference.repeat]
        self.pseudo += len(new)
        self.repeats += len(pseudo) - len(new)
        self.short.update([] if short is None else [short])
        self.inexact += not exact
        self.bleu += sum(new)
        self.largest = max(self.largest, sentences)
        self.sentences[float(f"{sentences:.2e}") if sentences < 10**308 else math.inf] += 1

    def spend(self, stage: str, started: float) -> None:
        """Book the time since `started` to a stage."""
        self.seconds[stage] += perf_counter() - started

    def add(self, other: Tally) -> None:
        for name in ("examples", "gold", "pseudo", "repeats", "inexact", "bleu"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.short.update(other.short)
        self.left_out.update(other.left_out)
        self.largest = max(self.largest, other.largest)
        self.sentences.update(other.sentences)
        for stage, seconds in other.seconds.items():
            self.seconds[stage] += seconds

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values, from which `of_json` makes it again."""
        sizes = {repr(size): number for size, number in self.sentences.items()}
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return found | {"largest": hex(self.largest), "sentences": sizes}  # decimals end at 4,300 digits

    @staticmethod
    def of_json(values: Mapping[str, Any]) -> Tally:
        found = Tally(**values)
        found.short, found.left_out = Counter(found.short), Counter(found.left_out)
        found.seconds = defaultdict(float, found.seconds)
        found.largest = int(values["largest"], 16)
        found.sentences = Counter({float(size): number for size, number in values["sentences"].items()})
        return found

    def summary(self) -> dict[str, Any]:
        """One object of plain values; whole numbers that may be large are texts."""
        middle = _median(self.sentences) if self.sentences else 0.0
        if math.isfinite(middle) and middle > self.largest:  # which three digits may be
            middle = float(self.largest)
        return {
            "examples": self.examples,
            "references_before": self.gold,
            "references_after": self.gold + self.pseudo + self.repeats,
            "fell_short": self.short.total(),
            "fell_short_why": dict(sorted(self.short.items())),
            "not_exact": self.inexact,
            "left_out": dict(sorted(self.left_out.items())),
            "sentences_median": _shown(middle),
            "sentences_largest": f"{self.largest}" if self.largest < 10**4000 else _shown(math.inf),
            "mean_bleu_kept": _Mean(self.bleu, self.pseudo).rounded(),
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
        }


def _shown(number: float) -> str:
    if math.isinf(number):
        return "over 1e308"
    if number >= 2**53:  # more digits than a float holds
        return f"{number:.2e}"
    return f"{int(number)}" if number == int(number) else f"{number}"
