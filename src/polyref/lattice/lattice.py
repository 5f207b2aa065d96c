"""A word lattice of an example's references: merge, keep, count, list, sample, choose, score.

In:   references as texts, and how to align them; or what was kept of their lattice.
Out:  a Lattice, and Sentences with their score and the origin of each word.
Not:  the steps behind it (engine.py), how a sentence is written (writing.py), files (data/), pictures (draw/).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from polyref.align import AlignSettings, Matrix, MergeOrder, whole_units
from polyref.align.veto import Exclusions, exclusions
from polyref.encode import Encoder, Encoding
from polyref.errors import InputError, SettingsError
from polyref.example import KeptLattice
from polyref.lattice.engine import AutoEngine, Engine, EngineName, PlainEngine, engine_named
from polyref.lattice.plain.automaton import START, Automaton
from polyref.lattice.plain.ranking import Candidate, floors_for, word_hashes
from polyref.lattice.plain.rules import Rules
from polyref.lattice.plain.sampling import Admission, best_of_sample, draw_new
from polyref.lattice.plain.search import Found, SearchSettings, Task
from polyref.lattice.references import Numbering, prepare, tokenized
from polyref.lattice.writing import Writer
from polyref.score import MAX_ORDER, BleuScale, Matches, NgramTrie
from polyref.text import TextSettings, Tokens, tokenize
from polyref.text.tokens import Tokenizer

LIST_LIMIT = 1000  # up to here, listing everything is cheaper than bounds
MAX_BOUNDS = 8_000_000  # states times lengths of the table of bounds
_FIRST_NODES = 10_000  # of a search with a limit of time: few milliseconds


class Arc(NamedTuple):
    """A word between two states, and the gold references that have it there (counted from 0)."""

    source: int
    target: int
    word: str
    references: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the lattice. `origins` names, for each word, the gold references that have it there.

    `words` are what is compared, `surfaces` how they stand in the text.
    """

    text: str
    words: tuple[str, ...]
    surfaces: tuple[str, ...]
    bleu: float
    origins: tuple[tuple[int, ...], ...]


class Aligned(NamedTuple):
    """What the references were aligned by. Without a similarity, equal words were linked.

    The similarity is the one that alignment saw: veto and position are in it. `exclusions` tells what was vetoed.
    """

    similarity: Matrix | None
    penalty: int  # in units of 1e-4
    merge_order: MergeOrder
    exclusions: Exclusions | None = None


