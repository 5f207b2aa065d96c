"""Run a grid: its cells side by side, each job once.

In:   a grid.
Out:  models, and a record for every cell and seed.
Not:  training (training.py), what a cell is (grid.py), what is kept of it (records.py).

Nothing is remembered but files. What is there is not made again, and a run that was killed goes on from its checkpoint,
so that a grid which was killed at any moment ends with the same records as one that was not.
"""

from __future__ import annotations

import fnmatch
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np

from polyref.data import Input, ReadSettings
from polyref.data.corpus import Corpus, open_index
from polyref.errors import InputError, PolyrefError, SettingsError
from polyref.experiment.folder import STEPS
from polyref.experiment.grid import Grid, Job
from polyref.experiment.inputs import check_files, expanded
from polyref.experiment.layout import GRID, Cell, cell_name, picked
from polyref.experiment.recipe import Recipe, Stage
from polyref.experiment.record import Record
from polyref.experiment.records import (
    BEGUN,
    DONE,
    is_of,
    is_tested,
    is_trained,
    read_json,
    record_of,
    write_done,
    write_grid,
    write_json,
    write_record,
    write_test,
)
from polyref.experiment.training import train_recipe
from polyref.files import make_folder, taken
from polyref.fit.checkpoint import CHECKPOINTS
from polyref.scale.pool import as_done

_EVERY = 2.0  # seconds between two looks at how far the cells are


