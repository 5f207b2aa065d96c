"""Make the lattices of all examples by each alignment.

In:   examples, an encoder. Out: a few numbers a lattice. Not: putting them together (sums.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import fmean

from benchmarks.data import words_of
from polyref import AlignSettings, Encoder, Encoding, Example, SearchSettings, TextSettings
from polyref.expansion import CHUNK
from polyref.lattice import AutoEngine, Engine, merge, prepare
from polyref.text import Tokens

WANTED = 50
HARD, ADAPTIVE = "hard", "adaptive"
STRICTEST, USUAL, SOFTEST = "0.8", "0.5", "0.4"
ALIGNMENTS = {
    HARD: AlignSettings("hard"),
    **{f"{penalty}": AlignSettings("soft", penalty=penalty) for penalty in (0.8, 0.7, 0.6, 0.5, 0.4)},
    ADAPTIVE: AlignSettings("soft", penalty="adaptive"),
}


@dataclass(frozen=True)
class Measured:
    """One lattice. `length` is the mean of its references' lengths; `bleus` are those of its best new sentences."""

    length: float
    references: int
    sentences: int
    bleus: tuple[float, ...]
    penalty: float | None = None
    certain: bool = True  # sentences were counted, not paths, and the search went to its end


def measure(examples: Sequence[Example], encoder: Encoder, engine: Engine | AutoEngine) -> dict[str, list[Measured]]:
    """The lattices by each alignment, in the order of the examples. Each text is encoded once."""
    found: dict[str, list[Measured]] = {name: [] for name in ALIGNMENTS}
    for start in range(0, len(examples), CHUNK):
        tokens = [words_of(example) for example in examples[start : start + CHUNK]]
        baseline, encodings = prepare(ALIGNMENTS[USUAL], encoder, list(chain.from_iterable(tokens)))
        following = iter(encodings or ())
        for references in tokens:
            vectors = list(islice(following, len(references)))
            for name, align in ALIGNMENTS.items():
                found[name].append(_measured(references, vectors, align, baseline, engine))
    return found


def _measured(
    references: Sequence[Tokens],
    vectors: Sequence[Encoding],
    align: AlignSettings,
    baseline: float,
    engine: Engine | AutoEngine,
) -> Measured:
    used = None if align.align == "hard" else vectors
    lattice = merge(references, used, align, text=TextSettings(), baseline=baseline, engine=engine)
    best = lattice.search(WANTED, SearchSettings())
    return Measured(
        fmean(map(len, references)),
        len(references),
        lattice.count,
        tuple(lattice.bleus(best)),
        lattice.penalty,
        lattice.deterministic and best.exact,
    )
