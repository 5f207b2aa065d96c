"""Where everything is drawn: stations with their boxes, and lines in short stretches.

In:   a network.
Out:  a map in points, wrapped into rows where it would be too wide. Nothing overlaps: labels stand in columns, and
      lines bend in the gaps between columns only.
Not:  colours and file formats (svg.py, tikz.py), what is written around the map (figure.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polyref.draw.columns import Column, Element, arrange
from polyref.draw.heights import Piece, heights
from polyref.draw.measure import text_width
from polyref.draw.network import Kind, Network

FONT = 14.0
WORD_HEIGHT = 25.0
WIDEST_ROW = 1700.0
BADGE = 8.5  # the radius of a reference's letter at the head of its line
_GAPS_TRIED = (26.0, 34.0, 44.0, 56.0)  # how wide the gap between two columns may turn out, on average
LEAD_IN = (0, 0)  # the edge of a line between its letter and the first node or column of a row
_WORD_PADDING = 9.0
_BADGE_PITCH = 20.0
_ROW_GAP = 44.0
_RUN_OUT = 26.0  # how far lines go on where a row ends before they do
_WIDTH: dict[Kind, float] = {"start": 11.0, "crossing": 11.0, "end": 5.0}
_MARGIN: dict[Kind, float] = {"start": 4.0, "crossing": 5.0, "end": 5.0, "word": 4.5}


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        apart_x = self.x + self.width <= other.x or other.x + other.width <= self.x
        return not (apart_x or self.y + self.height <= other.y or other.y + other.height <= self.y)

    def moved(self, x: float, y: float) -> Box:
        return Box(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Station:
    """A node where it is drawn; a word's label fits into its box."""

    node: int
    kind: Kind
    label: str
    references: tuple[int, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a reference's line, level at both ends. `edge`: the nodes that it leads from and to."""

    reference: int
    edge: tuple[int, int]
    x1: float
    y1: float
    x2: float
    y2: float


def strokes(stretches: Iterable[Stretch]) -> Iterator[tuple[bool, Stretch]]:
    """Each stretch that has a length, and whether a stroke begins with it: it does not go on from the one before."""
    at: tuple[int, float, float] | None = None
    for stretch in stretches:
        if stretch.x1 != stretch.x2:
            yield at != (stretch.reference, stretch.x1, stretch.y1), stretch
            at = (stretch.reference, stretch.x2, stretch.y2)


@dataclass(frozen=True, slots=True)
class Badge:
    """A reference's letter at the head of its line, at the start of a row."""

    reference: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Map:
    """Everything lies between 0 and `width`, 0 and `height`. Stretches are in order for each reference and row."""

    width: float
    height: float
    pitch: float  # from a line to the next one beside it
    stations: list[Station]
    stretches: list[Stretch]
    badges: list[Badge]


def lay_out(network: Network, widest: float = WIDEST_ROW) -> Map:
    """The map of a network; it does not depend on which sentence is highlighted."""
    columns = arrange(network)
    pitch = 6.0 if len(network.lines) <= 6 else 5.0
    widths = [max(_node_width(network, element) for element in column) for column in columns]
    for gap in _GAPS_TRIED:
        cuts = _rows(columns, widths, widest, gap)
        rows = [_Row(network, columns, widths, pitch, first, end) for first, end in cuts]
        if max(row.width for row in rows) <= widest:
            break
    stations: list[Station] = []
    stretches: list[Stretch] = []
    badges: list[Badge] = []
    top = 0.0
    for row in rows:
        stations += row.stations(top)
        stretches += row.stretches(top)
        badges += row.badges(top)
        top += row.height + _ROW_GAP
    return Map(max(row.width for row in rows), top - _ROW_GAP, pitch, stations, stretches, badges)


def _node_width(network: Network, element: Element) -> float:
    if element.node is None:
        return 0.0
    node = network.nodes[element.node]
    if node.kind == "word":
        return max(WORD_HEIGHT, text_width(node.label, FONT, bold=True) + 2 * _WORD_PADDING)
    return _WIDTH[node.kind]


def _rows(columns: Sequence[Column], widths: Sequence[float], widest: float, gap: float) -> list[tuple[int, int]]:
    """The columns of each row: as few rows as possible, alike in length, cut where few lines run side by side."""
    ends = [0.0]
    for width in widths:
        ends.append(ends[-1] + width + gap)
    count = int(ends[-1] // widest) + 1
    even = ends[-1] / count
    cost: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
    for _ in range(count):
        reached: dict[int, tuple[float, int]] = {}
        for end in range(1, len(columns) + 1):
            side_by_side = 0 if end == len(columns) else len(columns[end - 1])
            for first, (before, _) in cost[-1].items():
                length = ends[end] - ends[first]
                if first < end and length <= max(1.3 * even, widths[end - 1] + gap):
                    uneven = (length / even - 1) ** 2
                    total = before + 10 * uneven + 0.3 * side_by_side
                    if end not in reached or total < reached[end][0]:
                        reached[end] = (total, first)
        cost.append(reached)
    if len(columns) not in cost[-1]:
        return [(0, len(columns))]  # labels too long to be shared out evenly
    cuts = [len(columns)]
    for reached in reversed(cost[1:]):
        cuts.append(reached[cuts[-1]][1])
    return list(pairwise(reversed(cuts)))


class _Row:
    """Some columns, drawn from the left margin; each line begins at its letter."""

    def __init__(
        self,
        network: Network,
        columns: Sequence[Column],
        widths: Sequence[float],
        pitch: float,
        first: int,
        end: int,
    ):
        self.network = network
        self.pitch = pitch
        self.columns = list(columns[first:end])
        self.widths = list(widths[first:end])
        self.after = columns[end] if end < len(columns) else []
        if first:
            # A row that goes on from the one above begins with all its lines apart, each at its letter.
            order = [r for element in columns[first] for r in element.references]
            self.columns.insert(0, [Element((r,), None, LEAD_IN) for r in order])
            self.widths.insert(0, 0.0)
        pieces = [[self._piece(element, c) for element in column] for c, column in enumerate(self.columns)]
        self.tops = heights(pieces)
        self.at = [
            {r: top + port for top, piece in zip(tops, column, strict=True) for r, port in piece.ports.items()}
            for tops, column in zip(self.tops, pieces, strict=True)
        ]
        self.pieces = pieces
        lowest = [t + p.height for ts, ps in zip(self.tops, pieces, strict=True) for t, p in zip(ts, ps, strict=True)]
        self.height = max(lowest)
        self.x = self._columns_from_the_left()
        self.width = self.x[-1] + self.widths[-1] + (_RUN_OUT if self.after else 2.0)

    def _piece(self, element: Element, column: int) -> Piece:
        count = len(element.references)
        if column == 0:
            height = (count - 1) * _BADGE_PITCH + 2 * BADGE
            ports = {r: BADGE + n * _BADGE_PITCH for n, r in enumerate(element.references)}
            return Piece(ports, height, (_BADGE_PITCH - 2 * BADGE) / 2)
        across = (count - 1) * self.pitch
        if element.node is None:
            return Piece({r: n * self.pitch for n, r in enumerate(element.references)}, across, 6.5, passing=True)
        kind = self.network.nodes[element.node].kind
        height = max(across + (13.0 if kind == "word" else 11.0), WORD_HEIGHT if kind == "word" else 0.0)
        upper = (height - across) / 2
        return Piece({r: upper + n * self.pitch for n, r in enumerate(element.references)}, height, _MARGIN[kind])

    def _columns_from_the_left(self) -> list[float]:
        x = [2 * BADGE + (6.0 if self.network.nodes and self.widths[0] else 2.0)]
        for c, (before, after) in enumerate(pairwise(self.at)):
            steepest = max((abs(before[r] - after[r]) for r in before.keys() & after.keys()), default=0.0)
            x.append(x[-1] + self.widths[c] + min(max(18.0, 14.0 + 0.42 * steepest), 70.0))
        return x

    def stations(self, top: float) -> list[Station]:
        found = []
        for c, column in enumerate(self.columns):
            for n, element in enumerate(column):
                if element.node is not None:
                    node = self.network.nodes[element.node]
                    width = _node_width(self.network, element)
                    x = self.x[c] + (self.widths[c] - width) / 2
                    box = Box(x, top + self.tops[c][n], width, self.pieces[c][n].height)
                    found.append(Station(element.node, node.kind, node.label, element.references, box))
        return found

    def badges(self, top: float) -> list[Badge]:
        return [Badge(r, BADGE, top + y) for r, y in self.at[0].items()]

    def stretches(self, top: float) -> list[Stretch]:
        return [stretch for reference in sorted(self.at[0]) for stretch in self._stretches_of(reference, top)]

    def _stretches_of(self, reference: int, top: float) -> Iterator[Stretch]:
        """A line from its letter to its end, or to where the row ends. Inside a node's column it is cut at the node."""
        x, y, edge = BADGE, top + self.at[0][reference], LEAD_IN
        for c, column in enumerate(self.columns):
            element = _of_line(column, reference)
            if element is None:
                return
            here = top + self.at[c][reference]
            yield Stretch(reference, edge, x, y, self.x[c], here)
            beside = self.columns[c + 1] if c + 1 < len(self.columns) else self.after
            middle, right = self.x[c] + self.widths[c] / 2, self.x[c] + self.widths[c]
            yield Stretch(reference, edge, self.x[c], here, middle, here)
            after = _of_line(beside, reference)
            if after is None:
                return  # it ends here
            is_lead_in = c == 0 and element.node is None
            edge = LEAD_IN if is_lead_in else (element.edge[0], after.edge[1])
            yield Stretch(reference, edge, middle, here, right, here)
            x, y = right, here
        yield Stretch(reference, edge, x, y, x + _RUN_OUT, y)


def _of_line(column: Column, reference: int) -> Element | None:
    return next((element for element in column if reference in element.references), None)
