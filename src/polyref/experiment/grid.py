"""A grid: one recipe, and the cells that change some of its keys.

In:   a TOML file.
Out:  a Grid: its cells in order, each with a name and a recipe; the jobs of a cell, each known by its content.
Not:  running them (running.py), what a recipe may say (recipe.py), tables of the results (report/).

Cells are listed, not struck out: every [[cells]] is the product of what it names on some axes. What has no meaning,
such as pseudo-references for a schedule that takes the first reference, is not named, and is not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from polyref.data import Input
from polyref.errors import SettingsError
from polyref.experiment.reading import Layer, read_layer, read_recipe
from polyref.experiment.recipe import Recipe, Stage, recipe_of
from polyref.fit import fingerprint
from polyref.settings import build, contents, refuse_unknown, required, setting, settings, shown, within

Cell = dict[str, str]  # axis -> value
_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
ALL = "all"
# What does not change the weights, or is told otherwise.
_NO_MATTER = [("run", "output"), ("run", "init_from"), ("run", "threads"), ("run", "device")]
_NO_MATTER += [("fit", "tensorboard"), ("fit", "save_every"), ("data", "test")]


@settings
class CurveSection:
    """Learning curves in one figure."""

    title: str = required("Title of the figure.")
    lines: str = required("Axis whose values are its lines.")
    x: str = setting("updates", "What the curves run along: updates, epochs, or an axis, whose values are places.")
    metric: str = setting("", "Score that is shown; without it, the goal of validation.")


@settings
class ReportSection:
    """How polyref report shows the records."""

    title: str = setting("", "Title of the report.")
    rows: tuple[str, ...] = setting((), "Axes that make the rows of a table.")
    columns: tuple[str, ...] = setting((), "Axes that make its columns.")
    metrics: tuple[str, ...] = setting((), "Scores that are shown.")


@settings
class GridSection:
    """The top of a grid file."""

    recipe: str = required("Recipe that the cells change, seen from the folder that the command is started in.")
    output: str = required("Folder for models, expanded files and, unless they have their own, records.")
    records: str = setting("", "Folder for the records.", unset="records, in output")
    seeds: tuple[int, ...] = setting((1,), "Every cell is trained once with each of them.")
    pick: tuple[str, ...] = setting((), "Axes that validation chooses from, with the first seed.")

    def check_together(self) -> None:
        for name in ("recipe", "output"):
            if not getattr(self, name).strip():
                raise SettingsError("has no name", "give one", key=name)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise SettingsError(f"is {shown(list(self.seeds))}", "give a list of different numbers", key="seeds")


@dataclass(frozen=True, slots=True)
class Job:
    """One stage of a recipe to be trained; `name` changes with all that its weights depend on, and is its folder's."""

    name: str
    stage: Stage
    before: Job | None


@dataclass(frozen=True, slots=True)
class Grid:
    """`recipes` has one for each cell, in the same order."""

    name: str
    top: GridSection
    report: dict[str, Any]
    axes: dict[str, list[str]]
    cells: list[Cell]
    recipes: list[Recipe]

    @property
    def output(self) -> Path:
        return Path(self.top.output)

    @property
    def records(self) -> Path:
        return Path(self.top.records or self.output / "records")

    def groups(self) -> list[list[int]]:
        """The numbers of cells that differ only in what validation picks."""
        found: dict[tuple[tuple[str, str], ...], list[int]] = {}
        for number, cell in enumerate(self.cells):
            key = tuple((axis, value) for axis, value in cell.items() if axis not in self.top.pick)
            found.setdefault(key, []).append(number)
        return list(found.values())

    def jobs(self, cell: int, seed: int) -> list[Job]:
        """The stages of a cell. A seed is for the last one: the stages before it are trained once, for all seeds."""
        found: list[Job] = []
        *earlier, last = self.recipes[cell].stages
        for stage in (*earlier, last.seeded(seed)):
            before = found[-1] if found else None
            start = before.name if before else stage.run.init_from
            name = fingerprint(_chosen(stage), stage.expands, start, list(_sizes(stage)))
            folder = str(self.output / "runs" / f"{stage.name or 'run'}-{name}")
            start = before.stage.run.output if before else stage.run.init_from
            run = replace(stage.run, output=folder, init_from=start, threads=stage.run.threads or 1)
            found.append(Job(f"{stage.name or 'run'}-{name}", replace(stage, run=run), before))
        return found


def _chosen(stage: Stage) -> dict[str, dict[str, Any]]:
    """What its weights depend on, but for keys that are as usual: a new key does not make old records worthless."""
    least = {"run": {"output": "-"}, "data": {"train": "-", "dev": "-"}, "model": {"kind": stage.kind}}
    features = {"features": "-"} if stage.data.features else {}
    usual = recipe_of({**least, "data": {**least["data"], **features}}).stages[0].content()
    found = {
        section: {key: value for key, value in values.items() if usual[section].get(key) != value}
        for section, values in stage.content().items()
    }
    for section, key in _NO_MATTER:
        found[section].pop(key, None)
    return found


def cell_name(cell: Cell) -> str:
    return "-".join(cell.values()) or "only"


def _sizes(stage: Stage) -> Iterator[int]:
    """Of the files that a stage reads: names alone do not tell that a file was made anew."""
    for path in filter(None, (stage.data.train, stage.data.dev, stage.data.features)):
        for file in Input.of(path).files:
            yield Path(file).stat().st_size if Path(file).exists() else -1


# -- reading ----------------------------------------------------------------------------------------------------------


