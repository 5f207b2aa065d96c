"""The four schedules against a few lines of plain Python, written from the paper's Section 2 and not from the code.

Chance is left out: they say which pairs an epoch holds, which orders it may have, and what may be drawn.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from polyref.feed import Stream, stream

Pair = tuple[str, str]


def first(records: list[dict]) -> list[Pair]:
    """Each example with its first reference."""
    return [(record["source"], texts(record)[0]) for record in records]


def uniform(records: list[dict]) -> list[Pair]:
    """Every pair, example after example."""
    return [(record["source"], text) for record in records for text in texts(record)]


def is_sample_one(found: list[Pair], records: list[dict]) -> bool:
    """Each example once, with one of its references."""
    choices = {record["source"]: texts(record) for record in records}
    sources = [source for source, _ in found]
    return sorted(sources) == sorted(choices) and all(text in choices[source] for source, text in found)


def is_shuffle(found: list[Pair], records: list[dict]) -> bool:
    """Uniform's pairs in some order."""
    return Counter(found) == Counter(uniform(records))


def is_uniform_with_examples_shuffled(found: list[Pair], records: list[dict]) -> bool:
    """The pairs of one example after the other, the examples in some order."""
    by_source = {record["source"]: [(record["source"], text) for text in texts(record)] for record in records}
    rest = list(found)
    while rest:
        own = by_source.pop(rest[0][0], None)
        if own is None or rest[: len(own)] != own:
            return False
        del rest[: len(own)]
    return not by_source


def texts(record: dict) -> list[str]:
    return [*record["references"], *[pseudo["text"] for pseudo in record.get("pseudo_references", [])]]


def limited(records: list[dict], limit: int) -> list[dict]:
    """All gold references, then pseudo-references by rank, up to a number."""
    found = []
    for record in records:
        room = max(0, limit - len(record["references"]))
        found.append({**record, "pseudo_references": record["pseudo_references"][:room]})
    return found


def made_up(examples: int, seed: int) -> list[dict]:
    """Sources all differ; references may be equal, in one example and in two."""
    chance = random.Random(seed)
    return [
        {
            "source": f"source {number}",
            "references": [f"gold {chance.randrange(9)}" for _ in range(chance.randint(1, 4))],
            "pseudo_references": [
                {"text": f"pseudo {chance.randrange(99)}", "bleu": 50.0} for _ in range(chance.randint(0, 6))
            ],
        }
        for number in range(examples)
    ]


@pytest.fixture(params=[1, 2, 7, 300])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[dict]]:
    records = made_up(request.param, seed=request.param)
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path, records


def pairs(stream: Stream, epoch: int) -> list[Pair]:
    return [(pair.source, pair.reference) for pair in stream.epoch(epoch)]


@pytest.mark.parametrize("limit", [None, 1, 3, 5, 100])
def test_the_four_schedules_are_what_they_are_said_to_be(data, limit):
    path, records = data
    records = records if limit is None else limited(records, limit)
    for epoch in range(3):
        assert pairs(stream(path, "first", limit=limit), epoch) == first(records)
        assert pairs(stream(path, "uniform", limit=limit), epoch) == uniform(records)
        assert is_sample_one(pairs(stream(path, "sample_one", limit=limit, seed=epoch), 7), records)
        assert is_shuffle(pairs(stream(path, "shuffle", limit=limit, seed=epoch), 7), records)
        shuffled = pairs(stream(path, "uniform", order="shuffled", limit=limit), epoch)
        assert is_uniform_with_examples_shuffled(shuffled, records)
        assert sorted(pairs(stream(path, "first", order="shuffled"), epoch)) == sorted(first(records))


def test_gold_alone_is_a_file_without_pseudo_references(data):
    path, records = data
    gold = [{**record, "pseudo_references": []} for record in records]
    assert pairs(stream(path, "uniform", gold_only=True), 0) == uniform(gold)
    assert is_shuffle(pairs(stream(path, "shuffle", gold_only=True), 0), gold)
    assert is_sample_one(pairs(stream(path, "sample_one", gold_only=True), 0), gold)


def test_the_judges_can_say_no():
    records = made_up(7, seed=3)
    whole = uniform(records)
    assert is_shuffle(whole[::-1], records)
    assert not is_shuffle(whole[:-1], records)
    assert not is_shuffle([*whole[:-1], whole[0]], records)
    assert not is_uniform_with_examples_shuffled(whole[1:] + whole[:1], records)
    assert not is_uniform_with_examples_shuffled(whole[:-1], records)
    assert not is_sample_one(whole, records)
    assert is_sample_one(first(records), records)
