"""A grid: one recipe, and the cells that change some of its keys.

In:   a TOML file.
Out:  a Grid: its cells in order, each with a name and a recipe; the jobs of a cell, each known by its content.
Not:  running them (running.py), what a recipe may say (recipe.py), how the results are shown (layout.py, report/).

Cells are listed, not struck out: every [[cells]] is the product of what it names on some axes. What has no meaning,
such as pseudo-references for a schedule that takes the first reference, is not named, and is not run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from polyref.data import Input
from polyref.errors import SettingsError
from polyref.experiment.layout import Cell, cell_name, grouped, layout_of, refuse_twice
from polyref.experiment.reading import Layer, read_layer, read_recipe
from polyref.experiment.recipe import Place, Recipe, Stage, recipe_of
from polyref.files import reading
from polyref.fit import fingerprint
from polyref.settings import build, refuse_unknown, required, setting, settings, shown, table_of, within

_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
ALL = "all"
_LONGEST = 200  # letters of a cell's name, which is the name of a file
# Reports have these beside the axes of a grid.
_TAKEN = ["metric", "mean", "deviation", "gain", "seeds", "baseline_seeds", "best_updates", "updates", "epochs"]
_TAKEN += ["against", "difference", "low", "high", "p_bootstrap", "p_randomisation"]
# What does not change the weights, or is told otherwise.
_NO_MATTER = [("run", "output"), ("run", "init_from"), ("run", "threads"), ("run", "device")]
_NO_MATTER += [("fit", "tensorboard"), ("fit", "save_every"), ("data", "test")]
_NO_MATTER += [("expand", "workers"), ("expand", "engine"), ("expand", "cache")]
_WEIGHTS = "weights.safetensors"  # of models and encoders


@settings
class GridSection:
    """The top of a grid file."""

    recipe: str = required("Recipe that the cells change, seen from the folder that the command is started in.")
    output: str = required("Folder for models, expanded files and, unless they have their own, records.")
    records: str = setting("", "Folder for the records.", unset="records, in output")
    seeds: tuple[int, ...] = setting((1,), "Every cell is trained once with each of them.")
    seeded_stages: int = setting(1, "Stages of a recipe that seeds are for, counted from the last.", at_least=1)
    pick: tuple[str, ...] = setting((), "Axes that validation chooses from, with the first seed.")

    def check_together(self) -> None:
        for name in ("recipe", "output"):
            if not getattr(self, name).strip():
                raise SettingsError("has no name", "give one", key=name)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise SettingsError(f"is {shown(list(self.seeds))}", "give different numbers, at least one", key="seeds")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:
                raise SettingsError(f"holds {seed}", f"give numbers from 0 to {2**32 - 1}", key="seeds")
        refuse_twice("pick", self.pick)


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
    """`recipes` and `seeds` have one entry for each cell, in the same order."""

    name: str
    top: GridSection
    report: dict[str, Any]
    axes: dict[str, list[str]]
    cells: list[Cell]
    seeds: list[tuple[int, ...]]
    recipes: list[Recipe]

    @property
    def output(self) -> Path:
        return Path(self.top.output)

    @property
    def records(self) -> Path:
        return Path(self.top.records or self.output / "records")

    def groups(self) -> list[list[int]]:
        """The numbers of cells that differ only in what validation picks."""
        return [numbers for _, numbers in grouped(self.cells, self.top.pick)]

    def jobs(self, cell: int, seed: int) -> list[Job]:
        """The stages of a cell. Those that seeds are not for are trained once, for all seeds."""
        found: list[Job] = []
        stages = self.recipes[cell].stages
        for left, stage in zip(range(len(stages), 0, -1), stages, strict=True):
            if left <= self.top.seeded_stages:
                stage = stage.seeded(seed)
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
    with _placed(layer):
        refuse_unknown("key", list(tables), [*GridSection.__dataclass_fields__, "set", "axis", "cells", "report"])
        top = build(GridSection, {key: tables[key] for key in GridSection.__dataclass_fields__ if key in tables})
        axes = _axes(tables.get("axis", {}))
        cells, seeds = _cells(tables.get("cells"), axes, top.seeds)
        table_of(tables.get("set", {}), "set")
        shown_how = table_of(tables.get("report", {}), "report")
        with within("pick"):
            refuse_unknown("axis", top.pick, list(axes))
        if not Path(top.recipe).is_file():
            cure = "check the path, seen from the folder that the command is started in"
            raise SettingsError(f"is {shown(top.recipe)}, and there is no such file", cure, key="recipe")
    recipes = [_recipe(top, layer, axes, cell) for cell in cells]
    validation = recipes[0].stages[-1].validation
    scores = list(dict.fromkeys([*validation.metrics, validation.goal]))
    with _placed(layer), within("report"):
        report = layout_of(shown_how, axes, cells, top.pick, scores)
    words = recipes[0].stages[0]
    if not words.subwords.learn_from and not words.run.init_from:
        # One vocabulary serves all cells, also those that train on a part of the examples.
        learned = Layer("", {"subwords": {"learn_from": words.data.train}})
        recipes = [_recipe(top, layer, axes, cell, learned) for cell in cells]
    return Grid(
        Path(path).stem, top, report, {axis: list(values) for axis, values in axes.items()}, cells, seeds, recipes
    )


@contextmanager
def _placed(layer: Layer) -> Iterator[None]:
    """Errors that pass get the file, and the line of their key or of the table that has it."""
    try:
        yield
    except SettingsError as error:
        places = []
        for key in filter(None, (error.key, *error.also)):
            parts = _place(key)
            known = (parts[:end] for end in range(len(parts), 0, -1) if layer.line_of(parts[:end]))
            places.append(next(known, parts))
        raise SettingsError(layer.blamed(str(error), places)) from None


def _place(key: str) -> Place:
    """The place of a key that may be in one of several tables, which are counted from one: cells.2.method."""
    parts: list[str | int] = [*key.split(".")]
    at = {"cells": 1, "report": 2}.get(key.split(".")[0], len(parts))
    if at < len(parts) and (number := str(parts[at])).isdecimal():
        parts[at] = int(number) - 1
    return tuple(parts)


def _axes(given: Any) -> dict[str, dict[str, Any]]:
    axes: dict[str, dict[str, Any]] = {}
    for axis, values in table_of(given, "axis").items():
        _check_name(axis, f"axis.{axis}")
        if axis in _TAKEN:
            raise SettingsError("is a word of reports", "choose another name", key=f"axis.{axis}")
        axes[axis] = {}
        for name, changes in table_of(values, f"axis.{axis}").items():
            _check_name(name, f"axis.{axis}.{name}")
            axes[axis][name] = table_of(changes, f"axis.{axis}.{name}")
        if not axes[axis]:
            raise SettingsError("has no values", "give it at least one", key=f"axis.{axis}")
    return axes


def _check_name(name: str, key: str) -> None:
    if not _NAME.fullmatch(name) or name == ALL:
        cure = f"use letters, digits and . _ + - only, and not the word {ALL}"
        raise SettingsError("cannot be a name", cure, key=key)


def _cells(
    given: Any, axes: Mapping[str, Mapping[str, Any]], all_seeds: tuple[int, ...]
) -> tuple[list[Cell], list[tuple[int, ...]]]:
    """All cells in order, and the seeds of each. Without [[cells]], the product of all axes."""
    blocks = [dict.fromkeys(axes, ALL)] if given is None else given
    if not isinstance(blocks, list) or not all(isinstance(one, Mapping) for one in blocks):
        raise SettingsError("is not a list of tables", "begin each with [[cells]]", key="cells")
    found: list[Cell] = []
    seeds: list[tuple[int, ...]] = []
    for number, block in enumerate(blocks, 1):
        with within(f"cells.{number}"):
            refuse_unknown("axis", list(block), [*axes, "seeds"])
            own = _first_seeds(block.get("seeds", len(all_seeds)), all_seeds)
            named = [axis for axis in axes if axis in block]
            for values in product(*(_values(block[axis], axis, axes[axis]) for axis in named)):
                cell = dict(zip(named, values, strict=True))
                found.append(cell)
                seeds.append(own)
    if not found:
        raise SettingsError("names no cell", "name at least one", key="cells")
    names = list(map(cell_name, found))
    for number, name in enumerate(names):
        if found[number] in found[:number]:
            raise SettingsError(f"name the cell {name} twice", "name it once", key="cells")
        if name in names[:number]:
            raise SettingsError(f"give two cells the name {name}", "give one of their values another name", key="cells")
        if len(name) > _LONGEST:
            problem = f"give a cell a name of more than {_LONGEST} letters"
            raise SettingsError(problem, "give its values shorter names", key="cells")
    return found, seeds


def _first_seeds(count: Any, seeds: tuple[int, ...]) -> tuple[int, ...]:
    if type(count) is not int or not 1 <= count <= len(seeds):
        cure = f"say how many of the grid's seeds these cells have, from 1 to {len(seeds)}"
        raise SettingsError(f"is {shown(count)}", cure, key="seeds")
    return seeds[:count]


def _values(given: Any, axis: str, values: Mapping[str, Any]) -> list[str]:
    if given == ALL:
        return list(values)
    if given == []:
        raise SettingsError("is empty", "name at least one value", key=axis)
    found = [str(one) for one in (given if isinstance(given, list) else [given])]
    with within(axis):
        refuse_unknown("value", found, list(values))
    return found


def _recipe(top: GridSection, layer: Layer, axes: Mapping[str, Mapping[str, Any]], cell: Cell, *first: Layer) -> Recipe:
    """The recipe of a cell: what is set for all cells comes over the recipe, and then what the cell sets."""
    layers = [*first, replace(layer, tables=table_of(layer.tables.get("set", {}), "set"), under=("set",))]
    layers.append(Layer("", {"run": {"output": top.output}}))
    layers += [replace(layer, tables=axes[axis][value], under=("axis", axis, value)) for axis, value in cell.items()]
    return read_recipe(top.recipe, layers=layers)
