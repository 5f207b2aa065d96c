"""What several tests work on: captions by the hundred, and small tables of words that are alike."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from polyref.encode import WordVectors

CAT = [
    "a gray tabby cat is curled in a red bowl that sits on a table near a window",
    "a brown and black cat is sleeping in a bowl on a table",
    "a grey tiger cat sleeping in a brown bowl on a table",
    "an image of a cat sitting inside of a bowl on the kitchen table",
    "a cat asleep in a fruit bowl on a dining room table",
]
FAMILIES = [
    (0.97, "a an the"),
    (0.86, "man person"),
    (0.8, "cat dog"),
    (0.72, "old young small tall"),
    (0.6, "sits stands sleeps waits"),
    (0.5, "in on at of near"),
    (0.4, "park garden street"),
]


class Families:
    """Words whose cosine is the family's number within a family, and 0 between families."""

    def __init__(self, families: Sequence[tuple[float, str]] = FAMILIES):
        self.words = [word for _, words in families for word in words.split()]
        shared = [(number, cosine) for number, (cosine, words) in enumerate(families) for _ in words.split()]
        self.vectors = np.zeros((len(self.words), len(families) + len(self.words)))
        for row, (family, cosine) in enumerate(shared):
            self.vectors[row, family] = np.sqrt(cosine)
            self.vectors[row, len(families) + row] = np.sqrt(1 - cosine)

    def encoder(self) -> WordVectors:
        return WordVectors(self.words, self.vectors)

    def save(self, path: Path) -> str:
        """Write the table as npz; what it gives is the name of its encoder."""
        np.savez(path, words=np.array(self.words), vectors=self.vectors)
        return f"vectors:{path}"


def captions(count: int, *, seed: int = 0) -> Iterator[list[str]]:
    """Lists of three captions that share some words."""
    choose = random.Random(seed).choice
    _, _, nouns, adjectives, verbs, prepositions, places = (words.split() for _, words in FAMILIES)
    for _ in range(count):
        noun, place = choose([*nouns, "man"]), choose(places)
        yield [
            f"{choose(['a', 'the'])} {choose(adjectives)} {noun} {choose(verbs)} {choose(prepositions)} the {place}"
            for _ in range(3)
        ]


def caption_lines(count: int, *, seed: int = 0) -> str:
    """A file of captions; its ids are example 0, example 1 and so on."""
    records = [
        {"id": f"example {number}", "source": number, "references": references}
        for number, references in enumerate(captions(count, seed=seed))
    ]
    return "".join(json.dumps(record) + "\n" for record in records)
