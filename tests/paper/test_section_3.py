"""The examples of Section 3 and the appendix of Zheng, Ma and Huang (EMNLP 2018), by the numbers they print."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from samples import CAT

from polyref import AlignSettings, Lattice, WordVectors

INDONESIA = [
    "Indonesia reiterated its opposition to foreign military presence",
    "Indonesia repeats its opposition against station of foreign troops in Indonesia",
    "Indonesia reiterates opposition to garrisoning foreign armies",
]
FAMILIES = [["reiterated", "repeats", "reiterates"], ["military", "troops", "armies"]]
ELEPHANTS = [
    "Two elephants in an enclosure next to a brick building",
    "Two elephants try to fit through a small entry",
]
MISTAKES = [
    "Two elephants try to a small entry",
    "Two elephants in an enclosure next to fit through a brick building",
]
CAT_SENTENCES = [
    ("a grey tiger cat sleeping in a brown bowl on a table near a window", 100.0, True),
    ("a grey tiger cat sleeping in a brown bowl on a dining room table", 100.0, True),
    ("a brown and black cat is sleeping in a bowl on the kitchen table", 100.0, True),
    ("a grey tiger cat sleeping in a fruit bowl on a table", 97.1, True),
    ("a cat asleep in a red bowl that sits on a table", 97.1, True),
    ("a gray tabby cat is sleeping in a bowl on a table", 97.1, True),
    ("a grey and tabby cat inside of a red bowl on the dining room table", 0.0, False),
    ("a grey and tabby cat inside of a red bowl on a kitchen table", 0.0, False),
]
SOFT = AlignSettings(align="soft", similarity="cosine", penalty=0.6)
PLAIN = AlignSettings(align="soft", similarity="cosine", penalty=0.5, veto=(), position=0)  # as in the paper


@pytest.fixture
def cat(engine_name: Any) -> Lattice:
    return Lattice.from_references(CAT, engine=engine_name)


def test_hard_alignment_of_indonesia(engine_name: Any) -> None:
    """Section 3: hard alignment of the three references generates 33 new pseudo-references."""
    lattice = Lattice.from_references(INDONESIA, engine=engine_name)
    assert (lattice.count, lattice.new) == (36, 33)


@pytest.mark.parametrize("align", [SOFT, replace(SOFT, penalty=0.5), PLAIN])
def test_soft_alignment_of_indonesia(align: AlignSettings, engine_name: Any) -> None:
    """Section 3: with synonyms merged as well, the same references generate 213 new pseudo-references."""
    words = [word for family in FAMILIES for word in family]
    encoder = WordVectors(words, np.repeat(np.eye(2), 3, axis=0))
    lattice = Lattice.from_references(INDONESIA, align=align, encoder=encoder, engine=engine_name)
    assert (lattice.count, lattice.new) == (216, 213)


def test_hard_alignment_makes_the_papers_mistakes(engine_name: Any) -> None:
    """Section 3.2: merging "to" of two different meanings makes two sentences that are wrong."""
    lattice = Lattice.from_references(ELEPHANTS, engine=engine_name)
    assert [mistake in lattice for mistake in MISTAKES] == [True, True]


@pytest.mark.parametrize("align", [SOFT, PLAIN])
def test_soft_alignment_does_not_make_them(align: AlignSettings, engine_name: Any) -> None:
    """Section 3.2: where the context vectors tell the two "to" apart, neither mistake is made."""
    encoder = WordVectors(["to"], np.zeros((1, 2)))  # a vector of zeros is alike to nothing, itself included
    lattice = Lattice.from_references(ELEPHANTS, align=align, encoder=encoder, engine=engine_name)
    assert [mistake in lattice for mistake in MISTAKES] == [False, False]
    assert all(reference in lattice for reference in ELEPHANTS)


def test_hard_alignment_of_the_cat(cat: Lattice) -> None:
    """The caption example: five references of one picture, compressed into one lattice."""
    assert (cat.count, cat.pieces) == (2_560, 1)


@pytest.mark.parametrize(("sentence", "score", "is_there"), CAT_SENTENCES)
def test_scores_of_the_cat(cat: Lattice, sentence: str, score: float, is_there: bool) -> None:
    """The caption example's list of pseudo-references, with the BLEU score of each."""
    assert round(cat.bleu(sentence), 1) == score
    assert (sentence in cat) == is_there


def test_the_best_of_the_cat(cat: Lattice) -> None:
    """Section 3.4: pseudo-references are ranked by BLEU against the gold references; the top ones are kept."""
    best = cat.best(cat.count)
    hundred = {sentence.text for sentence in best if sentence.bleu == 100.0}
    assert {text for text, score, _ in CAT_SENTENCES if score == 100.0} <= hundred
    assert hundred == {sentence.text for sentence in cat.best(len(hundred))}
    kept = {sentence.text for sentence in best}
    assert {text for text, _, is_there in CAT_SENTENCES if is_there} <= kept
