"""What words of unrelated sentences have in common."""

import numpy as np
import pytest

from polyref.align import AlignSettings
from polyref.encode import WordVectors, measure_baseline, unrelated_sentences
from polyref.errors import SettingsError
from polyref.lattice import Lattice

SENTENCES = 40
# Sentence n holds three words of one direction: even ones the first, odd ones the second.
WORDS = [[f"w{sentence}{letter}" for letter in "abc"] for sentence in range(SENTENCES)]


def table(words: list[str], vectors: np.ndarray) -> WordVectors:
    return WordVectors(words, vectors)


def two_directions(cosine: float) -> WordVectors:
    directions = np.array([[1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)]])
    words = [word for sentence in WORDS for word in sentence]
    return table(words, directions[np.repeat(np.arange(SENTENCES) % 2, 3)])


@pytest.mark.parametrize(
    ("cosine", "expected"),
    # Of the 39 other sentences, 19 are of the same direction.
    [(0.0, 19 / 39), (1.0, 1.0), (-1.0, (19 - 20) / 39), (0.6, (19 + 20 * 0.6) / 39)],
)
def test_the_baseline_is_the_mean_cosine_of_words_of_different_sentences(cosine, expected):
    assert measure_baseline(two_directions(cosine), WORDS) == pytest.approx(expected, abs=2e-4)


def test_words_of_the_same_sentence_do_not_count():
    words = [word for sentence in WORDS for word in sentence]
    each_its_own = table(words, np.repeat(np.eye(SENTENCES), 3, axis=0))
    assert measure_baseline(each_its_own, WORDS) == 0.0


def test_unknown_words_do_not_count():
    with_strangers = [[*sentence, "stranger"] for sentence in WORDS]
    assert measure_baseline(two_directions(0.0), with_strangers) == measure_baseline(two_directions(0.0), WORDS)


def test_the_baseline_has_four_digits():
    baseline = measure_baseline(two_directions(0.3), WORDS)
    assert baseline == round(baseline, 4)


def test_a_table_measures_its_baseline_on_the_text_of_the_package():
    words = sorted({word for sentence in unrelated_sentences() for word in sentence})
    encoder = table(words, np.random.default_rng(1).normal(size=(len(words), 8)) + 1.0)
    assert encoder.baseline == measure_baseline(encoder, unrelated_sentences())
    assert 0.3 < encoder.baseline < 0.7


def test_a_table_that_knows_too_few_words_has_no_baseline():
    with pytest.raises(SettingsError, match=r"knows too few words of the sample text.*set similarity to cosine"):
        _ = table(["zebra"], np.ones((1, 2))).baseline


def test_a_table_without_any_contrast_is_refused_where_it_would_be_rescaled():
    words = sorted({word for sentence in unrelated_sentences() for word in sentence})
    encoder = table(words, np.ones((len(words), 3)))
    with pytest.raises(SettingsError, match="baseline"):
        Lattice.from_references(["a cat", "the cat"], align=AlignSettings("soft"), encoder=encoder, engine="plain")


def test_the_sample_text_has_many_sentences_of_several_words():
    sentences = unrelated_sentences()
    assert len(sentences) == len(set(sentences)) > 50
    assert all(len(sentence) > 3 for sentence in sentences)
