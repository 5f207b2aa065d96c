"""The hand-aligned pairs and how alignments are scored against them; the data sets themselves are not needed."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.alignment import pairs as pairs_module
from benchmarks.alignment.evaluate import align, longest_in_order
from benchmarks.alignment.pairs import load_pairs, words_hash
from benchmarks.alignment.scores import count, interval, scores
from polyref.align import AlignSettings
from polyref.errors import InputError

ENTRIES = [
    json.loads(line)
    for line in Path(pairs_module.__file__).with_name("pairs.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_a_hundred_pairs_are_for_testing_and_sixty_for_choosing():
    assert Counter(entry["part"] for entry in ENTRIES) == {"test": 100, "tune": 60}
    assert Counter(entry["set"] for entry in ENTRIES if entry["part"] == "test") == {
        "coco-slice1000": 40,
        "e2e-dev": 30,
        "asset-test": 30,
    }
    assert len({(entry["set"], entry["id"]) for entry in ENTRIES}) == 160


def test_the_pairs_hold_no_words():
    assert all(
        entry.keys() == {"set", "id", "references", "part", "sizes", "hash", "first", "second", "links"}
        for entry in ENTRIES
    )


@pytest.mark.parametrize("reader", ["first", "second", "links"])
def test_links_are_one_to_one_and_lie_within_the_sentences(reader):
    for entry in ENTRIES:
        links = entry[reader]
        for side in (0, 1):
            ends = [link[side] for link in links]
            assert len(set(ends)) == len(ends)
            assert all(0 <= end < entry["sizes"][side] for end in ends)


def test_what_was_settled_is_what_a_reader_found():
    for entry in ENTRIES:
        first, second, links = ({tuple(link) for link in entry[key]} for key in ("first", "second", "links"))
        assert first & second <= links <= first | second


def test_precision_recall_and_f1_are_over_all_links_together():
    found = [frozenset({(0, 0), (1, 1)}), frozenset({(0, 0)})]
    given = [frozenset({(0, 0), (2, 2), (3, 3)}), frozenset({(0, 0)})]
    result = scores(count(found, given))
    assert (result.precision, result.recall) == (2 / 3, 2 / 4)
    assert result.f1 == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


def test_an_interval_holds_the_score_and_narrows_with_more_pairs():
    rng = np.random.default_rng(1)
    few = np.stack([rng.integers(3, 9, 20), np.full(20, 10), np.full(20, 10)], axis=1)
    many = np.tile(few, (20, 1))
    low, high = interval(few)
    assert low < scores(few).f1 < high
    assert interval(many)[1] - interval(many)[0] < (high - low) / 3
    assert interval(few, few) == (0.0, 0.0)


def test_links_that_cross_cannot_all_be_had():
    assert longest_in_order(frozenset({(0, 2), (1, 0), (2, 1), (3, 3)})) == 3
    assert longest_in_order(frozenset()) == 0


def test_hard_alignment_links_equal_words_in_order():
    links = align(["a", "cat", "sat"], ["the", "cat", "sat", "down"], AlignSettings())
    assert links == {(1, 1), (2, 2)}


def write_data(folder: Path, entries: list[dict], texts: list[list[str]]) -> None:
    (folder / "coco-val2017").mkdir()
    for name in ("e2e", "asset"):
        (folder / name).mkdir()
    for path in ("e2e/dev.jsonl", "asset/test.jsonl"):
        (folder / path).write_text('{"id": "x", "source": "", "references": ["y"]}\n')
    lines = [
        json.dumps({"id": entry["id"], "source": "", "references": references})
        for entry, references in zip(entries, texts, strict=True)
    ]
    (folder / "coco-val2017/slice1000.jsonl").write_text("\n".join(lines) + "\n")


def test_sentences_that_are_not_those_that_were_aligned_are_refused(tmp_path: Path, monkeypatch):
    entry = {
        "set": "coco-slice1000", "id": "7", "references": [0, 1], "part": "test", "sizes": [2, 2],
        "hash": words_hash(["a", "cat"], ["the", "cat"]), "first": [[1, 1]], "second": [[1, 1]], "links": [[1, 1]],
    }  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text(json.dumps(entry) + "\n")
    monkeypatch.setattr(pairs_module, "__file__", str(tmp_path / "pairs.py"))
    write_data(tmp_path, [entry], [["A cat", "the cat"]])
    [pair] = load_pairs(tmp_path)
    assert (pair.left, pair.right, pair.links) == (("a", "cat"), ("the", "cat"), {(1, 1)})
    (tmp_path / "coco-val2017/slice1000.jsonl").write_text(
        '{"id": "7", "source": "", "references": ["a dog", "the cat"]}\n'
    )
    with pytest.raises(InputError, match="are not those that were aligned"):
        load_pairs(tmp_path)
    (tmp_path / "coco-val2017/slice1000.jsonl").write_text(
        '{"id": "8", "source": "", "references": ["a cat", "the cat"]}\n'
    )
    with pytest.raises(InputError, match='there is no example "7"'):
        load_pairs(tmp_path)
