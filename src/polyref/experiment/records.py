"""What is kept of an experiment: one record for each cell and seed, and one of the grid.

In:   the folder of a run that has ended; a grid.
Out:  JSON, from which polyref report makes tables and figures without data and without models.
Not:  running (running.py), tables and figures (report/).
"""

from __future__ import annotations

import json
import platform
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from polyref import __version__
from polyref.data import Input, ReadSettings, read
from polyref.errors import InputError
from polyref.example import Example
from polyref.experiment.folder import STEPS
from polyref.experiment.grid import Grid, Job
from polyref.experiment.inputs import check_files, cut_down, expanded
from polyref.experiment.layout import GRID, Cell, cell_name
from polyref.experiment.recipe import PERPLEXITY, Stage, ValidationSection
from polyref.experiment.record import AGAIN, Record, Table, Tested, training_of
from polyref.features.features import Features
from polyref.files import write_whole, writing
from polyref.model import load_model
from polyref.model.folder import WEIGHTS
from polyref.score import USUAL, evaluate
from polyref.score.diversity import diversity
from polyref.score.facts import facts
from polyref.score.significance import Statistics

BEGUN, DONE, TEST, OUTPUT = "begun.json", "done.json", "test.json", "test.jsonl"
_PARTS = ("train", "dev", "test")
_DIGITS = 6
_ROWS = re.compile(r"\[[^\[\]{}\"]*\]")


def record_path(grid: Grid, cell: Cell, seed: int) -> Path:
    return grid.records / f"{cell_name(cell)}-seed{seed}.json"


