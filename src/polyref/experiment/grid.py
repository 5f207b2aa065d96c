"""A grid: one recipe, and the cells that change some of its keys.

In:   a TOML file.
Out:  a Grid: its cells in order, each with a name and a recipe; the jobs of a cell, each known by its content.
Not:  running them (running.py), what a recipe may say (recipe.py), tables of the results (report/).

Cells are listed, not struck out: every [[cells]] is the product of what it names on some axes. What has no meaning,
such as pseudo-references for a schedule that takes the first reference, is not named, and is not run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from polyref.data import Input
from polyref.errors import SettingsError
from polyref.experiment.reading import Layer, read_layer, read_recipe
from polyref.experiment.recipe import Recipe, Stage, recipe_of
from polyref.files import reading
from polyref.fit import fingerprint
from polyref.settings import build, contents, refuse_unknown, required, setting, settings, shown, within

Cell = dict[str, str]  # axis -> value
_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
ALL = "all"
_LONGEST = 200  # letters of a cell's name, which is the name of a file
# Reports have these beside the axes of a grid.
_TAKEN = ["metric", "mean", "deviation", "gain", "seeds", "baseline_seeds", "best_updates", "updates", "epochs"]
_TAKEN += ["difference", "low", "high", "p_bootstrap", "p_randomisation"]
# What does not change the weights, or is told otherwise.
_NO_MATTER = [("run", "output"), ("run", "init_from"), ("run", "threads"), ("run", "device")]
_NO_MATTER += [("fit", "tensorboard"), ("fit", "save_every"), ("data", "test")]
_NO_MATTER += [("expand", "workers"), ("expand", "engine"), ("expand", "cache")]
_WEIGHTS = "weights.safetensors"  # of models and encoders


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
    all_stages: bool = setting(False, "Seeds are for all stages of a recipe, not for the last alone.")
    pick: tuple[str, ...] = setting((), "Axes that validation chooses from, with the first seed.")

    def check_together(self) -> None:
        for name in ("recipe", "output"):
            if not getattr(self, name).strip():
                raise SettingsError("has no name", "give one", key=name)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise SettingsError(f"is {shown(list(self.seeds))}", "give a list of different numbers", key="seeds")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:
                raise SettingsError(f"holds {seed}", f"give numbers from 0 to {2**32 - 1}", key="seeds")


@dataclass(frozen=True, slots=True)
class Job:
    """One stage of a recipe to be trained; `name` changes with the settings that its weights depend on, and is its
    folder's. `inputs` and `test_set` change with the contents of the files that training and testing read."""

    name: str
    stage: Stage
    before: Job | None
    inputs: str
    test_set: str


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
        """The stages of a cell. Unless all have the seed, those before the last are trained once, for all seeds."""
        found: list[Job] = []
        *earlier, last = self.recipes[cell].stages
        before_last = [stage.seeded(seed) for stage in earlier] if self.top.all_stages else earlier
        for stage in (*before_last, last.seeded(seed)):
            before = found[-1] if found else None
            start = before.name if before else stage.run.init_from
            name = fingerprint(_chosen(stage), stage.expands, start, list(_sizes(stage)))
            folder = str(self.output / "runs" / f"{stage.name or 'run'}-{name}")
            start = before.stage.run.output if before else stage.run.init_from
            run = replace(stage.run, output=folder, init_from=start, threads=stage.run.threads or 1)
            own = replace(stage, run=replace(stage.run, init_from="")) if before else stage
            inputs = fingerprint(before.inputs if before else "", [_hash_of(path) for path in _read(own)])
            test_set = fingerprint([_hash_of(path) for path in _files(stage.data.test)])
            found.append(Job(f"{stage.name or 'run'}-{name}", replace(stage, run=run), before, inputs, test_set))
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
    for name in (stage.data.train, stage.data.dev, stage.data.features):
        for file in _files(name):
            yield file.stat().st_size if file.exists() else -1


def _files(name: str) -> list[Path]:
    return list(map(Path, Input.of(name).files)) if name else []


