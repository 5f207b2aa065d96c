"""What all drawings share: colours on light paper and on dark, the letters of lines, and how wide a text will be.

In:   a number, a name or a text. Out: a colour, a letter, a width in points, a text cut into lines.
Not:  where any of it is used.

Ten colours for ten lines, apart in lightness as well as in hue, so that people who see red and green alike can tell
them. Lines eleven to twenty take the same colours again, dashed.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

ThemeName = Literal["light", "dark", "auto"]
FONTS = "system-ui, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', sans-serif"


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
        return readable_on(self.line(reference))


_LINES = (  # on light paper, and on dark
    ("#0072b2", "#3f9fe0"),
    ("#d55e00", "#ff7f3a"),
    ("#009e73", "#1fc08f"),
    ("#cc79a7", "#e89ac7"),
    ("#56b4e9", "#9bdcff"),
    ("#b8860b", "#e3b341"),
    ("#3d2c8d", "#9a8cff"),
    ("#8c2155", "#e0568f"),
    ("#8f9a1b", "#c3cc3c"),
    ("#6f757d", "#a6adb7"),
)
LIGHT = Theme("#ffffff", "#1c1f24", "#667080", "#d8dde4", "#ffdf70", tuple([light for light, _ in _LINES]))
DARK = Theme("#15181d", "#f1f3f5", "#9aa4b2", "#333a44", "#775c08", tuple([dark for _, dark in _LINES]))
THEMES = {"light": LIGHT, "dark": DARK, "auto": LIGHT}  # auto is dark where a style sheet can ask the reader's system


def _luminance(colour: str) -> float:
    """The relative luminance of "#rrggbb", 0 to 1."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG counts it, 1 to 21; text needs 4.5."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def readable_on(ground: str) -> str:
    """White or near black: whichever can be read better on a colour."""
    return max("#ffffff", "#0b0c0e", key=lambda colour: contrast(colour, ground))


def runs_leftward(texts: Iterable[str]) -> bool:
    """Whether texts are written from right to left, as most of their letters say."""
    directions = Counter(unicodedata.bidirectional(character) for text in texts for character in text)
    return directions["R"] + directions["AL"] > directions["L"]


def letter(reference: int) -> str:
    """A line's name: A, B, C and so on, then 26, 27. Letters, since people may count references from 0 or from 1."""
    return chr(ord("A") + reference) if reference < 26 else str(reference)


# In hundredths of the font size, after the widest of the fonts that systems bring along (DejaVu Sans, Verdana); in
# narrower ones a label has a little more air.
_GROUPS = {
    28: "ijl'|ı",
    32: " .,:;!",
    36: "fIJ",
    42: "()[]{}/\\rt`-‐‑",
    50: '"*·°“”„‘’',
    54: "cksvxyz?_^~",
    63: "abdeghnopquLFETYZSß",
    66: "0123456789$€£¥ABPXKVR",
    78: "CDGHNOQUw+=<>#–&",
    88: "mMæÆ",
    100: "WM%@—…œŒ",
}
_WIDTH = {character: width / 100 for width, characters in _GROUPS.items() for character in characters}


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text in a font of this size; no common sans-serif font exceeds it by much."""
    return sum(map(_width, text)) * size * (1.11 if bold else 1.0)


@lru_cache(maxsize=1 << 14)
def _width(character: str) -> float:
    known = _WIDTH.get(character)
    if known is not None:
        return known
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    base = unicodedata.normalize("NFD", character)[0]
    if base != character:
        return _width(base)
    if unicodedata.bidirectional(character) in ("R", "AL"):
        return 0.34 if character in "יוזן" else 0.6  # Hebrew and Arabic letters are narrow, or joined
    if category == "So":
        return 1.3  # pictures, as of faces, are wider than any letter
    return 0.70 if category[0] in "LN" else 0.85


def is_certain(text: str) -> bool:
    """Whether no font will be much wider; for other scripts the width is a guess, and a drawing should enforce it."""
    return all(map(_is_certain, text))


@lru_cache(maxsize=1 << 14)
def _is_certain(character: str) -> bool:
    if unicodedata.normalize("NFD", character)[0] in _WIDTH or unicodedata.east_asian_width(character) in "WF":
        return unicodedata.category(character) != "So"
    return unicodedata.name(character, "").startswith(("LATIN", "GREEK", "CYRILLIC", "COMBINING"))


_LONG = 40  # characters
_LONGEST = 400


def shortened(word: str, most: int = _LONG) -> str:
    """A word that a drawing has room for: a longer one is an address or a mistake, and its beginning says enough."""
    return word if len(word) <= most else word[: most - 1] + "…"


def broken_into_lines(text: str, size: float, widest: float) -> list[str]:
    """A text cut at its spaces, and long words anywhere, so that no line is wider than `widest`; a piece may be."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        whole = shortened(word, _LONGEST)
        for start in range(0, max(1, len(whole)), _LONG):
            piece = whole[start : start + _LONG]
            longer = f"{line}{'' if start else ' '}{piece}" if line else piece
            if line and text_width(longer, size) > widest:
                lines.append(line)
                line = piece
            else:
                line = longer
    return [*lines, line]
