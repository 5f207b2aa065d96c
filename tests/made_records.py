"""Made-up records of a grid, as `polyref experiment` writes them (docs/experiments.md)."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyref.score.significance import statistics_of

JOB = {"job": "0123456789abcdef", "inputs": "data", "test_set": "test data"}
METHODS = ["first", "sample-one", "uniform", "shuffle"]
SIZES = ["1", "5", "10", "20", "50"]
EXAMPLES = 40


def grid() -> dict[str, Any]:
    """The paper's grid for captions: gold references alone, then hard and soft."""
    cells: list[dict[str, str]] = [{"method": "first", "references": "1"}]
    cells += [{"method": method, "references": "5"} for method in METHODS[1:]]
    cells += [
        {"method": method, "references": size, "align": align}
        for size in SIZES[2:]
        for method in METHODS[1:]
        for align in ("hard", "soft")
    ]
    return {
        "name": "captions",
        "axes": {"method": METHODS, "references": SIZES, "align": ["hard", "soft"]},
        "cells": cells,
        "seeds": [1, 2, 3],
        "pick": [],
        "goal": "bleu",
        "report": {
            "title": "Captions",
            "rows": ["references", "method"],
            "columns": ["align"],
            "metrics": ["bleu", "cider"],
            "baseline": {"method": "sample-one", "references": "5"},
            "test": [cells[0], cells[1], cells[3], {"method": "shuffle", "references": "20", "align": "soft"}],
            "curves": [
                {"title": "Methods, 20 references", "lines": "method", "where": {"references": "20", "align": "soft"}},
                {"title": "Number of references", "lines": "method", "where": {"align": "soft"}, "x": "references"},
            ],
        },
        "data": [
            {"part": "train", "examples": 1000, "references": 5000, "least": 5, "most": 5},
            {"part": "dev", "examples": 200, "references": 1010, "least": 4, "most": 9},
            {"part": "test", "examples": EXAMPLES, "references": 5 * EXAMPLES, "least": 5, "most": 5},
        ],
        "expansions": [
            {
                "cells": [{"method": method, "references": size, "align": align} for method in METHODS[1:]],
                "per_example": int(size),
                "short": short,
                "possible": held,
            }
            for align, short, held in (("hard", 31, _possible(6.0, 2.4)), ("soft", 4, _possible(10.0, 3.1)))
            for size in SIZES[2:]
        ],
    }


def _possible(middle: float, width: float) -> dict[str, int]:
    heights = [round(1000 * math.exp(-(((k - middle) / width) ** 2) / 2) / (width * 2.507)) for k in range(24)]
    return {str(2**k): height for k, height in enumerate(heights) if height}


def record(cell: Mapping[str, str], seed: int, *, tested: bool = False, validations: int = 12) -> dict[str, Any]:
    """A run whose scores rise as such curves do; better with more references, and with soft alignment."""
    draw = random.Random(f"{sorted(cell.items())} {seed}")
    method, size = cell.get("method", ""), cell.get("references", "5")
    quality = {"first": -3.0, "sample-one": 0.0, "uniform": 0.6, "shuffle": 0.9}.get(method, 0.0)
    quality += {"1": -1.0, "5": 0.0, "10": 0.8, "20": 1.3, "50": 0.9}.get(size, 0.0)
    quality += 0.4 * (cell.get("align") == "soft") + draw.gauss(0, 0.25) + {"200": 0.3}.get(cell.get("batch", ""), 0.0)
    speed = {"first": 2.5, "sample-one": 3.5, "uniform": 4.5, "shuffle": 4.0}.get(method, 4.0)
    curve = []
    for number in range(1, validations + 1):
        bleu = (20.0 + quality) * (1 - math.exp(-speed * (number + 1) / validations)) + draw.gauss(0, 0.12)
        scores = {"bleu": round(bleu, 4), "cider": round(bleu / 42, 6)}
        loss = round(4 * math.exp(-number / 6), 4)
        one = {"updates": 250 * number, "epoch": number, "loss": loss, "seconds": 20.0 * number, "scores": scores}
        curve.append(one)
    best = max(curve, key=lambda one: one["scores"]["bleu"])
    return {
        "cell": dict(cell),
        "seed": seed,
        "job": JOB["job"],
        "inputs": JOB["inputs"],
        "versions": {"polyref": "0.1.0", "torch": "2.13.0"},
        "settings": {"run": {"seed": seed}, "validation": {"goal": "bleu"}},
        "curve": curve,
        "updates": curve[-1]["updates"],
        "epochs": validations,
        "seconds": curve[-1]["seconds"],
        "best": {"updates": best["updates"], "scores": best["scores"]},
        "test": _tested(draw, quality) if tested else None,
    }


def _tested(draw: random.Random, quality: float) -> dict[str, Any]:
    bleu, cider = [], []
    for _ in range(EXAMPLES):
        length = draw.randint(8, 13)
        matches = [round(length * share * (1 + quality / 25)) for share in (0.66, 0.45, 0.3, 0.2)]
        bleu.append([length, length + draw.choice([-1, 0, 0, 1]), *(min(length - n, m) for n, m in enumerate(matches))])
        cider.append(round(max(0.0, draw.gauss(0.48 + quality / 40, 0.2)), 6))
    return {
        "inputs": JOB["test_set"],
        "examples": EXAMPLES,
        "scores": {
            "bleu": {
                "score": statistics_of(bleu, "bleu").score(),
                "signature": "nrefs:5|case:lc|tok:13a|version:2.6.0",
            },
            "cider": {
                "score": statistics_of(cider, "cider").score(),
                "signature": "nrefs:5|case:lc|tok:ptb|version:polyref-0.1.0",
            },
        },
        "per_example": {"bleu": bleu, "cider": cider},
        "extra": {"distinct outputs": draw.randint(20, EXAMPLES)},
    }


def write_records(folder: Path, planned: dict[str, Any] | None = None) -> Path:
    """All records of a grid: every cell and seed, with a test where the grid asks for one."""
    planned = planned or grid()
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {}
    for cell in planned["cells"]:
        for seed in planned["seeds"]:
            name = f"{name_of(planned, cell)}-seed{seed}"
            jobs[name] = JOB
            tested = any(one.items() <= cell.items() for one in planned["report"].get("test", []))
            _write(folder / f"{name}.json", record(cell, seed, tested=tested))
    _write(folder / "grid.json", {**planned, "jobs": jobs})
    return folder


def name_of(planned: dict[str, Any], cell: Mapping[str, str]) -> str:
    return "-".join(cell[axis] for axis in planned["axes"] if axis in cell)


def change(path: Path, **values: Any) -> None:
    """Change keys of a JSON file; None takes a key out."""
    content = json.loads(path.read_text())
    content |= values
    _write(path, {key: value for key, value in content.items() if value is not None or key == "test"})


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
