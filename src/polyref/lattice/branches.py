"""How else a text could go on: the words that leave the same state of the lattice, and how many references take them.

In:   the gold references of an example and their kept lattice; a text that is a path of it, gold or not.
Out:  the places of the text where the lattice goes on in several ways, each way as it is written there.
Not:  what training makes of it (feed/soft.py), subwords (experiment/softening.py).

A beginning of a sentence may lead to several states: all that it leads to count together, as they do where sentences
are read off. So the ways at a place depend on the words before it, and on nothing that comes later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polyref.example import KeptLattice
from polyref.lattice.lattice import restored_states
from polyref.lattice.plain.automaton import START
from polyref.lattice.writing import NONE, Writer
from polyref.text import tokenize

_END = ""  # no word is empty


class Branch(NamedTuple):
    """A place of a text where the lattice goes on in several ways; the text's own comes first.

    They begin at character `start`. `texts` are the next words, each with the space before it; "" is the end. `counts`
    are the gold references that go each way.
    """

    start: int
    texts: tuple[str, ...]
    counts: tuple[int, ...]


class _Way(NamedTuple):
    """The gold references that have a word behind a state: how many, where they lead, the first place of the word."""

    times: int
    states: frozenset[int]
    place: int


class Branches:
    """The lattice of one example, to be walked along texts."""

    def __init__(self, references: Sequence[str], kept: KeptLattice, line: int | None = None):
        """Of the gold references, and what was kept of their lattice; an InputError where the two do not fit."""
        self.text, tokens, numbering, self._after = restored_states(references, kept, line)
        distinct = [tokens[gold] for gold in numbering.firsts]
        self._words = [word for one in distinct for word in one.words]
        self._writer = Writer(distinct, self._after, range(len(self._words)), self.text)
        self._steps: list[dict[str, _Way]] = [{} for _ in range(max(self._after) + 1)]
        for number in range(len(distinct)):
            first, behind = numbering.starts[number], numbering.starts[number + 1]
            self._add(first, behind, numbering.same.count(number))
        self._joined: dict[frozenset[int], dict[str, _Way]] = {}

    def _add(self, first: int, behind: int, times: int) -> None:
        """Take in a reference whose words have these places, and that so many gold references are."""
        state = START
        for place in range(first, behind):
            target = self._after[place]
            _count(self._steps[state], self._words[place], _Way(times, frozenset([target]), place))
            state = target
        _count(self._steps[state], _END, _Way(times, frozenset(), NONE))

    def _ways(self, states: frozenset[int]) -> dict[str, _Way]:
        """The next words of a beginning that leads to these states."""
        if len(states) == 1:
            return self._steps[next(iter(states))]
        if states not in self._joined:
            joined: dict[str, _Way] = {}
            for word, way in (item for state in sorted(states) for item in self._steps[state].items()):
                _count(joined, word, way)
            self._joined[states] = joined
        return self._joined[states]

    def of(self, text: str) -> list[Branch]:
        """The branches of a text, as far as it is a path of the lattice."""
        found: list[Branch] = []
        states, before, start = frozenset([START]), NONE, 0
        tokens = tokenize(text, self.text)
        for word, surface in zip((*tokens.words, _END), (*tokens.surfaces, _END), strict=True):
            ways = self._ways(states)
            if word not in ways:
                break
            end = text.index(surface, start) + len(surface) if word else len(text)
            if len(ways) > 1:
                others = [other for other in ways if other != word]
                texts = [self._written(before, ways[other].place) for other in others]
                counts = [ways[other].times for other in others]
                found.append(Branch(start, (text[start:end], *texts), (ways[word].times, *counts)))
            states, before, start = ways[word].states, ways[word].place, end
        return found

    def _written(self, before: int, place: int) -> str:
        return _END if place == NONE else self._writer.piece(before, place)


def _count(ways: dict[str, _Way], word: str, way: _Way) -> None:
    """Add a way to those that leave a state."""
    if known := ways.get(word):
        way = _Way(known.times + way.times, known.states | way.states, min(known.place, way.place))
    ways[word] = way
