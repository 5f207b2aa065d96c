"""Beam search, for any model that goes word by word.

In:   a model with its steps, a batch, how to search.
Out:  for each sentence its best hypotheses.
Not:  the models (translator.py, captioner.py), what hypotheses are worth (scoring.py), their text (text/subwords.py).

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
from polyref.model.finished import Finished, Hypothesis
from polyref.model.ranking import best_candidates, best_words
from polyref.model.scoring import Scores
from polyref.model.settings import BeamSettings
from polyref.text.subwords import BOS, EOS

Batch = TypeVar("Batch", contravariant=True)
State = TypeVar("State")
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc")


class Steps(Protocol[Batch, State]):
    """What a search asks of a model. A batch has sentences; each has hypotheses, as many as the others have."""

    def start(self, batch: Batch) -> State:
        """The state before the first word: one hypothesis a sentence."""

    def step(self, state: State, last: Tensor) -> tuple[Tensor, State]:
        """last: sentences x hypotheses -> log-probabilities of the next word, sentences x hypotheses x words."""

    def reorder(self, state: State, sentences: Tensor | None, rows: Tensor) -> State:
        """Keep some sentences (None: all), and for each new hypothesis the old one in a row: sentence * hypotheses +
        hypothesis."""

    def sizes(self, batch: Batch) -> Tensor:
        """How large each source is, for the bound of the length reward: sentences, on the device of the search."""


@dataclass(frozen=True, slots=True)
class Beam:
    """The hypotheses that go on."""

    sentences: Tensor  # sentences: which of the batch they are
    tokens: Tensor  # sentences x hypotheses x length
    log_probs: Tensor  # sentences x hypotheses, best first; -inf: a place without a hypothesis

    @classmethod
    def begin(cls, sentences: int, device: torch.device) -> Beam:
        tokens = torch.full((sentences, 1, 1), BOS, device=device)
        log_probs = torch.zeros(sentences, 1, dtype=torch.float64, device=device)
        return cls(torch.arange(sentences, device=device), tokens, log_probs)

    def select(self, places: Tensor) -> Beam:
        """Some of the sentences."""
        return Beam(self.sentences[places], self.tokens[places], self.log_probs[places])


@torch.inference_mode()
def search(model: Steps[Batch, State], batch: Batch, settings: BeamSettings) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, best first: `settings.best` of them, or all that there are."""
    sizes = model.sizes(batch)
    scores = Scores(settings, sizes)
    finished = Finished(len(sizes), settings.best, sizes.device)
    beam = Beam.begin(len(sizes), sizes.device)
    with _within_memory(settings, len(sizes)), _without_dropout(model):
        state = model.start(batch)
        for length in range(1, settings.longest + 1):
            log_probs, state = model.step(state, beam.tokens[:, :, -1])
            ends = _ends(beam, log_probs)
            if length == settings.longest:
                _finish(beam, ends, ends > -torch.inf, length, scores, finished)
                break
            next_beam, parents = _go_on(beam, log_probs, settings.beam)
            _finish(beam, ends, _is_among_best(ends, next_beam, settings.beam), length, scores, finished)
            going = ~_is_over(next_beam, scores, finished, settings)
            places = None if bool(going.all()) else going.nonzero()[:, 0]
            if places is not None:
                next_beam, parents = next_beam.select(places), parents[places]
            if not len(next_beam.sentences):
                break
            state = model.reorder(state, places, parents.flatten())
            beam = next_beam
    return finished.best()


def _ends(beam: Beam, log_probs: Tensor) -> Tensor:
    """What each hypothesis would be worth if it ended here: sentences x hypotheses."""
    ends = log_probs[:, :, EOS].double().clamp(max=0)
    if bool(ends.isnan().any()):
        raise PolyrefError("the model gives log-probabilities that are no numbers; train it anew")
    return beam.log_probs + ends


def _go_on(beam: Beam, log_probs: Tensor, width: int) -> tuple[Beam, Tensor]:
    """The best hypotheses with one more word, and the rows of those that they come from: sentences x hypotheses."""
    sentences, hypotheses, _ = log_probs.shape
    words = log_probs[:, :, EOS + 1 :].flatten(0, 1)  # (sentences * hypotheses) x words: padding and begin are none
    if not words.shape[1]:
        raise PolyrefError("the model has no words to say; give it a vocabulary")
    values, tokens = best_words(words, min(width, words.shape[1]))  # (sentences * hypotheses) x candidates
    each = values.shape[1]
    # Summed in double precision: what differs by a rounding error of single precision is not a tie.
    totals = beam.log_probs.flatten()[:, None] + values.double().clamp(max=0)
    totals, tokens = totals.reshape(sentences, -1), tokens.reshape(sentences, -1) + EOS + 1
    chosen = best_candidates(totals, tokens, min(width, hypotheses * each))  # sentences x new hypotheses
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


def _finish(beam: Beam, ends: Tensor, counted: Tensor, length: int, scores: Scores, finished: Finished) -> None:
    """Keep those hypotheses that end here and are among the best of their sentence so far."""
    values = scores.of(ends, beam.sentences, length)
    counted = counted & (values >= finished.bar[beam.sentences][:, None])
    tokens = beam.tokens[counted][:, 1:].tolist()
    where = beam.sentences[counted.nonzero()[:, 0]].tolist()
    for sentence, row, log_prob, score in zip(
        where, tokens, ends[counted].tolist(), values[counted].tolist(), strict=True
    ):
        finished.keep(sentence, Hypothesis(tuple(row), log_prob, score))


def _is_over(beam: Beam, scores: Scores, finished: Finished, settings: BeamSettings) -> Tensor:
    """For which sentences nothing that goes on can become as good as the worst that is kept."""
    best = beam.log_probs[:, :1]  # sentences x 1
    nothing_left = best[:, 0] == -torch.inf
    if not settings.stop_early:
        return nothing_left
    return nothing_left | (finished.bar[beam.sentences] > scores.at_most(best, beam.sentences)[:, 0])


@contextmanager
def _within_memory(settings: BeamSettings, batch: int) -> Iterator[None]:
    """Say what takes so much memory; torch has no class of its own for that on a processor."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(words in str(error) for words in _OUT_OF_MEMORY):
            raise
        raise SettingsError(
            f"out of memory with a beam of {settings.beam:,}, a batch of {batch:,} and up to {settings.longest:,} "
            "tokens; lower --beam, --batch or --longest"
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
