"""Ray against local workers on the same cores: `python -m benchmarks.cluster --data FOLDER`. Needs the extra ray.

In:   a file of captions; two local worker processes; a Ray cluster of two nodes on this machine, with one core each.
Out:  for each way, in turn: seconds, processor time of the process that reads and writes, of the workers, and of
      Ray's own processes; whether the bytes are the same, also with one node killed in the middle.
Not:  how the shares grow on larger clusters (schedule.py works that out).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Any

import psutil

from benchmarks.clock import say
from benchmarks.data import Data, write_repeated
from polyref import AlignSettings, ExpandSettings
from polyref.expansion import CHUNK
from polyref.scale import Job, Progress, ToolSettings, expand_file

STARTED = 1280  # examples: by then every worker has begun
NODES = 2


@contextmanager
def two_nodes(cores: int = 1) -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": cores, "include_dashboard": False})
    for _ in range(NODES - 1):
        made.add_node(num_cpus=cores)
    ray.init(address=made.address, log_to_driver=False, configure_logging=False)
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def processor_time() -> Counter[str]:
    """Seconds so far: of this process, of workers, and of what else Ray has started."""
    found = Counter({"driver": process_time()})
    for one in psutil.Process().children(recursive=True):
        try:
            line, times = " ".join(one.cmdline()), one.cpu_times()
        except psutil.Error:
            continue
        is_worker = line.startswith("ray::") or "spawn_main" in line or "forkserver" in line
        found["workers" if is_worker else "ray"] += times.user + times.system
    return found


class Stopwatch:
    """Measures from the first report with STARTED examples to the last one; to look costs time, so only then."""

    def __init__(self, examples: int, at_half: Callable[[], object] | None = None):
        self._examples, self._at_half = examples, at_half
        self._looks: list[tuple[float, Counter[str], int]] = []

    def __call__(self, progress: Progress) -> None:
        if self._at_half is not None and 2 * progress.examples >= self._examples:
            self._at_half, lose = None, self._at_half
            lose()
        if progress.examples >= (self._examples if self._looks else STARTED):
            self._looks.append((perf_counter(), processor_time(), progress.examples))

    def per_chunk(self) -> dict[str, float]:
        """Milliseconds for 128 examples."""
        first, last = self._looks
        chunks = (last[2] - first[2]) / CHUNK
        spent = {name: last[1][name] - first[1][name] for name in last[1]} | {"wall": last[0] - first[0]}
        return {name: 1000 * seconds / chunks for name, seconds in spent.items()}


def idle() -> float:
    """Milliseconds of processor time that Ray's own processes take in a second in which nothing is done."""
    before, started = processor_time(), perf_counter()
    sleep(10)
    return 1000 * (processor_time()["ray"] - before["ray"]) / (perf_counter() - started)


def measure(source: Path, settings: ExpandSettings, rounds: int, examples: int) -> dict[str, Any]:
    ways = ("one process", "local workers", "ray", "ray, a node lost")
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    hashes = set()

    def run(way: str, tools: ToolSettings, lose: Callable[[], object] | None = None) -> None:
        output, watch = source.with_name("out.jsonl"), Stopwatch(examples, lose)
        expand_file(Job(str(source), str(output), settings, tools=tools), on_progress=watch)
        hashes.add(hashlib.blake2b(output.read_bytes()).hexdigest())
        found[way].append(watch.per_chunk())
        say(f"  {way}: " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in found[way][-1].items()))

    for _ in range(rounds):
        run("one process", ToolSettings(engine="compiled"))
        run("local workers", ToolSettings(engine="compiled", workers=NODES))
        with two_nodes() as cluster:
            run("ray", ToolSettings(engine="compiled", ray=cluster.address))
    with two_nodes() as cluster:
        lost = cluster.list_all_nodes()[-1]
        tools, at_rest = ToolSettings(engine="compiled", ray=cluster.address), idle()
        run("ray, a node lost", tools, lambda: cluster.remove_node(lost, allow_graceful=False))
    keys = ("wall", "driver", "workers", "ray")
    del found["ray, a node lost"]  # nobody knows what its processes had spent
    middle = {way: {key: _median(measured, key) for key in keys} for way, measured in found.items()}
    return {
        "ms per chunk of 128 (medians)": middle,
        "ms of Ray's own processes per second at rest": round(at_rest, 1),
        "the same bytes": len(hashes) == 1,
    }


def _median(measured: list[dict[str, float]], key: str) -> float:
    return round(median(one.get(key, 0.0) for one in measured), 1)


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.cluster", description="Ray against local workers.")
    data = os.environ.get("POLYREF_DATA") or None
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=data, help="as for python -m benchmarks")
    parser.add_argument("--times", metavar="N", type=int, default=2, help="how often the captions are repeated")
    parser.add_argument("--rounds", metavar="N", type=int, default=3)
    parser.add_argument("--align", choices=["hard", "soft"], default="hard")
    settings = parser.parse_args()
    data = Data(settings.data)
    with TemporaryDirectory() as folder:
        source = Path(folder, "examples.jsonl")
        write_repeated(data.captions, settings.times, source)
        chosen = ExpandSettings(per_example=20, align=AlignSettings(settings.align))
        found = measure(source, chosen, settings.rounds, settings.times * len(data.captions))
    print(json.dumps({"captions": data.captions_name, "load": os.getloadavg()[0], **found}, indent=1))


if __name__ == "__main__":
    main()
