"""Choose from many examples in one call of a kernel: the same sentences as from one after the other.

In:   the words of some examples' references, their encodings if alignment is soft, and how sentences are chosen.
Out:  for each example what is chosen, and what its lattice is like; None where it must be merged and searched alone.
Not:  the steps themselves (lattice/compiled/), how a sentence is written (lattice/writing.py), readers (choice.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, repeat
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyref.align import AlignSettings, whole_units
from polyref.align.veto import exclusions
from polyref.encode import Encoding
from polyref.example import PseudoReference
from polyref.judge.choice import NODES_FOR_LOWER, Chosen, has_lower, named_causes
from polyref.judge.usage import Usage
from polyref.lattice import CompiledEngine, Lattice, SearchSettings
from polyref.lattice.lattice import LIST_LIMIT, MAX_BOUNDS
from polyref.lattice.plain.automaton import MAX_STATES
from polyref.lattice.plain.ranking import word_hashes
from polyref.lattice.plain.rules import share
from polyref.lattice.writing import Writer, ends_inside, plain_words
from polyref.score.sentence_bleu import bleu_value
from polyref.text import TextSettings, Tokens
from polyref.text.tokens import PLAIN_MARKS

_MOST_WORDS = 20_000  # of all examples: their vectors are held together
_MOST_WRITTEN = 1_000_000  # words of all sentences that are wanted, about: some 70 MB
# Of one example. What has more takes so long that nothing is saved; and no signal is seen before all examples are done.
_MOST_OF_ONE = 250  # words
_MOST_NODES = 20_000
_made = partial(tuple.__new__, PseudoReference)  # as _make, which is a function of Python
_is_plain = attrgetter("plain")
_NO_CODES, _NO_TABLE = np.empty(0, np.int64), np.empty((0, 0), np.bool_)
_NO_HALVES, _NONE_KNOWN = np.empty((0, 0), np.uint16), np.empty(0, np.bool_)
_MARKS = np.frombuffer(bytearray("".join(PLAIN_MARKS), "ascii"), np.uint8)
_NO_USAGE = Usage()  # kept, for what it learns of words by themselves


class OfOne(NamedTuple):
    """What is chosen of one example; how many sentences its lattice has, how many of them are new, and its penalty.

    `has_lower` says of an example that gives too few whether there are others, with a lower BLEU than is wanted.
    """

    chosen: Chosen
    sentences: int
    new: int
    penalty: float | None
    has_lower: bool

    @classmethod
    def of(cls, chosen: Chosen, lattice: Lattice, wanted: int, search: SearchSettings) -> OfOne:
        lower = has_lower(chosen, lattice, wanted, search)
        return cls(chosen, lattice.count, lattice.new, lattice.penalty, lower)


@dataclass(frozen=True)
class Together:
    """How sentences are chosen; what they say is judged if the usage of words is known."""

    engine: CompiledEngine
    align: AlignSettings
    text: TextSettings
    search: SearchSettings
    usage: Usage | None

    def can_take(self, examples: Sequence[Sequence[Tokens]], wanted: Sequence[int]) -> bool:
        """Whether the kernel can do all that is asked for, and neither too many words nor none are wanted."""
        search = self.search
        asks_more = search.min_bleu is not None or search.example_seconds is not None or search.unseen_marks
        if asks_more or (self.usage is not None and not self.text.fold_case):
            return False
        words = sum(map(len, chain.from_iterable(examples)))
        longest = [
            max(count, 0) * max(map(len, references), default=0)
            for references, count in zip(examples, wanted, strict=True)
        ]
        return words <= _MOST_WORDS and 0 < sum(longest) <= _MOST_WRITTEN

    def choose(
        self,
        examples: Sequence[Sequence[Tokens]],
        encodings: Sequence[Encoding] | None,
        baseline: float,
        wanted: Sequence[int],
    ) -> list[OfOne | None]:
        """The best new sentences of each example."""
        references = list(chain.from_iterable(examples))
        words = list(chain.from_iterable([tokens.words for tokens in references]))
        kernels, tables = self.engine.chunk, (self.usage or _NO_USAGE).tables
        vocabulary = list(dict.fromkeys(words))
        numbers = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        starts = list(accumulate([len(tokens.words) for tokens in references], initial=0))
        restrains = encodings is not None and (self.align.veto or self.align.position)
        chunk = kernels.Chunk(
            np.fromiter(map(numbers.__getitem__, words), np.int32, len(words)),
            np.array(starts, np.int64),
            np.array(list(accumulate(map(len, examples), initial=0)), np.int64),
            np.array(wanted, np.int64),
            word_hashes(vocabulary, self.search.seed),
            np.array(tables.rows(vocabulary), np.int32),
            *(exclusions(vocabulary, self.align.veto) if restrains else (_NO_CODES, _NO_TABLE)),
            *_vectors(encodings),
        )
        how, known = self._how(kernels, baseline), self.engine.content.Tables(*tables.arrays)
        told, counts, path, after = kernels.choose_all(chunk, how, known)
        return list(self._results(examples, starts, told.tolist(), counts.T.tolist(), path, after.tolist()))

    def _how(self, kernels: Any, baseline: float) -> Any:
        return kernels.How(
            baseline=float(baseline),
            position=whole_units(self.align.position),
            penalties=np.array(self.align.penalties(), np.int64),
            enough=min(self.align.enough, 2**62),
            by_paper=self.align.merge_order == "paper",
            judged=self.usage is not None,
            limits=np.array([min(self.search.node_budget, _MOST_NODES), self.search.tie_limit]),
            lower_limits=np.array([min(self.search.node_budget, NODES_FOR_LOWER), self.search.tie_limit]),
            is_cut=self.search.node_budget > _MOST_NODES,
            most_states=MAX_STATES,
            most_listed=LIST_LIMIT,
            most_bounds=MAX_BOUNDS,
            most_words=_MOST_OF_ONE,
        )

    def _written(self, path: npt.NDArray[np.int32], words: Sequence[str]) -> str:
        """What the places of a path say in these words, as plain references have it; a line's end for -1."""
        coding = "utf-8", "surrogatepass"  # whatever a program gives as text
        letters = bytearray("\n".join(words) + "\n", *coding)
        text = self.engine.chunk.written(path, np.frombuffer(letters, np.uint8), _MARKS)
        return str(text.data, *coding)

    def _results(
        self,
        examples: Sequence[Sequence[Tokens]],
        starts: Sequence[int],
        told: Sequence[Sequence[int]],
        counts: Sequence[Sequence[int]],
        path: npt.NDArray[np.int32],
        after: list[int],
    ) -> Iterator[OfOne | None]:
        """What the kernel tells, in the words of the references."""
        kernels = self.engine.chunk
        lengths, closest, products, crossings, covered = counts
        together = self._written(path, plain_words(examples, after))
        texts, has_ends = together.split("\n"), ends_inside(together)
        contents: list[float | None] = []
        owned: list[slice | None] = []  # of each example, its sentences; None where it must be searched alone
        path_ends = [*[row[kernels.PATH] for row in told[1:]], len(path)]
        first = reference = 0
        for references, row, end in zip(examples, told, path_ends, strict=True):
            own = slice(first, first + row[kernels.FOUND])
            first, place, reference = own.stop, starts[reference], reference + len(references)
            total = row[kernels.SHARED]
            contents += map(share, covered[own], repeat(total)) if total else repeat(None, row[kernels.FOUND])
            is_chosen, is_plain = row[kernels.IS_CHOSEN], all(map(_is_plain, references))
            if is_chosen and (not is_plain or (has_ends and ends_inside("\n".join(texts[own])))):
                is_chosen = row[kernels.DISTINCT] == len(references)
                if is_chosen:
                    states = after[place : starts[reference]]
                    own_path = [-1 if word < 0 else word - place for word in path[row[kernels.PATH] : end].tolist()]
                    texts[own] = Writer(references, states, range(len(states)), self.text).texts(own_path)
            owned.append(own if is_chosen else None)
        changes: Iterable[int | None] = repeat(None) if self.usage is None else crossings
        bleus = map(bleu_value, lengths, closest, products)
        judgements = repeat(False), repeat(None), contents, changes, repeat(None)
        pseudo = list(map(_made, zip(texts, bleus, *judgements, strict=False)))
        penalties = list(map(self.align.shown_penalty, self.align.penalties()))
        for found, row in zip(owned, told, strict=True):
            if found is None:
                yield None
                continue
            left_out = named_causes(row[kernels.LEFT_OUT :])
            chosen = Chosen(tuple(pseudo[found]), bool(row[kernels.IS_EXACT]), left_out)
            new = row[kernels.COUNT] - row[kernels.DISTINCT]
            yield OfOne(chosen, row[kernels.COUNT], new, penalties[row[kernels.PENALTY]], bool(row[kernels.HAS_LOWER]))


def _vectors(encodings: Sequence[Encoding] | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The vectors of all words as the bits of float16 numbers, and which words have one; none if alignment is hard."""
    if encodings is None:
        return _NO_HALVES, _NONE_KNOWN
    vectors = np.concatenate([encoding.vectors for encoding in encodings])
    known = np.concatenate([encoding.known for encoding in encodings])
    return np.ascontiguousarray(vectors, np.float16).view(np.uint16), known
