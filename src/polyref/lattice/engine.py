"""Run the lattice's two heavy steps, either in plain Python or compiled: the results are the same.

In:   the numbered words of an example's references, and their similarity.
Out:  the lattice as an automaton of distinct sentences; the best of those sentences.
Not:  the algorithms (build.py, determinise.py, search.py and their compiled twins).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from polyref import compiled
from polyref.align.alignment import (
    Matrix,
    Merge,
    MergeOrder,
    hard_similarity,
    plan_merges,
    restrain,
    soft_similarity,
)
from polyref.align.veto import Exclusions
from polyref.lattice.build import States, build
from polyref.lattice.determinise import MAX_STATES, Automaton, determinise, lattice_arcs, suffix_counts
from polyref.lattice.search import LIST_LIMIT, MAX_BOUNDS, search
from polyref.lattice.task import Found, Task
from polyref.score import NgramTrie

Vectors = npt.NDArray[np.float16]
Counts = tuple[int, int, int, int]  # the clipped matches of each order
Matcher = Callable[[Sequence[Sequence[int]]], list[Counts]]
EngineName = Literal["auto", "plain", "compiled"]
_NO_MATRIX = np.zeros((0, 0), np.int32)
_NO_FLOORS = np.zeros(0, np.int64)

# Plain Python needs some 5 microseconds for each pair of words that is aligned, everything after it included. It goes
# on until that would have paid for loading the compiled kernels, or for compiling them where that was never done.
_CELLS_BEFORE_LOADING = 200_000
_CELLS_BEFORE_COMPILING = 2_000_000


class Compressed:
    """A lattice, as far as the search and the numbers about it need it."""

    def __init__(
        self,
        after: Sequence[int],
        *,
        states: int,
        arcs: int,
        pieces: int,
        count: int,
        deterministic: bool,
        automaton: Callable[[], Automaton],
        arrays: tuple[npt.NDArray[Any], ...] = (),
    ):
        self.after = after
        self.states = states
        self.arcs = arcs
        self.pieces = pieces
        self.deterministic = deterministic
        self.arrays = arrays
        self._make_automaton = automaton
        self.count = count or suffix_counts(self.automaton)[0]

    @cached_property
    def automaton(self) -> Automaton:
        return self._make_automaton()


class Engine(Protocol):
    """The heavy steps."""

    def similarity(
        self, references: Sequence[Sequence[int]], vectors: Vectors, known: npt.NDArray[np.bool_], baseline: float
    ) -> Matrix:
        """How alike each two words' vectors are."""
        ...

    def restrained(
        self, references: Sequence[Sequence[int]], similarity: Matrix, exclusions: Exclusions, position: int
    ) -> Matrix:
        """The same, less what words of different places lose (`position` units at most); -1 where a pair is vetoed.

        The matrix that is given may be written over.
        """
        ...

    def compress(
        self, references: Sequence[Sequence[int]], similarity: Matrix | None, penalty: int, merge_order: MergeOrder
    ) -> Compressed: ...

    def restore(self, references: Sequence[Sequence[int]], after: Sequence[int]) -> Compressed:
        """The lattice of which the state behind each word is known."""
        ...

    def matcher(self, references: Sequence[Sequence[int]], vocabulary: int) -> Matcher:
        """What counts the n-grams that sentences share with the references. Words are numbered below `vocabulary`."""
        ...

    def search(self, lattice: Compressed, references: Sequence[Sequence[int]], task: Task) -> Found | None: ...


class PlainEngine:
    """Plain Python: what small inputs use, and what the compiled kernels are tested against."""

    def similarity(
        self, references: Sequence[Sequence[int]], vectors: Vectors, known: npt.NDArray[np.bool_], baseline: float
    ) -> Matrix:
        return soft_similarity(list(chain.from_iterable(references)), vectors, known, baseline)

    def restrained(
        self, references: Sequence[Sequence[int]], similarity: Matrix, exclusions: Exclusions, position: int
    ) -> Matrix:
        return restrain(references, similarity, exclusions, position)

    def compress(
        self, references: Sequence[Sequence[int]], similarity: Matrix | None, penalty: int, merge_order: MergeOrder
    ) -> Compressed:
        if similarity is None:
            similarity = hard_similarity(list(chain.from_iterable(references)))
        return compressed_by(references, plan_merges(references, similarity, penalty, merge_order))

    def restore(self, references: Sequence[Sequence[int]], after: Sequence[int]) -> Compressed:
        states = States(list(after), max(after) + 1)
        return _compressed(references, states)

    def matcher(self, references: Sequence[Sequence[int]], vocabulary: int) -> Matcher:
        trie = NgramTrie(references)
        return lambda sentences: list(map(trie.matches, sentences))

    def search(self, lattice: Compressed, references: Sequence[Sequence[int]], task: Task) -> Found | None:
        return search(lattice.automaton, references, lattice.count, task)


