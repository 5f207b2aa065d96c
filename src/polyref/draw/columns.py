"""Who stands in which column, and in which order from top to bottom: few crossings.

In:   a network.
Out:  columns of elements. An element is a node, or the stretch of a line between two nodes that passes a column by.
Not:  distances (heights.py, layout.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from polyref.draw.network import Network

_SWEEPS = 12
# Two lines that run side by side and change places on the way cost as much as three crossings elsewhere.
_TWIST = 3


@dataclass(frozen=True, slots=True)
class Element:
    """`references`: the lines through it, from top to bottom. `node` is None where they pass from `edge` to `edge`."""

    references: tuple[int, ...]
    node: int | None
    edge: tuple[int, int]


Column = list[Element]  # from top to bottom


def arrange(network: Network) -> list[Column]:
    """The columns of a network, each in an order that keeps crossings few. The same network gives the same order."""
    groups = _groups(network)
    orders = best = [_regrouped(group, dict.fromkeys(group, 0)) for group in groups]
    fewest = -1
    for sweep in range(_SWEEPS):
        _sweep(groups, orders, forward=sweep % 2 == 0)
        _swap_neighbours(groups, orders)
        crossings = sum(_crossings(groups, orders, left) for left in range(len(groups) - 1))
        if fewest < 0 or crossings < fewest:
            fewest, best = crossings, [list(order) for order in orders]
        if not fewest:
            break
    return [_column(group, order) for group, order in zip(groups, best, strict=True)]


Group = dict[int, tuple[int, int]]  # for each line in a column, the edge that it is on; (n, n) at node n


def _groups(network: Network) -> list[Group]:
    """For each column in use, what each line is at there."""
    place = [_middle_column(node.earliest, node.latest) for node in network.nodes]
    used = {column: number for number, column in enumerate(sorted(set(place)))}
    groups: list[Group] = [{} for _ in used]
    for reference, line in enumerate(network.lines):
        for node, after in pairwise([*line, line[-1]]):
            groups[used[place[node]]][reference] = (node, node)
            for column in range(used[place[node]] + 1, used[place[after]]):
                groups[column][reference] = (node, after)
    return groups


def _middle_column(earliest: int, latest: int) -> int:
    """The middle one, of the same sort: words stand in odd columns, crossings in even ones."""
    return earliest + (latest - earliest) // 4 * 2


def _regrouped(group: Group, wanted: dict[int, float] | dict[int, int]) -> list[int]:
    """The lines of a column in the wanted order, but those of one element together."""
    members: dict[tuple[int, int], list[int]] = {}
    for reference in sorted(group, key=lambda r: (wanted[r], r)):
        members.setdefault(group[reference], []).append(reference)
    mean = {element: sum(wanted[r] for r in of_one) / len(of_one) for element, of_one in members.items()}
    return [r for element in sorted(members, key=lambda e: (mean[e], members[e][0])) for r in members[element]]


def _sweep(groups: Sequence[Group], orders: list[list[int]], *, forward: bool) -> None:
    """Order each column by the one before it, or behind it: each element where its lines are on average."""
    columns = range(1, len(groups)) if forward else range(len(groups) - 2, -1, -1)
    for column in columns:
        beside = orders[column - 1 if forward else column + 1]
        here = orders[column]
        # A line that has ended stays where it is, measured in shares of the column.
        wanted: dict[int, float] = {r: n / len(here) for n, r in enumerate(here)}
        wanted |= {r: n / len(beside) for n, r in enumerate(beside) if r in wanted}
        orders[column] = _regrouped(groups[column], wanted)


def _crossings(groups: Sequence[Group], orders: Sequence[Sequence[int]], left: int) -> int:
    """What the crossings between a column and the next one cost."""
    before, after = groups[left], groups[left + 1]
    rank = {reference: n for n, reference in enumerate(orders[left + 1])}
    lines = [reference for reference in orders[left] if reference in rank]
    cost = 0
    for n, upper in enumerate(lines):
        for lower in lines[n + 1 :]:
            if rank[upper] > rank[lower]:
                together = before[upper] == before[lower] and after[upper] == after[lower]
                cost += _TWIST if together else 1
    return cost


def _swap_neighbours(groups: Sequence[Group], orders: list[list[int]]) -> None:
    """Swap elements that stand next to each other, and lines inside an element, wherever that saves crossings."""

    def cost(column: int) -> int:
        return sum(_crossings(groups, orders, left) for left in (column - 1, column) if 0 <= left < len(groups) - 1)

    for column, group in enumerate(groups):
        now = cost(column)
        if not now:
            continue
        better = True
        while better:
            better = False
            for swapped in _neighbours_swapped(group, orders[column]):
                before, orders[column] = orders[column], swapped
                then = cost(column)
                if then < now:
                    now, better = then, True
                    break
                orders[column] = before


def _neighbours_swapped(group: Group, order: Sequence[int]) -> list[list[int]]:
    """Every order that swaps two elements next to each other, or two lines next to each other in one element."""
    blocks: list[list[int]] = []
    for reference in order:
        if blocks and group[blocks[-1][0]] == group[reference]:
            blocks[-1].append(reference)
        else:
            blocks.append([reference])
    found = []
    for n in range(len(blocks) - 1):
        swapped = [*blocks[:n], blocks[n + 1], blocks[n], *blocks[n + 2 :]]
        found.append([r for block in swapped for r in block])
    found += [
        [*order[:n], order[n + 1], order[n], *order[n + 2 :]]
        for n in range(len(order) - 1)
        if group[order[n]] == group[order[n + 1]]
    ]
    return found


def _column(group: Group, order: Sequence[int]) -> Column:
    lines: dict[tuple[int, int], list[int]] = {}
    for reference in order:
        lines.setdefault(group[reference], []).append(reference)
    return [
        Element(tuple(references), edge[0] if edge[0] == edge[1] else None, edge) for edge, references in lines.items()
    ]
