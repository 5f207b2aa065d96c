"""Notice an id that comes twice, in eight bytes an id.

In:   the ids of a file, in order.
Out:  an InputError that names both lines, where an id comes again.
Not:  anything else about the examples.
"""

from __future__ import annotations

import hashlib
import json
import stat
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from polyref.data.lines import display_name, read_lines
from polyref.errors import InputError

if TYPE_CHECKING:
    from polyref.data.jsonl import Fields


class SeenIds:
    """A hash table of 64-bit fingerprints: a million ids take 16 MB, where a set of texts takes 150.

    Two different ids may share a fingerprint, so a hit is looked up in the file itself before it is believed.
    """

    def __init__(self, path: str, fields: Fields, max_line_bytes: int):
        self._path = path
        self._fields = fields
        self._max_line_bytes = max_line_bytes
        self._slots = array("Q", bytes(8 * 1024))
        self._filled = 0

    def add(self, id: str, line: int) -> None:
        """Note the id of a line; raise if it stood on an earlier line."""
        if self._insert(_fingerprint(id)):
            return
        first = self._first_line(id, line)
        if first is None:
            return
        where = f" (first on line {first})" if first else ""
        raise InputError(
            f'the id "{id}" comes twice{where}',
            "give each example its own id",
            file=display_name(self._path),
            line=line,
        )

    def _insert(self, fingerprint: int) -> bool:
        if self._filled * 2 >= len(self._slots):
            old = self._slots
            self._slots = array("Q", bytes(16 * len(old)))
            for known in old:
                if known:
                    self._place(known)
        if not self._place(fingerprint):
            return False
        self._filled += 1
        return True

    def _place(self, fingerprint: int) -> bool:
        slots = self._slots
        mask = len(slots) - 1
        slot = fingerprint & mask
        while slots[slot]:
            if slots[slot] == fingerprint:
                return False
            slot = (slot + 1) & mask
        slots[slot] = fingerprint
        return True

    def _first_line(self, id: str, line: int) -> int | None:
        """The earlier line with this id; None if there is none; 0 if the input cannot be read again."""
        if self._path == "-" or not stat.S_ISREG(Path(self._path).stat().st_mode):
            return 0  # what came through a pipe is gone, so the fingerprint is believed
        for earlier in read_lines(self._path, max_line_bytes=self._max_line_bytes):
            if earlier.number >= line:
                break
            value = json.loads(earlier.content).get(self._fields.id)
            if id == (str(earlier.number) if value is None else str(value)):
                return earlier.number
        return None


def _fingerprint(id: str) -> int:
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1  # 0 marks an empty slot
