"""Time and memory of the hardest examples that polyref takes, and of those that it refuses.

    python -m benchmarks.hard_cases [--words captions.jsonl] [--only "2 references"]

In:   the command `polyref expand`, with one worker; words from captions.
Out:  a table for docs/decisions/limits.md: processor time and peak memory of the whole process, hard and soft.
Not:  speed on many ordinary examples (pipeline.py, workers.py).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain, cycle, islice
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "src" / "polyref" / "data" / "sample.jsonl"
REFUSED = 2
Example = list[str]


def words_of(path: Path) -> list[str]:
    """All words of the references of a file, in order; without marks, so that their number is known."""
    records = map(json.loads, path.read_text("utf-8").splitlines())
    texts = chain.from_iterable(record["references"] for record in records)
    words = [word for text in texts for word in (text if isinstance(text, str) else text["text"]).split()]
    return [word for word in words if word.isascii() and word.isalpha()]


def cases(words: list[str]) -> Iterator[tuple[str, list[Example]]]:
    """What an example is like, and the examples of a file."""
    source, draw = cycle(words), random.Random(0)

    def texts(count: int, length: int) -> Example:
        return [" ".join(islice(source, length)) for _ in range(count)]

    def shuffled(blocks: list[str]) -> str:
        return " ".join(draw.sample(blocks, len(blocks)))

    yield "1 reference of 9,999 words", [texts(1, 9_999)]
    yield "2 references of 4,900 words", [texts(2, 4_900)]
    yield "5 references of 2,000 words", [texts(5, 2_000)]
    yield "1,000 references of 10 words", [texts(1_000, 10)]
    yield "128 examples of 5 references of 200 words", [texts(5, 200) for _ in range(128)]
    blocks = texts(40, 4)
    yield "6 references: the same 40 blocks of 4 words, shuffled", [[shuffled(blocks) for _ in range(6)]]
    yield "12 references of 60 words, out of 3", [[" ".join(draw.choices("abc", k=60)) for _ in range(12)]]
    yield "20,000 words (refused)", [texts(2, 10_000)]
    yield "1,001 references (refused)", [texts(1_001, 1)]
    yield "one word of 2,000,000 letters (refused)", [["a" * 2_000_000]]


def measured(examples: list[Example], align: str, folder: Path, *, refused: bool) -> str:
    """Peak memory and processor time of a run."""
    lines = [
        json.dumps({"id": str(number), "source": number, "references": one}) + "\n"
        for number, one in enumerate(examples)
    ]
    (folder / "hard.jsonl").write_text("".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "polyref", "expand", "hard.jsonl", "-o", "out.jsonl", "--align", align]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code != (REFUSED if refused else 0):
        raise RuntimeError(f"exit code {code}: {process.stderr.read() if process.stderr else ''!r}")
    inexact = ""
    if code == 0:
        records = map(json.loads, (folder / "out.jsonl").read_text("utf-8").splitlines())
        inexact = "" if all(record["lattice"]["exact"] for record in records) else ", not exact"
    return f"{used.ru_maxrss * 1024 / 1e6:,.0f} MB, {used.ru_utime + used.ru_stime:.1f} s{inexact}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of the hardest examples.")
    parser.add_argument("--words", type=Path, default=SAMPLE)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    sys.stdout.write("| one example with | hard | soft |\n|---|---|---|\n")
    with tempfile.TemporaryDirectory() as folder:
        for name, examples in cases(words_of(given.words)):
            if name.startswith(given.only):
                refused = name.endswith("(refused)")
                hard, soft = (measured(examples, how, Path(folder), refused=refused) for how in ("hard", "soft"))
                sys.stdout.write(f"| {name} | {hard} | {soft} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
