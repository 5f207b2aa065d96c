"""The lattice as a railway: words are stations, and each reference is a line that runs through its own.

In:   a lattice.
Out:  nodes, the nodes that each reference or any other sentence runs through, and columns of them in an order with few
      crossings.
Not:  distances (layout.py).

Several words may lead to a state, and several go on from it. Where there is only one of either, its station is where
the others meet; where there are more on both sides, the lines run through a crossing. So every sentence of the lattice
runs along lines of the references, and changes between them at stations and crossings only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Literal

from polyref.draw.style import runs_leftward, shortened
from polyref.lattice import START
from polyref.text.tokens import join

if TYPE_CHECKING:
    from polyref.lattice import Lattice

Kind = Literal["start", "word", "crossing", "end"]
_SWEEPS = 12
# Two lines that run side by side and change places on the way cost as much as three crossings elsewhere.
_TWIST = 3


def reference_texts(lattice: Lattice) -> list[str]:
    """The gold references, with single spaces between their words."""
    texts = [join(zip(tokens.surfaces, tokens.spaces, strict=True)) for tokens in lattice.tokens]
    return [" ".join(text.split()) for text in texts]


def arc_surfaces(lattice: Lattice) -> list[str]:
    """For each arc, its word as most references write it; as the first one does if they are even."""
    written: list[Counter[str]] = [Counter() for _ in lattice.arcs]
    for way, tokens in zip(lattice.ways, lattice.tokens, strict=True):
        for arc, surface in zip(way, tokens.surfaces, strict=True):
            written[arc][surface] += 1
    return [surfaces.most_common(1)[0][0] for surfaces in written]


@dataclass(frozen=True, slots=True)
class Node:
    """Words and ends stand in odd columns, the start and crossings in even ones."""

    kind: Kind
    label: str
    column: int


@dataclass(frozen=True, slots=True)
class Network:
    """Node 0 is the start. `lines`: for each reference, its nodes in order. The rest leads from lattice to nodes."""

    nodes: list[Node]
    lines: list[list[int]]
    word_nodes: list[int]  # for each arc
    crossings: dict[int, int]  # by state
    ends: dict[int, int]  # by final state
    targets: list[int]  # for each arc, its state
    leftward: bool  # whether its language is written from right to left

    def way(self, arcs: Iterable[int]) -> list[int]:
        """The nodes of a sentence that is given by its arcs."""
        way = [0]
        state = START
        for arc in arcs:
            way.append(self.word_nodes[arc])
            state = self.targets[arc]
            if state in self.crossings:
                way.append(self.crossings[state])
        return [*way, self.ends[state]]


def network_of(lattice: Lattice) -> Network:
    """The railway of a lattice."""
    arcs = lattice.arcs
    columns = _state_columns([(arc.source, arc.target) for arc in arcs], lattice.states)
    ins, outs = Counter(arc.target for arc in arcs), Counter(arc.source for arc in arcs)
    outs.update(lattice.finals)
    labels = arc_surfaces(lattice)
    targets = [arc.target for arc in arcs]
    network = Network([Node("start", "", 0)], [], [], {}, {}, targets, runs_leftward(labels))
    nodes = network.nodes
    for arc, label in zip(arcs, labels, strict=True):
        network.word_nodes.append(len(nodes))
        first, last = 2 * columns[arc.source] + 1, 2 * columns[arc.target] - 1
        nodes.append(Node("word", label, first + (last - first) // 4 * 2))
    for state in range(1, lattice.states):
        if ins[state] > 1 and outs[state] > 1:
            network.crossings[state] = len(nodes)
            nodes.append(Node("crossing", "", 2 * columns[state]))
    for state in sorted(lattice.finals):
        network.ends[state] = len(nodes)
        nodes.append(Node("end", "", 2 * columns[state] + 1))
    network.lines.extend(network.way(way) for way in lattice.ways)
    return network


def _state_columns(arcs: Sequence[tuple[int, int]], count: int) -> list[int]:
    """A column for each state: half way between the first one possible and the last one.

    So a short alternative stands in the middle below a long one. A sentence's last words stay where it leaves the
    others: there is nothing behind them that they could be in the middle of.
    """
    earliest = [0] * count
    for source, target in sorted(arcs):
        earliest[target] = max(earliest[target], earliest[source] + 1)
    going_on = {source for source, _ in arcs}
    latest = [max(earliest) if state in going_on else earliest[state] for state in range(count)]
    for source, target in sorted(arcs, reverse=True):
        latest[source] = min(latest[source], latest[target] - 1)
    return [(first + last) // 2 for first, last in zip(earliest, latest, strict=True)]


def way_of(lattice: Lattice, network: Network, words: Sequence[str]) -> tuple[int, ...]:
    """The nodes of a sentence. Of several ways, one that stays with the same references as long as it can."""
    arcs = lattice.arcs
    state, with_us, way = START, set(range(len(lattice.tokens))), []
    for possible in lattice.arcs_along(words):
        fitting = [n for n in possible if arcs[n].source == state]
        chosen = max(fitting, key=lambda n: (len(with_us & set(arcs[n].references)), len(arcs[n].references), -n))
        way.append(chosen)
        with_us = (with_us & set(arcs[chosen].references)) or set(arcs[chosen].references)
        state = arcs[chosen].target
    return tuple(network.way(way))


def word_twice(network: Network) -> str | None:
    """Why a word stands twice, in a sentence with an example; None where none does."""
    seen = Counter(node.label.casefold() for node in network.nodes if node.kind == "word")
    twice = [word for word, count in seen.items() if count > 1]
    if not twice:
        return None
    such = shortened(max(twice, key=lambda word: (len(word), -seen[word])))
    return f"A word that stands twice, such as “{such}”, is two stations, since what comes before or after it differs."


@dataclass(frozen=True, slots=True)
class Element:
    """`references`: the lines through it, from top to bottom. `node` is None where they pass from `edge` to `edge`."""

    references: tuple[int, ...]
    node: int | None
    edge: tuple[int, int]


Column = list[Element]  # from top to bottom
Group = dict[int, tuple[int, int]]  # for each line in a column, the edge that it is on; (n, n) at node n


def arrange(network: Network) -> list[Column]:
    """The columns of a network, each in an order that keeps crossings few. The same network gives the same order.

    In the first column, where the letters are, lines are in the order of the references.
    """
    groups = _groups(network)
    orders = best = [_regrouped(group, dict.fromkeys(group, 0)) for group in groups]
    fewest: int | None = None
    for sweep in range(_SWEEPS):
        _sweep(groups, orders, forward=sweep % 2 == 0)
        _swap_neighbours(groups, orders)
        crossings = sum(_crossings(groups, orders, left) for left in range(len(groups) - 1))
        if fewest is None or crossings < fewest:
            fewest, best = crossings, list(orders)
        if not fewest:
            break
    return [
        [
            Element(tuple(lines), edge[0] if edge[0] == edge[1] else None, edge)
            for edge, lines in groupby(order, group.__getitem__)
        ]
        for group, order in zip(groups, best, strict=True)
    ]


def _groups(network: Network) -> list[Group]:
    """For each column in use, what each line is at there."""
    used = {column: number for number, column in enumerate(sorted({node.column for node in network.nodes}))}
    place = [used[node.column] for node in network.nodes]
    groups: list[Group] = [{} for _ in used]
    for reference, line in enumerate(network.lines):
        for node, after in pairwise([*line, line[-1]]):
            groups[place[node]][reference] = (node, node)
            for column in range(place[node] + 1, place[after]):
                groups[column][reference] = (node, after)
    return groups


def _regrouped(group: Group, wanted: Mapping[int, float]) -> list[int]:
    """The lines of a column in the wanted order, but those of one element together."""
    members: dict[tuple[int, int], list[int]] = {}
    for reference in sorted(group, key=lambda r: (wanted[r], r)):
        members.setdefault(group[reference], []).append(reference)
    mean = {element: sum(wanted[r] for r in of_one) / len(of_one) for element, of_one in members.items()}
    return [r for element in sorted(members, key=lambda e: (mean[e], members[e][0])) for r in members[element]]


def _sweep(groups: Sequence[Group], orders: list[list[int]], *, forward: bool) -> None:
    """Order each column by the one before it, or behind it: each element where its lines are on average."""
    columns = range(1, len(groups)) if forward else range(len(groups) - 2, 0, -1)
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
    for column in range(1, len(groups)):
        beside = [other for other in (column - 1, column + 1) if other < len(groups)]
        ranks = [{reference: n for n, reference in enumerate(orders[other])} for other in beside]
        sides = list(zip([groups[other] for other in beside], ranks, strict=True))
        while (better := _better_order(groups[column], orders[column], sides)) is not None:
            orders[column] = better


def _better_order(group: Group, order: list[int], sides: Sequence[tuple[Group, dict[int, int]]]) -> list[int] | None:
    """The first order with fewer crossings that swaps two neighbours: two elements, or two lines in one element."""

    def saved(above: Sequence[int], below: Sequence[int]) -> int:
        """What it saves to swap them: only crossings between the two change. `sides` are the columns beside theirs."""
        gain = 0
        for other, rank in sides:
            for upper in above:
                for lower in below:
                    if upper in rank and lower in rank:
                        together = group[upper] == group[lower] and other[upper] == other[lower]
                        cost = _TWIST if together else 1
                        gain += cost if rank[upper] > rank[lower] else -cost
        return gain

    blocks = [list(lines) for _, lines in groupby(order, group.__getitem__)]
    for n, (above, below) in enumerate(pairwise(blocks)):
        if saved(above, below) > 0:
            return [r for block in (*blocks[:n], below, above, *blocks[n + 2 :]) for r in block]
    for n, (upper, lower) in enumerate(pairwise(order)):
        if group[upper] == group[lower] and saved([upper], [lower]) > 0:
            return [*order[:n], lower, upper, *order[n + 2 :]]
    return None