@dataclass(frozen=True, slots=True)
class Task:
    """A job to be done, and whether its model is then tested."""

    job: Job
    test: bool

    @property
    def is_done(self) -> bool:
        return is_trained(self.job) and (not self.test or is_tested(self.job))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a grid is; `seconds_left` is None until something is known of how long a cell takes."""

    done: int
    all: int
    at_work: list[str]
    seconds_left: float | None


@dataclass(slots=True)
class Run:
    """A grid with what is known of it. A cell is meant by its number."""

    grid: Grid
    cells: list[int]
    failed: dict[str, str] = field(default_factory=dict)  # jobs, and why
    _updates: dict[str, int] = field(default_factory=dict)
    _jobs: dict[tuple[int, int], Job] = field(default_factory=dict)
    _records: dict[tuple[int, int], Record] = field(default_factory=dict)

    @staticmethod
    def of(grid: Grid, only: Sequence[str] = ()) -> Run:
        """`only` has patterns for names of cells, such as "shuffle-*"; without any, all cells are meant."""
        names = [cell_name(cell) for cell in grid.cells]
        for pattern in only:
            if not fnmatch.filter(names, pattern):
                cure = f"give a pattern for names such as {', '.join(names[:5])}"
                raise SettingsError(f'"{pattern}" is the name of no cell', cure, key="only")
        meant = {name for pattern in only or ["*"] for name in fnmatch.filter(names, pattern)}
        return Run(grid, [number for number, name in enumerate(names) if name in meant])

    # -- what is wanted -----------------------------------------------------------------------------------------

    def wanted(self) -> Iterator[tuple[int, int, Task]]:
        """Cells, seeds and their tasks that can be known by now: one seed of all cells, then the next."""
        chosen = self._chosen()
        for seed in self.grid.top.seeds:
            for group in self.grid.groups():
                for cell in filter(self.cells.__contains__, group):
                    is_open = cell in chosen or (seed == self.grid.top.seeds[0] and len(group) > 1)
                    if is_open and seed in self.grid.seeds[cell]:
                        job = self.job(cell, seed)
                        yield cell, seed, Task(job, cell in chosen and bool(job.stage.data.test))

    def _chosen(self) -> set[int]:
        """The cells that validation has picked, and those that it need not."""
        found = set()
        for group in self.grid.groups():
            if len(group) == 1:
                found.add(group[0])
                continue
            scores = [best_of(self.record(cell, self.grid.top.seeds[0])) for cell in group]
            place = picked(scores, lowest=self.grid.recipes[group[0]].stages[-1].fit.goal == "lowest")
            if place is not None:
                found.add(group[place])
        return found

    def planned(self) -> list[tuple[int, int]]:
        """All cells and seeds that will be trained. Where validation has not yet picked, the first stands for all."""
        chosen, first = self._chosen(), self.grid.top.seeds[0]
        found = []
        for group in self.grid.groups():
            stands = next((cell for cell in group if cell in chosen), group[0])
            for cell in filter(self.cells.__contains__, group):
                found += [(cell, seed) for seed in self.grid.seeds[cell] if cell == stands or seed == first]
        return found

    def job(self, cell: int, seed: int) -> Job:
        """The last job of a cell."""
        if (cell, seed) not in self._jobs:
            self._jobs[cell, seed] = self.grid.jobs(cell, seed)[-1]
        return self._jobs[cell, seed]

    def record(self, cell: int, seed: int) -> Record | None:
        """The record of a cell, if it is of this grid as it is now."""
        if (cell, seed) not in self._records:
            found = record_of(self.grid, self.grid.cells[cell], seed, self.job(cell, seed))
            if found is None:
                return None
            self._records[cell, seed] = found
        return self._records[cell, seed]

    def write(self, cell: int, seed: int) -> Record:
        """The record of a cell, written anew."""
        write_record(self.grid, self.grid.cells[cell], seed, self.job(cell, seed))
        self._records.pop((cell, seed), None)
        found = self.record(cell, seed)
        assert found is not None
        return found

    def has_record(self, cell: int, seed: int, task: Task) -> bool:
        found = self.record(cell, seed)
        if found is None or not task.test:
            return found is not None
        return found.test is not None and found.test.inputs == task.job.test_set

    # -- how long it takes --------------------------------------------------------------------------------------

    def updates_of(self, job: Job) -> int:
        """About how many updates a job has at most."""
        if job.name not in self._updates:
            self._updates[job.name] = planned_updates(job.stage)
        return self._updates[job.name]

    def seconds_per_pair(self) -> float | None:
        """Measured on the cells that have a record; before there is one, on those that have begun."""
        done, begun = [], []
        for cell in range(len(self.grid.cells)):
            for seed in self.grid.seeds[cell]:
                if (record := self.record(cell, seed)) is not None:
                    pairs = self.grid.recipes[cell].stages[-1].batch.pairs or 1
                    done.append(record.seconds / (record.updates * pairs))
                elif not done:
                    begun += [_rate(job) for job in (self.job(cell, seed), self.job(cell, seed).before) if job]
        found = done or [rate for rate in begun if rate]
        return mean(found) if found else None

    def seconds_left(self, jobs: int) -> float | None:
        rate = self.seconds_per_pair()
        if rate is None:
            return None
        left, seen = 0.0, set()
        for cell, seed in self.planned():
            job = self.job(cell, seed) if self.record(cell, seed) is None else None
            while job is not None and job.name not in seen and not is_trained(job):
                seen.add(job.name)
                updates = max(0, self.updates_of(job) - _stands(job)[0])
                left += updates * (job.stage.batch.pairs or 1) * rate
                job = job.before
        return left / jobs


def best_of(record: Record | None) -> float | None:
    """The validation that a cell is picked by."""
    return None if record is None else record.best.scores[record.goal]


def planned_updates(stage: Stage) -> int:
    """About how many updates a stage has at most: an example may give fewer pseudo-references than it is asked for."""
    data, fit, by = stage.data, stage.fit, stage.schedule
    if fit.epochs is None and fit.updates is not None:
        return fit.updates
    numbers = _index(stage, data.train).numbers
    gold, pseudo = numbers["gold"].astype(np.int64), numbers["pseudo"].astype(np.int64)
    taken = (gold >= data.at_least) & (gold <= (data.at_most or math.inf))
    gold, pseudo = gold[taken], pseudo[taken]
    share = min(1.0, (data.examples or len(gold)) / max(1, len(gold)))
    gold = np.minimum(gold, data.references or gold)
    total = gold + pseudo
    if by.gold_only:
        total = gold
    elif stage.expands:
        total = np.maximum(gold, stage.expand.settings.per_example)
    if by.limit is not None:
        total = np.minimum(total, np.maximum(by.limit, gold))
    pairs = len(gold) if by.schedule.schedule in ("first", "sample_one") else int(total.sum())
    per_epoch = math.ceil(pairs * share / (stage.batch.pairs or 50))
    return int(min(fit.most_epochs * per_epoch, fit.updates or math.inf))


def _stands(job: Job) -> tuple[int, float]:
    """Where a job stands by its log: updates and seconds."""
    try:
        with (Path(job.stage.run.output) / STEPS).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 4096))
            last = json.loads(file.read().splitlines()[-1])
            return int(last["updates"]), float(last["seconds"])
    except (OSError, ValueError, LookupError):
        return 0, 0.0


def _rate(job: Job) -> float:
    """Seconds per pair of a job that has begun, else 0."""
    updates, seconds = _stands(job)
    return seconds / (updates * (job.stage.batch.pairs or 1)) if updates else 0.0


# -- running ----------------------------------------------------------------------------------------------------------


def run_grid(
    run: Run,
    *,
    jobs: int = 1,
    say: Callable[[str], None] = lambda line: None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Train, test and record every cell that has no record yet, `jobs` at a time.

    `say` is given a line for a person whenever something is done, `on_progress` how far we are every few seconds. The
    fault of one cell does not end the others: `run.failed` has it.
    """
    grid = run.grid
    for cell in run.cells:
        check_files(grid.recipes[cell])
    with taken(make_folder(grid.output)):
        other = read_json(make_folder(grid.records) / GRID)
        if isinstance(other, dict) and other.get("name", grid.name) != grid.name:
            cure = "give `records` another folder, or delete this one"
            raise InputError(f"these are the records of the grid {other['name']}", cure, file=str(grid.records))
        _expand(run, jobs, say)
        write_grid(grid, run.cells)
        at_work: dict[str, str] = {}
        work = partial(_worker, str(grid.output))
        _record_what_is_done(run, say)
        if all(run.has_record(*one) for one in run.wanted()):
            return
        workers = min(jobs, sum(len(grid.seeds[cell]) for cell in run.cells))
        for found in as_done(partial(_next_task, run, at_work), work, workers=workers, every=_EVERY):
            if found is not None:
                task, result = found
                label = at_work.pop(task.job.name)
                if isinstance(result, PolyrefError):
                    run.failed[task.job.name] = str(result)
                    say(f"{label} failed ({task.job.name}): {result}")
                elif isinstance(result, Exception):
                    raise result
                _record_what_is_done(run, say)
            on_progress(_progress(run, at_work, jobs))


