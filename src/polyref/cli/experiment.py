"""`polyref experiment`: train the cells of a grid."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyref.cli import options as o
from polyref.errors import PolyrefError, SettingsError, load_extra

if TYPE_CHECKING:
    from polyref.experiment.running import Progress, Run

_UNKNOWN = "unknown: run one cell first, with --only"


@o.from_settings()
def experiment(
    grid: Annotated[str, o.argument("GRID", "A TOML file; see docs/experiments.md.")],
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Cells that are trained at a time.")] = 1,
    only: Annotated[
        list[str] | None, o.option("PATTERN", 'Only cells with such names: "shuffle-*"; may be given again.')
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Only show what is done.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show cells, updates and hours.")] = False,
    as_json: o.JsonOption = False,
) -> None:
    """Train a recipe with some keys changed, again and again.

    Each run is recorded. What was stopped or killed goes on when the same command is given again. Tables and figures:
    polyref report. Needs torch: pip install "polyref[torch]".
    """  # fmt: skip
    if not 1 <= jobs <= 1024:
        raise SettingsError(f"is {jobs}", "give a number from 1 to 1024", key="jobs")
    load_extra("torch", purpose="training", extra="torch")
    from polyref.experiment.grid import read_grid
    from polyref.experiment.running import Run, run_grid

    run = Run.of(read_grid(grid), only or ())
    if status or dry_run:
        facts = _status(run) if status else _plan(run, jobs)
        shown = _status_table(facts) if status else _plan_table(facts, jobs)
        o.tell(o.one_object(facts) if as_json else shown)
        return
    line = _Line()
    run_grid(run, jobs=jobs, say=line.say, on_progress=line.show)
    if as_json:
        o.tell(o.one_object({"records": str(run.grid.records), "failed": run.failed, **_status(run)}))
    else:
        line.say(f"records: {run.grid.records}")
    if run.failed:
        raise PolyrefError(f"{o.counted(len(run.failed), 'job')} failed; the same command tries again")


class _Line:
    """Lines for a person, and below them one that changes where there is a terminal."""

    def __init__(self) -> None:
        self._length = 0

    def say(self, line: str) -> None:
        self._clear()
        o.say(line)

    def show(self, progress: Progress) -> None:
        if not o.has_bar():
            return
        left = "" if progress.seconds_left is None else f", about {duration(progress.seconds_left)} left"
        line = f"{progress.done} of {progress.all} done{left}"
        line += f", at work: {', '.join(progress.at_work)}" if progress.at_work else ""
        line = line[: max(20, shutil.get_terminal_size().columns - 1)]  # a line that wraps cannot be cleared
        self._clear()
        typer.echo(line, err=True, nl=False)
        self._length = len(line)

    def _clear(self) -> None:
        if self._length:
            typer.echo("\r" + " " * self._length + "\r", err=True, nl=False)
            self._length = 0


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _status(run: Run) -> dict[str, Any]:
    """Of each cell: its seeds that are done, and its mean scores."""
    from polyref.experiment.layout import cell_name

    cells, planned = [], run.planned()
    done = [(cell, seed) for cell, seed, task in run.wanted() if run.has_record(cell, seed, task)]
    for cell in run.cells:
        seeds = [seed for other, seed in planned if other == cell]
        records = [record for seed in seeds if (cell, seed) in done and (record := run.record(cell, seed)) is not None]
        best = _means([record.best.scores for record in records])
        tested = _means([record.test.scores for record in records if record.test is not None])
        name = cell_name(run.grid.cells[cell])
        cells.append({"cell": name, "done": len(records), "seeds": len(seeds), "validation": best, "test": tested})
    return {"cells": cells}


def _status_table(facts: dict[str, Any]) -> str:
    rows = [("cell", "seeds", "validation", "test")]
    for one in facts["cells"]:
        scores = [", ".join([f"{name} {score:.4g}" for name, score in one[part].items()]) for part in rows[0][2:]]
        rows.append((one["cell"], f"{one['done']} of {one['seeds']}", *scores))
    return _table(rows)


def _means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: mean(one[name] for one in scores) for name in scores[0]} if scores else {}


def _plan(run: Run, jobs: int) -> dict[str, Any]:
    """The most updates of each job, and how long they take."""
    from polyref.experiment.inputs import check_files
    from polyref.experiment.layout import cell_name

    grid, seed = run.grid, run.grid.top.seeds[0]
    for cell in run.cells:
        check_files(grid.recipes[cell])
    first = {job.name: job for cell in run.cells for job in grid.jobs(cell, seed)[:-1]}
    names = {job.name for cell, seed in run.planned() for job in grid.jobs(cell, seed)}
    cells = [(cell_name(grid.cells[cell]), run.updates_of(run.job(cell, seed))) for cell in run.cells]
    return {
        "before": [{"job": job.name, "updates": run.updates_of(job)} for job in first.values()],
        "cells": [{"cell": name, "updates": updates} for name, updates in cells],
        "seeds": max(len(grid.seeds[cell]) for cell in run.cells),
        "jobs": len(names),
        "seconds_left": run.seconds_left(jobs),
    }


def _plan_table(facts: dict[str, Any], jobs: int) -> str:
    rows = [("cell", "updates")]
    rows += [(f"(before: {one['job']})", f"{one['updates']:,}") for one in facts["before"]]
    rows += [(one["cell"], f"{one['updates']:,}") for one in facts["cells"]]
    left = facts["seconds_left"]
    known = f"about {duration(left)} left with {jobs} at a time" if left is not None else _UNKNOWN
    counts = ("cell", len(facts["cells"])), ("seed", facts["seeds"]), ("different job", facts["jobs"])
    return _table(rows) + f"{', '.join([o.counted(number, what) for what, number in counts])}; time {known}\n"


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"{line}\n" for line in o.aligned(rows, left=range(len(rows[0]))))
