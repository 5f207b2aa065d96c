"""The figures of the paper, from records: what lattices hold (Figure 6), learning curves (Figures 7 and 8).

In:   the records of a grid.
Out:  figures as SVG and PNG, at the width of a column; the same records give the same bytes.
Not:  tables (tables.py), the curve of a run that goes on (draw/curve.py).

Needs matplotlib. Nothing of its global state is changed for longer than a drawing takes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from polyref.draw.style import LIGHT
from polyref.errors import InputError, load_extra
from polyref.experiment.layout import EPOCHS, UPDATES
from polyref.report.records import (
    LOWER_IS_BETTER,
    Curves,
    Expansion,
    Group,
    Records,
    matching,
    score_of,
)
from polyref.report.tables import capital, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 3.4, 2.35  # inches: a column of a paper
_PIXELS = 300  # to an inch
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
_MARKERS = "osD^vPX*<>"
_MOST_MARKERS = 14
_MOST_NAMES = 6  # at the ends of lines
_MOST_BANDS = 4  # more of them cover each other
_LETTERS = 0.062  # height of a name, as a share of the axis
_STEEP = 0.15  # share of a curve that the vertical axis need not show
_STYLE = {
    "svg.hashsalt": "polyref",
    "svg.fonttype": "path",  # looks the same everywhere
    "font.family": ["DejaVu Sans"],  # which matplotlib brings along
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "text.color": LIGHT.ink,
    "axes.labelcolor": LIGHT.ink,
    "axes.edgecolor": LIGHT.faint,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": LIGHT.rule,
    "grid.linewidth": 0.5,
    "xtick.color": LIGHT.faint,
    "ytick.color": LIGHT.faint,
    "xtick.labelcolor": LIGHT.ink,
    "ytick.labelcolor": LIGHT.ink,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 3,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure in both forms; `title` is its caption."""

    name: str
    title: str
    svg: bytes
    png: bytes


@dataclass(frozen=True, slots=True)
class Line:
    """Points, and at each of them the lowest seed, the highest, and the number of seeds."""

    label: str
    number: int  # of its colour: a value has the same one in all figures
    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]
    seeds: list[int]


def figures_of(records: Records) -> Iterator[Picture]:
    """All figures that the records have something for."""
    if any(one.possible for one in records.expansions):
        title = "How many sentences the lattices of the training set hold: share of examples by powers of two."
        yield _picture("possible", title, partial(_draw_possible, records=records))
    for number, wanted in enumerate(records.curves, 1):
        lines = [line for line in _lines(records, wanted) if line.x]
        if lines:
            draw = partial(_draw_lines, lines=lines, records=records, wanted=wanted)
            yield _picture(f"curves-{number}", _caption(wanted, lines), draw)


def _picture(name: str, title: str, draw: Callable[[Axes], None]) -> Picture:
    mpl = load_extra("matplotlib", purpose="a figure", extra="report")
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        draw(figure.subplots())
        return Picture(name, title, _saved(figure, "svg"), _saved(figure, "png"))


def _saved(figure: Figure, form: str) -> bytes:
    stream = io.BytesIO()
    # Without dates and names of programs: the same bytes tomorrow.
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    figure.savefig(stream, format=form, dpi=_PIXELS, metadata=metadata)
    if form == "png":
        return stream.getvalue()
    # Not all programs know sizes in points; and on a web page a column of a paper is small.
    sized = re.compile(rb'width="([0-9.]+)pt" height="([0-9.]+)pt"')
    return sized.sub(
        lambda size: b'width="%d" height="%d"' % (2 * float(size[1]), 2 * float(size[2])), stream.getvalue(), 1
    )


# -- what lattices hold ---------------------------------------------------------------------------------------------


def _draw_possible(axes: Axes, records: Records) -> None:
    from matplotlib.ticker import MaxNLocator

    drawn = _distinct(records)
    last = max(max(one.possible) for one, _ in drawn)
    for number, (one, label) in enumerate(drawn):
        powers = range(max(one.possible) + 1)
        total = sum(one.possible.values()) or 1
        shares = [100 * one.possible.get(power, 0) / total for power in powers]
        edges = [2.0**power for power in (*powers, len(powers))]
        colour, dashes = LIGHT.line(number), _dashes(number)
        axes.stairs(shares, edges, fill=True, color=colour, alpha=0.13, linewidth=0)
        axes.stairs(shares, edges, color=colour, linewidth=1.3, linestyle=dashes, label=label)
    wanted = {one.per_example for one, _ in drawn}
    if len(wanted) == 1:
        [most] = wanted
        axes.axvline(most, color=LIGHT.faint, linewidth=0.8, linestyle=(0, (2, 2)))
        place, shift = (most, 1), (2, -1)
        text = axes.annotate(f"{most:,} wanted", place, shift, ("data", "axes fraction"), "offset points", va="top")
        text.set(color=LIGHT.faint, fontsize=6.5)
    axes.set_xscale("log", base=10)
    axes.set_xlim(1, 2.0 ** (last + 1))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("Sentences in the lattice")
    axes.set_ylabel("Examples (%)")
    if len(drawn) > 1:
        _legend(axes)


