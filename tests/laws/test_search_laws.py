"""What holds for the best sentences of any lattice, whether it is searched or listed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from generated import Case, cases, searches
from hypothesis import assume, given
from hypothesis import strategies as st
from listed import Scores

from polyref.lattice import Engine, Lattice, SearchSettings
from polyref.lattice.plain.ranking import sentence_hash, word_hashes

MakeLattice = Callable[..., Lattice]

pytestmark = pytest.mark.usefixtures("way")

LISTED = 600  # sentences of a lattice: here it is the test that lists them


class Everything:
    """All new sentences of a lattice, sorted by the rule: score, then seeded hash, then words."""

    def __init__(self, lattice: Lattice, references: list[str], settings: SearchSettings):
        numbers: dict[str, int] = {}
        for word in " ".join(references).split():
            numbers.setdefault(word, len(numbers))
        gold = [tuple(numbers[word] for word in reference.split()) for reference in references]
        scores, hashes = Scores(gold), word_hashes(numbers, settings.seed).tolist()
        listed = [tuple(numbers[word] for word in sentence.words) for sentence in lattice.sentences()]
        admitted = [words for words in listed if words not in gold and scores.is_admitted(words, settings)]
        best = scores.best_first(admitted, lambda words: (sentence_hash(words, hashes), words))
        self.best = [tuple(list(numbers)[word] for word in words) for words in best]


def words_of(lattice: Lattice, size: int, settings: SearchSettings) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in lattice.best(size, settings)]


@given(cases(), searches(), st.sampled_from([1, 2, 5, 20, 1000]))
def test_the_best_are_the_first_of_everything_sorted(
    engine: Engine, lattice_of: MakeLattice, case: Case, settings: SearchSettings, size: int
) -> None:
    lattice = lattice_of(engine, *case)
    assume(lattice.count <= LISTED)
    expected = Everything(lattice, case.references, settings).best[:size]
    assert words_of(lattice, size, settings) == expected
    assert lattice.search(size, settings).exact


@given(cases(), searches())
def test_the_best_20_begin_the_best_100(
    engine: Engine, lattice_of: MakeLattice, case: Case, settings: SearchSettings
) -> None:
    lattice = lattice_of(engine, *case)
    assert words_of(lattice, 100, settings)[:20] == words_of(lattice, 20, settings)


@given(cases(), searches(tie_limits=(3, 20)), st.integers(1, 19))
def test_fewer_begin_more_where_ties_are_drawn(
    engine: Engine, lattice_of: MakeLattice, case: Case, settings: SearchSettings, size: int
) -> None:
    """As long as no more sentences are wanted than ties are listed."""
    lattice = lattice_of(engine, *case)
    most = words_of(lattice, settings.tie_limit, settings)
    assert words_of(lattice, min(size, settings.tie_limit), settings) == most[:size]


@given(cases(), searches(tie_limits=(1, 3, 8)), st.sampled_from([2, 10, 40]))
def test_drawn_ties_score_what_listed_ones_do(
    engine: Engine, lattice_of: MakeLattice, case: Case, settings: SearchSettings, size: int
) -> None:
    lattice = lattice_of(engine, *case)
    drawn = lattice.search(size, settings)
    listed = lattice.search(size, SearchSettings(settings.seed, settings.min_bleu))
    assert drawn.exact
    assert lattice.bleus(drawn) == lattice.bleus(listed)
    assert len(set(lattice.texts(drawn))) == len(drawn.arcs)


@given(cases(), searches(node_budgets=(1, 5, 50)), st.sampled_from([1, 10]))
def test_out_of_budget_still_gives_new_sentences_in_order(
    engine: Engine, lattice_of: MakeLattice, case: Case, settings: SearchSettings, size: int
) -> None:
    lattice = lattice_of(engine, *case)
    found = lattice.search(size, settings)
    texts, scores = lattice.texts(found), lattice.bleus(found)
    assert len(set(texts)) == len(texts) <= size
    assert all(text in lattice and text not in case.references for text in texts)
    assert all(better >= worse for better, worse in pairwise(scores))


@given(cases(), searches(node_budgets=(1, 5, 50, 500)), st.sampled_from([1, 10]))
def test_exact_means_exact(
    engine: Engine, lattice_of: MakeLattice, case: Case, settings: SearchSettings, size: int
) -> None:
    lattice = lattice_of(engine, *case)
    hurried = lattice.search(size, settings)
    patient = lattice.search(size, SearchSettings(settings.seed, settings.min_bleu))
    assert patient.exact
    if hurried.exact:
        assert (hurried.orders, lattice.bleus(hurried)) == (patient.orders, lattice.bleus(patient))
    else:
        reached = zip(lattice.bleus(hurried), lattice.bleus(patient), strict=False)
        assert all(score <= best for score, best in reached)
        assert len(hurried.arcs) <= len(patient.arcs)
