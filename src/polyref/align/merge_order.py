"""Which pairs of references are merged, and in which order.

In:   the references of an example, each different from the others, and their words' similarity.
Out:  the pairs to merge, best first, with their links; and how many pieces they leave.
Not:  merging states (lattice/build.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations
from typing import Literal, NamedTuple

from polyref.align.pairwise import Links, Table, fill, trace_back
from polyref.align.similarity import Matrix

MergeOrder = Literal["tree", "paper"]


class Merge(NamedTuple):
    left: int
    right: int
    links: Links


def plan_merges(
    references: Sequence[Sequence[int]], similarity: Matrix, penalty: int, merge_order: MergeOrder
) -> tuple[list[Merge], int]:
    """The merges in order, and the number of pieces that the links leave the references in.

    Pairs are taken by the worth of their alignment, ties by position. "tree" merges a pair unless merged pairs
    already join its two references by a chain; "paper" unless both its references have been merged with something.
    """
    starts = list(accumulate(map(len, references), initial=0))
    tables: dict[tuple[int, int], Table] = {}
    for left, right in combinations(range(len(references)), 2):
        block = similarity[starts[left] : starts[left + 1], starts[right] : starts[right + 1]]
        tables[left, right] = fill(block.tolist(), penalty)
    by_worth = sorted(tables, key=lambda pair: (-tables[pair][-1][-1], pair))

    merges = []
    piece = list(range(len(references)))
    merged = [False] * len(references)
    for left, right in by_worth:
        if tables[left, right][-1][-1] == 0:
            break  # no links from here on, so there is nothing to join
        joined = merged[left] and merged[right] if merge_order == "paper" else piece[left] == piece[right]
        if joined:
            continue
        merges.append(Merge(left, right, trace_back(tables[left, right])))
        merged[left] = merged[right] = True
        old, new = piece[right], piece[left]
        piece = [new if number == old else number for number in piece]
    return merges, len(set(piece))
