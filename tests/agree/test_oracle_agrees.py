"""polyref against oracle.py, which other people wrote from the specification alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import oracle
import pytest

from polyref import AlignSettings, TextSettings, WordVectors
from polyref.align import Matrix, MergeOrder
from polyref.align.alignment import soft_similarity
from polyref.lattice import Engine, Lattice, SearchSettings

EXAMPLES = 70
LISTED = 800  # larger lattices are counted, and not listed
RANKED = 100
LEVELS = [-2_000, 0, 3_000, 5_000, 7_000, 10_000]


@dataclass(frozen=True)
class Case:
    """One example, as polyref takes it."""

    references: list[str]
    similarity: Matrix | None
    penalty: int
    merge_order: MergeOrder

    @property
    def words(self) -> list[list[str]]:
        return [reference.split() for reference in self.references]

    def oracle_lattice(self) -> oracle.NaiveLattice:
        blocks = None if self.similarity is None else self._block
        return oracle.lattice(self.words, blocks, self.penalty, self.merge_order)

    def _block(self, left: int, right: int) -> oracle.Matrix:
        lengths = [len(reference.split()) for reference in dict.fromkeys(self.references)]
        starts = list(accumulate(lengths, initial=0))
        rows = slice(starts[left], starts[left + 1])
        columns = slice(starts[right], starts[right + 1])
        return self.similarity[rows, columns].tolist()


@dataclass(frozen=True)
class Expected:
    """What the oracle says about a case; of a large lattice only its sizes."""

    sizes: tuple[int, int, int, int]
    sentences: set[oracle.Sentence]
    scores: list[float]  # of the best sentences that score above 0
    keys: list[oracle.ExactKey]  # of the best of all

    @classmethod
    def of(cls, case: Case) -> Expected:
        lattice = case.oracle_lattice()
        sizes = (oracle.count(lattice), lattice.states, len(lattice.arcs), lattice.pieces)
        if sizes[0] > LISTED:
            return cls(sizes, set(), [], [])
        sentences = oracle.sentences(lattice)
        new = sentences - {tuple(words) for words in case.words}
        keys = sorted((oracle.exact_key(words, case.words) for words in new), reverse=True)
        scores = [score for score, _ in oracle.top_scores(case.words, lattice, RANKED)]
        return cls(sizes, sentences, scores, keys[:RANKED])


def random_text(generator: random.Random, alphabet: str) -> str:
    return " ".join(generator.choices(alphabet, k=generator.randint(1, 7)))


def random_case(generator: random.Random, kind: str, merge_order: MergeOrder) -> Case:
    alphabet = "abcdefg"[: generator.randint(2, 7)]
    references = [random_text(generator, alphabet) for _ in range(generator.choice([1, 2, 3, 4, 5, 5, 6]))]
    if kind == "hard":
        return Case(references, None, 5_000, merge_order)
    size = sum(len(reference.split()) for reference in dict.fromkeys(references))
    levels = generator.choices(LEVELS, weights=[4, 4, 1, 1, 1, 1], k=size * size)
    similarity = np.array(levels, np.int32).reshape(size, size)
    return Case(references, similarity, generator.choice([3_000, 5_000, 6_000]), merge_order)


@cache
def cases(kind: str, merge_order: MergeOrder) -> list[tuple[Case, Expected]]:
    generator = random.Random(f"{kind} {merge_order}")
    drawn = [random_case(generator, kind, merge_order) for _ in range(EXAMPLES)]
    return [(case, Expected.of(case)) for case in drawn]


Compared = list[tuple[Case, Lattice, Expected]]


@pytest.fixture(params=["tree", "paper"])
def merge_order(request: pytest.FixtureRequest) -> MergeOrder:
    return request.param


@pytest.fixture(params=["hard", "soft"])
def compared(
    request: pytest.FixtureRequest,
    merge_order: MergeOrder,
    engine: Engine,
    lattice_of: Callable[..., Lattice],
) -> Compared:
    """Each case, polyref's lattice of it, and what the oracle says."""
    return [
        (case, lattice_of(engine, case.references, case.similarity, case.penalty, merge_order), expected)
        for case, expected in cases(request.param, merge_order)
    ]


