"""A long run of `polyref expand`, watched from outside: `python -m benchmarks.million --data FOLDER`.

In:   captions, repeated with new ids to as many examples as asked for, in a temporary folder.
Out:  examples a second; memory and open files of the main process and of the workers, and disk, over time and in the
      first and the last tenth of the run; what the run leaves behind.
Not:  how fast single steps are (the other modules).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import perf_counter

import psutil

from benchmarks.clock import say
from benchmarks.data import Data, write_repeated

MEGABYTE = 1e6


@dataclass(frozen=True)
class Sample:
    """What is there at one moment. `workers` has the memory of each of them."""

    seconds: float
    main: float
    workers: list[float]
    open_files: int
    written: float
    processor: float  # seconds of the main process

    @staticmethod
    def of(process: psutil.Process, started: float, folder: Path) -> Sample:
        others = [one for one in process.children(recursive=True) if _is_worker(one)]
        processor = process.cpu_times()
        return Sample(
            perf_counter() - started,
            process.memory_info().rss / MEGABYTE,
            [one.memory_info().rss / MEGABYTE for one in others],
            sum(one.num_fds() for one in (process, *others)),
            _size(folder),
            processor.user + processor.system,
        )


def _is_worker(process: psutil.Process) -> bool:
    """Python's own helper, which clears up after semaphores, is none."""
    return "resource_tracker" not in " ".join(process.cmdline())


def _size(folder: Path) -> float:
    """Megabytes; a file may be renamed while we look."""
    found = 0
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            found += path.stat().st_size
        except FileNotFoundError:
            continue
    return found / MEGABYTE


def watch(command: Sequence[str], folder: Path, every: float) -> list[Sample]:
    """Run a command to its end, and look at it every so many seconds."""
    passing = folder / "tmp"
    passing.mkdir()
    started, samples = perf_counter(), []
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(passing)}, stdout=subprocess.DEVNULL) as running:
        process = psutil.Process(running.pid)
        while True:
            try:
                running.wait(every)
                break
            except subprocess.TimeoutExpired:
                pass
            try:
                samples.append(Sample.of(process, started, folder / "out"))
            except psutil.NoSuchProcess:  # a worker that ends, or all of them
                continue
    if running.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {running.returncode}")
    return samples


def main(arguments: Sequence[str] | None = None) -> None:
    settings = _settings(arguments)
    data = Data(settings.data)
    times = -(-settings.examples // len(data.captions))
    examples = times * len(data.captions)
    with TemporaryDirectory(dir=settings.folder) as name:
        folder = Path(name)
        say(f"writing {examples:,} examples of {data.captions_name}")
        write_repeated(data.captions, times, folder / "in.jsonl")
        command = [sys.executable, "-m", "polyref", "expand", str(folder / "in.jsonl"), "-o", f"{folder}/out/"]
        command += ["-k", "20", "-w", str(settings.workers), *settings.options]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
        samples = watch(command, folder, settings.every)
        wall, after = perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        shards = sorted((folder / "out").glob("0*.jsonl"))
        found = {
            "command": " ".join(command[2:]),
            "examples": examples,
            "records written": sum(_lines(path) for path in shards),
            "seconds": round(wall, 1),
            "examples per second": round(examples / wall),
            "processor seconds": round(processor, 1),
            "examples per processor second": round(examples / processor),
            "bytes per example in": round((folder / "in.jsonl").stat().st_size / examples),
            "bytes per example out": round(sum(path.stat().st_size for path in shards) / examples),
            **_over_time(samples),
            "left behind": sorted(str(path.relative_to(folder)) for path in _strangers(folder)),
        }
    print(json.dumps(found, indent=1))


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _strangers(folder: Path) -> list[Path]:
    """Files beside the input, the shards and their manifest."""
    expected = {folder / "in.jsonl", folder / "out" / "_manifest.jsonl", *(folder / "out").glob("0*.jsonl")}
    return [path for path in folder.rglob("*") if path.is_file() and path not in expected]


def _over_time(samples: list[Sample]) -> dict[str, object]:
    """The medians of the first and the last tenth of what was written, and moments between."""
    whole = samples[-1].written
    working = [one for one in samples if one.written and one.workers] or [one for one in samples if one.written]
    first = [one for one in working if one.written <= 0.1 * whole] or working[:1]
    last = [one for one in working if one.written >= 0.9 * whole]

    def compared(value: Callable[[Sample], float]) -> str:
        one, other = (median(map(value, part)) for part in (first, last))
        return f"{one:.1f}, {other:.1f} ({other / one - 1:+.1%})"

    moments = [
        f"{one.seconds:.0f} s: {one.main:.0f} MB main, {'+'.join(f'{mb:.0f}' for mb in one.workers)} MB workers, "
        f"{one.open_files} open files, {one.written:.0f} MB written"
        for one in working[:: max(1, len(working) // 10)]
    ]
    return {
        "MB of the main process, first and last tenth": compared(lambda one: one.main),
        "MB of a worker, first and last tenth": compared(lambda one: mean(one.workers)) if first[0].workers else "-",
        "open files, first and last tenth": compared(lambda one: one.open_files),
        "processor seconds of the main process": round(samples[-1].processor, 1),
        "over time": moments,
    }


def _settings(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.million", description="Watch a long run of expand.")
    data = os.environ.get("POLYREF_DATA") or None
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=data, help="as for python -m benchmarks")
    parser.add_argument("--examples", metavar="N", type=int, default=1_000_000)
    parser.add_argument("--workers", metavar="N", type=int, default=2)
    parser.add_argument("--every", metavar="SECONDS", type=float, default=1.0, help="between two looks")
    parser.add_argument("--folder", metavar="FOLDER", help="for 4 kB per example; else the temporary folder")
    parser.add_argument("options", nargs="*", help="more options of expand, behind --")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
