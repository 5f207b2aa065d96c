"""What a terminal gets of texts that others wrote: no character that would command it.

In:   texts, or the bytes of a file that goes to a terminal.
Out:  the same with control characters, and those that turn the direction of writing, as `\\u001b`, which JSON reads as
      well.
Not:  which texts are printed (cli/).
"""

from __future__ import annotations

import codecs
import io
import re
from typing import Any, BinaryIO

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """One line, whatever a text holds."""
    return _UNSEEN.sub(lambda found: " " if found[0].isspace() else _escaped(found[0]), text)


def for_terminal(text: str) -> str:
    """Any number of lines."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in "\t\n" else _escaped(found[0]), text)


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"


class TerminalStream(io.RawIOBase):
    """Takes the bytes of a text, and passes them on to a terminal."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two pieces

    def write(self, content: Any) -> int:
        self._stream.write(for_terminal(self._decoder.decode(content)).encode())
        return len(content)
