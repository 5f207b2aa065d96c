"""Streaming an epoch in random order: `polyref stream --schedule shuffle`, beside what people do by hand.

In:   nothing; captions are made up. Out: pairs a second and megabytes. Not: expanding (workers.py).
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from benchmarks.clock import say
from benchmarks.data import Data
from benchmarks.processes import polyref, run
from benchmarks.table import Table, yes
from polyref.schedule import Schedule, ScheduleSettings, Sizes

REFERENCES = 5
PAIRS = 10_000_000
QUICK_PAIRS = 500_000
INDICES = 100_000_000
LEAST_RATE = 200_000
MOST_MEGABYTES = 1000

# What is usually written by hand: a line a pair, all of them in a list, shuffled.
BY_HAND = """
import json, random, sys
pairs = []
for line in open(sys.argv[1], encoding="utf-8"):
    record = json.loads(line)
    pairs += [(record["source"], reference) for reference in record["references"]]
random.Random(1).shuffle(pairs)
for source, reference in pairs:
    sys.stdout.write(f"{source}\\t{reference}\\n")
"""


def measure(data: Data, quick: bool) -> Table:
    pairs = QUICK_PAIRS if quick else PAIRS
    with TemporaryDirectory() as folder:
        file = Path(folder, "captions.jsonl")
        _write(file, pairs // REFERENCES)
        rows = _rows(file, pairs, Path(folder, "indexes"))
    rate, megabytes = _indices()
    rows.append([f"indices alone, {INDICES:,} pairs", f"{rate:,.0f}", f"{megabytes:,.0f} MB", "-", "-"])
    remarks = [
        f"{pairs:,} pairs, {REFERENCES} made-up captions of 8 to 14 words for each of {pairs // REFERENCES:,} sources; "
        "whole commands with their output discarded, elapsed time, one run each; on a busy machine all of them are "
        "slower. The first run of polyref makes the index, the second finds it.",
        "By hand: a Python script that reads all pairs into a list, shuffles it and writes it; it starts again for "
        "every epoch. shuf: GNU's command on a file that already has one line per pair.",
        "Indices alone: a ragged data set in memory, one core, CPU time of the first 5 million pairs.",
    ]
    return Table("Streaming an epoch in random order", ["", "pairs/s", "memory", "target", "reached"], rows, remarks)


def _rows(file: Path, pairs: int, indexes: Path) -> list[list[str]]:
    command = polyref("stream", str(file), "--schedule", "shuffle", "--index", str(indexes), "--epoch")
    say("indexing and streaming")
    first, second = run([*command, "0"]), run([*command, "1"])
    rate = pairs / second.seconds
    reached = yes(rate >= LEAST_RATE and second.megabytes < MOST_MEGABYTES)
    target = f"at least {LEAST_RATE:,}/s, under {MOST_MEGABYTES:,} MB"
    rows = [
        ["polyref stream", f"{rate:,.0f}", f"{second.megabytes:,.0f} MB", target, reached],
        ["the same, index made first", f"{pairs / first.seconds:,.0f}", f"{first.megabytes:,.0f} MB", "-", "-"],
    ]
    say("the same by hand")
    script = file.with_name("by_hand.py")
    script.write_text(BY_HAND, encoding="utf-8")
    by_hand = run([sys.executable, str(script), str(file)])
    rows.append(["by hand", f"{pairs / by_hand.seconds:,.0f}", f"{by_hand.megabytes:,.0f} MB", "-", "-"])
    if shutil.which("shuf") is not None:
        listed = file.with_name("pairs.tsv")
        run([*polyref("stream", str(file), "--schedule", "uniform"), "--index", str(indexes), "-o", str(listed)])
        by_shuf = run(["shuf", str(listed)])
        rows.append(["shuf", f"{pairs / by_shuf.seconds:,.0f}", f"{by_shuf.megabytes:,.0f} MB", "-", "-"])
    return rows


def _write(file: Path, examples: int) -> None:
    generator = random.Random(1)
    words = [f"word{int(generator.paretovariate(0.8)) % 5000}" for _ in range(20_000)]

    def caption() -> str:
        first = generator.randrange(len(words) - 14)
        return " ".join(words[first : first + generator.randrange(8, 15)])

    with file.open("w", encoding="utf-8") as stream:
        for number in range(examples):
            references = [caption() for _ in range(REFERENCES)]
            stream.write(json.dumps({"source": f"image-{number}.jpg", "references": references}) + "\n")


def _indices() -> tuple[float, float]:
    """Pairs a second of a large epoch, and the megabytes of what it is looked up in."""
    counts = np.random.default_rng(1).integers(1, 2 * REFERENCES, INDICES // REFERENCES, dtype=np.uint8)
    schedule = Schedule(Sizes(counts), ScheduleSettings("shuffle"))
    done, started = 0, process_time()
    for block in schedule.blocks(0):
        done += len(block.numbers)
        if done >= INDICES // 20:
            break
    sizes = schedule.sizes
    return done / (process_time() - started), (sizes.total.nbytes + sizes.starts.nbytes) / 1e6
