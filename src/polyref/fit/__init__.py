"""The training loop: it takes batches, and knows no model and no schedule."""

from polyref.fit.settings import Decay, FitSettings

__all__ = ["Decay", "FitSettings"]
