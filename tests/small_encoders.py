"""Language model encoders of a few words, written without training; text to train small ones on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from samples import captions

from polyref.encode.context import ContextEncoder, Vocabulary, read_folder, write_folder
from polyref.encode.network import (
    INPUT_STEP,
    STATE_STEP,
    for_expectations,
    for_states,
    for_vectors,
    on_grid,
    output_shapes,
)

ENGLISH_WORDS = "the a cat dog man woman sits stands sleeps on in near table chair window red small old . ,"
GERMAN_WORDS = "der die das ein eine hund katze mann frau haus baum sitzt steht schläft wartet auf unter neben . ,"
WORDS, GERMAN = ENGLISH_WORDS.split(), GERMAN_WORDS.split()


def write_encoder(
    folder: Path,
    words: Sequence[str] = tuple(WORDS),
    *,
    predicted: int | None = None,
    size: int = 16,
    states: int = 6,
    buckets: int = 64,
    cutoffs: list[int] | None = None,
    word_share: float = 0.0,
    baseline: float = 0.1,
    seed: int = 0,
    strength: float = 1.0,
) -> Path:
    """An encoder with drawn weights; `strength` says how large those of the states are."""
    draw = np.random.default_rng(seed).normal
    predicted = len(words) if predicted is None else predicted

    def unit(rows: int) -> np.ndarray:
        drawn = draw(size=(rows, size))
        return on_grid(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), INPUT_STEP)

    weights: dict[str, Any] = {
        "vectors": unit(len(words)),
        "boundary": unit(2),
        "pieces": draw(size=(buckets, size)) / size**0.5,
        "centre.own": on_grid(draw(size=size) * 0.1, INPUT_STEP),
        "centre.states": on_grid(draw(size=(2, states)) * 0.1, STATE_STEP),
        "projection.weight": for_states(draw(size=(size, 2 * states)) / states**0.5),
        "projection.bias": draw(size=size),
    }
    for side in ("forward", "backward"):
        weights[f"{side}.read"] = for_vectors(draw(size=(4 * states, size)))
        weights[f"{side}.state"] = for_states(draw(size=(4 * states, states)) * strength / states**0.5)
        weights[f"{side}.bias"] = draw(size=4 * states)
    for name, shape in output_shapes(predicted, size, cutoffs).items():
        drawn = draw(size=shape) / max(1, shape[-1]) ** 0.5
        weights[name] = for_expectations(drawn) if len(shape) == 2 else drawn
    config = {
        "kind": "bidirectional language model",
        "vector_size": size,
        "state_size": states,
        "buckets": buckets,
        "cutoffs": cutoffs,
        "perplexity": 12.5,
        "word_share": word_share,
        "baseline": baseline,
    }
    halved = {name: np.asarray(array).astype(np.float16) for name, array in weights.items()}
    write_folder(folder, config, Vocabulary(tuple(words), predicted), halved)
    return folder


def open_small(folder: Path, *, most_unknown: float = 1.0) -> ContextEncoder:
    return ContextEncoder(read_folder(folder), "small", most_unknown=most_unknown)


def caption_text(examples: int = 60, *, seed: int = 0) -> str:
    """Captions, one a line."""
    return "".join(caption + "\n" for example in captions(examples, seed=seed) for caption in example)


def drawn_text(words: Sequence[str], sentences: int, *, most: int = 9, seed: int = 0) -> str:
    """Sentences of drawn words, one a line."""
    rng = np.random.default_rng(seed)
    return "".join(" ".join(rng.choice(words, rng.integers(2, most + 1))) + "\n" for _ in range(sentences))
