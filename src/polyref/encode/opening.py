"""Open an encoder by its name.

In:   a name: one inside the package, the folder of a trained one, or a kind with what it takes, such as `vectors:FILE`.
Out:  an Encoder, opened.
Not:  what the encoders do (context.py, vectors.py, pretrained.py).

To add an encoder: write a class that fits the protocol (encoder.py) in a file of its own, and a line in KINDS.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from polyref.encode.context import ContextEncoder, VectorSettings, read_folder
from polyref.encode.encoder import Encoder
from polyref.encode.pretrained import PretrainedEncoder, parse_name
from polyref.encode.vectors import WordVectors
from polyref.errors import SettingsError

BUILTIN = ("english",)
DEFAULT = "english"
# Text with more unknown words than this is not what a built-in encoder was made for.
MOST_UNKNOWN = 0.3
_log = logging.getLogger(__name__)


class Kind(NamedTuple):
    """How the encoders of a kind are opened. `takes` says what stands behind the colon of their names."""

    takes: str
    open: Callable[[str], Encoder]
    is_there: Callable[[str], bool] = lambda rest: True


KINDS = {
    "vectors": Kind("FILE (npz, GloVe or fastText text)", WordVectors.load, lambda rest: Path(rest).is_file()),
    "huggingface": Kind("NAME", lambda rest: PretrainedEncoder.load(*parse_name(rest))),  # which may be fetched
}


def open_encoder(name: str, vectors: VectorSettings | None = None) -> Encoder:
    """The encoder of a name; `vectors` are for a language model."""
    vectors = vectors or VectorSettings()
    check_vectors(name, vectors)
    kind, _, rest = name.partition(":")
    if kind in KINDS and rest:
        encoder = KINDS[kind].open(rest)
        _log.info("encoder %s opened", name)
        return encoder
    if not is_encoder(name):
        kinds = " or ".join(f"{kind}:{KINDS[kind].takes}" for kind in KINDS)
        choices = f"give {', '.join(BUILTIN)}, the folder of one that you trained, {kinds}"
        raise SettingsError(f'there is no encoder "{name}"', choices)
    return open_language_model(name, vectors)


def hash_of_files(name: str) -> str:
    """Changes with the files of an encoder, which may be made anew under its name; empty where it has none here."""
    place = Path(name.partition(":")[2] if name.partition(":")[0] in KINDS else name)
    if name in BUILTIN or not place.exists():
        return ""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(place.iterdir()) if place.is_dir() else [place]:
        found.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return found.hexdigest()


def check_vectors(name: str, vectors: VectorSettings) -> None:
    """Refuse a share for a word's own vector where nothing is mixed. Without a share and a centre, it is as it is."""
    kind, _, rest = name.partition(":")
    if kind in KINDS and rest and vectors.word_share:
        problem = f"has no effect on {kind}:, whose vectors are taken as they are"
        raise SettingsError(problem, "leave it out, or name another encoder", key="word_share", also=("encoder",))


def is_encoder(name: str) -> bool:
    """Whether there is an encoder of this name, as far as that can be told without opening it."""
    kind, _, rest = name.partition(":")
    if kind in KINDS and rest:
        return KINDS[kind].is_there(rest)
    return name in BUILTIN or (name != "" and Path(name).is_dir())


def open_language_model(name: str, vectors: VectorSettings | None = None) -> ContextEncoder:
    """An encoder that is a language model, and so can tell how fluent a sentence is."""
    if name in BUILTIN:
        return open_builtin(name, vectors or VectorSettings())
    if not name or not Path(name).is_dir():
        choices = f"give {', '.join(BUILTIN)} or the folder of one that you trained"
        raise SettingsError(f'there is no language model "{name}"', choices)
    model = ContextEncoder.load(name, vectors)
    _log.info("language model %s opened", name)
    return model


def default_encoder() -> ContextEncoder:
    """What soft alignment uses where nothing else is named; opened once."""
    return open_builtin(DEFAULT, VectorSettings())


@cache
def open_builtin(name: str, vectors: VectorSettings) -> ContextEncoder:
    """An encoder inside the package: it works at once, without torch."""
    model = ContextEncoder(read_folder(builtin_folder(name)), name, vectors, most_unknown=MOST_UNKNOWN)
    _log.info("language model %s opened, which is part of the package", name)
    return model


def builtin_folder(name: str) -> Path:
    """Where a built-in encoder lies, with its model card."""
    return Path(__file__).parent / name
