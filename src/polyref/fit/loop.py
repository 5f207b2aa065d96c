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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch

from polyref.errors import PolyrefError
from polyref.fit import FitSettings, checkpoint
from polyref.fit.checkpoint import Counters, State, Tensors
from polyref.fit.processes import Processes, check_precision, costing_of

Batch = TypeVar("Batch")
What = Literal["update", "validation", "epoch", "end"]
_CURE = "lower the learning rate, and start again in another folder"


@dataclass(frozen=True, slots=True)
class Step:
    """What is reported of a run. An epoch that ends with a validation has it in its own step; at the end there is one
    more step if the last updates were not validated."""

    what: What
    epoch: int
    updates: int
    loss: float  # mean over the items of this epoch so far
    learning_rate: float
    validation: float | None = None
    best: float | None = None
    batch_loss: float | None = None  # mean over the items of this update
    items: int = 0  # of this update
    planned: int | None = None  # the most updates of the run, where whoever starts it knows
    is_best: bool = False  # this validation is better than all before it, and its weights are kept


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
    """Train until the epochs or the updates are over, or more are of no use; leave the best weights in the model.

    `batches(epoch, start)` gives the batches of an epoch from number `start` on; `cost(batch)` the summed loss and the
    number of items it is summed over; `run` names all that the run depends on, a folder with another is refused. Of
    several processes each has its own batches; all need the same folder, and the first one validates and saves.
    """
    processes = processes or Processes()
    check_precision(settings.precision, processes.device)
    name = _name(run, processes)
    average = {} if settings.average is None else _copied(model)
    state = State(model, _optimiser(model, settings), average)
    counters = checkpoint.load_checkpoint(folder, state, name) or Counters(learning_rate=settings.learning_rate)
    folder.mkdir(parents=True, exist_ok=True)
    now = _Run(state, counters, validate, settings, folder, name, processes)
    costing = costing_of(model, cost, processes)
    while not why_over(counters, settings):
        model.train()
        for batch in _in_step(batches(counters.epoch, counters.batch), processes):
            on_step(_update(now, costing, batch))
            if settings.validate_every is not None and counters.updates % settings.validate_every == 0:
                on_step(now.judge("validation"))
                model.train()
            if counters.updates % settings.save_every == 0:
                now.save()
            if why_over(counters, settings):
                break
        if counters.updates >= (settings.updates or math.inf):  # inside an epoch, which more updates would go on with
            now.save()
            break
        on_step(now.judge("epoch") if settings.validate_every is None else _step("epoch", counters))
        counters.epoch, counters.batch, counters.loss, counters.items = counters.epoch + 1, 0, 0.0, 0
        now.save()
    return _ended(now, on_step)


def _ended(run: _Run, on_step: Callable[[Step], None]) -> Counters:
    """Leave the best weights in the model, after one more validation if the last updates had none.

    That one is kept apart, and its weights are those of the checkpoint: a run that is given more epochs or updates goes
    on as if it had not ended here.
    """
    counters, model = run.counters, run.state.model
    is_best = False
    if counters.is_unjudged:
        is_new = counters.extra is None
        value = counters.extra = _validated(run) if counters.extra is None else counters.extra
        counters = replace(counters, history=[*counters.history])
        is_best = _judge(value, counters, run.settings)
        if is_new:  # told before it is saved: whoever is killed between the two tells it again
            on_step(_step("end", counters, validation=value, is_best=is_best))
            run.save()
    run.processes.wait()
    if is_best:
        _give(model, run.state.average)
    else:
        checkpoint.load_best(run.folder, model)
    model.eval()
    return counters


def check_run(folder: Path, run: str, processes: Processes) -> None:
    """Refuse a folder with another run or a damaged one; only `fit` sees whether its tensors are those of the model."""
    checkpoint.load_checkpoint(folder, None, _name(run, processes))


def is_finished(folder: Path, settings: FitSettings) -> bool:
    """Whether the run in a folder has nothing left to do under these settings; nothing is written."""
    counters = checkpoint.where_it_stands(folder)
    if counters is None or not why_over(counters, settings):
        return False
    return not counters.is_unjudged or counters.extra is not None


@dataclass(frozen=True, slots=True)
class _Run:
    """A run and where it stands. Of several processes, the first one writes."""

    state: State
    counters: Counters
    validate: Callable[[], float]
    settings: FitSettings
    folder: Path
    name: str
    processes: Processes

    def judge(self, what: What) -> Step:
        """Validate, and keep the weights if they are the best so far."""
        value = _validated(self)
        is_best = _judge(value, self.counters, self.settings)
        if is_best and self.processes.is_first:
            with _averaged(self.state):
                checkpoint.save_best(self.folder, self.state.model)
        return _step(what, self.counters, validation=value, is_best=is_best)

    def save(self) -> None:
        """Write a checkpoint."""
        if self.processes.is_first:
            checkpoint.save_checkpoint(self.folder, self.state, self.counters, self.name)


