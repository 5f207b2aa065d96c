"""Notice a text that comes twice, in eight bytes a text.

In:   the ids of a file, in order; or any texts.
Out:  whether one has come before; an InputError that names both lines, where an id comes again.
Not:  anything else about the examples.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterator

from polyref.data.lines import Line
from polyref.errors import InputError


class SeenTexts:
    """A hash table of 64-bit fingerprints: a million texts take 16 MB, where a set of them takes 150."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 1024))
        self._filled = 0

    def add(self, text: str) -> bool:
        """Note a text; False if it, or another one with its fingerprint, has been noted before."""
        if self._filled * 2 >= len(self._slots):
            old = self._slots
            self._slots = array("Q", bytes(16 * len(old)))
            for known in old:
                if known:
                    self._place(known)
        if not self._place(_fingerprint(text)):
            return False
        self._filled += 1
        return True

    def __len__(self) -> int:
        return self._filled

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


class SeenIds:
    """Two different ids may share a fingerprint, so a hit is looked up in the file itself before it is believed.

    `again` reads the records once more; None where that cannot be, and then the fingerprint is believed.
    """

    def __init__(self, name: str, id_field: str, again: Callable[[], Iterator[Line]] | None = None):
        self._name = name
        self._id_field = id_field
        self._again = again
        self._seen = SeenTexts()

    def add(self, id: str, line: int) -> None:
        """Note the id of a line; raise if it stood on an earlier line."""
        if self._seen.add(id):
            return
        where = ""
        if self._again is not None:
            first = self._first_line(self._again(), id, line)
            if first is None:
                return
            where = f" (first on line {first})"
        raise InputError(
            f'the id "{id}" comes twice{where}', "give each example its own id", file=self._name, line=line
        )

    def _first_line(self, records: Iterator[Line], id: str, line: int) -> int | None:
        """The earlier line with this id; None if there is none."""
        for earlier in records:
            if earlier.number >= line:
                break
            value = json.loads(earlier.content).get(self._id_field)
            if id == (str(earlier.number) if value is None else str(value)):
                return earlier.number
        return None


def _fingerprint(id: str) -> int:
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1  # 0 marks an empty slot
