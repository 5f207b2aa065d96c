"""Made-up examples, and recipes for them that train in a moment."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ANIMALS = ["cat", "dog", "bird", "horse", "fish"]
PLACES = ["mat", "table", "hill", "river"]
FEATURES = 6


def references(animal: str, place: str) -> list[str]:
    return [
        f"a {animal} sits on the {place}",
        f"the {animal} is on a {place}",
        f"one small {animal} rests near the {place} today",
    ]


def records(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    draw = random.Random(seed)
    for number in range(count):
        animal, place = draw.choice(ANIMALS), draw.choice(PLACES)
        yield {
            "id": f"e{number}",
            "source": f"who[{animal}], where[{place}], number[{number % 7}]",
            "references": references(animal, place),
        }


def write(path: Path, content: Iterator[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in content), encoding="utf-8")
    return str(path)


def translation(folder: Path, count: int = 40) -> dict[str, str]:
    """Paths of a training and a validation set."""
    return {
        "train": write(folder / "train.jsonl", records(count)),
        "dev": write(folder / "dev.jsonl", records(6, seed=1)),
    }


def images(folder: Path, count: int = 30, size: int = FEATURES) -> dict[str, str]:
    """The same as images with features."""
    paths = {}
    ids: list[str] = []
    for name, number, seed in (("train", count, 0), ("dev", 6, 1)):
        found = [{**record, "source": f"{name}-{record['id']}"} for record in records(number, seed)]
        ids += [str(record["source"]) for record in found]
        paths[name] = write(folder / f"{name}.jsonl", iter(found))
    rows = np.random.default_rng(0).normal(3.0, 2.0, (len(ids), size)).astype(np.float32)
    np.savez(folder / "features.npz", ids=np.array(ids), feats=rows)
    return {**paths, "features": str(folder / "features.npz")}


def recipe(folder: Path, paths: dict[str, str], /, **sections: dict[str, Any]) -> dict[str, Any]:
    """The tables of a small recipe; sections are added to."""
    kind = "captioner" if "features" in paths else "translator"
    model: dict[str, Any] = {"kind": kind, "embedding_size": 8, "state_size": 8, "layers": 1, "dropout": 0.1}
    if kind == "captioner":
        model["feature_size"] = FEATURES
    tables: dict[str, dict[str, Any]] = {
        "run": {"output": str(folder), "seed": 3, "threads": 1},
        "data": dict(paths),
        "batch": {"pairs": 8},
        "subwords": {"source": 300, "target": 300},
        "model": model,
        "fit": {"epochs": 2, "learning_rate": 0.01, "save_every": 4},
        "validation": {"beam": {"beam": 2, "longest": 12}},
        "beam": {"beam": 2, "longest": 12},
    }
    for name, values in sections.items():
        tables[name] = {**tables.get(name, {}), **values}
    return tables


def log_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log."""
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


# -- runs -----------------------------------------------------------------------------------------------------------


class StoppedError(Exception):
    """As if the run had been killed."""


def stop_after(updates: int) -> Callable[[Any], None]:
    """Ends a run after so many updates."""

    def on_step(step: Any) -> None:
        if step.what == "update" and step.updates == updates:
            raise StoppedError

    return on_step


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()
