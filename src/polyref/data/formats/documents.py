"""One JSON document that holds all records: an array of them, or an object with lists of references by id.

In:   `[{"id": ..., "references": [...]}, ...]`, or `{"img.jpg": ["a caption", ...], ...}`, on one line or on many.
Out:  one record per item, numbered by its place, to the letter but for line breaks; the way back is an array.
Not:  documents of images and annotations (captions.py), what a record means (jsonl.py).

A document is read piece by piece: memory does not grow with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from polyref.data.formats.format import FileFormat, Reading, Spool
from polyref.data.formats.jsonl import check_object, dump, kind_in_words, next_token, record_line
from polyref.data.formats.names import REFERENCES, with_names_asked_for
from polyref.data.opening import HEAD_BYTES, Line, open_output
from polyref.errors import InputError

_PIECE = 1 << 20  # characters that are read together
_TAIL = 16  # characters at the end in which a token may be cut off
_ARRAY = re.compile(rb"\[\s*(?:[\[{\]]|$)")
_SPACES = re.compile(r"[ \t\r\n]*")
_STRING_OR_BREAK = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t]*[\r\n]\s*')
_DECODE = json.JSONDecoder().raw_decode
_COMPLETE = "is the file complete?"


def first_members(text: str) -> Iterator[tuple[str, str, int]]:
    """The keys of an object that a text begins with, the first two marks of their values, and where these end.

    As far as the text goes; the last one may be cut off, and ends at -1.
    """
    stop = text.index("{") + 1
    while True:
        try:
            key, stop = _DECODE(text, next_token(text, stop))
            start = next_token(text, stop)
            mark = text[start] + text[next_token(text, start + 1) :][:1]
        except (ValueError, RecursionError, IndexError):
            return
        try:
            _, stop = _DECODE(text, start)
        except (ValueError, RecursionError):
            yield str(key), mark, -1
            return
        yield str(key), mark, stop


def looks(reading: Reading) -> bool:
    """Whether this is an array of records, or an object of lists of texts, rather than one record per line."""
    if not reading.file.first.startswith(b"{"):
        return _ARRAY.match(reading.file.first) is not None
    text = reading.file.look(HEAD_BYTES).decode("utf-8", "replace")
    seen = list(first_members(text))
    fields, end = reading.fields, seen[-1][2] if seen else -1
    known = {fields.id, fields.source, fields.references, "images", "annotations"} | REFERENCES
    are_lists = bool(seen) and all(mark == '["' and key.lower() not in known for key, mark, _ in seen)
    # Behind the end of a record, another one may begin.
    return are_lists and re.match(r"\s*\}\s*\{", text[end:] if end > 0 else "") is None


# -- reading --------------------------------------------------------------------------------------------------------


class _Document:
    """A document that is being read, and the place in it."""

    def __init__(self, reading: Reading):
        self._reading = reading
        self._pieces = reading.file.pieces(_PIECE)
        self._text, self._at, self._line = "", 0, 1  # the line in which the text begins

    def _read(self, size: int) -> bool:
        """Read on; False at the end of the file."""
        self._line += self._text.count("\n", 0, self._at)
        left, found = [self._text[self._at :]], 0
        while found < size and (piece := next(self._pieces, "")):
            left.append(piece)
            found += len(piece)
        self._text, self._at = "".join(left), 0
        return found > 0

    def wrong(self, problem: str, cure: str = _COMPLETE, at: int | None = None) -> InputError:
        line = self._line + self._text.count("\n", 0, self._at if at is None else at)
        return self._reading.wrong(problem, cure, line)

    def mark(self) -> str:
        """The next character that is not a space; none at the end."""
        while True:
            self._at = _SPACES.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._read(_PIECE):
                return self._text[self._at : self._at + 1]

    def take(self, *wanted: str) -> str:
        """One of these marks, which must come next."""
        mark = self.mark()
        if mark not in wanted or not mark:
            named = " or ".join(f"'{one}'" for one in wanted)
            problem = f"the file ends where {named} should stand" if not mark else f"broken JSON: no {named} here"
            raise self.wrong(problem)
        self._at += 1
        return mark

    def value(self) -> tuple[Any, str]:
        """The next value, and its text."""
        self.mark()
        most = self._reading.max_line_bytes
        while True:
            fault = None
            try:
                value, stop = _DECODE(self._text, self._at)
                if stop < len(self._text) or not self._read(_PIECE):
                    text, self._at = self._text[self._at : stop], stop
                    return value, text
                continue  # a number may go on
            except json.JSONDecodeError as error:
                fault = error
            except RecursionError:
                raise self.wrong("the JSON is nested too deeply", "give flat records") from None
            except ValueError:  # Python's own limit on the digits of a whole number
                raise self.wrong("a number has too many digits", "write it as a string") from None
            is_cut = fault.msg.startswith("Unterminated") or fault.pos > len(self._text) - _TAIL
            size = len(self._text) - self._at
            if is_cut and size > most:
                raise self.wrong(f"a record is longer than {most:,} bytes", "raise max_line_bytes")
            if not is_cut or not self._read(max(size, _PIECE)):
                raise self.wrong(f"broken JSON: {fault.msg.removesuffix(' at')}", at=fault.pos)


def read_document(reading: Reading) -> Iterator[Line]:
    """The records of a document."""
    document = _Document(reading)
    if document.take("[", "{") == "[":
        return with_names_asked_for(_array(document, reading), reading, "an array of records")
    reading.note("lists by id; keys read as id and source, lists as references")
    return _object(document, reading)


def _array(document: _Document, reading: Reading) -> Iterator[Line]:
    place = 0
    if document.mark() == "]":
        raise document.wrong("the array is empty", "give at least one record")
    while not place or document.take(",", "]") == ",":
        place += 1
        value, text = document.value()
        yield reading.line(place, partial(_checked, value, text, place, reading), value)
    _check_end(document)


def _checked(value: Any, text: str, place: int, reading: Reading) -> bytes:
    try:
        check_object(value, "give an array of objects", f"place {place}")
    except InputError as error:
        raise reading.wrong(error.problem, error.cure, place) from None
    # Line breaks stand between the parts of JSON; inside its strings they are escaped.
    if "\n" in text or "\r" in text:
        text = _STRING_OR_BREAK.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return text.encode("utf-8")


def _object(document: _Document, reading: Reading) -> Iterator[Line]:
    place = 0
    while not place or document.take(",", "}") == ",":
        place += 1
        if document.mark() != '"':
            raise document.wrong("broken JSON: no key in quotes here")
        key, _ = document.value()
        document.take(":")
        value, _ = document.value()
        yield reading.line(place, partial(_by_id, key, value, place, reading), {key: value})
    _check_end(document)


def _by_id(key: str, value: Any, place: int, reading: Reading) -> bytes:
    if not isinstance(value, str | list):
        problem = f"{dump(key)} holds {kind_in_words(value)}, not a list of strings"
        raise reading.wrong(problem, "give a list of references for each key", place)
    fields, references = reading.fields, [value] if isinstance(value, str) else value
    return record_line({fields.id: key, fields.source: key, fields.references: references})


def _check_end(document: _Document) -> None:
    if document.mark():
        raise document.wrong(
            "something stands behind the end of the document", "give one document, or one record per line"
        )


# -- writing --------------------------------------------------------------------------------------------------------


def write_array(spool: Spool) -> None:
    with open_output(spool.path) as stream:
        spool.records.seek(0)
        for number, line in enumerate(spool.records):
            stream.write((b",\n" if number else b"[\n") + line.strip())
        stream.write(b"\n]\n")


DOCUMENT = FileFormat((), read_document, write_array, looks)
