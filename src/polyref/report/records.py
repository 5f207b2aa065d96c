"""The records of a grid of experiments: read, checked, and put together by cell.

In:   a folder with grid.json and one JSON file per cell and seed.
Out:  Records: what was planned, how to show it, and for each cell the runs that are there.
Not:  what is shown (tables.py, figures.py), running the cells (experiment/).

What does not fit together is refused here, before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polyref.errors import InputError, SettingsError
from polyref.experiment.layout import GRID, cell_name, grouped, layout_of, picked
from polyref.experiment.record import AGAIN, FILE_CURE, Cell, Record, Table, Tested
from polyref.files import reading
from polyref.settings import refuse_unknown, within

LOWER_IS_BETTER = ("perplexity",)


@dataclass(frozen=True, slots=True)
class Group:
    """Cells that differ only where validation picks: one place of a table.

    `picked` are the values that it picked, and `runs` those of the picked cell, by seed; both are empty until the first
    seed of some cell is there.
    """

    cell: Cell
    picked: Cell
    runs: tuple[Record, ...]

    @property
    def tested(self) -> tuple[Record, ...]:
        return tuple(run for run in self.runs if run.test is not None)

    @property
    def tests(self) -> tuple[Tested, ...]:
        return tuple(run.test for run in self.runs if run.test is not None)


@dataclass(frozen=True, slots=True)
class Curves:
    """A figure: one line for each value of an axis."""

    title: str
    lines: str
    where: Cell
    x: str
    metric: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the data."""

    part: str
    examples: int
    references: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """`possible[k]`: examples whose lattice has at least 2^k sentences, and fewer than 2^(k+1).

    `values` of an axis: those of the cells with this expansion.
    """

    values: Mapping[str, tuple[str, ...]]
    per_example: int
    short: int
    possible: Mapping[int, int]

    def shown(self, axis: str) -> str:
        return ", ".join(self.values.get(axis, ()))


@dataclass(frozen=True, slots=True)
class Records:
    """A grid and what has come of it so far."""

    file: str
    name: str
    title: str
    axes: Mapping[str, tuple[str, ...]]
    seeds: tuple[int, ...]
    pick: tuple[str, ...]
    goal: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    metrics: tuple[str, ...]
    groups: tuple[Group, ...]
    baseline: Group | None
    pairs: tuple[tuple[Group, Group], ...]  # that are compared besides
    test: tuple[Group, ...]
    curves: tuple[Curves, ...]
    data: tuple[Part, ...]
    expansions: tuple[Expansion, ...]
    planned: int
    left_out: int  # records of cells, seeds or settings that the grid had before
    runs: tuple[Record, ...] = field(repr=False)

    @property
    def seeds_there(self) -> int:
        """The most seeds that a cell has by now; where none has any, all that are planned."""
        return max(len(group.runs) for group in self.groups) or len(self.seeds)

    def order(self, cell: Cell, axes: Sequence[str]) -> tuple[int, ...]:
        """Where a cell stands by these axes; one that lacks an axis comes first."""
        return tuple(self.axes[axis].index(cell[axis]) if axis in cell else -1 for axis in axes)


# -- reading --------------------------------------------------------------------------------------------------------


