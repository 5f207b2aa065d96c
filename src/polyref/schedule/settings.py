"""Which schedule, and how: what a person can choose.

In:   choices. Out: those that make sense. Not: the schedules (schedules.py).
"""

from __future__ import annotations

from numbers import Integral
from typing import Literal, get_args

from polyref.errors import SettingsError
from polyref.settings import setting, settings

ScheduleName = Literal["first", "sample_one", "uniform", "shuffle"]
Order = Literal["given", "shuffled"]
SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)
_MOST = 2**63


def schedule_named(name: str) -> str:
    """A schedule's name, written with "-" or "_"."""
    return name.replace("-", "_").lower() if isinstance(name, str) else name


def shown(name: str) -> str:
    """A schedule's name as the command line has it."""
    return name.replace("_", "-")


@settings
class ScheduleSettings:
    """Which schedule, and how references are drawn in it."""

    schedule: ScheduleName = setting(
        "shuffle",
        "first, sample-one, uniform or shuffle.",
        key="name",
        option="--schedule",
        metavar="NAME",
        clean=schedule_named,
    )
    order: Order = setting("given", "Order of the examples: as given, or shuffled in every epoch. Not for shuffle.")
    seed: int = setting(0, "Decides what is drawn.", at_least=-_MOST, below=_MOST)
    draw: bool = setting(False, "shuffle: draw references by weight, instead of taking each one once.")
    gold_share: float | None = setting(
        None,
        "sample-one, shuffle: share of gold references among those drawn.",
        unset="each reference counts by its weight",
        at_least=0,
        at_most=1,
        metavar="SHARE",
    )

    def check_together(self) -> None:
        name = shown(self.schedule)
        if self.order == "shuffled" and self.schedule == "shuffle":
            raise SettingsError("is shuffled, but shuffle orders its pairs itself", "leave it out", key="order")
        if self.draw and self.schedule != "shuffle":
            raise SettingsError(f"belongs to shuffle, not to {name}", "leave it out", key="draw")
        if self.gold_share is not None and self.schedule not in ("sample_one", "shuffle"):
            cure = "leave it out, or choose sample-one or shuffle"
            raise SettingsError(f"has no effect with {name}, which draws nothing", cure, key="gold_share")

    @property
    def draws(self) -> bool:
        """Whether references are drawn, instead of taken one after the other."""
        return self.schedule == "sample_one" or self.draw or self.gold_share is not None


def check_epoch(epoch: int) -> None:
    """Refuse what is no number of an epoch. 3.0 is none: it would be taken for 3 here, and for another epoch there."""
    if not isinstance(epoch, Integral):
        raise SettingsError(f"the epoch is {epoch!r}; give a whole number")
    if not 0 <= epoch < _MOST:
        raise SettingsError(f"the epoch is {epoch}; give {'0 or more' if epoch < 0 else 'less than 2^63'}")
