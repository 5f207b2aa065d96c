"""A format is told by content when it is read, and by name when it is written."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from polyref.align import AlignSettings
from polyref.data import WriteReport, WriteSettings, read, sample_examples, write
from polyref.data.formats import FORMATS, format_of_name
from polyref.errors import InputError, MissingExtraError, OutputError, SettingsError
from polyref.example import Example, Reference
from polyref.expansion import ExpandSettings
from polyref.scale import Job, expand_file

FILES = {
    "jsonl": ("in.jsonl", {}),
    "Parquet": ("in.parquet", {}),
    "COCO": ("in.json", {}),
    "Karpathy": ("in.json", {"format": "karpathy"}),
    "CSV": ("in.csv", {}),
    "CSV columns": ("in.csv", {"reference_columns": True}),
    "TSV": ("in.tsv", {}),
    "TSV columns": ("in.tsv", {"reference_columns": True}),
}
TEXTS = {name: case for name, case in FILES.items() if name != "Parquet"}


def content(folder: Path, name: str, how: dict[str, object]) -> bytes:
    [file] = write(sample_examples(), folder / name, settings=WriteSettings(**how)).files
    return Path(file).read_bytes()


@pytest.mark.parametrize(("name", "how"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("other", ["no suffix", "wrong.csv", "wrong.jsonl", "wrong.parquet", "wrong.json"])
def test_a_format_is_known_by_its_content_whatever_the_name(name, how, other, tmp_path: Path):
    (tmp_path / other).write_bytes(content(tmp_path, name, how))
    assert list(read(tmp_path / other)) == sample_examples()


@pytest.mark.parametrize(("name", "how"), TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_every_text_format_may_be_compressed(name, how, pack, tmp_path: Path):
    (tmp_path / "packed").write_bytes(pack(content(tmp_path, name, how)))
    assert list(read(tmp_path / "packed")) == sample_examples()


@pytest.mark.parametrize(("name", "how"), TEXTS.values(), ids=TEXTS)
def test_every_text_format_may_come_through_a_pipe(name, how, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content(tmp_path, name, how))))
    assert list(read("-")) == sample_examples()


def test_parquet_cannot_come_through_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content(tmp_path, "in.parquet", {}))))
    with pytest.raises(InputError, match=r"<stdin>: Parquet cannot be read from a pipe; give the name of a file"):
        list(read("-"))


def test_frames_of_zstd_may_stand_one_behind_the_other(tmp_path: Path):
    lines = [f'{{"source": {number}, "references": ["a"]}}\n'.encode() for number in range(3)]
    (tmp_path / "in.zst").write_bytes(b"".join(map(zstandard.compress, lines)))
    assert [example.source for example in read(tmp_path / "in.zst")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"images": ["a.jpg"], "source": 1, "references": ["a"]}, "it has references"),
        ({"annotations": [], "source": 1, "references": ["a"]}, "it has references"),
        ({"images": "a.jpg", "source": 1, "references": ["a"]}, "no list"),
    ],
)
def test_a_record_with_images_is_no_document_of_captions(record, why, tmp_path: Path):
    (tmp_path / "in").write_text(json.dumps(record) + "\n")
    assert [example.source for example in read(tmp_path / "in")] == [1]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("first", [{}, {"info": {"images": "none", "x": "[{"}}, {"licenses": [{"id": 1}] * 50}])
def test_a_document_of_captions_is_known_over_one_line_or_many(indent, first, tmp_path: Path):
    document = {**first, "images": [{"id": 5}], "annotations": [{"id": 1, "image_id": 5, "caption": "a cat"}]}
    (tmp_path / "in").write_text("\ufeff\n" + json.dumps(document, indent=indent))
    [example] = read(tmp_path / "in")
    assert (example.id, example.source, example.references[0].text) == ("5", 5, "a cat")


def test_a_format_can_be_forced(tmp_path: Path):
    (tmp_path / "in").write_text('source\treference\n"s"\t"a cat"\n')
    [literal], [quoted] = read(tmp_path / "in"), read(tmp_path / "in", format="csv")
    assert (literal.source, literal.references[0].text) == ('"s"', '"a cat"')
    assert (quoted.source, quoted.references[0].text) == ("s", "a cat")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.parquet", "parquet"),
        ("a.json", "coco"),
        ("a.csv.zst", "csv"),
        ("a.tsv", "tsv"),
        ("a.src.gz", "parallel"),
        ("a.txt", None),
        ("jsonl", None),
    ],
)
def test_a_name_tells_the_format_that_is_written(name, format):
    assert format_of_name(name) == format


@pytest.mark.parametrize(
    ("name", "how", "says"),
    [
        ("out.txt", {}, "the name does not tell the format; end it in one of .jsonl, .ndjson, .parquet"),
        ("out.parquet.gz", {}, "Parquet is compressed already"),
        ("out.jsonl", {"reference_columns": True}, "reference columns belong to csv and tsv, not to jsonl"),
        ("out.csv", {"format": "excel"}, 'format is "excel"; choose one of jsonl, parquet, coco, karpathy, json'),
        ("out.csv", {"line_breaks": "ignore"}, 'line_breaks is "ignore"; choose one of refuse, space'),
    ],
)
def test_a_way_of_writing_that_makes_no_sense_is_refused(name, how, says, tmp_path: Path):
    with pytest.raises(SettingsError, match=says):
        write(sample_examples(), tmp_path / name, settings=WriteSettings(**how))
    assert list(tmp_path.iterdir()) == []


def test_a_way_of_reading_that_makes_no_sense_is_refused():
    with pytest.raises(SettingsError, match='format is "excel"; choose one of jsonl'):
        read("in.xls", format="excel")
    with pytest.raises(SettingsError, match="no file is named"):
        read([])


@pytest.mark.parametrize(
    ("name", "module", "says"),
    [
        ("out.parquet", "pyarrow", 'Parquet needs pyarrow; install it with: pip install "polyref[parquet]"'),
        (
            "out.jsonl.zst",
            "zstandard",
            'zstd compression needs zstandard; install it with: pip install "polyref[zstd]"',
        ),
    ],
)
def test_a_package_that_is_missing_is_named_with_what_installs_it(
    name, module, says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(sample_examples(), tmp_path / name)
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)  # importing it fails now
    with pytest.raises(MissingExtraError) as reading:
        list(read(tmp_path / name))
    with pytest.raises(MissingExtraError) as writing:
        write(sample_examples(), tmp_path / f"new.{name}")
    assert str(reading.value) == str(writing.value) == says
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> str:
    """The format of the documentation, and its code."""
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")
    code = page.partition("## Adding a format")[2].partition("```python\n")[2].partition("```")[0]
    module: dict[str, Any] = {}
    exec(code, module)
    monkeypatch.setitem(FORMATS, "blocks", module["BLOCKS"])
    return code


def test_the_format_of_the_documentation_needs_nothing_but_a_place_in_the_dict(blocks, tmp_path: Path):
    assert len(blocks.splitlines()) < 40
    examples = [Example(f"e{n}", f"source {n}", (Reference(f"a {n}"), Reference("b"))) for n in range(3)]
    report = write(examples, tmp_path / "out.blocks.gz")
    assert report.not_kept.counts == {"ids": 3}
    found = list(read(tmp_path / "out.blocks.gz"))
    assert [(one.source, one.references) for one in found] == [(one.source, one.references) for one in examples]
    (tmp_path / "in.blocks").write_text("a source\na reference\n\nalone\n")
    with pytest.raises(InputError, match=r'in\.blocks:4: "references" is empty; give at least one'):
        list(read(tmp_path / "in.blocks"))
    broken = Example("x", "s", (Reference("two\nlines"),))
    with pytest.raises(SettingsError, match='a text of example "x" has line breaks, which blocks cannot hold'):
        write([broken], tmp_path / "new.blocks")


@pytest.mark.parametrize("source", ["", " ", "\n", None])
def test_the_format_of_the_documentation_refuses_a_source_that_it_would_lose(blocks, source, tmp_path: Path):
    example = Example("x", source, (Reference("a"), Reference("b")))
    settings = WriteSettings(line_breaks="space")
    if source is None:
        assert write([example], tmp_path / "out.blocks").not_kept.counts == {
            "ids": 1,
            "sources that are not strings (written as JSON)": 1,
        }
        return
    with pytest.raises(OutputError, match='a text of example "x" is blank, which blocks cannot hold; choose another'):
        write([example], tmp_path / "out.blocks", settings=settings)
    assert list(tmp_path.iterdir()) == []


def test_the_format_of_the_documentation_keeps_marks_at_the_beginning_of_texts(blocks, tmp_path: Path):
    examples = [Example(f"{n}", "\ufeffs", (Reference("\ufeffa"), Reference("b"))) for n in (1, 2)]
    write(examples, tmp_path / "out.blocks.zst")
    found = list(read(tmp_path / "out.blocks.zst"))
    assert [(one.source, one.references) for one in found] == [(one.source, one.references) for one in examples]


def test_the_format_of_the_documentation_refuses_an_empty_file(blocks, tmp_path: Path):
    (tmp_path / "in.blocks").write_text("\n\n")
    with pytest.raises(InputError, match=r"in\.blocks: the file is empty; give at least one example"):
        list(read(tmp_path / "in.blocks"))


@pytest.mark.parametrize("first", ["source\treference", "source,reference", '{"references": 1}', "PAR1"])
def test_a_name_wins_where_no_content_tells_its_format(blocks, first, tmp_path: Path):
    (tmp_path / "in.blocks").write_text(f"{first}\na\n")
    assert [example.source for example in read(tmp_path / "in.blocks")] == [first]


def test_expanding_to_a_format_without_pseudo_references_makes_them_references(
    blocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(FORMATS, "karpathy", FORMATS["blocks"])  # the names that can be given are fixed by now
    write(sample_examples()[:3], tmp_path / "in.jsonl")
    settings = ExpandSettings(per_example=9, align=AlignSettings("hard"))
    report = WriteReport()
    job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.blocks"), settings, output_format="karpathy")
    expand_file(job, report=report)
    assert "pseudo-references" not in report.not_kept.counts
    assert max(len(example.references) for example in read(tmp_path / "out.blocks")) == 9


@pytest.mark.parametrize("name", ["in.txt", "in.csv", "in.tsv"])
def test_a_table_that_only_its_content_tells_is_called_so_when_it_is_wrong(name, tmp_path: Path):
    said = " (the content looks like TSV; if it is something else, set format)"
    for content in ("a\tb\n", "source\treference\nx\n"):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError) as refused:
            list(read(tmp_path / name))
        assert str(refused.value).endswith(said) == (name != "in.tsv")
