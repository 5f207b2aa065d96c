"""A word lattice of an example's references: count, list, sample, choose, score.

In:   references as texts, and how to align them.
Out:  a Lattice, and Sentences with their score and the origin of each word.
Not:  the steps behind it (build.py, determinise.py, search.py), files (data/).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, ClassVar

from polyref.align import AlignSettings
from polyref.encode import Encoder
from polyref.errors import SettingsError
from polyref.lattice.build import START
from polyref.lattice.determinise import Automaton, path_of, suffix_counts
from polyref.lattice.engine import AutoEngine, Compressed, Engine, EngineName, Matcher
from polyref.lattice.hashing import word_hashes
from polyref.lattice.numbering import Numbering
from polyref.lattice.parts import Aligned, Arc, Sentence
from polyref.lattice.settings import SearchSettings
from polyref.lattice.task import Found, Task, floors_for
from polyref.lattice.writing import Writer
from polyref.score import MAX_ORDER, BleuScale, Matches, NgramTrie
from polyref.text import TextSettings, Tokens, tokenize


class Lattice:
    """The references of one example, merged. Made by `from_references` or `merge`."""

    def __init__(
        self,
        tokens: Sequence[Tokens],
        numbering: Numbering,
        compressed: Compressed,
        engine: Engine,
        *,
        text: TextSettings,
        penalty: float | None,
        aligned: Aligned | None = None,
    ):
        self.tokens = tokens
        self.penalty = penalty
        self.aligned = aligned
        self.text = text
        self.numbering = numbering
        self._compressed = compressed
        self._engine = engine

    @classmethod
    def from_references(
        cls,
        references: Sequence[str],
        *,
        align: AlignSettings | None = None,
        text: TextSettings | None = None,
        encoder: Encoder | None = None,
        engine: EngineName | Engine | AutoEngine = "auto",
    ) -> Lattice:
        """The lattice of some texts; soft alignment uses the built-in encoder unless another one is given."""
        from polyref.lattice.merging import check_words, engine_named, merge, prepare

        chosen = engine_named(engine) if isinstance(engine, str) else engine
        text = text or TextSettings()
        if isinstance(references, str) or not references:
            raise SettingsError("references must be a list of at least one text")
        tokens = [tokenize(reference, text) for reference in references]
        check_words(tokens)
        align = align or AlignSettings()
        baseline, encodings = prepare(align, encoder, tokens)
        return merge(tokens, encodings, align, text=text, baseline=baseline, engine=chosen)

    # -- what it is -------------------------------------------------------------------------------------------

    @property
    def states(self) -> int:
        return self._compressed.states

    @property
    def after(self) -> Sequence[int]:
        """The state behind each word of the distinct references, counted over all of them."""
        return self._compressed.after

    @property
    def pieces(self) -> int:
        """How many parts the links leave the references in: 1 where all are joined."""
        return self._compressed.pieces

    @property
    def count(self) -> int:
        """The number of distinct sentences, exactly."""
        return self._compressed.count

    @property
    def new(self) -> int:
        """How many of the sentences are no gold reference."""
        return self.count - len(self.numbering.references)

    @property
    def deterministic(self) -> bool:
        """False where the lattice was too intricate to tell sentences from paths: then `count` counts paths."""
        return self._compressed.deterministic

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """Every arc once, in the order of its states and its word's number; states go upwards from 0."""
        said: dict[tuple[int, int, int], list[int]] = {}
        for gold, steps in enumerate(self._steps_of_references):
            for step in steps:
                said.setdefault(step, []).append(gold)
        return tuple(
            Arc(source, target, self.numbering.vocabulary[word], tuple(gold))
            for (source, target, word), gold in sorted(said.items())
        )

    @cached_property
    def ways(self) -> tuple[tuple[int, ...], ...]:
        """For each gold reference, the arcs that it runs along, as positions in `arcs`."""
        steps = self._steps_of_references
        position = {step: number for number, step in enumerate(sorted(set(chain.from_iterable(steps))))}
        return tuple(tuple([position[step] for step in of_one]) for of_one in steps)

    @cached_property
    def _steps_of_references(self) -> list[list[tuple[int, int, int]]]:
        """For each gold reference and each of its words: the states before and behind it, and its number."""
        after = [int(state) for state in self._compressed.after]
        starts = list(accumulate(map(len, self.numbering.references), initial=0))
        found = []
        for distinct in self.numbering.same:
            behind = after[starts[distinct] : starts[distinct + 1]]
            words = self.numbering.references[distinct]
            found.append(list(zip([START, *behind], behind, words, strict=False)))
        return found

    @cached_property
    def finals(self) -> frozenset[int]:
        """The states where a sentence may end."""
        ends = accumulate(map(len, self.numbering.references))
        return frozenset(int(self._compressed.after[end - 1]) for end in ends)

    @property
    def automaton(self) -> Automaton:
        """The lattice made deterministic: each sentence is one path."""
        return self._compressed.automaton

    def with_states(self, compressed: Compressed, engine: Engine) -> Lattice:
        """The same references, merged in another way."""
        return Lattice(
            self.tokens, self.numbering, compressed, engine, text=self.text, penalty=self.penalty, aligned=self.aligned
        )

    # -- its sentences ----------------------------------------------------------------------------------------

    def sentences(self) -> Iterator[Sentence]:
        """Every distinct sentence, gold ones too, depth first; words in the order in which they were first read."""
        automaton = self.automaton
        path: list[int] = []
        waiting = [iter(range(automaton.first[0], automaton.first[1]))]
        while waiting:
            arc = next(waiting[-1], None)
            if arc is None:
                waiting.pop()
                if path:
                    path.pop()
                continue
            path.append(arc)
            target = automaton.target[arc]
            if automaton.final[target]:
                yield self._sentence(path)
            waiting.append(iter(range(automaton.first[target], automaton.first[target + 1])))

    def sample(self, size: int, seed: int = 0) -> list[Sentence]:
        """Sentences drawn uniformly from all, gold ones too, each draw for itself."""
        if size < 0:
            raise SettingsError(f"the sample size is {size}; give 0 or more")
        generator = random.Random(seed % 2**64)  # random takes -5 for 5
        return [self._sentence(self._draw(generator)) for _ in range(size)]

    def _draw(self, generator: random.Random) -> list[int]:
        return self.path_of(generator.randrange(self._suffix_counts[0]))

    def path_of(self, number: int) -> list[int]:
        """The automaton's arcs that spell the sentence of a number below `count`."""
        return path_of(self.automaton, self._suffix_counts, number)

    @cached_property
    def _suffix_counts(self) -> list[int]:
        return suffix_counts(self.automaton)

    def matcher(self) -> Matcher:
        """What counts the n-grams that sentences, given as numbered words, share with the references."""
        return self._engine.matcher(self.numbering.references, len(self.numbering.vocabulary))

    def best(self, size: int, settings: SearchSettings | None = None) -> list[Sentence]:
        """The best sentences by BLEU against the gold references that are not gold themselves, best first."""
        found = self.search(size, settings or SearchSettings())
        return [self._sentence(path) for path in found.arcs]

    def search(self, size: int, settings: SearchSettings) -> Found:
        """What `best` finds, as arcs and counts, and whether it is exact."""
        floors = None
        if settings.min_bleu:
            lengths = [len(reference) for reference in self.numbering.references]
            floors = floors_for(settings.min_bleu, lengths, sum(lengths))
        task = Task(
            wanted=min(size, max(self.new, 0)),
            lowest_order=1 if settings.min_bleu == 0 else MAX_ORDER,
            floors=floors,
            word_hashes=word_hashes(self.numbering.vocabulary, settings.seed),
            marks=self.numbering.marks(none=settings.unseen_marks),
            node_budget=settings.node_budget,
            tie_limit=settings.tie_limit,
        )
        found = self._engine.search(self._compressed, self.numbering.references, task)
        if found is not None:
            return found
        from polyref.lattice.sampled import best_of_sample

        generator = random.Random(settings.seed)
        return best_of_sample(self.automaton, self.numbering.references, lambda: self._draw(generator), task)

    # -- one sentence -----------------------------------------------------------------------------------------

    def __contains__(self, text: str) -> bool:
        return self._find(text) is not None

    def sentence(self, text: str) -> Sentence | None:
        """The sentence of the lattice with these words; None if it has none."""
        path = self._find(text)
        return None if path is None else self._sentence(path)

    def _find(self, text: str) -> list[int] | None:
        """The automaton's arcs that spell a text."""
        numbers = {word: number for number, word in enumerate(self.numbering.vocabulary)}
        automaton = self.automaton
        paths: dict[int, list[int]] = {0: []}
        for word in tokenize(text, self.text).words:
            number = numbers.get(word, -1)
            paths = {
                automaton.target[arc]: [*path, arc]
                for state, path in paths.items()
                for arc in range(automaton.first[state], automaton.first[state + 1])
                if automaton.word[arc] == number
            }
        return next((path for state, path in paths.items() if automaton.final[state]), None)

    def bleu(self, text: str) -> float:
        """The sentence BLEU of any text against the gold references, 0 to 100."""
        numbers = {word: number for number, word in enumerate(self.numbering.vocabulary)}
        words = tokenize(text, self.text).words
        return self._bleu([numbers.get(word, -1) for word in words])

    def _bleu(self, words: Sequence[int]) -> float:
        matches = Matches(len(words), self._trie.matches(words))
        if not words or matches.order < MAX_ORDER:
            return 0.0
        return self._scale.value(matches.length, matches.product())

    @cached_property
    def _trie(self) -> NgramTrie:
        return NgramTrie(self.numbering.references)

    @cached_property
    def _scale(self) -> BleuScale:
        return BleuScale(map(len, self.numbering.references))

    def bleus(self, found: Found) -> list[float]:
        """The scores of sentences that a search found."""
        return self._scale.values(found.lengths, found.orders, found.products)

    def texts(self, found: Found) -> list[str]:
        """Sentences that a search found, as they are written."""
        return self._writer.texts(found.path)

    def words(self, found: Found) -> list[tuple[str, ...]]:
        """Sentences that a search found, as words."""
        vocabulary = self.numbering.vocabulary
        places = [vocabulary[word] for word in chain.from_iterable(self.numbering.references)]
        origins = self._origins
        return [tuple([places[origins[arc]] for arc in arcs]) for arcs in found.arcs]

    @cached_property
    def _origins(self) -> list[int]:
        if self._compressed.arrays:
            origins: list[int] = self._compressed.arrays[3][:, 2].tolist()
            return origins
        return list(self.automaton.origin)

    @cached_property
    def _writer(self) -> Writer:
        firsts: dict[int, Tokens] = {}
        for tokens, distinct in zip(self.tokens, self.numbering.same, strict=True):
            firsts.setdefault(distinct, tokens)
        return Writer(list(firsts.values()), self._compressed.after, self._origins, self.text)

    def _sentence(self, path: Sequence[int]) -> Sentence:
        automaton, vocabulary = self.automaton, self.numbering.vocabulary
        words = [automaton.word[arc] for arc in path]
        spelled = tuple([vocabulary[word] for word in words])
        text, surfaces = self._writer.write(path)
        return Sentence(text, spelled, surfaces, self._bleu(words), self.origins(spelled))

    def origins(self, words: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """For each word of a sentence of the lattice, the gold references that say it on a path of the sentence."""
        forward: list[list[Arc]] = []
        states = {START}
        for word in words:
            forward.append([arc for state in states for arc in self._arcs_from.get(state, ()) if arc.word == word])
            states = {arc.target for arc in forward[-1]}
        states &= self.finals
        found: list[tuple[int, ...]] = []
        for arcs in reversed(forward):
            used = [arc for arc in arcs if arc.target in states]
            found.append(tuple(sorted(set(chain.from_iterable(arc.references for arc in used)))))
            states = {arc.source for arc in used}
        return tuple(reversed(found))

    @cached_property
    def _arcs_from(self) -> dict[int, list[Arc]]:
        found: dict[int, list[Arc]] = {}
        for arc in self.arcs:
            found.setdefault(arc.source, []).append(arc)
        return found

    # -- its picture ------------------------------------------------------------------------------------------

    # Drawing stands below this room: polyref/__init__.py attaches these methods, and polyref/draw has them.
    draw: ClassVar[Callable[..., str]]
    save: ClassVar[Callable[..., None]]
    steps: ClassVar[Callable[..., list[Any]]]
    _repr_svg_: ClassVar[Callable[..., str | None]]

    def __repr__(self) -> str:
        return f"<Lattice of {len(self.tokens):,} references, {self.states:,} states, {len(self.arcs):,} arcs>"
