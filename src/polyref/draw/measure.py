"""How wide a text will be, without a font at hand.

In:   a text and a font size.
Out:  a width that no common sans-serif font exceeds by much; texts cut into lines by it.
Not:  drawing.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

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
_OTHER = 0.70
_BOLD = 1.11


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
    if category == "So":
        return 1.3  # pictures, as of faces, are wider than any letter
    return _OTHER if category[0] in "LN" else 0.85


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text in a font of this size; at least what common fonts need."""
    return sum(map(_width, text)) * size * (_BOLD if bold else 1.0)


def is_certain(text: str) -> bool:
    """Whether no font will be much wider; of other scripts the width is a guess, and a drawing should enforce it."""
    return all(map(_is_certain, text))


@lru_cache(maxsize=1 << 14)
def _is_certain(character: str) -> bool:
    if unicodedata.normalize("NFD", character)[0] in _WIDTH or unicodedata.east_asian_width(character) in "WF":
        return unicodedata.category(character) != "So"
    return unicodedata.name(character, "").startswith(("LATIN", "GREEK", "CYRILLIC", "COMBINING"))


def broken_into_lines(text: str, size: float, most: float, *, first: float | None = None) -> list[str]:
    """A text cut at its spaces, so that no line is wider than `most`; a single word may be. `first`: of line one."""
    lines: list[str] = []
    line = ""
    room = most if first is None else first
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size) > room:
            lines.append(line)
            line, room = word, most
        else:
            line = longer
    return [*lines, line]