def _distinct(records: Records) -> list[tuple[Expansion, str]]:
    """Expansions with different lattices, named by what tells them apart; another number of references changes none."""
    alike: dict[tuple[tuple[int, int], ...], list[Expansion]] = {}
    for one in records.expansions:
        if one.possible:
            alike.setdefault(tuple(one.possible.items()), []).append(one)
    values = {
        axis: [dict.fromkeys(value for one in some for value in one.values[axis]) for some in alike.values()]
        for axis in records.axes
    }
    # An axis that is told alone: each value belongs to one of the lattices. Where there is none, all that differ.
    apart = [axis for axis, found in values.items() if all(found) and sum(map(len, found)) == len(set().union(*found))]
    apart = apart or [axis for axis, found in values.items() if any(one.keys() != found[0].keys() for one in found)]
    names = [", ".join(value for axis in apart for value in values[axis][number]) for number in range(len(alike))]
    largest = [max(some, key=lambda one: one.per_example) for some in alike.values()]
    return list(zip(largest, names, strict=True))


# -- curves ---------------------------------------------------------------------------------------------------------


def _lines(records: Records, wanted: Curves) -> Iterator[Line]:
    """One line for each value of an axis, and for each group where several have it."""
    groups = [group for group in matching(records.groups, wanted.where) if wanted.lines in group.cell]
    groups.sort(key=lambda group: records.order(group.cell, [wanted.lines, *records.axes]))
    if wanted.x in (UPDATES, EPOCHS):
        values = [group.cell[wanted.lines] for group in groups]
        is_told_apart = len({*values}) == len(values)
        for number, (group, value) in enumerate(zip(groups, values, strict=True)):
            if group.runs:
                label = value if is_told_apart else _full_label(group, wanted)
                yield _curve(group, wanted, label, records.axes[wanted.lines].index(value) if is_told_apart else number)
        return
    for number, value in enumerate(records.axes[wanted.lines]):
        own = [group for group in groups if group.cell[wanted.lines] == value and group.runs]
        yield _by_axis(records, own, wanted, value, number)


def _full_label(group: Group, wanted: Curves) -> str:
    rest = [value for axis, value in group.cell.items() if axis != wanted.lines and axis not in wanted.where]
    return ", ".join([group.cell[wanted.lines], *rest])


def _curve(group: Group, wanted: Curves, label: str, number: int) -> Line:
    """The mean over the seeds, where all of them have a validation."""
    curves: list[dict[int, float]] = []
    for run in group.runs:
        found = {}
        for point in run.curve:
            if wanted.metric not in point.scores:
                cure = "name another metric in report.curves, or add it to validation.metrics of the recipe"
                raise InputError(f'"curve" has no "{wanted.metric}"', cure, file=run.file)
            found[point.updates if wanted.x == UPDATES else point.epoch + 1] = point.scores[wanted.metric]
        curves.append(found)
    shared = sorted(set.intersection(*map(set, curves)))
    values = [[curve[x] for curve in curves] for x in shared]
    return Line(label, number, list(map(float, shared)), *_spread(values))


def _by_axis(records: Records, groups: Sequence[Group], wanted: Curves, label: str, number: int) -> Line:
    """The best validation of each cell along an axis; a cell without the axis has no place on it."""
    places = records.axes[wanted.x]
    found = {places.index(group.cell[wanted.x]): group for group in groups if wanted.x in group.cell}
    values = [[score_of(run, wanted.metric) for run in found[place].runs] for place in sorted(found)]
    return Line(label, number, list(map(float, sorted(found))), *_spread(values))


def _spread(values: Sequence[Sequence[float]]) -> tuple[list[float], list[float], list[float], list[int]]:
    """Of the values of each point: mean, lowest, highest and number."""
    return [*map(fmean, values)], [*map(min, values)], [*map(max, values)], [*map(len, values)]


