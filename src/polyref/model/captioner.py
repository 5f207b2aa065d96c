"""The paper's image captioner: features through a fully connected layer into an LSTM decoder (Section 4.2).

In:   batches of features with captions as token numbers.
Out:  what the captions cost; for a search, the log-probabilities of the next word.
Not:  the search (beam.py), the training loop (fit/), features of images (features/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from polyref.model.layers import Change, Lstm, LstmState, Rows, Targets, Words
from polyref.model.settings import CaptionerSettings

Features = npt.NDArray[np.float32]
_SPREAD = 0.06


@dataclass(frozen=True, slots=True)
class CaptionBatch:
    """Images by their features, and their captions where they are known."""

    features: Tensor  # images x feature size
    targets: Targets | None = None

    @classmethod
    def of(
        cls,
        features: Features | Sequence[Features],
        targets: Rows | None = None,
        changes: Sequence[Change | None] | None = None,
    ) -> CaptionBatch:
        """One row of features per image; captions without begin and end."""
        return cls(torch.as_tensor(np.asarray(features), dtype=torch.float32), Targets.of(targets, changes))


class Captioner(nn.Module):
    """Predicts `target_words` different tokens from features, which it standardises itself."""

    batch = CaptionBatch.of

    def __init__(self, settings: CaptionerSettings, *, target_words: int):
        super().__init__()
        self.settings = settings
        size, states = settings.embedding_size, settings.state_size
        # Weights like others, so that they are kept with the model; but nothing trains them.
        self.mean = nn.Parameter(torch.zeros(settings.feature_size), requires_grad=False)
        self.deviation = nn.Parameter(torch.ones(settings.feature_size), requires_grad=False)
        self.image = nn.Linear(settings.feature_size, size)
        # Captions are few and many words rare: what was never learned about a word should count little.
        self.words = Words(target_words, size, states, tied=settings.tied, spread=_SPREAD)
        self.decoder = Lstm(size, states, settings.layers, settings.dropout)
        self.drop = nn.Dropout(settings.dropout)

    def standardise(self, mean: Features, deviation: Features) -> None:
        """Have features read less their mean, in units of their deviation; both are kept with the weights."""
        self.mean.data.copy_(torch.from_numpy(mean))
        self.deviation.data.copy_(torch.from_numpy(deviation))

    def see(self, features: Tensor) -> Tensor:
        """features: images x feature size -> what the decoder reads first, images x embedding."""
        seen: Tensor = self.image((features - self.mean) / self.deviation)
        return seen

    # -- training -----------------------------------------------------------------------------------------------

    def loss(self, batch: CaptionBatch) -> tuple[Tensor, int]:
        """The summed negative log-likelihood of the captions, and their number of tokens, their ends among them."""
        targets = batch.targets
        assert targets is not None
        image = self.see(batch.features)[:, None]  # images x 1 x embedding
        vectors = self.drop(torch.cat([image, self.words.read(targets.inputs)], 1))  # images x (1 + steps) x embedding
        states = self.decoder.run_forward(vectors)  # images x (1 + steps) x states
        said = self.drop(states[:, 1:][targets.real])  # target tokens x states
        return self.words.cost(said, targets, self.settings.label_smoothing)

    # -- search -------------------------------------------------------------------------------------------------

    def start(self, batch: CaptionBatch) -> LstmState:
        return self.decoder.step(self.see(batch.features), self.decoder.zeros(len(batch.features)))

    def step(self, state: LstmState, last: Tensor) -> tuple[Tensor, LstmState]:
        after = self.decoder.step(self.words.read(last.flatten()), state)
        log_probs = self.words.predict(after.hidden[-1]).log_softmax(1)  # (images * hypotheses) x words
        return log_probs.view(*last.shape, -1), after

    def reorder(self, state: LstmState, sentences: Tensor | None, rows: Tensor) -> LstmState:
        return state.select(rows)

    def sizes(self, batch: CaptionBatch) -> Tensor:
        return torch.ones(len(batch.features), dtype=torch.long, device=batch.features.device)
