"""The lattice as a railway: words are stations, and each reference is a line that runs through its own.

In:   a lattice.
Out:  nodes, and the nodes that each reference, or any other sentence of the lattice, runs through.
Not:  where they are drawn (columns.py, heights.py, layout.py).

Several words may lead to a state, and several go on from it. Where there is but one of either, its station is where
the others meet; where there are more on both sides, the lines run through a crossing. So every sentence of the lattice
runs along lines of the references, and changes between them at stations and crossings only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from polyref.draw.surfaces import arc_surfaces
from polyref.lattice.build import START

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice

Kind = Literal["start", "word", "crossing", "end"]


@dataclass(frozen=True, slots=True)
class Node:
    """`earliest` and `latest` are the first and the last column that it may stand in: words and ends in odd ones."""

    kind: Kind
    label: str
    references: tuple[int, ...]
    earliest: int
    latest: int


@dataclass(slots=True)
class Network:
    """`lines`: for each reference, its nodes in order. The other fields lead from the lattice to the nodes."""

    nodes: list[Node]
    word_nodes: list[int]  # for each arc
    crossings: dict[int, int]  # by state
    ends: dict[int, int]  # by final state
    targets: list[int]  # for each arc, its state
    lines: list[list[int]] = field(default_factory=list)

    def way(self, arcs: Iterable[int]) -> list[int]:
        """The nodes of a sentence that is given by its arcs."""
        way = [0]
        state = START
        for arc in arcs:
            if state in self.crossings:
                way.append(self.crossings[state])
            way.append(self.word_nodes[arc])
            state = self.targets[arc]
        if state in self.crossings:
            way.append(self.crossings[state])
        return [*way, self.ends[state]]


def network_of(lattice: Lattice) -> Network:
    """The railway of a lattice. Node 0 is the start."""
    arcs, finals, count = lattice.arcs, sorted(lattice.finals), lattice.states
    columns = _state_columns([(arc.source, arc.target) for arc in arcs], count)
    through: list[set[int]] = [set() for _ in range(count)]
    ins, outs = [0] * count, [0] * count
    for arc in arcs:
        ins[arc.target] += 1
        outs[arc.source] += 1
        through[arc.source].update(arc.references)
        through[arc.target].update(arc.references)
    ending: dict[int, list[int]] = {state: [] for state in finals}
    for reference, way in enumerate(lattice.ways):
        ending[arcs[way[-1]].target].append(reference)

    nodes = [Node("start", "", tuple(range(len(lattice.ways))), 0, 0)]
    network = Network(nodes, [], {}, {}, [arc.target for arc in arcs])
    for arc, label in zip(arcs, arc_surfaces(lattice), strict=True):
        network.word_nodes.append(len(nodes))
        earliest, latest = 2 * columns[arc.source] + 1, 2 * columns[arc.target] - 1
        nodes.append(Node("word", label, arc.references, earliest, latest))
    for state in range(1, count):
        if ins[state] > 1 and outs[state] + (state in ending) > 1:
            network.crossings[state] = len(nodes)
            column = 2 * columns[state]
            nodes.append(Node("crossing", "", tuple(sorted(through[state])), column, column))
    for state in finals:
        network.ends[state] = len(nodes)
        column = 2 * columns[state] + 1
        nodes.append(Node("end", "", tuple(ending[state]), column, column))
    network.lines = [network.way(way) for way in lattice.ways]
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
