"""How varied outputs are: counts that a reader can check by hand, and self-BLEU against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyref.errors import InputError
from polyref.score import sentence_bleu
from polyref.score.diversity import diversity, leave_one_out, self_bleu

WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def test_counts_are_those_of_tokens():
    found = diversity(["A dog runs.", "a dog runs", "two dogs"])
    assert (found.outputs, found.distinct_outputs) == (3, 2)
    assert found.distinct == pytest.approx((5 / 8, 3 / 5, 1 / 2))
    assert found.new is None


def test_the_tokenizer_decides_what_is_the_same():
    assert diversity(["A dog", "a dog"], tokenizer_name="none").distinct_outputs == 2
    assert diversity(["A dog", "a dog"], tokenizer_name="none", fold_case=True).distinct_outputs == 1


def test_new_outputs_are_not_in_the_training_set():
    found = diversity(["a dog runs", "a cat runs", "a dog runs"], training=["A dog runs.", "two dogs"])
    assert found.new == pytest.approx(1 / 3)


def test_the_same_output_again_and_again_has_the_highest_self_bleu():
    assert diversity(["a dog runs along"] * 5).self_bleu == pytest.approx(100)
    assert diversity(["a dog runs along", "two cats sleep here"]).self_bleu == 0


@settings(max_examples=150)
@given(st.lists(WORDS, min_size=2, max_size=7))
def test_self_bleu_is_that_of_each_against_all_others(sentences):
    each = [sentence_bleu(one, [*sentences[:k], *sentences[k + 1 :]]) for k, one in enumerate(sentences)]
    assert leave_one_out(sentences) == pytest.approx(each)
    assert self_bleu(sentences) == pytest.approx(sum(each) / len(each))


def test_what_cannot_be_counted_is_none():
    found = diversity(["dog"])
    assert found.self_bleu is None
    assert found.distinct == (1.0, None, None)


@pytest.mark.parametrize("outputs", [[], "a text"])
def test_no_outputs_are_refused(outputs):
    with pytest.raises(InputError, match="there are no outputs"):
        diversity(outputs)
