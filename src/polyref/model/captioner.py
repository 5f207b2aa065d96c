"""The paper's image captioner: features through a fully connected layer into an LSTM decoder (Section 4.2).

In:   batches of features with captions as token numbers.
Out:  what the captions cost; for a search, the log-probabilities of the next word.
Not:  the search (beam.py), the training loop (fit/), features of images (features/).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from polyref.errors import InputError
from polyref.model.batch import CaptionBatch, are_real
from polyref.model.recurrence import LstmState, make_lstm, run_forward, step
from polyref.model.settings import CaptionerSettings
from polyref.model.words import Words, check_tokens

_SPREAD = 0.06


class Captioner(nn.Module):
    """Says `words` different tokens about features, which it standardises itself."""

    def __init__(self, settings: CaptionerSettings, *, words: int):
        super().__init__()
        self.settings = settings
        size, states = settings.embedding_size, settings.state_size
        # Weights like others, so that they are kept with the model; but nothing trains them.
        self.mean = nn.Parameter(torch.zeros(settings.feature_size), requires_grad=False)
        self.deviation = nn.Parameter(torch.ones(settings.feature_size), requires_grad=False)
        self.image = nn.Linear(settings.feature_size, size)
        # Captions are few and many words rare: what was never learned about a word should say little.
        self.words = Words(words, size, states, tied=settings.tied, spread=_SPREAD)
        self.decoder = make_lstm(size, states, settings.layers, settings.dropout)
        self.drop = nn.Dropout(settings.dropout)

    def standardise(self, mean: npt.NDArray[np.float32], deviation: npt.NDArray[np.float32]) -> None:
        """Have features read less their mean, in units of their deviation; both are kept with the weights."""
        for weight, given in ((self.mean, mean), (self.deviation, deviation)):
            if given.shape != weight.shape:
                raise InputError(
                    f"standardisation for {len(given)} features, but the model reads {len(weight)}",
                    "fit it to the same features",
                )
            weight.data.copy_(torch.from_numpy(given))

    def see(self, features: Tensor) -> Tensor:
        """features: images x feature size -> what the decoder reads first, images x embedding."""
        if features.shape[1] != self.settings.feature_size:
            raise InputError(
                f"{features.shape[1]} features an image, but the model reads {self.settings.feature_size}",
                "give the features that it was made for",
            )
        seen: Tensor = self.image((features - self.mean) / self.deviation)
        return seen

    # -- training -----------------------------------------------------------------------------------------------

    def loss(self, batch: CaptionBatch) -> tuple[Tensor, int]:
        """The summed negative log-likelihood of the captions, and how many tokens they have, their ends among them."""
        targets = batch.targets
        if targets is None:
            raise ValueError("a batch without targets has no loss")
        check_tokens(self.words.vectors, targets.inputs, "target")
        image = self.see(batch.features)[:, None]  # images x 1 x embedding
        vectors = self.drop(torch.cat([image, self.words.read(targets.inputs)], 1))  # images x (1 + steps) x embedding
        states = run_forward(self.decoder, vectors)  # images x (1 + steps) x states
        real = are_real(targets.lengths, targets.inputs.shape[1])
        said = self.drop(states[:, 1:][real])  # target tokens x states
        smoothing = self.settings.label_smoothing if self.training else 0.0
        return self.words.cost(said, targets.outputs[real], smoothing), targets.tokens

    # -- search -------------------------------------------------------------------------------------------------

    def start(self, batch: CaptionBatch) -> LstmState:
        return step(self.decoder, self.see(batch.features), LstmState.zeros(self.decoder, len(batch)))

    def step(self, state: LstmState, last: Tensor) -> tuple[Tensor, LstmState]:
        after = step(self.decoder, self.words.read(last.flatten()), state)
        log_probs = self.words.predict(after.hidden[-1]).log_softmax(1)  # (images * hypotheses) x words
        return log_probs.view(*last.shape, -1), after

    def reorder(self, state: LstmState, sentences: Tensor | None, rows: Tensor) -> LstmState:
        return state.select(rows)

    def sizes(self, batch: CaptionBatch) -> Tensor:
        return torch.ones(len(batch), dtype=torch.long, device=batch.features.device)
