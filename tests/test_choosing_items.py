"""The pseudo-references that people judge, and how their texts are put together; the data sets are not needed."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.choosing import items as items_module
from benchmarks.choosing import sample as sample_module
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
from benchmarks.choosing.sample import FIVE, METHODS, draw, main, merge_labels, places, write_lines, write_sheets
from polyref import Lattice
from polyref.errors import InputError

ENTRIES = [
    json.loads(line)
    for line in Path(items_module.__file__).with_name("items.jsonl").read_text(encoding="utf-8").splitlines()
]
KEYS = {"set", "id", "part", "method", "references", "references_hash", "words", "spaces", "cases", "hash", "bleu"}


def test_every_part_has_as_many_items_of_each_set_and_method():
    counts = Counter((entry["part"], entry["set"], entry["method"]) for entry in ENTRIES)
    for part in ("develop", "test", "fresh"):
        assert {key[1:]: n for key, n in counts.items() if key[0] == part} == {
            (s, m): 20 for s in FIVE for m in METHODS
        }
    assert all(counts["default", "multi30k-test", m] == 2 * counts["bleu", "multi30k-test", m] == 50 for m in METHODS)


def test_no_example_comes_twice():
    assert len({(SETS[entry["set"]], entry["id"]) for entry in ENTRIES}) == len(ENTRIES)


def test_the_items_hold_no_words():
    assert all(KEYS <= entry.keys() <= KEYS | set(READERS) for entry in ENTRIES)
    assert all(
        entry[reader].keys() == {"label", "causes"} for entry in ENTRIES for reader in READERS if reader in entry
    )
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
    for entry in ENTRIES:
        if "settled" in entry:
            assert entry["settled"]["label"] == max(entry["first"]["label"], entry["second"]["label"], key=LABELS.index)
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


# -- drawing, sheets, labels ------------------------------------------------------------------------------------------


def data_set(folder: Path) -> None:
    """Thirty examples in the place of COCO."""
    colours, animals = ("red", "blue", "green", "white", "black"), ("cat", "dog", "cow", "pig", "hen", "fox")
    records = [
        {"id": f"{colour}-{animal}", "source": "", "references": [
            f"A {colour} {animal} sat on the mat.", f"There, a {animal} sat on the {colour} mat!",
        ]}
        for colour in colours for animal in animals
    ]  # fmt: skip
    (folder / "coco-val2017").mkdir()
    write_lines(folder / SETS["coco"], records)


@pytest.mark.parametrize("judge", ["bleu", "content"])
def test_a_new_part_has_no_example_that_was_read(tmp_path: Path, judge):
    data_set(tmp_path)
    first = draw(tmp_path, "one", 1, 3, [], ["coco"], judge)
    assert [(entry["part"], entry["method"]) for entry in first] == [("one", m) for m in METHODS for _ in range(3)]
    assert draw(tmp_path, "one", 1, 3, [], ["coco"], judge) == first
    second = draw(tmp_path, "two", 1, 3, first, ["coco"], judge)
    assert len({entry["id"] for entry in (*first, *second)}) == 12
    with pytest.raises(ValueError, match="larger than population"):
        draw(tmp_path, "three", 1, 6, [*first, *second], ["coco"], judge)


def test_labels_of_two_readers_are_merged_and_the_worse_one_stands(tmp_path: Path, monkeypatch):
    (tmp_path / "items.jsonl").touch()
    for module in (items_module, sample_module):
        monkeypatch.setattr(module, "__file__", str(tmp_path / "items.py"))
    monkeypatch.setattr(sample_module, "HERE", tmp_path)
    (tmp_path / "guidelines.md").write_text("Read alone.")
    data_set(tmp_path)
    sheets = tmp_path / "sheets"
    arguments = ["--data", str(tmp_path), "--part", "new"]
    main([*arguments, "--seed", "1", "--per-method", "2", "--set", "coco", "--sheets", str(sheets)])
    with pytest.raises(SystemExit):
        main([*arguments, "--seed", "2"])
    rows = [json.loads(line) for line in (sheets / "sheet-1.jsonl").read_text().splitlines()]
    for reader, worse in (("first", 1), ("second", 2)):
        (sheets / reader).mkdir()
        labels = [{"item": n, "label": "good", "causes": []} for n in (1, 2, 3, 4) if n != worse]
        labels.append({"item": worse, "label": "bad", "causes": ["lost"], "note": "not stored"})
        write_lines(sheets / reader / "labels-1.jsonl", labels)
    main([*arguments, "--labels", str(sheets)])
    items = {item.sentence: item for item in load_items(tmp_path, ["new"])}
    settled = [items[row["sentence"]].labels["settled"] for row in rows]
    assert settled == [Label("bad", ("lost",)), Label("bad", ("lost",)), Label("good"), Label("good")]
    assert items[rows[0]["sentence"]].labels["second"] == Label("good")
    assert "note" not in (tmp_path / "items.jsonl").read_text()


@pytest.mark.parametrize(
    "rows, problem",
    [
        ([{"item": 1, "label": "good", "causes": []}], "item 2 has no label"),
        ([{"item": 1, "label": "good", "causes": []}] * 2, "item 1 comes twice"),
        ([{"item": 1, "label": "good", "causes": ["lost"]}], "that the guidelines do not have"),
        ([{"item": 1, "label": "fine", "causes": []}], "that the guidelines do not have"),
        ([{"item": 1, "label": "bad", "causes": ["ugly"]}], "that the guidelines do not have"),
    ],
)
def test_labels_that_are_missing_or_wrong_are_refused(tmp_path: Path, rows, problem):
    folder = tmp_path / "sheets"
    write_lines(tmp_path / "sheets-key.jsonl", [{"item": n, "set": "coco", "id": str(n)} for n in (1, 2)])
    for reader in ("first", "second"):
        (folder / reader).mkdir(parents=True)
        write_lines(folder / reader / "labels.jsonl", rows)
    with pytest.raises(InputError, match=problem):
        merge_labels([{"set": "coco", "id": str(n)} for n in (1, 2)], folder)


def test_sheets_tell_nothing_but_references_and_sentence(tmp_path: Path):
    items = [Item("coco", str(n), "test", "hard", ("a", "b"), f"sentence {n}", 50.0, ((0, 0),), {}) for n in range(70)]
    write_sheets(items, tmp_path / "sheets", random.Random(3))
    assert sorted(path.name for path in (tmp_path / "sheets").iterdir()) == [
        "guidelines.md", "sheet-1.jsonl", "sheet-2.jsonl",
    ]  # fmt: skip
    rows = [
        json.loads(line)
        for sheet in (1, 2)
        for line in (tmp_path / f"sheets/sheet-{sheet}.jsonl").read_text().splitlines()
    ]
    assert all(row.keys() == {"item", "references", "sentence"} for row in rows)
    assert [row["item"] for row in rows] == list(range(1, 71))
    key = [json.loads(line) for line in (tmp_path / "sheets-key.jsonl").read_text().splitlines()]
    assert [f"sentence {row['id']}" for row in key] == [row["sentence"] for row in rows]
    assert [int(row["id"]) for row in key] != list(range(70))
