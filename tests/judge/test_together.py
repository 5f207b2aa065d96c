"""Choosing from many examples in one call gives what choosing from one after the other gives, to the letter."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from made_up import ANIMALS
from samples import CAT, Families, captions

from polyref.align import AlignSettings
from polyref.encode import WordVectors
from polyref.example import Example, Reference
from polyref.expansion import ExpandSettings, expand, usage_of
from polyref.judge import JudgeSettings, Together, together
from polyref.lattice import CompiledEngine, SearchSettings, tokenized
from polyref.stats import Tally
from polyref.text import TextSettings

FAMILY = Families([(0.72, "old aged"), (0.8, "dog hound cat"), (0.6, "near by")]).encoder()
SOFT = AlignSettings("soft", "cosine", 0.5)
ODD = [
    ["a cat", "A cat", "a cat", "the dog sits here ."],  # doubles that differ by case
    ["A dog runs. It is old .", "A dog runs", "the old dog runs home. It is old"],  # a sentence ends inside
    ['He said "yes" to the dog', 'the dog (a hound) said "no"', "the dog said yes to all"],  # brackets and quotes
    ["Ein Hund läuft über die Straße", "Der Hund läuft über eine Straße", "ein alter Hund läuft"],
    ["the cat's hat isn't red , it is blue", "The cat's hat is blue; it isn't red!", "A cat, a hat, and a dog ?"],
    # A double begins in another case than all others.
    [
        f"{one} like the {two}"
        for one, two in [
            ("IPhone users", "red cat"),
            ("Iphone owners", "cat"),
            ("Iphone men", "dog"),
            ("iphone users", "red cat"),
        ]
    ],
    ["one", "two"],
    ["no dog is near the cat"],
    ["THE OLD DOG SLEEPS", "the old dog sleeps here", "an aged hound sleeps"],
    ["3 men , 2 dogs", "three men and two dogs", "2 men and 3 dogs near a cat"],
]
WORDS = [
    *ANIMALS,
    "a",
    "the",
    "old",
    "aged",
    "hound",
    "sits",
    "runs",
    "on",
    "near",
    "and",
    "not",
    "'s",
    ",",
    ".",
    "two",
]


def examples() -> list[Example]:
    draw = random.Random(4)
    made = [[" ".join(draw.choices(WORDS, k=draw.randint(2, 9))) for _ in range(draw.randint(1, 7))] for _ in range(60)]
    texts = [*ODD, CAT, *made, *captions(40)]
    return [Example(str(n), None, tuple(map(Reference, one)), line=n) for n, one in enumerate(texts, 1)]


def results(settings: ExpandSettings) -> tuple[list[Example], dict[str, object]]:
    tally = Tally()
    found = list(
        expand(examples(), settings=settings, encoder=encoder_of(settings), engine=CompiledEngine(), tally=tally)
    )
    summary = tally.summary()
    summary.pop("seconds")
    return found, summary


def encoder_of(settings: ExpandSettings) -> WordVectors | None:
    return FAMILY if settings.align.align == "soft" else None


@pytest.fixture
def alone(monkeypatch):
    """Nothing is chosen from together."""

    def forbid() -> None:
        monkeypatch.setattr(Together, "can_take", lambda self, examples, wanted: False)

    return forbid


@pytest.mark.parametrize("judge", ["content", "bleu"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"per_example": 6},
        {"per_example": 300},
        {"align": SOFT},
        {"align": replace(SOFT, penalty="adaptive", at_least=30)},
        {"align": replace(SOFT, veto=(), position=0.0)},
        {"align": AlignSettings(merge_order="paper")},
        {"text": TextSettings("whitespace")},
        {"text": TextSettings("characters")},
        {"text": TextSettings(fold_case=False)},
        {"search": SearchSettings(seed=7)},
        {"search": SearchSettings(node_budget=20, tie_limit=300), "per_example": 300},
        {"shortfall": "repeat"},
    ],
    ids=str,
)
def test_the_same_examples_and_the_same_counts(changes, judge, alone):
    settings = ExpandSettings(judging=JudgeSettings(judge), **changes)
    one_call = results(settings)
    alone()
    assert one_call == results(settings)


@pytest.mark.parametrize(
    "name", ["LIST_LIMIT", "MAX_BOUNDS", "_MOST_NODES", "_MOST_OF_ONE", "_MOST_WORDS", "_MOST_WRITTEN"]
)
def test_the_same_where_a_limit_is_met(name, monkeypatch, alone):
    settings = ExpandSettings(per_example=300)
    monkeypatch.setattr(together, name, 5)
    one_call, _ = results(settings)  # how many are left out depends on how they are looked through
    monkeypatch.undo()
    alone()
    assert one_call == results(settings)[0]


def test_most_examples_need_no_second_way():
    settings = ExpandSettings(align=SOFT)
    given = examples()
    tokens = [tokenized([reference.text for reference in one.references], settings.text) for one in given]
    chooses = Together(CompiledEngine(), settings.align, settings.text, settings.search, usage_of(given, settings.text))
    encodings = FAMILY.encode([reference.words for one in tokens for reference in one])
    found = chooses.choose(tokens, encodings, 0.0, [15] * len(tokens))
    assert found.count(None) < 5
    assert all(one is None or one.new >= len(one.chosen.pseudo_references) for one in found)


@pytest.mark.parametrize(
    "search", [SearchSettings(min_bleu=20), SearchSettings(unseen_marks=True), SearchSettings(example_seconds=5)]
)
def test_what_the_kernel_does_not_know_is_not_given_to_it(search):
    settings = ExpandSettings()
    chooses = Together(CompiledEngine(), settings.align, settings.text, settings.search, None)
    tokens = [tokenized(CAT, settings.text)]
    assert chooses.can_take(tokens, [5])
    assert not replace(chooses, search=search).can_take(tokens, [5])
    assert not chooses.can_take(tokens, [0])


def test_threads_may_share_what_is_known_of_words():
    draw, words = random.Random(6), [f"w{number}" for number in range(8000)]

    def texts(base: list[str]) -> list[str]:
        return [" ".join([*base[:k], draw.choice(words), *base[k + 1 :]]) for k in (1, 3, 5)]

    given = [[texts(draw.sample(words, 7)) for _ in range(400)] for _ in range(3)]
    usage, engine = usage_of(examples(), TextSettings()), CompiledEngine()

    def expanded(references: list[list[str]]) -> list[Example]:
        return list(expand(references, usage=usage, engine=engine))

    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(expanded, given))
    assert found == list(map(expanded, given))


def test_a_baseline_may_be_a_whole_number():
    class Whole:
        baseline, name, encode = 0, FAMILY.name, FAMILY.encode

    settings = ExpandSettings(align=AlignSettings("soft"))
    given = {"settings": settings, "encoder": Whole(), "engine": CompiledEngine()}
    assert len(next(expand([CAT], **given)).pseudo_references) == 20 - len(CAT)
