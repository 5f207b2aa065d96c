"""A model of a few numbers, and runs of it that end in no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch

from polyref.fit import FitSettings
from polyref.fit.checkpoint import Counters
from polyref.fit.loop import Step, fit

BATCHES = 7
SETTINGS = FitSettings(epochs=4, learning_rate=0.1, save_every=3)


class Line(torch.nn.Module):
    """A line with a dropout, so that a run depends on randomness as well."""

    def __init__(self, seed: int = 0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.layer = torch.nn.Linear(4, 1)
        self.drop = torch.nn.Dropout(0.3)

    def cost(self, batch: torch.Tensor) -> tuple[torch.Tensor, int]:
        wanted = batch.sum(1, keepdim=True)
        return (self.layer(self.drop(batch)) - wanted).square().sum(), len(batch)


def batch_at(epoch: int, number: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1000 * epoch + number)
    return torch.randn(8, 4, generator=generator)


def batches(epoch: int, start: int) -> Iterator[torch.Tensor]:
    return (batch_at(epoch, number) for number in range(start, BATCHES))


def train(
    folder: Path,
    settings: FitSettings = SETTINGS,
    *,
    run: str = "run",
    validations: Sequence[float] | None = None,
    on_step: Callable[[Step], None] = lambda step: None,
    **others: object,
) -> tuple[Line, Counters]:
    """Run it; `validations` are what the epochs are told to be worth, else it is the cost of a batch."""
    model = Line()
    told = iter(validations or ())

    def validate() -> float:
        return next(told) if validations else float(model.cost(batch_at(99, 0))[0])

    counters = fit(
        model,
        batches=batches,
        cost=model.cost,
        validate=validate,
        settings=replace(settings, **others),
        folder=folder,
        run=run,
        on_step=on_step,
    )
    return model, counters


class StoppedError(Exception):
    """As if the run had been killed."""


def stopped(folder: Path, updates: int, **choices: object) -> Path:
    """A folder that a run left behind after so many updates."""

    def on_step(step: Step) -> None:
        if step.what == "update" and step.updates == updates:
            raise StoppedError

    with suppress(StoppedError):
        train(folder, on_step=on_step, **choices)
        raise AssertionError("the run was not stopped")
    return folder


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def checkpoint_in(folder: Path) -> Path:
    [checkpoint] = (folder / "checkpoints").iterdir()
    return checkpoint


def weights_of(model: torch.nn.Module) -> bytes:
    return b"".join(weight.detach().numpy().tobytes() for weight in model.parameters())
