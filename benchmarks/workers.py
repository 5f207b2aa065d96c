"""Two workers against one: examples a second, start-up left out.

In:   a file of many captions. Out: rates. Not: memory (memory.py).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.clock import say
from benchmarks.data import Data, write_repeated
from benchmarks.table import Table, against
from polyref import ExpandSettings
from polyref.scale import Job, Progress, ToolSettings, expand_file

PER_EXAMPLE = 20
ROUNDS = 3
TARGET = 1.5
STARTED = 1280  # examples: ten chunks, so every worker has long begun


@dataclass
class Stopwatch:
    """Listens to progress reports: from the first one with `STARTED` examples done to the last one."""

    reports: list[tuple[float, int]] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        if progress.examples >= STARTED:
            self.reports.append((perf_counter(), progress.examples))

    @property
    def rate(self) -> float:
        """Examples a second."""
        (first, already), (last, in_all) = self.reports[0], self.reports[-1]
        return (in_all - already) / (last - first)


def measure(data: Data, quick: bool) -> Table:
    times = 2 if quick else 10
    rounds = 1 if quick else ROUNDS
    rates: dict[int, list[float]] = {1: [], 2: []}
    hashes = set()
    load = os.getloadavg()[0]
    with TemporaryDirectory() as folder:
        source = Path(folder, "examples.jsonl")
        write_repeated(data.captions, times, source)
        for turn in range(rounds):
            for workers in rates:
                rate, written = _expand(source, workers)
                say(f"  round {turn + 1}, {workers} workers: {rate:,.0f} examples a second")
                rates[workers].append(rate)
                hashes.add(written)
    one, two = median(rates[1]), median(rates[2])
    rows = [
        ["1", f"{one:,.0f} examples/s", "1 x", "-", "-"],
        ["2", f"{two:,.0f} examples/s", f"{two / one:.2f} x", *against(two / one, TARGET)],
    ]
    remarks = [
        f"{data.captions_name} {times} times over with new ids ({times * len(data.captions):,} examples), hard "
        f"alignment, K' = {PER_EXAMPLE}, file to file, wall time, not bound to a core; median over {rounds} "
        f"round{'s' * (rounds > 1)} of one worker and two in turn.",
        "Start-up is not counted: the clock runs from the first progress report with at least "
        f"{STARTED:,} examples to the last report, and the rate is that of the examples between the two. All of them "
        "use the kernels: in the process itself with one worker, in the pool with two.",
        "With two workers, a third process reads the lines, distributes them and writes the results: with two cores "
        f"it competes with the workers. {load:.2f} processes were running on the machine before the start: "
        "two workers need two free cores.",
        f"The output files are {'byte for byte the same' if len(hashes) == 1 else 'DIFFERENT'}.",
    ]
    return Table("Workers", ["workers", "rate", "times one worker", "target", "reached"], rows, remarks)


def _expand(source: Path, workers: int) -> tuple[float, str]:
    """The rate, and the hash of what was written."""
    stopwatch = Stopwatch()
    output = source.with_name("expanded.jsonl")
    settings = ExpandSettings(per_example=PER_EXAMPLE)
    job = Job(str(source), str(output), settings, tools=ToolSettings(engine="compiled", workers=workers))
    expand_file(job, on_progress=stopwatch)
    with output.open("rb") as stream:
        return stopwatch.rate, hashlib.file_digest(stream, "sha256").hexdigest()