def read_records(folder: str | Path) -> Records:
    """Read a folder of records; an InputError says what does not fit."""
    place = Path(folder)
    if (place / "records" / GRID).is_file():  # the output of a grid
        place = place / "records"
    cure = "give a folder that polyref experiment has written"
    if place.is_dir() and not (place / GRID).is_file():
        raise InputError(f"there is no {GRID} in this folder", cure, file=str(folder))
    if not place.is_dir():
        raise InputError(
            "this is not a folder" if place.exists() else "there is no such folder", cure, file=str(folder)
        )
    grid = Table.read(place / GRID, AGAIN)
    axes = _axes(grid)
    cells = [_cell(one, axes) for one in grid.tables("cells")]
    seeds = tuple(grid.list_of("seeds", int))
    for key, given in (("cells", cells), ("seeds", seeds)):
        if not given:
            grid.refuse(f'"{key}" is empty')
    pick = tuple(grid.list_of("pick", str))
    goal = grid.get("goal", str)
    layout = _layout(grid, axes, cells, pick)
    runs, left_out = _runs(place, grid)
    _check_tests(runs)
    groups = _grouped(cells, runs, seeds, pick, goal)
    others = {axis for cell in cells for axis in cell} - {*pick}
    columns = layout.get("columns", ())
    test = tuple(_group(cell, groups) for cell in layout.get("test", ()))
    pairs = tuple((_group(one, groups), _group(other, groups)) for one, other in layout.get("pairs", ()))
    return Records(
        file=str(place / GRID),
        name=grid.get("name", str),
        title=layout.get("title", grid.get("name", str)),
        axes=axes,
        seeds=seeds,
        pick=pick,
        goal=goal,
        rows=layout.get("rows", tuple(axis for axis in axes if axis in others and axis not in columns)),
        columns=columns,
        metrics=layout["metrics"],
        groups=tuple(groups),
        baseline=_group(layout["baseline"], groups) if "baseline" in layout else None,
        pairs=pairs,
        test=test or tuple(group for group in groups if group.tested),
        curves=tuple(Curves(**{"metric": goal, **one}) for one in layout.get("curves", ())),
        data=tuple(_part(one) for one in grid.tables("data")),
        expansions=tuple(_expansion(one, axes) for one in grid.tables("expansions")),
        planned=_planned(grid, cells, seeds, pick),
        left_out=left_out,
        runs=tuple(runs),
    )


def _axes(grid: Table) -> dict[str, tuple[str, ...]]:
    table = grid.table("axes")
    return {axis: tuple(table.list_of(axis, str)) for axis in table.content}


def _cell(table: Table, axes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    cell = {axis: table.get(axis, str) for axis in table.content}
    for axis, value in cell.items():
        if value not in axes.get(axis, ()):
            table.refuse(f'"{table.at}{axis}" is "{value}", which "axes" of {GRID} does not have')
    return cell


def _layout(
    grid: Table, axes: Mapping[str, Sequence[str]], cells: list[dict[str, str]], pick: Sequence[str]
) -> dict[str, Any]:
    """How the records are shown. The grid file was checked in the same way; grid.json may have been edited since."""
    try:
        with within("pick"):
            refuse_unknown("axis", pick, list(axes))
        with within("report"):
            found = layout_of(grid.get("report", dict), axes, cells, pick)
    except SettingsError as error:
        raise InputError(error.said('"{}"'.format), file=grid.file) from None
    if "metrics" not in found:
        grid.refuse('"report.metrics" is empty', "name at least one")
    return found


def _part(table: Table) -> Part:
    counts = [table.get(key, int) for key in ("examples", "references", "least", "most")]
    return Part(table.get("part", str), *counts)


def _expansion(table: Table, axes: Mapping[str, Sequence[str]]) -> Expansion:
    possible: dict[int, int] = {}
    for power, count in table.values("possible", int).items():
        number = int(power) if power.isdecimal() and len(power) < 20 else 0
        if number < 1 or number & (number - 1):
            table.refuse(f'"{table.at}possible" has the key "{power}", which is not a power of two')
        possible[number.bit_length() - 1] = count
    users = [_cell(one, axes) for one in table.tables("cells")]
    values = {axis: tuple(dict.fromkeys(user[axis] for user in users if axis in user)) for axis in axes}
    return Expansion(values, table.get("per_example", int), table.get("short", int), dict(sorted(possible.items())))


def _runs(folder: Path, grid: Table) -> tuple[list[Record], int]:
    """The runs that the grid plans, and the number of others: it may have had other cells, seeds, settings or data."""
    with reading(folder):
        files = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name != GRID)
    jobs, runs = grid.table("jobs"), []
    for path in files:
        if path.stem not in jobs.content:
            continue
        job, table = jobs.table(path.stem), Table.read(path, FILE_CURE)
        if any(table.get(key, str) != job.get(key, str) for key in ("job", "inputs")):
            continue
        run = Record.of(table)
        if _stem(run.cell, run.seed) != path.stem:
            table.refuse(f"this is the record of {_stem(run.cell, run.seed)}")
        if run.test is not None and run.test.inputs != job.get("test_set", str):
            run = replace(run, test=None)  # of the test set as it was before
        runs.append(run)
    return runs, len(files) - len(runs)


