"""Beam search: what it finds, against trying everything; what it keeps; when it stops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import small_captioner, small_translator
from table_model import FIRST, Tables, all_sentences, exhaustive, judged, score_of

from polyref.errors import PolyrefError, SettingsError
from polyref.model.beam import best_places, search
from polyref.model.captioner import CaptionBatch
from polyref.model.settings import BeamSettings
from polyref.model.translator import TranslationBatch
from polyref.text.subwords import EOS

WAYS = [
    {"scoring": "plain"},
    {"scoring": "normalised"},
    {"scoring": "normalised", "power": 0.6},
    {"scoring": "rewarded", "reward": 1.5, "bound": 1.3},
    {"scoring": "rewarded", "reward": 4.0, "bound": 0.4},
]
ways = st.sampled_from(WAYS)
seeds = st.lists(st.integers(0, 10_000), min_size=1, max_size=4)
models = st.builds(
    Tables,
    words=st.integers(1, 4),
    levels=st.sampled_from([None, None, 2, 4]),
    sharpness=st.sampled_from([0.5, 2.0, 5.0]),
)


def same(found, expected) -> bool:
    return [one.tokens for one in found] == [one.tokens for one in expected] and [
        one.score for one in found
    ] == pytest.approx([one.score for one in expected], abs=1e-5)


# -- what is found --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(("words", "longest"), [(2, 5), (4, 4), (1, 5), (5, 3)])
def test_a_beam_as_wide_as_the_space_finds_what_trying_everything_finds(way, words: int, longest: int):
    model = Tables(words)
    space = words ** (longest - 1)
    wanted = BeamSettings(beam=max(space, 4), best=4, longest=longest, **way)
    for seed, found in enumerate(search(model, list(range(6)), wanted)):
        assert same(found, exhaustive(model, seed, wanted)[:4])


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("choices", [{}, {"input_feeding": True}])
def test_the_translators_best_translation_is_the_one_with_the_least_loss(way, choices):
    model = small_translator(words=FIRST + 2, spread=6.0, **choices)
    wanted = BeamSettings(beam=16, longest=5, **way)
    sources = [[3, 4, 5], [7], [10, 9, 8, 7, 6]]
    sentences = all_sentences(2, 5)
    for source, found in zip(sources, search(model, TranslationBatch.of(sources), wanted), strict=True):
        with torch.inference_mode():
            log_probs = [-float(model.loss(TranslationBatch.of([source], [target]))[0]) for target in sentences]
        scores = [
            score_of(log_prob, len(target) + 1, len(source) + 1, wanted)
            for target, log_prob in zip(sentences, log_probs, strict=True)
        ]
        assert found[0].tokens == sentences[int(np.argmax(scores))]
        assert found[0].score == pytest.approx(max(scores), abs=1e-5)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_captioners_best_caption_is_the_one_with_the_least_loss(way):
    model = small_captioner(words=FIRST + 2, spread=6.0)
    wanted = BeamSettings(beam=16, longest=5, **way)
    images = np.random.default_rng(2).standard_normal((3, 7)).astype(np.float32)
    sentences = all_sentences(2, 5)
    for k, found in enumerate(search(model, CaptionBatch.of(images), wanted)):
        with torch.inference_mode():
            batches = [CaptionBatch.of(images[k : k + 1], [target]) for target in sentences]
            log_probs = [-float(model.loss(batch)[0]) for batch in batches]
        scores = [
            score_of(log_prob, len(target) + 1, 1, wanted)
            for target, log_prob in zip(sentences, log_probs, strict=True)
        ]
        assert found[0].tokens == sentences[int(np.argmax(scores))]
        assert found[0].score == pytest.approx(max(scores), abs=1e-5)


def test_a_beam_of_one_is_greedy():
    model = Tables(4)
    for seed, found in enumerate(search(model, list(range(20)), BeamSettings(beam=1, longest=6))):
        tokens: list[int] = []
        while len(tokens) < 5:
            log_probs = model.log_probs(seed, [1, *tokens])
            word = EOS + int(log_probs[EOS:].argmax())
            if word == EOS:
                break
            tokens.append(word)
        assert found[0].tokens == tuple(tokens)


@given(models, seeds, ways, st.integers(1, 6))
def test_a_score_is_that_of_its_tokens(model: Tables, batch, way, beam: int):
    wanted = BeamSettings(beam=beam, best=beam, longest=4, **way)
    for seed, found in zip(batch, search(model, batch, wanted), strict=True):
        assert found
        assert len({one.tokens for one in found}) == len(found)
        for one in found:
            expected = judged(model, seed, one.tokens, wanted)
            assert (one.log_prob, one.score) == pytest.approx((expected.log_prob, expected.score), abs=1e-5)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@given(models, seeds, ways)
@settings(max_examples=40)
def test_a_wider_best_list_begins_with_a_narrower_one(model: Tables, batch, way):
    wanted = BeamSettings(beam=4, best=4, longest=4, **way)
    for few, many in zip(search(model, batch, replace(wanted, best=2)), search(model, batch, wanted), strict=True):
        assert few == many[:2]


# -- when it stops --------------------------------------------------------------------------------------------------


@given(models, seeds, ways, st.integers(1, 5), st.integers(1, 6), st.data())
def test_stopping_early_changes_nothing(model: Tables, batch, way, beam: int, longest: int, data):
    best = data.draw(st.integers(1, beam))
    wanted = BeamSettings(beam=beam, best=best, longest=longest, **way)
    assert search(model, batch, wanted) == search(model, batch, replace(wanted, stop_early=False))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_search_does_stop_early(way):
    class Counted(Tables):
        steps = 0

        def step(self, state, last):
            Counted.steps += 1
            return super().step(state, last)

        def log_probs(self, seed, beginning):
            found = torch.full((FIRST + 2,), 1e-6)
            found[EOS if len(beginning) == 4 else FIRST] = 1
            return (found / found.sum()).log()

    found = search(Counted(2), [1], BeamSettings(beam=3, longest=200, **way))
    assert found[0][0].tokens == (FIRST, FIRST, FIRST)
    # A normalised score may rise until the limit, so that such a search rules out the rest last.
    assert Counted.steps < (200 if way["scoring"] == "normalised" else 8)


def test_the_reward_lengthens_up_to_its_bound_and_no_further():
    class Brief(Tables):
        """Ending is a little likelier than going on, always."""

        def log_probs(self, seed, beginning):
            found = torch.full((FIRST + 1,), 1e-9)
            found[EOS], found[FIRST] = 0.6, 0.4
            return found.log()

        def sizes(self, batch):
            return torch.tensor(batch)

    model, batch = Brief(1), [1, 2, 6]
    wanted = BeamSettings(beam=2, longest=20)
    assert [len(found[0].tokens) for found in search(model, batch, wanted)] == [0, 0, 0]
    rewarded = replace(wanted, scoring="rewarded", reward=2.0, bound=1.5)
    # Bounds of 1.5, 3 and 9, the end counted: a word costs 0.92 and earns 2, or 1 where the bound cuts it in half.
    assert [len(found[0].tokens) + 1 for found in search(model, batch, rewarded)] == [2, 3, 9]


def test_every_sentence_ends_at_the_limit():
    class Endless(Tables):
        def log_probs(self, seed, beginning):
            found = super().log_probs(seed, beginning)
            found[EOS] = -30
            return found

    for found in search(Endless(3), [1, 2], BeamSettings(beam=3, longest=4)):
        assert len(found[0].tokens) == 3


# -- ties and batches -----------------------------------------------------------------------------------------------


def test_a_tie_goes_to_the_lower_token():
    class Even(Tables):
        def log_probs(self, seed, beginning):
            return torch.zeros(FIRST + self.words).log_softmax(0)

    found = search(Even(4), [1], BeamSettings(beam=3, best=3, longest=3, scoring="rewarded", reward=9.0, bound=9))[0]
    assert [one.tokens for one in found] == [(3, 3), (4, 3), (5, 3)]


@given(models, st.lists(st.integers(0, 10_000), min_size=2, max_size=5), ways, st.integers(1, 5))
def test_a_sentence_gets_the_same_hypotheses_in_any_batch(model: Tables, batch, way, beam: int):
    wanted = BeamSettings(beam=beam, best=beam, longest=5, **way)
    together = search(model, batch, wanted)
    assert together == [search(model, [seed], wanted)[0] for seed in batch]
    assert together[::-1] == search(model, batch[::-1], wanted)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("choices", [{}, {"input_feeding": True, "tied": True}], ids=str)
def test_translations_are_the_same_alone_and_in_any_batch(way, choices):
    # Other seeds may have two hypotheses that differ by 1e-9 only, which rounding then decides.
    model = small_translator(**choices)
    random = np.random.default_rng(6)
    sources = [random.integers(3, 11, random.integers(0, 9)).tolist() for _ in range(12)]
    wanted = BeamSettings(beam=4, best=3, longest=12, **way)
    alone = [search(model, TranslationBatch.of([source]), wanted)[0] for source in sources]
    assert len({found[0].tokens for found in alone}) > 5
    for order in (range(12), range(11, -1, -1), [0, 5, 2], [7, 7, 3]):
        together = search(model, TranslationBatch.of([sources[k] for k in order]), wanted)
        assert all(same(found, alone[k]) for k, found in zip(order, together, strict=True))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_captions_are_the_same_alone_and_in_any_batch(way):
    model = small_captioner()
    images = np.random.default_rng(5).standard_normal((8, 7)).astype(np.float32)
    wanted = BeamSettings(beam=4, best=3, longest=12, **way)
    alone = [search(model, CaptionBatch.of(images[k : k + 1]), wanted)[0] for k in range(8)]
    assert len({found[0].tokens for found in alone}) > 3
    for order in (list(range(8)), [6, 1, 1, 3]):
        together = search(model, CaptionBatch.of(images[order]), wanted)
        assert all(same(found, alone[k]) for k, found in zip(order, together, strict=True))


# -- the rest -------------------------------------------------------------------------------------------------------


def test_a_search_is_without_dropout_and_leaves_the_model_as_it_was():
    model = small_translator(dropout=0.5).train()
    batch, wanted = TranslationBatch.of([[3, 4, 5]]), BeamSettings(beam=3, longest=8)
    assert search(model, batch, wanted) == search(model, batch, wanted)
    assert model.training
    assert search(model.eval(), batch, wanted) == search(model, batch, wanted)
    assert not model.training


def test_a_model_that_gives_no_numbers_is_refused():
    class Broken(Tables):
        def log_probs(self, seed, beginning):
            return torch.full((FIRST + self.words,), math.nan)

    with pytest.raises(PolyrefError, match="log-probabilities that are not numbers"):
        search(Broken(2), [1], BeamSettings(beam=2))


@pytest.mark.parametrize("fault", [lambda: torch.empty(1 << 60), lambda: np.empty(1 << 58), lambda: [0] * (1 << 58)])
def test_what_memory_does_not_hold_says_what_to_lower(fault):
    class Large(Tables):
        def log_probs(self, seed, beginning):
            return fault()

    says = "out of memory with a beam of 2, a batch of 3 and up to 50 tokens; lower beam, batch or longest"
    with pytest.raises(SettingsError, match=says):
        search(Large(2), [1, 2, 3], BeamSettings(beam=2, longest=50))


def test_other_faults_are_not_taken_for_a_lack_of_memory():
    class Broken(Tables):
        def log_probs(self, seed, beginning):
            return torch.zeros(2) + torch.zeros(3)

    with pytest.raises(RuntimeError, match="must match the size"):
        search(Broken(2), [1], BeamSettings(beam=2))


def test_words_of_no_probability_are_never_said():
    class Single(Tables):
        def log_probs(self, seed, beginning):
            found = torch.full((FIRST + self.words,), -math.inf)
            found[EOS if len(beginning) == 3 else FIRST + 1] = 0.0
            return found

    found = search(Single(3), [1, 2], BeamSettings(beam=4, best=4, longest=9))
    assert [[one.tokens for one in row] for row in found] == [[(4, 4)], [(4, 4)]]


# -- the best candidates, with ties settled as a full sort would ------------------------------------------------------


def random_values(rows: int, length: int, levels: int | None, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    if levels is None:
        return torch.randn(rows, length, generator=random)
    return torch.randint(levels, (rows, length), generator=random).float()


@pytest.mark.parametrize("levels", [None, 2, 50, 3000])
@pytest.mark.parametrize(("length", "count"), [(1, 1), (7, 3), (7, 7), (640, 5), (1000, 4), (5003, 15), (2048, 15)])
def test_the_best_words_are_those_of_a_stable_sort(length: int, count: int, levels: int | None):
    values = random_values(9, length, levels, length)
    expected = values.sort(dim=1, descending=True, stable=True).indices[:, :count]
    assert torch.equal(best_places(values, count), expected)


def test_the_best_words_may_stand_behind_the_last_whole_block():
    values = random_values(3, 1000, None, 0)
    values[:, 999], values[:, 961], values[:, 0] = 9, 8, 7
    assert best_places(values, 3).tolist() == [[999, 961, 0]] * 3


@pytest.mark.parametrize("levels", [None, 2, 50])
def test_the_best_candidates_are_those_of_a_sort_by_value_and_token(levels: int | None):
    values = random_values(6, 40, levels, 1)
    tokens = torch.randint(12, (6, 40), generator=torch.Generator().manual_seed(2))
    found = best_places(values, 10, tokens)
    for row in range(6):
        order = sorted(range(40), key=lambda k: (-float(values[row, k]), int(tokens[row, k]), k))
        assert found[row].tolist() == order[:10]


def test_values_that_are_nothing_come_last():
    values = torch.tensor([[-torch.inf, 1.0, -torch.inf, 1.0]])
    assert best_places(values, 2).tolist() == [[1, 3]]
    assert best_places(values, 3, torch.tensor([[0, 5, 0, 4]]))[0, :2].tolist() == [3, 1]
