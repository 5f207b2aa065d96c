"""What each step of `expand` costs, in processor time: `python -m benchmarks.stages --data FOLDER`.

In:   captions, in a file. Out: microseconds per example of each stage of a run in one process, hard and soft; of the
      passes that the process which reads and writes makes over the input; bytes in and out.
Not:  several processes (cluster.py).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import Data, write_repeated
from polyref import AlignSettings, ExpandSettings, expansion, stats
from polyref.data import Input
from polyref.scale import Job, ShardSettings, ToolSettings, expand_file, workers
from polyref.scale.shards import ShardFolder


def stages(source: Path, output: Path, align: Any, examples: int) -> dict[str, float]:
    """Microseconds per example, by stage."""
    settings = ExpandSettings(per_example=20, align=AlignSettings(align))
    job = Job(str(source), str(output), settings, tools=ToolSettings(engine="compiled"))
    for module in (expansion, stats, workers):
        module.perf_counter = time.process_time  # type: ignore[attr-defined]
    expand_file(job)  # once before: kernels and encoder are loaded
    started = time.process_time()
    tally = expand_file(job)
    whole = time.process_time() - started
    spent = dict(tally.seconds, **{"all of it": whole})
    return {name: round(1e6 * seconds / examples, 1) for name, seconds in spent.items()}


def passes(source: Path, folder: Path, examples: int) -> dict[str, float]:
    """Microseconds per example of what is not given to workers."""
    input = Input.of(str(source))

    def cut_and_hashed() -> None:
        with ShardFolder(f"{folder}/{{shard}}.jsonl", ShardSettings().shard_examples, {}, open) as shards:  # type: ignore[arg-type]
            deque(shards.wanted(input.records()), maxlen=0)

    ways: dict[str, Callable[[], object]] = {
        "look for bad records": lambda: deque(input.checked(), maxlen=0),
        "read": lambda: deque(input.records(), maxlen=0),
        "read, cut into shards and hash": cut_and_hashed,
    }
    found = {}
    for name, work in ways.items():
        work()
        started = time.process_time()
        work()
        found[name] = round(1e6 * (time.process_time() - started) / examples, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.stages", description="What each step of expand costs.")
    data = os.environ.get("POLYREF_DATA") or None
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=data, help="as for python -m benchmarks")
    parser.add_argument("--times", metavar="N", type=int, default=1, help="how often the captions are repeated")
    settings = parser.parse_args()
    data = Data(settings.data)
    examples = settings.times * len(data.captions)
    with TemporaryDirectory() as folder:
        source, output = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
        write_repeated(data.captions, settings.times, source)
        found: dict[str, Any] = {"captions": data.captions_name, "examples": examples}
        for align in ("hard", "soft"):
            found[f"us per example, {align}"] = stages(source, output, align, examples)
            found[f"bytes per example, {align}"] = [round(one.stat().st_size / examples) for one in (source, output)]
        found["us per example, passes"] = passes(source, Path(folder, "shards"), examples)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
