"""Beam search, for any model that goes word by word.

In:   a model with its steps, a batch, how to search.
Out:  for each sentence its best hypotheses.
Not:  the models (translator.py, captioner.py), the text of hypotheses (text/subwords.py).

A hypothesis that ends leaves the beam to one that goes on, and is kept. A sentence leaves the batch when nothing that
goes on can beat what is kept: that is optimal, and a test compares it with a search that always goes to the limit.
Ties go to the lower token number. What is found does not depend on the batch that a sentence stands in, except where
two scores differ by no more than single precision rounds (about 1e-7): a product of matrices rounds by their sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from polyref.errors import PolyrefError, SettingsError
from polyref.model.settings import BeamSettings
from polyref.text.subwords import BOS, EOS

Batch = TypeVar("Batch", contravariant=True)
State = TypeVar("State")
_BLOCK = 64
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc")


class Steps(Protocol[Batch, State]):
    """What a search asks of a model. A batch has sentences; all have the same number of hypotheses."""

    def start(self, batch: Batch) -> State:
        """The state before the first word: one hypothesis per sentence."""

    def step(self, state: State, last: Tensor) -> tuple[Tensor, State]:
        """last: sentences x hypotheses -> log-probabilities of the next word, sentences x hypotheses x words."""

    def reorder(self, state: State, sentences: Tensor | None, rows: Tensor) -> State:
        """Keep some sentences (None: all), and for each new hypothesis the old one in a row: sentence * hypotheses +
        hypothesis."""

    def sizes(self, batch: Batch) -> Tensor:
        """How large each source is, for the bound of the length reward: sentences, on the device of the search."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Predicted tokens, without begin and end; `log_prob` has that of the end in it."""

    tokens: tuple[int, ...]
    log_prob: float
    score: float


@dataclass(frozen=True, slots=True)
class Beam:
    """The hypotheses that go on."""

    sentences: Tensor  # sentences: which of the batch they are
    tokens: Tensor  # sentences x hypotheses x length
    log_probs: Tensor  # sentences x hypotheses, best first; -inf: a place without a hypothesis


class _Finished:
    """The best few hypotheses of each sentence that have ended.

    `bar` is the score of the last hypothesis kept of each sentence, once there are as many as wanted.
    """

    def __init__(self, settings: BeamSettings, sizes: Tensor):
        self.settings, self.sizes = settings, sizes
        self.kept: list[list[Hypothesis]] = [[] for _ in range(len(sizes))]
        self.bar = torch.full((len(sizes),), -torch.inf, dtype=torch.float64, device=sizes.device)

    def keep(self, beam: Beam, ends: Tensor, counted: Tensor, length: int) -> None:
        """Keep those hypotheses that end here and are among the best of their sentence so far."""
        scores = score_of(ends, length, self.sizes[beam.sentences], self.settings)
        counted = counted & (scores >= self.bar[beam.sentences][:, None])
        tokens = beam.tokens[counted][:, 1:].tolist()
        where = beam.sentences[counted.nonzero()[:, 0]].tolist()
        for sentence, *found in zip(where, tokens, ends[counted].tolist(), scores[counted].tolist(), strict=True):
            kept = self.kept[sentence]
            kept.append(Hypothesis(tuple(found[0]), *found[1:]))
            kept.sort(key=lambda one: (-one.score, one.tokens))
            del kept[self.settings.best :]
            if len(kept) == self.settings.best:
                self.bar[sentence] = kept[-1].score

    def is_over(self, beam: Beam) -> Tensor:
        """For which sentences nothing that goes on can become as good as the worst that is kept.

        The log-probability only falls, so no hypothesis does better than with the longest length at no cost (Huang,
        Zhao and Ma 2017).
        """
        best = beam.log_probs[:, :1]  # sentences x 1
        nothing_left = best[:, 0] == -torch.inf
        if not self.settings.stop_early:
            return nothing_left
        at_most = score_of(best, self.settings.longest, self.sizes[beam.sentences], self.settings)
        return nothing_left | (self.bar[beam.sentences] > at_most[:, 0])


def score_of(log_probs: Tensor, length: int, sizes: Tensor, settings: BeamSettings) -> Tensor:
    """log_probs: sentences x hypotheses of one length, the end counted; sizes: of the sources -> their scores."""
    if settings.scoring == "normalised":
        return log_probs / float(length**settings.power)
    if settings.scoring == "rewarded":
        return log_probs + settings.reward * (settings.bound * sizes.double()).clamp(max=length)[:, None]
    return log_probs


