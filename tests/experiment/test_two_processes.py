"""Several processes train one model together: each pair once, and the updates of one process with all their batches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import made_up  # noqa: E402

import polyref  # noqa: E402
from polyref.experiment.reading import read_recipe, toml_of  # noqa: E402
from polyref.feed import Stream, stream  # noqa: E402
from polyref.schedule.batches import BatchSettings, batches  # noqa: E402

EPOCHS = 2
FIT = {"epochs": EPOCHS, "learning_rate": 0.5, "optimiser": "sgd", "clip": 100.0, "average": 0.9}


def under_torchrun(recipe: Path, processes: int) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command += ["-m", "polyref", "train", str(recipe), "--quiet"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)
    assert not done.returncode, done.stderr


def losses(folder: Path) -> list[float]:
    return [line["loss"] for line in made_up.log_of(folder) if line["what"] == "update"]


@pytest.mark.parametrize("soft", [False, True])
def test_two_processes_follow_the_loss_of_one_with_the_doubled_batch(tmp_path: Path, soft: bool):
    data = made_up.translation(tmp_path, count=35)  # 105 pairs: in the last update, one process has no batch
    tables = made_up.recipe(tmp_path / "one", data, fit=FIT, model={"dropout": 0.0}, batch={"pairs": 16})
    if soft:
        tables["expand"] = {"per_example": 3, "keep_lattice": True}
        tables["schedule"] = {"soft_targets": 0.5}
    polyref.train(tables)
    [stage] = read_recipe(tables, overrides=[f"run.output={tmp_path / 'two'}", "batch.pairs=8"]).stages
    (tmp_path / "two.toml").write_text(toml_of(stage))
    under_torchrun(tmp_path / "two.toml", 2)
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == len(two) == EPOCHS * 7
    assert two == pytest.approx(one, rel=1e-4)
    assert one[-1] < 0.95 * one[0]
    weights = [load_file(tmp_path / name / "weights.safetensors") for name in ("one", "two")]
    assert all(np.allclose(weights[0][name], weights[1][name], atol=1e-4) for name in weights[0])


@pytest.mark.parametrize("name", ["first", "sample_one", "uniform", "shuffle"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_shares_of_the_processes_are_all_pairs_each_once(tmp_path: Path, name, ranks):
    pairs: Stream = stream(made_up.translation(tmp_path)["train"], name)
    seen: list[int] = []
    for rank in range(ranks):
        for numbers in batches(pairs.schedule, 1, BatchSettings(7), rank=rank, ranks=ranks):
            seen += numbers
    assert sorted(seen) == list(range(len(pairs)))
