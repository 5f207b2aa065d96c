"""Small models with settled weights, and batches for them."""

from __future__ import annotations

from typing import Any

import torch

from polyref.model.captioner import Captioner
from polyref.model.settings import CaptionerSettings, TranslatorSettings
from polyref.model.translator import Translator

WORDS = 11


def small_translator(*, seed: int = 0, spread: float = 3.0, words: int = WORDS, **choices: Any) -> Translator:
    settings = TranslatorSettings(**{"embedding_size": 12, "state_size": 12, "dropout": 0.0, **choices})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return _spread(Translator(settings, source_words=WORDS, target_words=words), spread)


def small_captioner(*, seed: int = 0, spread: float = 3.0, words: int = WORDS, **choices: Any) -> Captioner:
    settings = CaptionerSettings(
        **{"feature_size": 7, "embedding_size": 12, "state_size": 12, "dropout": 0.0, **choices}
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return _spread(Captioner(settings, target_words=words), spread)


def _spread(model: Any, spread: float) -> Any:
    """Larger weights, so that what a model says depends on what it reads."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad and weight.ndim == 2:
                weight *= spread
    return model.eval()
