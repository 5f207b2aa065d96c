"""The translator: meaning, not shapes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import WORDS, small_translator

from polyref.model.translator import TranslationBatch, Translator
from polyref.text.subwords import BOS, EOS

rows = st.lists(st.integers(3, WORDS - 1), max_size=6)
pairs = st.lists(st.tuples(rows, rows), min_size=1, max_size=5)
VARIANTS = [{}, {"input_feeding": True}, {"tied": True}, {"layers": 1}, {"input_feeding": True, "layers": 3}]


@pytest.fixture(scope="module", params=VARIANTS, ids=str)
def model(request: pytest.FixtureRequest) -> Translator:
    return small_translator(**request.param)


def loss_of(model: Translator, *given: tuple[list[int], list[int]]) -> tuple[float, int]:
    sources, targets = zip(*given, strict=True)
    with torch.no_grad():
        loss, tokens = model.loss(TranslationBatch.of(sources, targets))
    return float(loss), tokens


@given(pairs)
@settings(max_examples=10)
def test_a_sentence_costs_the_same_alone_and_beside_longer_ones(model: Translator, given_pairs):
    together, tokens = loss_of(model, *given_pairs)
    alone = [loss_of(model, pair) for pair in given_pairs]
    assert tokens == sum(count for _, count in alone) == sum(len(target) + 1 for _, target in given_pairs)
    assert together == pytest.approx(sum(loss for loss, _ in alone), rel=1e-5)


@given(rows, rows)
@settings(max_examples=10)
def test_the_loss_is_the_sum_of_what_single_steps_say(model: Translator, source, target):
    """Training goes over all steps at once, a search one by one: they must be the same model."""
    with torch.inference_mode():
        state = model.start(TranslationBatch.of([source]))
        total = 0.0
        for last, word in zip([BOS, *target], [*target, EOS], strict=True):
            log_probs, state = model.step(state, torch.tensor([[last]]))
            assert float(log_probs.exp().sum()) == pytest.approx(1)
            total -= float(log_probs[0, 0, word])
    assert total == pytest.approx(loss_of(model, (source, target))[0], rel=1e-4)


@pytest.mark.parametrize("place", [0, 3])
def test_what_is_said_first_depends_on_every_source_word(model: Translator, place: int):
    source = [3, 4, 5, 6]
    changed = [*source[:place], 9, *source[place + 1 :]]
    with torch.inference_mode():
        states = [model.start(TranslationBatch.of([row])) for row in (source, changed)]
        first = [model.step(state, torch.tensor([[BOS]]))[0] for state in states]
    assert float((first[0] - first[1]).abs().max()) > 1e-3


def test_a_prediction_depends_on_earlier_target_words_and_not_on_later_ones(model: Translator):
    def first_costs(target: list[int]) -> list[float]:
        state = model.start(TranslationBatch.of([[3, 4]]))
        found = []
        for last, word in zip([BOS, *target], target, strict=False):
            log_probs, state = model.step(state, torch.tensor([[last]]))
            found.append(float(log_probs[0, 0, word].detach()))
        return found

    assert first_costs([5, 6, 7])[:2] == pytest.approx(first_costs([5, 6, 8])[:2], abs=1e-6)
    assert first_costs([5, 6, 7])[2] != pytest.approx(first_costs([9, 6, 7])[2], abs=1e-4)


def test_all_weights_learn(model: Translator):
    loss, _ = model.loss(TranslationBatch.of([[3, 4, 5], [7]], [[5, 6], [8, 9, 10]]))
    model.zero_grad()
    loss.backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert float(weight.grad.abs().max()) > 0, name


def test_reordering_moves_whole_hypotheses(model: Translator):
    with torch.inference_mode():
        batch = TranslationBatch.of([[3, 4], [5, 6, 7]])
        state = model.start(batch)
        expanded = model.reorder(state, None, torch.tensor([0, 0, 1, 1]))
        _, expanded = model.step(expanded, torch.tensor([[3, 4], [5, 6]]))
        swapped = model.reorder(expanded, torch.tensor([1]), torch.tensor([3, 2]))
        left, _ = model.step(swapped, torch.tensor([[9, 8]]))
        right, _ = model.step(expanded, torch.tensor([[7, 7], [8, 9]]))
    assert torch.allclose(left[0, 0], right[1, 1], atol=1e-5)
    assert torch.allclose(left[0, 1], right[1, 0], atol=1e-5)


def test_dropout_and_smoothing_are_for_training_alone():
    plain, noisy = small_translator(), small_translator(dropout=0.5, label_smoothing=0.2)
    noisy.load_state_dict(plain.state_dict())
    pair = ([3, 4, 5], [6, 7])
    assert loss_of(noisy, pair)[0] == pytest.approx(loss_of(plain, pair)[0])
    noisy.train()
    assert loss_of(noisy, pair)[0] != pytest.approx(loss_of(noisy, pair)[0])


def test_label_smoothing_mixes_in_all_words_alike():
    model = small_translator(label_smoothing=0.25, words=5)
    with torch.inference_mode():
        state = model.start(TranslationBatch.of([[3]]))
        log_probs, _ = model.step(state, torch.tensor([[BOS]]))
        expected = -(0.75 * log_probs[0, 0, EOS] + 0.25 * log_probs.mean())
        smoothed, _ = model.train().loss(TranslationBatch.of([[3]], [[]]))
    assert float(smoothed) == pytest.approx(float(expected), rel=1e-5)


def test_tied_embeddings_are_one_table():
    apart, tied = small_translator(), small_translator(tied=True)
    table = WORDS * 12
    assert sum(weight.numel() for weight in apart.parameters()) - table == sum(
        weight.numel() for weight in tied.parameters()
    )
    assert set(tied.state_dict()) == {name for name, _ in tied.named_parameters()}
