"""Take the time of work that one core does.

In:   a function, and what to call it with.
Out:  seconds of processor time.
Not:  work in other processes (processes.py).

Processor time, not wall time: on a machine that others use as well, waiting for a turn is not part of the work.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import process_time
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def seconds_each(work: Callable[[Item], object], items: Sequence[Item], repeats: int) -> float:
    """The mean time of one item; the median of some runs over all of them.

    A median, because those of three runs and of nine can be compared; minima cannot.
    """
    taken = []
    for _ in range(repeats):
        gc.collect()
        started = process_time()
        for item in items:
            work(item)
        taken.append(process_time() - started)
    return median(taken) / len(items)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work returns, and how long it took."""
    started = process_time()
    result = work()
    return result, process_time() - started


@contextmanager
def one_core() -> Iterator[None]:
    """Stay on one core, so that nothing is moved and no library uses a second one."""
    if not hasattr(os, "sched_setaffinity"):  # not on every system
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def say(message: str) -> None:
    """Progress goes to standard error."""
    print(message, file=sys.stderr, flush=True)
