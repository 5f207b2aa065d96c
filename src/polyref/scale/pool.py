"""Worker processes: tasks go out, their results come back in the tasks' order, and nothing outlives the run.

In:   tasks, and what a worker does with one.
Out:  the results, in order; the first fault in that order. A worker that dies is replaced.
Not:  what is done with a task (workers.py).

A signal may raise at any place of the main thread. So it has no lock here, no queue and no second thread that such an
interruption could leave in disorder: it shares one socket with each worker, and that is all.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Thread
from typing import Any, NoReturn, Self, TypeVar

from polyref.errors import PolyrefError

Task = TypeVar("Task")
Result = TypeVar("Result")
_log = logging.getLogger(__name__)

# One task in hand and one at the door: a worker never waits until the main thread has read the next.
_TASKS_EACH = 2
# A slow task holds up nobody until this many that come after it are done; memory does not grow with their number.
_WINDOW_EACH = 4
# A task that so many workers have died of is not tried again.
_DEATHS_EACH = 2
# So many deaths without a result between them are not the fault of single tasks.
_DEATHS_IN_A_ROW = 20

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerDiedError(PolyrefError):
    """A process that worked for us is gone, and nobody knows why: most often the system had no memory left."""

    def __init__(self) -> None:
        super().__init__("a worker process died (out of memory?); use fewer workers")


def until_fault(tasks: Iterator[Task], faults: list[PolyrefError]) -> Iterator[Task]:
    """Tasks as they are read. A fault in reading them ends them, and is kept: those before it are done first."""
    try:
        yield from tasks
    except PolyrefError as error:
        faults.append(error)


def in_order(
    tasks: Iterator[Task],
    set_up: Callable[[], Callable[[Task], Result]],
    *,
    workers: int,
    lost: Callable[[Task], Result] | None = None,
) -> Iterator[Result]:
    """`set_up()(task)` of every task, by `workers` processes, each of which calls `set_up` once.

    A worker that dies is replaced, and its task done again. `lost` gives the result of a task that two workers have
    died of; without it, that ends the run. A fault in reading the tasks is raised when those before it are done: one of
    them may hold an earlier fault.
    """
    results: dict[int, Result | Exception] = {}
    window: dict[int, Task] = {}  # tasks whose results have not been taken
    given = taken = 0
    faults: list[PolyrefError] = []
    tasks = until_fault(tasks, faults)
    with _Team(set_up, workers) as team:
        while True:
            while given - taken < _WINDOW_EACH * workers and team.least_tasks() < _TASKS_EACH:
                if (task := next(tasks, None)) is None:
                    break
                window[given] = task
                team.give(given, task)
                given += 1
            if taken == given:
                break
            while taken not in results:
                results.update(team.receive())
            result, task = results.pop(taken), window.pop(taken)
            if isinstance(result, WorkerDiedError) and lost is not None:
                result = lost(task)
            if isinstance(result, Exception):
                raise result
            taken += 1
            yield result
    if faults:
        raise faults[0]


def as_done(
    next_task: Callable[[], Task | None],
    set_up: Callable[[], Callable[[Task], Result]],
    *,
    workers: int,
    every: float,
) -> Iterator[tuple[Task, Result | Exception] | None]:
    """Tasks with their results, as they are done; the fault of one does not end the others.

    `next_task` is asked whenever a worker is free, and gives None while the others must be done first, or at the end.
    While nothing is done, None comes `every` so many seconds, for whoever shows how far we are. A worker that dies is
    replaced, and its task done again, once.
    """
    at_work: dict[int, Task] = {}
    given = 0
    with _Team(set_up, workers) as team:
        while True:
            while team.least_tasks() == 0 and (task := next_task()) is not None:
                at_work[given] = task
                team.give(given, task)
                given += 1
            if not at_work:
                break
            results = list(team.receive(every))
            for number, result in results:
                yield at_work.pop(number), result
            if not results:
                yield None


class Begun:
    """Stands for a result when a worker begins a task: if it dies before that, it is not because of the task."""


def start_worker(set_up: Callable[[], Callable[[Any], Any]]) -> tuple[BaseProcess, Connection]:
    """A process that answers (number, task) with (number, Begun), then with what `set_up()(task)` gives or raises."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with _calm_start():
        process = context.Process(target=_serve, args=(theirs, set_up), daemon=True)
        process.start()
    theirs.close()  # so that the end of the worker is the end of the connection
    return process, ours