def read_json(path: Path) -> Any:
    """What a file holds; None if there is none, or only a part of one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, content: Any) -> None:
    # Short lists stay on one line: a record is read by people, too.
    text = json.dumps(content, indent=1, ensure_ascii=False)
    with writing(path):
        write_whole(path, (_ROWS.sub(lambda row: " ".join(row[0].split()), text) + "\n").encode())


# -- what is there ----------------------------------------------------------------------------------------------------


def is_trained(job: Job) -> bool:
    folder = Path(job.stage.run.output)
    try:
        done = Table.read(folder / DONE, AGAIN)
        training_of(done, job.stage.validation.goal)
        return done.get("inputs", str) == job.inputs and (folder / WEIGHTS).is_file()
    except InputError:
        return False


def is_tested(job: Job) -> bool:
    try:
        return Tested.read(Path(job.stage.run.output) / TEST).inputs == job.test_set
    except InputError:
        return False


def is_of(found: Any, inputs: str) -> bool:
    """Whether a file was made from inputs as they are now."""
    return isinstance(found, dict) and found.get("inputs") == inputs


def record_of(grid: Grid, cell: Cell, seed: int, job: Job) -> Record | None:
    """The record of a cell, if there is one, whole, and of this job."""
    try:
        found = Record.read(record_path(grid, cell, seed))
    except InputError:
        return None
    is_own = (found.cell, found.seed, found.job, found.inputs) == (cell, seed, job.name, job.inputs)
    return found if is_own else None


# -- a cell -----------------------------------------------------------------------------------------------------------


def write_record(grid: Grid, cell: Cell, seed: int, job: Job) -> None:
    """The record of a cell whose last job has ended."""
    folder = Path(job.stage.run.output)
    done = read_json(folder / DONE)
    content = job.stage.content()
    for key in ("output", "init_from"):
        content["run"].pop(key)
    write_json(
        record_path(grid, cell, seed),
        {
            "cell": cell,
            "seed": seed,
            "job": job.name,
            "inputs": job.inputs,
            "versions": {"polyref": __version__, "python": platform.python_version()}
            | {name: version(name) for name in ("torch", "numpy", "tokenizers", "sacrebleu")},
            "settings": content,
            "updates": done["updates"],
            "epochs": done["epochs"],
            "seconds": done["seconds"],
            "best": done["best"],
            "curve": done["curve"],
            "test": read_json(folder / TEST),
        },
    )


def write_done(job: Job, updates: int, epochs: int, best_updates: int) -> None:
    """Mark a job as trained: this and its model are all that is needed of it from now on."""
    folder = Path(job.stage.run.output)
    steps = [json.loads(line) for line in (folder / STEPS).read_text(encoding="utf-8").splitlines()]
    curve = [_point(step) for step in steps if "validation" in step]
    best = next((point["scores"] for point in curve if point["updates"] == best_updates), None)
    if best is None:
        raise InputError(
            "lacks validations of this run", "delete its folder to train it again", file=str(folder / STEPS)
        )
    found = {
        "inputs": job.inputs,
        "updates": updates,
        "epochs": epochs,
        "seconds": max(step["seconds"] for step in steps),
        "best": {"updates": best_updates, "scores": best},
        "curve": curve,
    }
    write_json(folder / DONE, found)


def _point(step: dict[str, Any]) -> dict[str, Any]:
    scores = {name: round(score, _DIGITS) for name, score in step["scores"].items()}
    loss = round(step["loss"], _DIGITS)
    return {name: step[name] for name in ("updates", "epoch", "seconds")} | {"loss": loss, "scores": scores}


def write_test(job: Job) -> None:
    """Generate for the test set, and score it."""
    stage = job.stage
    folder, validation = Path(stage.run.output), stage.validation
    examples = list(read(stage.data.test, stage.data.fields))
    trained = load_model(folder, "cpu")
    features = Features.open(stage.data.features, stage.data.feature_ids or None) if stage.data.features else None
    found = trained.generate([example.source for example in examples], features=features, batch=validation.at_once)
    texts = [best.text for best, *_ in found]
    lines = (json.dumps({"id": one.id, "hypothesis": text}) for one, text in zip(examples, texts, strict=True))
    with writing(folder / OUTPUT):
        write_whole(folder / OUTPUT, "".join(f"{line}\n" for line in lines).encode())
    settings = replace(validation, fold_case=validation.fold_case or trained.fold_case)
    write_json(folder / TEST, {"inputs": job.test_set, **tested(texts, examples, settings)})


def tested(texts: list[str], examples: Sequence[Example], settings: ValidationSection) -> dict[str, Any]:
    """The scores of outputs, and what each example adds to them."""
    references = [[reference.text for reference in example.references] for example in examples]
    metrics = [name for name in settings.metrics if name != PERPLEXITY] or USUAL
    scores = evaluate(
        texts, references, metrics=metrics, tokenizer=settings.tokenizer, fold_case=settings.fold_case, allow_empty=True
    )
    return {
        "examples": len(examples),
        "scores": {
            name: {"score": round(one.score, _DIGITS), "signature": one.signature} for name, one in scores.items()
        },
        "extra": _extra([example.source for example in examples], texts, references),
        "per_example": {name: Statistics.of(name, one).entry() for name, one in scores.items()},
    }


def _extra(sources: list[Any], texts: list[str], references: list[list[str]]) -> dict[str, float]:
    """How varied the outputs are, and which facts they lack where sources are facts."""
    varied = diversity(texts)
    found = {f"distinct-{order}": share for order, share in enumerate(varied.distinct, 1)}
    found = {"distinct outputs": varied.distinct_outputs, **found, "self-BLEU": varied.self_bleu}
    with suppress(InputError):
        found |= {f"missing {name}": slot.missing for name, slot in facts(sources, texts, references).items()}
    return {name: round(number, _DIGITS) for name, number in found.items() if number is not None}


# -- the grid ---------------------------------------------------------------------------------------------------------


def write_grid(grid: Grid, cells: Sequence[int]) -> None:
    """What the grid is, and what its data are. Those of `cells` are there; of what is not, that stays which was written
    of the same jobs before."""
    path = grid.records / GRID
    before = found if _is_grid(found := read_json(path)) else {}
    stages = [recipe.stages[-1] for recipe in grid.recipes]
    made = [cell for cell in range(len(grid.cells)) if cell in cells or _is_made(grid, cell)]
    data, expansions = _data(grid, made), _expansions(grid, made)
    # Without its files nobody can tell whether the records of a cell are of this grid; if those of the others are, it
    # is believed.
    own = [_jobs(grid, cell) for cell in range(len(grid.cells))]
    lost = [cell for cell in range(len(grid.cells)) if not _has_files(grid, cell)]
    known = before.get("jobs", {})
    if all(_agree(known, own[cell]) for cell in range(len(grid.cells)) if cell not in lost):
        for cell in lost:
            own[cell] |= {name: known[name] for name in own[cell].keys() & known.keys()}
    kept = [
        cell
        for cell in range(len(grid.cells))
        if cell not in made and own[cell].keys() & known.keys() and _agree(known, own[cell])
    ]
    if kept:
        names = [grid.cells[cell] for cell in kept]
        parts = [one["part"] for one in data]
        data += [one for one in before.get("data", []) if one["part"] not in parts]
        expansions += [one for one in before.get("expansions", []) if all(cell in names for cell in one["cells"])]
    write_json(
        path,
        {
            "name": grid.name,
            "axes": grid.axes,
            "cells": grid.cells,
            "seeds": grid.top.seeds,
            "pick": grid.top.pick,
            "goal": stages[0].validation.goal,
            "report": {"title": grid.name, "metrics": stages[0].validation.metrics, **grid.report},
            "jobs": {name: job for jobs in own for name, job in jobs.items()},
            "data": sorted(data, key=lambda one: _PARTS.index(one["part"].split()[0])),
            "expansions": expansions,
        },
    )


def _is_grid(found: Any) -> bool:
    """Whether all is there that is kept of it."""
    match found:
        case {"jobs": dict(jobs), "data": list(data), "expansions": list(expansions)}:
            parts = [isinstance(one, dict) and str(one.get("part")).split()[:1] for one in data]
            users = [isinstance(one, dict) and isinstance(one.get("cells"), list) for one in expansions]
            known = [part and part[0] in _PARTS for part in parts]
            return all([*known, *users, *(isinstance(job, dict) for job in jobs.values())])
    return False


def _jobs(grid: Grid, cell: int) -> dict[str, dict[str, str]]:
    """What each record of a cell must be of: those of other settings or data may still lie there."""
    found = {}
    for seed in grid.seeds[cell]:
        job = grid.jobs(cell, seed)[-1]
        name = record_path(grid, grid.cells[cell], seed).stem
        found[name] = {"job": job.name, "inputs": job.inputs, "test_set": job.test_set}
    return found


def _agree(known: dict[str, Any], jobs: dict[str, Any]) -> bool:
    """Whether no job was another one before."""
    return all(known.get(name, job) == job for name, job in jobs.items())


def _is_made(grid: Grid, cell: int) -> bool:
    """Whether all data of a cell are there, expanded."""
    return _has_files(grid, cell) and all(
        expanded(stage, grid.output, make=False) for stage in grid.recipes[cell].stages
    )


def _has_files(grid: Grid, cell: int) -> bool:
    try:
        check_files(grid.recipes[cell])
    except InputError:
        return False
    return True


def _data(grid: Grid, cells: Sequence[int]) -> list[dict[str, Any]]:
    """How large each set is; where a part has several, each is named by what its cells share."""
    users: dict[tuple[str, str], list[tuple[int, Stage]]] = {}
    for cell in cells:
        for stage in grid.recipes[cell].stages:
            train = cut_down(stage, grid.output)
            for part, path in (("train", train), ("dev", stage.data.dev), ("test", stage.data.test)):
                name = f"{part} ({stage.name})" if part == "train" and stage.name else part
                if path:
                    users.setdefault((name, path), []).append((cell, stage))
    names = Counter(name for name, _ in users)
    found = []
    for (name, path), own in users.items():
        counts = [len(one.references) for one in read(path, own[0][1].data.fields)]
        values = _shared(grid, own).values() if names[name] > 1 else ()
        sizes = {"examples": len(counts), "references": sum(counts), "least": min(counts), "most": max(counts)}
        found.append({"part": " ".join([name, *values]), **sizes})
    return found


def _shared(grid: Grid, own: Sequence[tuple[int, Stage]]) -> Cell:
    """The values that some cells have in common."""
    first = grid.cells[own[0][0]]
    return {axis: value for axis, value in first.items() if all(grid.cells[cell].get(axis) == value for cell, _ in own)}


def _expansions(grid: Grid, cells: Sequence[int]) -> list[dict[str, Any]]:
    """Of each expanded training set: how many sentences lattices have, in powers of two, and who fell short."""
    users: dict[str, list[tuple[int, Stage]]] = {}
    for number in cells:
        for stage in grid.recipes[number].stages:
            if stage.expands:
                users.setdefault(expanded(stage, grid.output), []).append((number, stage))
    found = []
    for path, own in users.items():
        stage = own[0][1]
        wanted = stage.expand.settings.per_example
        possible: Counter[int] = Counter()
        short = 0
        for example in Input.of(path, ReadSettings(fields=stage.data.fields)).examples():
            short += len(example.pseudo_references) + len(example.references) < wanted
            if example.lattice is not None:
                possible[example.lattice.sentences.bit_length() - 1] += 1
        powers = {str(2**power): count for power, count in sorted(possible.items())}
        users_of = [grid.cells[cell] for cell, _ in own]
        found.append({"cells": users_of, "per_example": wanted, "short": short, "possible": powers})
    return found
