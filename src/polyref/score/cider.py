"""CIDEr against any number of references, as pycocoevalcap computes it.

In:   hypotheses, and the references of each.
Out:  the score of each hypothesis and their mean, on pycocoevalcap's scale: a hypothesis that is its only reference
      scores 10; published ones lie around 1 (and are often written times 100).
Not:  tokens (tokens.py).

A sentence is a vector for each order n from 1 to 4: for each n-gram its count times log(N / examples with a reference
that has it). Two are compared by their cosine, with counts above the reference's clipped to them, times a Gaussian of
the difference of their lengths. The means are taken over orders and references, times 10. Vedantam, Zitnick and Parikh
(CVPR 2015) call this CIDEr-D; pycocoevalcap calls it CIDEr.

The weights come from the references of the examples that are scored: a score depends on all of them, and that of one
example alone is 0, because a word that is in every example weighs nothing.

All n-grams of an order are sorted once, over the whole corpus, and all else is sums along that array: only the words
are numbered one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.score.metric import CaptionSettings, MeanScore, Metric, Tokens, mean_score
from polyref.score.sentence_bleu import MAX_ORDER

SIGMA = 6.0  # the width of the Gaussian, in words
SCALE = 10.0

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]


def cider(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], settings: CaptionSettings | None = None
) -> MeanScore:
    """CIDEr of all hypotheses together; references[k] are those of hypotheses[k]. An empty hypothesis scores 0."""
    return mean_score(cider_scores, hypotheses, references, settings, n=MAX_ORDER, sigma=SIGMA)


CIDER = Metric("CIDEr", "0 to 10", cider, aliases=("cider-d",))


def cider_scores(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Real:
    """The score of each hypothesis."""
    corpus = _Corpus(hypotheses, references)
    total = np.zeros(len(corpus.lengths))
    words = np.arange(len(corpus.words))  # where an n-gram begins
    gram = np.zeros(len(words), np.int64)  # the number of the n-gram of the order before that begins there
    for order in range(1, MAX_ORDER + 1):
        fits = corpus.to_the_end[words] >= order
        words, gram = words[fits], gram[fits]
        key = gram * corpus.vocabulary + corpus.words[words + order - 1]
        ngrams, gram = _ngrams(key, corpus.sentence[words])
        total += _cosines(ngrams, corpus)
    apart = corpus.lengths - corpus.lengths[corpus.hypothesis[corpus.example]]
    total *= np.exp(-(apart**2) / (2 * SIGMA**2)) / MAX_ORDER
    total[corpus.hypothesis] = 0  # of each with itself
    return SCALE * np.bincount(corpus.example, total, len(hypotheses)) / corpus.references


class _Corpus:
    """All sentences behind each other: of each example its hypothesis, then its references."""

    def __init__(self, hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]):
        texts = [text for one, others in zip(hypotheses, references, strict=True) for text in (one, *others)]
        self.lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        words = map(numbers.__getitem__, chain.from_iterable(texts))
        self.words = np.fromiter(words, np.int64, int(self.lengths.sum()))
        self.vocabulary = len(numbers)
        # Of each word: its sentence, and how many are left in that, with itself.
        self.sentence = np.repeat(np.arange(len(texts)), self.lengths)
        self.to_the_end = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(len(self.words))
        # Of each example: the number of its references, and which sentence is its hypothesis; of each sentence: whose.
        self.references = np.fromiter(map(len, references), np.int64, len(references))
        sizes = self.references + 1
        self.hypothesis = np.cumsum(sizes) - sizes
        self.example = np.repeat(np.arange(len(sizes)), sizes)


class _Ngrams(NamedTuple):
    """The distinct n-grams of each sentence, sorted by n-gram and then by sentence."""

    gram: Whole  # numbered from 0
    sentence: Whole
    times: Whole  # how often the sentence has it


def _ngrams(key: Whole, sentence: Whole) -> tuple[_Ngrams, Whole]:
    """The n-grams of one order, and the number of each where it stands.

    `key` tells n-grams apart. `sentence` ascends, so sorting by key and place puts the sentences of an n-gram in order.
    """
    order = _sorted_places(key)
    key, sentence = key[order], sentence[order]
    is_new = _changes(key)
    gram = np.cumsum(is_new) - 1
    first = np.flatnonzero(is_new | _changes(sentence))
    where_it_stands = np.empty_like(gram)
    where_it_stands[order] = gram
    return _Ngrams(gram[first], sentence[first], np.diff(first, append=len(key))), where_it_stands


def _cosines(ngrams: _Ngrams, corpus: _Corpus) -> Real:
    """The clipped cosine of each sentence with the hypothesis of its example."""
    example = corpus.example[ngrams.sentence]
    # A run: the sentences of one example that have an n-gram; where the hypothesis has it, it comes first.
    is_first = _changes(ngrams.gram) | _changes(example)
    first = np.flatnonzero(is_first)
    has_hypothesis = ngrams.sentence[first] == corpus.hypothesis[example[first]]
    has_reference = ~has_hypothesis | (np.diff(first, append=len(is_first)) > 1)
    documents = np.bincount(ngrams.gram[first], has_reference)
    weight = np.log(len(corpus.hypothesis)) - np.log(np.maximum(documents, 1))
    value = ngrams.times * weight[ngrams.gram]
    of_hypothesis = np.where(has_hypothesis, value[first], 0.0)[np.cumsum(is_first) - 1]
    sentences = len(corpus.lengths)
    shared = np.bincount(ngrams.sentence, np.minimum(of_hypothesis, value) * value, sentences)
    norm = np.sqrt(np.bincount(ngrams.sentence, value**2, sentences))
    norms = norm * norm[corpus.hypothesis[corpus.example]]
    cosine: Real = np.divide(shared, norms, out=np.zeros(sentences), where=norms > 0)
    return cosine


def _changes(values: Whole) -> npt.NDArray[np.bool_]:
    """Where a value differs from the one before it; the first one does."""
    changes = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _sorted_places(key: Whole) -> Whole:
    """The places of the keys in ascending order, equal ones as they stand."""
    bits = len(key).bit_length()
    if int(key.max(initial=0)) >> (62 - bits):
        return np.argsort(key, kind="stable")
    # Key and place in one number: sorting those takes a fifth of the time.
    return np.sort(key << bits | np.arange(len(key))) & ((1 << bits) - 1)
