"""Which schedule, and how: what a person can choose.

In:   choices. Out: those that make sense. Not: the schedules (schedules.py).
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, get_args

from polyref.errors import SettingsError

ScheduleName = Literal["first", "sample_one", "uniform", "shuffle"]
Order = Literal["given", "shuffled"]
SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)
_MOST = 2**63


def schedule_named(name: str) -> ScheduleName:
    """The schedule of a name, written with "-" or "_"."""
    found = name.replace("-", "_").lower()
    if found in SCHEDULES:
        return found
    nearest = difflib.get_close_matches(found, SCHEDULES, n=1, cutoff=0.5)
    cure = f"did you mean {shown(nearest[0])}?" if nearest else f"choose one of {', '.join(map(shown, SCHEDULES))}"
    raise SettingsError(f'unknown schedule "{name}"; {cure}')


def shown(name: str) -> str:
    """A schedule's name as the command has it."""
    return name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """`order` is that of the examples, for all schedules but shuffle: as in the file, or drawn anew for each epoch.

    `draw` makes shuffle draw: an example has as many places in an epoch as it has references, and each place draws one
    of them by weight, rather than each reference having its own. `gold_share` is the share of gold references in what
    is drawn, by sample_one or by shuffle, which then draws; without it, each reference has its weight, and a
    pseudo-reference 1.
    """

    schedule: ScheduleName = "shuffle"
    order: Order = "given"
    seed: int = 0
    draw: bool = False
    gold_share: float | None = None

    def __post_init__(self) -> None:
        schedule_named(self.schedule)
        if self.schedule not in SCHEDULES:  # written otherwise
            object.__setattr__(self, "schedule", schedule_named(self.schedule))
        if self.order not in get_args(Order):
            raise SettingsError(f'unknown order "{self.order}"; choose given or shuffled')
        if self.order == "shuffled" and self.schedule == "shuffle":
            raise SettingsError("shuffle draws the order of its pairs; leave the order of the examples out")
        if not isinstance(self.seed, int):
            raise SettingsError(f"the seed is {self.seed!r}; give a whole number")
        if not -_MOST <= self.seed < _MOST:
            raise SettingsError(f"the seed is {self.seed}; give a number from -2^63 to 2^63 - 1")
        if self.draw and self.schedule != "shuffle":
            raise SettingsError(f"{shown(self.schedule)} does not draw its pairs; draw belongs to shuffle")
        if self.gold_share is not None:
            if self.schedule not in ("sample_one", "shuffle"):
                raise SettingsError(f"{shown(self.schedule)} draws nothing; a gold share is for sample-one and shuffle")
            if not 0 <= self.gold_share <= 1:
                raise SettingsError(f"the gold share is {self.gold_share}; give a number from 0 to 1")

    @property
    def draws(self) -> bool:
        """Whether references are drawn, rather than taken one after the other."""
        return self.schedule == "sample_one" or self.draw or self.gold_share is not None


def check_epoch(epoch: int) -> None:
    """Refuse what is no number of an epoch. 3.0 is none: it would be taken for 3 here, and for another epoch there."""
    if not isinstance(epoch, Integral):
        raise SettingsError(f"the epoch is {epoch!r}; give a whole number")
    if not 0 <= epoch < _MOST:
        raise SettingsError(f"the epoch is {epoch}; give {'0 or more' if epoch < 0 else 'less than 2^63'}")
