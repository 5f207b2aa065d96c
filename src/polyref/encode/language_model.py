"""The paper's bidirectional language model in torch, for training (Section 3.2).

In:   sentences of one length, as numbers of words.
Out:  what it costs to predict each word from the forward state before it and the backward state behind it; the trained
      model as the arrays of an encoder's folder.
Not:  encoding (context.py does that without torch), the training loop (fit/), reading text (corpus.py).

Sentences of one batch have the same length, so there is no padding, and none can leak into a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyref.encode.context import Vocabulary, pieces
from polyref.encode.corpus import ModelSettings
from polyref.encode.network import INPUT_STEP, for_expectations, for_states, for_vectors, on_grid
from polyref.errors import PolyrefError

_LARGEST = 2.0**14  # of a weight; float16 ends at 2**16


class LanguageModel(nn.Module):
    """Reads words as unit vectors, forwards and backwards, and predicts each from both sides.

    The vocabulary's words have a vector; further `words` are read by their spelling. Words that the vocabulary cannot
    predict are one word, the last: the unknown one.
    """

    def __init__(
        self,
        settings: ModelSettings,
        vocabulary: Vocabulary,
        words: Sequence[str],
        vectors: npt.NDArray[np.float32] | None = None,
    ):
        super().__init__()
        size, states = settings.vector_size, settings.state_size
        self.settings = settings
        self.readable, self.predicted = readable, predicted = len(vocabulary.words), vocabulary.predicted
        self.cutoffs = adaptive_cutoffs(predicted + 1) if settings.softmax == "adaptive" else None
        spellings = [pieces(word, settings.buckets) for word in words]
        self._starts = torch.tensor(np.cumsum([0, *map(len, spellings)]))
        self._buckets = torch.tensor([bucket for spelling in spellings for bucket in spelling])
        start = torch.randn(readable, size) if vectors is None else torch.tensor(vectors)
        self.vectors = nn.Parameter(functional.normalize(start, dim=1), requires_grad=not settings.freeze)
        self.pieces = nn.Parameter(torch.randn(settings.buckets, size) / size**0.5)
        self.boundary = nn.Parameter(torch.randn(2, size) / size**0.5)  # before the first word, behind the last
        self.forwards = nn.LSTM(size, states, batch_first=True)
        self.backwards = nn.LSTM(size, states, batch_first=True)
        _prepare(self.forwards)
        _prepare(self.backwards)
        self.projection = nn.Linear(2 * states, size)
        self.drop = nn.Dropout(settings.dropout)
        self.output: nn.Linear | nn.AdaptiveLogSoftmaxWithLoss
        if self.cutoffs is not None:
            self.output = nn.AdaptiveLogSoftmaxWithLoss(size, predicted + 1, self.cutoffs)
        else:
            self.output = nn.Linear(size, predicted + 1)
            if vectors is not None:
                with torch.no_grad():
                    self.output.weight[:predicted] = self.vectors[:predicted]

    def inputs(self, words: Tensor) -> Tensor:
        """words: sentences x words -> the unit vector of each, sentences x words x size."""
        flat = words.flatten()
        by_spelling = flat >= self.readable
        if self.training and self.settings.spelled:
            by_spelling = by_spelling | (torch.rand(len(flat)) < self.settings.spelled)
        read = functional.embedding(torch.where(by_spelling, 0, flat), self.vectors)
        if by_spelling.any():
            read = read.masked_scatter(by_spelling[:, None], self.spelled(flat[by_spelling]))
        return functional.normalize(read, dim=1).view(*words.shape, -1)

    def spelled(self, words: Tensor) -> Tensor:
        """Words by their spelling: the mean of their pieces' vectors."""
        starts = self._starts[words]
        lengths = self._starts[words + 1] - starts
        offsets = lengths.cumsum(0) - lengths
        places = torch.arange(int(lengths.sum())) + (starts - offsets).repeat_interleave(lengths)
        return functional.embedding_bag(self._buckets[places], self.pieces, offsets, mode="mean")

    def states(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Forward state t is that behind word t (0: the boundary); backward state t that before word t, read from the
        end (the last: the boundary). Each sentences x (words + 1) x states."""
        edges = functional.normalize(self.boundary, dim=1).expand(len(words), 2, -1)
        read = self.drop(self.inputs(words))
        forward, _ = self.forwards(torch.cat([edges[:, :1], read], 1))
        backward, _ = self.backwards(torch.cat([edges[:, 1:], read.flip(1)], 1))
        return forward, backward.flip(1)

    def predictions(self, words: Tensor) -> Tensor:
        """What is expected in the place of each word, by its neighbours: sentences x words x size."""
        forward, backward = self.states(words)
        around = torch.cat([forward[:, :-1], backward[:, 1:]], 2)
        projected: Tensor = self.drop(self.projection(self.drop(around)))
        return projected

    def cost(self, words: Tensor) -> tuple[Tensor, int]:
        """The summed negative log-likelihood of the words, and their number."""
        expected = self.predictions(words).flatten(0, 1)
        target = words.flatten().clamp(max=self.predicted)
        if isinstance(self.output, nn.AdaptiveLogSoftmaxWithLoss):
            return -self.output(expected, target).output.sum(), target.numel()
        return functional.cross_entropy(self.output(expected), target, reduction="sum"), target.numel()


def _prepare(direction: nn.LSTM) -> None:
    """Where training starts from."""
    weights = dict(direction.named_parameters())
    states = direction.hidden_size
    nn.init.normal_(weights["weight_ih_l0"])  # unit vectors have small numbers; the weights make up for it
    nn.init.zeros_(weights["bias_hh_l0"])
    nn.init.zeros_(weights["bias_ih_l0"])
    nn.init.ones_(weights["bias_ih_l0"][states : 2 * states])  # remember, until there is a reason to forget
    weights["bias_hh_l0"].requires_grad = False  # the other one is enough


def adaptive_cutoffs(words: int) -> list[int]:
    """Where the clusters of rarer words begin: a tenth and a half of the vocabulary."""
    return [cutoff for cutoff in sorted({max(1, words // 10), max(2, words // 2)}) if cutoff < words]


def learn_spelling(model: LanguageModel, seed: int, *, rounds: int = 15, words_at_once: int = 1024) -> None:
    """Bring the pieces' vectors near to those of the words they make up.

    So a word that no table has is read as one that is spelled like it.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        optimiser = torch.optim.Adam([model.pieces], lr=0.01)
        for number in range(rounds):
            for group in optimiser.param_groups:
                group["lr"] = 0.01 * (1 - number / rounds)
            for words in torch.split(torch.randperm(model.readable), words_at_once):
                optimiser.zero_grad(set_to_none=True)
                cosine = functional.cosine_similarity(model.spelled(words), model.vectors[words].detach(), dim=1)
                (1 - cosine).mean().backward()  # type: ignore[no-untyped-call]
                optimiser.step()


def exported(model: LanguageModel) -> dict[str, npt.NDArray[np.float16]]:
    """All that encoding and predicting need, in float16, on the grids that make their products exact."""
    size, states = model.settings.vector_size, model.settings.state_size
    arrays: dict[str, npt.NDArray[Any]] = {
        "vectors": on_grid(_array(functional.normalize(model.vectors.double())), INPUT_STEP),
        "boundary": on_grid(_array(functional.normalize(model.boundary.double())), INPUT_STEP),
        "pieces": _array(model.pieces),
        "centre.own": np.zeros(size),
        "centre.states": np.zeros((2, states)),
        "projection.weight": for_states(_array(model.projection.weight)),
        "projection.bias": _array(model.projection.bias),
    }
    for side, direction in (("forward", model.forwards), ("backward", model.backwards)):
        weights = {name: _array(weight) for name, weight in direction.named_parameters()}
        arrays[f"{side}.read"] = for_vectors(weights["weight_ih_l0"])
        arrays[f"{side}.state"] = for_states(weights["weight_hh_l0"])
        arrays[f"{side}.bias"] = weights["bias_ih_l0"] + weights["bias_hh_l0"]
    for name, weight in model.output.named_parameters():
        arrays[f"output.{name}"] = for_expectations(_array(weight)) if weight.ndim == 2 else _array(weight)
    return {name: array.astype(np.float16) for name, array in arrays.items()}


def _array(weight: Tensor) -> npt.NDArray[np.float64]:
    array: npt.NDArray[np.float64] = weight.detach().numpy().astype(np.float64)
    if not (np.abs(array) < _LARGEST).all():
        raise PolyrefError("the weights have grown beyond all bounds; train again with a lower learning rate")
    return array
