"""Write CSV and TSV: a reference a row, or an example a row.

In:   records. Out: a table with a header. CSV has quotes where they are needed; TSV has none, so that a text with a tab
      or a line break is refused.
Not:  reading (tables.py), what the columns mean (columns.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from polyref.data.columns import BLEU, FLUENCY, JSON, OF_REFERENCE, REPEAT, WEIGHT, column_name, is_taken
from polyref.data.jsonl import LATTICE, PSEUDO_REFERENCES, Fields
from polyref.data.losses import Losses
from polyref.data.output import open_output
from polyref.data.parts import Parts, ReferencePart, Shape, Spool, as_json, has_breaks, is_whole
from polyref.data.settings import WriteSettings
from polyref.data.tables import TableFormat
from polyref.errors import OutputError

_BREAKS = re.compile(r"[\t\r\n]+")
_NEEDS_QUOTES = re.compile(r'[",;\t\r\n]|^\s|\s$')
Cells = dict[str, str]  # by the name of the column; what is not there is blank


def write_table(
    spool: Spool, shape: Shape, path: str, format: TableFormat, settings: WriteSettings, losses: Losses
) -> list[str]:
    """Write the file; what comes back is its name."""
    if 0 < shape.ids < shape.examples:
        without = shape.examples - shape.ids
        raise OutputError(f"{without:,} of {shape.examples:,} examples have no id; give all of them one, or none")
    table = _Columns(path, spool.fields, shape, format, settings, losses)
    with open_output(path) as stream:
        stream.write(_row(table.names, format))
        for number, parts in enumerate(spool.parts(), 1):
            for cells in table.rows(parts, number):
                stream.write(_row([cells.get(name, "") for name in table.names], format))
    return [path]


def _row(cells: list[str], format: TableFormat) -> bytes:
    if format == "tsv":
        return ("\t".join(cells) + "\n").encode("utf-8")
    quoted = [f'"{_doubled(cell)}"' if _NEEDS_QUOTES.search(cell) else cell for cell in cells]
    return (",".join(quoted) + "\n").encode("utf-8")


def _doubled(cell: str) -> str:
    return cell.replace('"', '""')


class _Columns:
    """The columns that the records need, and the cells that a record fills."""

    def __init__(
        self, path: str, fields: Fields, shape: Shape, format: TableFormat, settings: WriteSettings, losses: Losses
    ):
        self.path = path
        self.fields = fields
        self.format = format
        self.settings = settings
        self.losses = losses
        self.is_row_each = not settings.reference_columns
        self.id = fields.id if shape.id_kinds <= {"text", "int"} else fields.id + JSON
        # A text that cannot stand in a cell is refused below; hiding it in JSON would surprise whoever cuts at tabs.
        is_text = shape.source_kinds <= {"text", "broken text"} and shape.sources == shape.examples
        self.source = fields.source if is_text else fields.source + JSON
        self.reference = column_name(fields)
        self.more = {key: self._name(key, kinds) for key, kinds in shape.more_kinds.items() if self._can_name(key)}
        self.of_reference = {
            key: OF_REFERENCE + key + JSON for key in shape.of_reference if self.is_row_each and self._can_name(key)
        }
        self._count_losses(shape)
        # Always an id: lines cannot stand in for it as they do in JSON Lines, where no header shifts them.
        self.names = [self.id, *([self.source] if shape.sources else [])]
        if self.is_row_each:
            self.names += [self.reference, *([WEIGHT] if shape.weights else [])]
            self.names += [*([BLEU] if shape.pseudo else []), *([FLUENCY] if shape.fluencies else [])]
            self.names += [REPEAT] if shape.repeats else []
            self.names += self.of_reference.values()
        else:
            self.names += [f"{self.reference}{number}" for number in range(shape.most_references)]
            self.names += [PSEUDO_REFERENCES + JSON] if shape.pseudo else []
        self.names += [LATTICE + JSON] if shape.lattices else []
        self.names += self.more.values()

    def _can_name(self, key: str) -> bool:
        return is_whole(key) and not (self.format == "tsv" and has_breaks(key))

    def _name(self, key: str, kinds: set[str]) -> str:
        plain = {"text"} if self.format == "tsv" else {"text", "broken text"}
        is_plain = kinds <= plain and key and not key.endswith(JSON) and not is_taken(key, self.fields)
        return key if is_plain else key + JSON

    def _count_losses(self, shape: Shape) -> None:
        if not self.is_row_each:
            self.losses.add("weights of references", shape.weights)
        lost = [item for item in shape.more.items() if item[0] not in self.more]
        lost += [item for item in shape.of_reference.items() if item[0] not in self.of_reference]
        for key, count in lost:
            self.losses.add(f"values of the key {json.dumps(key, ensure_ascii=not is_whole(key))}", count)

    def rows(self, parts: Parts, number: int) -> Iterator[Cells]:
        """The cells of an example's row, or of its rows."""
        id = number if parts.id is None else parts.id
        shared = self._shared(parts, id)
        if not self.is_row_each:
            texts = [self._text(reference.text, id) for reference in parts.references]
            yield {**shared, **{f"{self.reference}{place}": text for place, text in enumerate(texts)}}
            return
        for reference in parts.references:
            yield {**shared, **self._of_reference(reference, id)}
        for pseudo in parts.pseudo:
            fluency = {FLUENCY: repr(float(pseudo["fluency"]))} if "fluency" in pseudo else {}
            repeat = {REPEAT: "true"} if pseudo.get("repeat") else {}
            text = self._text(pseudo["text"], id)
            yield {**shared, self.reference: text, BLEU: repr(float(pseudo["bleu"])), **fluency, **repeat}

    def _shared(self, parts: Parts, id: str | int) -> Cells:
        cells = {self.id: json.dumps(id, ensure_ascii=False) if self.id.endswith(JSON) else str(id)}
        if self.source == self.fields.source:
            cells[self.source] = self._text(parts.source, id)
        else:
            cells[self.source] = _BREAKS.sub(" ", parts.source_json or "")
        if parts.lattice is not None:
            cells[LATTICE + JSON] = as_json(parts.lattice)
        if parts.pseudo and not self.is_row_each:
            cells[PSEUDO_REFERENCES + JSON] = as_json(parts.pseudo)
        for key, name in self.more.items():
            if key in parts.more:
                cells[name] = self._more(parts.more[key], name)
        return cells

    def _more(self, value: str, name: str) -> str:
        if name.endswith(JSON):
            # Spaces between the parts of JSON may be tabs; inside its texts they are escaped.
            return _BREAKS.sub(" ", value)
        text: Any = json.loads(value)
        return str(text)

    def _of_reference(self, reference: ReferencePart, id: str | int) -> Cells:
        cells = {self.reference: self._text(reference.text, id)}
        if reference.weight != 1.0:
            cells[WEIGHT] = repr(reference.weight)
        for key, value in reference.more.items():
            if key in self.of_reference:
                cells[self.of_reference[key]] = value
        return cells

    def _text(self, text: str, id: str | int) -> str:
        if self.format == "csv" or not has_breaks(text):
            return text
        if self.settings.line_breaks == "refuse":
            problem = f'{self.path}: a text of example "{id}" has a tab or a line break, which TSV cannot hold'
            raise OutputError(f"{problem}; choose another format, or --line-breaks space")
        self.losses.add("texts with tabs or line breaks (written as spaces)")
        return _BREAKS.sub(" ", text)
