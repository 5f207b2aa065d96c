"""A data set under a schedule: the pairs that a trainer sees, epoch by epoch.

In:   a file, or examples; a schedule and which references take part.
Out:  pairs of a source and one reference: any one of them, or one after the other from anywhere on. Fresh paths are
      drawn when an epoch first asks for them, and kept until the next epoch.
Not:  the schedules (schedule/), trainers (pytorch.py, trainer.py), output formats (lines.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from polyref.data import Fields, Format, Input, ReadSettings, examples_of
from polyref.data.corpus import Corpus, open_index
from polyref.data.reading import Paths
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.expansion import Tools
from polyref.feed.rejected import Rejected
from polyref.feed.soft import Choice, SoftSettings, choices_of
from polyref.files import writing
from polyref.fresh import FreshSettings, draw_fresh
from polyref.schedule import Pairs, Schedule, ScheduleSettings, Sizes
from polyref.schedule.mixing import Numbers
from polyref.schedule.schedules import Order, ScheduleName
from polyref.settings import part, setting, settings

_TOGETHER = 128  # examples that fresh paths are drawn for at once
_CURE = "name a folder with more room for fresh paths with TMPDIR"
_LEAST_BLEU = 1.0  # that counts where references are weighed by it: what weighs nothing cannot be drawn
Drawn = list[tuple[str, float | None]]
Judgement = Literal["bleu", "crossings"]


@settings(group="References")
class StreamSettings:
    """Which references take part, and in which schedule."""

    schedule: ScheduleSettings = part(ScheduleSettings)
    limit: int | None = setting(None, "Limit of references per example; gold ones stay.", at_least=1, below=2**31)
    gold_only: bool = setting(False, "Leave pseudo-references out.")
    fresh: FreshSettings | None = setting(
        None, "Draw other pseudo-references in every epoch, from lattices that were kept."
    )
    weights: Judgement | None = setting(
        None,
        "Draw pseudo-references by this.",
        more="bleu weighs BLEU / 100, crossings 1 / (1 + crossings).",
        unset="each weighs 1",
    )
    weight_power: float = setting(
        1.0,
        "Power of weights; above 1 favours the best.",
        above=0,
        at_most=100,
        metavar="P",
        needs=("weights", None),
    )
    soft: SoftSettings = part(SoftSettings)

    @property
    def wants_lattices(self) -> str:
        """The key of what needs kept lattices; none if nothing does."""
        return "fresh" if self.fresh is not None else "soft_targets" if self.soft.share else ""

    def check_together(self) -> None:
        if self.gold_only and self.schedule.gold_share is not None:
            raise SettingsError("has no effect with gold_only", "leave one of them out", key="gold_share")
        if self.gold_only and self.limit is not None:
            cure = "leave it out, or leave gold_only out"
            raise SettingsError("does not cut gold references", cure, key="limit", also=("gold_only",))
        if self.fresh is not None and (self.gold_only or self.limit is not None):
            key = "gold_only" if self.gold_only else "limit"
            problem = "does not go with fresh paths, which have a number of their own"
            raise SettingsError(problem, "leave one of them out", key=key, also=("fresh",))
        if self.weights is not None and (self.gold_only or self.fresh is not None):
            key = "gold_only" if self.gold_only else "fresh"
            problem = f"is for the pseudo-references of the file, and {key.removesuffix('_only')} "
            problem += "ones are taken alone" if self.gold_only else "paths take their place"
            raise SettingsError(problem, "leave one of them out", key="weights", also=(key,))
        if self.weights is not None and not self.schedule.draws:
            cure = "choose the schedule sample-one, or set draw"
            raise SettingsError("has no effect where nothing is drawn", cure, key="weights", also=("name", "draw"))


@dataclass(frozen=True, slots=True)
class Pair:
    """A source with one reference. `bleu` is that of a pseudo-reference, None for a gold one.

    `choices` are there with soft targets: where the reference could go on in other ways, and how likely each should be.
    """

    id: str
    source: Any
    reference: str
    is_gold: bool
    bleu: float | None = None
    choices: tuple[Choice, ...] = ()


class Stream:
    """The pairs of a data set under a schedule. `len` is the number of pairs in an epoch."""

    def __init__(self, corpus: Corpus, settings: StreamSettings | None = None, tools: Tools | None = None):
        self.corpus = corpus
        self.settings = settings or StreamSettings()
        self.tools = tools
        self.schedule = Schedule(self._sizes(), self.settings.schedule)
        self._drawn = None
        if self.settings.wants_lattices and not corpus.has_lattices:
            what = "soft targets" if self.settings.fresh is None else "fresh paths"
            problem = f"{what} need the lattices, and the file has not kept them for every example"
            raise InputError(problem, "expand it anew with --keep-lattice")
        if self.settings.fresh is not None:
            self._drawn = _DrawnTexts(corpus, self.settings.fresh, self.settings.schedule.seed, tools)

    def __len__(self) -> int:
        return len(self.schedule)

    def __reduce__(self) -> tuple[object, ...]:
        return Stream, (self.corpus, self.settings, self.tools)

    def _sizes(self) -> Sizes:
        """How many references take part."""
        numbers, settings = self.corpus.numbers, self.settings
        gold, pseudo = numbers["gold"], numbers["pseudo"].astype(np.int64)
        if settings.gold_only:
            pseudo = np.zeros_like(pseudo)
        elif settings.fresh is not None:
            pseudo = np.minimum(numbers["new"].astype(np.int64), settings.fresh.per_example)
        elif settings.limit is not None:
            pseudo = np.minimum(pseudo, np.maximum(settings.limit - gold.astype(np.int64), 0))
        found, weights = Sizes(gold, gold + pseudo), self.corpus.weights
        if not settings.schedule.draws or (weights is None and settings.weights is None):
            return found
        examples, slots = found.pair_at(np.arange(found.pairs))
        is_gold, places = slots < gold[examples], self.corpus.starts[examples] + slots
        taken = np.ones(len(slots))
        if weights is not None:
            taken[is_gold] = weights[places[is_gold]]
        if settings.weights is not None:
            taken[~is_gold] = self._judged(places[~is_gold])
        return Sizes(gold, found.total, taken)

    def _judged(self, places: Numbers) -> npt.NDArray[np.float64]:
        """What pseudo-references weigh by their judgement; they are given by their numbers among all references."""
        if not len(places):
            return np.ones(0)
        if self.settings.weights == "bleu":
            weights = np.maximum(self.corpus.numbers["bleus"][places].astype(np.float64), _LEAST_BLEU) / 100
        else:
            crossings = self.corpus.numbers["crossings"]
            if not len(crossings) or crossings[places].min() < 0:
                problem = "weights by crossings need that judgement, and not every pseudo-reference of the file has it"
                raise InputError(problem, "expand it anew, with content or seams as the judge")
            weights = 1 / (1 + crossings[places].astype(np.float64))
        found: npt.NDArray[np.float64] = weights**self.settings.weight_power
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Names all that the pairs depend on, so that a run does not go on with others."""
        return hashlib.blake2b(f"{self.corpus.fingerprint}{self._named()}".encode(), digest_size=16).hexdigest()

    def _named(self) -> str:
        """The settings. What came later is not named where it is off: a run that began before it goes on."""
        settings, usual = self.settings, StreamSettings()
        if settings.weights is None:
            settings = replace(settings, weight_power=usual.weight_power)
        if not settings.soft.share:
            settings = replace(settings, soft=usual.soft)
        named = str(settings)
        for later in ("weights", "weight_power", "soft"):
            named = named.replace(f", {later}={getattr(usual, later)!r}", "")
        if settings.weights is not None:  # judgements are no part of the corpus' own fingerprint
            named += hashlib.blake2b(np.asarray(self.schedule.sizes.weights).tobytes()).hexdigest()
        return named

    @cached_property
    def rejected(self) -> Rejected:
        """What the rules of content leave out, to be learned from by contrast; refused without kept lattices."""
        return Rejected(self.corpus, self.settings.schedule.seed, self.tools)

    @property
    def short(self) -> int:
        """Examples that gave fewer fresh paths than they have places for, in the epochs that were drawn so far."""
        return 0 if self._drawn is None else self._drawn.short

    # -- pairs --------------------------------------------------------------------------------------------------

    def pair(self, number: int, epoch: int = 0) -> Pair:
        """Pair `number` of an epoch."""
        example, reference = self.schedule.pair(number, epoch)
        return self.some(Pairs(np.array([number]), np.array([example]), np.array([reference]), epoch))[0]

    def epoch(self, epoch: int, *, start: int = 0, rank: int = 0, ranks: int = 1) -> Iterator[Pair]:
        """The pairs of an epoch in order, or the share of one rank of several; from the one numbered `start` on."""
        for block in self.schedule.blocks(epoch, start=start, rank=rank, ranks=ranks, size=1 << 12):
            yield from self.some(block)

    def some(self, pairs: Pairs) -> list[Pair]:
        """Some pairs of an epoch, as the schedule has looked them up."""
        are_texts = self.corpus.numbers["is_text"][pairs.examples].tolist()
        sources = zip(self.sources(pairs), are_texts, strict=True)
        bleus = self._bleus(pairs)
        columns = (
            [id.decode() for id in self.corpus.texts["ids"].many(pairs.examples)],
            [source.decode() if is_text else json.loads(source) for source, is_text in sources],
            [reference.decode() for reference in self.references(pairs)],
            [bleu is None for bleu in bleus],
            bleus,
            self.choices(pairs),
        )
        return list(map(Pair, *columns))

    def _bleus(self, pairs: Pairs) -> list[float | None]:
        """The BLEU of pseudo-references; None for gold ones, and where those stand in for fresh paths."""
        found: list[float | None] = [None] * len(pairs.examples)
        numbers, starts = self.corpus.numbers, self.corpus.starts
        gold = numbers["gold"][pairs.examples]
        for place in np.flatnonzero(pairs.references >= gold).tolist():
            example, reference = int(pairs.examples[place]), int(pairs.references[place])
            if self._drawn is None:
                found[place] = round(float(numbers["bleus"][int(starts[example]) + reference]), 2)
            else:
                found[place] = self._drawn.of(example, pairs.epoch)[reference - int(gold[place])][1]
        return found

    # -- many at once -------------------------------------------------------------------------------------------

    def sources(self, pairs: Pairs) -> list[bytes]:
        """The sources of some pairs in UTF-8; those that are not texts as JSON."""
        return self.corpus.texts["sources"].many(pairs.examples)

    def references(self, pairs: Pairs) -> list[bytes]:
        """The references of some pairs in UTF-8."""
        starts, texts = self.corpus.starts[pairs.examples], self.corpus.texts["references"]
        if self._drawn is None:
            return texts.many(starts + pairs.references)
        gold = self.corpus.numbers["gold"][pairs.examples].astype(np.int64)
        found = texts.many(starts + np.minimum(pairs.references, gold - 1))
        fresh = np.flatnonzero(pairs.references >= gold)
        self._drawn.prepare(np.unique(pairs.examples[fresh]), pairs.epoch)
        for place in fresh.tolist():
            slot = int(pairs.references[place] - gold[place])
            found[place] = self._drawn.of(int(pairs.examples[place]), pairs.epoch)[slot][0].encode()
        return found

    def choices(self, pairs: Pairs) -> list[tuple[Choice, ...]]:
        """Where the references of some pairs could go on in other ways; nowhere without soft targets."""
        found: list[tuple[Choice, ...]] = [()] * len(pairs.examples)
        if not self.settings.soft.share:
            return found
        texts = self.references(pairs)
        order = np.argsort(pairs.examples, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(pairs.examples[order])) + 1):
            example = self.corpus.example(int(pairs.examples[places[0]]))
            of_example = choices_of(example, [texts[place].decode() for place in places], self.settings.soft)
            for place, choices in zip(places.tolist(), of_example, strict=True):
                found[place] = choices
        return found

    def lengths(self, pairs: Pairs) -> Numbers:
        """The length of each pair in words cut at spaces: of the source or of the reference, whichever is longer."""
        numbers, starts = self.corpus.numbers, self.corpus.starts
        sources = numbers["source_words"][pairs.examples].astype(np.int64)
        if self._drawn is None:
            words = numbers["reference_words"][starts[pairs.examples] + pairs.references]
        else:
            words = np.array([len(text.decode().split()) for text in self.references(pairs)])
        return np.maximum(sources, words.astype(np.int64))


