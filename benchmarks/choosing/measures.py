"""What a sentence of a lattice looks like beside the references that it was made from.

In:   a Setting: the words of the references, which of them the lattice links, the Corpus; the words of the sentence.
Out:  numbers about content and form; the more, the worse. 0 or less is what gold references have.
Not:  counting a file (corpus.py), what is too much (rules.py), the seams (polyref.judge.seams).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

from benchmarks.choosing.corpus import Corpus, parts
from polyref.align.veto import exclusions, traits_of
from polyref.text.tokens import is_mark

BRACKETS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»"}
STEM = 4  # letters that words of one stem share at least
ENDING = 3  # letters that they differ in at most
ALTERNATIVES = 1.0  # exclusion from which on two words say the same, or cannot be said together
LIFT = 1.2


@dataclass(frozen=True)
class Setting:
    """What is known of an example before its sentences are judged.

    `linked` are the pairs of different words that soft alignment takes for the same.
    """

    references: tuple[tuple[str, ...], ...]
    linked: frozenset[frozenset[str]]
    corpus: Corpus
    content: frozenset[str]  # words of the references that say something
    once: frozenset[str]  # words that people hardly ever say twice in one reference

    @cached_property
    def counts(self) -> list[Counter[str]]:
        return [Counter(part for word in one for part in parts(word)) for one in self.references]

    @cached_property
    def most(self) -> Counter[str]:
        """How often the gold reference that says a word most says it."""
        most: Counter[str] = Counter()
        for one in self.counts:
            most |= one
        return most

    def exclusion(self, a: str, b: str) -> float:
        holding = [sum(a in one for one in self.counts), sum(b in one for one in self.counts)]
        return self.corpus.exclusion(a, b, holding[0] * holding[1] / len(self.counts))

    def same(self, a: str, b: str) -> bool:
        """Whether two words count as one: equal, of one stem, linked, or alternatives in the whole file."""
        return (
            a == b
            or frozenset((a, b)) in self.linked
            or one_stem(a, b)
            or (self.corpus.lift(a, b) >= LIFT and self.exclusion(a, b) >= ALTERNATIVES)
        )

    @cached_property
    def group(self) -> dict[str, list[str]]:
        """For each word of the references, those that count as the same."""
        return {a: [b for b in self.most if self.same(a, b)] for a in self.most}

    def alike(self, word: str, counts: Counter[str]) -> int:
        """How often a word is said, by itself or by words that count as the same."""
        return sum([counts[other] for other in self.group[word]])

    @cached_property
    def most_alike(self) -> dict[str, int]:
        """How often the gold reference that says a word most says it, or what counts as the same."""
        return {word: max(self.alike(word, one) for one in self.counts) for word in self.once}

    @cached_property
    def required(self) -> list[str]:
        """Content words that every gold reference says, in these or other words."""
        return [word for word in sorted(self.content) if all(self.alike(word, one) for one in self.counts)]

    @cached_property
    def shared(self) -> frozenset[str]:
        """Words of any kind that every gold reference has."""
        return frozenset.intersection(*[frozenset(one) for one in self.counts])

    @cached_property
    def weights(self) -> dict[str, float]:
        """The content words that most gold references say, in these or other words, and how many of them do."""
        return _weights(self, self.counts)

    @cached_property
    def least(self) -> float:
        """What the gold reference that covers least covers of what the others say."""
        shares = []
        for k, one in enumerate(self.counts):
            others = self.counts[:k] + self.counts[k + 1 :]
            shares.append(_covered(self, one, _weights(self, others)))
        return min(shares)


def one_stem(a: str, b: str) -> bool:
    if len(a) > len(b):
        a, b = b, a
    shared = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    return shared >= STEM and len(b) - shared <= ENDING


# -- content ----------------------------------------------------------------------------------------------------------


def repeated(setting: Setting, counts: Counter[str]) -> int:
    """Words more often than in any gold reference, but for those that people often repeat."""
    return sum(max(0, count - setting.most[w]) for w, count in counts.items() if w in setting.once)


def repeated_alike(setting: Setting, counts: Counter[str]) -> int:
    """The same with words that count as one."""
    once = counts.keys() & setting.once
    return max([setting.alike(word, counts) - setting.most_alike[word] for word in once], default=0)


def excluded(setting: Setting, counts: Counter[str], content_only: bool = True) -> float:
    """The strongest exclusion of two words of the sentence that no gold reference has both of."""
    words = sorted(set(counts) & setting.content if content_only else counts)
    worst = 0.0
    for a, b in combinations(words, 2):
        if not any(a in one and b in one for one in setting.counts):
            worst = max(worst, setting.exclusion(a, b))
    return worst


def lost(setting: Setting, counts: Counter[str]) -> int:
    return sum(not setting.alike(word, counts) for word in setting.required)


def lost_exactly(setting: Setting, counts: Counter[str]) -> int:
    """Words of any kind that every gold reference has, and the sentence has not."""
    return len(setting.shared - counts.keys())


def shortfall(setting: Setting, counts: Counter[str]) -> float:
    """How much less is covered than by the gold reference that covers least, each judged by the others."""
    return setting.least - _covered(setting, counts, setting.weights) if len(setting.counts) > 1 else 0.0


def _weights(setting: Setting, golds: Sequence[Counter[str]]) -> dict[str, float]:
    words = sorted({word for one in golds for word in one if word in setting.content})
    weight = {word: sum(setting.alike(word, one) > 0 for one in golds) / len(golds) for word in words}
    return {word: value for word, value in weight.items() if value > 0.5}


def _covered(setting: Setting, counts: Counter[str], weights: dict[str, float]) -> float:
    total = sum(weights.values())
    return sum(v for word, v in weights.items() if setting.alike(word, counts)) / total if total else 1.0


def contradictions(setting: Setting, counts: Counter[str]) -> int:
    """Pairs of words that exclude each other (numbers, contrasts), where no gold reference has both."""
    words = sorted(counts)
    table = excludes(tuple(words))
    return sum(
        table[i][j] and not any(words[i] in one and words[j] in one for one in setting.counts)
        for i, j in combinations(range(len(words)), 2)
    )


def excludes(words: Sequence[str]) -> list[list[bool]]:
    numbers = range(len(words))
    found: list[list[bool]] = exclusions(words, ("numbers", "contrasts")).between(numbers, numbers).tolist()
    return found


def negations(setting: Setting, words: Sequence[str]) -> int:
    """How many more, or fewer, negations than any gold reference has."""
    golds = [sum(map(negates, one)) for one in setting.references]
    said = sum(map(negates, words))
    return max(said - max(golds), min(golds) - said, 0)


@lru_cache(maxsize=1 << 16)
def negates(word: str) -> bool:
    return any(traits_of(part, ("negation",))[0] == "not" for part in (word, *parts(word)))


# -- form -------------------------------------------------------------------------------------------------------------


def unbalanced(setting: Setting, words: Sequence[str]) -> bool:
    """Quotes or brackets left open, as no reference leaves them."""
    golds = [open_marks(one) for one in setting.references]
    return any(left not in {one[k] for one in golds} for k, left in enumerate(open_marks(words)))


def open_marks(words: Sequence[str]) -> tuple[int, ...]:
    counts = Counter(words)
    pairs = [counts[left] - counts[right] for left, right in BRACKETS.items()]
    return (*pairs, counts['"'] % 2)


def bare(words: Sequence[str]) -> tuple[str, ...]:
    return tuple([word for word in words if not is_mark(word)])


def only_marks_differ(setting: Setting, words: Sequence[str]) -> bool:
    return bare(words) in {bare(one) for one in setting.references}