@dataclass(slots=True)
class _Worker:
    """A worker as the main thread sees it."""

    process: BaseProcess
    connection: Connection
    tasks: dict[int, Any] = field(default_factory=dict)  # that it has not answered yet, in their order
    begun: int | None = None  # the last one that it has begun

    def give(self, number: int, task: object) -> None:
        self.tasks[number] = task
        with suppress(OSError):  # it has died, which whoever waits for its answer will see
            self.connection.send((number, task))


class _Team:
    """Workers, and others in the place of those that die."""

    def __init__(self, set_up: Callable[[], Callable[[Any], Any]], workers: int):
        self._set_up = set_up
        self._workers: list[_Worker] = []
        self._number = workers
        self._deaths: Counter[int] = Counter()  # how many workers have died of a task
        self._in_a_row = 0

    def __enter__(self) -> Self:
        try:
            with _calm_start():
                for _ in range(self._number):
                    self._workers.append(self._started())
        except BaseException:
            self._end()
            raise
        _log.info("%d worker processes started", self._number)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def least_tasks(self) -> int:
        """How many tasks the worker has that has the fewest."""
        return min(len(worker.tasks) for worker in self._workers)

    def give(self, number: int, task: object) -> None:
        """Give a task to the worker that has the fewest."""
        min(self._workers, key=lambda worker: len(worker.tasks)).give(number, task)

    def receive(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """The results of workers, as soon as one of them has any, or none after so many seconds."""
        ready = wait([worker.connection for worker in self._workers], seconds)
        for place, worker in enumerate(self._workers):
            if worker.connection in ready:
                try:
                    number, result = worker.connection.recv()
                except (EOFError, OSError):
                    yield from self._replace(place)
                else:
                    if result is Begun:
                        worker.begun = number
                        continue
                    self._in_a_row = 0
                    del worker.tasks[number]
                    yield number, result

    def _replace(self, place: int) -> Iterator[tuple[int, WorkerDiedError]]:
        """Another worker in the place of one that died, with its tasks. It died of the one that it had begun."""
        dead = self._workers[place]
        self._in_a_row += 1
        if self._in_a_row > _DEATHS_IN_A_ROW:
            raise WorkerDiedError
        _log.warning("a worker process died; another one takes its place")
        with _calm_start():
            self._workers[place] = self._started()
        dead.connection.close()
        dead.process.kill()
        dead.process.join()
        for number, task in dead.tasks.items():
            self._deaths[number] += number == dead.begun
            if self._deaths[number] < _DEATHS_EACH:
                self._workers[place].give(number, task)
            else:
                yield number, WorkerDiedError()

    def _started(self) -> _Worker:
        return _Worker(*start_worker(self._set_up))

    def _end(self) -> None:
        for worker in self._workers:
            worker.connection.close()
            worker.process.kill()  # it owns nothing that would be lost
        for worker in self._workers:
            worker.process.join()


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
    collect_seldom()
    tasks: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    work = None
    while True:
        number, task = tasks.get()
        try:
            work = work or set_up()
            _tell(connection, (number, Begun))
            result = work(task)
        except Exception as error:
            error.add_note(f"In a worker process:\n{traceback.format_exc()}")
            result = error
        _tell(connection, (number, result))


def _tell(connection: Connection, message: tuple[int, Any]) -> None:
    try:
        connection.send(message)
    except OSError:
        _leave()


def _listen(connection: Connection, tasks: SimpleQueue[tuple[int, Any]]) -> None:
    """Takes tasks at all times: if the thread that sends results did, both sides could wait for each other for ever."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        _leave()


def collect_seldom() -> None:
    """For processes of our own: examples hold no cycles, and Python's search for some takes a tenth of the time."""
    gc.set_threshold(50_000, 20, 50)


def _leave() -> NoReturn:
    os._exit(0)  # the run is over, however it ended: nobody waits for what is at hand
