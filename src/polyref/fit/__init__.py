"""The training loop: it takes batches, and knows no model and no schedule.

Here is what can be chosen about it, and a fingerprint of that; loop.py does it. Nothing here needs torch.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, fields
from typing import Literal

from polyref.settings import setting, settings

Optimiser = Literal["sgd", "adamw"]
Goal = Literal["lowest", "highest"]
Precision = Literal["float32", "bfloat16"]
Device = Literal["auto", "cpu", "cuda"]
_EPOCHS = 20


@settings
class Decay:
    """When the learning rate is lowered, and when training ends early: after validations without improvement."""

    factor: float = setting(
        0.5,
        "Factor of the rate without improvement.",
        more="After each such validation.",
        above=0,
        at_most=1,
        option="--decay",
        metavar="F",
    )
    gain: float = setting(
        0.01,
        "Least improvement that counts (share).",
        more="Of the best validation.",
        at_least=0,
        below=1,
        option="--gain",
        metavar="SHARE",
    )
    stop_after: int = setting(5, "Validations without improvement to stop at.", at_least=1, option="--stop-after")


@settings(group="Training")
class FitSettings:
    """How a model is trained."""

    epochs: int | None = setting(None, "Most passes over the data.", unset=f"{_EPOCHS}, or by updates", at_least=1)
    updates: int | None = setting(None, "Largest number of updates.", unset="no limit", at_least=1)
    optimiser: Optimiser = setting("adamw", "sgd is plain gradient descent.")
    learning_rate: float = setting(1e-3, "Learning rate at the start.", above=0, at_most=100, metavar="R")
    weight_decay: float = setting(0.0, "Weight decay of the optimiser.", at_least=0, at_most=1, metavar="D")
    clip: float = setting(1.0, "Largest norm of all gradients together.", above=0, metavar="NORM")
    decay: Decay = setting(Decay(), "When the learning rate is lowered and training ends early.")
    goal: Goal = setting("lowest", "Whether a low or a high validation score is better.")
    save_every: int = setting(
        1000, "Updates between two checkpoints.", more="There is also one after every epoch.", at_least=1
    )
    seed: int = setting(0, "Decides first weights, order and dropout.", at_least=0, below=2**32)
    average: float | None = setting(
        None,
        "Validate and keep an exponential average of the weights, with this factor.",
        unset="the weights themselves",
        above=0,
        below=1,
        hint="such as 0.999",
    )
    validate_every: int | None = setting(
        None, "Updates between two validations.", unset="after every epoch", at_least=1
    )
    recent: int = setting(3, "Number of last validations whose mean decides about patience.", at_least=1)
    patience: int | None = setting(None, "Stop when that mean has not improved for this many validations.", at_least=1)
    precision: Precision = setting("float32", "bfloat16: attention and output layer on GPUs that support it.")

    @property
    def most_epochs(self) -> float:
        """The limit in epochs. Whoever limits the updates, and not the epochs, wants that many updates."""
        if self.epochs is not None:
            return self.epochs
        return _EPOCHS if self.updates is None else math.inf


def fingerprint(*parts: object) -> str:
    """A hash of settings and of whatever else a run depends on; dataclasses come as dictionaries (`asdict`)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def run_fingerprint(settings: FitSettings, *parts: object) -> str:
    """What must be equal for a run to go on where another one stopped: all but how long, and how often it saves.

    What a class that is made from FitSettings adds is not for the loop, and does not count.
    """
    names = {one.name for one in fields(FitSettings)} - {"epochs", "updates", "save_every"}
    kept = {name: value for name, value in asdict(settings).items() if name in names}
    return fingerprint(kept, *parts)