def read_grid(path: str | PathLike[str]) -> Grid:
    """Read a grid file, and make the recipe of every cell."""
    layer = read_layer(path)
    tables = dict(layer.tables)
    try:
        refuse_unknown("key", list(tables), [*GridSection.__dataclass_fields__, "set", "axis", "cells", "report"])
        top = build(GridSection, {key: tables[key] for key in GridSection.__dataclass_fields__ if key in tables})
        axes = _axes(tables.get("axis", {}))
        cells = _cells(tables.get("cells"), axes)
        refuse_unknown("axis", top.pick, list(axes))
        report = _report(tables.get("report", {}), axes, cells)
    except SettingsError as error:
        places = [tuple(key.split(".")) for key in (error.key, *error.also) if key]
        raise SettingsError(layer.blamed(str(error), places)) from None
    recipes = [_recipe(top, layer, axes, cell) for cell in cells]
    words = recipes[0].stages[0]
    if not words.subwords.learn_from and not words.run.init_from:
        # One vocabulary serves all cells, also those that train on a part of the examples.
        learned = Layer("", {"subwords": {"learn_from": words.data.train}})
        recipes = [_recipe(top, layer, axes, cell, learned) for cell in cells]
    return Grid(Path(path).stem, top, report, {axis: list(values) for axis, values in axes.items()}, cells, recipes)


def _axes(given: Any) -> dict[str, dict[str, Any]]:
    axes: dict[str, dict[str, Any]] = {}
    for axis, values in _table(given, "axis").items():
        axes[axis] = {}
        for name, changes in _table(values, f"axis.{axis}").items():
            if not _NAME.fullmatch(name) or name == ALL:
                cure = f"use letters, digits and . _ + - only, and not the word {ALL}"
                raise SettingsError("cannot be a name", cure, key=f"axis.{axis}.{name}")
            axes[axis][name] = _table(changes, f"axis.{axis}.{name}")
        if not axes[axis]:
            raise SettingsError("has no values", "give it at least one", key=f"axis.{axis}")
    return axes


def _cells(given: Any, axes: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
    """All cells in order. Without [[cells]], the product of all axes."""
    blocks = [dict.fromkeys(axes, ALL)] if given is None else given
    if not isinstance(blocks, list) or not all(isinstance(one, Mapping) for one in blocks):
        raise SettingsError("is not a list of tables", "begin each with [[cells]]", key="cells")
    found: list[Cell] = []
    for block in blocks:
        with within("cells"):
            refuse_unknown("axis", list(block), list(axes))
            named = [axis for axis in axes if axis in block]
            for values in product(*(_values(block[axis], axis, axes[axis]) for axis in named)):
                cell = dict(zip(named, values, strict=True))
                if cell in found:
                    raise SettingsError(f"the cell {cell_name(cell)} is there twice", "name it once")
                found.append(cell)
    return found


def _values(given: Any, axis: str, values: Mapping[str, Any]) -> list[str]:
    if given == ALL:
        return list(values)
    found = [str(one) for one in (given if isinstance(given, list) else [given])]
    with within(axis):
        refuse_unknown("value", found, list(values))
    return found


def _report(given: Any, axes: Mapping[str, Any], cells: list[Cell]) -> dict[str, Any]:
    """How the records are shown: what is given, with its cells checked."""
    content = _table(given, "report")
    with within("report"):
        cell_of = partial(_cell, axes=axes)
        test, curves = content.pop("test", None), content.pop("curves", [])
        baseline = content.pop("baseline", None)
        found = contents(build(ReportSection, content))
        refuse_unknown("axis", [*found["rows"], *found["columns"]], list(axes))
        chosen: dict[str, Any] = {} if baseline is None else {"baseline": cell_of(baseline)}
        chosen |= {} if test is None else {"test": [cell_of(one) for one in _list(test, "test")]}
        for cell in [*([chosen["baseline"]] if baseline is not None else []), *chosen.get("test", [])]:
            if not any(cell.items() <= one.items() for one in cells):
                raise SettingsError(f"there is no cell {cell_name(cell)}", "name one of the cells")
        figures = []
        for one in _list(curves, "curves"):
            figure = _table(one, "curves")
            where = {
                axis: _values(value, axis, axes[axis])
                for axis, value in _table(figure.pop("where", {}), "where").items()
            }
            figures.append(
                contents(build(CurveSection, figure)) | {"where": {axis: value[0] for axis, value in where.items()}}
            )
            refuse_unknown("axis", [figures[-1]["lines"]], list(axes))
    return {key: value for key, value in found.items() if value} | chosen | ({"curves": figures} if figures else {})


def _cell(given: Any, axes: Mapping[str, Any]) -> Cell:
    table = _table(given, "cell")
    refuse_unknown("axis", list(table), list(axes))
    return {axis: _values(str(table[axis]), axis, axes[axis])[0] for axis in axes if axis in table}


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise SettingsError("is not a list", f"write it as {key} = [...]", key=key)
    return value


def _table(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError("is not a table", f"write it as [{key}]", key=key)
    return {str(name): one for name, one in value.items()}


def _recipe(top: GridSection, layer: Layer, axes: Mapping[str, Mapping[str, Any]], cell: Cell, *first: Layer) -> Recipe:
    """The recipe of a cell: what is set for all cells comes over the recipe, and then what the cell sets."""
    layers = [*first, Layer(f"{layer.name}: set", _table(layer.tables.get("set", {}), "set"))]
    layers.append(Layer("", {"run": {"output": top.output}}))
    layers += [Layer(f"{layer.name}: axis.{axis}.{value}", axes[axis][value]) for axis, value in cell.items()]
    return read_recipe(top.recipe, layers=layers)
