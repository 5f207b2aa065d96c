"""Which pairs are merged, in plain Python and compiled."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise

import numpy as np
import pytest

from polyref.align import UNIT, Merge, MergeOrder, plan_merges
from polyref.align.similarity import hard_similarity

Plan = Callable[[list[str], MergeOrder], tuple[list[Merge], int]]


def plain_plan(references: list[str], merge_order: MergeOrder) -> tuple[list[Merge], int]:
    numbers = [list(map(ord, reference)) for reference in references]
    return plan_merges(numbers, hard_similarity(list(chain(*numbers))), UNIT // 2, merge_order)


def compiled_plan(references: list[str], merge_order: MergeOrder) -> tuple[list[Merge], int]:
    from polyref.align import kernels

    words = np.array(list(map(ord, chain(*references))), np.int32)
    starts = np.cumsum([0, *map(len, references)])
    merges, first, links, pieces = kernels.plan_merges(
        words, starts, np.zeros((0, 0), np.int32), UNIT // 2, merge_order == "paper"
    )
    parts = [[(u, v) for u, v in links[begin:end].tolist()] for begin, end in pairwise(first)]
    pairs = zip(merges.tolist(), parts, strict=True)
    return [Merge(left, right, part) for (left, right), part in pairs], pieces


@pytest.fixture
def plan(engine_name: str) -> Plan:
    return plain_plan if engine_name == "plain" else compiled_plan


def merged_pairs(merges: list[Merge]) -> list[tuple[int, int]]:
    return [(merge.left, merge.right) for merge in merges]


def test_the_pair_worth_most_comes_first(plan: Plan) -> None:
    merges, pieces = plan(["abx", "ayz", "abz"], "tree")
    assert merged_pairs(merges) == [(0, 2), (1, 2)]
    assert pieces == 1


def test_equal_worth_goes_by_position(plan: Plan) -> None:
    assert merged_pairs(plan(["ab", "ac", "ad", "ae"], "tree")[0]) == [(0, 1), (0, 2), (0, 3)]
    # Either (0, 3) or (1, 2) can join the first two pairs: the left reference decides before the right one.
    assert merged_pairs(plan(["abp", "cdq", "abq", "cdp"], "tree")[0]) == [(0, 2), (1, 3), (0, 3)]


def test_a_merge_carries_the_links_of_its_pair(plan: Plan) -> None:
    assert plan(["xabc", "ayc"], "tree")[0] == [Merge(0, 1, [(1, 0), (3, 2)])]


def test_a_pair_that_a_chain_joins_is_not_merged(plan: Plan) -> None:
    # Worth 2, 2 and 1 links: the third pair would close a ring.
    assert merged_pairs(plan(["abx", "abcd", "ycdx"], "tree")[0]) == [(0, 1), (1, 2)]


def test_a_pair_without_links_joins_nothing(plan: Plan) -> None:
    assert plan(["ab", "cd", "ce"], "tree") == ([Merge(1, 2, [(0, 0)])], 2)
    assert plan(["ab", "cd"], "paper") == ([], 2)


def test_the_papers_order_can_leave_pieces(plan: Plan) -> None:
    # Two good pairs; what joins them is worth less, and all four have been merged by then.
    references = ["abcx", "abcy", "defx", "defy"]
    assert merged_pairs(plan(references, "tree")[0]) == [(0, 1), (2, 3), (0, 2)]
    merges, pieces = plan(references, "paper")
    assert merged_pairs(merges) == [(0, 1), (2, 3)]
    assert pieces == 2


def test_one_reference_is_one_piece(plan: Plan) -> None:
    assert plan(["abc"], "tree") == ([], 1)
