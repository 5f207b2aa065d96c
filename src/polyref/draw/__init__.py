"""Draw a lattice, show how it came about, and write it to files.

In:   a lattice, or a comparison of two of its references; a path, whose suffix decides the form.
Out:  `draw`, `save` and `steps` of a Lattice, and what a notebook shows, attached to the class at the end. A file is
      written whole or not at all; for fst there is a second one with the symbols.
Not:  how any of it is done: the other modules are loaded when they are needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyref.data import open_output
from polyref.errors import SettingsError
from polyref.lattice import Lattice

if TYPE_CHECKING:
    from os import PathLike

    from polyref.draw.aligned import Comparison, Step
    from polyref.draw.figure import Highlight
    from polyref.draw.style import ThemeName

PICTURES = ("svg", "png", "html", "tex")
GRAPHS = ("dot", "fst", "json")
MATRICES = ("svg", "png", "html", "json")


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

    _check_theme(theme)
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
    from polyref.draw import export, figure, page
    from polyref.draw.style import THEMES
    from polyref.draw.svg import as_svg

    suffix = suffix_of(path, PICTURES if steps else PICTURES + GRAPHS)
    _check_theme(theme)
    if suffix == "fst":
        machine, symbols = export.as_fst(lattice)
        _write(Path(path).with_suffix(".syms"), symbols)
        _write(path, machine)
        return
    if suffix in GRAPHS:
        _write(path, export.as_dot(lattice) if suffix == "dot" else export.as_json(lattice))
        return
    figure.check_size(lattice)
    if suffix == "html" and steps:
        _write(path, page.steps_page(lattice.steps(), highlight, theme, title))
    elif suffix == "html":
        sentences = page.sentences_of(lattice, highlight, lattice.best(page.BEST))
        name = title or f"{len(lattice.tokens)} references"
        _write(path, page.as_page([page.draw_exhibit(page.Exhibit(name, "", lattice, sentences), theme)], name, theme))
    else:
        drawn = figure.draw_steps(lattice.steps(), title) if steps else figure.draw_one(lattice, highlight, title)
        if suffix == "tex":
            _write(path, export.as_tikz(drawn, THEMES[theme]))
        else:
            _write_svg(path, suffix, as_svg(drawn, _shown(theme, suffix)), theme, title)


def save_matrix(
    comparison: Comparison, path: str | PathLike[str], theme: ThemeName = "auto", title: str | None = None
) -> None:
    """Write a comparison as svg, png, html or json, by the suffix of the path."""
    from polyref.draw.matrix import draw_matrix

    suffix = suffix_of(path, MATRICES)
    _check_theme(theme)
    if suffix == "json":
        _write(path, comparison.as_json())
    else:
        _write_svg(path, suffix, draw_matrix(comparison, _shown(theme, suffix), title), theme, title)


def lattice_steps(lattice: Lattice) -> list[Step]:
    """How it came about: the references side by side, and the lattice after each merge."""
    from polyref.draw.aligned import steps_of

    return steps_of(lattice)


def lattice_in_notebook(lattice: Lattice) -> str | None:
    """How a notebook shows it; None leaves that to `repr`, where a drawing would be too large to read."""
    try:
        return draw_lattice(lattice)
    except SettingsError:
        return None


def check_drawable(lattice: Lattice, path: str | PathLike[str]) -> None:
    """Refuse a picture that nobody could read, before time goes into it."""
    from polyref.draw.figure import check_size

    if suffix_of(path, PICTURES + GRAPHS) in PICTURES:
        check_size(lattice)


def suffix_of(path: str | PathLike[str], known: tuple[str, ...]) -> str:
    """The suffix of a path, if it is a known one."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in known:
        what = f'unknown suffix ".{suffix}"' if suffix else "no suffix"
        raise SettingsError(f"{path}: {what}; end the name in one of {', '.join('.' + name for name in known)}")
    return suffix


def _check_theme(theme: str) -> None:
    if theme not in ("light", "dark", "auto"):
        raise SettingsError(f'unknown theme "{theme}"; choose one of light, dark, auto')


def _shown(theme: ThemeName, suffix: str) -> ThemeName:
    """Pixels cannot follow the reader's system: they are light then."""
    return "light" if suffix == "png" and theme == "auto" else theme


def _write_svg(path: str | PathLike[str], suffix: str, svg: str, theme: ThemeName, title: str | None) -> None:
    from polyref.draw.page import picture_page
    from polyref.draw.svg import as_png

    if suffix == "png":
        _write(path, as_png(svg))
    else:
        _write(path, picture_page(svg, theme, title) if suffix == "html" else svg)


def _write(path: str | PathLike[str], content: str | bytes) -> None:
    with open_output(str(path)) as stream:
        stream.write(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))


# This room stands below that of the lattice, which cannot know it.
Lattice.draw, Lattice.save, Lattice.steps = draw_lattice, save_lattice, lattice_steps
Lattice._repr_svg_ = lattice_in_notebook