def compressed_by(references: Sequence[Sequence[int]], merges: Sequence[Merge]) -> Compressed:
    """The lattice that some merges make, in plain Python."""
    return _compressed(references, build(references, merges))


def pieces_of(references: Sequence[Sequence[int]], after: Sequence[int]) -> int:
    """How many parts the references are in, if those are joined that share a state behind a word."""
    starts = list(accumulate(map(len, references), initial=0))
    parts: list[set[int]] = []
    for first, end in pairwise(starts):
        joined = set(map(int, after[first:end]))
        apart = [part for part in parts if part.isdisjoint(joined)]
        parts = [*apart, joined.union(*[part for part in parts if not part.isdisjoint(joined)])]
    return len(parts)


def _compressed(references: Sequence[Sequence[int]], states: States) -> Compressed:
    automaton = determinise(references, states, MAX_STATES)
    arcs, _ = lattice_arcs(references, states)
    return Compressed(
        states.after,
        states=states.count,
        arcs=sum(map(len, arcs)),
        pieces=pieces_of(references, states.after),
        count=suffix_counts(automaton)[0],
        deterministic=automaton.deterministic,
        automaton=lambda: automaton,
    )


class CompiledEngine:
    """The kernels; making one compiles them, or loads them from the disk cache."""

    def __init__(self) -> None:
        from polyref.align import kernels as align_kernels
        from polyref.lattice import kernels, search_kernels
        from polyref.score import kernels as score_kernels

        self._align_kernels = align_kernels
        self._last: tuple[Any, Any] = (None, None)
        self._kernels = kernels
        self._search_kernels = search_kernels
        self._score_kernels = score_kernels

    def similarity(
        self, references: Sequence[Sequence[int]], vectors: Vectors, known: npt.NDArray[np.bool_], baseline: float
    ) -> Matrix:
        """Only what the alignment reads: words of an earlier reference against those of a later one."""
        words, starts = self._as_arrays(references)
        halves = np.ascontiguousarray(vectors, np.float16).view(np.uint16)
        matrix: Matrix = self._align_kernels.soft_similarity(words, starts, halves, known, baseline)
        return matrix

    def restrained(
        self, references: Sequence[Sequence[int]], similarity: Matrix, exclusions: Exclusions, position: int
    ) -> Matrix:
        words, starts = self._as_arrays(references)
        self._align_kernels.restrain(words, starts, similarity, exclusions.codes, exclusions.table, position)
        return similarity

    def compress(
        self, references: Sequence[Sequence[int]], similarity: Matrix | None, penalty: int, merge_order: MergeOrder
    ) -> Compressed:
        words, starts = self._as_arrays(references)
        matrix = _NO_MATRIX if similarity is None else similarity
        after, states, arcs, first, rows, final, deterministic, count = self._kernels.compress(
            words, starts, matrix, penalty, merge_order == "paper", MAX_STATES
        )
        pieces = pieces_of(references, after)
        return self._compressed((words, starts, first, rows, final), after, states, arcs, pieces, deterministic, count)

    def restore(self, references: Sequence[Sequence[int]], after: Sequence[int]) -> Compressed:
        words, starts = self._as_arrays(references)
        behind = np.array(after, np.int32)
        states = int(behind.max()) + 1
        first, rows, final = self._kernels.lattice_arcs(words, starts, behind, states)
        arcs = len(rows)
        first, rows, final, deterministic = self._kernels.determinise(first, rows, final, MAX_STATES)
        count = self._kernels.count_paths(first, rows, final)
        pieces = pieces_of(references, after)
        return self._compressed((words, starts, first, rows, final), behind, states, arcs, pieces, deterministic, count)

    def _compressed(
        self,
        arrays: tuple[npt.NDArray[Any], ...],
        after: Any,
        states: int,
        arcs: int,
        pieces: int,
        deterministic: bool,
        count: int,
    ) -> Compressed:
        _, _, first, rows, final = arrays
        return Compressed(
            after,
            states=states,
            arcs=arcs,
            pieces=pieces,
            count=count,
            deterministic=deterministic,
            automaton=lambda: _as_lists(first, rows, final, deterministic),
            arrays=arrays,
        )

    def _as_arrays(self, references: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """All words behind each other, and where each reference begins; kept for the next step of the same example."""
        if self._last[0] is not references:
            words = np.array(list(chain.from_iterable(references)), np.int32)
            starts = np.array(list(accumulate(map(len, references), initial=0)), np.int64)
            self._last = references, (words, starts)
        arrays: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]] = self._last[1]
        return arrays

    def matcher(self, references: Sequence[Sequence[int]], vocabulary: int) -> Matcher:
        trie, root = self._score_kernels.build_trie(*self._as_arrays(references), vocabulary)

        def count(sentences: Sequence[Sequence[int]]) -> list[Counts]:
            # New arrays: those of the references are kept for the next step.
            words = np.array(list(chain.from_iterable(sentences)), np.int32)
            starts = np.array(list(accumulate(map(len, sentences), initial=0)), np.int64)
            return list(map(tuple, self._score_kernels.match_sentences(trie, root, words, starts).tolist()))

        return count

    def search(self, lattice: Compressed, references: Sequence[Sequence[int]], task: Task) -> Found | None:
        if task.wanted < 1:
            return Found.of([], exact=lattice.deterministic, nodes=0)
        words, starts, first, rows, final = lattice.arrays
        status, counts, flat, nodes, exact = self._search_kernels.search(
            words,
            starts,
            len(task.word_hashes),
            first,
            rows,
            final,
            task.wanted,
            lattice.count <= LIST_LIMIT,
            task.lowest_order,
            _NO_FLOORS if task.floors is None else np.array(task.floors, np.int64),
            task.word_hashes,
            task.marks,
            np.array([task.node_budget, task.tie_limit]),
            MAX_BOUNDS,
        )
        if status == self._search_kernels.TOO_LARGE:
            return None
        if status == self._search_kernels.UNDECIDED:
            return search(lattice.automaton, references, lattice.count, task)
        lengths, orders, products = counts.T.tolist()
        return Found(flat.tolist(), lengths, orders, products, exact and lattice.deterministic, nodes)


