"""The pairs of references that are merged, with their links: the same from both engines, and those of the lattice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref.align import UNIT
from polyref.lattice import CompiledEngine, PlainEngine
from polyref.lattice.plain.automaton import build
from polyref.lattice.references import Numbering
from polyref.text import TextSettings, tokenize

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=7).map(" ".join), min_size=1, max_size=5)


@pytest.mark.compiled
@pytest.mark.parametrize("order", ["tree", "paper"])
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_both_engines_merge_the_same_pairs_by_the_same_links(order, soft):
    plain, compiled = PlainEngine(), CompiledEngine()

    @given(TEXTS, st.integers(0, 2**32 - 1))
    def check(texts: list[str], seed: int) -> None:
        numbering = Numbering.of([tokenize(text, TextSettings()) for text in texts])
        size = len(numbering.words)
        similarity = np.random.default_rng(seed).integers(0, UNIT, (size, size), np.int32) if soft else None
        found = plain.merges(numbering, similarity, UNIT // 2, order)
        assert compiled.merges(numbering, similarity, UNIT // 2, order) == found
        after, _ = compiled.merged(numbering, similarity, UNIT // 2, order)
        assert build(numbering.references, found) == after

    check()