def _read(stage: Stage) -> Iterator[Path]:
    """All files that the weights of a stage depend on; of the folder of a model or an encoder, its weights."""
    data, tools = stage.data, stage.expand.tools
    for name in (data.train, data.dev, data.features, data.feature_ids, stage.subwords.learn_from):
        yield from _files(name)
    folders = [stage.run.init_from, *((tools.encoder, tools.language_model) if stage.expands else ())]
    for place in (Path((name or "").removeprefix("vectors:")) for name in folders if name):
        yield place / _WEIGHTS if place.is_dir() else place


def _hash_of(path: Path) -> str:
    if not path.is_file():
        return ""
    found = path.stat()
    return _hash_of_content(path, found.st_size, found.st_mtime_ns)


@cache
def _hash_of_content(path: Path, size: int, changed: int) -> str:
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
        _table(tables.get("set", {}), "set")
        shown_how = _table(tables.get("report", {}), "report")
        with within("pick"):
            refuse_unknown("axis", top.pick, list(axes))
    except SettingsError as error:
        raise _placed(error, layer) from None
    recipes = [_recipe(top, layer, axes, cell) for cell in cells]
    try:
        with within("report"):
            report = _report(shown_how, top, axes, cells, recipes)
    except SettingsError as error:
        raise _placed(error, layer) from None
    words = recipes[0].stages[0]
    if not words.subwords.learn_from and not words.run.init_from:
        # One vocabulary serves all cells, also those that train on a part of the examples.
        learned = Layer("", {"subwords": {"learn_from": words.data.train}})
        recipes = [_recipe(top, layer, axes, cell, learned) for cell in cells]
    return Grid(Path(path).stem, top, report, {axis: list(values) for axis, values in axes.items()}, cells, recipes)


def _placed(error: SettingsError, layer: Layer) -> SettingsError:
    """The error with the file, and the line of its key or of the table that has it."""
    places = []
    for key in filter(None, (error.key, *error.also)):
        parts = tuple(key.split("."))
        known = (parts[:end] for end in range(len(parts), 0, -1) if layer.line_of(parts[:end]))
        places.append(next(known, parts))
    return SettingsError(layer.blamed(str(error), places))


def _axes(given: Any) -> dict[str, dict[str, Any]]:
    axes: dict[str, dict[str, Any]] = {}
    for axis, values in _table(given, "axis").items():
        _check_name(axis, f"axis.{axis}")
        if axis in _TAKEN:
            raise SettingsError("is a word of reports", "choose another name", key=f"axis.{axis}")
        axes[axis] = {}
        for name, changes in _table(values, f"axis.{axis}").items():
            _check_name(name, f"axis.{axis}.{name}")
            axes[axis][name] = _table(changes, f"axis.{axis}.{name}")
        if not axes[axis]:
            raise SettingsError("has no values", "give it at least one", key=f"axis.{axis}")
    return axes


def _check_name(name: str, key: str) -> None:
    if not _NAME.fullmatch(name) or name == ALL:
        cure = f"use letters, digits and . _ + - only, and not the word {ALL}"
        raise SettingsError("cannot be a name", cure, key=key)


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
    if not found:
        raise SettingsError("names no cell", "name at least one", key="cells")
    names = list(map(cell_name, found))
    for number, name in enumerate(names):
        if name in names[:number]:
            raise SettingsError(f"two cells have the name {name}; give one of their values another name")
        if len(name) > _LONGEST:
            raise SettingsError(f"the name of a cell has more than {_LONGEST} letters; give its values shorter names")
    return found


def _values(given: Any, axis: str, values: Mapping[str, Any]) -> list[str]:
    if given == ALL:
        return list(values)
    if given == []:
        raise SettingsError("is empty", "name at least one value", key=axis)
    found = [str(one) for one in (given if isinstance(given, list) else [given])]
    with within(axis):
        refuse_unknown("value", found, list(values))
    return found


