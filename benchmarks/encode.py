"""Encoding with the built-in encoder, beside torch's own LSTM of the same sizes; and a whole run with it.

In:   captions. Out: words and examples a second, megabytes. Not: the alignment after it (pipeline.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clock import say, seconds_in_turn
from benchmarks.data import Data, write_repeated
from benchmarks.processes import polyref, run
from benchmarks.table import Table, yes
from polyref.encode import default_encoder
from polyref.expansion import CHUNK
from polyref.text import TextSettings, tokenize

ROUNDS = 5
PER_EXAMPLE = 20
LEAST_SHARE = 0.7
LEAST_RATE = 300
MOST_MEGABYTES = 1500
SENTENCES_AT_ONCE = 64  # for torch; larger batches were not faster


def measure(data: Data, quick: bool) -> Table:
    chunks = _chunks(data, 512 if quick else 2048)
    words = sum(len(sentence) for chunk in chunks for sentence in chunk)
    encoder = default_encoder()
    encoder.encode(chunks[0])
    ways: dict[str, Callable[[], object]] = {"polyref": lambda: [encoder.encode(chunk) for chunk in chunks]}
    peer = _torch_lstm(chunks, encoder.config["vector_size"], encoder.config["state_size"])
    if peer is not None:
        ways["torch"] = peer
    seconds = seconds_in_turn(ways, 1 if quick else ROUNDS)
    rates = {name: words / taken for name, taken in seconds.items()}
    rows = [["polyref, words to vectors", f"{rates['polyref']:,.0f} words/s", "", ""]]
    if peer is not None:
        share = rates["polyref"] / rates["torch"]
        rows.append(["torch, LSTM alone", f"{rates['torch']:,.0f} words/s", "", ""])
        rows.append(
            ["polyref as a share of torch", f"{share:.0%}", f"at least {LEAST_SHARE:.0%}", yes(share >= LEAST_SHARE)]
        )
    rate, megabytes = _whole_run(data, 1 if quick else 4)
    rows.append(["expand, 2 workers", f"{rate:,.0f} examples/s", f"at least {LEAST_RATE}", yes(rate >= LEAST_RATE)])
    rows.append(
        ["its peak memory", f"{megabytes:,.0f} MB", f"under {MOST_MEGABYTES:,}", yes(megabytes < MOST_MEGABYTES)]
    )
    remarks = [
        f"Encoding: {words:,} words of {data.captions_name}, in chunks of {CHUNK} examples as in a run, one "
        "core, CPU time, in turn. polyref's time includes everything: looking up words, both directions, "
        "scaling, rounding to float16. torch's time is for the bidirectional LSTM alone, on given vectors, in "
        f"batches of {SENTENCES_AT_ONCE} sentences of one length, without padding.",
        f"Whole run: `polyref expand --align soft --per-example {PER_EXAMPLE} --workers 2`, start-up of processes "
        "included, wall time. The memory is an upper bound: the largest process times three (parent and two workers).",
    ]
    return Table("Encoding", ["what", "measured", "target", "reached"], rows, remarks)


def _chunks(data: Data, examples: int) -> list[list[tuple[str, ...]]]:
    texts = [
        [tokenize(r.text, TextSettings()).words for r in example.references] for example in data.captions[:examples]
    ]
    return [[words for example in texts[k : k + CHUNK] for words in example] for k in range(0, len(texts), CHUNK)]


def _torch_lstm(chunks: list[list[tuple[str, ...]]], size: int, states: int) -> Callable[[], object] | None:
    """torch's LSTM over as many words, if torch is there."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    lstm = torch.nn.LSTM(size, states, batch_first=True, bidirectional=True)
    batches = []
    for chunk in chunks:
        by_length: dict[int, int] = {}
        for sentence in dict.fromkeys(chunk):
            by_length[len(sentence) + 1] = by_length.get(len(sentence) + 1, 0) + 1
        batches += [
            torch.randn(min(SENTENCES_AT_ONCE, count - start), length, size)
            for length, count in by_length.items()
            for start in range(0, count, SENTENCES_AT_ONCE)
        ]

    def read_all() -> None:
        with torch.inference_mode():
            for batch in batches:
                lstm(batch)

    read_all()
    return read_all


def _whole_run(data: Data, times: int) -> tuple[float, float]:
    with TemporaryDirectory() as folder:
        source, output = Path(folder, "examples.jsonl"), Path(folder, "expanded.jsonl")
        write_repeated(data.captions, times, source)
        options = ["--align", "soft", "--per-example", str(PER_EXAMPLE), "--workers", "2"]
        finished = run(polyref("expand", str(source), "--output", str(output), *options))
    rate = times * len(data.captions) / finished.seconds
    say(f"  {rate:,.0f} examples a second")
    return rate, 3 * finished.megabytes