def stream(
    data: Paths | Iterable[Example | Mapping[str, Any] | Sequence[str]],
    schedule: str = "shuffle",
    *,
    order: Order = "given",
    seed: int = 0,
    limit: int | None = None,
    gold_only: bool = False,
    draw: bool = False,
    gold_share: float | None = None,
    fresh: FreshSettings | int | None = None,
    weights: Judgement | None = None,
    weight_power: float = 1.0,
    soft: SoftSettings | float = 0.0,
    tools: Tools | None = None,
    fields: Fields | None = None,
    format: Format | None = None,
    index: str | Path | None = None,
) -> Stream:
    """The pairs of a file (or of examples) under one of first, sample_one, uniform and shuffle.

    A file is indexed once, in the user's cache folder or in `index`, and again when it has changed. `fresh` may be a
    number and `soft` a share, with the usual settings. See ScheduleSettings and StreamSettings for the other choices.
    """
    if isinstance(fresh, int):
        fresh = FreshSettings(fresh)
    if not isinstance(soft, SoftSettings):
        soft = SoftSettings(soft)
    try:
        drawn = ScheduleSettings(cast("ScheduleName", schedule), order, seed, draw, gold_share)
    except SettingsError as error:
        error.key = "schedule" if error.key == "name" else error.key  # as recipes call it
        raise
    settings = StreamSettings(drawn, limit, gold_only, fresh, weights, weight_power, soft)
    if _is_path(data):
        where = None if index is None else Path(index)
        input = Input.of(data, ReadSettings(format, fields or Fields()))  # type: ignore[arg-type]
        corpus = open_index(input, folder=where)
    else:
        corpus = Corpus.of(examples_of(data))  # type: ignore[arg-type]
    return Stream(corpus, settings, tools)


