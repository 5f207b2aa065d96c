"""From links to sentences: merge states, and make each sentence one path (Section 3.3 of the paper).

In:   the references of an example as numbered words, and the merges with their links.
Out:  for each word of each reference the state behind it; an automaton whose paths are the distinct sentences. They
      are counted, and each has a number.
Not:  which words are linked (align/), choosing among the sentences (search.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from polyref.align.alignment import Merge

START = 0
# A lattice can have exponentially many sets of states that one beginning leads to; those of real texts have few.
MAX_STATES = 50_000

Arcs = list[list[tuple[int, int, int]]]  # for each state: word, target, origin


def _as_list(part: Callable[[Sequence[npt.NDArray[Any]]], npt.NDArray[Any]]) -> cached_property[list[int]]:
    """A part of the arrays as a list, made when it is first asked for."""
    return cached_property(lambda automaton: list(part(automaton.arrays).tolist()))


class Automaton:
    """Arcs of state s are arcs first[s] to first[s + 1]; they go upwards only, and start at state 0.

    An arc has a target, a word and an `origin`: the first word of the references, counted over all of them, that it
    stands for. No state has two arcs with the same word, so each sentence is one path; where `deterministic` is False,
    it may have several. The kernels read the arrays (of arcs: one row each, target, word and origin); the lists are
    made when they are asked for.
    """

    def __init__(self, *arrays: npt.NDArray[Any], deterministic: bool, count: int = 0):
        self.arrays = arrays
        self.deterministic = deterministic
        self.states = len(arrays[2])
        self.count = count or self.suffix_counts[0]  # a whole number of any size; 0 stands for unknown

    first = _as_list(lambda arrays: arrays[0])
    target = _as_list(lambda arrays: arrays[1][:, 0])
    word = _as_list(lambda arrays: arrays[1][:, 1])
    origin = _as_list(lambda arrays: arrays[1][:, 2])
    final = _as_list(lambda arrays: arrays[2])

    @cached_property
    def suffix_counts(self) -> list[int]:
        """For each state, the number of ways to an end."""
        counts = [0] * self.states
        for state in range(self.states - 1, -1, -1):
            arcs = self.target[self.first[state] : self.first[state + 1]]
            counts[state] = int(self.final[state]) + sum(counts[target] for target in arcs)
        return counts

    def path(self, number: int) -> list[int]:
        """The arcs of the sentence of a number below `count`.

        One walk: at each state, the arc behind which the sentence of that number lies.
        """
        first, target, final, counts = self.first, self.target, self.final, self.suffix_counts
        left = number
        state = START
        path: list[int] = []
        while True:
            if final[state]:
                if left == 0:
                    return path
                left -= 1
            arc = first[state]
            behind = counts[target[arc]]
            while left >= behind:
                left -= behind
                arc += 1
                behind = counts[target[arc]]
            path.append(arc)
            state = target[arc]

    def paths(self) -> Iterator[list[int]]:
        """The arcs of every sentence, depth first; they are valid until the next one is asked for."""
        path: list[int] = []
        waiting = [iter(range(self.first[0], self.first[1]))]
        while waiting:
            arc = next(waiting[-1], None)
            if arc is None:
                waiting.pop()
                if path:
                    path.pop()
                continue
            path.append(arc)
            target = self.target[arc]
            if self.final[target]:
                yield path
            waiting.append(iter(range(self.first[target], self.first[target + 1])))

    def find(self, words: Sequence[int]) -> list[int] | None:
        """The arcs of the sentence with these words; None if it has none."""
        paths: dict[int, list[int]] = {START: []}
        for word in words:
            paths = {
                self.target[arc]: [*path, arc]
                for state, path in paths.items()
                for arc in range(self.first[state], self.first[state + 1])
                if self.word[arc] == word
            }
        return next((path for state, path in paths.items() if self.final[state]), None)


# -- merging states -------------------------------------------------------------------------------------------------


def build(references: Sequence[Sequence[int]], merges: Sequence[Merge]) -> list[int]:
    """Merge the states before and behind each link, from left to right, wherever that closes no cycle.

    Word k, counted over all references, ends in state after[k]; states are numbered so that every arc goes upwards.
    """
    starts = list(accumulate(map(len, references), initial=0))
    states = _Mergeable(starts)
    for left, right, links in merges:
        for u, v in links:
            states.merge(starts[left] + u if u else START, starts[right] + v if v else START)
            states.merge(starts[left] + u + 1, starts[right] + v + 1)
    return states.numbered()


class _Mergeable:
    """States under merging. State k + 1 stands behind word k; each keeps the set of states that it reaches.

    The sets are the bits of whole numbers. Bits of states that were merged away stay set, and nobody asks for them.
    """

    def __init__(self, starts: list[int]):
        self.size = starts[-1] + 1
        self.parent = list(range(self.size))
        self.reach = [0] * self.size
        for first, end in pairwise(starts):
            for state in range(end - 1, first, -1):
                self.reach[state] = self.reach[state + 1] | 1 << (state + 1)
        self.reach[START] = (1 << self.size) - 2

    def find(self, state: int) -> int:
        while self.parent[state] != state:
            state = self.parent[state]
        return state

    def merge(self, first: int, second: int) -> None:
        keep, drop = sorted((self.find(first), self.find(second)))
        if keep == drop or self.reach[keep] >> drop & 1 or self.reach[drop] >> keep & 1:
            return
        self.parent[drop] = keep
        both = self.reach[keep] | self.reach[drop]
        self.reach[keep] = both
        either = 1 << keep | 1 << drop
        for state in range(self.size):
            if self.reach[state] & either:
                self.reach[state] |= both | 1 << keep

    def numbered(self) -> list[int]:
        """Number the states by how many others they reach, most first: so an arc always goes upwards."""
        kept = [state for state in range(self.size) if self.parent[state] == state]
        alive = sum(1 << state for state in kept)
        kept.sort(key=lambda state: -(self.reach[state] & alive).bit_count())
        number = {state: n for n, state in enumerate(kept)}
        return [number[self.find(state)] for state in range(1, self.size)]


# -- one path per sentence --------------------------------------------------------------------------------------------


def lattice_arcs(references: Sequence[Sequence[int]], after: Sequence[int]) -> tuple[Arcs, list[bool]]:
    """The lattice's arcs by the state that they leave, without doubles; and which states are final."""
    seen: dict[tuple[int, int, int], int] = {}
    final = [False] * (max(after) + 1)
    origin = 0
    for reference in references:
        state = START
        for word in reference:
            seen.setdefault((state, word, after[origin]), origin)
            state = after[origin]
            origin += 1
        final[state] = True
    arcs: Arcs = [[] for _ in final]
    for (source, word, target), first in sorted(seen.items()):
        arcs[source].append((word, target, first))
    return arcs, final


