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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from time import process_time
from typing import TypeVar

Item = TypeVar("Item")
Name = TypeVar("Name")
Result = TypeVar("Result")


def seconds_in_turn(ways: Mapping[Name, Callable[[], object]], rounds: int) -> dict[Name, float]:
    """The median time of each way to do the work.

    The ways take turns, so that whatever else the machine does falls upon all of them.
    """
    taken: dict[Name, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            gc.collect()
            taken[name].append(timed(work)[1])
    return {name: median(seconds) for name, seconds in taken.items()}


def each(work: Callable[[Item], object], items: Sequence[Item]) -> Callable[[], None]:
    """The work on one item after the other; what it returns is thrown away, as a stream would."""

    def one_after_the_other() -> None:
        for item in items:
            work(item)

    return one_after_the_other


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work returns, and how long it took."""
    started = process_time()
    result = work()
    return result, process_time() - started


@contextmanager
def one_core() -> Iterator[None]:
    """Stay on one core, so that nothing is moved and no library uses a second one.

    What is loaded by now is kept from the garbage collector, which would else go through it again and again: a run
    over a file holds nothing of the sort.
    """
    gc.collect()
    gc.freeze()
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
