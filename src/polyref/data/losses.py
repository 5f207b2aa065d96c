"""Count what a format cannot hold.

In:   what was left out, as it happens. Out: one line for a person, counts for a machine. Not: printing.
"""

from __future__ import annotations


class Losses:
    """Things by what they are, in the plural ("ids"), with how many of them could not be kept."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, what: str, count: int = 1) -> None:
        if count:
            self.counts[what] = self.counts.get(what, 0) + count

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        return ", ".join([f"{what} ({count:,})" for what, count in self.counts.items()])
