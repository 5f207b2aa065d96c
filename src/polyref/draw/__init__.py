"""Draw a lattice, show how it came about, and write it to files.

In:   a lattice.
Out:  the methods `draw`, `save`, `steps` of a Lattice, and what a notebook shows; polyref/__init__.py attaches them.
Not:  how any of it is done: the other modules are loaded when they are first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from polyref.errors import SettingsError
from polyref.lattice.parts import Sentence

if TYPE_CHECKING:
    from os import PathLike

    from polyref.draw.steps import Step
    from polyref.lattice import Lattice

Highlight = int | str | Sentence | None
ThemeName = Literal["light", "dark", "auto"]


def draw_lattice(
    lattice: Lattice,
    *,
    highlight: Highlight = 1,
    theme: ThemeName = "auto",
    title: str | None = None,
    legend: bool = True,
) -> str:
    """A map as SVG, each reference a line and each word a station. It has no ids: a page may hold several.

    `highlight` is the sentence to mark: 1 for the best new one, 2 for the second best, a text, or None.
    """
    from polyref.draw.figure import draw_one
    from polyref.draw.svg import as_svg

    return as_svg(draw_one(lattice, highlight, title, legend=legend), theme)


def save_lattice(
    lattice: Lattice,
    path: str | PathLike[str],
    *,
    highlight: Highlight = 1,
    theme: ThemeName = "auto",
    title: str | None = None,
    steps: bool = False,
) -> None:
    """Write it to a file: svg, png, html, tex, dot, fst or json, by the file's suffix.

    `steps` draws how it came about as well: the references side by side, and the lattice after each merge.
    """
    from polyref.draw.save import save

    save(lattice, str(path), highlight=highlight, theme=theme, title=title, steps=steps)


def lattice_steps(lattice: Lattice) -> list[Step]:
    """How it came about: the references side by side, and the lattice after each merge."""
    from polyref.draw.steps import steps_of

    return steps_of(lattice)


def lattice_in_notebook(lattice: Lattice) -> str | None:
    """How a notebook shows it; None leaves that to `repr`, where a drawing would be too large to read."""
    try:
        return draw_lattice(lattice)
    except SettingsError:
        return None
