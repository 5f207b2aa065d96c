"""The count model of the benchmarks: distributions sum to 1, and agree with the equations written out."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from benchmarks.count_model import (
    CountModel,
    Discounted,
    Gaps,
    count_perplexity,
    fit,
    perplexity,
    split,
    tune,
    variants,
)
from polyref.encode.corpus import TrainingText

PREDICTED = 6
WORDS = [f"w{number}" for number in range(9)]  # the last three are the unknown word
PLACES = np.array(list(product(range(PREDICTED + 2), repeat=2))).T


def text_of(sentences: int, seed: int) -> TrainingText:
    """Sentences in which a word mostly follows from the one before it, modulo the vocabulary."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(sentences):
        sentence = [int(draw.integers(len(WORDS)))]
        while len(sentence) < 2 + sentences % 5 and draw.random() < 0.9:
            sentence.append((sentence[-1] + int(draw.choice([1, 2, 5], p=[0.7, 0.2, 0.1]))) % len(WORDS))
        made.append([WORDS[word] for word in sentence])
    return TrainingText.of(made, WORDS)


@pytest.fixture(scope="module")
def training() -> TrainingText:
    return text_of(999, seed=1)


@pytest.fixture(scope="module")
def model(training: TrainingText) -> CountModel:
    return fit(training, PREDICTED)


def test_a_gap_has_the_neighbours_of_its_word_and_boundaries_at_the_ends():
    gaps = Gaps.of(TrainingText.of([["w1", "w8", "w3"]], WORDS), PREDICTED)
    unknown, boundary = PREDICTED, PREDICTED + 1
    assert gaps.lefts.tolist() == [boundary, 1, unknown]
    assert gaps.words.tolist() == [1, unknown, 3]
    assert gaps.rights.tolist() == [unknown, 3, boundary]


@pytest.mark.parametrize("continuation", [True, False])
def test_every_distribution_sums_to_one_before_tuning(training: TrainingText, continuation: bool):
    untuned = CountModel.of(Gaps.of(training, PREDICTED), continuation=continuation)
    assert untuned.probabilities(*PLACES).sum(1) == pytest.approx(1, abs=1e-12)


def test_every_distribution_sums_to_one_after_tuning_whether_its_neighbours_were_seen_or_not(model: CountModel):
    found = model.probabilities(*PLACES)
    assert found.shape == (PLACES.shape[1], PREDICTED + 1)
    assert (found > 0).all()
    assert found.sum(1) == pytest.approx(1, abs=1e-12)


def test_every_distribution_sums_to_one_with_few_counts():
    few = CountModel.of(Gaps.of(text_of(3, seed=2), PREDICTED))
    assert few.probabilities(*PLACES).sum(1) == pytest.approx(1, abs=1e-12)


def test_discounting_agrees_with_its_equation_written_out():
    words = [0, 0, 0, 1, 1, 2, 0]
    contexts = [5, 5, 5, 5, 5, 5, 7]
    counted = Discounted.of(np.array(contexts), np.array(words), classes=4)
    lower = np.array([0.1, 0.2, 0.3, 0.4])
    pairs = Counter(zip(contexts, words, strict=True))
    for context in (5, 6, 7):
        total = contexts.count(context)
        discount = {0: 0.0, 1: 0.6, 2: 0.9, 3: 1.2}
        left_over = sum(discount[pairs[context, word]] for word in range(4)) / total if total else 1.0
        expected = [
            (pairs[context, word] - discount[pairs[context, word]]) / max(total, 1) + left_over * lower[word]
            for word in range(4)
        ]
        assert counted.rows(np.array([context]), lower)[0] == pytest.approx(expected)
        assert counted.at(np.full(4, context), np.arange(4), lower) == pytest.approx(expected)


def test_plain_exponents_give_left_times_right_over_the_word_alone(training: TrainingText):
    gaps = Gaps.of(training, PREDICTED)
    untuned = CountModel.of(gaps)
    left, right = (
        side.rows(neighbours, untuned.spread)
        for side, neighbours in ((untuned.left, gaps.lefts[:50]), (untuned.right, gaps.rights[:50]))
    )
    expected = left * right / untuned.word
    expected /= expected.sum(1, keepdims=True)
    first = Gaps(gaps.lefts[:50], gaps.words[:50], gaps.rights[:50], gaps.classes)
    found, _, _ = untuned.product(first, np.ones(50))
    assert found == pytest.approx(expected[np.arange(50), first.words])


def test_counts_below_the_top_are_of_distinct_surroundings():
    sentences = [["w0", "w1", "w2"], ["w0", "w1", "w2", "w3"], ["w0", "w1", "w4"]]
    model = CountModel.of(Gaps.of(TrainingText.of(sentences, WORDS), PREDICTED))
    follows_0 = model.left.counts[model.left.events == 0 * (PREDICTED + 1) + 1]
    assert follows_0.tolist() == [2]  # before w2 and before w4, however often


def test_the_slope_of_the_exponents_is_that_of_the_likelihood(training: TrainingText):
    gaps = Gaps.of(training, PREDICTED)
    model = CountModel.of(gaps)
    weights = np.random.default_rng(3).random(len(gaps.words))
    _, slopes, curvatures = model.product(gaps, weights)
    bucket = int(model.bucket(gaps.lefts[:1], gaps.rights[:1])[0])
    for expert in range(4):
        moved = []
        for step in (1e-5, -1e-5):
            exponents = model.exponents.copy()
            exponents[bucket, expert] += step
            other = CountModel(**{**vars(model), "exponents": exponents})
            found, other_slopes, _ = other.product(gaps, weights)
            moved.append((weights @ np.log(found), other_slopes[bucket]))
        assert (moved[0][0] - moved[1][0]) / 2e-5 == pytest.approx(slopes[bucket, expert], rel=1e-4, abs=1e-4)
        assert (moved[1][1] - moved[0][1]) / 2e-5 == pytest.approx(curvatures[bucket, expert], rel=1e-3, abs=1e-3)


def test_tuning_makes_the_part_it_is_tuned_on_likelier(training: TrainingText):
    rest, part = (Gaps.of(text, PREDICTED) for text in split(training))
    untuned = CountModel.of(rest)
    assert perplexity(tune(untuned, part).of_words(part)) < perplexity(untuned.of_words(part))


def test_the_text_is_cut_into_sentences_to_count_and_to_tune_on(training: TrainingText):
    rest, part = split(training, 0.2)
    assert rest.tokens + part.tokens == training.tokens
    assert 0.1 < part.tokens / training.tokens < 0.3


def test_too_few_sentences_are_told():
    with pytest.raises(ValueError, match="too few sentences"):
        split(text_of(2, seed=1))


def test_perplexity_is_that_of_the_whole_model_and_below_that_of_weaker_ones(training: TrainingText, model: CountModel):
    validation = text_of(204, seed=4)
    found = variants(training, validation, PREDICTED)
    whole = count_perplexity(training, validation, PREDICTED)
    assert whole == perplexity(model.of_words(Gaps.of(validation, PREDICTED)))
    assert whole == perplexity(found["together, over a product"])
    assert whole < perplexity(found["left neighbour"]) < perplexity(found["unigram"]) < PREDICTED + 1
