"""What a format is, and what the formats share.

In:   for a format's reader an open file (Reading); for its writer records, which can be read more than once (Spool).
Out:  FileFormat; the parts of a record; a Shape: which parts there are at all, so that a header can be written.
Not:  the formats themselves, each in a file of its own beside this one.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO, Literal, NamedTuple

from polyref.data.formats.jsonl import KEPT, LATTICE, PSEUDO_REFERENCES, Fields, dump, value_texts
from polyref.data.opening import MAX_LINE_BYTES, Line, Opened
from polyref.errors import InputError, OutputError, SettingsError
from polyref.example import JUDGEMENTS

LineBreaks = Literal["refuse", "space"]
JSON = ":json"  # a column whose name ends in this holds JSON, and its key is the name without that
MOST_KEYS = 1000  # different ones: each becomes a column
_INT64 = 2**63
NOTES = "polyref.notes"  # silent unless somebody listens, as the command line does
_notes = logging.getLogger(NOTES)


class Losses:
    """What a format cannot hold: things by what they are, in the plural ("ids"), and how many were left out."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, what: str, count: int = 1) -> None:
        if count:
            self.counts[what] = self.counts.get(what, 0) + count

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        return ", ".join([f"{what} ({count:,})" for what, count in self.counts.items()])


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that is read: all that a format's reader is given."""

    file: Opened
    fields: Fields
    losses: Losses  # what no record holds is added to it
    needs_source: bool = True  # whether a reader may refuse a file that has no sources; if not, nobody asks for them
    needs_references: bool = True  # the same for references
    max_line_bytes: int = MAX_LINE_BYTES
    others: tuple[str, ...] = ()  # the files behind the first one, where a format has several
    taken_for: str = ""  # a format that the content may have told by mistake

    def wrong(self, problem: str, cure: str, line: int | None = None) -> InputError:
        if self.taken_for:
            cure += f" (the content looks like {self.taken_for}; if it is something else, set format)"
        return InputError(problem, cure, file=self.file.name, line=line)

    def note(self, *said: str) -> None:
        """Log what the file, or something in it, is taken for; nothing where nothing is said."""
        if any(said):
            _notes.info("%s: %s", self.file.name, "; ".join(filter(None, said)))

    def line(self, number: int, make: Callable[[], bytes], shown: Any) -> Line:
        """A record; where it cannot be made, what is wrong with it and what is shown of it."""
        position = self.file.position()
        try:
            return Line(number, make(), position)
        except InputError as fault:
            return Line(number, json.dumps(shown, ensure_ascii=False, default=str).encode(), position, fault)

    def no_column(self, name: str, setting: str, names: Sequence[str], line: int | None = None) -> InputError:
        there = ", ".join(f'"{name}"' for name in names[:20])
        cure = f"name another with {setting} (the columns here: {there})"
        return self.wrong(f'there is no column "{name}"', cure, line)

    def json_piece(self, text: str, what: str, line: int) -> str:
        """A piece of JSON that stands in a cell, on one line; an InputError if it is not JSON."""
        cure = f'a column whose name ends in "{JSON}" must hold JSON'
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            raise self.wrong(f"{what} is not JSON", cure, line) from None
        # Line breaks stand between the parts of JSON only; inside its strings they are escaped.
        return text.replace("\r", " ").replace("\n", " ")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How a format is told, read and written.

    `suffixes`: what a name may end in, before .gz or .zst. `read` gives records as lines of JSON: see `record_line`.
    `write` takes them from a Spool; None: records are written as they are. `looks`: whether the content of a file is in
    this format; None: only its name tells. `check` refuses an output before any work goes into it. `holds_pseudo`:
    whether pseudo-references and lattices have a place of their own; where not, `expand` writes pseudo-references as
    references.
    """

    suffixes: tuple[str, ...]
    read: Callable[[Reading], Iterator[Line]]
    write: Callable[[Spool], None] | None = None
    looks: Callable[[Reading], bool] | None = None
    check: Callable[[str], None] = lambda path: None
    has_reference_columns: bool = False
    holds_pseudo: bool = True


# -- the parts of a record ------------------------------------------------------------------------------------------


class ReferencePart(NamedTuple):
    text: str
    weight: float
    more: dict[str, str]  # other keys, with their values as JSON


class Parts(NamedTuple):
    """One record. Values as JSON are texts as they stood in the record, so that nothing about them changes."""

    number: int  # its place among the records, from 1
    id: str | int | None
    source: Any
    source_json: str | None  # None if there is no source
    references: list[ReferencePart]
    pseudo: list[dict[str, Any]]
    lattice: dict[str, Any] | None
    more: dict[str, str]  # other keys, with their values as JSON

    @property
    def name(self) -> str | int:
        """Its id, or its number where it has none."""
        return self.number if self.id is None else self.id

    @property
    def id_json(self) -> str | None:
        return None if self.id is None else dump(self.id)

    @property
    def texts(self) -> list[str]:
        """The source, as JSON if it is not a string, and the references."""
        source = self.source if isinstance(self.source, str) else self.source_json or ""
        return [source, *[reference.text for reference in self.references]]


def take_apart(record: str, fields: Fields, number: int) -> Parts:
    value = json.loads(record)
    known = (fields.id, fields.source, fields.references, PSEUDO_REFERENCES, LATTICE)
    source = value.get(fields.source)
    source_json = None
    more: dict[str, str] = {}
    if not isinstance(source, str) or any(key not in known for key in value):
        texts = value_texts(record)
        source_json = texts.get(fields.source)
        more = {key: text for key, text in texts.items() if key not in known}
    elif fields.source in value:
        source_json = dump(source)
    return Parts(
        number=number,
        id=value.get(fields.id),
        source=source,
        source_json=source_json,
        references=[_reference_part(item) for item in value[fields.references]],
        pseudo=value.get(PSEUDO_REFERENCES) or [],
        lattice=value.get(LATTICE),
        more=more,
    )


def _reference_part(item: Any) -> ReferencePart:
    if isinstance(item, str):
        return ReferencePart(item, 1.0, {})
    more = {key: as_json(value) for key, value in item.items() if key not in ("text", "weight")}
    return ReferencePart(item["text"], float(item.get("weight", 1.0)), more)


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise OutputError("a number of a reference is too large for this format; write JSON Lines") from None


def has_breaks(text: str) -> bool:
    """Whether a text has what ends a line or a cell where there are no quotes."""
    return "\n" in text or "\r" in text or "\t" in text


# -- all records of a file ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Shape:
    """What there is among the records: how many, and of which kinds the values of a key are."""

    examples: int = 0
    most_references: int = 0
    weights: int = 0  # other than 1
    pseudo: int = 0
    judged: Counter[str] = field(default_factory=Counter)  # pseudo-references that have a judgement, by its name
    repeats: int = 0
    lattices: int = 0
    kept: int = 0  # lattices that are there themselves
    rules: int = 0  # those of them that have rules
    ids: int = 0
    id_kinds: set[str] = field(default_factory=set)
    sources: int = 0
    other_sources: int = 0  # those that are not strings
    source_kinds: set[str] = field(default_factory=set)
    of_reference: Counter[str] = field(default_factory=Counter)  # other keys of references, and how often they come
    more: Counter[str] = field(default_factory=Counter)  # other keys of records
    more_kinds: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, parts: Parts) -> None:
        self.examples += 1
        self.most_references = max(self.most_references, len(parts.references))
        self.pseudo += len(parts.pseudo)
        self.judged.update([name for pseudo in parts.pseudo for name in JUDGEMENTS if name in pseudo])
        self.repeats += sum(bool(pseudo.get("repeat")) for pseudo in parts.pseudo)
        if parts.lattice is not None:
            self.lattices += 1
            kept = parts.lattice.get(KEPT)
            self.kept += kept is not None
            self.rules += kept is not None and "rules" in kept
        if parts.id is not None:
            self.ids += 1
            self.id_kinds.add(kind_of(parts.id))
        if parts.source_json is not None:
            self.sources += 1
            self.other_sources += not isinstance(parts.source, str)
            self.source_kinds.add(kind_of(parts.source))
        for reference in parts.references:
            self.weights += reference.weight != 1.0
            if reference.more:
                self.of_reference.update(reference.more.keys())
        for key, value in parts.more.items():
            self.more[key] += 1
            self.more_kinds[key].add(kind_of(json.loads(value)))
        if len(self.more) + len(self.of_reference) > MOST_KEYS:
            raise OutputError(f"the records have more than {MOST_KEYS:,} different keys; write them as JSON Lines")

    def check_ids(self, format: str = "") -> None:
        """Refuse ids for some examples only, where a format cannot do without."""
        if 0 < self.ids < self.examples:
            without, needs = self.examples - self.ids, f", which {format} needs" if format else ""
            problem = f"{without:,} of {self.examples:,} examples have no id{needs}"
            raise OutputError(f"{problem}; give all of them one, or none")


def kind_of(value: Any) -> str:
    """The kind of a value, as far as it matters for what a column can hold."""
    if isinstance(value, str):
        if not value:
            return "empty"
        return "broken text" if has_breaks(value) else "text"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -_INT64 <= value < _INT64 else "other"
    if isinstance(value, float):
        return "float" if abs(value) < float("inf") else "other"
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "texts"
    return "other"


@dataclass
class Spool:
    """Records on their way to a file: all that a format's writer is given."""

    records: BinaryIO  # a file without a name, with one record per line
    path: str
    fields: Fields
    losses: Losses  # what the format cannot hold is added to it
    reference_columns: bool = False  # as in WriteSettings
    line_breaks: LineBreaks = "refuse"
    files: list[str] = field(default_factory=list)  # what a writer has written, if not one file at `path`
    _begun: set[int] = field(default_factory=set)  # streams that have a first line

    def parts(self) -> Iterator[Parts]:
        """The records from the first one on, taken apart."""
        self.records.seek(0)
        for number, line in enumerate(self.records, 1):
            yield take_apart(line.decode("utf-8"), self.fields, number)

    @cached_property
    def shape(self) -> Shape:
        """What there is among the records."""
        shape = Shape()
        for parts in self.parts():
            shape.add(parts)
        return shape

    def lose(self, *, but: Collection[str] = ()) -> None:
        """Count as losses all that is not a source or the text of a reference, but what the format holds."""
        shape = self.shape
        counts = {"ids": shape.ids, "weights of references": shape.weights, "pseudo-references": shape.pseudo}
        counts |= {"lattice summaries": shape.lattices, "kept lattices": shape.kept}
        counts |= {f'values of the key "{key}"': count for key, count in (shape.more + shape.of_reference).items()}
        counts["sources that are not strings (written as JSON)"] = shape.other_sources
        for what, count in counts.items():
            if what not in but:
                self.losses.add(what, count)

    def write_lines(
        self, stream: BinaryIO, texts: Sequence[str], parts: Parts, format: str, *, may_be_blank: bool = True
    ) -> None:
        """Write texts of a record, one per line; what such lines cannot hold is refused."""
        lines = [self.on_one_line(text, parts, format, tabs=False) for text in texts]
        if not may_be_blank and not all(map(str.strip, lines)):
            problem = f'{self.path}: a text of example "{parts.name}" is blank, which {format} cannot hold'
            raise OutputError(f"{problem}; choose another format")
        if id(stream) not in self._begun and lines[0].startswith("\ufeff"):
            lines[0] = "\ufeff" + lines[0]  # the first one of a file is taken for a byte-order mark
        self._begun.add(id(stream))
        stream.write("".join([f"{line}\n" for line in lines]).encode())

    def on_one_line(self, text: str, parts: Parts, format: str, *, tabs: bool = True) -> str:
        """A text of a record for a format that cannot hold line breaks, or `tabs`: refused, or with spaces instead."""
        if not has_breaks(text) or not (tabs or "\n" in text or "\r" in text):
            return text
        what = "tabs or line breaks" if tabs else "line breaks"
        if self.line_breaks == "refuse":
            problem = f'{self.path}: a text of example "{parts.name}" has {what}, which {format} cannot hold'
            raise SettingsError(problem, "choose another format, or set line_breaks to space")
        self.losses.add(f"texts with {what} (written as spaces)")
        return re.sub(r"[\t\r\n]+" if tabs else r"[\r\n]+", " ", text)


# -- texts that come twice ------------------------------------------------------------------------------------------


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


def _fingerprint(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1  # 0 marks an empty slot
