"""What punctuation does to the words around it.

In:   a word as tokens.py cuts it.
Out:  whether it is a mark, whether it ends a sentence, and on which side it is glued where nothing else tells.
Not:  cutting (tokens.py), the case of words (casing.py).
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Glued to the word before them, in every script that has them.
CLOSING = frozenset(".,;:!?)]}…”»’%‰°。，、；：！？）］｝」』】〉》،؛؟।॥·") | {"...", "!!", "??"}
# Glued to the word behind them.
OPENING = frozenset("([{“«‘„‚£$€¥¿¡#@（［｛「『【〈《")
_ENDS = frozenset(".!?。！？؟।॥") | {"!!", "??", "!!!", "???"}
# Between the end of a sentence and the word that opens the next one, these change nothing: "He left. (She did not.)"
TRANSPARENT = frozenset("\"'“”„«»‘’()[]{}¿¡—–-•*「」『』（）") | {"--"}
# All behind which a sentence may open.
MAY_OPEN = _ENDS | TRANSPARENT
# A full stop behind these ends no sentence.
_ABBREVIATIONS = frozenset(
    ["mr", "mrs", "ms", "dr", "st", "mt", "ft", "prof", "rev", "gen", "col", "sgt", "capt", "lt", "hon", "jr", "sr",
     "vs", "etc", "no", "nr", "vol", "fig", "approx", "dept", "est", "ca", "cf", "mme", "mlle", "m", "pr", "bzw", "usw",
     "str", "sra", "sta", "av"]
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def is_mark(word: str) -> bool:
    """Whether a word is punctuation and nothing else."""
    return all(unicodedata.category(character)[0] == "P" for character in word)


def parts_words(character: str) -> bool:
    """Whether a mark never becomes part of a word, whatever it is glued to."""
    return is_mark(character) and character not in "'’-‑.,:/_"


@lru_cache(maxsize=1 << 16)
def is_ordinary(word: str) -> bool:
    """Whether a word is set apart by spaces from others like it: no mark, no symbol, no script without spaces."""
    return word[0].isalnum() and not needs_no_space(word[0]) and not needs_no_space(word[-1])


def opens_behind(word: str, before: str, opening: bool) -> bool:
    """Whether a sentence opens behind `word`, which itself stands behind `before`.

    `opening` says whether one opened before `word`.
    """
    if word in _ENDS:
        return word != "." or not (before in _ABBREVIATIONS or (len(before) == 1 and before.isalpha()))
    return opening and word in TRANSPARENT


@lru_cache(maxsize=1 << 16)
def needs_no_space(character: str) -> bool:
    """Whether a character belongs to a script that sets no spaces between words."""
    code = ord(character)
    return (
        0x3000 <= code <= 0x30FF  # Japanese syllables, East Asian punctuation
        or 0x3400 <= code <= 0x4DBF
        or 0x4E00 <= code <= 0x9FFF  # Chinese characters
        or 0xF900 <= code <= 0xFAFF
        or 0xFF00 <= code <= 0xFF0F  # wide punctuation
        or 0x20000 <= code <= 0x3FFFF
        or 0x0E00 <= code <= 0x0EFF  # Thai, Lao
        or 0x1000 <= code <= 0x109F  # Burmese
        or 0x1780 <= code <= 0x17FF  # Khmer
    )
