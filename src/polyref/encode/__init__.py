"""A vector for each word in its context.

The room's order, each file importing only from those before it: encoder; network, kernels, context (the language model
as an encoder); vectors; pretrained; cache; opening; corpus, language_model, training (which needs torch).
"""

from polyref.encode.context import ContextEncoder, Reading, VectorSettings
from polyref.encode.encoder import Choosy, Encoder, Encoding, measure_baseline, unit_vectors, unrelated_sentences
from polyref.encode.opening import DEFAULT, default_encoder, open_encoder
from polyref.encode.vectors import WordVectors

__all__ = [
    "DEFAULT",
    "Choosy",
    "ContextEncoder",
    "Encoder",
    "Encoding",
    "Reading",
    "VectorSettings",
    "WordVectors",
    "default_encoder",
    "measure_baseline",
    "open_encoder",
    "unit_vectors",
    "unrelated_sentences",
]
