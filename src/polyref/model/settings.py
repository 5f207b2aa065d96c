"""What a person can choose about the paper's two models and about beam search (Section 4).

The kinds of models are listed here. Nothing here needs torch: a recipe can be checked without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from polyref.errors import SettingsError
from polyref.settings import Declared, Key, check, required, setting, settings

Scoring = Literal["plain", "normalised", "rewarded"]
_LARGEST = 100_000


def _size(default: int, help: str, at_most: int = _LARGEST, **declared: Any) -> Any:
    return setting(default, help, at_least=1, at_most=at_most, **declared)


def _share(default: float, help: str) -> Any:
    return setting(default, help, at_least=0, below=1, metavar="SHARE")


def _factor(scoring: Scoring, help: str, metavar: str, at_most: int = _LARGEST) -> Any:
    needs = "scoring", scoring
    return setting(1.0, f"{scoring}: {help}", above=0, at_most=at_most, metavar=metavar, needs=needs)


@settings
class TranslatorSettings:
    """The paper's sizes. Each direction of the encoder has half of the state size."""

    embedding_size: int = _size(500, "Size of a subword's vector.")
    state_size: int = _size(500, "Size of a state of the decoder; each direction of an encoder has half of it.")
    layers: int = _size(2, "Layers of the encoder, and as many of the decoder.", at_most=100)
    dropout: float = _share(0.3, "Share of numbers left out in training.")
    label_smoothing: float = _share(0.0, "Share of probability that training spreads over all subwords.")
    input_feeding: bool = setting(False, "Translator: the decoder also reads what it attended to last. Slower.")
    tied: bool = setting(False, "Use one table of vectors to read and to predict target words.")

    def check_together(self) -> None:
        if self.state_size % 2:
            cure = "give an even number: two directions share it"
            raise SettingsError(f"is {self.state_size}", cure, key="state_size")
        _check_tied(self)


@settings
class CaptionerSettings:
    """A fully connected layer turns an image's features into a vector, which the decoder reads as its first word."""

    feature_size: int = _size(2048, "Captioner: number of features per image.")
    embedding_size: int = _size(512, "Size of a subword's vector.")
    state_size: int = _size(512, "Size of a state of the decoder.")
    layers: int = _size(1, "Layers of the decoder.", at_most=100)
    dropout: float = _share(0.3, "Share of numbers left out in training.")
    label_smoothing: float = _share(0.0, "Share of probability that training spreads over all subwords.")
    tied: bool = setting(False, "Use one table of vectors to read and to predict target words.")

    def check_together(self) -> None:
        _check_tied(self)


def _check_tied(made: TranslatorSettings | CaptionerSettings) -> None:
    if made.tied and made.embedding_size != made.state_size:
        problem = f"needs one size, but embedding_size is {made.embedding_size} and state_size {made.state_size}"
        cure = "give the same for both"
        raise SettingsError(problem, cure, key="tied", also=("embedding_size", "state_size"))


@settings(group="Beam search")
class BeamSettings:
    """How wide a search is, what it ranks by and how far it goes.

    The score of a hypothesis with log-probability p and length l (its tokens, the end among them) is

    - plain: p
    - normalised: p / l ** power
    - rewarded: p + reward * min(l, L), the bounded length reward of Huang, Zhao and Ma (2017); L is `bound` times the
      size of the source: its tokens with their end for the translator, 1 for the captioner.
    """

    beam: int = required("Width of the beam.", at_least=1, at_most=_LARGEST)
    best: int = _size(1, "Hypotheses per source.")
    scoring: Scoring = setting(
        "plain",
        "How hypotheses are ranked.",
        more="plain: log-probability; normalised: by length; rewarded: with the bounded length reward.",
    )
    power: float = _factor("normalised", "power of the length.", "P", at_most=10)
    reward: float = _factor("rewarded", "reward per token.", "R")
    bound: float = _factor("rewarded", "up to B source lengths.", "B")
    longest: int = _size(100, "Most tokens per hypothesis.")
    stop_early: bool = setting(True, "End when nothing better can come. The result is the same.")

    def check_together(self) -> None:
        if self.best > self.beam:
            problem, cure = f"is {self.best}, more than the beam of {self.beam}", "lower it, or widen the beam"
            raise SettingsError(problem, cure, key="best", also=("beam",))


def check_size(name: str, value: int, most: int = _LARGEST) -> None:
    """Refuse what is not a size: of a beam, a batch."""
    check(Key(name, int, None, Declared(at_least=1, at_most=most)), value)


# The paper's: a beam of 15 and a length reward for translation, a beam of 5 for captions.
TRANSLATING = BeamSettings(beam=15, scoring="rewarded")
CAPTIONING = BeamSettings(beam=5, longest=40)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model: its settings, the name of its class (which needs torch), and how it searches by default."""

    settings: type[Any]
    model: str
    beam: BeamSettings
    reads_images: bool = False  # whether sources are features of images, not texts


KINDS = {
    "translator": Kind(TranslatorSettings, "polyref.model.translator:Translator", TRANSLATING),
    "captioner": Kind(CaptionerSettings, "polyref.model.captioner:Captioner", CAPTIONING, reads_images=True),
}


def kind_of(settings: object) -> str:
    """The kind of model that settings are for."""
    return next(name for name, kind in KINDS.items() if type(settings) is kind.settings)