def _is_path(data: object) -> bool:
    if isinstance(data, str | Path):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(one, str | Path) for one in data)


# -- fresh paths ------------------------------------------------------------------------------------------------------


class _DrawnTexts:
    """What an epoch has drawn, in a temporary file: an epoch may be larger than memory."""

    def __init__(self, corpus: Corpus, settings: FreshSettings, seed: int, tools: Tools | None):
        self._corpus = corpus
        self._settings = settings
        self._seed = seed
        self._tools = tools or Tools()
        self.short = 0  # examples that gave fewer than they have places for, in the epochs so far
        self._close: Callable[[], object] = lambda: None
        self._forget(-1)

    def _forget(self, epoch: int) -> None:
        self._epoch = epoch
        self._process = os.getpid()
        self._close()
        with writing(tempfile.gettempdir(), _CURE):
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until another epoch, or until nobody has this
        self._close = weakref.finalize(self, self._file.close)
        self._end = 0
        self._places = np.zeros(len(self._corpus), np.int64)  # where in the file, counted from 1; 0: not drawn
        self._sizes = np.zeros(len(self._corpus), np.int32)
        self._last: tuple[int, Drawn] = (-1, [])

    def _is_current(self, epoch: int) -> bool:
        # A file that was open when a process split in two belongs to the older one.
        return epoch == self._epoch and self._process == os.getpid()

    def prepare(self, examples: Numbers, epoch: int) -> None:
        """Draw for several examples: a language model reads many sentences faster than one."""
        if not self._is_current(epoch):
            self._forget(epoch)
        waiting = examples[self._places[examples] == 0]
        for first in range(0, len(waiting), _TOGETHER):
            self._draw(waiting[first : first + _TOGETHER].tolist(), epoch)

    def of(self, example: int, epoch: int) -> Drawn:
        """The new references of an example, as many as it has places for, with their BLEU."""
        if not self._is_current(epoch) or not self._places[example]:
            self.prepare(np.array([example]), epoch)
        if self._last[0] != example:
            content = os.pread(self._file.fileno(), int(self._sizes[example]), int(self._places[example]) - 1)
            self._last = example, [(text, bleu) for text, bleu in json.loads(content)]
        return self._last[1]

    def _draw(self, numbers: list[int], epoch: int) -> None:
        wanted = self._settings.per_example
        examples = [self._corpus.example(number) for number in numbers]
        drawn = draw_fresh(examples, self._settings, epoch=epoch, seed=self._seed, tools=self._tools)
        for number, example, pseudo in zip(numbers, examples, drawn, strict=True):
            found: Drawn = [(one.text, round(one.bleu, 2)) for one in pseudo]
            # An example has no more places for fresh paths than its lattice has new sentences.
            self.short += len(found) < min(wanted, int(self._corpus.numbers["new"][number]))
            # Where fewer pass than there are places, they are repeated in turn; where none does, the gold ones.
            again = found or [(reference.text, None) for reference in example.references]
            content = json.dumps([again[slot % len(again)] for slot in range(wanted)]).encode()
            with writing(tempfile.gettempdir(), _CURE):
                done = 0
                while done < len(content):
                    done += os.pwrite(self._file.fileno(), content[done:], self._end + done)
            self._places[number], self._sizes[number] = self._end + 1, len(content)
            self._end += len(content)
