"""Files as people have them: other shapes than one record per line, and other names than source and references."""

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import polyref
from polyref.data import Fields, Input, WriteSettings, read, write
from polyref.data.formats import documents
from polyref.errors import InputError

CAPTIONS = {"1.jpg": ["a cat sleeps", "the cat is asleep: quiet"], "2.jpg": ['a "dog"', "café\u2028dog", "a dog"]}
RECORDS = [{"image": image, "captions": captions} for image, captions in CAPTIONS.items()]
IMAGE = '"image" read as id and source, "captions" as references'


def parquet(path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(RECORDS), path)


def rows(header: str, form: str) -> str:
    texts = [(image, n, text) for image, captions in CAPTIONS.items() for n, text in enumerate(captions)]
    return header + "".join(form.format(image, n, text.replace('"', '""'), text) for image, n, text in texts)


SHAPES: dict[str, tuple[Any, str]] = {
    "array": (json.dumps(RECORDS), f"an array of records; {IMAGE}"),
    "array on many lines": (json.dumps(RECORDS, indent=2), f"an array of records; {IMAGE}"),
    "lists by id": (json.dumps(CAPTIONS), "lists by id; keys read as id and source, lists as references"),
    "lists by id on many lines": (
        "\ufeff" + json.dumps(CAPTIONS, indent=1),
        "lists by id; keys read as id and source, lists as references",
    ),
    "Flickr": (
        rows("", "{0}#{1}\t{3}\n"),
        "lines of image#number and caption; images read as id and source",
    ),
    "CSV": (rows("image,caption\n", '{0},"{2}"\n'), '"image" read as id and source, "caption" as references'),
    "JSON Lines": ("".join(json.dumps(record) + "\n" for record in RECORDS), IMAGE),
    "Parquet": (parquet, IMAGE),
}


def test_an_id_is_the_source_of_captions_that_have_no_other(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"id": "a.jpg", "captions": ["a cat", "the cat"]}\n')
    [example] = read(path)
    assert (example.id, example.source, len(example.references)) == ("a.jpg", "a.jpg", 2)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_told_by_its_content_and_goes_around(shape, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    content, says = SHAPES[shape]
    path = tmp_path / "data.txt"
    content(path) if callable(content) else path.write_text(content, encoding="utf-8")
    with caplog.at_level(logging.INFO, "polyref.notes"):
        examples = list(read(path))
    assert [(one.id, one.source, [text.text for text in one.references]) for one in examples] == [
        (image, image, captions) for image, captions in CAPTIONS.items()
    ]
    assert {record.getMessage() for record in caplog.records if record.name == "polyref.notes"} == {f"{path}: {says}"}
    write(polyref.expand(read(path), 4), tmp_path / "out.jsonl")
    expanded = list(read(tmp_path / "out.jsonl"))
    assert [one.references for one in expanded] == [one.references for one in examples]
    for name, how in (("out", {"format": "json"}), ("out.csv", {}), ("out.json", {})):
        write(expanded, tmp_path / name, settings=WriteSettings(**how))
        assert list(read(tmp_path / name)) == expanded


def test_captions_of_flickr_are_put_in_order_and_written_again(tmp_path: Path):
    lines = ["a.jpg#1\tsecond", "b.jpg#0\tother", "a.jpg#0\tfirst"]
    (tmp_path / "in.txt").write_text("\n".join(lines))
    report = write(read(tmp_path / "in.txt"), tmp_path / "out", settings=WriteSettings("flickr"))
    assert (tmp_path / "out").read_text() == "a.jpg#0\tfirst\na.jpg#1\tsecond\nb.jpg#0\tother\n"
    assert not report.not_kept
    report = write(polyref.sample_examples()[:1], tmp_path / "out", settings=WriteSettings("flickr"))
    assert report.not_kept.counts["sources that are not the id"] == 1


def test_a_blank_first_caption_of_flickr_is_named_and_a_bad_image_is_set_aside_whole(tmp_path: Path):
    path, aside = tmp_path / "in.txt", tmp_path / "bad.txt"
    path.write_text("a.jpg#0\t\na.jpg#1\tsecond\nb.jpg#0\tother\n")
    with pytest.raises(InputError, match=r"in\.txt:1: the caption is blank; give a text, or take the line out"):
        list(read(path))
    with aside.open("wb") as bad:
        kept = [example.id for _, example in Input.of(str(path)).checked(bad=bad)]
    assert kept == ["b.jpg"]
    assert json.loads(aside.read_text())["record"] == '{"a.jpg": ["", "second"]}'


def test_names_count_where_the_expected_ones_are_missing_and_no_other_is_possible(tmp_path: Path):
    path = tmp_path / "data.jsonl"

    def example(record: dict[str, Any], fields: Fields | None = None) -> tuple[Any, list[str]]:
        path.write_text(json.dumps(record))
        [one] = read(path, fields)
        return one.source, [reference.text for reference in one.references]

    assert example({"question": "q", "answer": "a"}) == ("q", ["a"])
    assert example({"source": "s", "references": ["r"], "captions": ["c"]}) == ("s", ["r"])
    assert example({"input": "s", "Summary": "r"}) == ("s", ["r"])
    assert example({"text": "long", "summary": "r"}, Fields(references="summary")) == ("long", ["r"])
    refused = [
        (
            {"text": "long", "summary": "r"},
            '"text" and "summary" may be the references; choose one with references_field',
        ),
        ({"image": "i", "question": "q", "answers": ["a"]}, '"source" is missing; add it, or name another key with'),
        ({"source": "s", "translation": {"de": "d"}}, '"references" is missing'),
        ({"source": "s", "captions": ["r"]}, '"refs" is missing'),
    ]
    for record, says in refused:
        with pytest.raises(InputError, match=says):
            example(record, Fields(references="refs") if "refs" in says else None)


def test_what_a_later_record_lacks_is_said_by_the_keys_that_it_has(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"id": 1, "captions": ["a", "b"]}\n{"id": 2, "caption": "c"}\n')
    with pytest.raises(InputError, match=r'data.jsonl:2: "references" is missing.*the keys here: "id", "caption"\)'):
        list(read(path))


def test_a_program_may_give_lists_of_references_and_dictionaries():
    expanded = list(polyref.expand([["a cat sleeps now", "the cat sleeps here now"]], 4))
    assert [reference.text for reference in expanded[0].references] == ["a cat sleeps now", "the cat sleeps here now"]
    [example] = polyref.expand([{"image": "1.jpg", "captions": ["a cat", "the cat"], "split": "train"}])
    assert (example.id, len(example.references), '"split": "train"' in (example.record or "")) == ("1.jpg", 2, True)
    assert len(polyref.stream([["a", "b"], ["c"]])) == 3
    for wrong in (["a cat", "the cat"], "captions.jsonl", [3]):
        with pytest.raises(InputError, match="give examples, dictionaries, or a list of references for each example"):
            list(polyref.expand(wrong))  # type: ignore[arg-type]


def test_a_key_for_ids_that_no_record_has_is_refused(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"name": 1, "source": "s", "references": ["a"]}\n{"source": "s", "references": ["b"]}\n')
    assert [example.id for example in read(path, Fields(id="name"))] == ["1", "2"]
    with pytest.raises(InputError, match='no record has the key "nmae"; name another with id_field, or leave it out'):
        list(read(path, Fields(id="nmae")))


def test_a_document_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "data.json"
    for document in (RECORDS, CAPTIONS):
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False))
        whole = list(read(path))
        for size in (1, 2, 7, 64):
            monkeypatch.setattr(documents, "_PIECE", size)
            assert list(read(path)) == whole
