"""The records of a grid of experiments: read, checked, and put together by cell.

In:   a folder with grid.json and one JSON file per cell and seed.
Out:  Records: what was planned, how to show it, and for each cell the runs that are there.
Not:  what is shown (tables.py, figures.py), running the cells (experiment/).

What contradicts itself is refused here, before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from types import UnionType
from typing import Any

from polyref.data.formats.jsonl import json_of
from polyref.errors import InputError
from polyref.files import reading

GRID = "grid.json"
UPDATES, EPOCHS = "updates", "epochs"  # horizontal axes of a figure that are not axes of the grid
LOWER_IS_BETTER = ("perplexity",)
_AGAIN = "run polyref experiment again"
_KINDS: dict[Any, str] = {
    str: "a string",
    int: "a whole number",
    int | float: "a number",
    list: "a list",
    dict: "an object",
    dict | None: "an object or null",
}

Cell = Mapping[str, str]  # value by axis; a cell need not have every axis


@dataclass(frozen=True, slots=True)
class Point:
    """A validation."""

    updates: int
    epoch: int
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Tested:
    """`signatures` say how scores were computed; `per_example` has the statistics that comparisons need; `inputs`
    changes with the contents of the test set, where that is known."""

    inputs: str
    examples: int
    scores: Mapping[str, float]
    signatures: Mapping[str, str]
    per_example: Mapping[str, list[Any]]
    extra: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Run:
    """A cell trained with one seed; `best` is its best validation."""

    file: str
    cell: Cell
    seed: int
    curve: tuple[Point, ...]
    updates: int
    epochs: int
    best: Point
    test: Tested | None
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """Cells that differ only where validation picks: one place of a table.

    `picked` are the values that it picked, and `runs` those of the picked cell, by seed; both are empty until the first
    seed of some cell is there.
    """

    cell: Cell
    picked: Cell
    runs: tuple[Run, ...]

    @property
    def tested(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.test is not None)


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

    `cell` is what all cells with this expansion share; `shown` has all their values.
    """

    cell: Cell
    per_example: int
    short: int
    possible: Mapping[int, int]
    shown: Mapping[str, str] = field(default_factory=dict)


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
    test: tuple[Group, ...]
    curves: tuple[Curves, ...]
    data: tuple[Part, ...]
    expansions: tuple[Expansion, ...]
    planned: int
    left_out: int  # records of cells, seeds or settings that the grid had before
    runs: tuple[Run, ...] = field(repr=False)

    def order(self, cell: Cell, axes: Sequence[str]) -> tuple[int, ...]:
        """Where a cell stands by these axes; one that lacks an axis comes first."""
        return tuple(self.axes[axis].index(cell[axis]) if axis in cell else -1 for axis in axes)


# -- reading --------------------------------------------------------------------------------------------------------


