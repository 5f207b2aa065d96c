"""What stands in examples runs: the programs with few updates, the notebook with the results that it shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
UPDATES = "20"


@pytest.mark.parametrize(("name", "needs"), [("pytorch", "torch"), ("huggingface", "transformers")])
def test_a_program_runs(name: str, needs: str, tmp_path: Path):
    pytest.importorskip(needs)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), UPDATES],
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "on 40 held-out examples\n" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}  # nothing is left behind


RUN = """
import json, sys, nbclient, nbformat
notebook = nbformat.reads(sys.stdin.read(), 4)
nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": sys.argv[1]}}).execute()
print(json.dumps(notebook))
"""


def printed(notebook: dict[str, Any]) -> list[str]:
    """What each cell of code prints."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join("".join(output.get("text", "")) for output in cell["outputs"]) for cell in cells]


def test_the_notebook_runs_and_shows_what_it_gives(tmp_path: Path):
    """Trained for a moment only; up to there, what it prints is what stands in it."""
    for needed in ("torch", "nbclient", "ipykernel"):
        pytest.importorskip(needed)
    written = (EXAMPLES / "captions-to-model.ipynb").read_text(encoding="utf-8")
    short = written.replace('\\"updates\\": 600', f'\\"updates\\": {UPDATES}')
    assert short != written
    folders = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "TMPDIR")}
    for folder in folders.values():
        Path(folder).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(EXAMPLES)],
        input=short,
        env={**os.environ, **folders},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    shown, found = printed(json.loads(written)), printed(json.loads(done.stdout.splitlines()[-1]))
    trains = next(n for n, text in enumerate(shown) if text.startswith("perplexity"))
    assert trains > 3 and found[:trains] == shown[:trains]
    assert all(found[trains : trains + 2])
