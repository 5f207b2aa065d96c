"""Train a model: the loop, from top to bottom.

In:   a model, batches for each epoch, what a batch costs, how good the model is.
Out:  the model with its best weights; checkpoints on the way, from which a run goes on exactly.
Not:  models (encode/, model/), where batches come from (schedule.py), showing progress (cli/).

A run that was killed and started again ends with the same weights as one that was not: batches are a function of the
epoch, and the randomness of each update (dropout) a function of the seed and the update's number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import torch

from polyref.errors import PolyrefError
from polyref.fit.checkpoint import Counters, load_best, load_checkpoint, save_best, save_checkpoint
from polyref.fit.settings import FitSettings

Batch = TypeVar("Batch")
_CURE = "lower the learning rate, and start again in another folder"


@dataclass(frozen=True, slots=True)
class Step:
    """What is told of the run: after an update, or after an epoch with its validation."""

    what: Literal["update", "epoch"]
    epoch: int
    batch: int
    updates: int
    loss: float  # mean over the items of this epoch so far
    learning_rate: float
    validation: float | None = None
    best: float | None = None


def fit(
    model: torch.nn.Module,
    *,
    batches: Callable[[int, int], Iterator[Batch]],
    cost: Callable[[Batch], tuple[torch.Tensor, int]],
    validate: Callable[[], float],
    settings: FitSettings,
    folder: Path,
    run: str,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Counters:
    """Train until the epochs are over, or decay has been of no use; leave the best weights in the model.

    `batches(epoch, start)` gives the batches of an epoch from number `start` on; `cost(batch)` the summed loss and the
    number of items it is summed over; `run` names all that the run depends on, a folder with another is refused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    optimiser = _optimiser(model, settings)
    counters = load_checkpoint(folder, model, optimiser, run) or Counters(learning_rate=settings.learning_rate)
    while counters.epoch < settings.epochs and not _is_over(counters, settings):
        model.train()
        for batch in batches(counters.epoch, counters.batch):
            _update(model, optimiser, batch, cost, counters, settings)
            on_step(_step("update", counters))
            if counters.updates % settings.save_every == 0:
                save_checkpoint(folder, model, optimiser, counters, run)
        model.eval()
        with torch.inference_mode():
            value = validate()
        if math.isnan(value):
            raise PolyrefError(f"the validation is no number after {counters.updates:,} updates; {_CURE}")
        _judge(value, model, counters, settings, folder)
        on_step(_step("epoch", counters, value))
        counters.epoch, counters.batch, counters.loss, counters.items = counters.epoch + 1, 0, 0.0, 0
        save_checkpoint(folder, model, optimiser, counters, run)
    load_best(folder, model)
    model.eval()
    return counters


def _update(
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    cost: Callable[[Batch], tuple[torch.Tensor, int]],
    counters: Counters,
    settings: FitSettings,
) -> None:
    for group in optimiser.param_groups:
        group["lr"] = counters.learning_rate
    optimiser.zero_grad(set_to_none=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed((settings.seed * 2654435761 + counters.updates) % 2**32)  # torch looks at 32 bits only
        loss, items = cost(batch)
        (loss / items).backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    optimiser.step()
    total = float(loss.detach())
    if math.isnan(total):
        raise PolyrefError(f"the loss is no number after {counters.updates:,} updates; {_CURE}")
    counters.loss += total
    counters.items += items
    counters.batch += 1
    counters.updates += 1


def _judge(value: float, model: torch.nn.Module, counters: Counters, settings: FitSettings, folder: Path) -> None:
    """Keep the weights if they are the best so far; lower the learning rate if they hardly are."""
    counters.history.append(round(value, 4))
    gained = _gain(value, counters.best, settings)
    if gained < settings.decay.gain:
        counters.without_gain += 1
        counters.learning_rate *= settings.decay.factor
    if gained > 0:
        save_best(folder, model)
        counters.best, counters.best_epoch = value, counters.epoch


def _gain(value: float, best: float | None, settings: FitSettings) -> float:
    """How much better a value is than the best, as a share of it."""
    if best is None:
        return math.inf
    better = best - value if settings.goal == "lowest" else value - best
    return better / max(abs(best), 1e-12)


def _is_over(counters: Counters, settings: FitSettings) -> bool:
    return counters.without_gain >= settings.decay.stop_after


def _optimiser(model: torch.nn.Module, settings: FitSettings) -> torch.optim.Optimizer:
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    return torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay)


def _step(what: Literal["update", "epoch"], counters: Counters, validation: float | None = None) -> Step:
    return Step(
        what,
        counters.epoch,
        counters.batch,
        counters.updates,
        counters.loss / max(counters.items, 1),
        counters.learning_rate,
        validation,
        counters.best,
    )
