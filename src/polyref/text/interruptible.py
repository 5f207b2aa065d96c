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
from contextlib import suppress
from itertools import islice
from queue import Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE = 1024  # items handed over at once: each time costs a change of threads
_AHEAD = 4
_LOOK = 0.1  # seconds; on some systems a wait without end is deaf to signals
_PATIENCE = 0.5  # seconds for a computation that only reads; one that is beyond that does not end when it is told


class _AbandonedError(Exception):
    """Nobody waits for the computation any more."""


class _Channel(Generic[Item]):
    """What goes from the thread that reads to the one that computes."""

    def __init__(self) -> None:
        self._waiting: Queue[list[Item] | None] = Queue(_AHEAD)
        self._is_abandoned = Event()
        self.is_over = Event()

    def put(self, some: list[Item] | None) -> None:
        """Hand over some items; None says that these were all."""
        while not self.is_over.is_set():
            with suppress(Full):
                self._waiting.put(some, timeout=_LOOK)
                return

    def received(self) -> Iterator[Item]:
        while not self._is_abandoned.is_set() and (some := self._waiting.get()) is not None:
            yield from some
        if self._is_abandoned.is_set():
            raise _AbandonedError

    def abandon(self) -> None:
        self._is_abandoned.set()
        with suppress(Full):  # then the computation does not wait for more
            self._waiting.put_nowait(None)
        self.is_over.wait(_PATIENCE)


def fed(compute: Callable[[Iterator[Item]], Result], items: Iterable[Item]) -> Result:
    """`compute(iter(items))`, in another thread; the items are read in this one."""
    channel: _Channel[Item] = _Channel()
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(compute(channel.received()))
        except BaseException as error:
            errors.append(error)
        finally:
            channel.is_over.set()

    Thread(target=work, daemon=True).start()
    try:
        remaining = iter(items)
        while some := list(islice(remaining, _AT_ONCE)):
            channel.put(some)
        channel.put(None)
        while not channel.is_over.wait(_LOOK):
            pass
    except BaseException:
        channel.abandon()
        raise
    if errors:
        raise errors[0]
    return results[0]
