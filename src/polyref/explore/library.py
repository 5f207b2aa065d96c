"""The examples of a file, to choose from: found by words, in the order of the file or of what their lattices hold.

In:   a corpus, which is never written to.
Out:  the numbers of the examples that are wanted, in order; one example by its id.
Not:  reading files (data/), what lattices hold (analysis.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from polyref.data.corpus import Corpus
from polyref.data.formats.jsonl import decimal_text
from polyref.data.opening import display_name
from polyref.example import Example
from polyref.explore.analysis import Ranked

Order = Literal["file", "references", "sentences", "worst", "left-out"]
ORDERS: tuple[Order, ...] = get_args(Order)
RANKED = 2000  # the first examples of a file, of which it is known what their lattices hold
_LONGEST = 300  # characters of a source, or of a reference, in a list
_BY: dict[str, Callable[[Ranked], float]] = {
    "sentences": lambda one: -one.sentences,
    "worst": lambda one: 101.0 if one.worst is None else one.worst,
    "left-out": lambda one: -one.left_out,
}


@dataclass
class Library:
    """The examples of a file. `ranked` is filled while somebody wants an order that needs it."""

    path: str
    corpus: Corpus
    ranked: dict[int, Ranked | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What a page calls it."""
        return Path(display_name(self.path)).name

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def to_rank(self) -> int:
        """How many examples are ranked in the end."""
        return min(len(self), RANKED)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {self.corpus.id(number): number for number in range(len(self) - 1, -1, -1)}

    def number(self, id: str) -> int | None:
        return self._numbers.get(id)

    def example(self, number: int) -> Example:
        """An example without what an earlier run has made of it."""
        return replace(self.corpus.example(number), pseudo_references=(), lattice=None)

    def find(self, search: str, order: Order) -> list[int]:
        """The examples with all words of the search, in an order; those of which it is not known come last."""
        wanted = search.casefold().split()
        found = [number for number in range(len(self)) if not wanted or self._has(number, wanted)]
        if order == "references":
            return sorted(found, key=lambda number: -int(self.corpus.numbers["gold"][number]))
        if order in _BY:
            known = [(one, number) for number in found if (one := self.ranked.get(number)) is not None]
            return [number for _, number in sorted(known, key=lambda pair: (_BY[order](pair[0]), pair[1]))]
        return found

    def _has(self, number: int, wanted: list[str]) -> bool:
        corpus, first = self.corpus, int(self.corpus.starts[number])
        gold = range(first, first + int(corpus.numbers["gold"][number]))
        texts = [corpus.texts["ids"][number], corpus.texts["sources"][number]]
        said = b" ".join([*texts, *[corpus.texts["references"][one] for one in gold]]).decode().casefold()
        return all(word in said for word in wanted)

    def about(self, number: int) -> dict[str, Any]:
        """An example in a list."""
        source, ranked = self.corpus.texts["sources"][number].decode(), self.ranked.get(number)
        return {
            "id": self.corpus.id(number),
            "source": "" if source == "null" else source[:_LONGEST],
            "text": self.corpus.reference(number, 0)[:_LONGEST],
            "references": int(self.corpus.numbers["gold"][number]),
            "sentences": None if ranked is None else decimal_text(ranked.sentences),
            "worst": None if ranked is None or ranked.worst is None else round(ranked.worst, 2),
            "left_out": None if ranked is None else ranked.left_out,
        }
