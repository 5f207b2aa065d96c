"""From references to pseudo-references: Section 3 of the paper in one place.

In:   examples, one after the other.
Out:  the same examples with pseudo-references, in the same order; memory does not grow with their number.
Not:  files, workers (scale/).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, cycle, islice
from time import perf_counter
from typing import Any, Literal

from polyref.align import AlignSettings
from polyref.data import examples_of
from polyref.encode import ContextEncoder, Encoder, Encoding, default_encoder
from polyref.errors import InputError, SettingsError
from polyref.example import Example, LatticeSummary, PseudoReference
from polyref.judge import (
    EXAMPLES_READ,
    LIMIT,
    JudgeSettings,
    LanguageModel,
    OfOne,
    Reader,
    Together,
    Usage,
    choose,
    choose_read,
    kept_rules,
    rules_of,
)
from polyref.lattice import AutoEngine, CompiledEngine, Engine, Lattice, SearchSettings, keep, merge, prepare, tokenized
from polyref.settings import part, setting, settings
from polyref.stats import Tally
from polyref.text import TextSettings, Tokens

Shortfall = Literal["keep", "repeat", "fail"]

# Examples are encoded so many at a time, whatever the number of workers: batches depend on the input alone.
CHUNK = 128


@settings(group="Pseudo-references")
class ExpandSettings:
    """How each example gets its pseudo-references."""

    per_example: int = setting(20, "References per example, gold ones included.", at_least=1, short="-k", metavar="N")
    shortfall: Shortfall = setting(
        "keep", "Too few: keep them, repeat some, or fail.", more="repeat: references in turn."
    )
    fluency: float | None = setting(
        None,
        "Leave out what is this much less fluent; try 0.",
        more="Counted from the least fluent gold reference.",
        at_least=-100,
        at_most=100,
        hint="such as 0",
        metavar="MARGIN",
    )
    judging: JudgeSettings = part(JudgeSettings)
    risk_limit: float = setting(
        LIMIT,
        "Seams: leave out what is riskier.",
        more="The default belongs to the built-in language model; one of your own may want another.",
        at_least=0,
        metavar="RISK",
        needs=("judge", "seams"),
    )
    keep_lattice: bool = setting(False, "Keep lattices, for fresh paths and soft targets.")
    text: TextSettings = part(TextSettings)
    align: AlignSettings = part(AlignSettings)
    search: SearchSettings = part(SearchSettings)

    @property
    def reads(self) -> bool:
        """Whether a language model reads the sentences."""
        return self.fluency is not None or self.judging.judge == "seams"

    def check_together(self) -> None:
        if self.per_example > self.search.tie_limit:
            problem = f"is {self.per_example:,}, above the tie limit of {self.search.tie_limit:,}"
            raise SettingsError(problem, "ask for fewer", key="per_example")


@dataclass(frozen=True, slots=True)
class Tools:
    """What the work is done with. Soft alignment takes the built-in encoder where none is given."""

    engine: Engine | AutoEngine = field(default_factory=AutoEngine)
    encoder: Encoder | None = None
    language_model: LanguageModel | None = None
    usage: Usage = field(default_factory=Usage)

    def reader(self, settings: ExpandSettings) -> Reader | None:
        """What reads sentences, if anything is to."""
        if not settings.reads:
            return None
        usage = self.usage if settings.judging.judge == "seams" else None
        return Reader(self.model(), settings.fluency, usage, settings.risk_limit)

    def model(self) -> LanguageModel:
        """What reads sentences: the model given, the encoder if it can, else the built-in one."""
        if self.language_model is not None:
            return self.language_model
        return self.encoder if isinstance(self.encoder, ContextEncoder) else default_encoder()


def expand(
    examples: Iterable[Example | Mapping[str, Any] | Sequence[str]],
    per_example: int | None = None,
    *,
    settings: ExpandSettings | None = None,
    encoder: Encoder | None = None,
    language_model: LanguageModel | None = None,
    engine: Engine | AutoEngine | None = None,
    usage: Usage | None = None,
    tally: Tally | None = None,
) -> Iterator[Example]:
    """Give each example pseudo-references until it has `per_example` references in all.

    An example may also be a dictionary, as a record of a file is, or a list of references, as ["a cat", "the cat"].
    Soft alignment uses the built-in encoder unless another one is given. `usage` is what is known of the words of the
    whole data set; without it, the first thousand examples are read ahead to know. A `tally` counts what happens on the
    way.
    """
    settings = settings or ExpandSettings()
    if per_example is not None:
        settings = replace(settings, per_example=per_example)
    if usage is not None and not isinstance(usage, Usage):
        raise SettingsError("is not a Usage", "give usage_of(examples, settings.text), or leave it out", key="usage")
    tools = Tools(engine or AutoEngine(), encoder, language_model, usage or Usage())
    return _expanded(examples_of(examples), settings, tools, Tally() if tally is None else tally, learns=usage is None)


def _expanded(
    examples: Iterable[Example], settings: ExpandSettings, tools: Tools, tally: Tally, *, learns: bool
) -> Iterator[Example]:
    waiting = iter(examples)
    ready: deque[list[Tokens]] = deque()  # of the examples that were read ahead
    if learns and settings.judging.judge != "bleu":
        started = perf_counter()
        first = list(islice(waiting, EXAMPLES_READ))
        ready.extend([_tokens(example, settings.text) for example in first])
        tools = replace(tools, usage=Usage.of([tokens.words for tokens in of_one] for of_one in ready))
        waiting = chain(first, waiting)
        tally.spend("tokens", started)
    while chunk := list(islice(waiting, CHUNK)):
        yield from expand_chunk(chunk, settings, tools, tally, ready)


def learned(examples: Iterator[Example], text: TextSettings) -> tuple[Usage, Iterator[Example]]:
    """What the first examples tell about their words, and all examples again."""
    first = list(islice(examples, EXAMPLES_READ))
    return usage_of(first, text), chain(first, examples)


def usage_of(examples: Iterable[Example], text: TextSettings) -> Usage:
    """What the references of the first examples tell about their words."""
    return Usage.of([tokens.words for tokens in _tokens(example, text)] for example in examples)


def _tokens(example: Example, text: TextSettings) -> list[Tokens]:
    return tokenized([reference.text for reference in example.references], text, example.line)


def expand_chunk(
    examples: Sequence[Example],
    settings: ExpandSettings,
    tools: Tools,
    tally: Tally,
    ready: deque[list[Tokens]] | None = None,
) -> list[Example]:
    """Expand examples that are encoded together. What is `ready` are the words of the next ones, and is taken away."""
    started = perf_counter()
    tokens = [ready.popleft() if ready else _tokens(example, settings.text) for example in examples]
    tally.spend("tokens", started)
    started = perf_counter()
    baseline, encodings = prepare(settings.align, tools.encoder, [words for example in tokens for words in example])
    tally.spend("encode", started)
    wanted = [settings.per_example - len(example.references) for example in examples]
    together = _together(tokens, wanted, settings, tools)
    if together is None:
        lattices = _lattices(tokens, encodings, baseline, settings, tools, tally)
        found = _chosen(lattices, wanted, settings, tools, tally)
    else:
        started = perf_counter()
        vectors = None if encodings is None else list(encodings)
        tally.spend("encode", started)
        found = _chosen_together(together, tokens, vectors, baseline, wanted, settings, tools, tally)
    return [_with_result(example, *of_one, settings, tally) for example, of_one in zip(examples, found, strict=True)]


def _together(
    tokens: Sequence[Sequence[Tokens]], wanted: Sequence[int], settings: ExpandSettings, tools: Tools
) -> Together | None:
    """What chooses from these examples at once; None if they must be merged and searched one by one."""
    if settings.keep_lattice or settings.reads:
        return None
    engine = tools.engine.ready(tokens) if isinstance(tools.engine, AutoEngine) else tools.engine
    if not isinstance(engine, CompiledEngine):
        return None
    usage = None if settings.judging.judge == "bleu" else tools.usage
    together = Together(engine, settings.align, settings.text, settings.search, usage)
    return together if together.can_take(tokens, wanted) else None


def _chosen_together(
    together: Together,
    tokens: Sequence[Sequence[Tokens]],
    vectors: Sequence[Encoding] | None,
    baseline: float,
    wanted: Sequence[int],
    settings: ExpandSettings,
    tools: Tools,
    tally: Tally,
) -> Iterator[tuple[OfOne, Lattice | None]]:
    """What is chosen of each example; the lattice of those that were merged alone."""
    started = perf_counter()
    found = together.choose(tokens, vectors, baseline, wanted)
    tally.spend("search", started)
    first = 0
    for references, of_one, count in zip(tokens, found, wanted, strict=True):
        if of_one is None:
            own = None if vectors is None else iter(vectors[first : first + len(references)])
            lattices = _lattices([references], own, baseline, settings, tools, tally)
            yield next(_chosen(lattices, [count], settings, tools, tally))
        else:
            yield of_one, None
        first += len(references)


def _lattices(
    tokens: Sequence[Sequence[Tokens]],
    encodings: Iterator[Encoding] | None,
    baseline: float,
    settings: ExpandSettings,
    tools: Tools,
    tally: Tally,
) -> Iterator[Lattice]:
    """Merge the references of each example."""
    for references in tokens:
        started = perf_counter()
        vectors = None if encodings is None else list(islice(encodings, len(references)))
        tally.spend("encode", started)
        started = perf_counter()
        lattice = merge(references, vectors, settings.align, text=settings.text, baseline=baseline, engine=tools.engine)
        lattice.aligned = None  # large, and not needed any more
        tally.spend("lattice", started)
        if settings.judging.judge != "bleu":
            started = perf_counter()
            lattice.rules = rules_of(lattice, tools.usage)
            tally.spend("judge", started)
        yield lattice


def _chosen(
    lattices: Iterator[Lattice], wanted: Sequence[int], settings: ExpandSettings, tools: Tools, tally: Tally
) -> Iterator[tuple[OfOne, Lattice | None]]:
    """What is chosen of each lattice, and the lattice."""
    reader = tools.reader(settings)
    if reader is None:
        # One lattice at a time, so that no more than one is kept.
        for lattice, count in zip(lattices, wanted, strict=True):
            started = perf_counter()
            of_one = OfOne.of(choose(lattice, count, settings.search), lattice, count, settings.search)
            tally.spend("search", started)
            yield of_one, lattice
    else:
        together = list(lattices)
        started = perf_counter()
        of_each = choose_read(together, wanted, reader, settings.search)
        tally.spend("search", started)
        for lattice, chosen, count in zip(together, of_each, wanted, strict=True):
            yield OfOne.of(chosen, lattice, count, settings.search), lattice


def _with_result(
    example: Example, of_one: OfOne, lattice: Lattice | None, settings: ExpandSettings, tally: Tally
) -> Example:
    chosen, sentences, _, penalty, _ = of_one
    pseudo = chosen.pseudo_references
    short = settings.per_example - len(example.references) - len(pseudo)
    why = None
    if short > 0:
        why = _why_short(of_one)
        pseudo = fill_up(example, pseudo, short, settings)
    tally.count(example, pseudo, sentences=sentences, exact=chosen.exact, short=why)
    for cause, count in chosen.left_out.items():
        tally.left_out[cause] += count
    kept = None
    if settings.keep_lattice and lattice is not None:
        kept = keep(lattice, None if lattice.rules is None else kept_rules(lattice.rules))
    summary = LatticeSummary(sentences, penalty, chosen.exact, kept)
    # As `replace` would, which takes five times as long.
    id, source, references = example.id, example.source, example.references
    return Example(id, source, references, pseudo, summary, example.record, example.line, example.as_read)


def _why_short(of_one: OfOne) -> str:
    """Why an example gives too few sentences, so that a person knows what would give more."""
    if len(of_one.chosen.pseudo_references) == of_one.new:
        return "no_more"
    if not of_one.chosen.exact:
        return "cut_short"
    return "low_bleu" if of_one.has_lower else "left_out"


def fill_up(
    example: Example, pseudo: tuple[PseudoReference, ...], short: int, settings: ExpandSettings
) -> tuple[PseudoReference, ...]:
    """What to do about an example that gives too few sentences."""
    if settings.shortfall == "fail":
        raise InputError(
            f'the example "{example.id}" gives {settings.per_example - short} references of {settings.per_example}',
            "ask for fewer, or set shortfall to keep or repeat",
            line=example.line,
        )
    if settings.shortfall == "keep":
        return pseudo
    gold = [PseudoReference(reference.text, 100.0, repeat=True) for reference in example.references]
    again = cycle([*gold, *[reference._replace(repeat=True) for reference in pseudo]])
    return (*pseudo, *islice(again, short))
