"""Which device a model computes on, and what it can do there.

In:   what is wanted: auto, cpu or cuda. Out: the device, or a refusal. Not: several of them (processes.py).
"""

from __future__ import annotations

from typing import get_args

import torch

from polyref.errors import SettingsError
from polyref.fit.settings import Device


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