@torch.inference_mode()
def search(model: Steps[Batch, State], batch: Batch, settings: BeamSettings) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, best first: `settings.best` of them, or all that there are."""
    sizes = model.sizes(batch)
    sentences, device = len(sizes), sizes.device
    finished = _Finished(settings, sizes)
    begin = torch.full((sentences, 1, 1), BOS, device=device)
    none_yet = torch.zeros(sentences, 1, dtype=torch.float64, device=device)
    beam = Beam(torch.arange(sentences, device=device), begin, none_yet)
    with _within_memory(settings, sentences), _without_dropout(model):
        state = model.start(batch)
        for length in range(1, settings.longest + 1):
            log_probs, state = model.step(state, beam.tokens[:, :, -1])
            ends = _ends(beam, log_probs)
            if length == settings.longest:
                finished.keep(beam, ends, ends > -torch.inf, length)
                break
            next_beam, parents = _go_on(beam, log_probs, settings.beam)
            finished.keep(beam, ends, _is_among_best(ends, next_beam, settings.beam), length)
            going = ~finished.is_over(next_beam)
            places = None if bool(going.all()) else going.nonzero()[:, 0]
            if places is not None:
                left = (next_beam.sentences[places], next_beam.tokens[places], next_beam.log_probs[places])
                next_beam, parents = Beam(*left), parents[places]
            if not len(next_beam.sentences):
                break
            state = model.reorder(state, places, parents.flatten())
            beam = next_beam
    return finished.kept


def _ends(beam: Beam, log_probs: Tensor) -> Tensor:
    """What each hypothesis would be worth if it ended here: sentences x hypotheses."""
    ends = log_probs[:, :, EOS].double().clamp(max=0)
    if bool(ends.isnan().any()):
        raise PolyrefError("the model gives log-probabilities that are not numbers; train it again")
    return beam.log_probs + ends


def _go_on(beam: Beam, log_probs: Tensor, width: int) -> tuple[Beam, Tensor]:
    """The best hypotheses with one more word, and the rows of those that they come from: sentences x hypotheses."""
    sentences, hypotheses, _ = log_probs.shape
    words = log_probs[:, :, EOS + 1 :].flatten(0, 1)  # (sentences * hypotheses) x words: padding and begin are none
    tokens = best_places(words, min(width, words.shape[1]))  # (sentences * hypotheses) x candidates
    each = tokens.shape[1]
    # Summed in double precision: what differs by a rounding error of single precision is not a tie.
    totals = beam.log_probs.flatten()[:, None] + words.gather(1, tokens).double().clamp(max=0)
    totals, tokens = totals.reshape(sentences, -1), tokens.reshape(sentences, -1) + EOS + 1
    chosen = best_places(totals, min(width, hypotheses * each), tokens)  # sentences x new hypotheses
    rows = chosen // each + hypotheses * torch.arange(sentences, device=chosen.device)[:, None]
    before = beam.tokens.flatten(0, 1)[rows]  # sentences x new hypotheses x length
    longer = torch.cat([before, tokens.gather(1, chosen)[:, :, None]], 2)
    return Beam(beam.sentences, longer, totals.gather(1, chosen)), rows


def _is_among_best(ends: Tensor, going_on: Beam, width: int) -> Tensor:
    """Whether an end is among the best candidates of its sentence: sentences x hypotheses.

    The end has a lower number than any word, so it comes before a word that is worth the same.
    """
    better_words = (going_on.log_probs[:, None] > ends[:, :, None]).sum(2)
    better_ends = ends.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    among: Tensor = better_words + better_ends < width
    return among & (ends > -torch.inf)


@contextmanager
def _within_memory(settings: BeamSettings, batch: int) -> Iterator[None]:
    """Name what takes so much memory; torch has no class of its own for that on a processor."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(words in str(error) for words in _OUT_OF_MEMORY):
            raise
        raise SettingsError(
            f"out of memory with a beam of {settings.beam:,}, a batch of {batch:,} and up to {settings.longest:,} "
            "tokens; lower beam, batch or longest"
        ) from None


@contextmanager
def _without_dropout(model: object) -> Iterator[None]:
    if not (isinstance(model, torch.nn.Module) and model.training):
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()


# -- the best of many candidates, with ties settled -----------------------------------------------------------------
# topk is fast and leaves ties open. So it is asked for one candidate more than wanted: where no two neighbours are
# equal there is no tie, and where there is one, a stable sort settles it.


def best_places(values: Tensor, count: int, tokens: Tensor | None = None) -> Tensor:
    """The places of the highest values of each row: rows x count. Where values are equal, the lower token comes first;
    without tokens, the lower place."""
    highest, places = _highest(values, min(count + 1, values.shape[1]))
    # Of -inf there are many, and none is wanted.
    tied = ((highest[:, 1:] == highest[:, :-1]) & (highest[:, 1:] > -torch.inf)).any(1)
    places = places[:, :count]
    if bool(tied.any()):
        some = values[tied]
        if tokens is None:
            places[tied] = some.sort(dim=1, descending=True, stable=True).indices[:, :count]
        else:
            by_token = tokens[tied].sort(dim=1, stable=True).indices
            order = some.gather(1, by_token).sort(dim=1, descending=True, stable=True).indices[:, :count]
            places[tied] = by_token.gather(1, order)
    return places


def _highest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """topk along long rows: the best are in the blocks that have the best maxima, or behind the last whole block."""
    length = values.shape[1]
    blocks = length // _BLOCK
    if blocks < 2 * count:
        return values.topk(count, 1)
    split = torch.unflatten(values[:, : blocks * _BLOCK], 1, (blocks, _BLOCK))  # rows x blocks x block
    chosen = split.amax(2).topk(count, 1, sorted=False).indices  # rows x count
    inside = split.gather(1, chosen[:, :, None].expand(-1, -1, _BLOCK)).flatten(1)  # rows x (count * block)
    near = torch.cat([inside, values[:, blocks * _BLOCK :]], 1)
    highest, found = near.topk(count, 1)
    within = chosen.gather(1, (found // _BLOCK).clamp(max=count - 1)) * _BLOCK + found % _BLOCK
    behind = found - count * _BLOCK + blocks * _BLOCK
    return highest, torch.where(found < count * _BLOCK, within, behind)
