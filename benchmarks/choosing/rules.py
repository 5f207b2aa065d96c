"""Which sentences of a lattice may be chosen: each rule says yes or no to one sentence.

In:   a Case: a sentence of a lattice, what is known of its example, and how likely a language model finds its words.
Out:  whether a rule keeps it.
Not:  the numbers behind the rules (measures.py), how good the rules are (evaluate.py).

All limits were set on the part `develop`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from benchmarks.choosing import measures as m
from benchmarks.choosing.corpus import Corpus, parts
from benchmarks.choosing.measures import Floats, Setting
from polyref.encode import ContextEncoder
from polyref.lattice import Lattice

MOST_COMMON = 0.6  # share of the examples from which on a word says nothing
MOST_AGAIN = 0.1  # share of the references with a word that say it again; above, a word may be repeated
FREQUENT = 150  # the other way to tell: the first words of a frequency table say nothing
SURPRISE_WEIGHT, MOST_SURPRISE = 0.5, 3.0
DROP_WEIGHT, MOST_DROP = 0.2, 15.0
PAIRS_WEIGHT, MOST_PAIRS = 0.5, 2.5
MOST_RISK = 1.75
MOST_RISK_COUNTS = 1.25  # without a language model

By = Literal["file", "table"]


@dataclass(frozen=True)
class Case:
    """One sentence. `drop` is None where no language model was asked."""

    setting: Setting
    words: tuple[str, ...]
    drop: float | None = None

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(part for word in self.words for part in parts(word))

    @cached_property
    def seam_counts(self) -> float:
        """What counts alone tell about the seams: odd frames, unseen runs, words that no reference brings together."""
        corpus = self.setting.corpus
        frames = min(m.odd_frames(self.setting, self.words) * corpus.frame_surprise, MOST_SURPRISE)
        runs = min(m.unseen(self.setting, self.words, 3) * corpus.run_surprise, MOST_SURPRISE)
        pairs = min(m.new_pairs(self.setting, self.counts), MOST_PAIRS)
        return SURPRISE_WEIGHT * (frames + runs) + PAIRS_WEIGHT * pairs

    @property
    def risk(self) -> float:
        return self.seam_counts + DROP_WEIGHT * min(self.drop or 0.0, MOST_DROP)


Rule = Callable[[Case], bool]


def setting_of(lattice: Lattice, corpus: Corpus, frequent: frozenset[str] | None = None) -> Setting:
    """What is known of an example. With `frequent`, those are the words that say nothing; else the file tells them."""
    references = tuple([tokens.words for tokens in lattice.tokens])
    words = {part for one in references for word in one for part in parts(word)}
    if frequent is None:
        content = [word for word in words if corpus.frequency[word] <= MOST_COMMON * corpus.examples]
        once = [word for word in words if corpus.said_again[word] <= MOST_AGAIN * corpus.said[word]]
    else:
        content = once = [word for word in words if word not in frequent]
    return Setting(references, linked_words(lattice), corpus, frozenset(content), frozenset(once))


def linked_words(lattice: Lattice) -> frozenset[frozenset[str]]:
    """Pairs of different words between the same two states."""
    between: dict[tuple[int, int], set[str]] = {}
    for arc in lattice.arcs:
        between.setdefault((arc.source, arc.target), set()).update(parts(arc.word))
    return frozenset(frozenset((a, b)) for words in between.values() for a in words for b in words if a < b)


def frequent_words(encoder: ContextEncoder) -> frozenset[str]:
    return frozenset(encoder._vocabulary.words[:FREQUENT])


def drops(
    encoder: ContextEncoder,
    references: Sequence[Sequence[str]],
    sentences: Sequence[Sequence[str]],
    places: Sequence[Sequence[tuple[int, int]]],
) -> list[float]:
    """The drop of each sentence of one example."""
    found: list[Floats] = encoder.log_probabilities([*references, *sentences])
    gold, own = found[: len(references)], found[len(references) :]
    return [m.drop(here, gold, origins) for here, origins in zip(own, places, strict=True)]


# -- the rules --------------------------------------------------------------------------------------------------------


def not_repeated(case: Case) -> bool:
    """No word more often than in the gold reference that says it most, but for those that people often repeat."""
    return m.repeated(case.setting, case.counts) == 0


def not_twice(case: Case) -> bool:
    """The same, where words of one stem, linked words and alternatives count as one."""
    return m.repeated_alike(case.setting, case.counts) <= 0


def no_alternatives(case: Case) -> bool:
    """No two words that people use one for the other, unless a gold reference has both."""
    return m.excluded(case.setting, case.counts) < m.ALTERNATIVES


def all_shared_words(case: Case) -> bool:
    """Every word that all gold references have."""
    return m.lost_exactly(case.setting, case.counts) == 0


def nothing_lost(case: Case) -> bool:
    """Everything that all gold references say, in whatever words."""
    return m.lost(case.setting, case.counts) == 0


def covers_enough(case: Case) -> bool:
    return m.shortfall(case.setting, case.counts) <= 0


def no_contrast(case: Case) -> bool:
    """No two numbers, colours or other contrasts, unless a gold reference has both."""
    return m.contradictions(case.setting, case.counts) == 0


def negated_as_gold(case: Case) -> bool:
    return m.negations(case.setting, case.words) == 0


def balanced(case: Case) -> bool:
    return not m.unbalanced(case.setting, case.words)


def new_without_marks(case: Case) -> bool:
    return not m.only_marks_differ(case.setting, case.words)


def runs_seen(case: Case, length: int = 3) -> bool:
    """No run of three words that nobody in the file has written."""
    return m.unseen(case.setting, case.words, length) == 0


def frames_seen(case: Case) -> bool:
    return m.odd_frames(case.setting, case.words) == 0


def pairs_seen(case: Case, most: float = 1.5) -> bool:
    return m.new_pairs(case.setting, case.counts) < most


def small_drop(case: Case, most: float = 8.0) -> bool:
    return (case.drop or 0.0) < most


def small_risk(case: Case) -> bool:
    """The seams by counts and language model together."""
    return case.risk <= MOST_RISK


def small_risk_by_counts(case: Case) -> bool:
    return case.seam_counts <= MOST_RISK_COUNTS


def every(rules: Sequence[Rule], case: Case) -> bool:
    return all(rule(case) for rule in rules)


CONTENT: tuple[Rule, ...] = (not_repeated, not_twice, all_shared_words, nothing_lost, covers_enough, negated_as_gold)
FORM: tuple[Rule, ...] = (balanced, new_without_marks)

RULES: dict[str, Rule] = {
    "everything": lambda case: True,
    "no word too often": not_repeated,
    "nothing twice": not_twice,
    "no alternatives together": no_alternatives,
    "all shared words": all_shared_words,
    "nothing lost": nothing_lost,
    "covers as much as gold": covers_enough,
    "no contrasts": no_contrast,
    "negated as gold": negated_as_gold,
    "balanced": balanced,
    "new without marks": new_without_marks,
    "runs of 3 seen": runs_seen,
    "runs of 4 seen": partial(runs_seen, length=4),
    "frames seen": frames_seen,
    "pairs seen": pairs_seen,
    "drop below 8": small_drop,
    "risk by counts": small_risk_by_counts,
    "risk": small_risk,
    "content": partial(every, CONTENT),
    "content, form": partial(every, (*CONTENT, *FORM)),
    "content, form, risk by counts": partial(every, (*CONTENT, *FORM, small_risk_by_counts)),
    "content, form, drop below 8": partial(every, (*CONTENT, *FORM, small_drop)),
    "content, form, risk": partial(every, (*CONTENT, *FORM, small_risk)),
}
CHOSEN = "content, form, risk"
