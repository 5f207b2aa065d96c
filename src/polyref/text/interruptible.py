"""Compute for long outside Python, and still see a signal at once.

In:   a function that reads an iterator and then computes without Python; what it is to read.
Out:  what it returns, or what it raises.
Not:  what is computed (subwords.py), what a signal means (cli/main.py).

Python runs the handlers of signals in the main thread, between two of its own steps. So the computation gets a thread
of its own; the caller's reads and waits. Nothing can stop the computation itself: after a signal it goes on until the
process ends, which does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from itertools import islice
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE = 1024  # items handed over at once: each time costs a change of threads
_AHEAD = 4
_LOOK = 0.1  # seconds; on some systems a wait without end is deaf to signals
_PATIENCE = 0.5  # seconds for a computation that only reads; one that is beyond that does not end when it is told


class _AbandonedError(Exception):
    """Nobody waits for the computation any more."""


def fed(compute: Callable[[Iterator[Item]], Result], items: Iterable[Item]) -> Result:
    """`compute(iter(items))`, in another thread; the items are read in this one."""
    waiting: Queue[list[Item]] = Queue(_AHEAD)  # an empty list says that there are no more
    is_abandoned = Event()
    found: Future[Result] = Future()

    def received() -> Iterator[Item]:
        while not is_abandoned.is_set() and (some := waiting.get()):
            yield from some
        if is_abandoned.is_set():
            raise _AbandonedError

    def work() -> None:
        try:
            found.set_result(compute(received()))
        except BaseException as error:
            found.set_exception(error)

    Thread(target=work, daemon=True).start()
    try:
        remaining, some = iter(items), None
        while some != [] and not found.done():
            some = list(islice(remaining, _AT_ONCE))
            while not found.done():
                with suppress(Full):
                    waiting.put(some, timeout=_LOOK)
                    break
        while not wait([found], _LOOK).done:
            pass
    except BaseException:
        is_abandoned.set()
        with suppress(Full):  # then the computation does not wait for more
            waiting.put_nowait([])
        wait([found], _PATIENCE)
        raise
    return found.result()
