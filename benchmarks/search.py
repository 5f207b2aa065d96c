"""The search for the best 50 sentences, against the number of sentences that a lattice has.

In:   long examples, hard alignment. Out: time a search, by powers of ten. Not: making the lattice.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles

from benchmarks.clock import one_core, timed
from benchmarks.data import Data, words_of
from benchmarks.table import Table, shown_time
from polyref import AlignSettings, SearchSettings, TextSettings
from polyref.lattice import CompiledEngine, Lattice, merge

WANTED = 50
LOWEST, HIGHEST = 3, 15  # powers of ten


@dataclass(frozen=True)
class Search:
    """One search: how long it took, and whether it is sure to have found the best."""

    seconds: float
    exact: bool


def measure(data: Data, quick: bool) -> Table:
    bins = _lattices(data)
    most = 30 if quick else 300
    rows = []
    with one_core():
        for power in range(LOWEST, HIGHEST + 1):
            lattices = bins[power]
            chosen = lattices if len(lattices) <= most else random.Random(1).sample(lattices, most)
            rows.append(_row(power, len(lattices), [_search(lattice) for lattice in chosen]))
    remarks = [
        f"{data.long_name}, hard alignment; at most {most} lattices per row, drawn at random (seed 1).",
        f"One call of Lattice.search for the best {WANTED} new sentences with default settings: n-gram trie, "
        "product automaton, bounds, search, ties; from Python and back. Each lattice is searched once. Up to "
        "1,000 sentences the search lists everything.",
        "exact: the share of lattices where the search completed within the node budget.",
    ]
    columns = ["sentences", "lattices", "measured", "median", "95 % are under", "slowest", "exact"]
    return Table(f"Search for the best {WANTED}", columns, rows, remarks)


def _lattices(data: Data) -> dict[int, list[Lattice]]:
    """The lattices by the power of ten of their sentences; the last bin holds all that are larger."""
    engine = CompiledEngine()
    bins: dict[int, list[Lattice]] = defaultdict(list)
    for example in data.long:
        lattice = merge(words_of(example), None, AlignSettings(), text=TextSettings(), engine=engine)
        # The digits of the whole number: counts do not fit a float.
        bins[min(len(str(lattice.count)) - 1, HIGHEST)].append(lattice)
    _search(next(iter(bins.values()))[0])
    return bins


def _search(lattice: Lattice) -> Search:
    found, seconds = timed(partial(lattice.search, WANTED, SearchSettings()))
    return Search(seconds, found.exact)


def _row(power: int, lattices: int, searches: Sequence[Search]) -> list[str]:
    name = f"1e{power} to 1e{power + 1}" if power < HIGHEST else f"1e{HIGHEST} and more"
    if not searches:
        return [name, "0", "0", "-", "-", "-", "-"]
    seconds = [search.seconds for search in searches]
    most = quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]
    exact = sum(search.exact for search in searches) / len(searches)
    shown = [shown_time(value) for value in (median(seconds), most, max(seconds))]
    return [name, f"{lattices:,}", f"{len(searches):,}", *shown, f"{exact:.1%}"]
