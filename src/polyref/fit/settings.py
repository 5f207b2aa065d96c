"""How a model is trained: what a person can choose.

In:   choices. Out: checked settings, and a fingerprint of them. Not: doing it (loop.py).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from polyref.errors import SettingsError

Optimiser = Literal["sgd", "adamw"]
Goal = Literal["lowest", "highest"]
Precision = Literal["float32", "bfloat16"]
Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class Decay:
    """The learning rate is multiplied by `factor` after a validation that brings no gain: one that is not better than
    the best before it, or by less than the share `gain`.

    Training ends early when that has happened `stop_after` times.
    """

    factor: float = 0.5
    gain: float = 0.01
    stop_after: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 1:
            raise SettingsError(f"the decay is {self.factor}; give a number above 0, at most 1")
        if not 0 <= self.gain < 1:
            raise SettingsError(f"the gain is {self.gain}; give a share from 0 up to, not including, 1")
        if self.stop_after < 1:
            raise SettingsError(f"stop-after is {self.stop_after}; give 1 or more")


@dataclass(frozen=True, slots=True)
class FitSettings:
    """`clip` bounds the norm of all gradients together. A checkpoint is written after every `save_every` updates, and
    after each epoch.

    `average` keeps an exponential average of the weights, which is what is validated and kept as the best; None uses
    the weights themselves. Validation comes every `validate_every` updates; None: after each epoch. Training ends
    early when the mean of the `recent` last validations has not been better than its own best for `patience`
    validations; None does not look at it.
    """

    epochs: int = 20
    optimiser: Optimiser = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    clip: float = 1.0
    decay: Decay = Decay()
    goal: Goal = "lowest"
    save_every: int = 1000
    seed: int = 0
    average: float | None = None
    validate_every: int | None = None
    recent: int = 3
    patience: int | None = None
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        for name in ("epochs", "save_every", "validate_every", "recent", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name.replace('_', '-')} is {value}; give 1 or more")
        if not 0 < self.learning_rate <= 100:
            raise SettingsError(f"the learning rate is {self.learning_rate}; give a number above 0, at most 100")
        if not 0 <= self.weight_decay <= 1:
            raise SettingsError(f"the weight decay is {self.weight_decay}; give a number from 0 to 1")
        if not self.clip > 0:
            raise SettingsError(f"the clip is {self.clip}; give a number above 0")
        if not 0 <= self.seed < 2**32:
            raise SettingsError(f"the seed is {self.seed}; give a number from 0 to {2**32 - 1}")
        if self.average is not None and not 0 < self.average < 1:
            raise SettingsError(f"the average is {self.average}; give a number above 0 and under 1, such as 0.999")
        for what, value, choices in (
            ("optimiser", self.optimiser, Optimiser),
            ("goal", self.goal, Goal),
            ("precision", self.precision, Precision),
        ):
            if value not in get_args(choices):
                raise SettingsError(f'unknown {what} "{value}"; choose one of {", ".join(get_args(choices))}')


def fingerprint(*parts: object) -> str:
    """A hash of settings and of whatever else a run depends on; dataclasses come as dictionaries (`asdict`)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def run_fingerprint(settings: FitSettings, *parts: object) -> str:
    """What must be equal for a run to go on where another one stopped: all but how long, and how often it saves."""
    kept = {name: value for name, value in asdict(settings).items() if name not in ("epochs", "save_every")}
    return fingerprint(kept, *parts)
