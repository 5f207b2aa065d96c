"""Train a model: the loop, from top to bottom.

In:   a model, batches for each epoch, what a batch costs, how good the model is.
Out:  the model with its best weights; checkpoints on the way, from which a run goes on exactly.
Not:  models (encode/, model/), where batches come from (schedule/), showing progress (cli/).

A run that was killed and started again ends with the same weights as one that was not: batches are a function of the
epoch, and the randomness of each update (dropout) a function of the seed and the update's number.

Several processes (processes.py) make one update together: each takes a batch, and the loss is the sum over all of them,
divided by the number of all their items, as if the batches were one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch

from polyref.errors import PolyrefError
from polyref.fit.averaging import Average
from polyref.fit.checkpoint import Counters, State, load_best, load_checkpoint, save_best, save_checkpoint
from polyref.fit.device import check_precision
from polyref.fit.processes import Costing, Processes, shared
from polyref.fit.settings import FitSettings

Batch = TypeVar("Batch")
What = Literal["update", "validation", "epoch"]
_CURE = "lower the learning rate, and start again in another folder"


@dataclass(frozen=True, slots=True)
class Step:
    """What is told of the run: after an update, after a validation inside an epoch, after an epoch.

    An epoch that ends with a validation has it in its own step.
    """

    what: What
    epoch: int
    batch: int
    updates: int
    loss: float  # mean over the items of this epoch so far
    learning_rate: float
    validation: float | None = None
    best: float | None = None
    batch_loss: float | None = None  # mean over the items of this update
    items: int = 0  # of this update


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
    processes: Processes | None = None,
) -> Counters:
    """Train until the epochs are over, or more are of no use; leave the best weights in the model.

    `batches(epoch, start)` gives the batches of an epoch from number `start` on; `cost(batch)` the summed loss and the
    number of items it is summed over; `run` names all that the run depends on, a folder with another is refused. Of
    several processes each has its own batches; all need the same folder, and the first one validates and saves.
    """
    processes = processes or Processes()
    check_precision(settings.precision, processes.device)
    run = run if processes.ranks == 1 else f"{run} {processes.ranks} processes"
    folder.mkdir(parents=True, exist_ok=True)
    state = State(model, _optimiser(model, settings), Average(model, settings.average))
    counters = load_checkpoint(folder, state, run) or Counters(learning_rate=settings.learning_rate)
    costing = shared(Costing(model, cost), processes)

    def judge() -> float:
        value = _validated(validate, state, counters, processes)
        if _judge(value, counters, settings) and processes.is_first:
            with state.average.applied(model):
                save_best(folder, model)
        return value

    def save() -> None:
        if processes.is_first:
            save_checkpoint(folder, state, counters, run)

    while counters.epoch < settings.epochs and not _is_over(counters, settings):
        model.train()
        for batch in _in_step(batches(counters.epoch, counters.batch), processes):
            loss, items = _update(costing, state, batch, counters, settings, processes)
            on_step(_step("update", counters, loss=loss, items=items))
            if settings.validate_every is not None and counters.updates % settings.validate_every == 0:
                on_step(_step("validation", counters, judge()))
                model.train()
            if counters.updates % settings.save_every == 0:
                save()
            if _is_over(counters, settings):
                break
        is_last = counters.epoch + 1 == settings.epochs
        is_due = settings.validate_every is None or (is_last and counters.validated < counters.updates)
        value = judge() if is_due else None
        on_step(_step("epoch", counters, value))
        counters.epoch, counters.batch, counters.loss, counters.items = counters.epoch + 1, 0, 0.0, 0
        save()
    processes.wait()
    load_best(folder, model)
    model.eval()
    return counters


def _in_step(batches: Iterator[Batch], processes: Processes) -> Iterator[Batch | None]:
    """Batches until no process has one left; None where this one has none, but another has."""
    if processes.ranks == 1:
        yield from batches
        return
    for batch in chain(batches, repeat(None)):
        if not processes.sums(batch is not None)[0]:
            return
        yield batch


def _update(
    costing: torch.nn.Module,
    state: State,
    batch: Any,
    counters: Counters,
    settings: FitSettings,
    processes: Processes,
) -> tuple[float, int]:
    """One step of the optimiser; the mean loss of the batch, and how many items it has."""
    for group in state.optimiser.param_groups:
        group["lr"] = counters.learning_rate
    state.optimiser.zero_grad(set_to_none=True)
    with torch.random.fork_rng(devices=[processes.device] if processes.device.type == "cuda" else []):
        # torch looks at 32 bits only
        torch.manual_seed((settings.seed * 2654435761 + counters.updates + processes.rank * 40503) % 2**32)
        with torch.autocast(processes.device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
            loss, items = costing(batch)
        total, all_items = processes.sums(float(loss.detach()), items)
        if math.isfinite(total):
            # Gradients are averaged over the processes, but wanted as a sum.
            (loss * processes.ranks / int(all_items)).backward()
    norm = torch.nn.utils.clip_grad_norm_(state.model.parameters(), settings.clip)
    if not (math.isfinite(total) and math.isfinite(float(norm))):
        # Before the weights are touched, so that no checkpoint ever holds what came of it.
        what = "gradient" if math.isfinite(total) else "loss"
        raise PolyrefError(f"the {what} is no number after {counters.updates:,} updates; {_CURE}")
    state.optimiser.step()
    counters.loss += total
    counters.items += int(all_items)
    counters.batch += 1
    counters.updates += 1
    state.average.add(state.model, counters.updates)
    return total / all_items, int(all_items)


def _validated(validate: Callable[[], float], state: State, counters: Counters, processes: Processes) -> float:
    """How good the model is, or the average of its weights where one is kept."""
    state.model.eval()
    with state.average.applied(state.model), torch.inference_mode():
        value = processes.first_one_says(validate)
    if math.isnan(value):
        raise PolyrefError(f"the validation is no number after {counters.updates:,} updates; {_CURE}")
    return value


def _judge(value: float, counters: Counters, settings: FitSettings) -> bool:
    """Whether this is the best so far. The learning rate is lowered if it hardly is."""
    counters.history.append(round(value, 4))
    counters.validated = counters.updates
    gained = _gain(value, counters.best, settings)
    if gained < settings.decay.gain:
        counters.without_gain += 1
        counters.learning_rate *= settings.decay.factor
    if gained > 0:
        counters.best, counters.best_epoch, counters.best_updates = value, counters.epoch, counters.updates
    recent = counters.history[-settings.recent :]
    mean = sum(recent) / len(recent)
    counters.stale += 1
    if len(recent) == settings.recent and _gain(mean, counters.best_mean, settings) > 0:
        counters.best_mean, counters.stale = mean, 0
    return gained > 0


def _gain(value: float, best: float | None, settings: FitSettings) -> float:
    """How much better a value is than the best, as a share of it."""
    if best is None:
        return math.inf
    better = best - value if settings.goal == "lowest" else value - best
    return better / max(abs(best), 1e-12)


def _is_over(counters: Counters, settings: FitSettings) -> bool:
    if counters.without_gain >= settings.decay.stop_after:
        return True
    return settings.patience is not None and counters.best_mean is not None and counters.stale >= settings.patience


def _optimiser(model: torch.nn.Module, settings: FitSettings) -> torch.optim.Optimizer:
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    return torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay)


def _step(
    what: What, counters: Counters, validation: float | None = None, loss: float | None = None, items: int = 0
) -> Step:
    return Step(
        what,
        counters.epoch,
        counters.batch,
        counters.updates,
        counters.loss / max(counters.items, 1),
        counters.learning_rate,
        validation,
        counters.best,
        loss,
        items,
    )
