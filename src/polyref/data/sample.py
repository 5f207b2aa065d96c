"""The sample examples that the package carries.

In:   nothing. Out: 64 examples with several references each, written for this project. Not: any other data.
"""

from __future__ import annotations

from pathlib import Path

from polyref.data.reading import read
from polyref.example import Example

SAMPLE = Path(__file__).parent / "sample.jsonl"


def sample() -> list[Example]:
    """The sample examples, to try things on."""
    return list(read(SAMPLE))
