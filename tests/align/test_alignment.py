"""How alike words are, where they stand, equation 3, and which pairs are merged: in plain Python and compiled."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from polyref import AlignSettings, Lattice, SettingsError, WordVectors
from polyref.align import UNIT, MergeOrder, whole_units
from polyref.align.alignment import Links, Merge, hard_similarity, places, plan_merges, restrain, soft_similarity
from polyref.align.veto import exclusions
from polyref.draw.aligned import compare
from polyref.encode import unit_vectors

Align = Callable[[list[list[int]], int], tuple[int, Links]]
Plan = Callable[[list[str], MergeOrder], list[Merge]]

HALF = UNIT // 2


# -- how alike words are -----------------------------------------------------------------------------------------------


def random_vectors(words: int, size: int, seed: int = 0) -> npt.NDArray[np.float16]:
    return unit_vectors(np.random.default_rng(seed).normal(size=(words, size)))


def all_known(words: int) -> npt.NDArray[np.bool_]:
    return np.ones(words, np.bool_)


def alike(
    words: Sequence[int], vectors: npt.NDArray[np.float16], known: npt.NDArray[np.bool_], baseline: float
) -> npt.NDArray[np.int32]:
    """How alike every two of these words are: in a reference, and in the same one once more."""
    size = len(words)
    twice = np.concatenate([vectors, vectors]), np.concatenate([known, known])
    return soft_similarity([*words, *words], *twice, baseline, [0, size, 2 * size])[:size, size:]


@pytest.mark.parametrize(("value", "units"), [(0.6, 6_000), (0.35, 3_500), (0.29999999, 3_000), (1, UNIT), (0, 0)])
def test_units_are_ten_thousandths(value: float, units: int) -> None:
    assert whole_units(value) == units


def test_hard_similarity_is_1_for_equal_words() -> None:
    assert hard_similarity([7, 3, 7], [7, 3, 7]).tolist() == [[UNIT, 0, UNIT], [0, UNIT, 0], [UNIT, 0, UNIT]]


def test_soft_similarity_is_the_cosine() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8], [-1, 0]], np.float16)
    found = alike([0, 1, 2], vectors, all_known(3), 0.0)
    assert found[0].tolist() == pytest.approx([UNIT, 6_000, -UNIT], abs=3)
    assert found[1, 2] == -found[0, 1]


def test_a_word_is_exactly_as_similar_to_itself_as_can_be() -> None:
    """However its vector was rounded."""
    found = alike(range(40), random_vectors(40, 300), all_known(40), 0.0)
    assert found.diagonal().tolist() == [UNIT] * 40


def test_rescaling_takes_the_baseline_for_zero() -> None:
    vectors = np.array([[1, 0], [0.5, 0.75**0.5], [0, 1]], np.float16)
    plain = alike([0, 1, 2], vectors, all_known(3), 0.0)
    rescaled = alike([0, 1, 2], vectors, all_known(3), 0.5)
    assert rescaled[0].tolist() == [UNIT, 2 * plain[0, 1] - UNIT, -UNIT]


def test_a_word_without_vector_is_alike_to_itself_only() -> None:
    known = np.array([True, False, False, False])
    vectors = np.array([[1, 0], [0, 0], [0, 0], [0, 0]], np.float16)
    found = alike([0, 1, 1, 2], vectors, known, 0.25)
    assert found.tolist() == [[UNIT, 0, 0, 0], [0, UNIT, UNIT, 0], [0, UNIT, UNIT, 0], [0, 0, 0, UNIT]]


def test_a_zero_vector_is_alike_to_nothing() -> None:
    vectors = np.array([[0, 0], [0, 0], [1, 0]], np.float16)
    found = alike([5, 5, 6], vectors, all_known(3), 0.0)
    assert found.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, UNIT]]


def test_products_of_float16_are_exact() -> None:
    vectors = random_vectors(4, 300)
    exact = vectors.astype(np.float64)
    for left in range(4):
        for right in range(4):
            terms = zip(vectors[left].tolist(), vectors[right].tolist(), strict=True)
            total = sum((Fraction(a) * Fraction(b) for a, b in terms), start=Fraction(0))
            assert Fraction(float(exact[left] @ exact[right])) == total


def test_the_order_of_summation_changes_no_byte() -> None:
    """Of so many similarities, some lie so close to a half that the slightest error would round them elsewhere."""
    vectors = random_vectors(200, 768, seed=1)
    generator = np.random.default_rng(2)
    similarities, products = set(), set()
    for _ in range(10):
        shuffled = vectors[:, generator.permutation(768)]
        similarities.add(alike(range(200), shuffled, all_known(200), 0.1).tobytes())
        products.add((shuffled.astype(np.float64) @ shuffled.astype(np.float64).T).tobytes())
    assert len(similarities) == len(products) == 1


# -- where words stand -------------------------------------------------------------------------------------------------


def test_the_first_word_stands_at_0_and_the_last_one_at_the_weight() -> None:
    assert places(2, 500) == [0, 500]
    assert places(5, 500) == [0, 125, 250, 375, 500]
    assert places(4, 500) == [0, 167, 333, 500]


def test_a_half_is_rounded_upwards() -> None:
    assert places(3, 5) == [0, 3, 5]


def test_a_word_that_is_alone_stands_in_the_middle() -> None:
    assert places(1, 500) == [250]


def test_a_weight_of_nothing_keeps_all_words_together() -> None:
    assert places(7, 0) == [0] * 7


def test_words_are_as_far_apart_as_their_places() -> None:
    found = restrain([(0, 1, 2), (0, 1)], np.zeros((5, 5), np.int32), exclusions("abc", ()), 500)
    assert (-found)[:3, 3:].tolist() == [[0, 500], [250, 250], [500, 0]]
    assert found.dtype == np.int32


@pytest.mark.compiled
@pytest.mark.parametrize("weight", [0, 1, 37, 500, 10_000])
def test_the_kernel_finds_the_same_places(weight: int) -> None:
    from polyref.align import kernels

    lengths = [1, 2, 3, 7, 50, 1, 999]
    starts = np.array(list(accumulate(lengths, initial=0)), np.int64)
    expected = [place for length in lengths for place in places(length, weight)]
    assert kernels.places(starts, weight).tolist() == expected


@pytest.mark.parametrize(
    ("left", "right", "plain", "by_position"),
    [
        # Two of three "a" could be the one; the vectors do not tell which.
        ("a cat sits", "a cat near a dog near a wall", [(0, 0), (1, 1)], [(0, 0), (1, 1)]),
        ("cats on a wall", "a horse near a wall", [(2, 0), (3, 4)], [(2, 3), (3, 4)]),
        ("he sleeps .", "he eats . then he sleeps .", [(0, 0), (1, 5), (2, 6)], [(0, 0), (1, 5), (2, 6)]),
        ("it sees it . it runs .", "nobody swims .", [(3, 2)], [(6, 2)]),
    ],
)
def test_a_word_that_occurs_twice_is_linked_where_it_stands_alike(
    left: str, right: str, plain: Any, by_position: Any, engine_name: Any
) -> None:
    encoder = WordVectors(["x"], np.ones((1, 1)))  # none of the words: equal ones are alike, and no others
    for position, links in ((0.0, plain), (AlignSettings().position, by_position)):
        align = AlignSettings("soft", "cosine", 0.5, position=position)
        lattice = Lattice.from_references([left, right], align=align, encoder=encoder, engine=engine_name)
        assert compare(lattice, 0, 1).links == links


def test_equal_words_at_opposite_ends_lose_no_more_than_the_weight(engine_name: Any) -> None:
    encoder = WordVectors(["x"], np.ones((1, 1)))
    for penalty, links in ((0.94, [(0, 4)]), (0.95, [])):
        align = AlignSettings("soft", "cosine", penalty, position=0.05)
        references = ["cat a b c d", "e f g h cat"]
        lattice = Lattice.from_references(references, align=align, encoder=encoder, engine=engine_name)
        assert compare(lattice, 0, 1).links == links


# -- equation 3, on matrices small enough to see through ---------------------------------------------------------------


def hard(left: str, right: str) -> list[list[int]]:
    return [[UNIT if u == v else 0 for v in right] for u in left]


def test_equal_words_are_linked_in_order(aligned: Align) -> None:
    assert aligned(hard("abcd", "xbyd"), HALF) == (UNIT, [(1, 1), (3, 3)])


def test_a_tie_goes_to_the_gap(aligned: Align) -> None:
    assert aligned([[6_000]], 6_000) == (0, [])
    assert aligned([[6_001]], 6_000) == (1, [(0, 0)])


def test_left_word_is_dropped_first(aligned: Align) -> None:
    assert aligned(hard("xx", "x"), HALF)[1] == [(0, 0)]
    # Either "a" or "b" can be linked, not both. Dropping the left reference's last word, "b", leaves "a".
    assert aligned(hard("ab", "ba"), HALF)[1] == [(0, 1)]


def test_right_word_is_dropped_where_the_left_one_is_needed(aligned: Align) -> None:
    assert aligned(hard("x", "xx"), HALF)[1] == [(0, 0)]
    assert aligned(hard("ax", "axx"), HALF)[1] == [(0, 0), (1, 1)]


def test_links_never_cross(aligned: Align) -> None:
    assert aligned([[0, 9_000], [9_500, 0]], HALF) == (4_500, [(1, 0)])


def test_two_weak_links_beat_a_strong_one(aligned: Align) -> None:
    assert aligned([[6_000, 9_000], [0, 7_000]], HALF)[1] == [(0, 1)]
    assert aligned([[8_000, 9_000], [0, 7_000]], HALF)[1] == [(0, 0), (1, 1)]


def test_similarities_below_zero_are_no_links(aligned: Align) -> None:
    assert aligned([[-3_000, -1]], 0) == (0, [])


# -- which pairs are merged --------------------------------------------------------------------------------------------


def plain_plan(references: list[str], merge_order: MergeOrder) -> list[Merge]:
    numbers = [list(map(ord, reference)) for reference in references]
    return plan_merges(numbers, None, UNIT // 2, merge_order)


def compiled_plan(references: list[str], merge_order: MergeOrder) -> list[Merge]:
    from polyref.align import kernels

    words = np.array(list(map(ord, chain(*references))), np.int32)
    starts = np.cumsum([0, *map(len, references)])
    merges, first, links = kernels.plan_merges(
        words, starts, np.zeros((0, 0), np.int32), UNIT // 2, merge_order == "paper"
    )
    parts = [[(u, v) for u, v in links[begin:end].tolist()] for begin, end in pairwise(first)]
    pairs = zip(merges.tolist(), parts, strict=True)
    return [Merge(left, right, part) for (left, right), part in pairs]


@pytest.fixture
def plan(engine_name: str) -> Plan:
    return plain_plan if engine_name == "plain" else compiled_plan


def merged_pairs(merges: list[Merge]) -> list[tuple[int, int]]:
    return [(merge.left, merge.right) for merge in merges]


def test_the_pair_worth_most_comes_first(plan: Plan) -> None:
    assert merged_pairs(plan(["abx", "ayz", "abz"], "tree")) == [(0, 2), (1, 2)]


def test_equal_worth_goes_by_position(plan: Plan) -> None:
    assert merged_pairs(plan(["ab", "ac", "ad", "ae"], "tree")) == [(0, 1), (0, 2), (0, 3)]
    # Either (0, 3) or (1, 2) can join the first two pairs: the left reference decides before the right one.
    assert merged_pairs(plan(["abp", "cdq", "abq", "cdp"], "tree")) == [(0, 2), (1, 3), (0, 3)]


def test_a_merge_carries_the_links_of_its_pair(plan: Plan) -> None:
    assert plan(["xabc", "ayc"], "tree") == [Merge(0, 1, [(1, 0), (3, 2)])]


def test_a_pair_that_a_chain_joins_is_not_merged(plan: Plan) -> None:
    # Worth 2, 2 and 1 links: the third pair would close a ring.
    assert merged_pairs(plan(["abx", "abcd", "ycdx"], "tree")) == [(0, 1), (1, 2)]


def test_a_pair_without_links_joins_nothing(plan: Plan) -> None:
    assert plan(["ab", "cd", "ce"], "tree") == [Merge(1, 2, [(0, 0)])]
    assert plan(["ab", "cd"], "paper") == []


def test_the_papers_order_can_leave_references_apart(plan: Plan) -> None:
    # Two good pairs; what joins them is worth less, and all four have been merged by then.
    references = ["abcx", "abcy", "defx", "defy"]
    assert merged_pairs(plan(references, "tree")) == [(0, 1), (2, 3), (0, 2)]
    assert merged_pairs(plan(references, "paper")) == [(0, 1), (2, 3)]


def test_one_reference_is_merged_with_nothing(plan: Plan) -> None:
    assert plan(["abc"], "tree") == []


# -- what a person can choose -------------------------------------------------------------------------------------


def test_adaptive_penalty_steps_down_to_its_floor() -> None:
    settings = AlignSettings(align="soft", penalty="adaptive")
    assert settings.penalties() == list(range(9_000, 2_999, -500))
    assert settings.enough == 100


def test_the_floor_is_tried_last_even_where_the_steps_miss_it() -> None:
    settings = AlignSettings("soft", penalty="adaptive", penalty_start=0.5, penalty_step=0.2, penalty_floor=0.2)
    assert settings.penalties() == [5_000, 3_000, 2_000]


def test_hard_alignment_does_not_depend_on_the_penalty() -> None:
    assert AlignSettings(penalty=0.1).penalties() == AlignSettings(penalty=0.99).penalties()
    assert AlignSettings(penalty=0.1).shown_penalty(5_000) is None


def test_soft_alignment_shows_its_penalty() -> None:
    settings = AlignSettings(align="soft", penalty=0.6)
    assert [settings.shown_penalty(units) for units in settings.penalties()] == [0.6]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"align": "soggy"}, 'align is "soggy"; choose one of hard, soft'),
        ({"similarity": "dot"}, 'similarity is "dot"; choose one of cosine, rescaled'),
        ({"merge_order": "star"}, 'merge_order is "star"; choose one of tree, paper'),
        ({"penalty": 1.5}, "penalty is 1.5; give a number from 0 to 1, or adaptive"),
        ({"penalty": "low"}, 'penalty is "low"; give a number from 0 to 1, or adaptive'),
        ({"position": -0.1}, "position is -0.1; give a number from 0 to 1"),
        ({"position": float("nan")}, "position is nan"),
        (
            {"veto": ["number"]},
            'veto holds "number"; did you mean numbers? give a list with any of numbers, negation',
        ),
        ({"veto": ["xyz"]}, 'veto holds "xyz"; give a list with any of numbers, negation, marks, contrasts'),
        ({"veto": "numbers"}, 'veto is "numbers"; give a list with any of numbers, negation'),
        ({"penalty_start": 1.5}, "penalty_start is 1.5; give a number from 0 to 1"),
        ({"penalty_floor": -0.1}, "penalty_floor is -0.1; give a number from 0 to 1"),
        ({"penalty_start": 0.2}, "penalty_floor is 0.3, above the penalty_start of 0.2; swap them"),
        ({"penalty_step": 0.00001}, "penalty_step is 1e-05; give a number from 0.0001 to 1"),
        ({"penalty_step": float("inf")}, "penalty_step is inf"),
        ({"at_least": 0}, "at_least is 0; give a whole number, 1 or more"),
        ({"align": "soft", "similarity": "cosine", "baseline": 0.1}, "baseline does not belong to the raw cosine"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        AlignSettings(**wrong)


def test_kinds_of_veto_are_the_same_in_any_order_and_collection() -> None:
    settings = AlignSettings(veto=("marks", "numbers"))
    assert settings == AlignSettings(veto=["numbers", "marks", "numbers"]) == AlignSettings(veto={"marks", "numbers"})
    assert settings.veto == ("numbers", "marks")
    assert hash(settings) == hash(AlignSettings(veto=["numbers", "marks"]))


def test_all_kinds_of_veto_are_on_and_the_position_counts_a_little() -> None:
    assert AlignSettings().veto == ("numbers", "negation", "marks", "contrasts")
    assert 0 < AlignSettings().position <= 0.1


# -- memory ------------------------------------------------------------------------------------------------------------


def test_only_what_lies_between_references_is_filled() -> None:
    starts, vectors, known = [0, 3, 4, 1000, 1100], random_vectors(1100, 8), all_known(1100)
    known[::7] = False
    words = [number % 400 for number in range(1100)]
    whole, found = alike(words, vectors, known, 0.1), soft_similarity(words, vectors, known, 0.1, starts)
    for first, end in pairwise(starts):
        assert (found[first:end, end:] == whole[first:end, end:]).all()
        assert not found[first:end, :end].any()


def test_a_long_reference_beside_a_short_one_takes_little_memory() -> None:
    vectors, known = random_vectors(9990, 8), all_known(9990)
    tracemalloc.start()
    try:
        soft_similarity(range(9990), vectors, known, 0.1, [0, 9980, 9990])
        plan_merges([range(9980), range(10)], None, UNIT // 2, "tree")
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()
