"""The four schedules: from many references to a stream of single ones."""

from polyref.schedule.schedules import BLOCK, Pairs, Schedule
from polyref.schedule.settings import SCHEDULES, Order, ScheduleName, ScheduleSettings, check_epoch, schedule_named
from polyref.schedule.sizes import Sizes

__all__ = [
    "BLOCK",
    "SCHEDULES",
    "Order",
    "Pairs",
    "Schedule",
    "ScheduleName",
    "ScheduleSettings",
    "Sizes",
    "check_epoch",
    "schedule_named",
]
