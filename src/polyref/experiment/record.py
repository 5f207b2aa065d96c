"""The record of a run, and how JSON is checked that may have been cut off or edited.

In:   a JSON file.
Out:  a Record, of which everything that it is read for is there; or an InputError that names the key.
Not:  writing it (records.py), grid.json and what many records come to (report/records.py).

What is refused here is written anew by polyref experiment, and never used by polyref report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from polyref.data.formats.jsonl import json_of
from polyref.errors import InputError
from polyref.files import reading
from polyref.score.significance import Statistics, statistics_of

AGAIN = "run polyref experiment again"
FILE_CURE = f"{AGAIN}, or move the file away"
_KINDS: dict[Any, str] = {
    str: "a string",
    int: "a whole number",
    int | float: "a number",
    list: "a list",
    dict: "an object",
    dict | None: "an object or null",
}
_LARGEST = 1e30  # no count, time or score is larger; of a perplexity exp(50) is shown at the most

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
    changes with the contents of the test set."""

    inputs: str
    examples: int
    scores: Mapping[str, float]
    signatures: Mapping[str, str]
    per_example: Mapping[str, Statistics]
    extra: Mapping[str, float]

    @classmethod
    def read(cls, path: Path) -> Tested:
        return _tested(Table.read(path, AGAIN))


@dataclass(frozen=True, slots=True)
class Record:
    """A cell trained with one seed; `best` is its best validation, `goal` the score that chose it. `job` and `inputs`
    change with the settings and with the contents of what training read."""

    file: str
    cell: Cell
    seed: int
    job: str
    inputs: str
    goal: str
    curve: tuple[Point, ...]
    updates: int
    epochs: int
    seconds: float
    best: Point
    test: Tested | None
    versions: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> Record:
        return cls.of(Table.read(path, FILE_CURE))

    @classmethod
    def of(cls, table: Table) -> Record:
        goal = table.table("settings").table("validation").get("goal", str)
        return cls(
            file=table.file,
            cell=table.values("cell", str),
            seed=table.get("seed", int),
            job=table.get("job", str),
            inputs=table.get("inputs", str),
            goal=goal,
            **training_of(table, goal),
            test=None if table.get("test", dict | None) is None else _tested(table.table("test")),
            versions=table.values("versions", str),
        )


@dataclass(frozen=True, slots=True)
class Table:
    """An object of a JSON file, with what an error about it says."""

    content: Mapping[str, Any]
    file: str
    cure: str
    at: str = ""  # what its keys come after: "report."

    @classmethod
    def read(cls, path: Path, cure: str) -> Table:
        with reading(path):
            text = path.read_text(encoding="utf-8", errors="replace")
        try:
            content = json_of(text, str(path))
        except InputError as error:
            raise InputError(error.problem, cure, file=error.file, line=error.line) from None
        if not isinstance(content, dict):
            raise InputError("this is not a JSON object", cure, file=str(path))
        return cls(content, str(path), cure)

    def refuse(self, problem: str, cure: str = "") -> None:
        raise InputError(problem, cure or self.cure, file=self.file)

    def get(self, key: str, kind: type | UnionType) -> Any:
        """A value of a kind."""
        if key not in self.content:
            self.refuse(f'"{self.at}{key}" is missing')
        value = self.content[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            self.refuse(f'"{self.at}{key}" is not {_KINDS[kind]}')
        if isinstance(value, int | float) and abs(value) > _LARGEST:
            self.refuse(f'"{self.at}{key}" is too large')
        return value

    def list_of(self, key: str, kind: type) -> list[Any]:
        found: list[Any] = self.get(key, list)
        for item in found:
            if not isinstance(item, kind) or isinstance(item, bool):
                self.refuse(f'"{self.at}{key}" holds what is not {_KINDS[kind]}')
        return found

    def table(self, key: str) -> Table:
        return Table(self.get(key, dict), self.file, self.cure, f"{self.at}{key}.")

    def tables(self, key: str) -> list[Table]:
        items = self.get(key, list)
        for item in items:
            if not isinstance(item, dict):
                self.refuse(f'"{self.at}{key}" holds what is not an object')
        return [Table(item, self.file, self.cure, f"{self.at}{key}.{n}.") for n, item in enumerate(items, 1)]

    def values(self, key: str, kind: type | UnionType) -> dict[str, Any]:
        """A table that holds values of one kind."""
        inner = self.table(key)
        return {name: inner.get(name, kind) for name in inner.content}


def training_of(table: Table, goal: str) -> dict[str, Any]:
    """What a run came to: its part of a record, which stands by itself until there is one."""
    best, updates = table.table("best"), table.get("updates", int)
    scores = best.values("scores", int | float)
    if goal not in scores:
        table.refuse(f'"best.scores" has no "{goal}", which chose it')
    if updates < 1:
        table.refuse(f'"updates" is {updates}')
    return {
        "curve": tuple(
            Point(one.get("updates", int), one.get("epoch", int), one.values("scores", int | float))
            for one in table.tables("curve")
        ),
        "updates": updates,
        "epochs": table.get("epochs", int),
        "seconds": table.get("seconds", int | float),
        "best": Point(best.get("updates", int), 0, scores),
    }


def _tested(table: Table) -> Tested:
    scores = table.table("scores")
    scored = {name: scores.table(name) for name in scores.content}
    examples, per_example = table.get("examples", int), table.values("per_example", list)
    for name, rows in per_example.items():
        if len(rows) != examples:
            problem = f'"{table.at}per_example.{name}" is for {len(rows):,} examples, and there are {examples:,}'
            table.refuse(problem)
        try:
            per_example[name] = statistics_of(rows, name)
        except InputError as error:
            table.refuse(f'"{table.at}per_example.{name}": {error.problem}')
    return Tested(
        table.get("inputs", str),
        examples,
        {name: one.get("score", int | float) for name, one in scored.items()},
        {name: one.get("signature", str) for name, one in scored.items()},
        per_example,
        table.values("extra", int | float),
    )
