"""The encoders inside the package.

In:   a name. Out: an encoder that works at once, without torch. Not: encoders of one's own (training.py).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from polyref.encode.context import ContextEncoder
from polyref.encode.folder import read_folder

# Text with more unknown words than this is not what a built-in encoder was made for.
MOST_UNKNOWN = 0.3


def builtin_folder(name: str) -> Path:
    """Where a built-in encoder lies, with its model card."""
    return Path(__file__).parent / name


@cache
def open_builtin(name: str) -> ContextEncoder:
    return ContextEncoder(read_folder(builtin_folder(name)), name, most_unknown=MOST_UNKNOWN)
