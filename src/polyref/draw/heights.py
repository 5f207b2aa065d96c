"""How high each element stands, so that lines run straight where they can.

In:   columns of elements in their order, with the height and the margin of each.
Out:  for each element, its upper edge.
Not:  the order (columns.py), what stands left and right (layout.py).

Neighbours that may stand at one height are tied into blocks, heaviest bundles first; then blocks are moved, one at a
time, to the median of what they are joined to. The median and not the mean: it leaves most lines straight and bends a
few, where the mean would bend all of them a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_ROUNDS = 12
Place = tuple[int, int]  # column, and position in it


@dataclass(frozen=True, slots=True)
class Piece:
    """An element as far as heights go: `ports` says for each line how far under its upper edge it runs."""

    ports: dict[int, float]
    height: float
    margin: float
    passing: bool = False


@dataclass(frozen=True, slots=True)
class _Join:
    """Two pieces in neighbouring columns that share lines: the right one belongs `shift` under the left one."""

    left: Place
    right: Place
    shift: float
    lines: int
    weight: int


def heights(columns: Sequence[Sequence[Piece]]) -> list[list[float]]:
    """The upper edge of each piece; the highest is at 0."""
    joins = _joins(columns)
    block_of, offset = _blocks(columns, joins)
    stack = _Stack(columns, block_of, offset)
    position = stack.middle()
    pulls: dict[int, list[tuple[int, float, int]]] = {}
    for join in joins:
        left, right = block_of[join.left], block_of[join.right]
        if left != right:
            shift = offset[join.left] + join.shift - offset[join.right]
            pulls.setdefault(right, []).append((left, shift, join.lines))
            pulls.setdefault(left, []).append((right, -shift, join.lines))
    for turn in range(_ROUNDS):
        for block in stack.order if turn % 2 else reversed(stack.order):
            if block in pulls:
                low, high = stack.room(block, position)
                wanted = _median([(position[other] + shift, lines) for other, shift, lines in pulls[block]])
                position[block] = min(max(wanted, low), high)
    tops = [[position[block_of[c, n]] + offset[c, n] for n in range(len(column))] for c, column in enumerate(columns)]
    highest = min(min(column) for column in tops if column)
    return [[top - highest for top in column] for column in tops]


def _joins(columns: Sequence[Sequence[Piece]]) -> list[_Join]:
    found = []
    for c, (before, after) in enumerate(pairwise(columns)):
        for n, left in enumerate(before):
            for m, right in enumerate(after):
                shared = left.ports.keys() & right.ports.keys()
                if shared:
                    shift = _median([(left.ports[r] - right.ports[r], 1) for r in sorted(shared)])
                    weight = 4 * len(shared) + 2 * (left.passing + right.passing)
                    found.append(_Join((c, n), (c + 1, m), shift, len(shared), weight))
    return found


def _blocks(columns: Sequence[Sequence[Piece]], joins: Sequence[_Join]) -> tuple[dict[Place, int], dict[Place, float]]:
    """Tie pieces into blocks that keep one height; two ties never cross, so that the blocks can be stacked."""
    after: dict[Place, _Join] = {}
    before: set[Place] = set()
    tied: dict[int, list[tuple[int, int]]] = {}
    for join in sorted(joins, key=lambda join: (-join.weight, join.left, join.right)):
        (column, n), (_, m) = join.left, join.right
        crosses = any((n - a) * (m - b) < 0 for a, b in tied.get(column, ()))
        if join.left not in after and join.right not in before and not crosses:
            after[join.left] = join
            before.add(join.right)
            tied.setdefault(column, []).append((n, m))
    block_of: dict[Place, int] = {}
    offset: dict[Place, float] = {}
    blocks = 0
    for c, pieces in enumerate(columns):
        for n in range(len(pieces)):
            place = (c, n)
            if place not in before:
                block_of[place], offset[place] = blocks, 0.0
                while place in after:
                    join = after[place]
                    block_of[join.right], offset[join.right] = blocks, offset[place] + join.shift
                    place = join.right
                blocks += 1
    return block_of, offset


class _Stack:
    """Which blocks lie on which, and how far apart they must be."""

    def __init__(self, columns: Sequence[Sequence[Piece]], block_of: dict[Place, int], offset: dict[Place, float]):
        self.above: dict[int, dict[int, float]] = {block: {} for block in block_of.values()}
        self.below: dict[int, dict[int, float]] = {block: {} for block in block_of.values()}
        self.top = dict.fromkeys(self.above, 0.0)  # of each block, the least that its position may be
        self.bottom = dict.fromkeys(self.above, 0.0)  # what hangs under its position
        for c, column in enumerate(columns):
            for n, piece in enumerate(column):
                block = block_of[c, n]
                self.top[block] = max(self.top[block], -offset[c, n])
                self.bottom[block] = max(self.bottom[block], offset[c, n] + piece.height)
                if n:
                    upper = block_of[c, n - 1]
                    gap = offset[c, n - 1] + column[n - 1].height + column[n - 1].margin + piece.margin - offset[c, n]
                    self.above[block][upper] = max(gap, self.above[block].get(upper, gap))
                    self.below[upper][block] = self.above[block][upper]
        self.order = self._from_top()

    def _from_top(self) -> list[int]:
        waiting = {block: len(above) for block, above in self.above.items()}
        ready = [block for block, count in waiting.items() if not count]
        order = []
        while ready:
            block = ready.pop()
            order.append(block)
            for lower in self.below[block]:
                waiting[lower] -= 1
                if not waiting[lower]:
                    ready.append(lower)
        return order

    def middle(self) -> dict[int, float]:
        """Half way between as high as possible and as low as possible; both keep the distances, so this does."""
        high: dict[int, float] = {}
        for block in self.order:
            high[block] = max([self.top[block], *(high[upper] + gap for upper, gap in self.above[block].items())])
        self.total = max(high[block] + self.bottom[block] for block in high)
        low: dict[int, float] = {}
        for block in reversed(self.order):
            most = self.total - self.bottom[block]
            low[block] = min([most, *(low[lower] - gap for lower, gap in self.below[block].items())])
        return {block: (high[block] + low[block]) / 2 for block in self.order}

    def room(self, block: int, position: dict[int, float]) -> tuple[float, float]:
        """The least and the most that a block's position may be while the others stay where they are."""
        least = max([self.top[block], *(position[upper] + gap for upper, gap in self.above[block].items())])
        most = min(
            [
                self.total - self.bottom[block],
                *(position[lower] - gap for lower, gap in self.below[block].items()),
            ]
        )
        return least, max(least, most)


def _median(weighted: Sequence[tuple[float, int]]) -> float:
    """The lower weighted median."""
    ordered = sorted(weighted)
    half = sum(weight for _, weight in ordered) / 2
    for value, weight in ordered:
        half -= weight
        if half <= 0:
            return value
    raise AssertionError("no values")
