"""What every encoder offers: a vector for each word, and a baseline.

In:   sentences, as lists of words.
Out:  unit vectors in float16; the baseline b, the mean cosine of two words from unrelated sentences.
Not:  opening an encoder by name (opening.py), comparing vectors and rescaling with b (align/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from polyref.errors import SettingsError
from polyref.text import TextSettings, tokenize

_LEAST_PAIRS = 1000


@dataclass(frozen=True, slots=True)
class Encoding:
    """The words of one sentence as vectors, one row per word; `known` says which words have one."""

    vectors: npt.NDArray[np.float16]
    known: npt.NDArray[np.bool_]


class Encoder(Protocol):
    """Anything that gives words their vectors. `hash` names its content, `baseline` what unrelated words share."""

    @property
    def name(self) -> str: ...

    @property
    def hash(self) -> str: ...

    @property
    def baseline(self) -> float: ...

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]: ...


@runtime_checkable
class Choosy(Protocol):
    """An encoder or a language model that can tell text it was not made for."""

    def check(self, sentences: Sequence[Sequence[str]]) -> None:
        """Refuse such text."""
        ...


def unit_vectors(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    """Rows scaled to length 1 and rounded; a row of zeros stays one."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    lengths[lengths == 0] = 1.0
    scaled: npt.NDArray[np.float16] = (exact / lengths[:, None]).astype(np.float16)
    return scaled


@cache
def unrelated_sentences() -> tuple[tuple[str, ...], ...]:
    """The sample text of the package, as words."""
    text = Path(__file__).with_name("unrelated.txt").read_text(encoding="utf-8")
    return tuple(tokenize(line, TextSettings()).words for line in text.splitlines())


def measure_baseline(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> float:
    """b, to four digits: what cosines are counted in."""
    encodings = encoder.encode(sentences)
    known = np.concatenate([encoding.known for encoding in encodings])
    vectors = np.concatenate([encoding.vectors for encoding in encodings])[known].astype(np.float64)
    sentence = np.repeat(np.arange(len(encodings)), [len(encoding.known) for encoding in encodings])[known]
    apart = sentence[:, None] != sentence[None, :]
    if apart.sum() < 2 * _LEAST_PAIRS:
        problem = f"{encoder.name} knows too few words of the sample text to measure its baseline"
        raise SettingsError(problem, "set similarity to cosine")
    products = vectors @ vectors.T
    squares = products.diagonal()
    lengths = np.sqrt(squares[:, None] * squares[None, :])
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return round(float(cosines[apart].mean()), 4)
