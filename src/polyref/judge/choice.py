"""Choose the best new sentences of lattices by BLEU among those that pass every judgement.

In:   lattices, the number of new sentences wanted of each, and a reader: a language model.
Out:  of each lattice, the best new sentences that pass, with their judgements; or the best that its rules leave out.
Not:  rules, which the search applies (lattice/); the language model (encode/); the risk of seams (seams.py).

A reader judges whole sentences, so the search goes on until enough of what it finds has passed. A sentence's fluency is
the mean over its words of log p(word | the words around it). It must not lie below that of the example's least fluent
gold reference by more than a margin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple, Protocol

from polyref.encode import Choosy
from polyref.errors import SettingsError
from polyref.example import PseudoReference
from polyref.judge.content import explain, is_clear
from polyref.judge.seams import LIMIT, SeamModel, risks
from polyref.judge.usage import Usage
from polyref.lattice import CAUSES, Found, Lattice, SearchSettings

# Of each example, the best sentences by BLEU that are looked at, for each that is wanted.
LOOKED_AT = 128
NODES_FOR_LOWER = 10_000  # of a search that only looks for others with a lower BLEU
NOT_FLUENT, RISKY = "fluency", "seams"  # the causes beside those of the rules
READ_CAUSES = frozenset({NOT_FLUENT, RISKY})
# What rules leave out are beginnings of sentences: however a sentence goes on, it cannot pass any more.
CAUSES_IN_WORDS = {
    "twice": "say something twice",
    "lost": "lose something",
    "marks": "leave marks open",
    "same": "are not new",
    NOT_FLUENT: "are not fluent",
    RISKY: "are ill-joined",
}


class LanguageModel(Protocol):
    """Anything that can tell how fluent sentences are; the same for a sentence whatever others are asked about.

    To judge seams it is a `SeamModel`, too.
    """

    @property
    def name(self) -> str: ...

    def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]: ...


class Verdict(NamedTuple):
    """What a reader says of a sentence: what it measured, and why the sentence is left out, if it is."""

    fluency: float | None
    risk: float | None
    cause: str | None


@dataclass(frozen=True)
class Reader:
    """A language model and what it judges: fluency by a margin, the seams by what is known of a file's words."""

    model: LanguageModel
    margin: float | None = None
    usage: Usage | None = None  # None: seams are not judged
    limit: float = LIMIT  # of the risk of seams

    def __post_init__(self) -> None:
        if self.usage is not None and not isinstance(self.model, SeamModel):
            problem = f"{self.model.name} tells nothing about single words"
            raise SettingsError(problem, "choose another language model, or do not judge seams", key="language_model")

    def floors(self, lattices: Sequence[Lattice]) -> list[float]:
        """How fluent a sentence of each lattice must be."""
        sentences = [tokens.words for lattice in lattices for tokens in lattice.tokens]
        if isinstance(self.model, Choosy):
            try:
                self.model.check(sentences)
            except SettingsError as error:
                cure = "name a language model of that language, or do not judge seams or fluency"
                raise SettingsError(error.problem.replace("the encoder", "the language model"), cure) from None
        if self.margin is None:
            return [0.0] * len(lattices)
        gold = iter(self.model.fluency(sentences))
        # Four digits, as the fluencies have them.
        return [round(min(next(gold) for _ in lattice.tokens) - self.margin, 4) for lattice in lattices]

    def verdicts(
        self, lattices: Sequence[Lattice], floors: Sequence[float], sentences: Sequence[Sequence[tuple[str, ...]]]
    ) -> list[list[Verdict]]:
        """Of each lattice, what is said of its sentences. All are read together: models like large batches."""
        fluencies: Iterator[float | None] = repeat(None)
        if self.margin is not None:
            fluencies = iter(self.model.fluency([words for own in sentences for words in own]))
        risky: Sequence[Sequence[float | None]] = [[None] * len(own) for own in sentences]
        if self.usage is not None and isinstance(self.model, SeamModel):
            risky = risks(lattices, sentences, self.usage, self.model)
        found = []
        for floor, of_one in zip(floors, risky, strict=True):
            verdicts = []
            for risk in of_one:
                fluency = next(fluencies)
                cause = RISKY if risk is not None and risk > self.limit else None
                cause = NOT_FLUENT if fluency is not None and fluency < floor else cause
                verdicts.append(Verdict(fluency, risk, cause))
            found.append(verdicts)
        return found


class Chosen(NamedTuple):
    """New sentences of one lattice, best first by BLEU, and how many were left out by each cause.

    `exact` is False where the search was not, and where sentences that pass may lie behind all that were read.
    """

    pseudo_references: tuple[PseudoReference, ...]
    exact: bool
    left_out: dict[str, int]


