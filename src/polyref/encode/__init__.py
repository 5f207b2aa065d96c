"""A vector for each word in its context."""

from polyref.encode.baseline import measure_baseline, unrelated_sentences
from polyref.encode.context import ContextEncoder
from polyref.encode.encoder import DEFAULT, Choosy, Encoder, Encoding, default_encoder, open_encoder, unit_vectors
from polyref.encode.vectors import WordVectors

__all__ = [
    "DEFAULT",
    "Choosy",
    "ContextEncoder",
    "Encoder",
    "Encoding",
    "WordVectors",
    "default_encoder",
    "measure_baseline",
    "open_encoder",
    "unit_vectors",
    "unrelated_sentences",
]
