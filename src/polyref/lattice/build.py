"""Merge references into one lattice (Section 3.3 of the paper).

In:   the references, and the merges with their links.
Out:  for each word of each reference, the state behind it; states numbered so that every arc goes upwards.
Not:  which words are linked (align/), telling sentences apart (determinise.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from polyref.align import Merge

START = 0


@dataclass(frozen=True, slots=True)
class States:
    """Where the words of the references run: word k, counted over all references, ends in state after[k]."""

    after: list[int]
    count: int


def build(references: Sequence[Sequence[int]], merges: Sequence[Merge]) -> States:
    """Merge the states before and behind each link, from left to right, wherever that closes no cycle."""
    starts = list(accumulate(map(len, references), initial=0))
    states = _Mergeable(starts)
    for left, right, links in merges:
        for u, v in links:
            states.merge(states.before(left, u), states.before(right, v))
            states.merge(states.before(left, u + 1), states.before(right, v + 1))
    return states.numbered()


class _Mergeable:
    """States under merging. State k + 1 stands behind word k; each keeps the set of states that it reaches.

    The sets are the bits of whole numbers. Bits of states that were merged away stay set, and nobody asks for them.
    """

    def __init__(self, starts: list[int]):
        self.starts = starts
        self.size = starts[-1] + 1
        self.parent = list(range(self.size))
        self.reach = [0] * self.size
        for first, end in pairwise(starts):
            for state in range(end, first, -1):
                later = 0 if state == end else self.reach[state + 1] | 1 << (state + 1)
                self.reach[state] = later
        self.reach[START] = (1 << self.size) - 2

    def before(self, reference: int, position: int) -> int:
        return START if position == 0 else self.starts[reference] + position

    def find(self, state: int) -> int:
        while self.parent[state] != state:
            state = self.parent[state]
        return state

    def merge(self, first: int, second: int) -> None:
        keep, drop = sorted((self.find(first), self.find(second)))
        if keep == drop or self.reach[keep] >> drop & 1 or self.reach[drop] >> keep & 1:
            return
        self.parent[drop] = keep
        both = self.reach[keep] | self.reach[drop]
        self.reach[keep] = both
        either = 1 << keep | 1 << drop
        for state in range(self.size):
            if self.reach[state] & either:
                self.reach[state] |= both | 1 << keep

    def numbered(self) -> States:
        """Number the states by how many others they reach, most first: so an arc always goes upwards."""
        kept = [state for state in range(self.size) if self.parent[state] == state]
        alive = sum(1 << state for state in kept)
        kept.sort(key=lambda state: -(self.reach[state] & alive).bit_count())
        number = {state: n for n, state in enumerate(kept)}
        return States([number[self.find(state)] for state in range(1, self.size)], len(kept))
