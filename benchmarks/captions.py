"""Make up captions: one scene, said several times in different words.

In:   a seed, and how many.
Out:  examples with several references; and vectors in which words that stand for each other are alike.
Not:  real captions (data.py reads those).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from polyref import Example, Reference, WordVectors

Family = tuple[str, ...]  # words that stand for each other
Scene = Mapping[str, Family]

WHO: tuple[Family, ...] = (
    ("man", "guy", "person", "gentleman"),
    ("woman", "lady", "person"),
    ("boy", "child", "kid", "toddler"),
    ("girl", "child", "kid"),
    ("dog", "puppy", "animal"),
    ("cat", "kitten", "animal", "kitty"),
    ("player", "athlete", "man"),
    ("couple", "pair of people", "man and woman"),
)
LOOK: tuple[Family, ...] = (
    ("small", "little", "tiny"),
    ("large", "big", "huge"),
    ("red", "bright red", "orange"),
    ("white", "pale", "light"),
    ("old", "vintage", "antique"),
    ("wooden", "brown", "brown wooden"),
)
DOING_WHAT: tuple[tuple[Family, Family], ...] = (
    (("riding", "sitting on", "on top of"), ("bike", "bicycle", "motorcycle")),
    (("holding", "carrying", "with"), ("umbrella", "parasol", "bag")),
    (("eating", "enjoying", "biting into"), ("sandwich", "burger", "slice of pizza")),
    (("looking at", "staring at", "watching"), ("television", "laptop computer", "screen")),
    (("playing with", "chasing", "catching"), ("ball", "frisbee", "toy")),
    (("standing next to", "standing by", "posing with"), ("horse", "cow", "pony")),
    (("lying on", "sleeping on", "resting on"), ("couch", "sofa", "bed")),
    (("throwing", "hitting", "swinging at"), ("baseball", "tennis ball", "ball")),
)
WHERE: tuple[Family, ...] = (
    ("on the street", "on a city street", "down the road", "along a busy street"),
    ("in a kitchen", "inside of a kitchen", "in a small room"),
    ("in the park", "in a park", "outside in the grass", "on the grass"),
    ("on the beach", "at the beach", "in the sand by the water"),
    ("in a field", "in a grassy field", "on a green field"),
    ("in a living room", "in the living room", "inside a house"),
)
NEAR: tuple[Family, ...] = (
    ("near a tree", "next to a tree", "beside some trees"),
    ("near a window", "next to a window", "in front of a window"),
    ("with a building in the background", "near a brick building", "in front of a building"),
    ("on a sunny day", "on a clear day", "in the sun"),
    ("while people watch", "as people look on", "with people watching"),
)
TEMPLATES = (
    "A {look} {who} {doing} a {what} {where}.",
    "A {who} is {doing} a {what} {where}",
    "A {who} {doing} a {look} {what} {where} {near}.",
    "A {who} {doing} a {what} {near}.",
    "There is a {who} {doing} a {what} {where}.",
    "The {who} is {doing} the {look} {what} {near}",
    "A picture of a {look} {who} {doing} a {what}.",
    "A {who} {where} is {doing} a {look} {what}.",
)
CONNECTIVES = ("and", "while", ", and")
DIMENSIONS = 100


def caption_examples(count: int, *, seed: int, references: int = 5) -> list[Example]:
    """Examples of one scene each."""
    generator = random.Random(seed)
    return [_example(f"caption-{n}", [_scene(generator)], references, generator) for n in range(count)]


def long_examples(count: int, *, seed: int) -> list[Example]:
    """Examples of one to four scenes in a sentence and three to ten references: small lattices to huge ones."""
    generator = random.Random(seed)
    examples = []
    for n in range(count):
        scenes = [_scene(generator) for _ in range(generator.randint(1, 4))]
        examples.append(_example(f"long-{n}", scenes, generator.randint(3, 10), generator))
    return examples


def _scene(generator: random.Random) -> Scene:
    doing, what = generator.choice(DOING_WHAT)
    others = {"who": WHO, "look": LOOK, "where": WHERE, "near": NEAR}
    chosen = {slot: generator.choice(families) for slot, families in others.items()}
    return {"doing": doing, "what": what, **chosen}


def _example(id: str, scenes: Iterable[Scene], references: int, generator: random.Random) -> Example:
    texts = [_say(scenes, generator) for _ in range(references)]
    return Example(id, id, tuple(Reference(text) for text in texts))


def _say(scenes: Iterable[Scene], generator: random.Random) -> str:
    clauses = []
    for scene in scenes:
        words = {slot: generator.choice(family) for slot, family in scene.items()}
        clauses.append(generator.choice(TEMPLATES).format_map(words).removesuffix("."))
    text = clauses[0]
    for clause in clauses[1:]:
        text += f" {generator.choice(CONNECTIVES)} {clause[0].lower()}{clause[1:]}"
    return text.replace(" ,", ",") + generator.choice((".", ""))


def word_vectors(seed: int) -> WordVectors:
    """A vector for every word of the templates: words of one family point the same way, more or less."""
    generator = np.random.default_rng(seed)
    shared = generator.normal(size=DIMENSIONS)  # what all words have in common, as in GloVe
    vectors: dict[str, np.ndarray] = {}
    for family in _families():
        direction = generator.normal(size=DIMENSIONS)
        for word in family:
            noise = generator.normal(size=DIMENSIONS)
            vectors.setdefault(word, shared + 1.2 * direction + 0.5 * noise)
    return WordVectors(list(vectors), np.array(list(vectors.values())), name="made up")


def _families() -> Iterator[list[str]]:
    """Words that share a direction: the last ones of each family. Every other word is a family of its own."""
    families = [*WHO, *LOOK, *WHERE, *NEAR, *(family for pair in DOING_WHAT for family in pair)]
    others: dict[str, None] = {}
    for family in families:
        phrases = [phrase.split() for phrase in family]
        yield list(dict.fromkeys(phrase[-1] for phrase in phrases))
        others.update(dict.fromkeys(word for phrase in phrases for word in phrase[:-1]))
    for text in (*TEMPLATES, *CONNECTIVES, ".", ","):
        others.update(dict.fromkeys(word.lower() for word in text.split() if word.isalpha() or len(word) == 1))
    yield from ([word] for word in others)
