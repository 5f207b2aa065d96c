"""The four schedules: from many references to a stream of single ones."""

from polyref.schedule.schedules import SCHEDULES, Order, Pairs, Schedule, ScheduleName, ScheduleSettings, check_epoch
from polyref.schedule.sizes import Sizes

__all__ = ["SCHEDULES", "Order", "Pairs", "Schedule", "ScheduleName", "ScheduleSettings", "Sizes", "check_epoch"]
