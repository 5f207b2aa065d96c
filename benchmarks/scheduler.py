"""How `expand` would run on up to 1,000 cores that fail, worked out: `python -m benchmarks.scheduler [--check]`.

In:   what a chunk costs a worker and the process that reads and writes; how often machines are lost.
Out:  rates, the share of work that is done twice, and from which number of cores on the reader is what holds all up.
      `--check` runs chunks that only sleep on two real nodes of Ray, one of them killed in the middle, beside the
      simulation of the same (needs the extra ray).
Not:  what a chunk costs (cluster.py measures it).

The rules are those of scale/cluster.py: four chunks under way for each core, results taken in order by one process. A
machine that is lost takes along what it was at, and results that were not taken yet; both are done again elsewhere.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import chain, count
from threading import Thread
from time import perf_counter, sleep
from typing import Any

from polyref.scale import cluster

WINDOW_EACH = 4
CHUNK = 128


@dataclass(frozen=True)
class Machines:
    """Machines of some cores. `lost_every`: hours of one machine between failures; `away`: seconds until it is back."""

    nodes: int
    cores: int
    lost_every: float = math.inf
    away: float = 300.0
    noticed: float = 15.0  # seconds until the others know: what Ray took here
    set_up: float = 3.0  # seconds of each core before its first chunk: imports, kernels
    keeps_results: bool = True  # until they are taken; Ray sends small ones at once


@dataclass
class Run:
    """A run so far. `kills`: machines that are lost at given times, besides those that are drawn."""

    machines: Machines
    work: Sequence[float]  # seconds of a core for each chunk
    reading: float  # seconds of the reader for each chunk
    seed: int = 0
    kills: Sequence[tuple[float, int]] = ()
    done_twice: int = 0
    losses: int = 0
    _events: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers, self._random = count(), random.Random(self.seed)
        self._given = self._taken = 0
        self._waiting: deque[int] = deque()
        self._free = [self.machines.cores] * self.machines.nodes
        self._fresh = [self.machines.cores] * self.machines.nodes  # cores that are not set up
        self._alive = [0] * self.machines.nodes  # how often a machine was lost; -1 while it is away
        self._lives = [0] * self.machines.nodes
        self._at: list[set[int]] = [set() for _ in range(self.machines.nodes)]  # chunks under way, or with results
        self._is_done: set[int] = set()
        self._reader_is_busy = False

    def seconds(self) -> float:
        """How long the whole run takes."""
        for node in range(self.machines.nodes):
            self._draw_loss(0.0, node)
        for when, node in self.kills:
            self._after(0.0, when, partial(self._lose, node))
        self._go_on(0.0)
        while self._taken < len(self.work):
            now, _, event = heappop(self._events)
            event(now)
            self._go_on(now)
        return now

    def _after(self, now: float, wait: float, event: Callable[[float], None]) -> None:
        heappush(self._events, (now + wait, next(self._numbers), event))

    def _go_on(self, now: float) -> None:
        """Do all that can be done at this moment."""
        alive = sum(life >= 0 for life in self._alive) * self.machines.cores
        while self._given < len(self.work) and self._given - self._taken < WINDOW_EACH * max(1, alive):
            self._waiting.append(self._given)
            self._given += 1
        while self._waiting and (node := max(range(len(self._free)), key=self._free.__getitem__)) >= 0:
            if self._free[node] == 0:
                break
            self._begin(now, self._waiting.popleft(), node)
        if not self._reader_is_busy and self._taken in self._is_done:
            self._reader_is_busy = True
            self._after(now, self.reading, self._take)

    def _begin(self, now: float, chunk: int, node: int) -> None:
        self._free[node] -= 1
        self._at[node].add(chunk)
        is_fresh = self._fresh[node] > 0
        self._fresh[node] -= is_fresh
        wait = self.work[chunk] + is_fresh * self.machines.set_up
        self._after(now, wait, partial(self._finish, chunk, node, self._lives[node]))

    def _finish(self, chunk: int, node: int, life: int, now: float) -> None:
        if self._lives[node] != life:
            return  # it was lost in the meantime
        self._free[node] += 1
        self._is_done.add(chunk)
        if not self.machines.keeps_results:
            self._at[node].discard(chunk)

    def _take(self, now: float) -> None:
        self._reader_is_busy = False
        if self._taken not in self._is_done:
            return  # lost while it was on its way
        self._is_done.discard(self._taken)
        for chunks in self._at:
            chunks.discard(self._taken)
        self._taken += 1

    def _draw_loss(self, now: float, node: int) -> None:
        if math.isfinite(self.machines.lost_every):
            wait = self._random.expovariate(1 / (3600 * self.machines.lost_every))
            self._after(now, wait, partial(self._lose, node))

    def _lose(self, node: int, now: float) -> None:
        self.losses += 1
        again = sorted(self._at[node])
        self.done_twice += len(again)
        self._is_done -= self._at[node]
        self._at[node] = set()
        self._free[node], self._alive[node] = 0, -1
        self._lives[node] += 1
        self._after(now, self.machines.noticed, lambda _: self._waiting.extendleft(reversed(again)))
        if math.isfinite(self.machines.away):
            self._after(now, self.machines.away, partial(self._return, node))

    def _return(self, node: int, now: float) -> None:
        self._free[node] = self._fresh[node] = self.machines.cores
        self._alive[node] = 0
        self._draw_loss(now, node)


def durations(number: int, mean: float, spread: float, seed: int) -> list[float]:
    """Seconds of chunks: log-normal, with this deviation as a share of the mean."""
    sigma = math.sqrt(math.log1p(spread**2))
    draw = random.Random(seed).lognormvariate
    return [draw(math.log(mean) - sigma**2 / 2, sigma) for _ in range(number)]


def by_cores(work: float, reading: float, spread: float) -> Iterator[dict[str, Any]]:
    """One run on more and more cores, none of which is lost."""
    for cores in (1, 2, 4, 8, 10, 16, 32, 100, 1000):
        chunks = max(2000, 20 * cores)
        each = durations(chunks, work, spread, seed=1)
        seconds = Run(Machines(1, cores, set_up=0.0), each, reading).seconds()
        yield {
            "cores": cores,
            "examples per second": round(chunks * CHUNK / seconds),
            "share of the cores' time used": round(sum(each) / seconds / cores, 2),
        }


def by_losses(work: float, reading: float, spread: float, cores: int, runs: int) -> Iterator[dict[str, Any]]:
    """Several runs over parts of an input, whose machines (of one core) are lost now and then."""
    chunks = 20_000
    for minutes in (math.inf, 24 * 60.0, 60.0, 10.0):
        made = [
            Run(Machines(cores, 1, minutes / 60), durations(chunks, work, spread, seed), reading, seed)
            for seed in range(runs)
        ]
        seconds = [one.seconds() for one in made]
        used = work * chunks / cores
        yield {
            "minutes between losses of a core": minutes if math.isfinite(minutes) else None,
            "lost per run": round(sum(one.losses for one in made) / runs, 2),
            "chunks done twice, %": round(100 * sum(one.done_twice for one in made) / (chunks * runs), 3),
            "share of the cores' time used, mean run": round(used * runs / sum(seconds), 3),
            "slowest run": round(used / max(seconds), 3),
        }


# -- the same on two real nodes ---------------------------------------------------------------------------------------


def check(tasks: int, seconds: float, spread: float, cores: int) -> Iterator[dict[str, Any]]:
    """Chunks that sleep, on two nodes of Ray, and simulated: all goes well, and one node is lost when half is done."""
    from benchmarks.cluster import two_nodes

    for loses in (False, True):
        work, moments = durations(tasks, seconds, spread, seed=3), list[float]()
        with two_nodes(cores) as made:
            list(_slept([0.01] * 4 * cores))  # processes start
            started, losing = perf_counter(), Thread(target=_lose, args=(made, moments))
            for number, _ in enumerate(_slept(work)):
                if loses and number == tasks // 2:
                    losing.start()
            real = perf_counter() - started
        lost, noticed = [moment - started for moment in moments] or [math.inf, math.inf]
        machines = Machines(2, cores, away=math.inf, set_up=0.0, noticed=noticed - lost, keeps_results=False)
        run = Run(machines, work, reading=0.0, kills=[(lost, 1)] if loses else [])
        found = {"a node is lost": loses, "real": round(real, 1), "simulated": round(run.seconds(), 1)}
        yield {**found, "noticed after": round(noticed - lost, 1)} if loses else found


def _lose(made: Any, moments: list[float]) -> None:
    """Kill a node, and note when that was, and when Ray knew of it."""
    import ray

    node = made.list_all_nodes()[-1]
    raylet = node.all_processes["raylet"][0].process
    Thread(target=made.remove_node, args=(node, False)).start()
    raylet.wait()
    moments.append(perf_counter())
    while all(node["Alive"] for node in ray.nodes()):
        sleep(0.1)
    moments.append(perf_counter())


def _slept(work: Sequence[float]) -> Iterator[float]:
    import ray

    def lost(task: float) -> float:
        raise RuntimeError("a chunk was lost for good")

    return cluster.in_order(iter(work), _ready, ray=ray, lost=lost)


def _ready() -> Callable[[float], float]:
    def work(seconds: float) -> float:
        sleep(seconds)
        return seconds

    return work


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.scheduler", description="Work out how large clusters run.")
    parser.add_argument("--work", metavar="MS", type=float, default=100.0, help="of a worker for a chunk of 128")
    parser.add_argument("--reading", metavar="MS", type=float, default=10.0, help="of the reader for a chunk")
    parser.add_argument("--spread", metavar="SHARE", type=float, default=0.2, help="deviation of a chunk's time")
    parser.add_argument("--cores", metavar="N", type=int, default=8, help="of each of the runs side by side")
    parser.add_argument("--runs", metavar="N", type=int, default=125, help="side by side")
    parser.add_argument("--check", action="store_true", help="on two real nodes of Ray, beside the simulation")
    settings = parser.parse_args()
    costs = settings.work / 1000, settings.reading / 1000, settings.spread
    if settings.check:
        rows = check(400, 0.4, settings.spread, 4)
    else:
        rows = chain(by_cores(*costs), by_losses(*costs, settings.cores, settings.runs))
    for row in rows:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
