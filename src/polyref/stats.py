"""The statistics of a data set: the paper's Table 1, and how alike the references of an example are.

In:   examples, one after the other.
Out:  counts and means; memory grows with the vocabulary, not with the examples (eight bytes a distinct reference).
Not:  printing them (cli/stats.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from polyref.data import SeenTexts
from polyref.example import Example
from polyref.score import MAX_ORDER, BleuScale, Matches
from polyref.text import TextSettings, tokenize

Words = tuple[str, ...]


@dataclass(slots=True)
class Lengths:
    """How many words texts have."""

    counts: Counter[int] = field(default_factory=Counter)

    def add(self, length: int) -> None:
        self.counts[length] += 1

    def summary(self) -> dict[str, Any]:
        texts = self.counts.total()
        tokens = sum(length * count for length, count in self.counts.items())
        return {
            "tokens": tokens,
            "mean": _mean(tokens, texts),
            "median": _median(self.counts) if texts else None,
            "longest": max(self.counts, default=None),
        }


class Statistics:
    """Sums over examples; `summary` makes numbers of them."""

    def __init__(self, text: TextSettings | None = None):
        self.text = text or TextSettings()
        self.per_example: Counter[int] = Counter()
        self.lengths = Lengths()
        self.sources = Lengths()
        self.vocabulary: Counter[str] = Counter()
        self.identical = 0  # references that an earlier one of their example equals, word for word
        self.compared = 0  # examples with two references or more
        self.overlap = 0.0
        self.bleu = 0.0
        self.bleu_zero = 0.0
        self.pseudo = PseudoStatistics()
        self._distinct = SeenTexts()

    def add(self, example: Example) -> None:
        """Count one example."""
        references = [tokenize(reference.text, self.text).words for reference in example.references]
        self.per_example[len(references)] += 1
        for words in references:
            self.lengths.add(len(words))
            self.vocabulary.update(words)
            self._distinct.add("\n".join(words))
        self.identical += len(references) - len(set(references))
        if isinstance(example.source, str):
            self.sources.add(len(tokenize(example.source, self.text)))
        if len(references) > 1:
            self.compared += 1
            self.overlap += word_overlap(references)
            scores = leave_one_out(references)
            self.bleu += sum(scores) / len(scores)
            self.bleu_zero += scores.count(0.0) / len(scores)
        self.pseudo.add(example, self.text)

    def summary(self) -> dict[str, Any]:
        """One object of plain values; None where there is nothing to take a mean of."""
        examples = self.per_example.total()
        references = self.lengths.counts.total()
        found: dict[str, Any] = {
            "examples": examples,
            "references": references,
            "references_per_example": {
                "mean": _mean(references, examples),
                "least": min(self.per_example, default=None),
                "most": max(self.per_example, default=None),
                "examples_by_references": {str(count): self.per_example[count] for count in sorted(self.per_example)},
            },
            "distinct_references": len(self._distinct),
            "identical_references": self.identical,
            "tokens_per_reference": self.lengths.summary(),
            "vocabulary": {
                "words": len(self.vocabulary),
                "seen_once": sum(1 for count in self.vocabulary.values() if count == 1),
            },
            "tokens_per_source": self.sources.summary() if self.sources.counts else None,
            "overlap": {
                "examples": self.compared,
                "word_overlap": _mean(self.overlap, self.compared, digits=4),
                "bleu": _mean(self.bleu, self.compared),
                "bleu_zero": _mean(self.bleu_zero, self.compared, digits=4),
            },
            "pseudo_references": self.pseudo.summary(examples) if self.pseudo.lengths.counts else None,
        }
        return found


@dataclass(slots=True)
class PseudoStatistics:
    """The same of pseudo-references, as far as it makes sense for them."""

    lengths: Lengths = field(default_factory=Lengths)
    repeats: int = 0
    bleu: float = 0.0
    fluency: float = 0.0
    measured: int = 0  # those that have a fluency
    examples: int = 0  # those that have any

    def add(self, example: Example, text: TextSettings) -> None:
        self.examples += bool(example.pseudo_references)
        for pseudo in example.pseudo_references:
            if pseudo.repeat:
                self.repeats += 1
            else:
                self.lengths.add(len(tokenize(pseudo.text, text)))
                self.bleu += pseudo.bleu
                if pseudo.fluency is not None:
                    self.fluency += pseudo.fluency
                    self.measured += 1

    def summary(self, examples: int) -> dict[str, Any]:
        number = self.lengths.counts.total()
        return {
            "pseudo_references": number,
            "repeats": self.repeats,
            "examples": self.examples,
            "per_example": _mean(number, examples),
            "tokens_per_pseudo_reference": self.lengths.summary(),
            "bleu": _mean(self.bleu, number),
            "fluency": _mean(self.fluency, self.measured, digits=4),
        }


def statistics(examples: Iterable[Example], text: TextSettings | None = None) -> dict[str, Any]:
    """The statistics of examples, as one object of plain values."""
    found = Statistics(text)
    for example in examples:
        found.add(example)
    return found.summary()


def word_overlap(references: Sequence[Words]) -> float:
    """The words that two references share among all the words they have (Jaccard), 0 to 1; the mean over all pairs."""
    sets = [frozenset(words) for words in references]
    pairs = list(combinations(sets, 2))
    return sum(len(one & other) / max(1, len(one | other)) for one, other in pairs) / len(pairs)


def leave_one_out(references: Sequence[Words]) -> list[float]:
    """The sentence BLEU of each reference against all the others, 0 to 100."""
    counts = [_ngrams(words) for words in references]
    # For each n-gram the two highest counts, and whose the highest is: what the others of anyone have at most.
    highest: dict[Words, tuple[int, int, int]] = {}
    for owner, of_one in enumerate(counts):
        for ngram, count in of_one.items():
            first, whose, second = highest.get(ngram, (0, -1, 0))
            if count > first:
                highest[ngram] = (count, owner, first)
            elif count > second:
                highest[ngram] = (first, whose, count)
    scores = []
    for place, words in enumerate(references):
        matched = [0] * MAX_ORDER
        for ngram, count in counts[place].items():
            first, whose, second = highest[ngram]
            matched[len(ngram) - 1] += min(count, second if whose == place else first)
        matches = Matches(len(words), (matched[0], matched[1], matched[2], matched[3]))
        others = [len(other) for number, other in enumerate(references) if number != place]
        is_zero = not words or matches.order < MAX_ORDER
        scores.append(0.0 if is_zero else BleuScale(others).value(matches.length, matches.product()))
    return scores


def _ngrams(words: Words) -> Counter[Words]:
    return Counter(
        [words[start : start + order] for order in range(1, MAX_ORDER + 1) for start in range(len(words) - order + 1)]
    )


def _mean(total: float, number: int, *, digits: int = 2) -> float | None:
    return round(total / number, digits) if number else None


def _median(counts: Counter[int]) -> float:
    """The middle value, or the mean of the two in the middle."""
    number = counts.total()
    passed, low = 0, None
    for value in sorted(counts):
        passed += counts[value]
        if low is None and passed * 2 >= number:
            low = value
            if passed * 2 > number:
                return float(value)
        elif low is not None:
            return (low + value) / 2
    raise ValueError("there is nothing to take a median of")
