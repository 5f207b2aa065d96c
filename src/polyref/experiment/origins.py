"""Where each key of a recipe was set, so that a mistake is blamed on the right file and line.

In:   the layers of a recipe: its file, files that override it, single settings.
Out:  the layer, and the line where it is plain, that a mistake lies in.
Not:  reading and merging (reading.py), finding mistakes (recipe.py, checking.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from polyref.experiment.checking import Place, RecipeError

_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s."'=\[\]{}#]+))\s*(\.|$)""")
_HEADER = re.compile(r"(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=#])+)=\s*(.)""")


@dataclass(frozen=True, slots=True)
class Layer:
    """Something that sets keys. The later one has the higher number; `text` is a file's content."""

    number: int
    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Origins:
    """For each place in a recipe, the layer that set it last, and where in that layer."""

    found: dict[Place, tuple[Layer, Place]] = field(default_factory=dict)

    def note(self, place: Place, layer: Layer, at: Place) -> None:
        self.found[place] = layer, at
        for size in range(1, len(place)):  # its tables are whoever's who began them
            self.found.setdefault(place[:size], (layer, at[: max(0, len(at) - len(place) + size)]))

    def note_all(self, layer: Layer, content: Mapping[str, Any]) -> None:
        for place in _places(content):
            self.found[place] = layer, place

    def blamed(self, error: RecipeError, recipe: Layer) -> str:
        """The error with the file and the line that it lies in, those of the recipe itself if nothing else is known."""
        stage: Place = () if error.stage is None else ("stage", error.stage)
        origins = [self.found.get((*stage, *key)) or self.found.get(key) for key in error.keys]
        known = [origin for origin in origins if origin is not None]
        layer = max((layer for layer, _ in known), key=lambda layer: layer.number, default=recipe)
        lines = {line_of(layer.text, at) for one, at in known if one is layer}
        return said_of(layer, str(error), lines.pop() if len(lines) == 1 else None)


def said_of(layer: Layer, text: str, line: int | None = None) -> str:
    """A message with where it comes from; tables that are given in Python have no name."""
    place = layer.name if line is None else f"{layer.name}:{line}"
    return f"{place}: {text}" if place else text


def _places(content: Any, at: Place = ()) -> Iterator[Place]:
    if at:
        yield at
    inner = content.items() if isinstance(content, Mapping) else enumerate(content) if _is_stages(at, content) else []
    for key, value in inner:
        yield from _places(value, (*at, key))


def _is_stages(at: Place, content: Any) -> bool:
    return at == ("stage",) and isinstance(content, list)


# -- lines ----------------------------------------------------------------------------------------------------------


def line_of(text: str, place: Place) -> int | None:
    """The line of TOML that sets a key or begins a table; None where that is not plain."""
    if '"""' in text or "'''" in text:
        return None  # lines of a long text may look like anything
    lines = [number for number, at, is_table in _settings(text) if at == place or (is_table and at == place[: len(at)])]
    return lines[0] if len(lines) == 1 else None


def _settings(text: str) -> Iterator[tuple[int, Place, bool]]:
    """The lines that set a key or begin a table: number, place, and whether the value is a table in that line."""
    table: Place = ()
    stages = -1
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.fullmatch(line.strip())
        if header:
            names = parts_of(header[2]) or []
            stages += header[1] == "[[" and names == ["stage"]
            table = ("stage", stages, *names[1:]) if names[:1] == ["stage"] and stages >= 0 else tuple(names)
            yield number, table, False
            continue
        key = _KEY.match(line)
        names = (parts_of(key[1]) or []) if key else []
        if key and names:
            yield number, (*table, *names), key[2] == "{"


def parts_of(key: str) -> list[str] | None:
    """The parts of a key with dots, some of them perhaps in quotes; None if it is no key."""
    parts: list[str] = []
    end = 0
    while True:
        found = _PART.match(key, end)
        if found is None:
            return None
        parts.append(next(part for part in found.groups()[:3] if part is not None))
        end = found.end()
        if found[4] != ".":
            return parts if end == len(key) else None
