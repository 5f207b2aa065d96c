"""The pseudo-references that people judge, and how their texts are put together; the data sets are not needed."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.choosing import items as items_module
from benchmarks.choosing.items import (
    CASES,
    CAUSES,
    LABELS,
    READERS,
    SETS,
    SPACES,
    Item,
    Label,
    how_written,
    load_items,
    text_hash,
    written,
)
from benchmarks.choosing.sample import places, write_sheets
from polyref import Lattice
from polyref.errors import InputError

ENTRIES = [
    json.loads(line)
    for line in Path(items_module.__file__).with_name("items.jsonl").read_text(encoding="utf-8").splitlines()
]
KEYS = {"set", "id", "part", "method", "references", "references_hash", "words", "spaces", "cases", "hash", "bleu"}


def test_every_set_and_method_has_as_many_items_for_developing_as_for_testing():
    counts = Counter((entry["set"], entry["method"], entry["part"]) for entry in ENTRIES)
    assert counts == {(s, m, p): 20 for s in SETS for m in ("hard", "soft") for p in ("develop", "test")}
    assert len({(SETS[entry["set"]], entry["id"]) for entry in ENTRIES}) == 400


def test_the_items_hold_no_words():
    assert all(KEYS <= entry.keys() <= KEYS | set(READERS) for entry in ENTRIES)
    assert all(set(entry["spaces"]) <= set(SPACES) and set(entry["cases"]) <= set(CASES) for entry in ENTRIES)


def test_words_lie_within_the_references_given():
    for entry in ENTRIES:
        assert len(entry["words"]) == len(entry["spaces"]) == len(entry["cases"]) > 0
        assert all(0 <= reference < entry["references"] and position >= 0 for reference, position in entry["words"])
        assert 0 < entry["bleu"] <= 100
    assert {entry["references"] for entry in ENTRIES if entry["set"] == "e2e-two"} == {2}
    assert min(entry["references"] for entry in ENTRIES if entry["set"] == "e2e-many") >= 6


def test_labels_are_those_of_the_guidelines():
    guidelines = Path(items_module.__file__).with_name("guidelines.md").read_text(encoding="utf-8")
    assert all(f"**{label}**" in guidelines for label in LABELS)
    assert all(f"| `{cause}` |" in guidelines for cause in CAUSES)
    for given in [entry[reader] for entry in ENTRIES for reader in READERS if reader in entry]:
        assert given["label"] in LABELS
        assert set(given["causes"]) <= set(CAUSES)
        assert bool(given["causes"]) == (given["label"] != "good")


REFERENCES = ["The cat sat on £30.", "On a mat, the Cat sat."]


def test_a_text_is_written_again_from_its_places():
    words = [(1, 0), (1, 1), (1, 2), (1, 3), (0, 0), (0, 1), (0, 2)]
    spaces, cases = how_written(REFERENCES, words, "On a mat, the cat sat")
    assert (spaces, cases) == (".__.___", "====l==")
    assert written(REFERENCES, words, spaces, cases) == "On a mat, the cat sat"
    assert written(REFERENCES, [(0, 6)], ".", "=") == "."
    assert written(REFERENCES, [(0, 7)], ".", "=") is None
    with pytest.raises(ValueError, match="cannot tell how 'cat' is written"):
        how_written(REFERENCES, [(0, 1)], "dog")
    with pytest.raises(ValueError, match="the words end before the text"):
        how_written(REFERENCES, [(0, 0)], "the cat")


def test_every_sentence_of_a_lattice_is_written_again_from_its_places():
    references = ["A cat sat on the mat.", "A black cat sat there.", "A cat sat on the mat.", "There, a cat sat on it!"]
    lattice = Lattice.from_references(references)
    sentences = list(lattice.sentences())
    assert len(sentences) > 4
    for sentence in sentences:
        words = places(references, "hard", sentence.text)
        assert written(references, words, *how_written(references, words, sentence.text)) == sentence.text


def entry_of(text: str, words: list[tuple[int, int]], **more: object) -> dict:
    spaces, cases = how_written(REFERENCES, words, text)
    return {
        "set": "coco", "id": "7", "part": "test", "method": "hard", "references": 2,
        "references_hash": text_hash(REFERENCES), "words": words, "spaces": spaces, "cases": cases,
        "hash": text_hash([text]), "bleu": 50.0, **more,
    }  # fmt: skip


def load(folder: Path, monkeypatch: pytest.MonkeyPatch, entry: dict, references: list[str], id: str = "7") -> Item:
    (folder / "items.jsonl").write_text(json.dumps(entry) + "\n")
    monkeypatch.setattr(items_module, "__file__", str(folder / "items.py"))
    (folder / "coco-val2017").mkdir(exist_ok=True)
    record = {"id": id, "source": "", "references": references}
    (folder / "coco-val2017/all.jsonl").write_text(json.dumps(record) + "\n")
    [item] = load_items(folder)
    return item


def test_an_item_has_the_references_given_and_the_labels(tmp_path: Path, monkeypatch):
    labels = {"first": {"label": "bad", "causes": ["stump"]}, "second": {"label": "good", "causes": []}}
    entry = entry_of("The Cat", [(0, 0), (1, 5)], **labels)
    item = load(tmp_path, monkeypatch, entry, [*REFERENCES, "One more."])
    assert (item.sentence, item.references, item.bleu) == ("The Cat", tuple(REFERENCES), 50.0)
    assert item.labels == {"first": Label("bad", ("stump",)), "second": Label("good")}


def test_a_text_that_is_not_what_the_readers_saw_is_refused(tmp_path: Path, monkeypatch):
    entry = entry_of("The cat", [(0, 0), (0, 1)])
    with pytest.raises(InputError, match="are not those that were read"):
        load(tmp_path, monkeypatch, entry, [REFERENCES[0], "Another one."])
    with pytest.raises(InputError, match='there is no example "7"'):
        load(tmp_path, monkeypatch, entry, REFERENCES, id="8")
    for changed in ({"words": [[0, 0], [0, 2]]}, {"words": [[0, 0], [0, 99]]}, {"cases": "=C"}, {"spaces": ".."}):
        with pytest.raises(InputError, match="comes out otherwise than it was read"):
            load(tmp_path, monkeypatch, {**entry, **changed}, REFERENCES)


def test_sheets_tell_nothing_but_references_and_sentence(tmp_path: Path):
    items = [Item("coco", str(n), "test", "hard", ("a", "b"), f"sentence {n}", 50.0, ((0, 0),), {}) for n in range(16)]
    write_sheets(items, tmp_path, random.Random(3))
    rows = [
        json.loads(line)
        for sheet in range(1, 9)
        for line in (tmp_path / f"sheet-{sheet}.jsonl").read_text().splitlines()
    ]
    assert all(row.keys() == {"item", "references", "sentence"} for row in rows)
    assert [row["item"] for row in rows] == list(range(1, 17))
    key = [json.loads(line) for line in (tmp_path / "key.jsonl").read_text().splitlines()]
    index = {row["item"]: row["index"] for row in key}
    assert [items[index[row["item"]]].sentence for row in rows] == [row["sentence"] for row in rows]
    assert sorted(index.values()) == list(range(16)) != list(index.values())