@dataclass(eq=False, repr=False)
class Lattice:
    """The references of one example, merged. Made by `from_references`, `merge` or `restore`.

    `after` is the state behind each word of the distinct references, counted over all of them. The automaton has one
    path per sentence. `count` is the number of distinct sentences, exactly; where the lattice was too intricate to tell
    sentences from paths, it counts paths, and `deterministic` is False.
    """

    tokens: Sequence[Tokens]
    numbering: Numbering
    after: Sequence[int]
    automaton: Automaton
    engine: Engine
    _: KW_ONLY
    text: TextSettings
    penalty: float | None
    aligned: Aligned | None = None
    rules: Rules | None = None  # which its new sentences must keep to be drawn or found

    def __post_init__(self) -> None:
        self.count, self.deterministic = self.automaton.count, self.automaton.deterministic

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
        chosen = engine_named(engine) if isinstance(engine, str) else engine
        text = text or TextSettings()
        if isinstance(references, str) or not references:
            raise SettingsError("references must be a list of at least one text")
        tokens = tokenized(references, text)
        align = align or AlignSettings()
        baseline, encodings = prepare(align, encoder, tokens)
        vectors = None if encodings is None else list(encodings)
        return merge(tokens, vectors, align, text=text, baseline=baseline, engine=chosen)

    def with_states(self, after: Sequence[int]) -> Lattice:
        """The same references, merged in another way."""
        engine = PlainEngine()
        return replace(self, after=after, automaton=engine.automaton(self.numbering, after), engine=engine)

    # -- what it is -------------------------------------------------------------------------------------------

    @property
    def states(self) -> int:
        return max(self.after) + 1

    @property
    def new(self) -> int:
        """How many of the sentences are no gold reference."""
        return self.count - len(self.numbering.references)

    @cached_property
    def pieces(self) -> int:
        """How many parts the links leave the references in: 1 where all are joined. A link shares a state."""
        parts: list[set[int]] = []
        for first, end in pairwise(self.numbering.starts):
            joined = set(self.after[first:end])
            apart = [part for part in parts if part.isdisjoint(joined)]
            parts = [*apart, joined.union(*[part for part in parts if not part.isdisjoint(joined)])]
        return len(parts)

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
        starts, found = self.numbering.starts, []
        for distinct in self.numbering.same:
            behind = self.after[starts[distinct] : starts[distinct + 1]]
            found.append(list(zip([START, *behind], behind, self.numbering.references[distinct], strict=False)))
        return found

    @cached_property
    def finals(self) -> frozenset[int]:
        """The states where a sentence may end."""
        return frozenset(self.after[end - 1] for end in self.numbering.starts[1:])

    # -- its sentences ----------------------------------------------------------------------------------------

    def sentences(self) -> Iterator[Sentence]:
        """Every distinct sentence, gold ones too, depth first; words in the order in which they were first read."""
        return map(self._sentence, self.automaton.paths())

    def sample(self, size: int, seed: int = 0) -> list[Sentence]:
        """Sentences drawn uniformly from all, gold ones too, each draw for itself."""
        if size < 0:
            raise SettingsError(f"the sample size is {size}; give 0 or more")
        generator = random.Random(seed % 2**64)  # random takes -5 for 5
        return [self._sentence(self.automaton.path(generator.randrange(self.count))) for _ in range(size)]

    def draws(self, generator: random.Random, *, min_bleu: float, tries: int) -> Iterator[Candidate]:
        """New sentences that score at least `min_bleu`, in a random order; none comes twice. `tries` are looked at."""
        marks, matcher = self.numbering.marks().tolist(), self.engine.matcher(self.numbering)
        admission = Admission(self.numbering.references, marks, self.rules)
        return draw_new(self.automaton, admission, matcher, generator, min_bleu=min_bleu, tries=tries)

    def best(self, size: int, settings: SearchSettings | None = None) -> list[Sentence]:
        """The best sentences by BLEU against the gold references that are not gold themselves, best first."""
        return list(map(self._sentence, self.search(size, settings or SearchSettings()).arcs))

    def search(self, size: int, settings: SearchSettings) -> Found:
        """What `best` finds, as arcs and counts, and whether it is exact."""
        wanted = min(size, self.new)
        if wanted < 1:
            return Found.of([], self.rules, exact=self.deterministic, nodes=0)
        lengths = [len(reference) for reference in self.numbering.references]
        task = Task(
            wanted=wanted,
            lowest_order=1 if settings.min_bleu == 0 else MAX_ORDER,
            floors=floors_for(settings.min_bleu, lengths),
            word_hashes=word_hashes(self.numbering.vocabulary, settings.seed),
            marks=self.numbering.marks(none=settings.unseen_marks),
            node_budget=settings.node_budget,
            tie_limit=settings.tie_limit,
            max_bounds=None if self.count <= LIST_LIMIT else MAX_BOUNDS,
            rules=self.rules,
        )
        found = self._search(task, settings.example_seconds)
        if found is None:
            generator, matcher = random.Random(settings.seed), self.engine.matcher(self.numbering)
            found = best_of_sample(self.automaton, self.numbering.references, task, matcher, generator)
        return found

    def _search(self, task: Task, seconds: float | None) -> Found | None:
        """A search that ends in time: with a small budget first, then with as large a one as the time left allows.

        So no search looks at a clock, and one that is short is the same as without a limit.
        """
        if seconds is None:
            return self.engine.search(self.numbering, self.automaton, task)
        started, budget = perf_counter(), min(_FIRST_NODES, task.node_budget)
        while True:
            before = perf_counter()
            found = self.engine.search(self.numbering, self.automaton, replace(task, node_budget=budget))
            now = perf_counter()
            fits = int(budget * (started + seconds - now) / max(now - before, 1e-9))
            larger = min(fits, 8 * budget, task.node_budget)
            if found is None or found.exact or found.nodes < budget or larger <= budget:
                return found
            budget = larger

    def bleus(self, found: Found) -> list[float]:
        """The scores of sentences that a search found."""
        return self._scale.values(found.lengths, found.orders, found.products)

    def numbered(self, found: Found) -> list[list[int]]:
        """Sentences that a search found, as the numbers of their words."""
        word = self.automaton.word
        return [[word[arc] for arc in arcs] for arcs in found.arcs]

    def texts(self, found: Found) -> list[str]:
        """Sentences that a search found, as they are written."""
        return self._writer.texts(found.path)

    def words(self, found: Found) -> list[tuple[str, ...]]:
        """Sentences that a search found, as words."""
        vocabulary = self.numbering.vocabulary
        words = [vocabulary[word] for word in self.automaton.word]
        return [tuple([words[arc] for arc in arcs]) for arcs in found.arcs]

    # -- one sentence -----------------------------------------------------------------------------------------

    def __contains__(self, text: str) -> bool:
        return self.automaton.find(self._numbers(text)) is not None

    def sentence(self, text: str) -> Sentence | None:
        """The sentence of the lattice with these words; None if it has none."""
        path = self.automaton.find(self._numbers(text))
        return None if path is None else self._sentence(path)

    def bleu(self, text: str) -> float:
        """The sentence BLEU of any text against the gold references, 0 to 100."""
        return self._bleu(self._numbers(text))

    def _numbers(self, text: str) -> list[int]:
        """The words of any text; -1 for one that no reference has."""
        numbers = {word: number for number, word in enumerate(self.numbering.vocabulary)}
        return [numbers.get(word, -1) for word in tokenize(text, self.text).words]

    def _bleu(self, words: Sequence[int]) -> float:
        return self._scale.score(Matches(len(words), self._trie.matches(words)))

    @cached_property
    def _trie(self) -> NgramTrie:
        return NgramTrie(self.numbering.references)

    @cached_property
    def _scale(self) -> BleuScale:
        return BleuScale(map(len, self.numbering.references))

    @cached_property
    def _writer(self) -> Writer:
        references = [self.tokens[gold] for gold in self.numbering.firsts]
        return Writer(references, self.after, self.automaton.origin, self.text)

    def _sentence(self, path: Sequence[int]) -> Sentence:
        words = [self.automaton.word[arc] for arc in path]
        spelled = tuple([self.numbering.vocabulary[word] for word in words])
        text, surfaces = self._writer.write(path)
        return Sentence(text, spelled, surfaces, self._bleu(words), self.origins(spelled))

    def origins(self, words: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """For each word of a sentence of the lattice, the gold references that have it on a path of the sentence."""
        return tuple(
            tuple(sorted({gold for number in used for gold in self.arcs[number].references}))
            for used in self.arcs_along(words)
        )

    def arcs_along(self, words: Sequence[str]) -> list[list[int]]:
        """For each word of a sentence of the lattice, the arcs that it can run along, as positions in `arcs`."""
        found: list[list[int]] = []
        arcs, states = self.arcs, {START}
        for word in words:
            found.append([n for state in states for n in self._arcs_from.get(state, ()) if arcs[n].word == word])
            states = {arcs[n].target for n in found[-1]}
        states &= self.finals
        for used in reversed(found):
            used[:] = [n for n in used if arcs[n].target in states]
            states = {arcs[n].source for n in used}
        return found

    @cached_property
    def _arcs_from(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, arc in enumerate(self.arcs):
            found.setdefault(arc.source, []).append(number)
        return found

    # -- its picture ------------------------------------------------------------------------------------------

    # Drawing stands below this room: it has these methods, and attaches them.
    draw: ClassVar[Callable[..., str]]
    save: ClassVar[Callable[..., None]]
    steps: ClassVar[Callable[..., list[Any]]]
    _repr_svg_: ClassVar[Callable[..., str | None]]

    def __repr__(self) -> str:
        return f"<Lattice of {len(self.tokens):,} references, {self.states:,} states, {len(self.arcs):,} arcs>"


def merge(
    tokens: Sequence[Tokens],
    encodings: Sequence[Encoding] | None,
    align: AlignSettings,
    *,
    text: TextSettings,
    baseline: float = 0.0,
    engine: Engine | AutoEngine,
) -> Lattice:
    """Merge tokenised references into a lattice; with encodings, one per reference, by soft alignment."""
    numbering = Numbering.of(tokens)
    chosen = engine.choose(numbering.references) if isinstance(engine, AutoEngine) else engine
    similarity = excluded = None
    if encodings is not None:
        distinct = [encodings[gold] for gold in numbering.firsts]
        vectors = np.concatenate([encoding.vectors for encoding in distinct])
        known = np.concatenate([encoding.known for encoding in distinct])
        similarity = chosen.similarity(numbering, vectors, known, baseline)
        if align.veto or align.position:
            excluded = exclusions(numbering.vocabulary, align.veto)
            similarity = chosen.restrained(numbering, similarity, excluded, whole_units(align.position))
    for penalty in align.penalties():
        after, automaton = chosen.merged(numbering, similarity, penalty, align.merge_order)
        if automaton.count >= align.enough:
            break
    aligned = Aligned(similarity, penalty, align.merge_order, excluded)
    shown = align.shown_penalty(penalty)
    return Lattice(tokens, numbering, after, automaton, chosen, text=text, penalty=shown, aligned=aligned)


# -- kept in a few numbers, and built again -----------------------------------------------------------------------


def keep(lattice: Lattice, rules: tuple[tuple[int, ...], ...] | None = None) -> KeptLattice:
    """What a lattice is built from again: for each gold reference, the states behind its words; and its rules."""
    distinct = [tuple(lattice.after[first:end]) for first, end in pairwise(lattice.numbering.starts)]
    states = tuple([distinct[number] for number in lattice.numbering.same])
    return KeptLattice(states, lattice.text.tokenizer, lattice.text.fold_case, rules)


def restore(
    references: Sequence[str],
    kept: KeptLattice,
    *,
    penalty: float | None = None,
    engine: Engine | AutoEngine,
    line: int | None = None,
    share: float = 1.0,
) -> Lattice:
    """The lattice of these references from which `kept` was taken; an InputError where it cannot be theirs.

    It counts, lists, samples and searches as that one did. What the references were aligned by is not known any more.
    `share` is that of `AutoEngine.choose`.
    """
    text, tokens, numbering, after = restored_states(references, kept, line)
    chosen = engine.choose(numbering.references, share) if isinstance(engine, AutoEngine) else engine
    return Lattice(tokens, numbering, after, chosen.automaton(numbering, after), chosen, text=text, penalty=penalty)


def restored_states(
    references: Sequence[str], kept: KeptLattice, line: int | None = None
) -> tuple[TextSettings, list[Tokens], Numbering, list[int]]:
    """How the references became words, these words, their numbers, and the state behind each of the distinct ones."""
    text = TextSettings(cast(Tokenizer, kept.tokenizer), kept.fold_case)
    tokens = tokenized(references, text, line)
    numbering = Numbering.of(tokens)
    return text, tokens, numbering, _checked_states(numbering, kept.states, line)


def _checked_states(numbering: Numbering, kept: Sequence[tuple[int, ...]], line: int | None) -> list[int]:
    """The state behind each word of the distinct references."""
    if len(kept) != len(numbering.same):
        raise _refused(f"{len(kept)} references have states, and there are {len(numbering.same)}", line)
    found: dict[int, tuple[int, ...]] = {}
    for position, (distinct, states) in enumerate(zip(numbering.same, kept, strict=True), 1):
        words = len(numbering.references[distinct])
        if len(states) != words:
            raise _refused(f"reference {position} has {words} words and {len(states)} states", line)
        if not all(before < state for before, state in zip((0, *states), states, strict=False)):
            raise _refused(f"the states of reference {position} do not grow from 1 on", line)
        if found.setdefault(distinct, states) != states:
            raise _refused(f"reference {position} has other states than the reference that it equals", line)
    after = [state for distinct in range(len(found)) for state in found[distinct]]
    # Every state stands behind a word, so their numbers have no gaps; and they cannot be more than the words.
    if len(set(after)) != max(after):
        raise _refused("the states leave out numbers", line)
    return after


def _refused(problem: str, line: int | None) -> InputError:
    cure = "expand again and keep lattices"
    return InputError(f"the kept lattice does not fit its references: {problem}", cure, line=line)
