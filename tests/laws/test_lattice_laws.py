"""What holds for the lattice of any references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import pytest
from generated import Case, cases, references
from hypothesis import assume, given
from scipy.stats import chisquare

from polyref.lattice import Arc, Engine, Lattice

MakeLattice = Callable[..., Lattice]

LISTED = 2_000
# Lattices in which some sentences have several paths, so that a walk that draws paths would show.
UNEVEN = [
    ["c c a a b", "c b a b c a b", "c b c c", "b c b c a a", "c b c"],
    ["c a c c c c a", "b c a", "c a b a", "c a b c", "b c b c c c b"],
    ["a b b b a b b b", "b b c c b c", "c c c b c c", "b c c c c", "a b b c c c"],
]


def connected(edges: list[tuple[int, int]], size: int) -> int:
    """The number of pieces that edges leave `size` nodes in."""
    pieces = [{node} for node in range(size)]
    for left, right in edges:
        touched = [piece for piece in pieces if piece & {left, right}]
        pieces = [piece for piece in pieces if piece not in touched] + [set().union(*touched)]
    return len(pieces)


def paths_of(lattice: Lattice, words: tuple[str, ...]) -> list[list[Arc]]:
    """All paths from the start to an end that spell a sentence."""
    paths: list[list[Arc]] = [[]]
    for word in words:
        ends = [(path, path[-1].target if path else 0) for path in paths]
        steps = [arc for arc in lattice.arcs if arc.word == word]
        paths = [[*path, arc] for path, end in ends for arc in steps if arc.source == end]
    return [path for path in paths if path[-1].target in lattice.finals]


@given(cases())
def test_every_gold_reference_is_a_sentence(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    lattice = lattice_of(engine, *case)
    assert all(reference in lattice for reference in case.references)


@given(cases())
def test_arcs_go_upwards_from_state_0(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    lattice = lattice_of(engine, *case)
    assert all(arc.source < arc.target for arc in lattice.arcs)
    assert {arc.target for arc in lattice.arcs} == set(range(1, lattice.states))
    assert {arc.source for arc in lattice.arcs} | lattice.finals == set(range(lattice.states))


@given(cases())
def test_an_arc_stands_in_exactly_the_references_it_names(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    lattice = lattice_of(engine, *case)
    assert len({arc[:3] for arc in lattice.arcs}) == len(lattice.arcs)
    said = sorted((gold, arc.word) for arc in lattice.arcs for gold in arc.references)
    written = sorted((gold, word) for gold, text in enumerate(case.references) for word in text.split())
    assert said == written


@given(cases())
def test_count_is_the_number_of_distinct_sentences(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    lattice = lattice_of(engine, *case)
    assume(lattice.count <= LISTED)
    sentences = [sentence.words for sentence in lattice.sentences()]
    assert len(sentences) == len(set(sentences)) == lattice.count
    gold = {tuple(reference.split()) for reference in case.references}
    assert lattice.new == len(set(sentences) - gold)


@given(cases())
def test_samples_are_sentences(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    lattice = lattice_of(engine, *case)
    assume(lattice.count <= LISTED)
    sentences = {sentence.words for sentence in lattice.sentences()}
    assert {sentence.words for sentence in lattice.sample(20, seed=1)} <= sentences


@pytest.mark.parametrize("gold", UNEVEN, ids=" / ".join)
def test_samples_are_uniform_over_sentences(engine: Engine, lattice_of: MakeLattice, gold: list[str]) -> None:
    lattice = lattice_of(engine, gold)
    drawn = Counter(sentence.words for sentence in lattice.sample(100 * lattice.count, seed=7))
    seen = [drawn[sentence.words] for sentence in lattice.sentences()]
    assert sum(seen) == 100 * lattice.count
    assert chisquare(seen).pvalue > 1e-4


@given(references())
def test_pieces_are_what_the_links_leave_unjoined(engine: Engine, lattice_of: MakeLattice, gold: list[str]) -> None:
    distinct = list(dict.fromkeys(gold))
    linked = [
        (left, right)
        for left, right in combinations(range(len(distinct)), 2)
        if set(distinct[left].split()) & set(distinct[right].split())
    ]
    assert lattice_of(engine, gold).pieces == connected(linked, len(distinct))


@given(cases())
def test_the_papers_order_never_leaves_fewer_pieces(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    tree, paper = (lattice_of(engine, *case[:3], merge_order=order) for order in ("tree", "paper"))
    assert tree.pieces <= paper.pieces <= len(set(case.references))


@given(references())
def test_a_reference_said_twice_changes_no_sentence(engine: Engine, lattice_of: MakeLattice, gold: list[str]) -> None:
    once, twice = lattice_of(engine, gold), lattice_of(engine, [*gold, gold[0]])
    assert [arc[:3] for arc in once.arcs] == [arc[:3] for arc in twice.arcs]
    assert (once.count, once.pieces, once.finals) == (twice.count, twice.pieces, twice.finals)


@given(cases())
def test_every_origin_of_a_word_says_that_word(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    lattice = lattice_of(engine, *case)
    for sentence in [*lattice.best(20), *lattice.sample(5, seed=3)]:
        assert len(sentence.origins) == len(sentence.words)
        for word, origins in zip(sentence.words, sentence.origins, strict=True):
            assert origins
            assert all(word in case.references[gold].split() for gold in origins)


@given(cases())
def test_origins_are_the_references_on_the_paths_of_the_sentence(
    engine: Engine, lattice_of: MakeLattice, case: Case
) -> None:
    lattice = lattice_of(engine, *case)
    for sentence in [*lattice.best(5), *lattice.sample(5, seed=3)]:
        columns = zip(*paths_of(lattice, sentence.words), strict=True)
        said = [sorted({gold for arc in column for gold in arc.references}) for column in columns]
        assert [list(origins) for origins in sentence.origins] == said


@given(cases())
def test_a_gold_reference_is_an_origin_of_all_its_words(engine: Engine, lattice_of: MakeLattice, case: Case) -> None:
    lattice = lattice_of(engine, *case)
    for gold, reference in enumerate(case.references):
        assert all(gold in origins for origins in lattice.origins(reference.split()))
