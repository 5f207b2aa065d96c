"""On which device a process computes, and several processes that train one model.

In:   which device is wanted; the environment that torchrun makes (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE).
Out:  the device; this process's place among the others; sums, and numbers that all of them know.
Not:  which batches a process takes (schedule/batches.py), the loop (loop.py).

One process alone is the usual case: then sums are its own numbers, and nobody waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, get_args

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

from polyref.errors import SettingsError
from polyref.fit import Device

# The first process works alone while the others wait: it expands a large file, learns subwords, validates, which may
# take hours. If it dies instead, torchrun ends the others at once, whatever their patience.
_PATIENCE = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Processes:
    """This process is number `rank` of `ranks`, and computes on `device`."""

    rank: int = 0
    ranks: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def is_first(self) -> bool:
        """Whether this is the one that validates, logs and saves."""
        return self.rank == 0

    def sums(self, *numbers: float) -> list[float]:
        """Each number summed over all processes."""
        if self.ranks == 1:
            return list(numbers)
        tensor = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(tensor)
        return [float(number) for number in tensor]

    def from_first(self, find: Callable[[], float]) -> float:
        """What the first process finds, known to all; the others wait."""
        return self.sums(find() if self.is_first else 0.0)[0]

    def wait(self) -> None:
        """Until all processes are here."""
        if self.ranks > 1:
            distributed.barrier()


class _Costing(torch.nn.Module):
    """A model whose forward pass is the cost of a batch: what DistributedDataParallel wraps."""

    def __init__(self, model: torch.nn.Module, cost: Callable[[Any], tuple[torch.Tensor, int]]):
        super().__init__()
        self.model, self._cost = model, cost

    def forward(self, batch: Any) -> tuple[torch.Tensor, int]:
        if batch is None:  # none left here; the others wait for gradients of every weight
            nothing = [weight.sum() * 0 for weight in self.model.parameters() if weight.requires_grad]
            return torch.stack(nothing).sum(), 0
        return self._cost(batch)


def costing_of(model: torch.nn.Module, cost: Any, processes: Processes) -> torch.nn.Module:
    """A module that gives the cost of a batch; its gradients are the mean over all processes."""
    costing = _Costing(model, cost)
    if processes.ranks == 1:
        return costing
    devices = [processes.device] if processes.device.type == "cuda" else None
    return DistributedDataParallel(costing, device_ids=devices)


@contextmanager
def join(device: str = "auto") -> Iterator[Processes]:
    """Take a place among the processes that torchrun has started; alone without it."""
    ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), rank_of_environment()
    place = int(os.environ.get("LOCAL_RANK", 0))
    found = device_named(device, place)
    here, gpus = max(int(os.environ.get("LOCAL_WORLD_SIZE", 1)), place + 1), torch.cuda.device_count()
    if found.type == "cuda" and here > gpus:  # in all of them, so that none waits for the others
        many = f"{gpus} GPU{'' if gpus == 1 else 's'}"
        raise SettingsError(
            f'{here} processes were started here, but torch finds {many}; start {gpus}, or set the device to "cpu"'
        )
    if ranks <= 1:
        yield Processes(device=found)
        return
    if found.type == "cuda":
        torch.cuda.set_device(found)
    distributed.init_process_group("nccl" if found.type == "cuda" else "gloo", timeout=_PATIENCE)
    try:
        yield Processes(rank, ranks, found)
    finally:
        distributed.destroy_process_group()


def device_named(wanted: str, place: int = 0) -> torch.device:
    """The device; `place` says which of several GPUs. auto is a GPU where there is one."""
    if wanted not in get_args(Device):
        raise SettingsError(f'unknown device "{wanted}"; choose one of {", ".join(get_args(Device))}')
    if wanted == "cpu" or (wanted == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise SettingsError('the device is "cuda", but torch finds none; set it to auto or cpu')
    return torch.device("cuda", place)


def check_precision(precision: str, device: torch.device) -> None:
    """Refuse bfloat16 where it is not made for: processors may die of it, older GPUs only emulate it."""
    if precision == "bfloat16" and not (
        device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    ):
        raise SettingsError(
            f'the precision is "bfloat16", which is for newer GPUs, not for this {device.type}; use float32'
        )


def rank_of_environment() -> int:
    """The place that torchrun has given to this process; 0 without it."""
    return int(os.environ.get("RANK", 0))
