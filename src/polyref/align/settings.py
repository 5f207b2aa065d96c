"""How references are aligned: what a person can choose.

In:   choices. Out: the penalties to try, in order. Not: doing it (alignment.py).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_args

from polyref.align.alignment import UNIT, MergeOrder, Similarity, whole_units
from polyref.align.veto import VETO_KINDS, VetoKind
from polyref.errors import SettingsError

Alignment = Literal["hard", "soft"]


@dataclass(frozen=True, slots=True)
class AdaptivePenalty:
    """Start strict, and give way in steps until the lattice holds enough sentences."""

    start: float = 0.9
    step: float = 0.05
    floor: float = 0.3
    at_least: int = 100

    def __post_init__(self) -> None:
        _check_penalty(self.start, "start")
        _check_penalty(self.floor, "floor")
        if self.floor > self.start:
            raise SettingsError(f"the floor {self.floor} lies above the start {self.start}; swap them")
        if not 0.0001 <= self.step <= 1:
            raise SettingsError(f"the step is {self.step}; give a number from 0.0001 to 1")
        if self.at_least < 1:
            raise SettingsError(f"at-least is {self.at_least}; give 1 or more")

    def levels(self) -> list[int]:
        """The penalties in units of 1e-4, highest first; the floor is the last one, whatever the steps."""
        floor = whole_units(self.floor)
        return [*range(whole_units(self.start), floor, -whole_units(self.step)), floor]


@dataclass(frozen=True, slots=True)
class AlignSettings:
    """`penalty` is what a link must beat, in soft alignment; hard alignment does not depend on it.

    Neither does it on the other two: `veto` names the kinds of words that are never linked, whatever their vectors,
    and `position` is what a pair loses that stands at opposite ends of its references. `baseline` is used instead of
    what the encoder says that unrelated words share.
    """

    align: Alignment = "hard"
    similarity: Similarity = "rescaled"
    penalty: float | AdaptivePenalty = 0.5
    merge_order: MergeOrder = "tree"
    veto: Collection[VetoKind] = VETO_KINDS
    position: float = 0.02
    baseline: float | None = None

    def __post_init__(self) -> None:
        _check_choice("align", self.align, Alignment)
        _check_choice("similarity", self.similarity, Similarity)
        _check_choice("merge order", self.merge_order, MergeOrder)
        if not isinstance(self.penalty, AdaptivePenalty):
            _check_penalty(self.penalty, "penalty")
        _check_veto(self.veto)
        # In one order, however it was given: equal settings are equal, and are written alike.
        object.__setattr__(self, "veto", tuple(kind for kind in VETO_KINDS if kind in self.veto))
        _check_penalty(self.position, "position")
        if self.baseline is not None and not -1 < self.baseline < 1:
            raise SettingsError(f"the baseline is {self.baseline}; give a number between -1 and 1")
        if self.align == "soft" and self.baseline is not None and self.similarity == "cosine":
            raise SettingsError("the raw cosine has no baseline; leave it out, or use --similarity rescaled")

    def penalties(self) -> list[int]:
        """The penalties to try, in units of 1e-4, until the lattice holds `at_least` sentences."""
        if self.align == "hard":
            return [UNIT // 2]
        if isinstance(self.penalty, AdaptivePenalty):
            return self.penalty.levels()
        return [whole_units(self.penalty)]

    @property
    def at_least(self) -> int:
        return self.penalty.at_least if isinstance(self.penalty, AdaptivePenalty) else 0

    def shown_penalty(self, units: int) -> float | None:
        return None if self.align == "hard" else units / UNIT


def _check_choice(what: str, value: str, choices: Any) -> None:
    if value not in get_args(choices):
        raise SettingsError(f'unknown {what} "{value}"; choose one of {", ".join(get_args(choices))}')


def _check_veto(kinds: Collection[str]) -> None:
    if isinstance(kinds, str):
        raise SettingsError(f'the veto is the text "{kinds}"; give a list of kinds')
    for kind in kinds:
        if kind not in VETO_KINDS:
            near = get_close_matches(kind, VETO_KINDS, 1, 0.5)
            meant = f"did you mean {near[0]}? " if near else ""
            raise SettingsError(f'unknown veto "{kind}"; {meant}choose from {", ".join(VETO_KINDS)}, or none')


def _check_penalty(value: float, what: str) -> None:
    if not 0 <= value <= 1:
        raise SettingsError(f"the {what} is {value}; give a number from 0 to 1")
