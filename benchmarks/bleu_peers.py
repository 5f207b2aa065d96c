"""Sentence BLEU in five ways: the scores of many sentences against the references of one example.

In:   a Case: the same sentences as token arrays, as lists of words and as texts.
Out:  a list of scores, 0 to 100.
Not:  taking the time (bleu.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from nltk.translate.bleu_score import sentence_bleu
from sacrebleu.metrics import BLEU

from polyref.score import BleuScale, Matches, NgramTrie
from polyref.score.kernels import build_trie, match_sentences

ORDERS = np.arange(4)
SACREBLEU = BLEU(smooth_method="none", tokenize="none", effective_order=True)


@dataclass(frozen=True)
class Arrays:
    """Sentences behind each other as numbers: sentence k is words[starts[k]:starts[k + 1]]."""

    words: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> Arrays:
        starts = np.cumsum([0, *map(len, sentences)])
        return cls(np.array([word for sentence in sentences for word in sentence], np.int32), starts)


@dataclass(frozen=True)
class Case:
    """One example: its references and some sentences, in the form that each peer wants."""

    references: list[list[str]]
    sentences: list[list[str]]
    numbered_references: list[list[int]]
    numbered_sentences: list[list[int]]
    reference_arrays: Arrays
    sentence_arrays: Arrays
    reference_texts: list[str]
    sentence_texts: list[str]
    vocabulary: int

    @classmethod
    def of(cls, references: list[list[str]], sentences: list[list[str]]) -> Case:
        numbers: dict[str, int] = {}
        numbered = [[numbers.setdefault(word, len(numbers)) for word in words] for words in references]
        numbered_sentences = [[numbers[word] for word in sentence] for sentence in sentences]
        return cls(
            references,
            sentences,
            numbered,
            numbered_sentences,
            Arrays.of(numbered),
            Arrays.of(numbered_sentences),
            [" ".join(words) for words in references],
            [" ".join(words) for words in sentences],
            len(numbers),
        )

    def first(self, sentences: int) -> Case:
        return Case.of(self.references, self.sentences[:sentences])


def polyref_compiled(case: Case) -> list[float]:
    references, sentences = case.reference_arrays, case.sentence_arrays
    trie, root = build_trie(references.words, references.starts, case.vocabulary)
    matches = match_sentences(trie, root, sentences.words, sentences.starts)
    return _scores(matches, np.diff(sentences.starts), np.unique(np.diff(references.starts))).tolist()


def _scores(matches: np.ndarray, lengths: np.ndarray, reference_lengths: np.ndarray) -> np.ndarray:
    """The scores of all sentences at once; each has four words or more."""
    distances = np.abs(reference_lengths - lengths[:, None])
    closest = reference_lengths[distances.argmin(axis=1)]  # the first of equals: the shorter one
    totals = lengths[:, None] - ORDERS
    precisions = (matches / totals).prod(axis=1)
    return 100.0 * np.exp(np.minimum(0.0, 1.0 - closest / lengths)) * np.sqrt(np.sqrt(precisions))


def polyref_plain(case: Case) -> list[float]:
    trie = NgramTrie(case.numbered_references)
    scale = BleuScale(map(len, case.references))
    found = (Matches(len(sentence), trie.matches(sentence)) for sentence in case.numbered_sentences)
    return [scale.value(one.length, one.product()) if one.order == 4 else 0.0 for one in found]


def sacrebleu_scores(case: Case) -> list[float]:
    references = case.reference_texts
    return [SACREBLEU.sentence_score(text, references).score for text in case.sentence_texts]


def nltk_scores(case: Case) -> list[float]:
    return [100.0 * sentence_bleu(case.references, sentence) for sentence in case.sentences]


def counters(case: Case) -> list[float]:
    """Plain Python: the references' n-grams are counted once for all sentences."""
    limits: dict[tuple[str, ...], int] = {}
    for reference in case.references:
        for ngram, count in Counter(_ngrams(reference)).items():
            if count > limits.get(ngram, 0):
                limits[ngram] = count
    lengths = sorted(map(len, case.references))
    return [_score_by_counters(sentence, limits, lengths) for sentence in case.sentences]


def _score_by_counters(sentence: list[str], limits: dict[tuple[str, ...], int], reference_lengths: list[int]) -> float:
    found = [0, 0, 0, 0]
    for ngram, count in Counter(_ngrams(sentence)).items():
        limit = limits.get(ngram)
        if limit:
            found[len(ngram) - 1] += count if count < limit else limit
    if not found[3]:
        return 0.0
    length = len(sentence)
    closest = min(reference_lengths, key=lambda other: abs(other - length))
    precisions = math.prod(found) / (length * (length - 1) * (length - 2) * (length - 3))
    return 100.0 * math.exp(min(0.0, 1.0 - closest / length)) * precisions**0.25


def _ngrams(words: list[str]) -> Iterator[tuple[str, ...]]:
    for order in range(1, 5):
        yield from zip(*(words[start:] for start in range(order)), strict=False)
