"""`polyref experiment`: train the cells of a grid."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyref.cli import options as o
from polyref.errors import PolyrefError, SettingsError, load_extra

if TYPE_CHECKING:
    from polyref.experiment.running import Progress, Run


@o.from_settings()
def experiment(
    grid: Annotated[str, o.argument("GRID", "A TOML file; see docs/experiments.md.")],
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Cells that are trained at a time.")] = 1,
    only: Annotated[str | None, o.option("PATTERN", 'Cells with such names only, as in "shuffle-*".')] = None,
    status: Annotated[bool, typer.Option("--status", help="Only show what is done.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show cells, updates and hours.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing while it runs.")] = False,
) -> None:
    """Train a recipe again and again with some keys changed, and record each run.

    What was stopped or killed goes on when the same command is given again. Tables and figures: polyref report.
    Needs torch: pip install "polyref[torch]".
    """  # fmt: skip
    if not 1 <= jobs <= 1024:
        raise SettingsError(f"is {jobs}", "give a number from 1 to 1024", key="jobs")
    load_extra("torch", purpose="training", extra="torch")
    from polyref.experiment.grid import read_grid
    from polyref.experiment.running import Run, run_grid

    run = Run.of(read_grid(grid), only)
    if status or dry_run:
        o.tell(_status(run) if status else _plan(run, jobs))
        return
    shown = _Line(quiet)
    o.hear_notes(quiet=quiet)
    run_grid(run, jobs=jobs, say=shown.say, on_progress=shown.show)
    shown.say(f"records: {run.grid.records}")
    if run.failed:
        raise PolyrefError(f"{o.counted(len(run.failed), 'job')} failed; the same command tries again")


class _Line:
    """Lines for a person, and below them one that changes where there is a terminal."""

    def __init__(self, quiet: bool):
        self._quiet = quiet
        self._length = 0

    def say(self, line: str) -> None:
        if not self._quiet:
            self._clear()
            o.say(line)

    def show(self, progress: Progress) -> None:
        if self._quiet or not sys.stderr.isatty():
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


def _status(run: Run) -> str:
    """One line for each cell: its seeds, and its mean scores."""
    from polyref.experiment.grid import cell_name

    grid = run.grid
    rows = [("cell", "seeds", "validation", "test")]
    for cell in run.cells:
        records = [record for seed in grid.top.seeds if (record := run.record(cell, seed)) is not None]
        best = [_scores(record["best"]) for record in records]
        tested = [_scores(record["test"]) for record in records if record["test"] is not None]
        rows.append(
            (cell_name(grid.cells[cell]), f"{len(records)} of {len(grid.top.seeds)}", _means(best), _means(tested))
        )
    return _table(rows)


def _scores(part: dict[str, Any]) -> dict[str, float]:
    return {name: one["score"] if isinstance(one, dict) else one for name, one in part["scores"].items()}


def _means(scores: list[dict[str, float]]) -> str:
    return ", ".join(f"{name} {mean(one[name] for one in scores):.4g}" for name in scores[0]) if scores else ""


def _plan(run: Run, jobs: int) -> str:
    from polyref.experiment.grid import cell_name

    grid, seeds = run.grid, len(run.grid.top.seeds)
    rows = [("cell", "updates")]
    first = {job.name: job for cell in run.cells for job in grid.jobs(cell, grid.top.seeds[0])[:-1]}
    rows += [(f"(before: {job.name})", f"{run.updates_of(job):,}") for job in first.values()]
    for cell in run.cells:
        job = run.job(cell, grid.top.seeds[0])
        rows.append((cell_name(grid.cells[cell]), f"{run.updates_of(job):,}"))
    left = run.seconds_left(jobs)
    names = {job.name for cell in run.cells for seed in grid.top.seeds for job in grid.jobs(cell, seed)}
    known = (
        "unknown: run one cell first, with --only"
        if left is None
        else f"about {duration(left)} left with {jobs} at a time"
    )
    cells = f"{o.counted(len(run.cells), 'cell')}, {o.counted(seeds, 'seed')}, {o.counted(len(names), 'different job')}"
    return _table(rows) + f"{cells}; time {known}\n"


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"{line}\n" for line in o.aligned(rows, left=range(len(rows[0]))))
