"""Captions as Flickr8k and Flickr30k have them: `img.jpg#0`, a tab and a caption, without a header.

In:   such lines, in any order.
Out:  one record per image, whose name is id and source, with its captions by number; and the way back.
Not:  tables with a header such as `image,caption` (tables.py).

All lines are held at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from polyref.data.formats.format import FileFormat, Reading, Spool
from polyref.data.formats.jsonl import is_blank, record_line
from polyref.data.opening import Line, open_output, text_lines

_LINE = re.compile(r"([^\t]+)#([0-9]+)[ ]*\t(.*)", re.ASCII | re.DOTALL)
_FIRST = re.compile(r"[^\t]+#[0-9]+[ ]*\t|\S+#[0-9]+$", re.ASCII)  # the second: its caption is blank
_Caption = tuple[int, str, int]  # its number, its text and its line


def looks(reading: Reading) -> bool:
    return _FIRST.match(reading.file.first.decode("utf-8", "replace")) is not None


def read_flickr(reading: Reading) -> Iterator[Line]:
    """The records, in the order in which images first come."""
    reading.note("lines of image#number and caption; images read as id and source")
    images: dict[str | int, tuple[int, list[_Caption]]] = {}  # by image, or by line where there is none
    for number, text in enumerate(text_lines(reading.file, max_line_bytes=reading.max_line_bytes), 1):
        if not text.strip():
            continue
        found = _LINE.fullmatch(text)
        image, caption = (number, (0, text, number)) if found is None else (found[1], (int(found[2]), found[3], number))
        images.setdefault(image, (number, []))[1].append(caption)
    for image, (number, captions) in images.items():
        shown = captions[0][1] if isinstance(image, int) else {image: [text for _, text, _ in captions]}
        yield reading.line(number, partial(_record, image, captions, number, reading), shown)


def _record(image: str | int, captions: list[_Caption], number: int, reading: Reading) -> bytes:
    if isinstance(image, int):
        problem = "the line is not an image, # and a number, a tab and a caption"
        raise reading.wrong(problem, "write it as img.jpg#0, a tab and the caption", number)
    for _, text, line in captions:
        if is_blank(text):
            raise reading.wrong("the caption is blank", "give a text, or take the line out", line)
    texts = [text for _, text, _ in sorted(captions, key=lambda one: one[0])]
    fields = reading.fields
    return record_line({fields.id: image, fields.source: image, fields.references: texts})


def write_flickr(spool: Spool) -> None:
    spool.shape.check_ids("Flickr's captions")
    with open_output(spool.path) as stream:
        for parts in spool.parts():
            spool.losses.add("sources that are not the id", parts.source != parts.name)
            image, *texts = [
                spool.on_one_line(text, parts, "Flickr's captions")
                for text in (str(parts.name), *[reference.text for reference in parts.references])
            ]
            spool.write_lines(stream, [f"{image}#{n}\t{text}" for n, text in enumerate(texts)], parts, "it")
    spool.lose(but=["ids", "sources that are not strings (written as JSON)"])


FLICKR = FileFormat((), read_flickr, write_flickr, looks, holds_pseudo=False)
