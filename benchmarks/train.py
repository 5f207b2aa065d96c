"""Training the translator and searching with it, beside JoeyNMT's recurrent model of the same sizes.

In:   made-up sentences; the paper's sizes. Out: tokens and sentences a second. Not: how well either translates.

JoeyNMT is run by another Python, named by the environment variable POLYREF_JOEYNMT; without it, polyref runs alone.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.clock import say, timed
from benchmarks.data import Data
from benchmarks.table import Table, against

PEER = Path(__file__).with_name("joey.py")
TARGET = 1.3
ROUNDS = 5
SHORTEST, LONGEST = 10, 30  # tokens of a sentence
SEARCHED = 32  # sentences
SIZES: dict[str, Any] = {
    "embedding": 500, "states": 500, "layers": 2, "dropout": 0.3, "source_words": 18_000, "target_words": 10_000,
    "beam": 15, "longest": 25, "threads": 1,
}  # fmt: skip
AT_ONCE = 64


def measure(data: Data, quick: bool) -> Table:
    batches = _batches(2 if quick else 4)
    ways = {"polyref": _polyref(batches)}
    joey = os.environ.get("POLYREF_JOEYNMT")
    process = _start(joey, batches) if joey else None
    if process is not None:
        ways["JoeyNMT"] = lambda work: _ask(process, work)
    seconds = _in_turn(ways, 1 if quick else ROUNDS)
    if process is not None:
        process.communicate()
    tokens = sum(len(row) + 1 for _, targets in batches for row in targets)
    rows = [
        _row("training", "target tokens/s", tokens, {name: taken["train"] for name, taken in seconds.items()}),
        _row("beam search", "sentences/s", SEARCHED, {name: taken["search"] for name, taken in seconds.items()}),
    ]
    peer = "" if joey else " JoeyNMT was left out: POLYREF_JOEYNMT names no Python that has it."
    remarks = [
        f"The paper's sizes: vectors and states of {SIZES['states']}, {SIZES['layers']} layers, vocabularies of "
        f"{SIZES['source_words']:,} and {SIZES['target_words']:,}, dropout {SIZES['dropout']}, dot-product attention; "
        f"no input feeding. One thread, float32, CPU time, in turn.{peer}",
        f"Training: batches of {AT_ONCE} made-up sentences with {SHORTEST} to {LONGEST} tokens, not sorted by length; "
        "forward, backward, clipping and an Adam update.",
        f"Beam search: {SEARCHED} sentences at once, a beam of {SIZES['beam']}, {SIZES['longest']} steps; "
        "no sentence stops earlier.",
    ]
    return Table("Training and beam search", ["", "polyref", "JoeyNMT", "ratio", "target", "reached"], rows, remarks)


def _row(what: str, unit: str, amount: int, seconds: dict[str, float]) -> list[str]:
    rates = {name: amount / taken for name, taken in seconds.items()}
    ours = f"{rates['polyref']:,.4g} {unit}"
    if "JoeyNMT" not in rates:
        return [what, ours, "-", "-", "-", "-"]
    ratio = rates["polyref"] / rates["JoeyNMT"]
    return [what, ours, f"{rates['JoeyNMT']:,.4g} {unit}", f"{ratio:.2f} x", *against(ratio, TARGET)]


def _batches(count: int) -> list[tuple[list[list[int]], list[list[int]]]]:
    """The first one is searched, too."""
    random = np.random.default_rng(0)

    def rows(sentences: int, words: int) -> list[list[int]]:
        lengths = random.integers(SHORTEST, LONGEST + 1, sentences)
        return [random.integers(3, words - 1, length).tolist() for length in lengths]

    sizes = [AT_ONCE] * count
    return [(rows(size, SIZES["source_words"]), rows(size, SIZES["target_words"])) for size in sizes]


def _polyref(batches: list[tuple[list[list[int]], list[list[int]]]]) -> Callable[[str], float]:
    import torch

    from polyref.model.beam import search
    from polyref.model.settings import BeamSettings, TranslatorSettings
    from polyref.model.translator import TranslationBatch, Translator

    torch.set_num_threads(SIZES["threads"])
    settings = TranslatorSettings(SIZES["embedding"], SIZES["states"], SIZES["layers"], SIZES["dropout"])
    model = Translator(settings, source_words=SIZES["source_words"], target_words=SIZES["target_words"])
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)
    made = [TranslationBatch.of(sources, targets) for sources, targets in batches]
    searched = TranslationBatch.of(batches[0][0][:SEARCHED])
    wanted = BeamSettings(SIZES["beam"], longest=SIZES["longest"], stop_early=False)

    def train() -> None:
        model.train()
        for batch in made:
            loss, tokens = model.loss(batch)
            (loss / tokens).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()

    work: dict[str, Callable[[], object]] = {"train": train, "search": lambda: search(model, searched, wanted)}
    return lambda what: timed(work[what])[1]


def _start(python: str, batches: list[tuple[list[list[int]], list[list[int]]]]) -> subprocess.Popen[str]:
    sizes = json.dumps({**SIZES, "batches": batches, "searched": SEARCHED})
    process = subprocess.Popen(
        [python, "-W", "ignore", str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(sizes + "\n")
    process.stdin.flush()
    if process.stdout.readline().strip() != "ready":
        raise SystemExit(f"{python} could not run JoeyNMT's model")
    return process


def _ask(process: subprocess.Popen[str], work: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(work + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def _in_turn(ways: dict[str, Callable[[str], float]], rounds: int) -> dict[str, dict[str, float]]:
    """The median of each way for each kind of work, after one round that is not counted."""
    taken: dict[str, dict[str, list[float]]] = {name: {"train": [], "search": []} for name in ways}
    for number in range(rounds + 1):
        for work in ("train", "search"):
            for name, run in ways.items():
                seconds = run(work)
                say(f"  {name}, {work}: {seconds:.2f} s")
                if number:
                    taken[name][work].append(seconds)
    return {name: {work: median(seconds) for work, seconds in found.items()} for name, found in taken.items()}
