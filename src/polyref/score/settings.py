"""How texts are scored: what a person can choose.

In:   choices. Out: one frozen dataclass a metric. Not: cutting (tokens.py), scoring (one module a metric).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from polyref.errors import SettingsError

Metric = Literal["bleu", "cider", "rouge-l"]
METRICS: tuple[Metric, ...] = get_args(Metric)
# pycocoevalcap's formula under the name CIDEr is the one that its authors call CIDEr-D.
ALIASES: dict[str, Metric] = {"cider-d": "cider", "rouge": "rouge-l", "rouge_l": "rouge-l"}

Tokenizer = Literal["13a", "intl", "zh", "char", "none", "ptb"]
Smoothing = Literal["exp", "none"]


@dataclass(frozen=True, slots=True)
class BleuSettings:
    """Corpus BLEU-4 as sacreBLEU has it by default. `fold_case`: capitals are small letters."""

    tokenizer: Tokenizer = "13a"
    fold_case: bool = False
    smoothing: Smoothing = "exp"

    def __post_init__(self) -> None:
        _check_tokenizer(self.tokenizer)
        if self.smoothing not in get_args(Smoothing):
            raise SettingsError(f'unknown smoothing "{self.smoothing}"; choose one of exp, none')


@dataclass(frozen=True, slots=True)
class CaptionSettings:
    """CIDEr and ROUGE-L, on the tokens that captions are scored on; those are in small letters always."""

    tokenizer: Tokenizer = "ptb"
    fold_case: bool = False

    def __post_init__(self) -> None:
        _check_tokenizer(self.tokenizer)


def metrics_of(names: Collection[str]) -> tuple[Metric, ...]:
    """The metrics of these names, without the aliases; each once, in the order that they were named."""
    if isinstance(names, str):
        names = [names]
    found: dict[Metric, None] = {}
    for name in names:
        metric = ALIASES.get(name.lower(), name.lower())
        if metric not in METRICS:
            raise SettingsError(f'unknown metric "{name}"; choose from {", ".join(METRICS)}')
        found[metric] = None
    if not found:
        raise SettingsError(f"no metric is named; choose from {', '.join(METRICS)}")
    return tuple(found)


def _check_tokenizer(name: str) -> None:
    if name not in get_args(Tokenizer):
        raise SettingsError(f'unknown tokenizer "{name}"; choose one of {", ".join(get_args(Tokenizer))}')
