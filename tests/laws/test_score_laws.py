"""What holds for the scores of every corpus."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from polyref.score import BleuSettings, CaptionSettings, cider, corpus_bleu, rouge_l

BLEU = BleuSettings("none")
CAPTIONS = CaptionSettings("none")

TEXT = st.lists(st.sampled_from("abcd"), min_size=1, max_size=8).map(" ".join)
EXAMPLE = st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=4))
CORPUS = st.lists(EXAMPLE, min_size=1, max_size=5)
FEWER = settings(max_examples=60)  # sacreBLEU is slow to start
Corpus = list[tuple[str, list[str]]]


def scores(corpus: Corpus) -> tuple[float, float, float]:
    hypotheses, references = [hypothesis for hypothesis, _ in corpus], [texts for _, texts in corpus]
    return (
        corpus_bleu(hypotheses, references, BLEU).score,
        cider(hypotheses, references, CAPTIONS).score,
        rouge_l(hypotheses, references, CAPTIONS).score,
    )


@FEWER
@given(CORPUS)
def test_scores_stay_on_their_scales(corpus: Corpus):
    bleu, consensus, rouge = scores(corpus)
    assert 0 <= bleu <= 100 + 1e-9
    assert 0 <= consensus <= 10 + 1e-9
    assert 0 <= rouge <= 1 + 1e-9


@FEWER
@given(CORPUS, st.randoms(use_true_random=False))
def test_the_order_of_references_does_not_matter(corpus: Corpus, generator: random.Random):
    shuffled = [(hypothesis, generator.sample(texts, len(texts))) for hypothesis, texts in corpus]
    assert scores(shuffled) == pytest.approx(scores(corpus), abs=1e-9)


@FEWER
@given(CORPUS, st.randoms(use_true_random=False))
def test_the_order_of_examples_does_not_matter(corpus: Corpus, generator: random.Random):
    assert scores(generator.sample(corpus, len(corpus))) == pytest.approx(scores(corpus), abs=1e-9)


@FEWER
@given(CORPUS)
def test_a_reference_against_itself_has_the_best_bleu_and_rouge(corpus: Corpus):
    perfect = [(texts[-1], texts) for _, texts in corpus]
    bleu, _, rouge = scores(perfect)
    assert rouge == pytest.approx(1)
    assume(any(len(hypothesis.split()) >= 4 for hypothesis, _ in perfect))
    assert bleu == pytest.approx(100)


@FEWER
@given(st.lists(TEXT, min_size=2, max_size=5, unique=True))
def test_only_references_against_themselves_have_the_best_cider_an_order_can_give(texts: list[str]):
    found = cider(texts, [[text] for text in texts], CAPTIONS).scores
    for text, score in zip(texts, found, strict=True):
        words = text.split()
        # An order counts if the text has an n-gram of it that not all texts have.
        orders = 0
        for n in range(1, 5):
            ngrams = [{tuple(t.split()[k : k + n]) for k in range(len(t.split()) - n + 1)} for t in texts]
            own = {tuple(words[k : k + n]) for k in range(len(words) - n + 1)}
            orders += bool(own - set.intersection(*ngrams))
        assert score == pytest.approx(10 * orders / 4)


@FEWER
@given(CORPUS, TEXT)
def test_one_more_reference_never_lowers_matches_nor_rouge(corpus: Corpus, more: str):
    hypotheses, references = [hypothesis for hypothesis, _ in corpus], [texts for _, texts in corpus]
    added = [[*texts, more] for texts in references]
    before, after = (corpus_bleu(hypotheses, given, BLEU).counts[:, 2:6] for given in (references, added))
    assert (after >= before).all()
    before, after = (rouge_l(hypotheses, given, CAPTIONS).scores for given in (references, added))
    assert (after >= before - 1e-12).all()
