"""Leave out sentences that are less fluent than what people wrote.

In:   lattices, the number of new sentences wanted of each, a language model, and a margin.
Out:  of each lattice, the best new sentences by BLEU among those that are fluent enough, with their fluency.
Not:  the language model (encode/), the search (lattice/).

A sentence's fluency is the mean over its words of log p(word | the words around it). It must not lie below that of the
example's least fluent gold reference by more than the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from polyref.encode import Choosy
from polyref.example import PseudoReference
from polyref.lattice import Lattice, SearchSettings

# Of each example, the best sentences by BLEU that are looked at, for each that is wanted.
LOOKED_AT = 32


class LanguageModel(Protocol):
    """Anything that can tell how fluent sentences are; the same for a sentence whatever others are asked about."""

    @property
    def name(self) -> str: ...

    def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]: ...


class Chosen(NamedTuple):
    """New sentences of one lattice, best first by BLEU; `left_out` is the number of those that were not fluent enough.

    `exact` is False where the search was not, and where fluent ones may lie behind all that were looked at.
    """

    pseudo_references: tuple[PseudoReference, ...]
    exact: bool
    left_out: int


def choose_fluent(
    lattices: Sequence[Lattice], wanted: Sequence[int], margin: float, model: LanguageModel, search: SearchSettings
) -> list[Chosen]:
    """The new sentences of each lattice. All lattices are asked together, so that the model reads large batches."""
    floors = fluency_floors(lattices, margin, model)
    chosen = [Chosen((), True, 0) for _ in lattices]
    # By their words: a search that ran out of its budget need not begin with what a smaller one found.
    judged: list[dict[tuple[str, ...], float]] = [{} for _ in lattices]
    most = [max(count, min(LOOKED_AT * count, search.tie_limit)) for count in wanted]
    asked = [min(2 * count, limit) for count, limit in zip(wanted, most, strict=True)]
    waiting = [k for k, count in enumerate(wanted) if count > 0]
    while waiting:
        found = {k: lattices[k].search(asked[k], search) for k in waiting}
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
            texts, bleus = lattices[k].texts(found[k]), lattices[k].bleus(found[k])
            seen = fluent[-1] + 1 if len(fluent) == wanted[k] else len(values)
            pseudo = tuple(PseudoReference(texts[n], bleus[n], fluency=values[n]) for n in fluent)
            exact = found[k].exact and (len(fluent) == wanted[k] or len(values) < asked[k])
            chosen[k] = Chosen(pseudo, exact, seen - len(fluent))
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
