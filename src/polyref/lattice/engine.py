"""Run the heavy steps of a lattice, either in plain Python or compiled: the results are the same.

In:   the numbered references of an example, and their words' similarity or vectors.
Out:  the state behind each word, and the automaton of distinct sentences; the best of those sentences.
Not:  the algorithms (align/, plain/, compiled/).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Sized
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polyref import compiled
from polyref.align.alignment import Matrix, Merge, MergeOrder, plan_merges, restrain, soft_similarity
from polyref.align.veto import Exclusions
from polyref.errors import MissingExtraError, SettingsError
from polyref.lattice.plain.automaton import MAX_STATES, Automaton, build, determinise
from polyref.lattice.plain.rules import Rules
from polyref.lattice.plain.sampling import Matcher
from polyref.lattice.plain.search import Found, Task, search
from polyref.lattice.references import Numbering
from polyref.score import NgramTrie
from polyref.text.interruptible import fed

Vectors = npt.NDArray[np.float16]
Known = npt.NDArray[np.bool_]
EngineName = Literal["auto", "plain", "compiled"]
Say = Callable[[str], None]
_log = logging.getLogger(__name__)
_NO_MATRIX = np.zeros((0, 0), np.int32)
_NO_RULES = Rules((), ()).arrays

# Plain Python needs some 5 microseconds for each pair of words that is aligned, everything after it included. It goes
# on until that would have paid for loading the compiled kernels; for compiling them where that was never done, and no
# process beside this one does it.
_CELLS_BEFORE_LOADING = 200_000
_CELLS_BEFORE_COMPILING = 2_000_000
_WORDS_FOR_BLAS = 2000  # from where on large products of matrices are faster than the kernel, and need less memory
_WORDS_FOR_THREAD = 500  # from where on a kernel may take longer than a thread costs, by far


class PlainEngine:
    """Plain Python: what small inputs use, and what the compiled kernels are tested against."""

    content = None  # no kernel that makes rules

    def similarity(self, numbering: Numbering, vectors: Vectors, known: Known, baseline: float) -> Matrix:
        """How alike the vectors of each two words are, one of an earlier reference and one of a later."""
        return soft_similarity(numbering.words, vectors, known, baseline, numbering.starts)

    def restrained(self, numbering: Numbering, similarity: Matrix, exclusions: Exclusions, position: int) -> Matrix:
        """The same, less what words of different places lose (`position` units at most); -1 where a pair is vetoed.

        The matrix that is given may be written over.
        """
        return restrain(numbering.references, similarity, exclusions, position)

    def merged(
        self, numbering: Numbering, similarity: Matrix | None, penalty: int, merge_order: MergeOrder
    ) -> tuple[list[int], Automaton]:
        """The state behind each word, and the sentences. Without a similarity, equal words are linked."""
        after = build(numbering.references, self.merges(numbering, similarity, penalty, merge_order))
        return after, self.automaton(numbering, after)

    def merges(
        self, numbering: Numbering, similarity: Matrix | None, penalty: int, merge_order: MergeOrder
    ) -> list[Merge]:
        """The pairs of references that are merged, with their links."""
        return plan_merges(numbering.references, similarity, penalty, merge_order)

    def automaton(self, numbering: Numbering, after: Sequence[int]) -> Automaton:
        """The sentences of a lattice of which the state behind each word is known."""
        return determinise(numbering.references, after, MAX_STATES)

    def matcher(self, numbering: Numbering) -> Matcher:
        """What counts the n-grams that sentences, as numbered words, share with the references."""
        trie = NgramTrie(numbering.references)
        return lambda sentences: list(map(trie.matches, sentences))

    def search(self, numbering: Numbering, automaton: Automaton, task: Task) -> Found | None:
        """The best sentences; None where that would take too much memory."""
        return search(automaton, numbering.references, task)


class CompiledEngine:
    """The kernels; making one compiles them, or loads them from the disk cache.

    `say` is told if that means a minute of compiling.
    """

    def __init__(self, say: Say = compiled.log) -> None:
        if reason := compiled.why_none():
            raise MissingExtraError(f"there is no compiled engine: {reason}")
        is_cached, started = compiled.is_cached(), perf_counter()
        if not is_cached:
            compiled.before_loading(say)
        with nullcontext() if is_cached else compiled.alone():
            import polyref.align.kernels
            import polyref.lattice.compiled.chunk
            import polyref.lattice.compiled.content
            import polyref.lattice.compiled.search
            import polyref.score.kernels

        self._align = polyref.align.kernels
        self.chunk = polyref.lattice.compiled.chunk
        self.content = polyref.lattice.compiled.content
        self._automaton = polyref.lattice.compiled.automaton
        self._search = polyref.lattice.compiled.search
        self._score = polyref.score.kernels
        how = f"loaded from {compiled.cache_folder()}" if is_cached else "compiled"
        _log.info("kernels %s in %.1f seconds", how, perf_counter() - started)

    def similarity(self, numbering: Numbering, vectors: Vectors, known: Known, baseline: float) -> Matrix:
        if len(numbering.words) >= _WORDS_FOR_BLAS:
            return soft_similarity(numbering.words, vectors, known, baseline, numbering.starts)
        halves = np.ascontiguousarray(vectors, np.float16).view(np.uint16)
        matrix: Matrix = self._align.soft_similarity(*numbering.arrays, halves, known, baseline)
        return matrix

    def restrained(self, numbering: Numbering, similarity: Matrix, exclusions: Exclusions, position: int) -> Matrix:
        _run(self._align.restrain, numbering, similarity, exclusions.codes, exclusions.table, position)
        return similarity

    def merged(
        self, numbering: Numbering, similarity: Matrix | None, penalty: int, merge_order: MergeOrder
    ) -> tuple[list[int], Automaton]:
        matrix = _NO_MATRIX if similarity is None else similarity
        after, *arrays, deterministic, count = _run(
            self._automaton.compress, numbering, matrix, penalty, merge_order == "paper", MAX_STATES
        )
        return after.tolist(), Automaton(*arrays, deterministic=deterministic, count=count)

    def merges(
        self, numbering: Numbering, similarity: Matrix | None, penalty: int, merge_order: MergeOrder
    ) -> list[Merge]:
        matrix = _NO_MATRIX if similarity is None else similarity
        pairs, firsts, links = _run(self._align.plan_merges, numbering, matrix, penalty, merge_order == "paper")
        linked = [list(map(tuple, links[first:end].tolist())) for first, end in pairwise(firsts.tolist())]
        return [Merge(left, right, own) for (left, right), own in zip(pairs.tolist(), linked, strict=True)]

    def automaton(self, numbering: Numbering, after: Sequence[int]) -> Automaton:
        first, arcs, final = self._automaton.lattice_arcs(*numbering.arrays, np.array(after, np.int32), max(after) + 1)
        *arrays, deterministic = self._automaton.determinise(first, arcs, final, MAX_STATES)
        return Automaton(*arrays, deterministic=deterministic, count=self._automaton.count_paths(*arrays))

    def matcher(self, numbering: Numbering) -> Matcher:
        trie, root = self._score.build_trie(*numbering.arrays, len(numbering.vocabulary))

        def count(sentences: Sequence[Sequence[int]]) -> Any:
            words = np.array(list(chain.from_iterable(sentences)), np.int32)
            starts = np.array(list(accumulate(map(len, sentences), initial=0)), np.int64)
            return list(map(tuple, self._score.match_sentences(trie, root, words, starts).tolist()))

        return count

    def search(self, numbering: Numbering, automaton: Automaton, task: Task) -> Found | None:
        kernels = self._search
        rules = _NO_RULES if task.rules is None else task.rules.arrays
        status, counts, path, nodes, exact, left_out = _run(
            kernels.search,
            numbering,
            len(numbering.vocabulary),
            *automaton.arrays,
            task.wanted,
            task.max_bounds is None,
            task.lowest_order,
            task.floors,
            task.word_hashes,
            task.marks,
            np.array([task.node_budget, task.tie_limit]),
            task.max_bounds or 0,
            *rules,
        )
        if status == kernels.TOO_LARGE:
            return None
        if status == kernels.UNDECIDED:
            return search(automaton, numbering.references, task)
        lengths, orders, products, crossings, covered = counts.T.tolist()
        exact = exact and automaton.deterministic
        outside = tuple(left_out.tolist())
        return Found(path.tolist(), lengths, orders, products, crossings, exact, nodes, outside, tuple(covered))


def _run(kernel: Callable[..., Any], numbering: Numbering, *arguments: Any) -> Any:
    """Run a kernel; one that may take long in a thread, so that a signal is seen."""
    if len(numbering.words) < _WORDS_FOR_THREAD:
        return kernel(*numbering.arrays, *arguments)
    return fed(lambda none: kernel(*numbering.arrays, *arguments), ())


Engine = PlainEngine | CompiledEngine


@dataclass
class AutoEngine:
    """Plain Python until there is enough to do, and the kernels are there; then the fastest engine."""

    say: Say = compiled.log
    cells: int = 0
    ahead: int = 0  # cells of all that is to be done, as far as it is known

    @cached_property
    def _fastest(self) -> Engine:
        return fastest_engine(self.say)

    def load(self) -> None:
        """Load the fastest engine now, as in a thread: until that is done, others work in plain Python."""
        _ = self._fastest

    def wants_kernels(self, cells: int) -> bool:
        """Whether the kernels are worth it for so many more cells. While another process compiles them, few are not."""
        total = max(self.cells + cells, self.ahead)
        if "_fastest" in self.__dict__ or cells > _CELLS_BEFORE_COMPILING:
            return True
        if total <= _CELLS_BEFORE_LOADING:
            return False
        if compiled.is_cached():
            return True
        return not compiled.compiles_beside(self.say) and total > _CELLS_BEFORE_COMPILING

    def ready(self, examples: Sequence[Sequence[Sized]]) -> Engine | None:
        """The fastest engine, if it is loaded or worth loading for all these examples together."""
        if "_fastest" not in self.__dict__:
            cells = sum([alignment_cells(list(map(len, references))) for references in examples])
            if not self.wants_kernels(cells):
                return None
        return self._fastest

    def choose(self, references: Sequence[Sequence[int]], share: float = 1.0) -> Engine:
        """The engine for an example with these references, of which this share of the usual work is to be done."""
        cells = int(share * alignment_cells(list(map(len, references))))
        engine = self._fastest if self.wants_kernels(cells) else PlainEngine()
        self.cells += cells
        return engine


def alignment_cells(lengths: Sequence[int]) -> int:
    """How many word pairs the alignment of references of these lengths looks at."""
    total = sum(lengths)
    return (total * total - sum(length * length for length in lengths)) // 2


def fastest_engine(say: Say = compiled.log) -> Engine:
    """The kernels; where there can be none, plain Python. `say` is told what that costs, once."""
    return CompiledEngine(say) if compiled.is_usable(say) else PlainEngine()


def engine_named(name: EngineName, say: Say = compiled.log) -> Engine | AutoEngine:
    """The engine of a name. `say` is told if its kernels must be compiled, or cannot be."""
    if name == "plain":
        return PlainEngine()
    if name == "compiled":
        return CompiledEngine(say)
    if name == "auto":
        return AutoEngine(say)
    raise SettingsError(f'unknown engine "{name}"; choose one of auto, plain, compiled')