def determinise(references: Sequence[Sequence[int]], after: Sequence[int], max_states: int) -> Automaton:
    """The subset construction, in the order of each subset's lowest state.

    Arcs of the lattice go upwards, so the lowest state of a subset is lower than those of all subsets after it.
    Over `max_states`, the lattice itself is returned, as it is.
    """
    arcs, final = lattice_arcs(references, after)
    waiting: list[list[frozenset[int]]] = [[] for _ in final]
    start = frozenset([START])
    waiting[START].append(start)
    known = {start}
    done: dict[frozenset[int], int] = {}
    rows: list[list[tuple[int, frozenset[int], int]]] = []
    for subsets in waiting:
        for subset in subsets:
            done[subset] = len(done)
            row: dict[int, tuple[set[int], list[int]]] = {}
            for state in subset:
                for word, target, origin in arcs[state]:
                    targets, origins = row.setdefault(word, (set(), []))
                    targets.add(target)
                    origins.append(origin)
            rows.append([])
            for word in sorted(row):
                targets, origins = row[word]
                subset_after = frozenset(targets)
                rows[-1].append((word, subset_after, min(origins)))
                if subset_after not in known:
                    if len(known) == max_states:
                        return _automaton(arcs, final, deterministic=False)
                    known.add(subset_after)
                    waiting[min(subset_after)].append(subset_after)
    return _automaton(
        [[(word, done[subset], origin) for word, subset, origin in row] for row in rows],
        [any(final[state] for state in subset) for subset in done],
        deterministic=True,
    )


def _automaton(rows: Arcs, final: list[bool], *, deterministic: bool) -> Automaton:
    first = list(accumulate(map(len, rows), initial=0))
    arcs = [(target, word, origin) for row in rows for word, target, origin in row]
    return Automaton(np.array(first, np.int32), np.array(arcs, np.int32), np.array(final), deterministic=deterministic)
