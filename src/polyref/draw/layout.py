"""Where everything is drawn: stations with their boxes, and lines in short stretches.

In:   a network.
Out:  a map in points, wrapped into rows where it would be too wide. Nothing overlaps: labels stand in columns, and
      lines bend in the gaps between columns only.
Not:  the order in a column (network.py), file formats (svg.py, export.py), what is written around it (figure.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise, takewhile

from polyref.draw.network import Column, Element, Kind, Network, arrange
from polyref.draw.style import shortened, text_width

FONT = 14.0
WORD_HEIGHT = 25.0
WIDEST_ROW = 868.0  # with its margins, a picture is as wide as a page shows it: 900 points
BADGE = 8.5  # the radius of a reference's letter at the head of its line
_GAPS_TRIED = (22.0, 26.0, 34.0, 44.0, 56.0)  # how wide the gap between two columns may turn out, on average
_WORD_PADDING = 7.0
_BADGE_PITCH = 20.0
_ROW_GAP = 44.0
_ROUNDS = 12
_RUN_OUT = 26.0  # how far lines go on where a row ends before they do
_WIDTH: dict[Kind, float] = {"start": 11.0, "crossing": 11.0, "end": 5.0}
_MARGIN: dict[Kind, float] = {"start": 4.0, "crossing": 5.0, "end": 5.0, "word": 4.5}


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Station:
    """A node where it is drawn; a word's label, shortened, fits into its box."""

    node: int
    kind: Kind
    label: str
    references: tuple[int, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a reference's line, level at both ends. `edge`: the nodes that it leads from and to.

    In the fan, where a row begins, each line comes from its own letter.
    """

    reference: int
    edge: tuple[int, int]
    x1: float
    y1: float
    x2: float
    y2: float
    in_fan: bool = False


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

    def along(self, way: Sequence[int]) -> list[Stretch]:
        """The stretches that a sentence runs along; in the fan, only the line that goes on with it for longest."""
        edges = list(pairwise(way))
        lines: dict[int, set[tuple[int, int]]] = {}
        for stretch in self.stretches:
            lines.setdefault(stretch.reference, set()).add(stretch.edge)

        def leading_at(n: int) -> int:
            return max(lines, key=lambda line: (len(list(takewhile(lines[line].__contains__, edges[n:]))), -line))

        leading = {edge: leading_at(n) for n, edge in enumerate(edges)}
        return [
            stretch
            for stretch in self.stretches
            if stretch.edge in leading and (not stretch.in_fan or stretch.reference == leading[stretch.edge])
        ]

    def mirrored(self) -> Map:
        """The same from right to left."""
        return replace(
            self,
            stations=[replace(s, box=replace(s.box, x=self.width - s.box.x - s.box.width)) for s in self.stations],
            stretches=[replace(s, x1=self.width - s.x1, x2=self.width - s.x2) for s in self.stretches],
            badges=[replace(badge, x=self.width - badge.x) for badge in self.badges],
        )


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
    drawn = Map(max(row.width for row in rows), top - _ROW_GAP, pitch, stations, stretches, badges)
    return drawn.mirrored() if network.leftward else drawn


def _node_width(network: Network, element: Element) -> float:
    if element.node is None:
        return 0.0
    node = network.nodes[element.node]
    if node.kind == "word":
        return max(WORD_HEIGHT, text_width(shortened(node.label), FONT, bold=True) + 2 * _WORD_PADDING)
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


@dataclass(slots=True, eq=False)
class _Piece:
    """An element in its row: `ports` gives for each line how far under the upper edge `top` it runs.

    `offset` is how far the edge is under its block's position.
    """

    element: Element
    ports: dict[int, float]
    height: float
    margin: float
    passing: bool = False
    block: _Block = field(default_factory=lambda: _Block())
    offset: float = 0.0
    top: float = 0.0


class _Row:
    """Some columns, drawn from the left margin; each line begins at its letter."""

    def __init__(
        self, network: Network, columns: Sequence[Column], widths: Sequence[float], pitch: float, first: int, end: int
    ):
        self.network = network
        self.pitch = pitch
        self.widths = list(widths[first:end])
        shown = list(columns[first:end])
        if first:
            # A row that goes on from the one above begins with all its lines apart, each at its letter.
            left, right = ({r: e.edge for e in columns[c] for r in e.references} for c in (first - 1, first))
            shown.insert(0, [Element((r,), None, (left[r][0], right[r][1])) for r in sorted(right)])
            self.widths.insert(0, 0.0)
        self.pieces = [[self._piece(element, c) for element in column] for c, column in enumerate(shown)]
        _set_heights(self.pieces)
        self.height = max(piece.top + piece.height for column in self.pieces for piece in column)
        self.at = [{r: p.top + port for p in column for r, port in p.ports.items()} for column in self.pieces]
        shown.append(columns[end] if end < len(columns) else [])
        self.elements = [{r: element for element in column for r in element.references} for column in shown]
        self.x = [2 * BADGE + (6.0 if self.widths[0] else 2.0)]
        for before, after, width in zip(self.at, self.at[1:], self.widths, strict=False):
            steepest = max((abs(before[r] - after[r]) for r in before.keys() & after.keys()), default=0.0)
            self.x.append(self.x[-1] + width + min(max(16.0, 12.0 + 0.36 * steepest), 56.0))
        self.width = self.x[-1] + self.widths[-1] + (_RUN_OUT if self.elements[-1] else 2.0)

    def _piece(self, element: Element, column: int) -> _Piece:
        def ports(first: float, pitch: float) -> dict[int, float]:
            return {r: first + n * pitch for n, r in enumerate(element.references)}

        between = len(element.references) - 1
        if column == 0:
            height = between * _BADGE_PITCH + 2 * BADGE
            return _Piece(element, ports(BADGE, _BADGE_PITCH), height, (_BADGE_PITCH - 2 * BADGE) / 2)
        across = between * self.pitch
        if element.node is None:
            return _Piece(element, ports(0.0, self.pitch), across, 6.5, passing=True)
        kind = self.network.nodes[element.node].kind
        height = max(across + 13.0, WORD_HEIGHT) if kind == "word" else across + 11.0
        return _Piece(element, ports((height - across) / 2, self.pitch), height, _MARGIN[kind])

    def stations(self, top: float) -> Iterator[Station]:
        for column, left, width in zip(self.pieces, self.x, self.widths, strict=True):
            for piece in column:
                element = piece.element
                if element.node is not None:
                    node = self.network.nodes[element.node]
                    own = _node_width(self.network, element)
                    box = Box(left + (width - own) / 2, top + piece.top, own, piece.height)
                    yield Station(element.node, node.kind, node.label, element.references, box)

    def badges(self, top: float) -> list[Badge]:
        return [Badge(r, BADGE, top + y) for r, y in self.at[0].items()]

    def stretches(self, top: float) -> Iterator[Stretch]:
        for reference in sorted(self.at[0]):
            yield from self._stretches_of(reference, top)

    def _stretches_of(self, reference: int, top: float) -> Iterator[Stretch]:
        """A line from its letter to its end, or to where the row ends. Inside a node's column it is cut at the node."""
        x, y, edge = BADGE, top + self.at[0][reference], self.elements[0][reference].edge
        for c, left in enumerate(self.x):
            element, after = self.elements[c][reference], self.elements[c + 1].get(reference)
            here = top + self.at[c][reference]
            middle, right = left + self.widths[c] / 2, left + self.widths[c]
            yield Stretch(reference, edge, x, y, left, here, c <= 1)
            yield Stretch(reference, edge, left, here, middle, here, c == 0 or (c == 1 and element.node is not None))
            if after is None:
                return  # it ends here
            edge = element.edge[0], after.edge[1]
            yield Stretch(reference, edge, middle, here, right, here, c == 0)
            x, y = right, here
        yield Stretch(reference, edge, x, y, x + _RUN_OUT, y)


@dataclass(slots=True, eq=False)
class _Block:
    """Pieces that are tied to one height.

    `above` and `below`: the blocks on either side, and how far apart the positions must be. `pulls`: for each join to
    another block, how far under that one's position this block belongs, and the number of lines.
    """

    position: float = 0.0
    highest: float = 0.0  # the least that the position may be
    depth: float = 0.0  # what hangs under it
    above: dict[_Block, float] = field(default_factory=dict)
    below: dict[_Block, float] = field(default_factory=dict)
    pulls: list[tuple[_Block, float, int]] = field(default_factory=list)

    def least(self) -> float:
        """The least that its position may be while the others stay where they are."""
        return max([self.highest, *(upper.position + gap for upper, gap in self.above.items())])

    def most(self, total: float) -> float:
        return min([total - self.depth, *(lower.position - gap for lower, gap in self.below.items())])


@dataclass(frozen=True, slots=True)
class _Join:
    """Two pieces in neighbouring columns that share lines: the right one belongs `shift` under the left one."""

    left: _Piece
    right: _Piece
    column: int
    places: tuple[int, int]  # in the two columns
    shift: float
    lines: int

    @property
    def weight(self) -> int:
        return 4 * self.lines + 2 * (self.left.passing + self.right.passing)


def _set_heights(columns: Sequence[Sequence[_Piece]]) -> None:
    """Set each piece's upper edge, so that lines run straight where they can; the highest is at 0.

    Neighbours that may stand at one height are tied into blocks, heaviest bundles first; then blocks are moved, one at
    a time, to the median of what they are joined to. The median and not the mean: it leaves most lines straight and
    bends a few, where the mean would bend all of them a little.
    """
    joins = _joins(columns)
    _tie(columns, joins)
    blocks = _stacked(columns)
    for join in joins:
        left, right = join.left.block, join.right.block
        if left is not right:
            shift = join.left.offset + join.shift - join.right.offset
            right.pulls.append((left, shift, join.lines))
            left.pulls.append((right, -shift, join.lines))
    # Half way between as high as possible and as low as possible: both keep the distances, so this does.
    for block in blocks:
        block.position = block.least()
    high = [block.position for block in blocks]
    total = max(block.position + block.depth for block in blocks)
    for block in reversed(blocks):
        block.position = block.most(total)
    for block, position in zip(blocks, high, strict=True):
        block.position = (position + block.position) / 2
    for turn in range(_ROUNDS):
        for block in blocks if turn % 2 else reversed(blocks):
            if block.pulls:
                wanted = _median([(other.position + shift, lines) for other, shift, lines in block.pulls])
                least = block.least()
                block.position = min(max(wanted, least), max(least, block.most(total)))
    pieces = [piece for column in columns for piece in column]
    upper = min(piece.block.position + piece.offset for piece in pieces)
    for piece in pieces:
        piece.top = piece.block.position + piece.offset - upper


def _joins(columns: Sequence[Sequence[_Piece]]) -> list[_Join]:
    found = []
    for c, (before, after) in enumerate(pairwise(columns)):
        for n, left in enumerate(before):
            for m, right in enumerate(after):
                shared = left.ports.keys() & right.ports.keys()
                if shared:
                    shift = _median([(left.ports[r] - right.ports[r], 1) for r in sorted(shared)])
                    found.append(_Join(left, right, c, (n, m), shift, len(shared)))
    return found


def _tie(columns: Sequence[Sequence[_Piece]], joins: Sequence[_Join]) -> None:
    """Tie pieces into blocks; two ties never cross, so that the blocks can be stacked."""
    before: dict[_Piece, _Join] = {}
    tied: set[_Piece] = set()
    ties: dict[int, list[tuple[int, int]]] = {}
    fans: dict[_Piece, list[int]] = {}
    for join in joins:
        if join.column == 0:
            fans.setdefault(join.right, []).append(join.places[0])

    def rank(join: _Join) -> tuple[float, ...]:
        """Heavy ones first; of letters that lead to one bundle, the middle one, so that the fan is even."""
        fan = fans[join.right] if join.column == 0 else [join.places[0]]
        return -join.weight, -len(fan), abs(join.places[0] - sum(fan) / len(fan))

    for join in sorted(joins, key=rank):
        n, m = join.places
        of_column = ties.setdefault(join.column, [])
        crosses = any((n - a) * (m - b) < 0 for a, b in of_column)
        if join.left not in tied and join.right not in before and not crosses:
            tied.add(join.left)
            before[join.right] = join
            of_column.append((n, m))
    for column in columns:
        for piece in column:
            if piece in before:
                join = before[piece]
                piece.block, piece.offset = join.left.block, join.left.offset + join.shift


def _stacked(columns: Sequence[Sequence[_Piece]]) -> list[_Block]:
    """The blocks, each behind all that lie above it. Each one learns what is above and below it."""
    blocks = dict.fromkeys(piece.block for column in columns for piece in column)
    for column in columns:
        for piece in column:
            block, offset = piece.block, piece.offset
            block.highest = max(block.highest, -offset)
            block.depth = max(block.depth, offset + piece.height)
        for upper, lower in pairwise(column):
            gap = upper.offset + upper.height + upper.margin + lower.margin - lower.offset
            gap = max(gap, lower.block.above.get(upper.block, gap))
            lower.block.above[upper.block] = upper.block.below[lower.block] = gap
    waiting = {block: len(block.above) for block in blocks}
    ready = [block for block in blocks if not block.above]
    order = []
    while ready:
        block = ready.pop()
        order.append(block)
        for under in block.below:
            waiting[under] -= 1
            if not waiting[under]:
                ready.append(under)
    return order


def _median(weighted: Sequence[tuple[float, int]]) -> float:
    """The lower weighted median."""
    ordered = sorted(weighted)
    passed = list(accumulate(weight for _, weight in ordered))
    return next(value for (value, _), weight in zip(ordered, passed, strict=True) if 2 * weight >= passed[-1])
