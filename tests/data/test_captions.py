"""COCO and Karpathy JSON as they are, and what is kept of them."""

import json
from pathlib import Path
from typing import Any

from polyref.data import Fields, Losses, WriteSettings, read, write
from polyref.example import Example, Reference

COCO = {
    "info": {"year": 2017},
    "licenses": [{"id": 1, "name": "CC"}],
    "images": [
        {"license": 1, "file_name": "000139.jpg", "id": 139, "height": 426},
        {"license": 1, "file_name": "000285.jpg", "id": 285, "height": 640},
        {"license": 1, "file_name": "000632.jpg", "id": 632, "height": 483},
    ],
    "annotations": [
        {"image_id": 285, "id": 38, "caption": "a bear"},
        {"image_id": 139, "id": 37, "caption": "a woman"},
        {"image_id": 285, "id": 12, "caption": "the bear"},
    ],
}
KARPATHY = {
    "images": [
        {
            "filepath": "val2014",
            "sentids": [770337, 771687],
            "filename": "COCO_val2014_000000391895.jpg",
            "imgid": 0,
            "split": "test",
            "sentences": [
                {"tokens": ["a", "man"], "raw": "A man.", "imgid": 0, "sentid": 770337},
                {"tokens": ["a", "rider"], "raw": "A rider", "imgid": 0, "sentid": 771687},
            ],
            "cocoid": 391895,
        }
    ],
    "dataset": "coco",
}


def document(folder: Path, content: Any, name: str = "in.json") -> Path:
    (folder / name).write_text(json.dumps(content))
    return folder / name


def test_images_become_examples_in_their_order_with_their_captions(tmp_path: Path):
    losses = Losses()
    examples = list(read(document(tmp_path, COCO), losses=losses))
    assert examples == [
        Example("139", 139, (Reference("a woman"),)),
        Example("285", 285, (Reference("a bear"), Reference("the bear"))),
    ]
    assert losses.counts == {
        'top-level keys ("info")': 1,
        'top-level keys ("licenses")': 1,
        "images without a caption": 1,
    }
    assert json.loads(str(examples[1].record)) == {
        "id": 285,
        "source": 285,
        "references": ["a bear", "the bear"],
        "license": 1,
        "file_name": "000285.jpg",
        "height": 640,
        "annotation_ids": [38, 12],
    }


def test_a_field_can_be_named_after_a_key_of_the_image(tmp_path: Path):
    [first, _] = read(document(tmp_path, COCO), Fields(source="file_name"))
    assert (first.id, first.source) == ("139", "000139.jpg")


def test_coco_goes_through_json_lines_and_back_with_its_ids(tmp_path: Path):
    write(read(document(tmp_path, COCO)), tmp_path / "lines.jsonl")
    write(read(tmp_path / "lines.jsonl"), tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["images"] == COCO["images"][:2]
    by_id = {annotation["id"]: annotation for annotation in COCO["annotations"]}
    assert {annotation["id"]: annotation for annotation in found["annotations"]} == by_id


def test_ids_of_captions_that_only_count_are_not_kept_but_made_anew(tmp_path: Path):
    example = Example("7", "s", (Reference("a"), Reference("b")))
    write([example], tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == {
        "info": {},
        "licenses": [],
        "type": "captions",
        "images": [{"id": 7, "source": "s"}],
        "annotations": [
            {"id": 1, "image_id": 7, "caption": "a"},
            {"id": 2, "image_id": 7, "caption": "b"},
        ],
    }
    [again] = read(tmp_path / "out.json")
    assert again == example
    assert again.record == '{"id": 7, "source": "s", "references": ["a", "b"]}'


def test_karpathy_json_is_read_by_its_raw_sentences(tmp_path: Path):
    losses = Losses()
    [example] = read(document(tmp_path, KARPATHY), losses=losses)
    assert example == Example("391895", 391895, (Reference("A man."), Reference("A rider")))
    assert losses.counts == {"lists of tokens (made anew on writing)": 2}


def test_karpathy_json_goes_through_json_lines_and_back(tmp_path: Path):
    write(read(document(tmp_path, KARPATHY)), tmp_path / "lines.jsonl")
    write(read(tmp_path / "lines.jsonl"), tmp_path / "out.json", settings=WriteSettings("karpathy"))
    assert json.loads((tmp_path / "out.json").read_text()) == {**KARPATHY, "dataset": "polyref"}


def test_what_is_said_about_a_caption_stays_with_it(tmp_path: Path):
    annotation = {"id": 1, "image_id": 1, "caption": "a", "weight": 2.0, "by": {"name": "Ann"}}
    path = document(tmp_path, {"images": [{"id": 1}], "annotations": [annotation]})
    [example] = read(path)
    assert example.references == (Reference("a", 2.0),)
    write([example], tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["annotations"] == [annotation]


def test_ids_are_kept_only_where_every_reference_has_its_own(tmp_path: Path):
    lines = tmp_path / "in.jsonl"
    lines.write_text(
        '{"id": 1, "source": 1, "references": ["a"], "annotation_ids": [9]}\n'
        '{"id": 2, "source": 2, "references": ["a", "b"], "annotation_ids": [9, 10]}\n'
    )
    write(read(lines), tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert [annotation["id"] for annotation in found["annotations"]] == [1, 2, 3]
