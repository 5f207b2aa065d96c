"""Which sentences of a lattice may be chosen: each rule says yes or no to one sentence.

In:   a Case: a sentence of a lattice, what is known of its example, and the risk of its seams.
Out:  whether a rule keeps it.
Not:  the numbers behind the rules (measures.py, polyref.judge.seams), how good the rules are (evaluate.py).

The limits of content and form were set on the part `develop`, that of the seams on both parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from benchmarks.choosing import measures as m
from benchmarks.choosing.corpus import Corpus, parts
from benchmarks.choosing.measures import Setting
from polyref.encode import ContextEncoder
from polyref.judge.seams import LIMIT
from polyref.lattice import Lattice

MOST_COMMON = 0.6  # share of the examples from which on a word says nothing
MOST_AGAIN = 0.1  # share of the references with a word that say it again; above, a word may be repeated
FREQUENT = 150  # the other way to tell: the first words of a frequency table say nothing

By = Literal["file", "table"]


@dataclass(frozen=True)
class Case:
    """One sentence. `risk` is None where no language model was asked."""

    setting: Setting
    words: tuple[str, ...]
    risk: float | None = None

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(part for word in self.words for part in parts(word))


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


def small_risk(case: Case) -> bool:
    """The seams hold. Without a language model, nobody knows."""
    return case.risk is None or case.risk <= LIMIT


def every(rules: Sequence[Rule], case: Case) -> bool:
    return all(rule(case) for rule in rules)


CONTENT: tuple[Rule, ...] = (not_repeated, not_twice, all_shared_words, nothing_lost, negated_as_gold)
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
    "seams": small_risk,
    "content": partial(every, CONTENT),
    "content, form": partial(every, (*CONTENT, *FORM)),
    "content, form, seams": partial(every, (*CONTENT, *FORM, small_risk)),
}
CHOSEN = "content, form, seams"
