"""Run a command, and see how long it took and how much memory it held.

In:   a command line. Out: seconds and megabytes. Not: work inside this process (clock.py).

Linux counts a new process's peak from what its parent held when it was forked. So a small Python stands in
between: `python processes.py COMMAND` runs the command and prints what it took.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

MEGABYTE = 1e6


@dataclass(frozen=True)
class Finished:
    """What a command took; `megabytes` is its peak resident memory."""

    seconds: float
    megabytes: float


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Finished:
    """Run a command as a person would: without this package's limits on threads."""
    from benchmarks import THREAD_SETTINGS

    variables = {name: value for name, value in os.environ.items() if name not in THREAD_SETTINGS}
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), *command],
        env={**variables, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return Finished(**json.loads(done.stdout))


def polyref(*options: str) -> list[str]:
    """The command `polyref` of this Python."""
    return [str(Path(sys.executable).with_name("polyref")), *options]


def _stand_between(command: Sequence[str]) -> int:
    started = perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    seconds = perf_counter() - started
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps({"seconds": seconds, "megabytes": kilobytes * 1024 / MEGABYTE}))
    return done.returncode


if __name__ == "__main__":
    sys.exit(_stand_between(sys.argv[1:]))
