"""The folder of a run: kept to one run at a time, with a log of what happens.

In:   its path; the steps of the loop.
Out:  log.jsonl, one line per step; train.log, lines for a person, who also gets them at once; curve.svg, the
      validations so far; where it is wanted, a folder for TensorBoard.
Not:  checkpoints (fit/checkpoint.py), the model (model/folder.py).

A run that goes on from a checkpoint drops the lines of log.jsonl behind it, since it will write them again; train.log
keeps everything. Its time goes on as well.
"""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import exp
from pathlib import Path
from typing import Any, TextIO

from polyref.draw.curve import draw_curve, sparkline
from polyref.errors import load_extra
from polyref.experiment.recipe import PERPLEXITY
from polyref.files import write_whole, writing
from polyref.fit.checkpoint import Counters
from polyref.fit.loop import Step

STEPS, LINES, CURVE, BOARD = "log.jsonl", "train.log", "curve.svg", "tensorboard"
_EVERY = 100  # updates, for a person


class Log:
    """`say` shows a line to a person, `board` writes for TensorBoard, `before` are the steps noted so far."""

    def __init__(
        self,
        folder: Path,
        steps: TextIO,
        lines: TextIO,
        say: Callable[[str], None],
        before: Sequence[dict[str, Any]] = (),
        board: Any = None,
    ):
        self._folder = folder
        self._steps = steps
        self._lines = lines
        self._say = say
        self._board = board
        self._started = time.monotonic() - (before[-1].get("seconds", 0.0) if before else 0.0)
        self._validations = [step for step in before if step.get("validation") is not None]
        self._told = -1  # the update of the last line

    @property
    def sparkline(self) -> str:
        """The validations so far."""
        return sparkline([step["validation"] for step in self._validations])

    def line(self, text: str) -> None:
        """Tell a person."""
        self._say(text)
        with writing(self._folder / LINES):
            self._lines.write(text + "\n")
            self._lines.flush()

    def step(self, step: Step, scores: dict[str, float]) -> None:
        """Note a step; `scores` are those of its validation."""
        content: dict[str, Any] = {
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
        if step.validation is not None:
            self._validations.append(content)
            self._draw()
        if self._board is not None:
            _log_for_tensorboard(self._board, content)
        if step.what != "update" or step.updates % _EVERY == 0:
            where, *found = _for_a_person(step, scores, time.monotonic() - self._started, self.sparkline)
            # An update may end an epoch, and be validated: that is one place, told once.
            for line in found if step.updates == self._told else [where, *found]:
                self.line(line)
            self._told = step.updates

    def _draw(self) -> None:
        drawn = draw_curve([(step["updates"], step["scores"]) for step in self._validations], lowest=(PERPLEXITY,))
        with writing(self._folder / CURVE):
            write_whole(self._folder / CURVE, drawn.encode())


def _log_for_tensorboard(board: Any, content: dict[str, Any]) -> None:
    updates = content["updates"]
    if content["what"] == "update":
        board.add_scalar("training/loss", content["loss"], updates)
        board.add_scalar("training/learning_rate", content["learning_rate"], updates)
    for name, score in content.get("scores", {}).items():
        board.add_scalar(f"validation/{name}", score, updates)


def _for_a_person(step: Step, scores: dict[str, float], seconds: float, sparkline: str) -> Iterator[str]:
    """Lines of at most 80 columns: where it is, and what the validation came to."""
    where = f"{seconds / 60:6.1f} min  epoch {step.epoch + 1:>3}  update {step.updates:>7,}"
    yield f"{where}  rate {step.learning_rate:.2g}  perplexity {exp(min(step.loss, 50)):.2f}"
    found = ["end of epoch"] if step.what == "epoch" else []
    if step.validation is not None:
        found.append("validation: " + ", ".join([f"{k} {v:.{2 if v >= 10 else 4}f}" for k, v in scores.items()]))
        found += ["best so far", sparkline] if step.is_best else [sparkline]
    yield from textwrap.wrap("  ".join(found), 80, initial_indent=" " * 12, subsequent_indent=" " * 12)


@contextmanager
def open_log(
    folder: Path, position: Counters | None, say: Callable[[str], None], *, tensorboard: bool = False
) -> Iterator[Log]:
    """The log of a run that stands at a position, or begins."""
    with writing(folder / STEPS):
        kept: list[str] = []
        if position is not None and (folder / STEPS).exists():
            content = (folder / STEPS).read_text(encoding="utf-8", errors="replace")
            kept = [line for line in content.splitlines(keepends=True) if _is_before(line, position)]
        write_whole(folder / STEPS, "".join(kept).encode())
        steps = (folder / STEPS).open("a", encoding="utf-8")
        lines = (folder / LINES).open("w" if position is None else "a", encoding="utf-8")
    with steps, lines, _board(folder, position) if tensorboard else nullcontext() as board:
        yield Log(folder, steps, lines, say, [json.loads(line) for line in kept], board)


def check_tensorboard() -> None:
    """Refuse before a run begins what it would fail at later."""
    load_extra("tensorboard", purpose="fit.tensorboard", extra="tensorboard")


def _board(folder: Path, position: Counters | None) -> Any:
    """A writer for TensorBoard; what was logged behind the position is not shown any more."""
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / BOARD), purge_step=position.updates + 1 if position is not None else None)


def _is_before(line: str, position: Counters) -> bool:
    """Whether a line was written before the checkpoint; half a line was not."""
    try:
        step = json.loads(line)
        if step["what"] == "epoch":
            return bool(step["epoch"] < position.epoch)
        if step["what"] == "end" and position.extra is None and step["updates"] == position.updates:
            return False  # the validation at the end, which the checkpoint does not have yet
        return line.endswith("\n") and bool(step["updates"] <= position.updates)
    except (ValueError, KeyError, TypeError):
        return False
