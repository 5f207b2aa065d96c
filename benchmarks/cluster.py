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
from time import perf_counter, process_time
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
    """Measures from the first report with STARTED examples to the last one."""

    def __init__(self, half: int = 0, at_half: Callable[[], object] | None = None):
        self._half, self._at_half = half, at_half
        self._first: tuple[float, Counter[str], int] | None = None
        self._last = (0.0, Counter[str](), 0)

    def __call__(self, progress: Progress) -> None:
        if self._at_half is not None and progress.examples >= self._half:
            self._at_half, lose = None, self._at_half
            lose()
        if progress.examples >= STARTED:
            now = perf_counter(), processor_time(), progress.examples
            self._first, self._last = self._first or now, now

    def per_chunk(self) -> dict[str, float]:
        """Milliseconds for 128 examples."""
        assert self._first is not None
        chunks = (self._last[2] - self._first[2]) / CHUNK
        spent = {name: self._last[1][name] - self._first[1][name] for name in self._last[1]}
        spent["wall"] = self._last[0] - self._first[0]
        return {name: 1000 * seconds / chunks for name, seconds in spent.items()}


def measure(source: Path, settings: ExpandSettings, rounds: int, examples: int) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {
        "one process": [],
        "local workers": [],
        "ray": [],
        "ray, a node lost": [],
    }
    hashes = set()

    def run(way: str, tools: ToolSettings, lose: Callable[[], object] | None = None) -> None:
        output, watch = source.with_name("out.jsonl"), Stopwatch(examples // 2, lose)
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
        tools = ToolSettings(engine="compiled", ray=cluster.address)
        run("ray, a node lost", tools, lambda: cluster.remove_node(lost, allow_graceful=False))
    keys = ("wall", "driver", "workers", "ray")
    middle = {
        way: {key: round(median(one.get(key, 0.0) for one in all), 1) for key in keys} for way, all in found.items()
    }
    return {"ms per chunk of 128 (medians)": middle, "the same bytes": len(hashes) == 1}


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
