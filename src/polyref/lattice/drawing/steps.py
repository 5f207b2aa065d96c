"""Draw how a lattice comes about, as the paper's Figure 1 does.

In:   steps. Out: a figure with a panel for each, and what was done in words. Not: the steps (../steps.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polyref.lattice.drawing.colours import letter
from polyref.lattice.drawing.figure import Figure, draw_panels, size_of

if TYPE_CHECKING:
    from polyref.lattice.steps import Step


def draw_steps(steps: Iterable[Step], title: str | None = None) -> Figure:
    """Steps one under the other, each with what was merged; the words that it linked are marked."""
    captions = [(step.lattice, caption(step), step.linked_arcs) for step in steps]
    return draw_panels(captions, title)


def caption(step: Step) -> str:
    """What a step did, in words."""
    if step.pair is None:
        return f"{len(step.lattice.tokens)} references side by side"
    left, right = map(letter, step.pair)
    links = f"{len(step.links)} link{'s' if len(step.links) > 1 else ''}"
    soft = "" if step.lattice.penalty is None else f", worth {step.worth:.2f} over the penalty {step.lattice.penalty:g}"
    numbers = size_of(step.lattice).partition(", ")[2]
    return f"{left} and {right} merged: {links}{soft}; {numbers}"
