"""ROUGE-L: the longest common subsequence, and what is made of it."""

from __future__ import annotations

import pytest

from polyref.errors import InputError
from polyref.score import CaptionSettings, rouge_l
from polyref.score.rouge import BETA, common_lengths, rouge_l_score


@pytest.mark.parametrize(
    ("words", "other", "length"),
    [
        ("a b c d", "a b c d", 4),
        ("a b c d", "d c b a", 1),
        ("a b c d e", "a x c y e", 3),
        ("a a a", "a a", 2),
        ("a b a b", "b a b a", 3),
        ("a", "b", 0),
        ("x " * 70 + "y", "y " + "x " * 70, 70),  # more words than a machine word has bits
    ],
)
def test_longest_common_subsequence_of(words, other, length):
    assert common_lengths(words.split(), [other.split()]) == [length]
    assert common_lengths(other.split(), [words.split()]) == [length]


def test_precision_and_recall_are_weighed():
    precision, recall = 2 / 4, 2 / 3
    expected = (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)
    assert rouge_l_score(["a", "b", "x", "y"], [["a", "b", "c"]]) == pytest.approx(expected)
    assert rouge_l_score(["a", "b", "c"], [["a", "b", "x", "y"]]) != pytest.approx(expected)


def test_the_best_precision_and_the_best_recall_may_be_of_two_references():
    # Against the long one: precision 1, recall 1/2. Against the short one: precision 1/2, recall 1.
    assert rouge_l_score(["a", "b", "c", "d"], [["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b"]]) == pytest.approx(
        1
    )


def test_nothing_in_common_is_zero():
    assert rouge_l(["a b"], [["c d", "e"]]).score == 0
    assert rouge_l([""], [["a cat"]]).score == 0


def test_two_texts_without_tokens_are_the_same():
    assert rouge_l(["!"], [["?"]]).score == 1


def test_the_score_is_the_mean_of_the_scores():
    found = rouge_l(["a cat", "two dogs", "x"], [["a cat"], ["two cats", "dogs"], ["y"]])
    assert found.scores.tolist() == [1, pytest.approx((1 + BETA**2) * 0.5 / (1 + BETA**2 * 0.5)), 0]
    assert found.score == pytest.approx(found.scores.mean())


def test_the_signature_tells_what_the_score_depends_on():
    assert rouge_l(["a"], [["a", "b"]]).signature.startswith("nrefs:2|case:lc|tok:ptb|beta:1.2|version:polyref-")
    assert "|case:mixed|tok:none|" in rouge_l(["a"], [["a", "b"]], CaptionSettings("none")).signature


def test_references_the_other_way_round_are_noticed():
    with pytest.raises(InputError, match="the other way round"):
        rouge_l(["a", "b", "c"], [["a", "b", "c"], ["d", "e", "f"]])