def read_records(folder: str | Path) -> Records:
    """Read a folder of records; an InputError says what does not fit."""
    place = Path(folder)
    cure = "give a folder that polyref experiment has written"
    if place.is_dir() and not (place / GRID).is_file():
        raise InputError(f"there is no {GRID} in this folder", cure, file=str(folder))
    if not place.is_dir():
        raise InputError(
            "this is not a folder" if place.exists() else "there is no such folder", cure, file=str(folder)
        )
    grid = _Table.read(place / GRID, _AGAIN)
    axes = _axes(grid)
    cells = [_cell(one, axes) for one in grid.tables("cells")]
    seeds = tuple(grid.list_of("seeds", int))
    for key, given in (("cells", cells), ("seeds", seeds)):
        if not given:
            grid.refuse(f'"{key}" is empty')
    pick = _names(grid, "pick", axes)
    goal = grid.get("goal", str)
    runs, left_out = _runs(place, grid, cells, seeds)
    _check_once(runs)
    groups = _grouped(cells, runs, seeds, pick, goal)
    layout = grid.table("report")
    others = {axis for cell in cells for axis in cell} - {*pick}
    columns = _names(layout, "columns", axes) if "columns" in layout.content else ()
    usual = tuple(axis for axis in axes if axis in others and axis not in columns)
    rows = _names(layout, "rows", axes) if "rows" in layout.content else usual
    if both := {*rows} & {*columns}:
        layout.refuse(f'"{min(both)}" is in rows and in columns')
    _check_places(layout, groups, (*rows, *columns), others)
    metrics = tuple(layout.list_of("metrics", str))
    if not metrics:
        layout.refuse('"report.metrics" is empty', "name at least one")
    curves = [_curves(one, axes, goal) for one in layout.tables("curves", [])]
    baseline = layout.optional("baseline")
    test = [_group(one, groups, axes, pick) for one in layout.tables("test", [])]
    return Records(
        file=str(place / GRID),
        name=grid.get("name", str),
        title=layout.get("title", str, grid.get("name", str)),
        axes=axes,
        seeds=seeds,
        pick=pick,
        goal=goal,
        rows=rows,
        columns=columns,
        metrics=metrics,
        groups=tuple(groups),
        baseline=None if baseline is None else _group(baseline, groups, axes, pick),
        test=tuple(test) or tuple(group for group in groups if group.tested),
        curves=tuple(curves),
        data=tuple(_part(one) for one in grid.tables("data", [])),
        expansions=tuple(_expansion(one, axes) for one in grid.tables("expansions", [])),
        planned=len(cells) + (len(seeds) - 1) * len(groups),
        left_out=left_out,
        runs=tuple(runs),
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """An object of a JSON file, with what an error about it says."""

    content: Mapping[str, Any]
    file: str
    cure: str
    at: str = ""  # what its keys come after: "report."

    @classmethod
    def read(cls, path: Path, cure: str) -> _Table:
        with reading(path):
            text = path.read_text(encoding="utf-8", errors="replace")
        content = json_of(text, str(path), cure=cure)
        if not isinstance(content, dict):
            raise InputError("this is not a JSON object", cure, file=str(path))
        return cls(content, str(path), cure)

    def refuse(self, problem: str, cure: str = "") -> None:
        raise InputError(problem, cure or self.cure, file=self.file)

    def get(self, key: str, kind: type | UnionType, default: Any = None) -> Any:
        """A value of a kind; what has no default must be there."""
        if key not in self.content and default is not None:
            return default
        return self._checked(f'"{self.at}{key}"', key, kind)

    def _checked(self, name: str, key: str, kind: type | UnionType) -> Any:
        if key not in self.content:
            self.refuse(f"{name} is missing")
        value = self.content[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            self.refuse(f"{name} is not {_KINDS[kind]}")
        return value

    def list_of(self, key: str, kind: type) -> list[Any]:
        found: list[Any] = self.get(key, list)
        for item in found:
            if not isinstance(item, kind) or isinstance(item, bool):
                self.refuse(f'"{self.at}{key}" holds what is not {_KINDS[kind]}')
        return found

    def table(self, key: str) -> _Table:
        return _Table(self.get(key, dict), self.file, self.cure, f"{self.at}{key}.")

    def optional(self, key: str) -> _Table | None:
        return None if self.content.get(key) is None else self.table(key)

    def tables(self, key: str, default: Any = None) -> list[_Table]:
        items = self.get(key, list, default)
        for item in items:
            if not isinstance(item, dict):
                self.refuse(f'"{self.at}{key}" holds what is not an object')
        return [_Table(item, self.file, self.cure, f"{self.at}{key}.{n}.") for n, item in enumerate(items, 1)]

    def values(self, key: str, kind: type | UnionType) -> dict[str, Any]:
        """A table that holds values of one kind."""
        inner = self.table(key)
        return {name: inner.get(name, kind) for name in inner.content}


def _axes(grid: _Table) -> dict[str, tuple[str, ...]]:
    table = grid.table("axes")
    return {axis: tuple(table.list_of(axis, str)) for axis in table.content}


def _cell(table: _Table, axes: Mapping[str, Sequence[str]], cure: str = "") -> dict[str, str]:
    cell = {axis: table.get(axis, str) for axis in table.content}
    for axis, value in cell.items():
        if value not in axes.get(axis, ()):
            table.refuse(f'"{table.at}{axis}" is "{value}", which "axes" of {GRID} does not have', cure)
    return cell


def _names(table: _Table, key: str, axes: Mapping[str, Any]) -> tuple[str, ...]:
    names = table.list_of(key, str)
    for name in names:
        if name not in axes:
            table.refuse(f'"{table.at}{key}" names "{name}", which is not an axis', f"choose from {', '.join(axes)}")
    return tuple(names)


def _curves(table: _Table, axes: Mapping[str, Sequence[str]], goal: str) -> Curves:
    where, lines = table.content.get("where", {}), table.get("lines", str)
    if not isinstance(where, dict):
        table.refuse(f'"{table.at}where" is not an object')
    x = table.get("x", str, UPDATES)
    for key, name, known in (("lines", lines, [*axes]), ("x", x, [UPDATES, EPOCHS, *axes])):
        if name not in known:
            table.refuse(f'"{table.at}{key}" is "{name}"', f"choose from {', '.join(known)}")
    place = _cell(_Table(where, table.file, table.cure, f"{table.at}where."), axes)
    return Curves(table.get("title", str, ""), lines, place, x, table.get("metric", str, goal) or goal)


def _part(table: _Table) -> Part:
    counts = [table.get(key, int) for key in ("examples", "references", "least", "most")]
    return Part(table.get("part", str), *counts)


def _expansion(table: _Table, axes: Mapping[str, Sequence[str]]) -> Expansion:
    possible: dict[int, int] = {}
    for power, count in table.values("possible", int).items():
        number = int(power) if power.isdecimal() else 0
        if number < 1 or number & (number - 1):
            table.refuse(f'"{table.at}possible" has the key "{power}", which is not a power of two')
        possible[number.bit_length() - 1] = count
    cell = _cell(table.table("cell_keys"), axes)
    users = [_cell(one, axes) for one in table.tables("cells", [])]
    values = {axis: list(dict.fromkeys(user[axis] for user in users if axis in user)) for axis in axes}
    shown = cell if not users else {axis: ", ".join(found) for axis, found in values.items() if found}
    counts = table.get("per_example", int), table.get("short", int)
    return Expansion(cell, *counts, dict(sorted(possible.items())), shown)


def _runs(folder: Path, grid: _Table, cells: Sequence[Cell], seeds: Sequence[int]) -> tuple[list[Run], int]:
    """The runs that the grid plans, and how many others there are."""
    with reading(folder):
        files = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name != GRID)
    found = [_Table.read(path, f"{_AGAIN}, or move the file away") for path in files]
    jobs = grid.optional("jobs")
    runs = [_run(table, jobs) for table in found if _is_planned(table, cells, seeds, jobs)]
    return runs, len(files) - len(runs)


def _is_planned(table: _Table, cells: Sequence[Cell], seeds: Sequence[int], jobs: _Table | None) -> bool:
    """Whether a record is of the grid as it is now. It may have had other cells, seeds, settings or data before."""
    if table.values("cell", str) not in cells or table.get("seed", int) not in seeds:
        return False
    planned = _job(table, jobs)
    return all(table.content.get(key, planned.get(key)) == planned.get(key) for key in ("job", "inputs") if planned)


def _job(table: _Table, jobs: _Table | None) -> Mapping[str, Any]:
    """What the grid says about the job of a record; those of earlier versions say nothing."""
    name = Path(table.file).stem
    return jobs.table(name).content if jobs is not None and name in jobs.content else {}


def _run(table: _Table, jobs: _Table | None) -> Run:
    cell, seed = table.values("cell", str), table.get("seed", int)
    test = _test(table.table("test")) if table.get("test", dict | None, {}) else None
    if test is not None and test.inputs and test.inputs != _job(table, jobs).get("test_set", test.inputs):
        test = None  # of the test set as it was before
    best = table.table("best")
    return Run(
        file=table.file,
        cell=cell,
        seed=seed,
        curve=tuple(
            Point(one.get("updates", int), one.get("epoch", int), one.values("scores", int | float))
            for one in table.tables("curve")
        ),
        updates=table.get("updates", int),
        epochs=table.get("epochs", int),
        best=Point(best.get("updates", int), 0, best.values("scores", int | float)),
        test=test,
        versions=table.values("versions", str) if "versions" in table.content else {},
    )


def _test(table: _Table) -> Tested:
    scores = table.table("scores")
    scored = {name: scores.table(name) for name in scores.content}
    examples = table.get("examples", int)
    per_example = table.values("per_example", list) if "per_example" in table.content else {}
    for name, rows in per_example.items():
        if len(rows) != examples:
            table.refuse(f'"test.per_example.{name}" is for {len(rows):,} examples, and there are {examples:,}')
    return Tested(
        table.get("inputs", str, ""),
        examples,
        {name: one.get("score", int | float) for name, one in scored.items()},
        {name: one.get("signature", str) for name, one in scored.items()},
        per_example,
        table.values("extra", int | float) if "extra" in table.content else {},
    )


# -- runs by cell ---------------------------------------------------------------------------------------------------


def _check_once(runs: Sequence[Run]) -> None:
    for one, other in combinations(runs, 2):
        if one.cell == other.cell and one.seed == other.seed:
            problem = f"this is the same cell and seed as in {Path(one.file).name}"
            raise InputError(problem, "move one of them away", file=other.file)
    tested = [run for run in runs if run.test is not None]
    for one in tested:
        if one.test and tested[0].test and one.test.examples != tested[0].test.examples:
            sizes = (
                f"{one.test.examples:,} examples, and that of {Path(tested[0].file).name} {tested[0].test.examples:,}"
            )
            raise InputError(f"the test set has {sizes}", "test all cells on the same examples", file=one.file)
    known = [run for run in tested if run.test and run.test.inputs]
    for one in known:
        if one.test and known[0].test and one.test.inputs != known[0].test.inputs:
            problem = f"the test set has other contents than that of {Path(known[0].file).name}"
            raise InputError(problem, _AGAIN, file=one.file)


def _grouped(
    cells: Sequence[Cell], runs: Sequence[Run], seeds: Sequence[int], pick: Sequence[str], goal: str
) -> list[Group]:
    """Cells that differ only in what is picked, and of these the best on the first seed."""
    members: dict[tuple[tuple[str, str], ...], list[Cell]] = {}
    for cell in cells:
        members.setdefault(tuple((axis, cell[axis]) for axis in cell if axis not in pick), []).append(cell)
    better: Callable[..., Run] = min if goal in LOWER_IS_BETTER else max
    groups = []
    for key, candidates in members.items():
        first = [run for cell in candidates for run in runs if run.cell == cell and run.seed == seeds[0]]
        if len(candidates) == 1:
            chosen = candidates[0]
        elif first:
            chosen = better(first, key=lambda run: score_of(run, goal)).cell
        else:
            groups.append(Group(dict(key), {}, ()))
            continue
        there = sorted((run for run in runs if run.cell == chosen), key=lambda run: seeds.index(run.seed))
        groups.append(Group(dict(key), {axis: chosen[axis] for axis in pick if axis in chosen}, tuple(there)))
    return groups


def score_of(run: Run, metric: str) -> float:
    """The best validation's score by a metric, which must be there."""
    if metric not in run.best.scores:
        problem = f'"best.scores" has no "{metric}", which {GRID} asks for'
        raise InputError(
            problem, "add it to validation.metrics of the recipe and run polyref experiment again", file=run.file
        )
    return run.best.scores[metric]


def _check_places(layout: _Table, groups: Sequence[Group], axes: Sequence[str], others: set[str]) -> None:
    """Every group has a place of its own in the table."""
    places: dict[tuple[str | None, ...], Group] = {}
    for group in groups:
        other = places.setdefault(tuple(group.cell.get(axis) for axis in axes), group)
        if other is not group:
            missing = ", ".join(sorted(others - {*axes})) or "an axis that tells them apart"
            problem = f"{shown(other.cell)} and {shown(group.cell)} have the same place in the table"
            layout.refuse(problem, f"add {missing} to report.rows, report.columns or pick")


def _group(table: _Table, groups: Sequence[Group], axes: Mapping[str, Sequence[str]], pick: Sequence[str]) -> Group:
    cell = {axis: value for axis, value in _cell(table, axes).items() if axis not in pick}
    found = [group for group in groups if group.cell == cell]
    found = found or [group for group in groups if cell.items() <= group.cell.items()]
    if len(found) == 1:
        return found[0]
    what = "several cells are" if found else '"cells" does not have'
    raise InputError(f'"{table.at[:-1]}" is {shown(cell)}, which {what}', "name one of the cells", file=table.file)


def matching(groups: Sequence[Group], where: Cell) -> Iterator[Group]:
    """Groups with these values; one without such an axis belongs to all its values."""
    return (group for group in groups if all(group.cell.get(axis, value) == value for axis, value in where.items()))


def shown(cell: Cell) -> str:
    """A cell in words."""
    return ", ".join(f"{axis} {value}" for axis, value in cell.items()) or "the cell without axes"
