"""From references to pseudo-references: Section 3 of the paper in one place.

In:   examples, one after the other.
Out:  the same examples with pseudo-references, in the same order; memory does not grow with their number.
Not:  files, workers (scale/).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from time import perf_counter
from typing import Literal, get_args

from polyref.align import AlignSettings
from polyref.encode import Encoder, Encoding
from polyref.errors import InputError, SettingsError
from polyref.example import Example, LatticeSummary, PseudoReference
from polyref.lattice import AutoEngine, Engine, SearchSettings, check_words, merge, prepare
from polyref.tally import Tally
from polyref.text import TextSettings, Tokens, tokenize

Shortfall = Literal["keep", "repeat", "fail"]

# Examples are encoded so many at a time, whatever the number of workers: batches depend on the input alone.
CHUNK = 128


@dataclass(frozen=True, slots=True)
class ExpandSettings:
    """`per_example` is the paper's K': the references wanted in all, gold ones included.

    `shortfall` says what happens where a lattice has too few sentences: keep what there is, repeat references in turn
    (gold ones first), or fail.
    """

    per_example: int = 20
    shortfall: Shortfall = "keep"
    text: TextSettings = field(default_factory=TextSettings)
    align: AlignSettings = field(default_factory=AlignSettings)
    search: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        if not 1 <= self.per_example <= self.search.tie_limit:
            raise SettingsError(f"per-example is {self.per_example}; give a number from 1 to {self.search.tie_limit:,}")
        if self.shortfall not in get_args(Shortfall):
            raise SettingsError(f'unknown shortfall "{self.shortfall}"; choose one of {", ".join(get_args(Shortfall))}')


def expand(
    examples: Iterable[Example],
    per_example: int | None = None,
    *,
    settings: ExpandSettings | None = None,
    encoder: Encoder | None = None,
    engine: Engine | AutoEngine | None = None,
    tally: Tally | None = None,
) -> Iterator[Example]:
    """Give each example pseudo-references until it has `per_example` references in all.

    Soft alignment needs an encoder. A `tally` counts what happens on the way.
    """
    settings = settings or ExpandSettings()
    if per_example is not None:
        settings = replace(settings, per_example=per_example)
    return _expand(iter(examples), settings, encoder, engine or AutoEngine(), Tally() if tally is None else tally)


def _expand(
    waiting: Iterator[Example],
    settings: ExpandSettings,
    encoder: Encoder | None,
    engine: Engine | AutoEngine,
    tally: Tally,
) -> Iterator[Example]:
    while chunk := list(islice(waiting, CHUNK)):
        yield from expand_chunk(chunk, settings, encoder, engine, tally)


def expand_chunk(
    examples: Sequence[Example],
    settings: ExpandSettings,
    encoder: Encoder | None,
    engine: Engine | AutoEngine,
    tally: Tally,
) -> list[Example]:
    """Expand examples that are encoded together."""
    started = perf_counter()
    tokens = [[tokenize(reference.text, settings.text) for reference in example.references] for example in examples]
    for example, references in zip(examples, tokens, strict=True):
        check_words(references, example.line)
    tally.spend("tokens", started)
    started = perf_counter()
    baseline, encodings = prepare(settings.align, encoder, [words for example in tokens for words in example])
    tally.spend("encode", started)
    expanded = []
    done = 0
    for example, references in zip(examples, tokens, strict=True):
        vectors = None if encodings is None else encodings[done : done + len(references)]
        done += len(references)
        expanded.append(expand_example(example, references, vectors, baseline, settings, engine, tally))
    return expanded


def expand_example(
    example: Example,
    tokens: Sequence[Tokens],
    vectors: Sequence[Encoding] | None,
    baseline: float,
    settings: ExpandSettings,
    engine: Engine | AutoEngine,
    tally: Tally,
) -> Example:
    """Merge the references into a lattice, and read the best new sentences off it."""
    started = perf_counter()
    lattice = merge(tokens, vectors, settings.align, text=settings.text, baseline=baseline, engine=engine)
    tally.spend("lattice", started)
    started = perf_counter()
    found = lattice.search(settings.per_example - len(example.references), settings.search)
    pseudo = tuple(map(PseudoReference, lattice.texts(found), lattice.bleus(found)))
    tally.spend("search", started)
    short = settings.per_example - len(example.references) - len(pseudo)
    if short > 0:
        pseudo = fill_up(example, pseudo, short, settings)
    tally.count(example, pseudo, sentences=lattice.count, exact=found.exact, short=short > 0)
    summary = LatticeSummary(lattice.count, lattice.penalty, found.exact)
    return replace(example, pseudo_references=pseudo, lattice=summary)


def fill_up(
    example: Example, pseudo: tuple[PseudoReference, ...], short: int, settings: ExpandSettings
) -> tuple[PseudoReference, ...]:
    """What to do about an example that gives too few sentences."""
    if settings.shortfall == "fail":
        raise InputError(
            f'the example "{example.id}" gives {settings.per_example - short} references of {settings.per_example}',
            "ask for fewer, or choose --shortfall keep or repeat",
            line=example.line,
        )
    if settings.shortfall == "keep":
        return pseudo
    gold = [PseudoReference(reference.text, 100.0, repeat=True) for reference in example.references]
    again = cycle([*gold, *[replace(reference, repeat=True) for reference in pseudo]])
    return (*pseudo, *islice(again, short))
