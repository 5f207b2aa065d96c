"""How varied the outputs of a system are.

In:   outputs, and the sentences of a training set if new ones are to be told.
Out:  distinct outputs and n-grams, self-BLEU, the share of new sentences.
Not:  how good they are (the metrics).

Self-BLEU compares each output with all others. Instead of a comparison for each pair, every n-gram keeps the two
largest counts that an output has of it: the limit for an output is the largest count of the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from polyref.errors import InputError
from polyref.score.sentence_bleu import MAX_ORDER, BleuScale, Matches
from polyref.score.tokens import Tokenizer, tokenizer

DISTINCT = 3  # orders of n-grams whose distinct ones are counted

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diversity:
    """`distinct` has distinct-1 to distinct-3, 0 to 1; `self_bleu` is from 0 to 100. None: nothing to count."""

    outputs: int
    distinct_outputs: int
    distinct: tuple[float | None, ...]
    self_bleu: float | None
    new: float | None = None  # the share of outputs that are not in the training set


def diversity(
    outputs: Sequence[str],
    *,
    training: Iterable[str] | None = None,
    tokenizer_name: Tokenizer = "ptb",
    fold_case: bool = False,
) -> Diversity:
    """Outputs are compared by their tokens."""
    if isinstance(outputs, str) or not len(outputs):
        raise InputError("there are no outputs", "give a list with at least one")
    cut = tokenizer(tokenizer_name, fold_case=fold_case)
    texts = [cut(output) for output in outputs]
    new = None
    if training is not None:
        known = set(map(cut, training))
        new = sum(text not in known for text in texts) / len(texts)
    sentences = [tuple(text.split()) for text in texts]
    distinct = tuple(_distinct(sentences, order) for order in range(1, DISTINCT + 1))
    return Diversity(len(texts), len(set(texts)), distinct, self_bleu(sentences), new)


def _distinct(sentences: Sequence[Words], order: int) -> float | None:
    found = Counter(chain.from_iterable(_ngrams(words, order) for words in sentences))
    return len(found) / found.total() if found else None


def _ngrams(words: Words, order: int) -> Iterable[Words]:
    return (words[start : start + order] for start in range(len(words) - order + 1))


def self_bleu(sentences: Sequence[Sequence[str]]) -> float | None:
    """The mean sentence BLEU of each sentence against all others; None if there are no others."""
    if len(sentences) < 2:
        return None
    total = 0.0
    for score in leave_one_out(sentences):  # sum() gives other last digits from Python 3.12 on
        total += score
    return total / len(sentences)


def leave_one_out(sentences: Sequence[Sequence[str]]) -> list[float]:
    """The sentence BLEU of each sentence against all the others, 0 to 100."""
    lengths = sorted(map(len, sentences))
    orders = range(1, MAX_ORDER + 1)
    counts = [Counter(chain.from_iterable([_ngrams(tuple(words), n) for n in orders])) for words in sentences]
    most: dict[Words, tuple[int, int]] = {}  # the two largest counts of each n-gram
    for gram, count in chain.from_iterable(one.items() for one in counts):
        first, second = most.get(gram, (0, 0))
        most[gram] = (count, first) if count > first else (first, max(second, count))
    scores = []
    for words, grams in zip(sentences, counts, strict=True):
        found = [0] * MAX_ORDER
        for gram, count in grams.items():
            first, second = most[gram]
            found[len(gram) - 1] += min(count, second if count == first else first)
        place = bisect_left(lengths, len(words))
        # The lengths of the others: only neighbours can be the closest one.
        others = lengths[max(0, place - 1) : place] + lengths[place + 1 : place + 2]
        scores.append(BleuScale(others).score(Matches(len(words), (found[0], found[1], found[2], found[3]))))
    return scores
