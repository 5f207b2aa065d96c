"""Draw a lattice as a railway map: each reference a line, each word a station."""

from polyref.lattice.drawing.colours import ThemeName
from polyref.lattice.drawing.figure import Highlight, draw_one, draw_panels
from polyref.lattice.drawing.steps import draw_steps
from polyref.lattice.drawing.svg import as_svg

__all__ = ["Highlight", "ThemeName", "as_svg", "draw_one", "draw_panels", "draw_steps"]
