"""Whether a hypothesis says anything.

In:   a text. Out: yes or no. Not: what becomes of one that does not (hypotheses.py, evaluate.py).
"""

from __future__ import annotations

import unicodedata

_NOT_SEEN = ("Cf", "Cc")  # the categories of marks without width, as U+200B, and of control characters


def is_empty(text: str) -> bool:
    """Whether nothing of a text can be seen: it has no characters, or only spaces and such without width."""
    return all(letter.isspace() or unicodedata.category(letter) in _NOT_SEEN for letter in text)
