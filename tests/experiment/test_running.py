"""A grid trains every job once, goes on after any end, and leaves one record for each cell and seed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import made_up
import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from polyref.experiment.grid import read_grid
from polyref.experiment.reading import toml_value
from polyref.experiment.running import Run, run_grid
from polyref.report.records import read_records

GRID = """
recipe = "recipe.toml"
output = "{output}"
seeds = [1, 2]
pick = ["batch"]
[axis.method]
first = {{schedule.name = "first"}}
shuffle = {{schedule.name = "shuffle"}}
[axis.references]
gold = {{}}
6 = {{expand.per_example = 6}}
[axis.batch]
8 = {{batch.pairs = 8}}
16 = {{batch.pairs = 16}}
[[cells]]
method = "first"
references = "gold"
batch = 8
[[cells]]
method = "shuffle"
references = 6
batch = "all"
[report]
rows = ["references", "method"]
baseline = {{method = "first", references = "gold"}}
[[report.curves]]
title = "Methods"
lines = "method"
"""
TIMES = ("seconds",)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = made_up.translation(tmp_path, 24)
    data["test"] = made_up.write(tmp_path / "test.jsonl", made_up.records(5, seed=2))
    recipe = made_up.recipe(tmp_path, data, fit={"epochs": None, "updates": 12, "validate_every": 4, "average": 0.9})
    lines = []
    for section, values in recipe.items():
        lines += [
            f"[{section}]",
            *(f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None),
        ]
    (tmp_path / "recipe.toml").write_text("\n".join(lines))
    return tmp_path


def grid_file(name: str) -> str:
    Path(f"{name}.toml").write_text(GRID.format(output=name))
    return f"{name}.toml"


def records(folder: str) -> dict[str, Any]:
    """All records, without what may differ between two runs."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: timeless(one) for key, one in value.items() if key not in TIMES}
        return [timeless(one) for one in value] if isinstance(value, list) else value

    return {path.name: timeless(json.loads(path.read_text())) for path in sorted(Path(folder, "records").iterdir())}


def test_a_grid_leaves_a_record_for_every_cell_that_was_picked_and_every_seed(here: Path):
    said: list[str] = []
    run = Run.of(read_grid(grid_file("one")))
    run_grid(run, say=said.append)
    found = records("one")
    picked = [name for name in found if found[name].get("test") is not None]
    assert len(found) == 1 + 2 + 3  # the grid; the first cell; the second, its two batches with the first seed
    assert len(picked) == 4
    record = found["first-gold-8-seed1.json"]
    assert record["cell"] == {"method": "first", "references": "gold", "batch": "8"}
    assert [point["updates"] for point in record["curve"]] == [4, 8, 12]
    assert record["updates"] == 12
    assert record["best"]["scores"]["bleu"] == max(point["scores"]["bleu"] for point in record["curve"])
    assert len(record["test"]["per_example"]["bleu"]) == 5
    assert found["grid.json"]["data"][-1] == {"part": "test", "examples": 5, "references": 15, "least": 3, "most": 3}
    [expansion] = found["grid.json"]["expansions"]
    assert expansion["per_example"] == 6
    assert sum(expansion["possible"].values()) == 24
    assert len(list(Path("one").glob("expanded-*.jsonl"))) == 1
    [figure] = read_records("one/records").curves
    assert (figure.metric, figure.where) == ("bleu", {})
    before = {path: path.stat().st_mtime_ns for path in Path("one").rglob("*")}
    run_grid(Run.of(read_grid("one.toml")))
    changed = {path for path in Path("one").rglob("*") if before.get(path) != path.stat().st_mtime_ns}
    assert {path.name for path in changed} <= {"grid.json", "records"}  # what is done is not done again


def test_test_scores_follow_from_what_each_example_adds(here: Path):
    from polyref.score import bleu_of_counts

    run_grid(Run.of(read_grid(grid_file("one")), "first-*"))
    test = records("one")["first-gold-8-seed1.json"]["test"]
    rows = [[*row, *(max(0, row[0] - order) for order in range(4))] for row in test["per_example"]["bleu"]]
    import numpy as np

    assert bleu_of_counts(np.array(rows).sum(axis=0)) == pytest.approx(test["scores"]["bleu"]["score"], abs=1e-5)
    assert np.mean(test["per_example"]["cider"]) == pytest.approx(test["scores"]["cider"]["score"], abs=1e-5)


def test_a_grid_that_is_killed_again_and_again_ends_with_the_same_records(here: Path):
    command = [sys.executable, "-m", "polyref", "experiment", grid_file("killed"), "--jobs", "2", "--quiet"]
    kills = 0
    for wait in (3.0, 4.0, 5.0, 6.0, 60.0):
        process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
        try:
            process.wait(wait)
            break
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            time.sleep(0.5)  # its workers see the end of their connection, and end as well
    assert kills
    assert process.wait(300) == 0 or subprocess.run(command, check=True)
    run_grid(Run.of(read_grid(grid_file("whole"))))
    killed, whole = records("killed"), records("whole")
    for found in (killed, whole):
        found["grid.json"].pop("name")
        found["grid.json"]["report"].pop("title")
    assert killed == whole


def test_a_cell_that_fails_does_not_end_the_others(here: Path):
    Path("wild.toml").write_text(
        "recipe='recipe.toml'\noutput='wild'\n[axis.rate]\nwild={fit={learning_rate=100, clip=1e30}}\nusual={}\n"
    )
    run = Run.of(read_grid("wild.toml"))
    said: list[str] = []
    run_grid(run, say=said.append)
    assert "usual-seed1.json" in records("wild")
    assert len(run.failed) + ("wild-seed1.json" in records("wild")) == 1


def test_a_plan_counts_updates_before_anything_is_made(here: Path):
    run = Run.of(read_grid(grid_file("plan")))
    assert [run.updates_of(run.job(cell, 1)) for cell in run.cells] == [12, 12, 12]
    assert run.seconds_left(1) is None
    assert not Path("plan").exists()
