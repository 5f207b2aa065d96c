"""The lattices of a file's examples: what the verbs have in common that look at lattices.

In:   a file and how to align. Out: examples with their lattices; the files to draw them into. Not: the verbs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from polyref.align import AlignSettings
from polyref.cli import options as o
from polyref.data import ReadSettings, read
from polyref.data.opening import display_name
from polyref.encode import open_encoder
from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.lattice import Lattice, check_encoder, engine_named
from polyref.scale import ToolSettings
from polyref.text import TextSettings


@dataclass(frozen=True)
class Lattices:
    """The lattice of each example of a file, or of the one with an id."""

    file: str
    id: str | None
    reading: ReadSettings
    align: AlignSettings
    text: TextSettings
    tools: ToolSettings

    def __iter__(self) -> Iterator[tuple[Example, Lattice]]:
        check_encoder(self.align, self.tools.encoder)
        encoder = open_encoder(self.tools.encoder) if self.tools.encoder is not None else None
        reading = self.reading
        examples = read(
            self.file,
            reading.fields,
            require_source=False,
            max_line_bytes=reading.max_line_bytes,
            format=reading.format,
        )
        engine = engine_named(self.tools.engine, o.say_compiling)
        found = False
        for example in examples:
            if self.id is not None and example.id != self.id:
                continue
            found = True
            texts = [reference.text for reference in example.references]
            try:
                lattice = Lattice.from_references(
                    texts, align=self.align, text=self.text, encoder=encoder, engine=engine
                )
            except InputError as error:
                raise InputError(error.problem, error.cure, file=display_name(self.file), line=example.line) from None
            yield example, lattice
        if not found:
            raise InputError(
                f'there is no example with the id "{self.id}"', "check the id", file=display_name(self.file)
            )


@contextmanager
def about(file: str, example: Example) -> Iterator[None]:
    """Say which example a setting does not fit."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f'{display_name(file)}: example "{example.id}": {error}') from None


def with_files(
    lattices: Iterable[tuple[Example, Lattice]], output: str | None
) -> Iterator[tuple[Example, Lattice, str | None]]:
    """Each lattice with the file to draw it into: `out-{id}.svg` names one for each, another name is for one only."""
    if output is None or "{id}" in output:
        for example, lattice in lattices:
            yield example, lattice, output and output.replace("{id}", _as_file_name(example.id))
        return
    first_two = list(islice(lattices, 2))
    if len(first_two) > 1:
        raise SettingsError(
            f"{output} has room for one example, and there are several; add --id, or write {{id}} in it"
        )
    for example, lattice in first_two:
        yield example, lattice, output


def _as_file_name(id: str) -> str:
    """An id that leads to no other folder."""
    return "".join(character if character.isalnum() or character in "-_.+ " else "_" for character in id).lstrip(".")