@pytest.fixture
def listed(compared: Compared) -> Compared:
    """The cases that are small enough for the oracle to list."""
    small = [row for row in compared if row[2].sentences]
    assert len(small) > EXAMPLES // 2
    return small


def test_sizes_are_the_oracles(compared: Compared) -> None:
    for case, lattice, expected in compared:
        assert (lattice.count, lattice.states, len(lattice.arcs), lattice.pieces) == expected.sizes, case


def test_sentences_are_the_oracles(listed: Compared) -> None:
    for case, lattice, expected in listed:
        assert {sentence.words for sentence in lattice.sentences()} == expected.sentences, case


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1, 10, RANKED])
def test_best_scores_are_the_oracles(listed: Compared, size: int) -> None:
    for case, lattice, expected in listed:
        best = [sentence.bleu for sentence in lattice.best(size)]
        assert best == pytest.approx(expected.scores[:size], rel=1e-12), case


@pytest.mark.usefixtures("way")
def test_zeros_rank_by_lower_orders_as_the_oracle_has_it(listed: Compared) -> None:
    for case, lattice, expected in listed:
        best = lattice.best(30, SearchSettings(min_bleu=0))
        keys = [oracle.exact_key(sentence.words, case.words) for sentence in best]
        assert keys == expected.keys[:30], case


# -- with veto and position -------------------------------------------------------------------------------------------

# Words between bars exclude each other; a mark and a word of negation exclude all words but their like.
GROUPS = ["two 2 | three", "red | blue | grey gray", ". | ,"]
APART = ["not don't", ".", ","]
WORDS = [*"a" * 3, "cat", "on", "two", "2", "three", "red", "blue", "grey", "gray", "not", "don't", ".", ","]


def vetoed(word: str, other: str) -> bool:
    def part(text: str, parts: list[str]) -> int:
        return next((number for number, words in enumerate(parts, 1) if text in words.split()), 0)

    if part(word, APART) != part(other, APART) or {word, other} in ({"a", "two"}, {"a", "2"}, {"a", "three"}):
        return True
    members = [(part(word, group.split(" | ")), part(other, group.split(" | "))) for group in GROUPS]
    return any(one and two and one != two for one, two in members)


@pytest.mark.parametrize("position", [0.0, 0.05, 0.4])
def test_lattices_of_words_with_vectors_are_the_oracles(position: float, engine: Engine) -> None:
    generator = random.Random(f"vetoed {position}")
    vectors = WordVectors(sorted(set(WORDS)), np.random.default_rng(1).normal(0.8, 1.0, (len(set(WORDS)), 3)))
    settings = AlignSettings("soft", "cosine", 0.5, position=position)
    for _ in range(EXAMPLES):
        texts = [" ".join(generator.choices(WORDS, k=generator.randint(1, 7))) for _ in range(4)]
        words = list(dict.fromkeys(tuple(text.split()) for text in texts))
        numbers = {word: number for number, word in enumerate(vectors.words)}

        def similarity(i: int, j: int, words: list[tuple[str, ...]] = words, numbers: dict[str, int] = numbers) -> Any:
            both = vectors.encode([words[i], words[j]])
            square = soft_similarity(
                [numbers[word] for word in (*words[i], *words[j])],
                np.concatenate([encoding.vectors for encoding in both]),
                np.concatenate([encoding.known for encoding in both]),
                0.0,
                [0, len(words[i]), len(words[i]) + len(words[j])],
            )
            block = square[: len(words[i]), len(words[i]) :].tolist()
            return oracle.restrained(words[i], words[j], block, vetoed, round(position * oracle.ONE))

        expected = oracle.lattice(words, similarity)
        found = Lattice.from_references(
            texts, align=settings, text=TextSettings("whitespace"), encoder=vectors, engine=engine
        )
        sizes = (oracle.count(expected), expected.states, len(expected.arcs), expected.pieces)
        assert (found.count, found.states, len(found.arcs), found.pieces) == sizes, texts