def _report(
    given: Mapping[str, Any], top: GridSection, axes: Mapping[str, Any], cells: list[Cell], recipes: list[Recipe]
) -> dict[str, Any]:
    """How the records are shown: what is given, checked before anything is trained."""
    content = dict(given)
    baseline, test, curves = (content.pop(key, None) for key in ("baseline", "test", "curves"))
    found: dict[str, Any] = {key: value for key, value in contents(build(ReportSection, content)).items() if value}
    for key in ("rows", "columns"):
        with within(key):
            refuse_unknown("axis", found.get(key, ()), list(axes))
    if both := [axis for axis in found.get("columns", ()) if axis in found.get("rows", ())]:
        raise SettingsError(f"has {both[0]}, which is in rows too", "leave one of them out", key="columns")
    groups = [{axis: value for axis, value in one.items() if axis not in top.pick} for one in cells]
    _check_places(found, groups)
    validation = recipes[0].stages[-1].validation
    scores = list(dict.fromkeys([*validation.metrics, validation.goal]))
    for name in found.get("metrics", ()):
        if name not in scores:
            raise SettingsError(f"holds {shown(name)}", f"choose from {', '.join(scores)}", key="metrics")
    cell_of = partial(_cell, axes=axes, groups=groups, pick=top.pick)
    found |= {} if baseline is None else {"baseline": cell_of(baseline, "baseline")}
    found |= {} if test is None else {"test": [cell_of(one, "test") for one in _list(test, "test")]}
    tables = [_inner_table(one, "curves") for one in _list([] if curves is None else curves, "curves")]
    with within("curves"):
        figures = [_curve(one, axes, top.pick, scores) for one in tables]
    return found | ({"curves": figures} if figures else {})


def _curve(figure: dict[str, Any], axes: Mapping[str, Any], pick: tuple[str, ...], scores: list[str]) -> dict[str, Any]:
    where = _chosen_values(figure.pop("where", {}), "where", axes)
    found = contents(build(CurveSection, figure))
    free = [axis for axis in axes if axis not in pick]  # cells that differ only in what is picked are one
    known = {"lines": free, "x": ["updates", "epochs", *free], "metric": ["", *scores]}
    for key, names in known.items():
        if found[key] not in names:
            choices = ", ".join(filter(None, names))
            raise SettingsError(f"is {shown(found[key])}", f"choose from {choices}", key=key)
    return {key: value for key, value in found.items() if value} | {"where": where}


def _check_places(found: Mapping[str, Any], groups: list[Cell]) -> None:
    """Where rows are given, every cell has a place of its own in the table."""
    places: dict[tuple[str | None, ...], Cell] = {}
    for group in groups if "rows" in found else ():
        place = tuple(group.get(axis) for axis in (*found["rows"], *found.get("columns", ())))
        if (other := places.setdefault(place, group)) != group:
            problem = f"and columns do not tell {cell_name(other)} from {cell_name(group)}"
            raise SettingsError(problem, "add an axis to one of them", key="rows")


def _cell(given: Any, key: str, axes: Mapping[str, Any], groups: list[Cell], pick: tuple[str, ...]) -> Cell:
    """A cell, without what validation picks."""
    chosen = _chosen_values(given, key, axes)
    cell = {axis: value for axis, value in chosen.items() if axis not in pick}
    fitting = [cell] if cell in groups else [group for group in groups if cell.items() <= group.items()]
    if any(group != fitting[0] for group in fitting) or not fitting:
        problem = f"is {cell_name(cell)}, which {'several cells are' if fitting else 'no cell is'}"
        raise SettingsError(problem, "name one of the cells", key=key)
    return cell


def _chosen_values(given: Any, key: str, axes: Mapping[str, Any]) -> Cell:
    """One value of each axis that is named."""
    table = _inner_table(given, key)
    with within(key):
        refuse_unknown("axis", list(table), list(axes))
        for axis, value in table.items():
            if isinstance(value, list | Mapping):
                raise SettingsError(f"is {shown(value)}", "name one value", key=axis)
            with within(axis):
                refuse_unknown("value", [str(value)], list(axes[axis]))
    return {axis: str(table[axis]) for axis in axes if axis in table}


def _inner_table(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError("is not a table", f"write it as {key} = {{...}}", key=key)
    return dict(value)


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