def _planned(grid: Table, cells: Sequence[Cell], seeds: Sequence[int], pick: Sequence[str]) -> int:
    """How many runs the grid plans: validation picks with the first seed; cells may have fewer seeds than others."""
    jobs = grid.table("jobs").content
    counts = [sum(_stem(cell, seed) in jobs for seed in seeds[1:]) for cell in cells]
    return len(cells) + sum(max(counts[cell] for cell in group) for _, group in grouped(cells, pick))


def _stem(cell: Cell, seed: int) -> str:
    """The name of a record."""
    return f"{cell_name(cell)}-seed{seed}"


# -- runs by cell ---------------------------------------------------------------------------------------------------


def _check_tests(runs: Sequence[Record]) -> None:
    """All cells are tested on the same examples."""
    tested = [(run.file, run.test) for run in runs if run.test is not None]
    for file, test in tested:
        other, first = tested[0]
        if test.examples != first.examples:
            sizes = f"{test.examples:,} examples, and that of {Path(other).name} {first.examples:,}"
            raise InputError(f"the test set has {sizes}", "test all cells on the same examples", file=file)
        if test.inputs != first.inputs:
            raise InputError(f"the test set has other contents than that of {Path(other).name}", AGAIN, file=file)


def _grouped(
    cells: Sequence[Cell], runs: Sequence[Record], seeds: Sequence[int], pick: Sequence[str], goal: str
) -> list[Group]:
    """Cells that differ only in what is picked, and of these the best on the first seed."""
    there = {_stem(run.cell, run.seed): run for run in runs}
    groups = []
    for common, candidates in grouped(cells, pick):
        first = [there.get(_stem(cells[cell], seeds[0])) for cell in candidates]
        place: int | None = 0
        if len(candidates) > 1:
            scores = [None if run is None else score_of(run, goal) for run in first]
            place = picked(scores, lowest=goal in LOWER_IS_BETTER)
        if place is None:
            groups.append(Group(common, {}, ()))
            continue
        chosen = cells[candidates[place]]
        own = tuple(there[name] for seed in seeds if (name := _stem(chosen, seed)) in there)
        groups.append(Group(common, {axis: chosen[axis] for axis in pick if axis in chosen}, own))
    return groups


def score_of(run: Record, metric: str) -> float:
    """The best validation's score by a metric, which must be there."""
    if metric not in run.best.scores:
        problem = f'"best.scores" has no "{metric}", which {GRID} asks for'
        raise InputError(
            problem, "add it to validation.metrics of the recipe and run polyref experiment again", file=run.file
        )
    return run.best.scores[metric]


def _group(cell: Cell, groups: Sequence[Group]) -> Group:
    """The group of a cell that need not name all its axes."""
    return min((group for group in groups if cell.items() <= group.cell.items()), key=lambda group: len(group.cell))


def matching(groups: Sequence[Group], where: Cell) -> Iterator[Group]:
    """Groups with these values; one without such an axis belongs to all its values."""
    return (group for group in groups if all(group.cell.get(axis, value) == value for axis, value in where.items()))


def shown(cell: Cell) -> str:
    """A cell in words."""
    return ", ".join(f"{axis} {value}" for axis, value in cell.items()) or "the cell without axes"
