"""Worker processes: tasks go out, their results come back in the tasks' order, and nothing outlives the run.

In:   tasks, and what a worker does with one.
Out:  the results, in order; the first fault in that order.
Not:  what is done with a task (workers.py).

A signal may raise at any place of the main thread. So it has no lock here, no queue and no second thread that such an
interruption could leave in disorder: it shares one socket with each worker, and that is all.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Thread
from typing import Any, NoReturn, TypeVar

from polyref.errors import PolyrefError

Task = TypeVar("Task")
Result = TypeVar("Result")
_log = logging.getLogger(__name__)

# One task in hand and one at the door: a worker never waits until the main thread has read the next.
_TASKS_EACH = 2
# A slow task holds up nobody until this many that come after it are done; memory does not grow with their number.
_WINDOW_EACH = 4

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def in_order(
    tasks: Iterator[Task], set_up: Callable[[], Callable[[Task], Result]], *, workers: int
) -> Iterator[Result]:
    """`set_up()(task)` of every task, by `workers` processes, each of which calls `set_up` once.

    A fault in reading the tasks is raised when those before it are done: one of them may hold an earlier fault.
    """
    team: list[_Worker] = []
    results: dict[int, Result | Exception] = {}
    given = taken = 0
    is_all_given = False
    fault: PolyrefError | None = None
    try:
        _start(team, set_up, workers)
        while True:
            while not is_all_given and given - taken < _WINDOW_EACH * workers:
                worker = min(team, key=lambda worker: worker.tasks)
                if worker.tasks == _TASKS_EACH:
                    break
                try:
                    task = next(tasks)
                except StopIteration:
                    is_all_given = True
                except PolyrefError as error:
                    is_all_given, fault = True, error
                else:
                    worker.give(given, task)
                    given += 1
            if taken == given:
                break
            while taken not in results:
                results.update(_receive(team))
            result = results.pop(taken)
            if isinstance(result, Exception):
                raise result
            taken += 1
            yield result
    finally:
        _end(team)
    if fault is not None:
        raise fault


def as_done(
    next_task: Callable[[], Task | None],
    set_up: Callable[[], Callable[[Task], Result]],
    *,
    workers: int,
    every: float,
) -> Iterator[tuple[Task, Result | Exception] | None]:
    """Tasks with their results, as they are done; the fault of one does not end the others.

    `next_task` is asked whenever a worker is free, and gives None while the others must be done first, or at the end.
    While nothing is done, None comes `every` so many seconds, for whoever shows how far we are.
    """
    team: list[_Worker] = []
    at_work: dict[int, Task] = {}
    given = 0
    try:
        _start(team, set_up, workers)
        while True:
            for worker in team:
                if not worker.tasks and (task := next_task()) is not None:
                    worker.give(given, task)
                    at_work[given] = task
                    given += 1
            if not at_work:
                break
            results = list(_receive(team, every))
            for number, result in results:
                yield at_work.pop(number), result
            if not results:
                yield None
    finally:
        _end(team)


@dataclass(slots=True)
class _Worker:
    """A worker as the main thread sees it."""

    process: BaseProcess
    connection: Connection
    tasks: int = 0  # that it has not answered yet

    def give(self, number: int, task: object) -> None:
        try:
            self.connection.send((number, task))
        except OSError:
            raise _died() from None
        self.tasks += 1


def _start(team: list[_Worker], set_up: Callable[[], Callable[[Any], Any]], workers: int) -> None:
    context = multiprocessing.get_context("spawn")
    with _calm_start():
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, set_up), daemon=True)
            process.start()
            theirs.close()  # so that the end of the worker is the end of the connection
            team.append(_Worker(process, ours))
    _log.info("%d worker processes started", workers)


def _receive(team: list[_Worker], seconds: float | None = None) -> Iterator[tuple[int, Any]]:
    """The results of workers, as soon as one of them has any, or none after so many seconds."""
    ready = wait([worker.connection for worker in team], seconds)
    for worker in team:
        if worker.connection in ready:
            try:
                number, result = worker.connection.recv()
            except (EOFError, OSError):
                raise _died() from None
            worker.tasks -= 1
            yield number, result


def _end(team: list[_Worker]) -> None:
    for worker in team:
        worker.connection.close()
        worker.process.kill()  # it owns nothing that would be lost
    for worker in team:
        worker.process.join()


def _died() -> PolyrefError:
    return PolyrefError("a worker process died (out of memory?); use fewer workers")


@contextmanager
def _calm_start() -> Iterator[None]:
    """What is started meanwhile never sees Ctrl-C or TERM, which reach a whole group; ours wait until the end of this.

    The run decides what to do about them. A worker ends with its connection, whatever ended that. And there are as many
    workers as wanted: their numerical libraries do not start threads of their own.
    """
    resource_tracker.ensure_running()  # would let the signals in if it were first started by a worker
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    threads = {name: os.environ[name] for name in _THREADS if name in os.environ}
    try:
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        yield
    finally:
        for name in _THREADS:
            del os.environ[name]
        os.environ.update(threads)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)


# -- inside a worker --------------------------------------------------------------------------------------------


def _serve(connection: Connection, set_up: Callable[[], Callable[[Any], Any]]) -> None:
    tasks: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    work = None
    while True:
        number, task = tasks.get()
        try:
            work = work or set_up()
            result = work(task)
        except Exception as error:
            error.add_note(f"In a worker process:\n{traceback.format_exc()}")
            result = error
        try:
            connection.send((number, result))
        except OSError:
            _leave()


def _listen(connection: Connection, tasks: SimpleQueue[tuple[int, Any]]) -> None:
    """Takes tasks at all times: if the thread that sends results did, both sides could wait for each other for ever."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        _leave()


def _leave() -> NoReturn:
    os._exit(0)  # the run is over, however it ended: nobody waits for what is at hand
