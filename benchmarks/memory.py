"""Peak memory of `polyref expand`, and whether it grows with the file.

In:   a file of captions, once and repeated. Out: megabytes. Not: speed (workers.py).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clock import say
from benchmarks.data import Data, write_repeated
from benchmarks.processes import Finished, polyref, run
from benchmarks.table import Table, yes

PER_EXAMPLE = 20
MOST_MEGABYTES = 400
MOST_GROWTH = 0.10


def measure(data: Data, quick: bool) -> Table:
    times = 4 if quick else 40
    with TemporaryDirectory() as folder:
        once = _expand(data, 1, Path(folder))
        often = _expand(data, times, Path(folder))
    growth = often.megabytes / once.megabytes - 1
    rows = [
        _row(len(data.captions), once, f"under {MOST_MEGABYTES} MB", once.megabytes < MOST_MEGABYTES),
        _row(times * len(data.captions), often, f"within {MOST_GROWTH:.0%} of it", abs(growth) <= MOST_GROWTH),
    ]
    remarks = [
        f"`polyref expand --workers 1 --per-example {PER_EXAMPLE}` on {data.captions_name}, once and {times} "
        "times over with new ids; hard alignment, kernels already compiled.",
        f"Peak resident memory as the system counts it (ru_maxrss; 1 MB is 1e6 bytes). The larger file needs "
        f"{growth:+.1%}.",
        "Time is wall time of the whole command.",
    ]
    return Table("Memory", ["examples", "peak memory", "time", "target", "reached"], rows, remarks)


def _expand(data: Data, times: int, folder: Path) -> Finished:
    source = folder / f"{times}.jsonl"
    write_repeated(data.captions, times, source)
    output = folder / "expanded.jsonl"
    options = ["--per-example", str(PER_EXAMPLE), "--workers", "1"]
    finished = run(polyref("expand", str(source), "--output", str(output), *options))
    say(f"  {times} times over: {finished.megabytes:.0f} MB in {finished.seconds:.0f} s")
    return finished


def _row(examples: int, finished: Finished, target: str, reached: bool) -> list[str]:
    memory, time = f"{finished.megabytes:.0f} MB", f"{finished.seconds:.1f} s"
    return [f"{examples:,}", memory, time, target, yes(reached)]
