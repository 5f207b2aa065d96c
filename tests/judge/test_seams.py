"""Seams: what a change from one reference to another costs, in a made-up model and in the built-in one."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from polyref import Lattice
from polyref.encode import Reading, default_encoder
from polyref.judge import Usage, seams
from polyref.judge import usage as usage_module
from polyref.judge.seams import LIMIT, SHIFT_WEIGHT, risks

DOG = ("a dog runs on the grass .", "a brown dog plays on the lawn .", "there is a dog running on the lawn .")
KNOWN = Usage(common=dict.fromkeys(["a", "the", "is", "on", "of", "and", "with", "there"], 2))


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def risk(references: Sequence[str], *sentences: str, model=None, usage: Usage = KNOWN) -> list[float]:
    """By the built-in model, unless another one is given."""
    lattice = Lattice.from_references(references)
    [found] = risks([lattice], [[words(one) for one in sentences]], usage, model or default_encoder())
    return found


class Made:
    """A model that makes of a sentence what was written down for it; else every word is sure, in the state (1, 0)."""

    def __init__(self, **known: tuple[list[float], list[tuple[float, float]], list[tuple[float, float]]]):
        self.known = known
        self.read: list[tuple[str, ...]] = []

    def readings(self, sentences):
        self.read += [tuple(one) for one in sentences]
        return [self._reading(one) for one in sentences]

    def _reading(self, sentence):
        sure = [0.0] * len(sentence), [(1.0, 0.0)] * len(sentence), [(1.0, 0.0)] * len(sentence)
        values, forward, backward = self.known.get("_".join(sentence), sure)
        return Reading(np.array(values), np.array(forward, np.float32), np.array(backward, np.float32))


STAY = [(1.0, 0.0), (1.0, 0.0)]
TURNED = [(0.0, 1.0), (1.0, 0.0)]  # the first word is in a state at a right angle
HALF = [(0.6, 0.8), (1.0, 0.0)]
COMMON = Usage(common=dict.fromkeys(["a", "b", "c"], 2))


# -- the risk ---------------------------------------------------------------------------------------------------------


def test_gold_references_have_no_risk():
    assert list(map(str, risk(DOG, *DOG))) == ["0.0"] * len(DOG)  # and not -0.0


@pytest.mark.parametrize(
    ("fits", "does_not"),
    [
        ("a brown dog runs on the grass .", "a brown dog is a dog runs on the lawn ."),
        ("a dog plays on the lawn .", "a dog plays on running on the grass ."),
        ("there is a brown dog running on the grass .", "there is a dog runs on the ."),
    ],
)
def test_what_does_not_fit_together_has_more_risk_than_the_limit(fits, does_not):
    good, bad = risk(DOG, fits, does_not)
    assert 0 < good < LIMIT < bad


def test_a_word_is_compared_with_the_place_where_it_is_least_likely():
    same = [*STAY, STAY[0]]
    model = Made(a_b=([-1.0, -2.0], STAY, STAY), c_b=([0.0, -4.0], STAY, STAY), a_c_b=([-1.5, 0.0, -5.0], same, same))
    assert risk(["a b", "c b"], "a c b", model=model, usage=COMMON) == [0.5 + 1.0]


def test_a_word_that_gains_makes_up_for_nothing():
    model = Made(a_b=([-1.0, -2.0], STAY, STAY), b_a=([-0.25, -2.0], STAY, STAY))
    assert risk(["a b"], "b a", model=model, usage=COMMON) == [1.0]


def test_states_are_compared_with_the_nearest_place_on_the_side_that_is_further():
    near = Made(a_b=([0, 0], HALF, STAY), a_c=([0, 0], TURNED, STAY), a_a=([0, 0], STAY, STAY))
    assert risk(["a b", "a c"], "a a", model=near, usage=COMMON) == [round(2 * SHIFT_WEIGHT * 0.4, 4)]
    further = Made(a_b=([0, 0], HALF, TURNED), b_a=([0, 0], [STAY[0]] * 2, [STAY[0]] * 2))
    assert risk(["a b"], "b a", model=further, usage=COMMON) == [SHIFT_WEIGHT]


def test_both_sides_are_compared_with_the_same_place():
    """What comes before fits one reference, what comes behind fits another: that is what a seam is."""
    model = Made(a_b=([0, 0], STAY, TURNED), a_c=([0, 0], TURNED, STAY), a=([0], [(1.0, 0.0)], [(1.0, 0.0)]))
    assert risk(["a b", "a c"], "a", model=model, usage=COMMON) == [SHIFT_WEIGHT]


@pytest.mark.parametrize(("word", "weight"), [("a", 1.0), (",", 1.0), ("zebra", 0.5)])
def test_words_that_are_not_common_count_half(word, weight):
    model = Made(**{f"{word}_b": ([0.0, 0.0], STAY, STAY), f"b_{word}": ([0.0, -2.0], STAY, STAY)})
    assert risk([f"{word} b"], f"b {word}", model=model, usage=COMMON) == [2.0 * weight]


def test_a_further_reference_never_raises_the_risk():
    sentences = "a dog plays on the grass .", "a brown dog runs on the lawn .", "a brown dog on the grass ."
    few, more = risk(DOG[:2], *sentences), risk(DOG, *sentences)
    assert all(a >= b for a, b in zip(few, more, strict=True)) and few != more


def test_a_risk_does_not_depend_on_what_else_is_asked(monkeypatch):
    texts = [DOG, ("a man rides a horse .", "a man on a horse ."), ("a cat .", "the cat sleeps .")]
    asked = [["a brown dog runs on the grass .", DOG[0]], ["a man rides a horse on a horse ."], ["a cat sleeps ."]]
    lattices, sentences = [Lattice.from_references(one) for one in texts], [[words(w) for w in one] for one in asked]
    together = risks(lattices, sentences, KNOWN, default_encoder())
    assert together == [risk(one, *own) for one, own in zip(texts, asked, strict=True)]
    for size in (1, 4):
        monkeypatch.setattr(seams, "_AT_ONCE", size)
        assert risks(lattices, sentences, KNOWN, default_encoder()) == together


def test_references_are_read_once_and_only_where_there_are_sentences():
    model = Made()
    lattices = [Lattice.from_references(one) for one in (["a b", "c b", "a b"], ["x y", "z y"])]
    assert risks(lattices, [[("a", "b"), ("c", "b")], []], KNOWN, model) == [[0.0, 0.0], []]
    assert model.read == [("a", "b"), ("c", "b"), ("a", "b"), ("c", "b")]
    assert risks([], [], KNOWN, model) == []


# -- what a file tells ------------------------------------------------------------------------------------------------


def test_common_words_are_those_of_the_most_examples(monkeypatch):
    monkeypatch.setattr(usage_module, "COMMON_WORDS", 2)
    examples = [[["often", "often", "often"], ["often"]], [["b", "."], ["c", "."]], [["c", "."]], [["b", "."]]]
    assert Usage.of(examples).common.keys() == {"b", "c"}


def test_of_equally_common_words_the_first_by_the_alphabet_are_taken(monkeypatch):
    monkeypatch.setattr(usage_module, "COMMON_WORDS", 3)
    letters = [chr(97 + k) for k in range(20)]
    assert Usage.of([[letters[::-1]]]).common == Usage.of([[letters]]).common == {"a": 1, "b": 1, "c": 1}


def test_only_the_first_examples_are_read(monkeypatch):
    monkeypatch.setattr(usage_module, "EXAMPLES_READ", 2)
    examples = iter([[["a"]], [["b"]], [["c"]], [["d"]]])
    assert Usage.of(examples).common.keys() == {"a", "b"}
    assert next(examples) == [["c"]]


def test_an_empty_file_tells_nothing_and_can_be_sent():
    assert Usage.of([]) == Usage() == pickle.loads(pickle.dumps(Usage()))
    few, full = (risk(DOG, "a brown dog runs on the grass .", usage=one) for one in (Usage(), KNOWN))
    assert 0 < few[0] < full[0]
