"""Fresh paths: other pseudo-references in every epoch, from the lattices that expand has kept.

In:   examples with kept lattices, how many references each is to get, an epoch and a seed.
Out:  for each example, the pseudo-references of that epoch.
Not:  keeping lattices (expansion.py), drawing one sentence (lattice/), the order of training (schedule/).

What an example gets depends on its id, its lattice, the epoch and the seed, and on nothing else: no state is kept from
one epoch to the next, and any part of the examples can be drawn for.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

from polyref.errors import InputError, SettingsError
from polyref.example import Example, PseudoReference
from polyref.expansion import CHUNK, Tools
from polyref.judge import LOOKED_AT, Reader, judged, restored_rules, written
from polyref.lattice import AutoEngine, Candidate, Engine, Found, Lattice, SearchSettings, restore
from polyref.settings import required, setting, settings

By = Literal["uniform", "rank"]
Passing = TypeVar("Passing")

# Sentences that are looked at for each that is wanted, and at least; smaller lattices are looked at as a whole.
TRIES, LEAST_TRIES = 64, 1000
# The number of best sentences that are ranked, or drawn from where few pass. One number for all epochs: what a larger
# search finds need not begin with what a smaller one found.
RANKED = 1000
# Where few pass, the best are searched with a small budget: it is no reason to wait for long.
_NODES_FOR_POOL = 100_000
_FRESH = ("per_example", None)


@settings(group="Fresh pseudo-references")
class FreshSettings:
    """How pseudo-references are drawn anew for each epoch. `per_example` does not count gold references."""

    per_example: int = required(
        "New pseudo-references per example and epoch.",
        more="From lattices that were kept.",
        at_least=1,
        at_most=10_000,
        option="--fresh",
    )
    by: By = setting(
        "uniform",
        "Equally likely, or the next best.",
        more="uniform: of all that pass; rank: in every epoch.",
        option="--fresh-by",
        needs=_FRESH,
    )
    min_bleu: float = setting(
        80.0,
        "Lowest BLEU of a fresh path.",
        more="0 also admits those that score 0.",
        at_least=0,
        at_most=100,
        option="--min-bleu",
        metavar="B",
        needs=_FRESH,
    )
    fluency: float | None = setting(
        None,
        "How much less fluent than gold it may be; try 0.",
        at_least=-100,
        at_most=100,
        hint="such as 0",
        option="--fluency",
        metavar="MARGIN",
        needs=_FRESH,
    )


def draw_fresh(
    examples: Sequence[Example], settings: FreshSettings, *, epoch: int, seed: int, tools: Tools | None = None
) -> list[tuple[PseudoReference, ...]]:
    """For each example, its pseudo-references of an epoch (the first is 0): new sentences, none of them twice.

    They are fewer than asked for where fewer pass. By "uniform", sentences are drawn until enough pass. In a lattice of
    more than a thousand sentences, of which hardly one passes, the draws are given up; then the rest is drawn from the
    thousand best by BLEU that pass. That is still uniform unless more than a thousand pass. By "rank", the ranking has
    a thousand sentences, and begins again behind the last one that passes.
    """
    if epoch < 0:
        raise SettingsError(f"the epoch is {epoch}", "give 0 or more")
    search = SearchSettings(seed, settings.min_bleu)
    tools = tools or _default_tools()
    found: list[tuple[PseudoReference, ...]] = []
    for start in range(0, len(examples), CHUNK):
        # One lattice at a time; but a language model wants to read many sentences at once.
        chunk = examples[start : start + CHUNK]
        sources = (_source(example, settings, search, epoch, tools.engine) for example in chunk)
        if settings.fluency is None:
            for lattice, candidates, wanted in sources:
                passing = _of_epoch(list(islice(candidates, wanted)), settings, epoch)
                found.append(tuple(written(lattice, Found.of(passing, lattice.rules, exact=True, nodes=0))))
        else:
            fluent = _fluent(list(sources), Reader(tools.model(), settings.fluency))
            found += [tuple(_of_epoch(passing, settings, epoch)) for passing in fluent]
    return found


@cache
def _default_tools() -> Tools:
    # The engine remembers how much it has done: the kernels are loaded once they are worth it.
    return Tools()


class _Source(NamedTuple):
    """Where an example's sentences come from: those that reach the floor of BLEU, in the order of this epoch.

    They keep the rules that were kept with the lattice.
    """

    lattice: Lattice
    found: Iterator[Candidate]
    wanted: int  # how many of them an epoch must know to tell which are its own


def _source(
    example: Example, settings: FreshSettings, search: SearchSettings, epoch: int, engine: Engine | AutoEngine
) -> _Source:
    if settings.by == "rank":
        lattice = lattice_of(example, engine, share=1.0)
        size = max(RANKED, settings.per_example)
        return _Source(lattice, iter(_best(lattice, size, search)), min((epoch + 1) * settings.per_example, size))
    # Without alignment and search, less is left that the kernels do faster.
    lattice = lattice_of(example, engine, share=1 / 8)
    # One number for an example in an epoch, the same on every machine.
    text = f"{search.seed} {epoch} {example.id}".encode("utf-8", "surrogatepass")
    generator = random.Random(int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little"))
    most = LOOKED_AT * settings.per_example
    return _Source(lattice, islice(_shuffled(lattice, generator, settings, search), most), settings.per_example)


def lattice_of(example: Example, engine: Engine | AutoEngine, *, share: float) -> Lattice:
    """The kept lattice of an example, with the rules that were kept; `share` is that of `AutoEngine.choose`."""
    kept = None if example.lattice is None else example.lattice.kept
    if example.lattice is None or kept is None:
        problem = f'the example "{example.id}" has no kept lattice'
        raise InputError(problem, "expand it anew with --keep-lattice", line=example.line)
    texts = [reference.text for reference in example.references]
    try:
        lattice = restore(texts, kept, penalty=example.lattice.penalty, engine=engine, share=share)
        lattice.rules = None if kept.rules is None else restored_rules(lattice, kept.rules)
        return lattice
    except InputError as error:
        problem = f'the example "{example.id}": {error.problem}'
        raise InputError(problem, error.cure, line=example.line) from None


def _shuffled(
    lattice: Lattice, generator: random.Random, settings: FreshSettings, search: SearchSettings
) -> Iterator[Candidate]:
    """The sentences that reach the floor, in a random order."""
    tries = max(LEAST_TRIES, TRIES * settings.per_example)
    drawn: set[tuple[int, ...]] = set()
    for candidate in lattice.draws(generator, min_bleu=settings.min_bleu, tries=tries):
        drawn.add(candidate.identity)
        yield candidate
    if lattice.count <= tries:
        return
    best = _best(lattice, RANKED, replace(search, node_budget=_NODES_FOR_POOL))
    rest = [candidate for candidate in best if candidate.identity not in drawn]
    generator.shuffle(rest)
    yield from rest


def _best(lattice: Lattice, size: int, search: SearchSettings) -> list[Candidate]:
    found, rules = lattice.search(size, search), lattice.rules
    numbered = zip(found.arcs, found.orders, found.products, lattice.numbered(found), found.crossings, strict=True)
    return [
        Candidate(tuple(arcs), order, product, 0, tuple(words), crossings, None if rules is None else rules.core(words))
        for arcs, order, product, words, crossings in numbered
    ]


def _of_epoch(passing: list[Passing], settings: FreshSettings, epoch: int) -> list[Passing]:
    """What an epoch takes of all that pass up to it."""
    if settings.by == "uniform" or not passing:
        return passing
    first = epoch * settings.per_example
    size = min(settings.per_example, len(passing))
    # Behind the last one that passes, the ranking begins again.
    return [passing[place % len(passing)] for place in range(first, first + size)]


def _fluent(sources: Sequence[_Source], reader: Reader) -> list[list[PseudoReference]]:
    """Of each source, as many sentences as are wanted that are as fluent as the gold ones. All are judged together."""
    floors = reader.floors([source.lattice for source in sources])
    passing: list[list[PseudoReference]] = [[] for _ in sources]
    waiting = list(range(len(sources)))
    while waiting:
        found = []
        for k in waiting:
            wanted = sources[k].wanted - len(passing[k])
            candidates = list(islice(sources[k].found, wanted))
            found.append(Found.of(candidates, sources[k].lattice.rules, exact=True, nodes=0))
        lattices = [sources[k].lattice for k in waiting]
        words = [lattice.words(new) for lattice, new in zip(lattices, found, strict=True)]
        verdicts = reader.verdicts(lattices, [floors[k] for k in waiting], words)
        for k, new, said in zip(waiting, found, verdicts, strict=True):
            sentences = zip(judged(sources[k].lattice, new, said), said, strict=True)
            passing[k] += [sentence for sentence, verdict in sentences if verdict.cause is None]
        goes_on = [bool(new.lengths) for new in found]
        waiting = [k for k, on in zip(waiting, goes_on, strict=True) if on and len(passing[k]) < sources[k].wanted]
    return passing
