"""What docs/tools/pytorch.md shows runs, and does what the page says."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from samples import caption_lines

from polyref.schedule import SCHEDULES

PAGE = Path(__file__).parents[2] / "docs" / "tools" / "pytorch.md"
LOOK, TRAINING, PLAIN = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),
]


@pytest.fixture(autouse=True)
def captions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small captions.jsonl, in a folder where the page is at home."""
    records = [json.loads(line) for line in caption_lines(8).splitlines()]
    lines = [json.dumps({**record, "source": f"photo {number}"}) for number, record in enumerate(records)]
    (tmp_path / "captions.jsonl").write_text("\n".join(lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """train.py of the page, as a module that worker processes can import."""
    (tmp_path / "train.py").write_text(TRAINING, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.spec_from_file_location("train", tmp_path / "train.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "train", module)
    with torch.random.fork_rng(devices=[]):
        spec.loader.exec_module(module)
    return module


def trained(page: Any, schedule: str) -> dict[str, Any]:
    with torch.random.fork_rng(devices=[]):
        weights: dict[str, Any] = page.train(schedule).state_dict()
    return weights


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_page_trains_under_each_schedule(page: Any, schedule: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page, "EPOCHS", 2)
    found, saved = trained(page, schedule), torch.load(f"{schedule}.pt")
    assert saved["epoch"] == 1
    assert all(torch.equal(found[name], saved["model"][name]) for name in found)


class StoppedError(Exception):
    pass


def test_a_run_that_was_stopped_ends_with_the_same_weights(page: Any, monkeypatch: pytest.MonkeyPatch):
    expected = trained(page, "uniform")
    Path("uniform.pt").unlink()
    save, left = torch.save, iter(range(6))  # of 12: three epochs of four batches

    def saved(*arguments: Any) -> None:
        if next(left, None) is None:
            raise StoppedError
        save(*arguments)

    monkeypatch.setattr(torch, "save", saved)
    with pytest.raises(StoppedError):
        trained(page, "uniform")
    monkeypatch.setattr(torch, "save", save)
    found = trained(page, "uniform")
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_the_short_programs_of_the_page_run():
    names: dict[str, Any] = {}
    exec(LOOK, names)
    assert names["epoch"] == 2
    assert len(names["batch"]) <= 16
    assert names["batch"][-1].id == "example 7"
    names["sampler"].set_epoch(0)
    exec(PLAIN, names)
    assert names["sampler"].epoch == 2
    assert names["sampler"].done == len(names["sampler"]) == names["done"]
