"""Choosing fluent sentences, for every lattice: as if all its sentences were listed and filtered."""

from __future__ import annotations

import pytest
from generated import cases, references, searches
from hypothesis import given
from hypothesis import strategies as st
from judges import Asked, Drawn

from polyref.judge import LOOKED_AT, Chosen, Reader, choose_read
from polyref.lattice import Lattice, SearchSettings


def chosen(lattice: Lattice, wanted: int, margin: float, model: Asked, search: SearchSettings) -> Chosen:
    [choice] = choose_read([lattice], [wanted], Reader(model, margin), search)
    return choice


def by_hand(
    lattice: Lattice, wanted: int, margin: float, model: Asked, search: SearchSettings
) -> tuple[list[tuple[str, float, float]], int]:
    """The same in the plainest way: list everything, look at the best by BLEU, and keep the fluent ones."""
    [*gold] = model.fluency([tokens.words for tokens in lattice.tokens])
    kept: list[tuple[str, float, float]] = []
    left_out = 0
    for sentence in lattice.best(10_000, search)[: LOOKED_AT * wanted]:
        [value] = model.fluency([sentence.words])
        if len(kept) == wanted:
            break
        if value >= round(min(gold) - margin, 4):
            kept.append((sentence.text, sentence.bleu, value))
        else:
            left_out += 1
    return kept, left_out


@given(
    case=cases(),
    wanted=st.integers(0, 6),
    margin=st.sampled_from([-0.3, 0.0, 0.1, 0.25, 1.0]),
    search=searches(),
    values=st.sampled_from([2, 3, 10]),
)
def test_choosing_is_filtering_all_sentences(plain, lattice_of, case, wanted, margin, search, values):
    lattice, model = lattice_of(plain, *case), Drawn(case.references[:1], values=values)
    found = chosen(lattice, wanted, margin, model, search)
    kept, left_out = by_hand(lattice, wanted, margin, model, search)
    assert [(one.text, pytest.approx(one.bleu), one.fluency) for one in found.pseudo_references] == kept
    assert found.left_out == ({"fluency": left_out} if wanted and left_out else {})


@given(
    drawn=references("abcd", most=5, longest=9),
    search=searches(node_budgets=(50, 200), tie_limits=(64, 100_000)),
    wanted=st.integers(1, 3),
)
def test_a_search_that_ends_early_still_judges_each_sentence_for_itself(plain, lattice_of, way, drawn, search, wanted):
    """Then a larger search need not begin with what a smaller one found."""
    lattice, model = lattice_of(plain, drawn), Drawn(drawn, gold_value=-0.1)
    found = chosen(lattice, wanted, 0.0, model, search)
    sentences = [lattice.sentence(one.text) for one in found.pseudo_references]
    values = model.fluency([sentence.words for sentence in sentences])
    assert [one.fluency for one in found.pseudo_references] == values
    assert [one.bleu for one in found.pseudo_references] == pytest.approx([one.bleu for one in sentences])
    assert len({one.text for one in sentences}) == len(sentences) <= wanted


@given(
    chunk=st.lists(st.tuples(cases(), st.integers(-1, 4)), min_size=1, max_size=5),
    order=st.randoms(use_true_random=False),
)
def test_a_lattice_gives_the_same_alone_and_among_others(plain, lattice_of, chunk, order):
    pairs = [(lattice_of(plain, *case), wanted) for case, wanted in chunk]
    alone = {id(lattice): chosen(lattice, wanted, 0.1, Drawn(), SearchSettings()) for lattice, wanted in pairs}
    order.shuffle(pairs)
    lattices, wanted = zip(*pairs, strict=True)
    together = choose_read(lattices, wanted, Reader(Drawn(), 0.1), SearchSettings())
    assert together == [alone[id(lattice)] for lattice in lattices]