def _expand(run: Run, jobs: int, say: Callable[[str], None]) -> None:
    """Make the training sets before anybody wants them: two cells may want the same one."""
    for cell in run.cells:
        for stage in run.grid.recipes[cell].stages:
            if stage.expands:
                tools = replace(stage.expand.tools, workers=min(jobs, os.cpu_count() or 1))
                stage = replace(stage, expand=replace(stage.expand, tools=tools))
            _index(stage, expanded(stage, run.grid.output, lambda path: say(f"expanding {path}")))


def _index(stage: Stage, path: str) -> Corpus:
    """A training set with its index."""
    return open_index(Input.of(path, ReadSettings(fields=stage.data.fields)))


def _next_task(run: Run, at_work: dict[str, str]) -> Task | None:
    for cell, seed, task in run.wanted():
        if run.has_record(cell, seed, task):
            continue
        while task.job.before is not None and not is_trained(task.job) and not is_trained(task.job.before):
            task = Task(task.job.before, False)
        if task.job.name not in at_work and task.job.name not in run.failed and not task.is_done:
            at_work[task.job.name] = f"{cell_name(run.grid.cells[cell])} seed {seed}"
            return task
    return None


def _record_what_is_done(run: Run, say: Callable[[str], None]) -> None:
    """Write the records of all cells whose job has ended, of those too that share it. Once the first seed of some is
    there, other seeds may be wanted which have ended as well."""
    while found := [one for one in run.wanted() if one[2].is_done and not run.has_record(*one)]:
        for cell, seed, _ in found:
            say(_line(run.grid.cells[cell], seed, run.write(cell, seed)))


def _line(cell: Cell, seed: int, record: Record) -> str:
    found, tested = _scores(record.best.scores), _scores(record.test.scores if record.test else {})
    where = f"{found} on validation after {record.updates:,} updates, {record.seconds / 60:.1f} min"
    return f"{cell_name(cell)} seed {seed}: {where}" + (f"; {tested} on test" if tested else "")


def _scores(found: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {score:.4g}" for name, score in found.items())


def _progress(run: Run, at_work: dict[str, str], jobs: int) -> Progress:
    wanted = list(run.wanted())
    done = sum(run.has_record(*one) for one in wanted)
    return Progress(done, len(wanted), list(at_work.values()), run.seconds_left(jobs))


# -- inside a worker --------------------------------------------------------------------------------------------------


def _worker(output: str) -> Callable[[Task], None]:
    return partial(_work, output)


def _work(output: str, task: Task) -> None:
    stage, folder = task.job.stage, Path(task.job.stage.run.output)
    if not is_trained(task.job):
        if folder.exists() and ((folder / DONE).exists() or not is_of(read_json(folder / BEGUN), task.job.inputs)):
            shutil.rmtree(folder)  # what it reads has changed since
        write_json(make_folder(folder) / BEGUN, {"inputs": task.job.inputs})
        (trained,) = train_recipe(Recipe(output, (stage,)))
        write_done(task.job, trained.updates, trained.epochs, trained.best_updates)
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)  # as large as three models
    if task.test and not is_tested(task.job):
        write_test(task.job)