def written(lattice: Lattice, found: Found) -> Iterator[PseudoReference]:
    """Sentences that a search found, with the judgements that need no reader."""
    texts, bleus, rules = lattice.texts(found), lattice.bleus(found), lattice.rules
    if rules is None:
        return map(PseudoReference, texts, bleus)
    contents = rules.contents(found.covered)
    return map(PseudoReference, texts, bleus, repeat(False), repeat(None), contents or repeat(None), found.crossings)


def judged(lattice: Lattice, found: Found, verdicts: Sequence[Verdict]) -> Iterator[PseudoReference]:
    """The same with what a reader has measured."""
    for sentence, verdict in zip(written(lattice, found), verdicts, strict=True):
        yield sentence._replace(fluency=verdict.fluency, risk=verdict.risk)


def has_lower(chosen: Chosen, lattice: Lattice, wanted: int, search: SearchSettings) -> bool:
    """Whether too few sentences were found, and there are others, with a lower BLEU than is wanted."""
    found = len(chosen.pseudo_references)
    is_short = chosen.exact and found < min(wanted, lattice.new)
    if not is_short or search.min_bleu == 0 or READ_CAUSES & chosen.left_out.keys():
        return False
    any_bleu = replace(search, min_bleu=0, node_budget=min(search.node_budget, NODES_FOR_LOWER))
    return len(lattice.search(found + 1, any_bleu).lengths) > found


def choose(lattice: Lattice, wanted: int, search: SearchSettings) -> Chosen:
    """The best new sentences of one lattice, without a reader."""
    found = lattice.search(wanted, search)
    return Chosen(tuple(written(lattice, found)), found.exact, named_causes(found.left_out))


def choose_read(
    lattices: Sequence[Lattice], wanted: Sequence[int], reader: Reader, search: SearchSettings
) -> list[Chosen]:
    """The best new sentences of each lattice that pass the reader."""
    floors = reader.floors(lattices)
    chosen = [Chosen((), True, {}) for _ in lattices]
    # By their words: a search that ran out of its budget need not begin with what a smaller one found.
    known: list[dict[tuple[str, ...], Verdict]] = [{} for _ in lattices]
    most = [max(count, min(LOOKED_AT * count, search.tie_limit)) for count in wanted]
    asked = [min(2 * count, limit) for count, limit in zip(wanted, most, strict=True)]
    waiting = [k for k, count in enumerate(wanted) if count > 0]
    while waiting:
        found = {k: lattices[k].search(asked[k], search) for k in waiting}
        words = {k: lattices[k].words(found[k]) for k in waiting}
        unread = [[one for one in words[k] if one not in known[k]] for k in waiting]
        verdicts = reader.verdicts([lattices[k] for k in waiting], [floors[k] for k in waiting], unread)
        again = []
        for k, new, of_new in zip(waiting, unread, verdicts, strict=True):
            known[k].update(zip(new, of_new, strict=True))
            said = [known[k][one] for one in words[k]]
            passing = [n for n, verdict in enumerate(said) if verdict.cause is None][: wanted[k]]
            is_enough = len(passing) == wanted[k]
            if not is_enough and len(said) == asked[k] and asked[k] < most[k]:
                again.append(k)
                asked[k] = min(2 * asked[k], most[k])
                continue
            sentences = list(judged(lattices[k], found[k], said))
            pseudo = tuple([sentences[n] for n in passing])
            exact = found[k].exact and (is_enough or len(said) < asked[k])
            seen = said[: passing[-1] + 1] if is_enough else said
            causes = Counter([verdict.cause for verdict in seen if verdict.cause is not None])
            chosen[k] = Chosen(pseudo, exact, named_causes(found[k].left_out) | causes)
        waiting = again
    return chosen


class LeftOut(NamedTuple):
    """A sentence that the rules of its lattice leave out, and the reason in words."""

    text: str
    bleu: float
    reason: str


def left_out(lattice: Lattice, wanted: int, search: SearchSettings) -> tuple[LeftOut, ...]:
    """The best new sentences by BLEU that break a rule of the lattice, best first.

    Only clear cases: a word that carries meaning is lost or said twice, or marks are open. They may be fewer where
    few of the best sentences are.
    """
    rules, free = lattice.rules, replace(lattice, rules=None)
    if rules is None:
        return ()

    def is_out(words: Sequence[int]) -> bool:
        rule = rules.broken(words)
        return rule is not None and is_clear(lattice, rule, words)

    asked, most = 2 * wanted, LOOKED_AT * wanted
    while True:
        found = free.search(min(asked, most), search)
        breaking = [n for n, words in enumerate(free.numbered(found)) if is_out(words)][:wanted]
        if len(breaking) == wanted or len(found.lengths) < asked or asked >= most:
            break
        asked *= 4
    texts, bleus, words = free.texts(found), free.bleus(found), free.words(found)
    return tuple([LeftOut(texts[n], bleus[n], explain(lattice, words[n]) or "") for n in breaking])


def named_causes(left_out: Sequence[int]) -> dict[str, int]:
    """What rules have left out, by cause."""
    return {cause: count for cause, count in zip(CAUSES, left_out, strict=True) if count}