def _name(run: str, processes: Processes) -> str:
    """What a folder knows a run by: batches depend on the number of processes, so another number is another run."""
    return run if processes.ranks == 1 else f"{run} {processes.ranks} processes"


def _in_step(batches: Iterator[Batch], processes: Processes) -> Iterator[Batch | None]:
    """Batches until no process has one left; None where this one has none, but another has."""
    for batch in chain(batches, repeat(None)):
        if not processes.sums(batch is not None)[0]:
            return
        yield batch


def _update(run: _Run, costing: torch.nn.Module, batch: Any) -> Step:
    """One step of the optimiser."""
    state, counters, settings, processes = run.state, run.counters, run.settings, run.processes
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
        raise PolyrefError(f"the {what} is not a number after {counters.updates:,} updates; {_CURE}")
    state.optimiser.step()
    counters.loss += total
    counters.items += int(all_items)
    counters.batch += 1
    counters.updates += 1
    counters.extra = None
    if settings.average is not None:
        _take_in(state, settings.average, counters.updates)
    return _step("update", counters, batch_loss=total / all_items, items=int(all_items))


def _validated(run: _Run) -> float:
    """How good the model is, or the average of its weights where one is kept."""
    model = run.state.model
    model.eval()
    with _averaged(run.state), torch.inference_mode():
        value = run.processes.from_first(run.validate)
    if not math.isfinite(value):
        raise PolyrefError(f"the validation is not a number after {run.counters.updates:,} updates; {_CURE}")
    return value


def _judge(value: float, counters: Counters, settings: FitSettings) -> bool:
    """Whether this is the best so far. The learning rate is lowered if it hardly is."""
    counters.history.append(round(value, 4))
    counters.validated = counters.updates
    gained = _gain(value, counters.best, settings)
    # A tie is no gain, however little the settings ask for.
    if gained <= 0 or gained < settings.decay.gain:
        counters.without_gain += 1
        counters.learning_rate *= settings.decay.factor
    if gained > 0:
        counters.best, counters.best_epoch = value, counters.epoch_of_update
        counters.best_updates = counters.updates
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


def why_over(counters: Counters, settings: FitSettings) -> str:
    """Why a run goes on no longer, in words; nothing while it does."""
    if counters.epoch >= settings.most_epochs:
        return f"all {settings.most_epochs:,} epochs are done"
    if counters.updates >= (settings.updates or math.inf):
        return f"all {settings.updates:,} updates are done"
    if counters.without_gain >= settings.decay.stop_after:
        return f"{counters.without_gain} validations brought no gain (fit.decay.stop_after)"
    if settings.patience is not None and counters.best_mean is not None and counters.stale >= settings.patience:
        return f"the last {counters.stale} validations brought no gain (fit.patience)"
    return ""


def _optimiser(model: torch.nn.Module, settings: FitSettings) -> torch.optim.Optimizer:
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    # fused: each weight is read and written once; step by step takes four times as long on a processor.
    return torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)


def _step(what: What, counters: Counters, **more: Any) -> Step:
    at, loss = (counters.epoch_of_update, counters.updates), counters.loss / max(counters.items, 1)
    return Step(what, *at, loss, counters.learning_rate, best=counters.best, **more)


# -- the average of the weights: single checkpoints jump by more than a BLEU point on small sets --------------------


@torch.no_grad()
def _take_in(state: State, keep: float, updates: int) -> None:
    """Take the weights after an update into their average.

    The first weights are not worth keeping for long, so the average begins short and grows to its length.
    """
    keep = min(keep, (1 + updates) / (10 + updates))
    for name, weight in state.model.named_parameters():
        state.average[name].lerp_(weight, 1 - keep)


@contextmanager
def _averaged(state: State) -> Iterator[None]:
    """Within, the model has the average for its weights, where one is kept."""
    own = _copied(state.model) if state.average else {}
    try:
        _give(state.model, state.average)
        yield
    finally:
        _give(state.model, own)


def _copied(model: torch.nn.Module) -> Tensors:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@torch.no_grad()
def _give(model: torch.nn.Module, weights: Tensors) -> None:
    for name, weight in weights.items():
        model.get_parameter(name).copy_(weight)
