"""A lattice as its users see it: texts in, texts out; and kept in a few numbers, and built again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from samples import CAT, Families

from polyref import (
    AlignSettings,
    InputError,
    Lattice,
    LatticeSummary,
    PolyrefError,
    SettingsError,
    WordVectors,
    sentence_bleu,
)
from polyref.example import KeptLattice
from polyref.lattice import Engine, SearchSettings, keep, restore
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


# -- kept, and built again ----------------------------------------------------------------------------------------

TWO = ["a cat sleeps", "a dog sleeps"]
KEPT = KeptLattice(((1, 2, 3), (1, 2, 3)), "words", True)


def test_what_is_kept_are_the_states_behind_the_words() -> None:
    assert keep(Lattice.from_references(TWO)) == KEPT


def test_equal_references_keep_equal_states() -> None:
    assert keep(Lattice.from_references(["a b", "A  b", "a c"])).states == ((1, 2), (1, 2), (1, 3))


def test_the_states_decide_not_the_alignment(engine: Engine) -> None:
    lattice = restore(TWO, replace(KEPT, states=((1, 2, 4), (1, 3, 4))), engine=engine)
    assert lattice.count == 2
    assert [(arc.source, arc.target, arc.word) for arc in lattice.arcs] == [
        (0, 1, "a"),
        (1, 2, "cat"),
        (1, 3, "dog"),
        (2, 4, "sleeps"),
        (3, 4, "sleeps"),
    ]


def test_a_soft_lattice_comes_back_without_its_encoder(engine: Engine) -> None:
    captions = ["an old man sits in the park", "a young person waits at the garden", "the small man sleeps on a street"]
    align = AlignSettings(align="soft", penalty=0.5)
    lattice = Lattice.from_references(captions, align=align, encoder=Families().encoder(), engine=engine)
    again = restore(captions, keep(lattice), penalty=lattice.penalty, engine=engine)
    assert (again.count, again.arcs, again.finals) == (lattice.count, lattice.arcs, lattice.finals)
    assert (again.penalty, again.states, again.pieces) == (lattice.penalty, lattice.states, lattice.pieces)
    assert again.search(20, SearchSettings()) == lattice.search(20, SearchSettings())
    assert again.sample(9, seed=3) == lattice.sample(9, seed=3)
    assert lattice.count > Lattice.from_references(captions).count


def test_texts_become_words_as_they_did(engine: Engine) -> None:
    kept = KeptLattice(((1, 3), (2, 3)), "whitespace", False)
    assert restore(["A cat.", "a cat."], kept, engine=engine).arcs[0].word == "A"


def test_the_numbers_of_a_large_lattice_are_exact(engine: Engine) -> None:
    """More sentences than fit 64 bits: 70 words, each in two forms."""
    texts = [" ".join(f"{form}{n}" for n in range(70)) for form in "ab"]
    kept = KeptLattice((tuple(range(1, 71)),) * 2, "words", True)
    assert restore(texts, kept, engine=engine).count == 2**70


WRONG = {
    "too few references": (((1, 2, 3),), "1 references have states, and there are 2"),
    "too few words": (((1, 2, 3), (1, 2)), "reference 2 has 3 words and 2 states"),
    "back to the start": (((1, 2, 3), (0, 2, 3)), "the states of reference 2 do not grow from 1 on"),
    "not growing": (((1, 1, 2), (1, 2, 3)), "the states of reference 1 do not grow from 1 on"),
    "falling": (((1, 3, 2), (1, 2, 3)), "the states of reference 1 do not grow from 1 on"),
    "below": (((-1, 1, 2), (1, 2, 3)), "the states of reference 1 do not grow from 1 on"),
    "far away": (((1, 2, 3), (1, 2, 10**9)), "the states leave out numbers"),
    "a gap": (((1, 2, 5), (1, 3, 5)), "the states leave out numbers"),
}


@pytest.mark.parametrize(("states", "says"), WRONG.values(), ids=WRONG)
def test_states_that_cannot_be_those_of_the_references_are_refused(
    states: tuple[tuple[int, ...], ...], says: str, plain: Engine
) -> None:
    with pytest.raises(InputError) as caught:
        restore(TWO, KeptLattice(states, "words", True), engine=plain)
    problem = f"the kept lattice does not fit its references: {says}"
    assert str(caught.value) == f"{problem}; expand again and keep lattices"


def test_equal_references_must_have_equal_states(plain: Engine) -> None:
    with pytest.raises(InputError, match="reference 2 has other states than the reference that it equals"):
        restore(["a b", "a b"], KeptLattice(((1, 3), (2, 3)), "words", True), engine=plain)


def test_an_unknown_tokenizer_is_refused(plain: Engine) -> None:
    with pytest.raises(SettingsError, match='tokenizer is "moses"; choose one of words, whitespace, characters'):
        restore(TWO, replace(KEPT, tokenizer="moses"), engine=plain)


def test_blank_references_are_refused(plain: Engine) -> None:
    with pytest.raises(InputError, match="reference 1 is blank"):
        restore([" "], KeptLattice(((1,),), "words", True), engine=plain)


def test_a_summary_keeps_no_lattice_unless_it_is_given_one() -> None:
    assert LatticeSummary(2560, None, exact=True).kept is None


def test_the_cat_comes_back(engine: Engine) -> None:
    lattice = Lattice.from_references(CAT, engine=engine)
    again = restore(CAT, keep(lattice), engine=engine)
    assert again.count == 2560
    assert again.best(20) == lattice.best(20)
