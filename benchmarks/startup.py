"""How long a person waits: for the help, for a first small run, for the compiler.

In:   the command `polyref`. Out: wall time. Not: speed on many examples.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.captions import caption_examples
from benchmarks.data import Data, write_repeated
from benchmarks.processes import polyref, run
from benchmarks.table import Table, shown_time, yes

TURNS = 5
EXAMPLES = 20
LOAD_KERNELS = "from polyref.lattice import CompiledEngine; CompiledEngine()"


def measure(data: Data, quick: bool) -> Table:
    with TemporaryDirectory() as folder:
        source = Path(folder, "examples.jsonl")
        write_repeated(caption_examples(EXAMPLES, seed=1), 1, source)
        expand = polyref("expand", str(source), "-o", str(Path(folder, "expanded.jsonl")))
        kernels = [sys.executable, "-c", LOAD_KERNELS]
        rows = [
            _row("python -c pass, for comparison", _warm([sys.executable, "-c", "pass"])),
            _row("polyref --help, warm", _warm(polyref("--help")), 0.5),
            _row(f"polyref expand, {EXAMPLES} examples, kernels in the cache", _warm(expand)),
            _row(f"polyref expand, {EXAMPLES} examples, empty cache", _empty(expand, TURNS), 5.0),
            _row("load the kernels from the cache", _warm(kernels)),
            _row("compile the kernels, empty cache", _empty(kernels, 1)),
        ]
    remarks = [
        f"Wall time of a whole process, Python's start included, not bound to a core; median of {TURNS}. Warm, or in "
        "the cache: after one run that does not count. Compiling is measured once.",
        f"Empty cache: NUMBA_CACHE_DIR is an empty folder. {EXAMPLES} captions of five references each run "
        "in plain Python, without waiting for the compiler.",
    ]
    return Table("Start-up", ["", "time", "target", "reached"], rows, remarks)


def _warm(command: list[str]) -> float:
    """The median of some runs after one that fills the caches."""
    run(command)
    return median(run(command).seconds for _ in range(TURNS))


def _empty(command: list[str], turns: int) -> float:
    """The median of some runs, each with a new empty folder for kernels."""
    seconds = []
    for _ in range(turns):
        with TemporaryDirectory() as folder:
            seconds.append(run(command, {"NUMBA_CACHE_DIR": folder}).seconds)
    return median(seconds)


def _row(name: str, seconds: float, target: float | None = None) -> list[str]:
    if target is None:
        return [name, shown_time(seconds), "-", "-"]
    return [name, shown_time(seconds), f"under {target:g} s", yes(seconds < target)]
