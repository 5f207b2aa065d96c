"""How the records of a grid are shown: the table `report` of a grid file, which grid.json keeps.

In:   the table; axes and cells of the grid.
Out:  the table as grid.json has it, checked against them.
Not:  the other tables of a grid (grid.py), what a report makes of it (report/).

Nothing here needs a recipe, so that a report starts quickly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from polyref.errors import SettingsError
from polyref.settings import build, contents, refuse_unknown, required, setting, settings, shown, table_of, within

GRID = "grid.json"
UPDATES, EPOCHS = "updates", "epochs"  # what a figure may run along that is no axis of the grid
Cell = dict[str, str]  # axis -> value
Axes = Mapping[str, Collection[str]]  # axis -> its values


@settings
class CurveSection:
    """Learning curves in one figure."""

    title: str = required("Title of the figure.")
    lines: str = required("Axis whose values are its lines.")
    x: str = setting(UPDATES, "What the curves run along: updates, epochs, or an axis, whose values are places.")
    metric: str = setting("", "Score that is shown; without it, the goal of validation.")


@settings
class ReportSection:
    """How polyref report shows the records."""

    title: str = setting("", "Title of the report.")
    rows: tuple[str, ...] = setting((), "Axes that make the rows of a table.")
    columns: tuple[str, ...] = setting((), "Axes that make its columns.")
    metrics: tuple[str, ...] = setting((), "Scores that are shown.")


def cell_name(cell: Mapping[str, str]) -> str:
    return "-".join(cell.values()) or "only"


def grouped(cells: Sequence[Mapping[str, str]], pick: Collection[str]) -> list[tuple[Cell, list[int]]]:
    """Cells that differ only in what validation picks: what they have in common, and their numbers."""
    found: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, cell in enumerate(cells):
        common = tuple((axis, value) for axis, value in cell.items() if axis not in pick)
        found.setdefault(common, []).append(number)
    return [(dict(common), numbers) for common, numbers in found.items()]


def picked(scores: Sequence[float | None], *, lowest: bool) -> int | None:
    """Which of some cells validation picks, by their scores; none before all are known."""
    known = [score for score in scores if score is not None]
    return known.index((min if lowest else max)(known)) if len(known) == len(scores) else None


def layout_of(
    given: Mapping[str, Any],
    axes: Axes,
    cells: Sequence[Cell],
    pick: Collection[str],
    scores: Sequence[str] | None = None,
) -> dict[str, Any]:
    """What is given, checked; cells leave out what validation picks. `scores`: those of validation, where known."""
    content = dict(given)
    baseline, test, pairs, curves = (content.pop(key, None) for key in ("baseline", "test", "pairs", "curves"))
    found: dict[str, Any] = {key: value for key, value in contents(build(ReportSection, content)).items() if value}
    for key in ("rows", "columns"):
        with within(key):
            refuse_unknown("axis", found.get(key, ()), [axis for axis in axes if axis not in pick])
    for key in ("rows", "columns", "metrics"):
        refuse_twice(key, found.get(key, ()))
    if both := [axis for axis in found.get("columns", ()) if axis in found.get("rows", ())]:
        raise SettingsError(f"has {both[0]}, which is in rows too", "leave one of them out", key="columns")
    groups = [common for common, _ in grouped(cells, pick)]
    _check_places(found, groups)
    for name in found.get("metrics", ()):
        if scores is not None and name not in scores:
            raise SettingsError(f"holds {shown(name)}", f"choose from {', '.join(scores)}", key="metrics")
    if baseline is not None:
        found["baseline"] = _cell(baseline, "baseline", axes, groups, pick)
    if test is not None:
        found["test"] = [_cell(one, "test", axes, groups, pick) for one in _list(test, "test")]
    if pairs is not None:
        found["pairs"] = [_pair(one, axes, groups, pick) for one in _list(pairs, "pairs")]
    figures = [table_of(one, "curves", inline=True) for one in _list([] if curves is None else curves, "curves")]
    for number, one in enumerate(figures, 1):
        with within(f"curves.{number}"):
            found.setdefault("curves", []).append(_curve(one, axes, pick, scores))
    return found


def refuse_twice(key: str, names: Sequence[str]) -> None:
    """Refuse a list that has something twice."""
    if again := [name for number, name in enumerate(names) if name in names[:number]]:
        raise SettingsError(f"has {shown(again[0])} twice", "name it once", key=key)


def _curve(figure: dict[str, Any], axes: Axes, pick: Collection[str], scores: Sequence[str] | None) -> dict[str, Any]:
    refuse_unknown("key", figure, [*CurveSection.__dataclass_fields__, "where"])
    where = _chosen_values(figure.pop("where", {}), "where", axes)
    found = contents(build(CurveSection, figure))
    free = [axis for axis in axes if axis not in pick]  # cells that differ only in what is picked are one
    known = {"lines": free, "x": [UPDATES, EPOCHS, *free]} | ({} if scores is None else {"metric": ["", *scores]})
    for key, names in known.items():
        if found[key] not in names:
            choices = ", ".join(filter(None, names))
            raise SettingsError(f"is {shown(found[key])}", f"choose from {choices}", key=key)
    return {key: value for key, value in found.items() if value or key == "title"} | {"where": where}


def _check_places(found: Mapping[str, Any], groups: Sequence[Cell]) -> None:
    """Where rows are given, every cell has a place of its own in the table."""
    places: dict[tuple[str | None, ...], Cell] = {}
    for group in groups if "rows" in found else ():
        place = tuple(group.get(axis) for axis in (*found["rows"], *found.get("columns", ())))
        if (other := places.setdefault(place, group)) != group:
            problem = f"and columns do not tell {cell_name(other)} from {cell_name(group)}"
            raise SettingsError(problem, "add an axis to one of them", key="rows")


def _cell(given: Any, key: str, axes: Axes, groups: Sequence[Cell], pick: Collection[str]) -> Cell:
    """A cell, without what validation picks."""
    chosen = _chosen_values(given, key, axes)
    cell = {axis: value for axis, value in chosen.items() if axis not in pick}
    fitting = [cell] if cell in groups else [group for group in groups if cell.items() <= group.items()]
    if any(group != fitting[0] for group in fitting) or not fitting:
        problem = f"is {cell_name(cell)}, which {'several cells are' if fitting else 'no cell is'}"
        raise SettingsError(problem if cell else "names no axis", "name one of the cells", key=key)
    return fitting[0]


def _pair(given: Any, axes: Axes, groups: Sequence[Cell], pick: Collection[str]) -> list[Cell]:
    both = [_cell(one, "pairs", axes, groups, pick) for one in given] if isinstance(given, list) else []
    if len(both) != 2 or both[0] == both[1]:
        raise SettingsError("holds what is not two cells", "name two different ones in each", key="pairs")
    return both


def _chosen_values(given: Any, key: str, axes: Axes) -> Cell:
    """One value of each axis that is named."""
    table = table_of(given, key, inline=True)
    with within(key):
        refuse_unknown("axis", list(table), list(axes))
        for axis, value in table.items():
            if isinstance(value, list | Mapping):
                raise SettingsError(f"is {shown(value)}", "name one value", key=axis)
            with within(axis):
                refuse_unknown("value", [str(value)], list(axes[axis]))
    return {axis: str(table[axis]) for axis in axes if axis in table}


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise SettingsError("is not a list", f"write it as {key} = [...]", key=key)
    return value
