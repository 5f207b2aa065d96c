"""Which facts of its source an output lacks.

In:   sources such as `name[The Eagle], food[French]`, outputs, and the references of each.
Out:  for every slot: how many sources have it, how many outputs lack the words of its value.
Not:  what a text means: a value counts as said if its exact words are there, in any case.

A value such as that of `familyFriendly[yes]` is not said in these words. So a slot counts only where most references
have the words of its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from polyref.errors import InputError

LITERAL = 0.75  # a slot counts if this share of references has its value word by word; E2E: area 0.78, rating 0.69

_SLOT = re.compile(r"\s*([^\[\],]+?)\s*\[([^\[\]]*)\]\s*(?:,|$)")
_CURE = "give sources such as name[The Eagle], food[French]"


@dataclass(frozen=True, slots=True)
class Slot:
    """How a slot is said: by references, and by outputs if the references mostly use the words of its value."""

    given: int  # sources with this slot
    in_references: float  # share of their references that have the value
    missing: int | None  # outputs without it; None where the slot does not count


def slots_of(source: Any) -> dict[str, str]:
    """The values of a source by their slots."""
    if not isinstance(source, str):
        raise InputError("the source has no slots", _CURE)
    found: dict[str, str] = {}
    place = 0
    while place < len(source):
        slot = _SLOT.match(source, place)
        if slot is None:
            raise InputError("the source has no slots" if not found else "the source is not slots only", _CURE)
        found[slot[1]] = slot[2]
        place = slot.end()
    if not found:
        raise InputError("the source has no slots", _CURE)
    return found


def is_said(value: str, text: str) -> bool:
    """Whether the words of a value are in a text, whatever their case."""
    return not value.strip() or _words(value).search(text) is not None


@lru_cache(maxsize=4096)
def _words(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(value.strip())}(?!\w)", re.IGNORECASE)


def missing_of(source: Any, output: str) -> list[str]:
    """The slots of a source whose value is not in the output."""
    return [slot for slot, value in slots_of(source).items() if not is_said(value, output)]


def facts(sources: Sequence[Any], outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Mapping[str, Slot]:
    """Every slot of the sources, in order of appearance; references[k] and outputs[k] are those of sources[k]."""
    if not len(sources) == len(outputs) == len(references):
        raise InputError("there are not as many sources as outputs and references", "give one of each per example")
    counts: dict[str, list[int]] = {}  # sources, references, references that say it, outputs that lack it
    for source, output, texts in zip(sources, outputs, references, strict=True):
        for slot, value in slots_of(source).items():
            of_slot = counts.setdefault(slot, [0, 0, 0, 0])
            said = sum(is_said(value, text) for text in texts)
            more = (1, len(texts), said, not is_said(value, output))
            of_slot[:] = [before + one for before, one in zip(of_slot, more, strict=True)]
    found = {}
    for slot, (given, texts_of, said, missing) in counts.items():
        share = said / texts_of
        found[slot] = Slot(given, share, missing if share >= LITERAL else None)
    return found