def _draw_lines(axes: Axes, lines: Sequence[Line], records: Records, wanted: Curves) -> None:
    if not _has_bands(lines):
        lines = [replace(line, low=line.y, high=line.y) for line in lines]
    for line in lines if _has_bands(lines) else ():
        axes.fill_between(line.x, line.low, line.high, color=LIGHT.line(line.number), alpha=0.14, linewidth=0)
    from matplotlib.ticker import MaxNLocator

    for line in lines:
        # Markers tell lines apart for those who see no colours; where they would be too many, dashes do.
        is_marked = len(line.x) <= _MOST_MARKERS
        marker = _MARKERS[line.number % len(_MARKERS)] if is_marked else ""
        dashes = _dashes(line.number // len(LIGHT.lines) if is_marked else line.number)
        axes.plot(line.x, line.y, color=LIGHT.line(line.number), label=line.label, marker=marker, linestyle=dashes)
    axes.set_xlabel(capital(wanted.x))
    axes.set_ylabel(f"{title_of(wanted.metric)} (validation)")
    is_curve, is_low_good = wanted.x in (UPDATES, EPOCHS), wanted.metric in LOWER_IS_BETTER
    if is_curve:
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _skip_steep_start(axes, lines, is_low_good=is_low_good)
    else:
        used = sorted({int(x) for line in lines for x in line.x})
        axes.set_xticks(used, [records.axes[wanted.x][place] for place in used])
    # A name at the end of a line that ends early would be in the way of other curves.
    if len(lines) > _MOST_NAMES or (is_curve and len({line.x[-1] for line in lines}) > 1):
        _legend(axes, capital(wanted.lines))
    else:
        _label_ends(axes, lines)


def _has_bands(lines: Sequence[Line]) -> bool:
    return len(lines) <= _MOST_BANDS


def _legend(axes: Axes, title: str | None = None) -> None:
    """Below the axes, where no line runs."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    handles, _ = axes.get_legend_handles_labels()
    figure.set_figheight(_HEIGHT + 0.15 * (-(-len(handles) // 2) + (title is not None)))
    figure.legend(handles=handles, title=title, loc="outside lower center", ncols=2, handlelength=2.2, frameon=False)


def _dashes(number: int) -> Any:
    return _DASHES[number % len(_DASHES)]


def _skip_steep_start(axes: Axes, lines: Sequence[Line], *, is_low_good: bool) -> None:
    """At first all curves are alike and far from where they end: the room is for what follows."""
    after = _STEEP * max(line.x[-1] for line in lines)
    spans = [zip(line.x, line.low, line.high, strict=True) for line in lines]
    later = [(low, high) for points in spans for x, low, high in points if x >= after]
    low, high = min(low for low, _ in later), max(high for _, high in later)
    margin = 0.06 * (high - low) or 0.5
    bottom, top = axes.get_ylim()
    if is_low_good:
        axes.set_ylim(top=min(top, high + margin))
    else:
        axes.set_ylim(bottom=max(bottom, low - margin))


def _label_ends(axes: Axes, lines: Sequence[Line]) -> None:
    """Each line's name at its end, moved apart where they would overlap."""
    last = max(line.x[-1] for line in lines)
    bottom, top = axes.get_ylim()
    order = sorted((line for line in lines if line.x[-1] == last), key=lambda line: line.y[-1])
    apart = _LETTERS * (top - bottom)
    heights = dict(zip(map(id, order), _moved_apart([line.y[-1] for line in order], apart, bottom, top), strict=True))
    for line in lines:
        is_last = id(line) in heights
        axes.annotate(
            line.label,
            (line.x[-1], heights[id(line)] if is_last else line.y[-1]),
            (5, 0) if is_last else (4, 5),
            textcoords="offset points",
            va="center",
            color=_darker(LIGHT.line(line.number)),
            fontsize=7,
            annotation_clip=False,
        )
    axes.set_ylim(bottom, top)


def _moved_apart(heights: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Rising heights, moved as little as makes each at least so far above the one before; between the limits."""
    blocks: list[tuple[float, int]] = []  # names that touch: the height of their first, and how many they are
    for height in heights:
        first, count = height, 1
        while blocks and blocks[-1][0] + blocks[-1][1] * apart > first:
            below, size = blocks.pop()
            first = (below * size + (first - size * apart) * count) / (size + count)
            count += size
        blocks.append((first, count))
    found = [first + position * apart for first, count in blocks for position in range(count)]
    ceiling = [high - apart * (len(found) - 1 - position) for position in range(len(found))]
    return [
        max(min(height, most), low + n * apart) for n, (height, most) in enumerate(zip(found, ceiling, strict=True))
    ]


def _darker(colour: str) -> str:
    """Letters are thinner than lines: on white paper they need more ink."""
    return "#" + "".join(f"{int(int(colour[n : n + 2], 16) * 0.78):02x}" for n in (1, 3, 5))


def _caption(wanted: Curves, lines: Sequence[Line]) -> str:
    what = "Learning curves on the validation set" if wanted.x in (UPDATES, EPOCHS) else "Best validation scores"
    title = wanted.title.rstrip(".") or f"{what} by {wanted.lines}"
    counts = [count for line in lines for count in line.seeds]
    least, most = min(counts), max(counts)
    if most == 1:
        return f"{title}. One seed."
    seeds = f"{most}" if least == most else f"{least} to {most}"
    band = "; the band reaches from the lowest to the highest" if _has_bands(lines) else ""
    return f"{title}. Mean over {seeds} seeds{band}."
