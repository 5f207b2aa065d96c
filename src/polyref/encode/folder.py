"""A trained encoder on disk: a folder with weights, vocabulary and a description that a person can read.

In:   arrays, words and facts. Out: `weights.safetensors`, `vocabulary.txt`, `config.json`; and back.
Not:  training (training.py), encoding (context.py).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from polyref.encode.prediction import output_shapes
from polyref.encode.vocabulary import Vocabulary, words_hash
from polyref.errors import InputError

FORMAT = 1
CONFIG, WEIGHTS, VOCABULARY = "config.json", "weights.safetensors", "vocabulary.txt"
_CURE = "take another copy, or train it again"


@dataclass(frozen=True)
class EncoderFolder:
    """What a folder holds. `config` is passed on as it is."""

    config: dict[str, Any]
    vocabulary: Vocabulary
    weights: dict[str, npt.NDArray[Any]]
    hash: str  # of weights and vocabulary

    @property
    def baseline(self) -> float:
        return float(self.config["baseline"])


def write_folder(folder: Path, config: dict[str, Any], vocabulary: Vocabulary, weights: dict[str, Any]) -> None:
    """Write the three files, the description last: a folder without it is not complete."""
    folder.mkdir(parents=True, exist_ok=True)
    content = save({name: np.ascontiguousarray(weight) for name, weight in weights.items()})
    facts = {
        "format": FORMAT,
        **config,
        "words": len(vocabulary.words),
        "predicted": vocabulary.predicted,
        "vocabulary_hash": vocabulary.hash,
        "weights_hash": hashlib.sha256(content).hexdigest()[:16],
    }
    _write(folder / WEIGHTS, content)
    _write(folder / VOCABULARY, ("\n".join(vocabulary.words) + "\n").encode("utf-8"))
    write_config(folder, facts)


def write_config(folder: Path, config: dict[str, Any]) -> None:
    _write(folder / CONFIG, (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode())


def read_config(folder: Path) -> dict[str, Any]:
    """The description alone."""
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"there is no {CONFIG} in it", "name a folder that `polyref encoder train` has finished", file=str(folder)
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", _CURE, file=str(path)) from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError("not the description of an encoder that this version reads", _CURE, file=str(path))
    _check_facts(config, path)
    return config


def _check_facts(config: dict[str, Any], path: Path) -> None:
    for name in ("vector_size", "state_size", "buckets", "words", "predicted"):
        if type(config.get(name)) is not int or not 0 < config[name] < 2**31:
            raise InputError(f"`{name}` should be a whole number above 0", _CURE, file=str(path))
    for name, least in (("baseline", -1), ("word_share", 0)):
        if type(config.get(name)) not in (int, float) or not least <= config[name] <= 1:
            raise InputError(f"`{name}` should be a number from {least} to 1", _CURE, file=str(path))
    cutoffs = config.get("cutoffs")
    if cutoffs is not None and not (
        isinstance(cutoffs, list)
        and all(type(cutoff) is int for cutoff in cutoffs)
        and cutoffs == sorted({cutoff for cutoff in cutoffs if 0 < cutoff <= config["predicted"]})
        and cutoffs
    ):
        raise InputError("`cutoffs` should be whole numbers that rise, none above `predicted`", _CURE, file=str(path))


def read_folder(folder: Path) -> EncoderFolder:
    """Read an encoder; what does not fit together is refused."""
    config = read_config(folder)
    try:
        content = (folder / WEIGHTS).read_bytes()
        words = tuple((folder / VOCABULARY).read_bytes().decode("utf-8").split("\n")[:-1])
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", _CURE, file=str(folder)) from None
    if words_hash(words) != config.get("vocabulary_hash") or len(words) != config["words"]:
        raise InputError("not the vocabulary that the weights belong to", _CURE, file=str(folder / VOCABULARY))
    if hashlib.sha256(content).hexdigest()[:16] != config.get("weights_hash"):
        raise InputError("not the weights that the description belongs to", _CURE, file=str(folder / WEIGHTS))
    try:
        weights = load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"cannot be read ({error})", _CURE, file=str(folder / WEIGHTS)) from None
    _check_shapes(config, weights, folder)
    vocabulary = Vocabulary(words, config["predicted"])
    digest = hashlib.sha256(
        json.dumps([config["weights_hash"], config["vocabulary_hash"], config["word_share"]]).encode()
    ).hexdigest()
    return EncoderFolder(config, vocabulary, weights, digest[:16])


def _check_shapes(config: dict[str, Any], weights: dict[str, npt.NDArray[Any]], folder: Path) -> None:
    size, states = config["vector_size"], config["state_size"]
    expected: dict[str, tuple[int, ...]] = {
        "vectors": (config["words"], size),
        "pieces": (config["buckets"], size),
        "boundary": (2, size),
        "centre.own": (size,),
        "centre.states": (2, states),
        "projection.weight": (size, 2 * states),
        "projection.bias": (size,),
    }
    for direction in ("forward", "backward"):
        expected[f"{direction}.read"] = (4 * states, size)
        expected[f"{direction}.state"] = (4 * states, states)
        expected[f"{direction}.bias"] = (4 * states,)
    for name, shape in (expected | output_shapes(config["predicted"], size, config.get("cutoffs"))).items():
        if name not in weights or weights[name].shape != shape:
            found = weights[name].shape if name in weights else "nothing"
            problem = f"`{name}` should have shape {shape}, and has {found}"
            raise InputError(problem, _CURE, file=str(folder / WEIGHTS))


def _write(path: Path, content: bytes) -> None:
    new = path.with_name(path.name + ".partial")
    new.write_bytes(content)
    new.replace(path)
