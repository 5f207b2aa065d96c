"""Write a lattice to a file, in the form that the file's name asks for.

In:   a lattice and a path.
Out:  the file, whole or not at all; for fst a second one with the symbols.
Not:  the forms (svg.py, png.py, page.py, tikz.py, export.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyref.data.output import open_output
from polyref.draw import Highlight, ThemeName
from polyref.draw.colours import LIGHT, THEMES
from polyref.draw.export import as_dot, as_fst, as_json
from polyref.draw.figure import Figure, check_size, draw_one
from polyref.draw.page import as_page, figure_page
from polyref.draw.png import as_png
from polyref.draw.steps import draw_steps
from polyref.draw.svg import as_svg
from polyref.draw.tikz import as_tikz
from polyref.errors import SettingsError

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice

PICTURES = ("svg", "png", "html", "tex")
GRAPHS = ("dot", "fst", "json")


def save(
    lattice: Lattice,
    path: str,
    *,
    highlight: Highlight = 1,
    theme: ThemeName = "auto",
    title: str | None = None,
    steps: bool = False,
) -> None:
    """Write the lattice, or with `steps` how it came about, by the suffix of the path."""
    suffix = check_suffix(path, steps=steps)
    check_theme(theme)
    if suffix == "fst":
        machine, symbols = as_fst(lattice)
        write(str(Path(path).with_suffix(".syms")), symbols)
        write(path, machine)
    elif suffix == "dot":
        write(path, as_dot(lattice))
    elif suffix == "json":
        write(path, as_json(lattice))
    elif suffix == "html" and not steps:
        write(path, as_page(lattice, highlight, theme, title))
    elif steps:
        check_size(lattice)
        save_figure(draw_steps(lattice.steps(), title), path, theme, title)
    else:
        save_figure(draw_one(lattice, highlight, title), path, theme, title)


def save_figure(figure: Figure, path: str, theme: ThemeName, title: str | None) -> None:
    """Write a picture as svg, png, html or tex. Paper and pixels cannot follow the reader's system: they are light."""
    suffix = suffix_of(path, PICTURES)
    if suffix == "png":
        write(path, as_png(as_svg(figure, "light" if theme == "auto" else theme)))
    elif suffix == "html":
        write(path, figure_page(figure, theme, title))
    elif suffix == "tex":
        write(path, as_tikz(figure, THEMES.get(theme, LIGHT)))
    else:
        write(path, as_svg(figure, theme))


def check_suffix(path: str, *, steps: bool) -> str:
    """The suffix of a path, if a lattice, or its steps, can be written so."""
    return suffix_of(path, PICTURES if steps else PICTURES + GRAPHS)


def suffix_of(path: str, known: tuple[str, ...]) -> str:
    """The suffix of a path, if it is a known one."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in known:
        what = f'unknown suffix ".{suffix}"' if suffix else "no suffix"
        raise SettingsError(f"{path}: {what}; end the name in one of {', '.join('.' + name for name in known)}")
    return suffix


def check_theme(theme: str) -> None:
    if theme != "auto" and theme not in THEMES:
        raise SettingsError(f'unknown theme "{theme}"; choose one of light, dark, auto')


def write(path: str, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    with open_output(path) as stream:
        stream.write(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
