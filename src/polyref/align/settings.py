"""How references are aligned: what a person can choose.

In:   choices. Out: the penalties to try, in order. Not: doing it (alignment.py).
"""

from __future__ import annotations

from typing import Any, Literal

from polyref.align.alignment import UNIT, MergeOrder, Similarity, whole_units
from polyref.align.veto import VETO_KINDS, VetoKind
from polyref.errors import SettingsError
from polyref.settings import setting, settings

Alignment = Literal["hard", "soft"]
_SOFT = ("align", "soft")
_ADAPTIVE = ("penalty", "adaptive")


def _in_one_order(kinds: Any) -> Any:
    """Equal settings are equal, and are written alike, in whatever order the kinds were given."""
    is_known = not isinstance(kinds, str) and all(kind in VETO_KINDS for kind in kinds)
    return tuple(kind for kind in VETO_KINDS if kind in kinds) if is_known else kinds


@settings
class AlignSettings:
    """How references are aligned. Hard alignment depends on the merge order alone."""

    align: Alignment = setting(
        "hard", "hard links equal words; soft links words with similar vectors in their contexts."
    )
    similarity: Similarity = setting(
        "rescaled", "cosine of two vectors as it is, or rescaled so that unrelated words have 0.", needs=_SOFT
    )
    penalty: float | Literal["adaptive"] = setting(
        0.5,
        "Similarity that a link must exceed, or adaptive: lowered until there are enough sentences.",
        at_least=0,
        at_most=1,
        metavar="P",
        needs=_SOFT,
    )
    penalty_start: float = setting(
        0.9, "Adaptive penalty: the first one tried.", at_least=0, at_most=1, metavar="P", needs=_ADAPTIVE
    )
    penalty_step: float = setting(
        0.05, "Adaptive penalty: how much it is lowered.", at_least=0.0001, at_most=1, metavar="P", needs=_ADAPTIVE
    )
    penalty_floor: float = setting(
        0.3, "Adaptive penalty: the last one tried.", at_least=0, at_most=1, metavar="P", needs=_ADAPTIVE
    )
    at_least: int = setting(
        100, "Adaptive penalty: number of sentences that is enough.", at_least=1, metavar="N", needs=_ADAPTIVE
    )
    merge_order: MergeOrder = setting("tree", "tree: join all references; paper: read the paper literally.")
    veto: tuple[VetoKind, ...] = setting(
        VETO_KINDS,
        "Kinds of words that are never linked with each other, or none.",
        clean=_in_one_order,
        metavar="KINDS",
        needs=_SOFT,
    )
    position: float = setting(
        0.02,
        "Similarity that a link loses between opposite ends of two references.",
        at_least=0,
        at_most=1,
        metavar="W",
        needs=_SOFT,
    )
    baseline: float | None = setting(
        None,
        "Similarity of unrelated words.",
        unset="as the encoder says; encoder calibrate measures it",
        above=-1,
        below=1,
        metavar="B",
        needs=_SOFT,
    )

    def check_together(self) -> None:
        if self.penalty_floor > self.penalty_start:
            problem = f"is {self.penalty_floor}, above the penalty_start of {self.penalty_start}"
            raise SettingsError(problem, "swap them", key="penalty_floor", also=("penalty_start",))
        if self.align == "soft" and self.baseline is not None and self.similarity == "cosine":
            problem, cure = "does not belong to the raw cosine", "leave it out, or set similarity to rescaled"
            raise SettingsError(problem, cure, key="baseline", also=("similarity",))

    def penalties(self) -> list[int]:
        """The penalties to try, in units of 1e-4, until the lattice holds `enough` sentences."""
        if self.align == "hard":
            return [UNIT // 2]
        if isinstance(self.penalty, float):
            return [whole_units(self.penalty)]
        floor = whole_units(self.penalty_floor)  # it is the last one, whatever the steps
        return [*range(whole_units(self.penalty_start), floor, -whole_units(self.penalty_step)), floor]

    @property
    def enough(self) -> int:
        """The number of sentences that ends the search for a penalty."""
        return self.at_least if self.penalty == "adaptive" else 0

    def shown_penalty(self, units: int) -> float | None:
        return None if self.align == "hard" else units / UNIT


# The paper's raw cosine, with its penalty for captions; it has no veto and does not look at positions.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"similarity": "cosine", "penalty": 0.6, "veto": (), "position": 0.0},
}
