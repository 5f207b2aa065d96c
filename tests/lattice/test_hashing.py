"""Hashes that are the same everywhere, since they decide which sentences are chosen."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from polyref.lattice.hashing import mix, sentence_hash, word_hash, word_hashes

SCRIPT = """
from polyref import Lattice
lattice = Lattice.from_references(["a b c d e f g", "a c b d f e g", "b a c d e g f"], engine="plain")
print([sentence.text for sentence in lattice.best(20)], [sentence.text for sentence in lattice.sample(5)])
"""


def test_hashes_never_change() -> None:
    """These numbers decide ties in files that people keep."""
    assert word_hash("cat", 0) == (4961136902985907950).to_bytes(8, "little")
    assert word_hash("Café", -1) == (6289243690096446843).to_bytes(8, "little")
    assert mix(1, 2) == 12686692678866068389
    assert sentence_hash([0, 1, 0], [11, 22]) == 14523423018146095037


def test_a_seed_gives_other_hashes() -> None:
    assert len({word_hash("cat", seed) for seed in (-(2**63), -1, 0, 1, 2**63 - 1)}) == 5


def test_the_order_of_words_counts() -> None:
    hashes = word_hashes(["a", "b"], seed=0).tolist()
    assert len({sentence_hash(words, hashes) for words in ([0, 1], [1, 0], [0], [0, 0], [])}) == 5


def test_the_choice_does_not_depend_on_pythons_own_hash() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


@pytest.mark.compiled
def test_the_kernel_mixes_alike() -> None:
    import numpy as np

    from polyref.lattice import ranking_kernels

    for left, right in [(0, 0), (1, 2), (2**64 - 1, 2**63), (0x243F6A8885A308D3, 12345678901234567890)]:
        assert int(ranking_kernels.mix(np.uint64(left), np.uint64(right))) == mix(left, right)
