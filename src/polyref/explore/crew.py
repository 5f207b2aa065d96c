"""Worker processes that answer questions; whoever asks may leave before the answer is there.

In:   questions, from an event loop.
Out:  their answers. A slow one holds up no others, as long as a worker is free. One that nobody waits for any more is
      given up: it is taken from the queue, or its worker is replaced if it goes on for long.
Not:  the answers (analysis.py), how a worker is started (scale/pool.py).

A kernel cannot be interrupted, but a process can be ended. A new one takes a second or two until it is as fast as the
old one, so an answer that nobody waits for has a moment to finish.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Self

from polyref.errors import PolyrefError
from polyref.scale.pool import Begun, WorkerDiedError, start_worker

PATIENCE = 0.5  # seconds that an answer which nobody waits for may take
MOST_WAITING = 1000


class BusyError(PolyrefError):
    """More is asked than can be answered soon."""


@dataclass(eq=False)
class _Job:
    asked: object
    answer: asyncio.Future[Any]


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    job: _Job | None = None


@dataclass
class Crew:
    """Some workers, each of which calls `set_up` once, and what that gives with each question. None: get ready."""

    set_up: Callable[[], Callable[[Any], Any]]
    size: int = 2
    _workers: list[_Worker] = field(default_factory=list)
    _waiting: deque[_Job] = field(default_factory=deque)

    async def __aenter__(self) -> Self:
        for _ in range(self.size):
            self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self._end(worker)

    async def ask(self, asked: object) -> Any:
        """The answer. If whoever asks is cancelled, it is given up."""
        if len(self._waiting) >= MOST_WAITING:
            raise BusyError("too much is asked at once; wait a moment")
        job = _Job(asked, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._give()
        try:
            return await job.answer
        finally:
            if job in self._waiting:
                self._waiting.remove(job)
            worker = next((one for one in self._workers if one.job is job), None)
            if worker is not None:
                asyncio.get_running_loop().call_later(PATIENCE, self._give_up, worker, job)

    @property
    def is_idle(self) -> bool:
        """Whether a worker would be free at once, and another one stays so."""
        return sum(worker.job is None for worker in self._workers) > 1

    def _start(self) -> None:
        worker = _Worker(*start_worker(self.set_up))
        self._workers.append(worker)
        asyncio.get_running_loop().add_reader(worker.connection.fileno(), self._receive, worker)
        with suppress(OSError):
            worker.connection.send((0, None))  # get ready; nobody waits for the answer

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        asyncio.get_running_loop().remove_reader(worker.connection.fileno())
        worker.connection.close()
        worker.process.kill()
        worker.process.join()

    def _give(self) -> None:
        """Questions to those who have none, the oldest first."""
        for worker in self._workers:
            if worker.job is None and self._waiting:
                worker.job = self._waiting.popleft()
                with suppress(OSError):  # it has died, as `_receive` will see
                    worker.connection.send((1, worker.job.asked))

    def _receive(self, worker: _Worker) -> None:
        try:
            number, answer = worker.connection.recv()
        except (EOFError, OSError):
            number, answer = 1, WorkerDiedError()
            self._end(worker)
            self._start()
        if number == 0 or answer is Begun:
            return
        job, worker.job = worker.job, None
        if job is not None and not job.answer.done():
            if isinstance(answer, Exception):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(answer)
        self._give()

    def _give_up(self, worker: _Worker, job: _Job) -> None:
        """End a worker that is still at what nobody waits for."""
        if worker.job is job and worker in self._workers:
            self._end(worker)
            self._start()
            self._give()
