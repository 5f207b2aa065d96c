"""The pages about Hugging Face and TRL run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch

TOOLS = Path(__file__).parents[2] / "docs" / "tools"


def blocks(page: str) -> list[tuple[str, str]]:
    """The Python blocks of a page, each with the paragraph before it."""
    text = (TOOLS / page).read_text("utf-8")
    return re.findall(r"([^\n]*)\n\n```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def run_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def run(page: str, code: list[str]) -> tuple[dict[str, Any], str]:
        names: dict[str, Any] = {"__name__": "page"}
        for block in code:
            exec(compile(block, page, "exec"), names)
        return names, capsys.readouterr().out

    yield run
    torch.set_num_threads(threads)


def test_the_page_about_hugging_face_runs(run_page):
    names, printed = run_page("huggingface.md", [code for _, code in blocks("huggingface.md")])
    assert "{'text': " in printed
    trainer, resumed = names["trainer"], names["resumed"]
    # The run that was resumed began in the middle of epoch 0, and ended where the first one ended.
    steps_an_epoch = trainer.state.max_steps // 2
    assert 0 < 4 < steps_an_epoch
    assert resumed.state.global_step == trainer.state.global_step == 2 * steps_an_epoch


def test_the_page_about_trl_runs_up_to_the_block_that_it_says_is_not_run(run_page):
    found = blocks("trl.md")
    is_run = ["from trl import" not in code for _, code in found]
    assert is_run == [True] * (len(found) - 1) + [False]
    assert [before for (before, _), runs in zip(found, is_run, strict=True) if not runs] == ["Not run by the tests:"]
    names, printed = run_page("trl.md", [code for _, code in found[:-1]])
    assert "'completion': [{'content': " in printed or "'completion': [{'role': 'assistant'" in printed
    assert len(names["train"]) == 3 * 16
    assert names["train"].column_names == ["prompt", "completion"]
    assert names["preferences"].column_names == ["prompt", "chosen", "rejected", "reason"]
