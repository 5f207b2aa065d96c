"""How references and the words on arcs are written, for people to read.

In:   a lattice. Out: texts. Not: the sentences of a lattice (writing.py).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from polyref.text.tokens import join

if TYPE_CHECKING:
    from polyref.lattice.lattice import Lattice


def reference_texts(lattice: Lattice) -> list[str]:
    """The gold references, with single spaces between their words."""
    texts = [join(zip(tokens.surfaces, tokens.spaces, strict=True)) for tokens in lattice.tokens]
    return [" ".join(text.split()) for text in texts]


def arc_surfaces(lattice: Lattice) -> list[str]:
    """For each arc, its word as most references write it; as the first one does if they are even."""
    written: list[Counter[str]] = [Counter() for _ in lattice.arcs]
    for way, tokens in zip(lattice.ways, lattice.tokens, strict=True):
        for arc, surface in zip(way, tokens.surfaces, strict=True):
            written[arc][surface] += 1
    return [surfaces.most_common(1)[0][0] for surfaces in written]
