"""Make each sentence of a lattice one path.

In:   the states behind the references' words.
Out:  an automaton in which no state has two arcs with the same word: its paths are the distinct sentences. They are
      counted, and each has a number.
Not:  building the lattice (build.py), choosing among the sentences (search.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyref.lattice.build import START, States

# A lattice can have exponentially many sets of states that one beginning leads to; those of real texts have few.
MAX_STATES = 50_000


@dataclass(frozen=True, slots=True)
class Automaton:
    """Arcs of state s are arcs first[s] to first[s + 1]; they go upwards only, and start at state 0.

    An arc says its word, and `origin`: the first word of the references, counted over all of them, that it stands for.
    Where `deterministic` is False, a sentence may have several paths.
    """

    first: Sequence[int]
    target: Sequence[int]
    word: Sequence[int]
    origin: Sequence[int]
    final: Sequence[bool]
    deterministic: bool

    @property
    def states(self) -> int:
        return len(self.final)


Arcs = list[list[tuple[int, int, int]]]  # for each state: word, target, origin


def lattice_arcs(references: Sequence[Sequence[int]], states: States) -> tuple[Arcs, list[bool]]:
    """The lattice's arcs by the state that they leave, without doubles; and which states are final."""
    seen: dict[tuple[int, int, int], int] = {}
    final = [False] * states.count
    origin = 0
    for reference in references:
        state = START
        for word in reference:
            seen.setdefault((state, word, states.after[origin]), origin)
            state = states.after[origin]
            origin += 1
        final[state] = True
    arcs: Arcs = [[] for _ in range(states.count)]
    for (source, word, target), first in sorted(seen.items()):
        arcs[source].append((word, target, first))
    return arcs, final


def determinise(references: Sequence[Sequence[int]], states: States, max_states: int = MAX_STATES) -> Automaton:
    """The subset construction, in the order of each subset's lowest state.

    Arcs of the lattice go upwards, so the lowest state of a subset is lower than those of all subsets after it.
    Over `max_states`, the lattice itself is returned, as it is.
    """
    arcs, final = lattice_arcs(references, states)
    waiting: list[list[frozenset[int]]] = [[] for _ in range(states.count)]
    start = frozenset([START])
    waiting[START].append(start)
    known = {start}
    done: dict[frozenset[int], int] = {}
    rows: list[list[tuple[int, frozenset[int], int]]] = []
    for lowest in range(states.count):
        for subset in waiting[lowest]:
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
                        return _automaton([[*row] for row in arcs], final, deterministic=False)
                    known.add(subset_after)
                    waiting[min(subset_after)].append(subset_after)
    return _automaton(
        [[(word, done[subset], origin) for word, subset, origin in row] for row in rows],
        [any(final[state] for state in subset) for subset in done],
        deterministic=True,
    )


def _automaton(rows: Arcs, final: list[bool], *, deterministic: bool) -> Automaton:
    first = [0]
    for row in rows:
        first.append(first[-1] + len(row))
    arcs = [arc for row in rows for arc in row]
    return Automaton(
        first,
        target=[target for _, target, _ in arcs],
        word=[word for word, _, _ in arcs],
        origin=[origin for _, _, origin in arcs],
        final=final,
        deterministic=deterministic,
    )


def suffix_counts(automaton: Automaton) -> list[int]:
    """For each state, the number of ways to an end: whole numbers of any size."""
    counts = [0] * automaton.states
    for state in range(automaton.states - 1, -1, -1):
        arcs = automaton.target[automaton.first[state] : automaton.first[state + 1]]
        counts[state] = int(automaton.final[state]) + sum(counts[target] for target in arcs)
    return counts


def path_of(automaton: Automaton, counts: Sequence[int], number: int) -> list[int]:
    """The arcs of the sentence of a number below counts[0]; `counts` are the suffix counts.

    One walk: at each state, the arc behind which the sentence of that number lies.
    """
    first, target, final = automaton.first, automaton.target, automaton.final
    left = number
    state = 0
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
