"""A vector for each word in its context."""

from polyref.encode.baseline import measure_baseline, unrelated_sentences
from polyref.encode.encoder import Encoder, Encoding, open_encoder, unit_vectors
from polyref.encode.vectors import WordVectors

__all__ = [
    "Encoder",
    "Encoding",
    "WordVectors",
    "measure_baseline",
    "open_encoder",
    "unit_vectors",
    "unrelated_sentences",
]
