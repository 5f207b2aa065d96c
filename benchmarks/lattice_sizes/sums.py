"""Put lattices together: by length, by set.

In:   a few numbers a lattice. Out: bins of length; medians, means, growth. Not: showing them (page.py, picture.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.lattice_sizes.measuring import Measured

Number = TypeVar("Number", int, float)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Lengths from `low` on, below `high`."""

    low: float
    high: float

    def __contains__(self, length: float) -> bool:
        return self.low <= length < self.high

    def __str__(self) -> str:
        if self == ALL:
            return "all"
        if self.low == -math.inf:
            return f"under {self.high:g}"
        return f"{self.low:g} and more" if self.high == math.inf else f"{self.low:g} to {self.high:g}"


ALL = Bin(-math.inf, math.inf)


def length_bins(lengths: Sequence[float], least: int) -> list[Bin]:
    """Bins of `least` lengths or more, between whole numbers; equally wide where there are enough lengths.

    The first and the last one are open. With too few lengths, one bin holds them all.
    """
    spread = at_most(lengths, 95) - at_most(lengths, 5)
    width = next((width for width in (1, 2, 4, 5, 10, 20) if spread <= 6 * width), 50)
    edges = [-math.inf]
    for edge in range(0, math.ceil(max(lengths)), width):
        parts = Bin(edges[-1], edge), Bin(edge, math.inf)
        if min(sum(length in part for length in lengths) for part in parts) >= least:
            edges.append(edge)
    return [Bin(low, high) for low, high in zip(edges, [*edges[1:], math.inf], strict=True)]


def at_most(values: Iterable[Number], percent: int) -> Number:
    """The least of the values that so many per cent do not exceed; exact for integers of any size."""
    ordered = sorted(values)
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


@dataclass(frozen=True)
class Summary:
    """Some lattices together. `low` to `high` are the middle nine of ten; 90 % have at most `most` sentences."""

    examples: int
    length: float
    low: int
    median: int
    most: int
    high: int
    largest: int
    found: float  # new sentences a lattice, at most as many as were wanted
    bleu: float  # of these; the mean over the lattices that have any, nan if none has

    @classmethod
    def of(cls, lattices: Sequence[Measured]) -> Summary:
        counts = [lattice.sentences for lattice in lattices]
        bleus = [fmean(lattice.bleus) for lattice in lattices if lattice.bleus]
        return cls(
            len(lattices),
            fmean(lattice.length for lattice in lattices),
            *(at_most(counts, percent) for percent in (5, 50, 90, 95, 100)),
            fmean(len(lattice.bleus) for lattice in lattices),
            fmean(bleus) if bleus else math.nan,
        )


@dataclass(frozen=True)
class Growth:
    """How the number of sentences depends on length: least squares over its logarithm.

    `factor` is what a word more multiplies it by, at an equal number of references. The others are shares of the
    differences between lattices, and what accounts for them.
    """

    factor: float
    length: float  # length alone
    both: float  # length and the logarithm of the number of references
    power: float  # the same, but for the logarithm of the length: growth by a power of it, not exponential

    @classmethod
    def of(cls, lattices: Sequence[Measured]) -> Growth:
        sizes = np.array([math.log10(lattice.sentences) for lattice in lattices])
        lengths = np.array([lattice.length for lattice in lattices])
        references = np.log10([lattice.references for lattice in lattices])
        slope, both = _fit(sizes, lengths, references)
        return cls(10**slope, _fit(sizes, lengths)[1], both, _fit(sizes, np.log10(lengths), references)[1])


def _fit(values: Floats, *known: Floats) -> tuple[float, float]:
    """The slope over what is known first, and the share of the differences that all that is known explains."""
    columns = np.stack([np.ones(len(values)), *known], 1)  # lattices x (1 + known)
    weights = np.linalg.lstsq(columns, values, rcond=None)[0]
    left, total = np.square(values - columns @ weights).sum(), np.square(values - values.mean()).sum()
    return float(weights[1]), float(1 - left / total) if total else 0.0


@dataclass(frozen=True)
class Set:
    """A data set: its lattices by each alignment, one an example and in one order."""

    name: str
    lattices: Mapping[str, Sequence[Measured]]
    bins: Sequence[Bin]

    def inside(self, alignment: str, lengths: Bin = ALL) -> list[Measured]:
        return [lattice for lattice in self.lattices[alignment] if lattice.length in lengths]

    def summary(self, alignment: str, lengths: Bin = ALL) -> Summary:
        return Summary.of(self.inside(alignment, lengths))

    def growth(self, alignment: str) -> Growth:
        return Growth.of(self.lattices[alignment])

    def bleu_of_as_many(self) -> dict[str, float]:
        """The mean BLEU by each alignment of as many best sentences of an example as every alignment has.

        The mean of all that there are favours small lattices, which have nothing but their best.
        """
        examples = zip(*self.lattices.values(), strict=True)
        sizes = [min(len(lattice.bleus) for lattice in example) for example in examples]
        means = {
            name: [fmean(one.bleus[:size]) for one, size in zip(lattices, sizes, strict=True) if size]
            for name, lattices in self.lattices.items()
        }
        return {name: fmean(values) if values else math.nan for name, values in means.items()}
