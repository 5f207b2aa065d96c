"""A table of results, and how numbers are written in it.

In:   rows of texts. Out: Markdown. Not: measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One topic: a title, rows under columns, and what a reader must know to judge them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()

    def markdown(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        # The first column names things, the others count.
        rule = [("-" * width) if n == 0 else "-" * (width - 1) + ":" for n, width in enumerate(widths)]
        lines = [f"## {self.title}", "", _line(self.columns, widths), _line(rule, widths)]
        lines += [_line(row, widths) for row in self.rows]
        return "\n".join([*lines, "", *(f"- {remark}" for remark in self.remarks)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.ljust(width) if n == 0 else cell.rjust(width)
        for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "| " + " | ".join(padded) + " |"


@dataclass(frozen=True)
class Peer:
    """What one way to do the work took for a unit of it. `target`: how many times faster polyref should be."""

    name: str
    seconds: float
    target: float | None = None


def ratio_table(title: str, unit: str, ours: Peer, peers: Sequence[Peer], remarks: Sequence[str]) -> Table:
    """polyref's time beside its peers', and how many times faster it is."""
    rows = [[ours.name, shown_time(ours.seconds), "1 x", "-", "-"]]
    for peer in peers:
        ratio = peer.seconds / ours.seconds
        rows.append([peer.name, shown_time(peer.seconds), shown_ratio(ratio), *against(ratio, peer.target)])
    return Table(title, ["", f"time for {unit}", "polyref is faster by", "target", "reached"], rows, remarks)


def against(ratio: float, target: float | None) -> tuple[str, str]:
    """The cells `target` and `reached` for something that should be at least so large."""
    if target is None:
        return "-", "-"
    return f"at least {target:g} x", yes(ratio >= target)


def yes(reached: bool) -> str:
    return "yes" if reached else "no"


def shown_ratio(ratio: float) -> str:
    return f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.2f} x"


def shown_time(seconds: float) -> str:
    """Three digits and a unit."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def _three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
