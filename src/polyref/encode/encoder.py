"""What every encoder offers, and how one is opened by name.

In:   sentences, as lists of words.
Out:  a unit vector for each word, rounded to float16.
Not:  comparing vectors (align/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from polyref.errors import SettingsError

if TYPE_CHECKING:
    from polyref.encode.context import ContextEncoder


BUILTIN = ("english",)
DEFAULT = "english"


@dataclass(frozen=True, slots=True)
class Encoding:
    """The words of one sentence as vectors, one row a word; `known` says which words have one."""

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


def default_encoder() -> ContextEncoder:
    """What soft alignment uses where nothing else is named; opened once."""
    from polyref.encode.builtin import open_builtin

    return open_builtin(DEFAULT)


def open_encoder(name: str) -> Encoder:
    """The encoder that a command line names: one inside the package, a folder, `vectors:FILE` or `huggingface:NAME`."""
    kind, _, rest = name.partition(":")
    if kind == "vectors" and rest:
        from polyref.encode.vectors import WordVectors

        return WordVectors.load(rest)
    if kind == "huggingface" and rest:
        from polyref.encode.pretrained import PretrainedEncoder, parse_name

        return PretrainedEncoder.load(*parse_name(rest))
    found = _language_model(name)
    if found is None:
        raise SettingsError(
            f'there is no encoder "{name}"; give {", ".join(BUILTIN)}, the folder of one that you trained, '
            "vectors:FILE (npz, GloVe or fastText text) or huggingface:NAME"
        )
    return found


def open_language_model(name: str) -> ContextEncoder:
    """An encoder that is a language model, and so can tell how fluent a sentence is."""
    found = _language_model(name)
    if found is None:
        names = ", ".join(BUILTIN)
        raise SettingsError(f'there is no language model "{name}"; give {names} or the folder of one that you trained')
    return found


def _language_model(name: str) -> ContextEncoder | None:
    from polyref.encode.builtin import open_builtin
    from polyref.encode.context import ContextEncoder

    if name in BUILTIN:
        return open_builtin(name)
    return ContextEncoder.load(name) if name and Path(name).is_dir() else None
