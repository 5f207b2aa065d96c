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
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from polyref import __version__
from polyref.data import Input, ReadSettings, read
from polyref.errors import InputError
from polyref.experiment.folder import STEPS
from polyref.experiment.grid import Cell, Grid, Job, cell_name
from polyref.experiment.inputs import cut_down, expanded
from polyref.experiment.recipe import PERPLEXITY, Stage
from polyref.files import write_whole
from polyref.model import load_model
from polyref.score import evaluate
from polyref.score.diversity import diversity
from polyref.score.facts import facts
from polyref.score.significance import Statistics

DONE, TEST, OUTPUT = "done.json", "test.json", "test.jsonl"
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
    path.parent.mkdir(parents=True, exist_ok=True)
    # Short lists stay on one line: a record is read by people, too.
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_whole(path, (_ROWS.sub(lambda row: " ".join(row[0].split()), text) + "\n").encode())


# -- a cell -----------------------------------------------------------------------------------------------------------


def write_record(grid: Grid, cell: Cell, seed: int, job: Job) -> None:
    """The record of a cell whose last job has ended."""
    folder = Path(job.stage.run.output)
    done = read_json(folder / DONE)
    curve = [_point(step) for step in _steps(folder) if "validation" in step]
    best: dict[str, float] = next((point["scores"] for point in curve if point["updates"] == done["best_updates"]), {})
    content = job.stage.content()
    for key in ("output", "init_from"):
        content["run"].pop(key)
    write_json(
        record_path(grid, cell, seed),
        {
            "cell": cell,
            "seed": seed,
            "job": job.name,
            "versions": {"polyref": __version__, "python": platform.python_version()}
            | {name: version(name) for name in ("torch", "numpy", "tokenizers", "sacrebleu")},
            "settings": content,
            "updates": done["updates"],
            "epochs": done["epochs"],
            "seconds": done["seconds"],
            "best": {"updates": done["best_updates"], "scores": best},
            "curve": curve,
            "test": read_json(folder / TEST),
        },
    )


def _steps(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / STEPS).read_text(encoding="utf-8").splitlines()]


def _point(step: dict[str, Any]) -> dict[str, Any]:
    scores = {name: round(score, _DIGITS) for name, score in step["scores"].items()}
    loss = round(step["loss"], _DIGITS)
    return {name: step[name] for name in ("updates", "epoch", "seconds")} | {"loss": loss, "scores": scores}


def write_done(job: Job, updates: int, epochs: int, best_updates: int) -> None:
    """Mark a job as trained: its model is all that is needed of it from now on."""
    folder = Path(job.stage.run.output)
    seconds = max((step["seconds"] for step in _steps(folder)), default=0.0)
    found = {"updates": updates, "epochs": epochs, "best_updates": best_updates, "seconds": seconds}
    write_json(folder / DONE, found)


def write_test(stage: Stage) -> None:
    """Generate for the test set, and score it: the scores, and what each example adds to them."""
    folder, validation = Path(stage.run.output), stage.validation
    examples = list(read(stage.data.test, stage.data.fields))
    trained = load_model(folder, "cpu")
    features = (stage.data.features or None) if trained.source is None else None
    found = trained.generate([example.source for example in examples], features=features, batch=validation.at_once)
    texts = [best.text for best, *_ in found]
    lines = (json.dumps({"id": one.id, "hypothesis": text}) for one, text in zip(examples, texts, strict=True))
    write_whole(folder / OUTPUT, "".join(f"{line}\n" for line in lines).encode())
    references = [[reference.text for reference in example.references] for example in examples]
    metrics = [name for name in validation.metrics if name != PERPLEXITY]
    folds = validation.fold_case or trained.fold_case
    scores = evaluate(
        texts, references, metrics=metrics, tokenizer=validation.tokenizer, fold_case=folds, allow_empty=True
    )
    shown = {name: {"score": round(one.score, _DIGITS), "signature": one.signature} for name, one in scores.items()}
    per_example = {name: Statistics.of(name, one).entry() for name, one in scores.items()}
    extra = _extra([example.source for example in examples], texts, references)
    content = {"examples": len(examples), "scores": shown, "extra": extra, "per_example": per_example}
    write_json(folder / TEST, content)


def _extra(sources: list[Any], texts: list[str], references: list[list[str]]) -> dict[str, float]:
    """How varied the outputs are, and which facts they lack where sources are facts."""
    varied = diversity(texts)
    found = {f"distinct-{order}": share for order, share in enumerate(varied.distinct, 1)}
    found = {"distinct outputs": varied.distinct_outputs, **found, "self-BLEU": varied.self_bleu}
    with suppress(InputError):
        found |= {f"missing {name}": slot.missing for name, slot in facts(sources, texts, references).items()}
    return {name: round(number, _DIGITS) for name, number in found.items() if number is not None}


# -- the grid ---------------------------------------------------------------------------------------------------------


def write_grid(grid: Grid) -> None:
    """What the grid is, and what its data are; the training sets must have been expanded."""
    stages = [recipe.stages[-1] for recipe in grid.recipes]
    write_json(
        grid.records / "grid.json",
        {
            "name": grid.name,
            "axes": grid.axes,
            "cells": grid.cells,
            "seeds": grid.top.seeds,
            "pick": grid.top.pick,
            "goal": stages[0].validation.goal,
            "report": {"title": grid.name, "metrics": stages[0].validation.metrics, **grid.report},
            "data": _data(grid),
            "expansions": _expansions(grid),
        },
    )


def _data(grid: Grid) -> list[dict[str, Any]]:
    """How large each set is."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for recipe in grid.recipes:
        for stage in recipe.stages:
            train = cut_down(stage, grid.output)
            for part, path in (("train", train), ("dev", stage.data.dev), ("test", stage.data.test)):
                name = f"{part} ({stage.name})" if part == "train" and stage.name else part
                if path and (name, path) not in found:
                    counts = [len(one.references) for one in read(path, stage.data.fields)]
                    sizes = {"examples": len(counts), "references": sum(counts), "least": min(counts)}
                    found[name, path] = {"part": name, **sizes, "most": max(counts)}
    order = {"train": 0, "dev": 1, "test": 2}
    return sorted(found.values(), key=lambda one: order[one["part"].split()[0]])


def _expansions(grid: Grid) -> list[dict[str, Any]]:
    """Of each expanded training set: how many sentences lattices have, in powers of two, and who fell short."""
    users: dict[str, list[int]] = {}
    for number, recipe in enumerate(grid.recipes):
        for stage in recipe.stages:
            if stage.expands:
                users.setdefault(expanded(stage, grid.output), []).append(number)
    found = []
    for path, cells in users.items():
        stage = next(stage for stage in grid.recipes[cells[0]].stages if stage.expands)
        wanted = stage.expand.settings.per_example
        possible: Counter[int] = Counter()
        short = 0
        for example in Input.of(path, ReadSettings(fields=stage.data.fields)).examples():
            short += len(example.pseudo_references) + len(example.references) < wanted
            if example.lattice is not None:
                possible[example.lattice.sentences.bit_length() - 1] += 1
        shared = {
            axis: value
            for axis, value in grid.cells[cells[0]].items()
            if all(grid.cells[cell].get(axis) == value for cell in cells)
        }
        powers = {str(2**power): count for power, count in sorted(possible.items())}
        found.append({"cell_keys": shared, "per_example": wanted, "short": short, "possible": powers})
    return found
