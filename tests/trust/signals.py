"""Stop runs at random moments, and look at what they leave.

    python tests/trust/signals.py --times 100 [--seed 1] [--only expand,train]

In:   files that it makes itself, and a seed.
Out:  a line per finding; at the end the number of signals by exit code. Exit code 1 if there were findings.
Not:  the tests of stopping that run every time (tests/cli/test_stopping.py).

A run that gets Ctrl-C or TERM ends with 130 or 143 (or 0, if it was done), says one line at most, and leaves its output
whole, absent, or as it was before. After a SIGKILL the next run to the same output puts everything right. When all is
over, the output has the bytes of a run that nobody disturbed, and there is nothing beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
LONGEST_WAIT = 120
SMALL = ("--state-size", "16", "--vector-size", "16", "--epochs", "3")
RECIPE = """
[run]
output = "run"
[data]
train = "small.jsonl"
dev = "small.jsonl"
[subwords]
target = 300
joint = true
[model]
embedding_size = 16
state_size = 16
layers = 1
[fit]
epochs = 3
[validation]
goal = "perplexity"
metrics = ["perplexity"]
"""


@dataclass(frozen=True)
class Verb:
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]  # files or folders; all of one version
    resumes: bool = False  # what a stopped run leaves is there to be gone on from


VERBS = {
    "expand": Verb(("expand", "data.jsonl", "-o", "out/expanded.jsonl", "--workers", "2"), ("out/expanded.jsonl",)),
    "convert": Verb(("convert", "data.jsonl", "out/data.parquet"), ("out/data.parquet",)),
    "parallel": Verb(
        ("convert", "data.jsonl", "out/text.src"), ("out/text.src", *(f"out/text.ref{n}" for n in range(4)))
    ),
    "stream": Verb(("stream", "data.jsonl", "--index", "index", "-o", "out/p.tsv"), ("out/p.tsv",)),
    "train": Verb(("train", "recipe.toml", "-o", "out/run"), ("out/run",), resumes=True),
    "encoder": Verb(
        ("encoder", "train", "small.jsonl", "-o", "out/encoder", *SMALL),
        ("out/encoder",),
        resumes=True,
    ),
}  # fmt: skip


def make_files(folder: Path, draw: random.Random, version: int) -> None:
    words = ("a", "the", "grey", "cat", "dog", "sleeps", "is", "asleep", "on", "mat", "near", "window", "two", "red")
    for name, count in (("data.jsonl", 800), ("small.jsonl", 40)):
        with (folder / name).open("w", encoding="utf-8") as stream:
            for number in range(count):
                references = [" ".join(draw.choices(words, k=draw.randint(4, 9))) for _ in range(4)]
                record = {"id": str(number), "source": f"source {number} of {version}", "references": references}
                stream.write(json.dumps(record) + "\n")
    (folder / "recipe.toml").write_text(RECIPE)


def content(folder: Path, outputs: tuple[str, ...]) -> str | None:
    """A hash of all outputs, None if there are none, `mixed` if there are some."""
    there = [name for name in outputs if (folder / name).exists()]
    if not there:
        return None
    if len(there) < len(outputs):
        return "mixed"
    digest = hashlib.sha256()
    for name in outputs:
        path = folder / name
        # Weights and what is derived from them: logs and checkpoints hold times.
        files = sorted(path.rglob("*.safetensors")) if path.is_dir() else [path]
        for file in files:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def start(verb: Verb, folder: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    (folder / "out").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "polyref", *verb.arguments]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(verb: Verb, folder: Path) -> tuple[float, bytes]:
    began = time.monotonic()
    process = start(verb, folder)
    _, said = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 0, (verb.arguments, process.returncode, said)
    return time.monotonic() - began, said


def signalled(verb: Verb, folder: Path, number: signal.Signals, after: float) -> tuple[int, list[str]]:
    """Run, signal after so many seconds; the exit code and what is wrong with how the run ended."""
    process = start(verb, folder)
    time.sleep(after)
    process.send_signal(number)
    _, said = process.communicate(timeout=LONGEST_WAIT)
    lines = said.decode(errors="replace").strip().splitlines()
    wrong: list[str] = []
    if "KeyboardInterrupt" in lines[-1:] and "polyref" not in said.decode(errors="replace"):
        return process.returncode, wrong  # Python was not yet ready to run anything of polyref
    # Before the command has its handlers, and when Python has let go of them, a signal ends the process by itself.
    if process.returncode not in (0, CODES[number], -number):
        wrong.append(f"exit code {process.returncode}: {lines[-3:]}")
    if any("Traceback" in line or "Exception ignored" in line for line in lines):
        wrong.append(f"a traceback: {lines[-3:]}")
    return process.returncode, wrong


def names(folder: Path) -> set[str]:
    """What is in a folder. Names of indexes hold a hash of where their data is."""
    return {re.sub("-[0-9a-f]{16}", "", str(path.relative_to(folder))) for path in folder.rglob("*")}


def trial(name: str, times: int, draw: random.Random, work: Path) -> tuple[Counter[int], list[str]]:
    verb, findings, codes = VERBS[name], list[str](), Counter[int]()
    folder = work / name
    folder.mkdir()
    make_files(folder, draw, 1)
    finish(verb, folder)  # the first one may compile kernels
    older = content(folder, verb.outputs)
    if not verb.resumes:
        make_files(folder, draw, 2)
    fresh = work / f"{name}-fresh"
    shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns("out", "index", "cache"))
    seconds, _ = finish(verb, fresh)
    newer, clean = content(fresh, verb.outputs), names(fresh)
    for _ in range(times):
        number = draw.choice((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
        if verb.resumes and draw.random() < 0.5:
            shutil.rmtree(folder / "out")
        code, wrong = signalled(verb, folder, number, draw.uniform(0, 1.1 * seconds))
        codes[code] += 1
        if name == "parallel" and number == signal.SIGKILL:  # a reader finishes what was begun
            reader = [sys.executable, "-m", "polyref", "stats", "out/text.src"]
            if (
                subprocess.run(reader, cwd=folder, capture_output=True).returncode
                and (folder / "out/text.src").exists()
            ):
                wrong.append("the output cannot be read")
        found = content(folder, verb.outputs)
        is_mixed = found not in (None, older, newer) and not verb.resumes
        if is_mixed:
            wrong.append("the output is neither the old one nor the new one")
        findings += [f"{name}: {number.name}: {one}" for one in wrong]
        if found == newer and not verb.resumes:  # begin again with the older output in place
            shutil.rmtree(folder / "out")
    finish(verb, folder)
    if content(folder, verb.outputs) != newer:
        findings.append(f"{name}: at the end the output is not that of a run that nobody disturbed")
    if left := names(folder) - clean:
        findings.append(f"{name}: left behind {sorted(left)}")
    return codes, findings


def main() -> int:
    parser = argparse.ArgumentParser(description="Stop runs at random moments, and look at what they leave.")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(VERBS))
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="polyref-signals-"))
    findings = []
    for name in given.only:
        codes, found = trial(name, given.times, random.Random(f"{given.seed} {name}"), work)
        sys.stdout.write(f"{name}: {given.times} signals, exit codes {dict(sorted(codes.items()))}\n")
        sys.stdout.writelines(f"    {one}\n" for one in found)
        sys.stdout.flush()
        findings += found
    shutil.rmtree(work)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
