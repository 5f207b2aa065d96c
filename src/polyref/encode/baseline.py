"""What words of unrelated sentences have in common, by an encoder's cosine.

In:   an encoder, and sentences that have nothing to do with each other.
Out:  the baseline b: the mean cosine of two words from two different sentences.
Not:  rescaling with it (align/).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyref.encode.training_text import Use, read_sentences
from polyref.errors import InputError, SettingsError
from polyref.text import TextSettings, tokenize

if TYPE_CHECKING:
    from polyref.encode.encoder import Encoder

_LEAST_PAIRS = 1000
_MOST_SENTENCES = 300


@cache
def unrelated_sentences() -> tuple[tuple[str, ...], ...]:
    """The sample text of the package, as words."""
    text = Path(__file__).with_name("unrelated.txt").read_text(encoding="utf-8")
    return tuple(tokenize(line, TextSettings()).words for line in text.splitlines())


def unrelated_of(
    paths: Sequence[str], use: Use, text: TextSettings, most: int = _MOST_SENTENCES
) -> list[tuple[str, ...]]:
    """Sentences of a person's own files that have nothing to do with each other: one of each example, spread evenly."""
    found = list(read_sentences(paths, use, text, one_each=True))
    if len(found) < 2:
        raise InputError(f"{len(found)} sentences", "give more text", file=paths[0])
    return [found[k * len(found) // most] for k in range(most)] if len(found) > most else found


def measure_baseline(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> float:
    """b, to four digits: what cosines are counted in."""
    encodings = encoder.encode(sentences)
    known = np.concatenate([encoding.known for encoding in encodings])
    vectors = np.concatenate([encoding.vectors for encoding in encodings])[known].astype(np.float64)
    sentence = np.repeat(np.arange(len(encodings)), [len(encoding.known) for encoding in encodings])[known]
    apart = sentence[:, None] != sentence[None, :]
    if apart.sum() < 2 * _LEAST_PAIRS:
        raise SettingsError(
            f"{encoder.name} knows too few words of the sample text to measure its baseline; use --similarity cosine"
        )
    products = vectors @ vectors.T
    squares = products.diagonal()
    lengths = np.sqrt(squares[:, None] * squares[None, :])
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return round(float(cosines[apart].mean()), 4)
