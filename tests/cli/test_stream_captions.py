"""`polyref stream` to the files that captioning code reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

IMAGES = [
    {"cocoid": 9, "split": "train", "filename": "9.jpg", "imgid": 0, "sentids": [1, 2, 3]},
    {"cocoid": 10, "split": "val", "filename": "10.jpg", "imgid": 1, "sentids": [4]},
]
CAPTIONS = [["A cat.", "The cat sleeps.", "A cat is asleep."], ["A dog runs."]]


@pytest.fixture
def karpathy(tmp_path: Path) -> Path:
    images = [
        {**image, "sentences": [{"raw": text, "tokens": text.split()} for text in texts]}
        for image, texts in zip(IMAGES, CAPTIONS, strict=True)
    ]
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"dataset": "coco", "images": images}))
    return path


def images_of(path: Path) -> list[dict[str, Any]]:
    images: list[dict[str, Any]] = json.loads(path.read_text())["images"]
    return images


def test_an_epoch_of_karpathy_keeps_the_split_and_whatever_else_a_loader_needs(run_apart, karpathy, tmp_path) -> None:
    out = tmp_path / "epoch.{epoch}.json"
    done = run_apart("stream", karpathy, "--schedule", "sample-one", "--epochs", 12, "--format", "karpathy", "-o", out)
    assert done.code == 0
    drawn = set()
    for epoch in range(12):
        images = images_of(tmp_path / f"epoch.{epoch}.json")
        known = [(one["cocoid"], one["split"], one["filename"]) for one in images]
        assert known == [(9, "train", "9.jpg"), (10, "val", "10.jpg")]
        assert [len(one["sentences"]) for one in images] == [1, 1]
        drawn.add(images[0]["sentences"][0]["raw"])
    assert drawn == set(CAPTIONS[0])


def test_an_epoch_of_coco_keeps_what_else_is_known_of_an_image(run_apart, karpathy, tmp_path) -> None:
    out = tmp_path / "epoch.json"
    assert run_apart("stream", karpathy, "--schedule", "first", "--format", "coco", "-o", out).code == 0
    assert [(one["id"], one["split"]) for one in images_of(out)] == [(9, "train"), (10, "val")]
    captions = [one["caption"] for one in json.loads(out.read_text())["annotations"]]
    assert captions == ["A cat.", "A dog runs."]


def test_pseudo_references_become_captions_and_leave_no_trace_in_the_image(run_apart, tmp_path) -> None:
    record = {"id": "1", "source": "1.jpg", "references": ["a cat"], "split": "train"}
    record["pseudo_references"] = [{"text": "one cat", "bleu": 50.0}]
    path, out = tmp_path / "expanded.jsonl", tmp_path / "out.json"
    path.write_text(json.dumps(record) + "\n")
    assert run_apart("stream", path, "--schedule", "uniform", "--format", "karpathy", "-o", out).code == 0
    (image,) = images_of(out)
    assert [one["raw"] for one in image["sentences"]] == ["a cat", "one cat"]
    assert image["split"] == "train" and "pseudo_references" not in image


def test_what_is_read_from_a_pipe_has_its_captions_at_least(run_apart, karpathy, tmp_path) -> None:
    out = tmp_path / "epoch.json"
    arguments = ("--schedule", "first", "--format", "karpathy", "-o", out)
    assert run_apart("stream", "-", *arguments, stdin=karpathy.read_bytes()).code == 0
    assert [one["sentences"][0]["raw"] for one in images_of(out)] == ["A cat.", "A dog runs."]


def test_other_names_of_fields_are_followed(run_apart, karpathy, tmp_path) -> None:
    out = tmp_path / "epoch.json"
    arguments = ("--schedule", "first", "--source-field", "filename", "--format", "karpathy", "-o", out)
    assert run_apart("stream", karpathy, *arguments).code == 0
    assert [(one["source"], one["split"]) for one in images_of(out)] == [("9.jpg", "train"), ("10.jpg", "val")]
