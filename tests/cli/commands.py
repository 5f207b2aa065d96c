"""A command line, and what a command leaves behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Finished:
    """What a command leaves behind."""

    code: int
    out: bytes
    err: str


Run = Callable[..., Finished]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "polyref", *map(str, arguments)]
