"""What a person can choose about the paper's two models and about beam search (Section 4).

In:   choices. Out: checked settings. Not: the models (translator.py, captioner.py), the search (beam.py).

Nothing here needs torch: a recipe can be checked without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from polyref.errors import SettingsError

Scoring = Literal["plain", "normalised", "rewarded"]
_LARGEST = 100_000
_MOST_LAYERS = 100
# The largest length to this power is far from what a number can hold.
_HIGHEST_POWER = 10


@dataclass(frozen=True, slots=True)
class TranslatorSettings:
    """The paper's sizes. `state_size` is the decoder's; each direction of the encoder has half of it.

    `input_feeding` gives the decoder what it attended to last: slower, since it must go step by step. `tied` has one
    table for reading and for predicting target words. `label_smoothing` is for training alone, as dropout is.
    """

    embedding_size: int = 500
    state_size: int = 500
    layers: int = 2
    dropout: float = 0.3
    label_smoothing: float = 0.0
    input_feeding: bool = False
    tied: bool = False

    def __post_init__(self) -> None:
        _check_sizes(self, "embedding_size", "state_size")
        check_size("layers", self.layers, _MOST_LAYERS)
        _check_shares(self, "dropout", "label_smoothing")
        _check_yes_or_no(self, "input_feeding", "tied")
        if self.state_size % 2:
            raise SettingsError(f"state-size is {self.state_size}; give an even number: two directions share it")
        _check_tied(self.tied, self.embedding_size, self.state_size)


@dataclass(frozen=True, slots=True)
class CaptionerSettings:
    """`feature_size` numbers describe an image. A fully connected layer makes `embedding_size` of them, and the decoder
    reads those as if they were its first word."""

    feature_size: int = 2048
    embedding_size: int = 512
    state_size: int = 512
    layers: int = 1
    dropout: float = 0.3
    label_smoothing: float = 0.0
    tied: bool = False

    def __post_init__(self) -> None:
        _check_sizes(self, "feature_size", "embedding_size", "state_size")
        check_size("layers", self.layers, _MOST_LAYERS)
        _check_shares(self, "dropout", "label_smoothing")
        _check_yes_or_no(self, "tied")
        _check_tied(self.tied, self.embedding_size, self.state_size)


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """How wide a search is, what it looks for and how far it goes.

    The score of a hypothesis with log-probability p and length l (its tokens, the end among them) is

    - plain: p
    - normalised: p / l ** power
    - rewarded: p + reward * min(l, L), the bounded length reward of Huang, Zhao and Ma (2017); L is `bound` times the
      size of the source: its tokens with their end for the translator, 1 for the captioner.

    `best` hypotheses are returned; none is longer than `longest`. A sentence is over when nothing better can come;
    without `stop_early` every one goes to the limit, with the same result.
    """

    beam: int
    best: int = 1
    scoring: Scoring = "plain"
    power: float = 1.0
    reward: float = 1.0
    bound: float = 1.0
    longest: int = 100
    stop_early: bool = True

    def __post_init__(self) -> None:
        _check_sizes(self, "beam", "best", "longest")
        if self.best > self.beam:
            raise SettingsError(f"best is {self.best}, more than the beam of {self.beam}; lower it, or widen the beam")
        if self.scoring not in get_args(Scoring):
            raise SettingsError(f'unknown scoring "{self.scoring}"; choose one of {", ".join(get_args(Scoring))}')
        for name, most in (("power", _HIGHEST_POWER), ("reward", _LARGEST), ("bound", _LARGEST)):
            value = getattr(self, name)
            if not (_is_number(value) and 0 < value <= most):
                raise SettingsError(f"the {name} is {value!r}; give a number above 0, up to {most:,}")
        _check_yes_or_no(self, "stop_early")


def check_size(name: str, value: int, most: int = _LARGEST) -> None:
    """Refuse what is no size: of a model, a beam, a batch."""
    if not (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most):
        raise SettingsError(f"{name.replace('_', '-')} is {value!r}; give a whole number from 1 to {most:,}")


def _check_sizes(settings: object, *names: str) -> None:
    for name in names:
        check_size(name, getattr(settings, name))


def _check_shares(settings: object, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if not (_is_number(value) and 0 <= value < 1):
            raise SettingsError(f"{name.replace('_', '-')} is {value!r}; give a number from 0 up to, not including, 1")


def _check_yes_or_no(settings: object, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, bool):
            raise SettingsError(f"{name.replace('_', '-')} is {value!r}; give True or False")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_tied(tied: bool, embedding_size: int, state_size: int) -> None:
    if tied and embedding_size != state_size:
        raise SettingsError(
            f"tied embeddings have one size, but embedding-size is {embedding_size} and state-size {state_size}; "
            "give the same for both"
        )


# The paper's: a beam of 15 and a length reward for translation, a beam of 5 for captions.
TRANSLATING = BeamSettings(beam=15, scoring="rewarded")
CAPTIONING = BeamSettings(beam=5, longest=40)
