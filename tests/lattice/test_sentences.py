"""A lattice as its users see it: texts in, texts out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyref import AlignSettings, Lattice, PolyrefError, SettingsError, WordVectors, sentence_bleu
from polyref.text import TextSettings

CATS = ["The cat sleeps.", "a cat sleeps, now", "the dog isn't here."]


@pytest.fixture
def cats(engine_name: Any) -> Lattice:
    return Lattice.from_references(CATS, engine=engine_name)


def texts(lattice: Lattice) -> set[str]:
    return {sentence.text for sentence in lattice.sentences()}


def test_a_sentence_is_written_as_its_references_are(cats: Lattice) -> None:
    assert {"The cat sleeps, now", "a cat sleeps.", "The dog isn't here."} <= texts(cats)


def test_words_are_compared_without_case(cats: Lattice) -> None:
    assert "the cat sleeps ." in cats
    assert "THE CAT SLEEPS." in cats
    assert "the cat" not in cats
    assert "" not in cats
    assert "the zebra sleeps." not in cats


def test_case_counts_if_wanted(engine_name: Any) -> None:
    lattice = Lattice.from_references(CATS, text=TextSettings(fold_case=False), engine=engine_name)
    assert "the cat sleeps ." not in lattice


def test_equal_references_are_one(engine_name: Any) -> None:
    lattice = Lattice.from_references(["A b c", "a d c", "a b c"], engine=engine_name)
    assert (lattice.count, lattice.new) == (2, 0)
    listed = {sentence.text: sentence.origins for sentence in lattice.sentences()}
    assert listed == {"A b c": ((0, 1, 2), (0, 2), (0, 1, 2)), "A d c": ((0, 1, 2), (1,), (0, 1, 2))}


def test_one_reference_is_a_lattice_with_nothing_new(engine_name: Any) -> None:
    lattice = Lattice.from_references(["a b"], engine=engine_name)
    assert (lattice.count, lattice.new, lattice.pieces, lattice.best(5)) == (1, 0, 1, [])


def test_scores_are_sentence_bleu(cats: Lattice) -> None:
    words = [text.lower().replace(".", " .").replace(",", " ,").split() for text in CATS]
    for sentence in cats.sentences():
        assert sentence.bleu == sentence_bleu(sentence.words, words) == cats.bleu(sentence.text)
    assert cats.bleu("a zebra sleeps, now") == sentence_bleu(("a", "zebra", "sleeps", ",", "now"), words)
    assert cats.bleu("") == 0.0


def test_a_sample_is_given_by_its_seed(cats: Lattice) -> None:
    assert cats.sample(8, seed=1) == cats.sample(8, seed=1) != cats.sample(8, seed=2)
    assert cats.sample(0) == []


def test_adaptive_penalty_gives_way_until_there_are_enough(engine_name: Any) -> None:
    encoder = WordVectors(["cat", "kitten"], np.array([[1.0, 0.0], [0.8, 0.6]]))
    references = ["the cat sat", "a kitten sat"]

    def penalty(at_least: int) -> float | None:
        align = AlignSettings("soft", "cosine", "adaptive", penalty_step=0.1, penalty_floor=0.5, at_least=at_least)
        return Lattice.from_references(references, align=align, encoder=encoder, engine=engine_name).penalty

    assert [penalty(at_least) for at_least in (1, 2, 3, 4, 5)] == [0.9, 0.9, 0.7, 0.7, 0.5]


@pytest.mark.parametrize(
    ("references", "settings", "message"),
    [
        ("a cat", {}, "references must be a list of at least one text"),
        ([], {}, "references must be a list of at least one text"),
        (["a", " \n"], {}, "reference 2 is blank; give a text, or take it out"),
        (["a"], {"engine": "steam"}, 'unknown engine "steam"'),
    ],
)
def test_references_without_sense_are_refused(references: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PolyrefError, match=message):
        Lattice.from_references(references, **settings)


def test_a_negative_sample_is_refused(cats: Lattice) -> None:
    with pytest.raises(SettingsError, match="the sample size is -1; give 0 or more"):
        cats.sample(-1)