def _as_lists(
    first: npt.NDArray[Any], rows: npt.NDArray[Any], final: npt.NDArray[Any], deterministic: bool
) -> Automaton:
    target, word, origin = rows.T.tolist()
    return Automaton(first.tolist(), target, word, origin, final.tolist(), deterministic)


@dataclass
class AutoEngine:
    """Plain Python until there is enough to do; then the kernels.

    `before_compiling` is called if that means minutes of compiling, so that a command can say so.
    """

    before_compiling: Callable[[], None] = lambda: None
    cells: int = 0

    @cached_property
    def _plain(self) -> PlainEngine:
        return PlainEngine()

    @cached_property
    def _compiled(self) -> CompiledEngine:
        if not compiled.is_cached():
            self.before_compiling()
        return CompiledEngine()

    def wants_kernels(self, cells: int) -> bool:
        """Whether, after so many more cells, the kernels are worth it."""
        limit = _CELLS_BEFORE_LOADING if compiled.is_cached() else _CELLS_BEFORE_COMPILING
        return "_compiled" in self.__dict__ or self.cells + cells > limit

    def choose(self, references: Sequence[Sequence[int]], share: float = 1.0) -> Engine:
        """The engine for an example with these references, of which this share of the usual work is to be done."""
        cells = int(share * alignment_cells(list(map(len, references))))
        engine: Engine = self._compiled if self.wants_kernels(cells) else self._plain
        self.cells += cells
        return engine


def alignment_cells(lengths: Sequence[int]) -> int:
    """How many word pairs the alignment of references of these lengths looks at."""
    total = sum(lengths)
    return (total * total - sum(length * length for length in lengths)) // 2
