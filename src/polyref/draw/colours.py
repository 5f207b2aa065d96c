"""The colours of lines and of everything else, on light paper and on dark.

In:   a number or a name. Out: a colour. Not: where it is used.

Ten colours for ten lines, apart in lightness as well as in hue, so that people who see red and green alike can tell
them. Lines eleven to twenty take the same colours again, dashed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Theme:
    paper: str
    ink: str
    faint: str
    rule: str
    marker: str  # what a highlighted sentence is marked with
    lines: tuple[str, ...]

    def line(self, reference: int) -> str:
        return self.lines[reference % len(self.lines)]

    def on_line(self, reference: int) -> str:
        """The colour of a letter on a line's own colour."""
        return "#ffffff" if lightness(self.line(reference)) < 0.36 else "#14161a"


LIGHT = Theme(
    paper="#ffffff",
    ink="#1c1f24",
    faint="#667080",
    rule="#d8dde4",
    marker="#ffdf70",
    lines=(
        "#0072b2",
        "#d55e00",
        "#009e73",
        "#cc79a7",
        "#56b4e9",
        "#b8860b",
        "#3d2c8d",
        "#8c2155",
        "#8f9a1b",
        "#6f757d",
    ),
)
DARK = Theme(
    paper="#15181d",
    ink="#f1f3f5",
    faint="#9aa4b2",
    rule="#333a44",
    marker="#775c08",
    lines=(
        "#3f9fe0",
        "#ff7f3a",
        "#1fc08f",
        "#e89ac7",
        "#9bdcff",
        "#e3b341",
        "#9a8cff",
        "#e0568f",
        "#c3cc3c",
        "#a6adb7",
    ),
)
THEMES = {"light": LIGHT, "dark": DARK}


def lightness(colour: str) -> float:
    """The relative luminance of "#rrggbb", 0 to 1."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def letter(reference: int) -> str:
    """A line's name: A, B, C and so on. Letters, since references are counted from 0 here and from 1 there."""
    return chr(ord("A") + reference)
