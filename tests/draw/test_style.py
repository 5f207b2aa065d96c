"""Colours: all text can be read, on light paper and on dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from samples import CAT

import polyref.draw
from polyref import Lattice
from polyref.draw.aligned import compare
from polyref.draw.matrix import _SHADES, _on_shade, _shade_colour, draw_matrix
from polyref.draw.style import DARK, LIGHT, Theme, contrast

READABLE = 4.5  # WCAG 2, level AA


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_all_text_can_be_read(theme: Theme) -> None:
    pairs = {(theme.ink, theme.paper), (theme.faint, theme.paper), (theme.ink, theme.marker)}
    pairs |= {(theme.on_line(n), theme.line(n)) for n in range(len(theme.lines))}
    pairs |= {(_on_shade(n, theme), _shade_colour(n, theme)) for n in range(_SHADES + 1)}
    assert {pair: contrast(*pair) for pair in pairs if contrast(*pair) < READABLE} == {}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_no_text_has_another_colour(theme: Theme) -> None:
    """So that the test above knows every pair."""
    lattice = Lattice.from_references(CAT, engine="plain")
    name = "light" if theme is LIGHT else "dark"
    svg = lattice.draw(theme=name, title="The cat") + draw_matrix(compare(lattice, 0, 1), name)
    on = {theme.on_line(n) for n in range(len(theme.lines))} | {_on_shade(n, theme) for n in range(_SHADES + 1)}
    assert set(re.findall(r"<text [^>]*fill=\"(#\w+)\"", svg)) <= {theme.ink, theme.faint} | on
    css = Path(polyref.draw.__file__).with_name("page.css").read_text("utf-8")
    colours = set(re.findall(r"[^-]\bcolor: ([^;]+);", css))
    assert colours <= {"var(--ink)", "var(--faint)", "var(--on-line)", "inherit"}
