"""What holds for every similarity that veto and position have gone over."""

from __future__ import annotations

from itertools import accumulate, chain, combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyref.align import UNIT, VETO_KINDS, Matrix, is_vetoed
from polyref.align.alignment import fill, links_of, trace_back
from polyref.align.veto import VetoKind, exclusions
from polyref.lattice import CompiledEngine, Engine, PlainEngine
from polyref.lattice.references import Numbering

WORDS = """
    two 2 three 1,000 1000 second 2nd dozen one a not don't don’t is no never always . , … ... ! and red blue grey gray
    orange apple left right he she they man woman person boy dog cat animal cheap expensive
"""
VOCABULARY = WORDS.split()
words = st.sampled_from(VOCABULARY) | st.text(max_size=6).filter(bool)
kinds = st.lists(st.sampled_from(VETO_KINDS), unique=True)
references = st.lists(
    st.lists(st.integers(0, len(VOCABULARY) - 1), min_size=1, max_size=9).map(tuple),
    min_size=2,
    max_size=5,
    unique=True,
)
weights = st.integers(0, UNIT)


def random_similarity(numbered: list[tuple[int, ...]], seed: int) -> Matrix:
    size = sum(map(len, numbered))
    return np.random.default_rng(seed).integers(-UNIT, UNIT, (size, size), np.int32, endpoint=True)


def blocks(numbered: list[tuple[int, ...]], matrix: Matrix) -> dict[tuple[int, int], list[list[int]]]:
    """What alignment reads: an earlier reference's words against a later one's."""
    starts = list(accumulate(map(len, numbered), initial=0))
    return {
        (i, j): matrix[starts[i] : starts[i + 1], starts[j] : starts[j + 1]].tolist()
        for i, j in combinations(range(len(numbered)), 2)
    }


def restrained(
    engine: Engine, numbered: list[tuple[int, ...]], similarity: Matrix, kinds: list[VetoKind], weight: int
) -> dict[tuple[int, int], list[list[int]]]:
    excluded, numbering = exclusions(VOCABULARY, kinds), Numbering(VOCABULARY, numbered, list(range(len(numbered))))
    return blocks(numbered, engine.restrained(numbering, similarity.copy(), excluded, weight))


@given(references, st.integers(0, 99), kinds, weights)
def test_both_engines_find_the_same(
    plain: PlainEngine, compiled: CompiledEngine, numbered: list[tuple[int, ...]], seed: int, kinds: list, weight: int
) -> None:
    similarity = random_similarity(numbered, seed)
    assert restrained(plain, numbered, similarity, kinds, weight) == restrained(
        compiled, numbered, similarity, kinds, weight
    )


@given(references, st.integers(0, 99), kinds, weights)
def test_a_vetoed_pair_is_at_minus_1_and_any_other_loses_what_its_places_are_apart(
    engine: Engine, numbered: list[tuple[int, ...]], seed: int, kinds: list, weight: int
) -> None:
    similarity = random_similarity(numbered, seed)
    before, after = blocks(numbered, similarity), restrained(engine, numbered, similarity, kinds, weight)
    for (i, j), block in after.items():
        for u, left in enumerate(numbered[i]):
            for v, right in enumerate(numbered[j]):
                lost = before[i, j][u][v] - block[u][v]
                if is_vetoed(VOCABULARY[left], VOCABULARY[right], kinds):
                    assert block[u][v] == -UNIT
                    continue
                assert 0 <= lost <= weight
                m, n = len(numbered[i]) - 1, len(numbered[j]) - 1
                if m and n:  # a rounded place at either end
                    assert abs(lost - weight * abs(u / m - v / n)) <= 1 + 1e-6
                if m and n and (u, v) in ((0, 0), (m, n)):
                    assert lost == 0


@given(references, st.integers(0, 99), weights, st.integers(0, UNIT))
def test_no_vetoed_pair_is_linked(
    engine: Engine, numbered: list[tuple[int, ...]], seed: int, weight: int, penalty: int
) -> None:
    after = restrained(engine, numbered, random_similarity(numbered, seed), list(VETO_KINDS), weight)
    for (i, j), block in after.items():
        for u, v in links_of(trace_back(fill(block, penalty))):
            assert not is_vetoed(VOCABULARY[numbered[i][u]], VOCABULARY[numbered[j][v]])


@given(words, words, kinds)
def test_a_veto_has_no_direction_and_spares_equal_words(left: str, right: str, kinds: list) -> None:
    assert is_vetoed(left, right, kinds) == is_vetoed(right, left, kinds)
    assert not is_vetoed(left, left, kinds)
    assert is_vetoed(left, right, kinds) == any(is_vetoed(left, right, [kind]) for kind in kinds)


@given(st.lists(words, min_size=1, max_size=12, unique=True), kinds)
def test_exclusions_are_those_of_each_pair(vocabulary: list[str], kinds: list) -> None:
    everything = range(len(vocabulary))
    found = exclusions(vocabulary, kinds).between(everything, everything)
    expected = [is_vetoed(left, right, kinds) for left in vocabulary for right in vocabulary]
    assert list(chain.from_iterable(found.tolist())) == expected
