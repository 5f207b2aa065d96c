"""A lattice kept in a few numbers, and built again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from samples import CAT, Families

from polyref import AlignSettings, InputError, Lattice, LatticeSummary, SettingsError
from polyref.example import KeptLattice
from polyref.lattice import Engine, SearchSettings, keep, restore

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
    assert str(caught.value) == f"{problem}; run polyref expand --keep-lattice again"


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
