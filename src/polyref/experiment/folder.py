"""The folder of a run: kept to one run at a time, with a log of what happens.

In:   its path; the steps of the loop.
Out:  log.jsonl, one line per step; train.log, lines for a person, who also gets them at once.
Not:  checkpoints (fit/checkpoint.py), the model (model/folder.py).

A run that goes on from a checkpoint drops the lines of log.jsonl behind it, since it will write them again; train.log
keeps everything. Its time goes on as well.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import exp
from pathlib import Path
from typing import TextIO

from polyref.files import write_whole, writing
from polyref.fit.checkpoint import Counters
from polyref.fit.loop import Step

STEPS, LINES = "log.jsonl", "train.log"
_EVERY = 100  # updates, for a person


def make_folder(path: str | Path) -> Path:
    """The folder, made where there is none."""
    with writing(path, "give another folder"):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


class Log:
    """`say` shows a line to a person."""

    def __init__(self, folder: Path, steps: TextIO, lines: TextIO, say: Callable[[str], None], seconds: float):
        self._folder = folder
        self._steps = steps
        self._lines = lines
        self._say = say
        self._started = time.monotonic() - seconds

    def line(self, text: str) -> None:
        """Tell a person."""
        self._say(text)
        with writing(self._folder / LINES):
            self._lines.write(text + "\n")
            self._lines.flush()

    def step(self, step: Step, scores: dict[str, float]) -> None:
        """Note a step; `scores` are those of its validation."""
        content: dict[str, object] = {
            "what": step.what,
            "epoch": step.epoch,
            "updates": step.updates,
            "learning_rate": step.learning_rate,
            "loss": step.loss if step.batch_loss is None else step.batch_loss,
        }
        if step.what == "update":
            content["tokens"] = step.items
        if step.validation is not None:
            content |= {"validation": step.validation, "best": step.best, "scores": scores}
        content["seconds"] = round(time.monotonic() - self._started, 2)
        with writing(self._folder / STEPS):
            self._steps.write(json.dumps(content) + "\n")
            self._steps.flush()
        if step.what != "update" or step.updates % _EVERY == 0:
            self.line(_for_a_person(step, scores, time.monotonic() - self._started))


def _for_a_person(step: Step, scores: dict[str, float], seconds: float) -> str:
    perplexity = exp(min(step.loss, 50))
    found = [
        f"{seconds / 60:6.1f} min  epoch {step.epoch + 1:>3}  update {step.updates:>7,}",
        f"learning rate {step.learning_rate:.2g}  perplexity in training {perplexity:.2f}",
    ]
    if step.validation is not None:
        found += [f"{name} {score:.{2 if score >= 10 else 4}f}" for name, score in scores.items()]
        found += ["best so far"] if step.is_best else []
    if step.what == "epoch":
        found.append("end of the epoch")
    return "  ".join(found)


@contextmanager
def open_log(folder: Path, position: Counters | None, say: Callable[[str], None]) -> Iterator[Log]:
    """The log of a run that stands at a position, or begins."""
    with writing(folder / STEPS):
        kept: list[str] = []
        if position is not None and (folder / STEPS).exists():
            content = (folder / STEPS).read_text(encoding="utf-8", errors="replace")
            kept = [line for line in content.splitlines(keepends=True) if _is_before(line, position)]
        seconds = float(json.loads(kept[-1]).get("seconds", 0.0)) if kept else 0.0  # that the run had taken
        write_whole(folder / STEPS, "".join(kept).encode())
        steps = (folder / STEPS).open("a", encoding="utf-8")
        lines = (folder / LINES).open("w" if position is None else "a", encoding="utf-8")
    with steps, lines:
        log = Log(folder, steps, lines, say, seconds)
        if position is not None:
            log.line(f"goes on after {position.updates:,} updates")
        yield log


def _is_before(line: str, position: Counters) -> bool:
    """Whether a line was written before the checkpoint; half a line was not."""
    try:
        step = json.loads(line)
        if step["what"] == "epoch":
            return bool(step["epoch"] < position.epoch)
        return line.endswith("\n") and bool(step["updates"] <= position.updates)
    except (ValueError, KeyError, TypeError):
        return False
