"""Tasks on a Ray cluster: what pool.py does on one machine, on several.

In:   tasks, and what a worker does with one; the address of a cluster.
Out:  the results, in order.
Not:  what is done with a task (workers.py), scheduling, machines that come and go (Ray).

A task is a Ray task, not a call of an actor: Ray then decides where it runs, runs it again on another machine where one
is lost, and makes use of machines that come later. What is set up for a job is kept by each of Ray's processes.
"""

from __future__ import annotations

import os
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from polyref import __version__
from polyref.encode import Encoder, Encoding
from polyref.encode.encoder import Choosy
from polyref.errors import PolyrefError, SettingsError, load_extra
from polyref.scale.pool import until_fault

Task = TypeVar("Task")
Result = TypeVar("Result")
SetUp = Callable[[], Callable[[Any], Any]]

LOCAL = "local"
# As many tasks as this for each processor are under way: a slow one does not hold up those behind it.
_WINDOW_EACH = 4
# Ray counts a lost machine like a task that kills its process.
_TRIES_AGAIN = 3


def _ray() -> Any:
    return load_extra("ray", purpose="a cluster", extra="ray")


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """Ray, connected to a cluster, or with a small one of its own on this machine while it is needed.

    A program that has connected already is left as it is.
    """
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    quiet = {"log_to_driver": False, "configure_logging": False}
    try:
        if address == LOCAL:
            own = {"num_cpus": workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
            ray.init(address=LOCAL, **own, **quiet)
        else:
            ray.init(address=address, **quiet)
    except Exception as error:
        problem = f"there is no Ray cluster at {address} ({type(error).__name__})"
        raise SettingsError(problem, f"start one with `ray start --head`, or give {LOCAL}", key="ray") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def in_order(
    tasks: Iterator[Task],
    set_up: Callable[[], Callable[[Task], Result]],
    *,
    ray: Any,
    lost: Callable[[Task], Result],
) -> Iterator[Result]:
    """`set_up()(task)` of every task; see pool.in_order. `lost` gives the result of a task that processes die of."""
    work = ray.remote(num_cpus=1, max_retries=_TRIES_AGAIN)(_work)
    shared = ray.put(set_up)
    key = shared.hex()
    waiting: deque[tuple[Task, Any]] = deque()
    faults: list[PolyrefError] = []
    tasks = until_fault(tasks, faults)
    while True:
        window = _WINDOW_EACH * max(1, int(ray.cluster_resources().get("CPU", 1)))
        while len(waiting) < window and (task := next(tasks, None)) is not None:
            waiting.append((task, work.remote(key, __version__, shared, task)))
        if not waiting:
            break
        task, reference = waiting.popleft()
        try:
            result = ray.get(reference)
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError):
            result = lost(task)
        if isinstance(result, Exception):
            raise result
        yield result
    if faults:
        raise faults[0]


# -- on the machines of the cluster ----------------------------------------------------------------------------------

_ready: dict[str, Callable[[Any], Any]] = {}  # of this process, by job


def _work(key: str, version: str, set_up: SetUp, task: Any) -> Any:
    try:
        if version != __version__:
            raise PolyrefError(f"a machine of the cluster has polyref {__version__}; install {version} there")
        if key not in _ready:
            _ready.clear()
            _ready[key] = set_up()
        return _ready[key](task)
    except Exception as error:
        error.add_note(f"On a machine of the cluster:\n{traceback.format_exc()}")
        return error


# -- encoders on GPUs ------------------------------------------------------------------------------------------------


class _EncoderActor:
    """An encoder in a process of its own, on a GPU."""

    def __init__(self, open_encoder: Callable[[], Encoder | None]):
        found = open_encoder()
        assert found is not None
        self._encoder = found

    def about(self) -> tuple[str, str, float]:
        return self._encoder.name, self._encoder.hash, self._encoder.baseline

    def check(self, sentences: Sequence[Sequence[str]]) -> PolyrefError | None:
        if isinstance(self._encoder, Choosy):
            try:
                self._encoder.check(sentences)
            except PolyrefError as error:
                return error
        return None

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        return self._encoder.encode(sentences)


class RemoteEncoder:
    """An Encoder whose work is done by actors, in turn."""

    def __init__(self, actors: Sequence[Any]):
        self._actors = actors
        self.name, self.hash, self.baseline = _ray().get(actors[0].about.remote())
        self._calls = os.getpid()  # so that processes begin with different ones

    def _next(self) -> Any:
        self._calls += 1
        return self._actors[self._calls % len(self._actors)]

    def check(self, sentences: Sequence[Sequence[str]]) -> None:
        if (error := _ray().get(self._next().check.remote(sentences))) is not None:
            raise error

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        found: list[Encoding] = _ray().get(self._next().encode.remote(sentences))
        return found


def encoder_actors(ray: Any, open_encoder: Callable[[], Encoder | None]) -> list[Any]:
    """One actor for each GPU of the cluster; none where it has none."""
    gpus = int(ray.cluster_resources().get("GPU", 0))
    made = ray.remote(num_gpus=1, num_cpus=0, max_restarts=-1, max_task_retries=_TRIES_AGAIN)(_EncoderActor)
    return [made.remote(open_encoder) for _ in range(gpus)]
