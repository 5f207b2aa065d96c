"""How long a person waits: for the help, for a first small run, for the compiler.

In:   the command `polyref`. Out: wall time. Not: speed on many examples.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import llvmlite.binding as llvm

from benchmarks.captions import caption_examples
from benchmarks.data import Data, write_repeated
from benchmarks.processes import polyref, run
from benchmarks.table import Table, shown_time, yes

TURNS = 5
EXAMPLES = 20
LARGE = 5000
MOST_TIMES = 1.3  # a first run against later ones
LOAD_KERNELS = "from polyref.lattice import CompiledEngine; CompiledEngine()"


def measure(data: Data, quick: bool) -> Table:
    with TemporaryDirectory() as folder:
        source, output = Path(folder, "examples.jsonl"), str(Path(folder, "expanded.jsonl"))
        write_repeated(caption_examples(EXAMPLES, seed=1), 1, source)
        expand = polyref("expand", str(source), "-o", output)
        kernels = [sys.executable, "-c", LOAD_KERNELS]
        many = Path(folder, "captions.jsonl")
        write_repeated(data.captions[:LARGE], 1, many)
        expand_many = polyref("expand", str(many), "-o", output, "--workers", "1")
        run(polyref("compile", "--in-package"))
        later, first = _warm(expand_many), _empty(expand_many, TURNS)
        rows = [
            _row("python -c pass, for comparison", _warm([sys.executable, "-c", "pass"])),
            _row("polyref --help, warm", _warm(polyref("--help")), 0.5),
            _row(f"polyref expand, {EXAMPLES} examples, kernels in the cache", _warm(expand)),
            _row(f"polyref expand, {EXAMPLES} examples, empty cache", _empty(expand, TURNS), 5.0),
            _row("load the kernels", _warm(kernels)),
            _row("compile the kernels", _empty(kernels, 1, compiles=True)),
            _row(f"polyref expand, {len(data.captions[:LARGE]):,} captions, kernels in the package", later),
            [
                "the same with an empty cache",
                shown_time(first),
                f"at most {MOST_TIMES} x the row above",
                yes(first <= MOST_TIMES * later),
            ],
        ]
    remarks = [
        f"Wall time of a whole process, Python's start included, not bound to a core; median of {TURNS}. Warm, or in "
        "the cache: after one run that does not count. Compiling is measured once.",
        f"Empty cache: NUMBA_CACHE_DIR is an empty folder. {EXAMPLES} captions of five references each run "
        "in plain Python, without loading kernels. Kernels in the package: `polyref compile --in-package`, which make "
        "runs when it sets up. Those that are compiled are for this processor alone.",
    ]
    return Table("Start-up", ["", "time", "target", "reached"], rows, remarks)


def _warm(command: list[str]) -> float:
    """The median of some runs after one that fills the caches."""
    run(command)
    return median(run(command).seconds for _ in range(TURNS))


def _empty(command: list[str], turns: int, *, compiles: bool = False) -> float:
    """The median of some runs, each with a new empty folder for kernels; `compiles`: without those of the package."""
    # Who asks numba for a processor gets kernels for that one.
    settings = {"NUMBA_CPU_NAME": llvm.get_host_cpu_name()} if compiles else {}
    seconds = []
    for _ in range(turns):
        with TemporaryDirectory() as folder:
            seconds.append(run(command, {"NUMBA_CACHE_DIR": folder, **settings}).seconds)
    return median(seconds)


def _row(name: str, seconds: float, target: float | None = None) -> list[str]:
    if target is None:
        return [name, shown_time(seconds), "-", "-"]
    return [name, shown_time(seconds), f"under {target:g} s", yes(seconds < target)]
