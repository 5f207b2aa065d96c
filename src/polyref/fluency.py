"""Leave out sentences that are less fluent than what people wrote.

In:   lattices, the number of new sentences wanted of each, a language model, and a margin.
Out:  of each lattice, the best new sentences by BLEU among those that are fluent enough, with their fluency.
Not:  the language model (encode/), the search (lattice/).

A sentence's fluency is the mean over its words of log p(word | the words around it). It must not lie below that of the
example's least fluent gold reference by more than the margin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import NamedTuple, Protocol

from polyref.encode import Choosy
from polyref.example import PseudoReference
from polyref.lattice import CAUSES, Found, Lattice, Rules, SearchSettings

# Of each example, the best sentences by BLEU that are looked at, for each that is wanted.
LOOKED_AT = 32
NOT_FLUENT = "fluency"  # the cause beside those of the rules


class LanguageModel(Protocol):
    """Anything that can tell how fluent sentences are; the same for a sentence whatever others are asked about."""

    @property
    def name(self) -> str: ...

    def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]: ...


class Chosen(NamedTuple):
    """New sentences of one lattice, best first by BLEU, and how many were left out by each cause.

    `exact` is False where the search was not, and where fluent ones may lie behind all that were looked at.
    """

    pseudo_references: tuple[PseudoReference, ...]
    exact: bool
    left_out: dict[str, int]
    rules: Rules | None


def written(lattice: Lattice, found: Found, rules: Rules | None) -> Iterator[PseudoReference]:
    """Sentences that a search found, with their judgements."""
    texts, bleus = lattice.texts(found), lattice.bleus(found)
    if rules is None:
        return map(PseudoReference, texts, bleus)
    contents = rules.coverage(lattice.numbered(found)) if rules.shared else repeat(None)
    return map(PseudoReference, texts, bleus, repeat(False), repeat(None), contents, found.crossings)


def left_out(found: Found) -> dict[str, int]:
    """What rules have left out, by cause."""
    return {cause: count for cause, count in zip(CAUSES, found.left_out, strict=True) if count}


def choose_fluent(
    lattices: Sequence[Lattice],
    rules: Sequence[Rules | None],
    wanted: Sequence[int],
    margin: float,
    model: LanguageModel,
    search: SearchSettings,
) -> list[Chosen]:
    """The new sentences of each lattice. All lattices are asked together, so that the model reads large batches."""
    floors = fluency_floors(lattices, margin, model)
    chosen = [Chosen((), True, {}, of_one) for of_one in rules]
    # By their words: a search that ran out of its budget need not begin with what a smaller one found.
    judged: list[dict[tuple[str, ...], float]] = [{} for _ in lattices]
    most = [max(count, min(LOOKED_AT * count, search.tie_limit)) for count in wanted]
    asked = [min(2 * count, limit) for count, limit in zip(wanted, most, strict=True)]
    waiting = [k for k, count in enumerate(wanted) if count > 0]
    while waiting:
        found = {k: lattices[k].search(asked[k], search, rules[k]) for k in waiting}
        words = {k: lattices[k].words(found[k]) for k in waiting}
        unread = {k: [one for one in words[k] if one not in judged[k]] for k in waiting}
        fluencies = iter(model.fluency([one for k in waiting for one in unread[k]]))
        again = []
        for k in waiting:
            judged[k].update((one, next(fluencies)) for one in unread[k])
            values = [judged[k][one] for one in words[k]]
            fluent = [n for n, value in enumerate(values) if value >= floors[k]][: wanted[k]]
            exhausted = len(values) < asked[k] or asked[k] >= most[k]
            if len(fluent) < wanted[k] and not exhausted:
                again.append(k)
                asked[k] = min(2 * asked[k], most[k])
                continue
            seen = fluent[-1] + 1 if len(fluent) == wanted[k] else len(values)
            sentences = list(written(lattices[k], found[k], rules[k]))
            pseudo = tuple(replace(sentences[n], fluency=values[n]) for n in fluent)
            exact = found[k].exact and (len(fluent) == wanted[k] or len(values) < asked[k])
            not_fluent = {NOT_FLUENT: seen - len(fluent)} if seen > len(fluent) else {}
            chosen[k] = Chosen(pseudo, exact, left_out(found[k]) | not_fluent, rules[k])
        waiting = again
    return chosen


def fluency_floors(lattices: Sequence[Lattice], margin: float, model: LanguageModel) -> list[float]:
    """How fluent a sentence of each lattice must be."""
    sentences = [tokens.words for lattice in lattices for tokens in lattice.tokens]
    if isinstance(model, Choosy):
        model.check(sentences)
    gold = iter(model.fluency(sentences))
    # Four digits, as the fluencies have them.
    return [round(min(next(gold) for _ in lattice.tokens) - margin, 4) for lattice in lattices]
