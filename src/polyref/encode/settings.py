"""How an encoder is trained: what a person can choose.

In:   choices. Out: checked settings. Not: training (training.py). Nothing here needs torch.
"""

from __future__ import annotations

from typing import Literal

from polyref.errors import SettingsError
from polyref.fit import FitSettings
from polyref.settings import part, setting, settings
from polyref.text import TextSettings

Softmax = Literal["full", "adaptive"]
Use = Literal["references", "source", "both"]


@settings
class ModelSettings:
    """Sizes of the language model."""

    vector_size: int = setting(100, "Size of a word's vector.", at_least=1, at_most=1_000_000, metavar="N")
    state_size: int = setting(256, "Size of a state, per direction.", at_least=1, at_most=1_000_000, metavar="N")
    buckets: int = setting(
        4096, "Number of vectors for the spelling of unknown words.", at_least=1, at_most=1_000_000, metavar="N"
    )
    softmax: Softmax = setting("full", "adaptive: faster where the vocabulary is large.")
    dropout: float = setting(0.3, "Share of numbers left out in training.", at_least=0, below=1, metavar="SHARE")
    spelled: float = setting(
        0.05, "Share of words that training reads by their spelling alone.", at_least=0, below=1, metavar="SHARE"
    )
    freeze: bool = setting(False, "Keep the given word vectors as they are.")

    def check_together(self) -> None:
        if self.softmax == "adaptive" and self.vector_size < 16:
            problem, cure = f"is {self.vector_size}", "the adaptive softmax needs 16 or more"
            raise SettingsError(problem, cure, key="vector_size")


@settings
class TrainSettings:
    """How an encoder is trained."""

    cutoff: int = setting(3, "Predict words that occur at least this often.", at_least=1, metavar="N")
    readable: int = setting(
        30_000, "With word vectors: number of words that the encoder can read.", at_least=1, metavar="N"
    )
    words_at_once: int = setting(1024, "Words per batch, about.", at_least=1, metavar="N")
    held_out: float = setting(
        0.02, "Share of sentences held out for validation.", above=0, at_most=0.5, metavar="SHARE"
    )
    use: Use = setting("references", "Of data sets: their references, their sources, or both.")
    licence: str = setting("", "A note on the licence of the text.", metavar="TEXT")
    text: TextSettings = part(TextSettings)
    model: ModelSettings = part(ModelSettings)
    fit: FitSettings = part(FitSettings, learning_rate=2e-3)
