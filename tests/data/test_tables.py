"""CSV and TSV as other people write them."""

from pathlib import Path

import pytest

from polyref.data import Fields, Losses, WriteSettings, read, write
from polyref.example import JUDGEMENTS, Example, PseudoReference, Reference


def table(folder: Path, content: str, name: str = "in.csv") -> Path:
    path = folder / name
    path.write_text(content, "utf-8", newline="")
    return path


def short(path: Path, **settings: object) -> list[tuple[str, object, list[str]]]:
    return [
        (example.id, example.source, [reference.text for reference in example.references])
        for example in read(path, **settings)
    ]


def test_the_rows_of_one_source_are_one_example(tmp_path: Path):
    path = table(tmp_path, 'mr,ref\n"name[A], food[B]",A serves B.\n"name[A], food[B]","B, at A"\nname[C],C it is\n')
    assert short(path) == [("2", "name[A], food[B]", ["A serves B.", "B, at A"]), ("4", "name[C]", ["C it is"])]


def test_rows_that_stand_apart_are_gathered_where_the_first_one_stands(tmp_path: Path):
    path = table(tmp_path, "mr,ref\ns,one\nt,two\ns,three\nt,four\nu,five\n")
    expected = [("2", "s", ["one", "three"]), ("3", "t", ["two", "four"]), ("6", "u", ["five"])]
    assert short(path) == expected


def test_rows_with_an_id_belong_together_by_that(tmp_path: Path):
    path = table(tmp_path, "id,source,reference\n7,s,one\n8,s,two\n7,s,three\n")
    assert short(path) == [("7", "s", ["one", "three"]), ("8", "s", ["two"])]


@pytest.mark.parametrize(
    "header", ["source,ref0,ref1,ref2", "src,ref_1,ref_2,ref_3", "source,reference 1,reference 2,x"]
)
def test_several_columns_are_an_example_a_row_and_blank_cells_are_no_references(header, tmp_path: Path):
    path = table(tmp_path, f"{header}\ns,one,two,\nt, ,three,\n")
    assert short(path) == [("2", "s", ["one", "two"]), ("3", "t", ["three"])]


def test_columns_can_be_listed_by_their_names(tmp_path: Path):
    path = table(tmp_path, "prompt,Ann,Bob,notes\ns,one,two,x\n")
    fields = Fields(source="prompt", references="Ann,Bob")
    assert short(path, fields=fields) == [("2", "s", ["one", "two"])]


def test_other_columns_pass_through_as_texts(tmp_path: Path):
    path = table(tmp_path, "source,ref,url,year\ns,one,http://x,1999\ns,two,http://x,1999\nt,three,,\n")
    records = [example.record for example in read(path)]
    assert records == [
        '{"source": "s", "references": ["one", "two"], "url": "http://x", "year": "1999"}',
        '{"source": "t", "references": ["three"]}',
    ]


def test_a_column_that_differs_within_an_example_is_said(tmp_path: Path):
    losses = Losses()
    path = table(tmp_path, "source,ref,worker\ns,one,Ann\ns,two,Bob\ns,three,Cat\n")
    assert len(list(read(path, losses=losses))) == 1
    assert losses.counts == {'values of the column "worker" that differ within an example': 2}


def test_a_column_about_a_reference_stays_with_it(tmp_path: Path):
    path = table(tmp_path, "source,reference,reference.worker\ns,one,Ann\ns,two,\n")
    [example] = read(path)
    assert example.record == '{"source": "s", "references": [{"text": "one", "worker": "Ann"}, "two"]}'


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_csv_may_have_other_delimiters_and_ends(mark, end, tmp_path: Path):
    rows = [["source", "ref"], ["s", '"one\nand ""a half"""'], ["t", "two"]]
    path = table(tmp_path, end.join(mark.join(row) for row in rows) + end)
    assert short(path, format="csv") == [("2", "s", ['one\nand "a half"']), ("4", "t", ["two"])]


def test_quotes_in_a_tsv_are_characters_like_any_other(tmp_path: Path):
    path = table(tmp_path, 'source\tref\n"s\ta "cat"\n', "in.tsv")
    assert short(path) == [("2", '"s', ['a "cat"'])]


def test_a_cell_longer_than_the_csv_module_allows_is_read(tmp_path: Path):
    path = table(tmp_path, f"source,ref\ns,{'word ' * 40_000}end\n")
    [example] = read(path)
    assert len(example.references[0].text) == 200_003


def test_a_table_is_what_it_looks_like(tmp_path: Path):
    examples = [
        Example("1", "s, t", (Reference("one"), Reference('"two"', 2.0))),
        Example("2", {"image": 3}, (Reference("three\nfour"),)),
    ]
    write(examples, tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == (
        "id,source:json,reference,weight\n"
        '1,"""s, t""",one,\n'
        '1,"""s, t""","""two""",2.0\n'
        '2,"{""image"": 3}","three\nfour",\n'
    )
    report = write(examples[:1], tmp_path / "columns.tsv", settings=WriteSettings(reference_columns=True))
    assert (tmp_path / "columns.tsv").read_text() == 'id\tsource\treference0\treference1\n1\ts, t\tone\t"two"\n'
    assert report.not_kept.counts == {"weights of references": 1}


def test_a_fluency_has_its_column_and_is_blank_where_it_was_not_measured(tmp_path: Path):
    pseudo = PseudoReference("two", 97.1, fluency=-2.3145), PseudoReference("three", 50.0)
    example = Example("1", "s", (Reference("one"),), pseudo)
    write([example], tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == (
        "id,source,reference,bleu,fluency\n1,s,one,,\n1,s,two,97.1,-2.3145\n1,s,three,50.0,\n"
    )
    assert list(read(tmp_path / "rows.csv")) == [example]


def test_judgements_have_columns_in_their_order(tmp_path: Path):
    pseudo = PseudoReference("two", 97.1, True, -1.0, 0.5, 3, 0.0), PseudoReference("three", 50.0, crossings=0)
    example = Example("1", "s", (Reference("one"),), pseudo)
    write([example], tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == (
        "id,source,reference,bleu,fluency,content,crossings,risk,repeat\n"
        "1,s,one,,,,,,\n1,s,two,97.1,-1.0,0.5,3,0.0,true\n1,s,three,50.0,,,0,,\n"
    )
    assert list(read(tmp_path / "rows.csv")) == [example]


JUDGED = pytest.mark.parametrize(("name", "value"), [*zip(JUDGEMENTS, (-2.5, 0.5, 1, 2.5), strict=True)])


@JUDGED
def test_the_judgement_of_a_gold_reference_is_not_read_which_is_said(name, value, tmp_path: Path):
    losses = Losses()
    [example] = read(table(tmp_path, f"source,ref,bleu,{name}\ns,one,,{value}\ns,two,90,{value}\n"), losses=losses)
    assert example.pseudo_references == (PseudoReference("two", 90.0, **{name: value}),)
    assert losses.counts == {f'values of the column "{name}" in rows without "bleu"': 1}


@JUDGED
def test_without_pseudo_references_a_judgement_is_a_column_like_any_other(name, value, tmp_path: Path):
    [example] = read(table(tmp_path, f"source,ref,{name}\ns,one,good\n"))
    assert example.record == f'{{"source": "s", "references": ["one"], "{name}": "good"}}'


@JUDGED
@pytest.mark.parametrize("source", ["s", 5])
def test_a_judgement_gives_way_to_a_source_of_its_name_which_is_said(name, value, source, tmp_path: Path):
    pseudo = PseudoReference("two", 97.1, **{name: value})
    fields, path = Fields(source=name), tmp_path / "rows.csv"
    report = write([Example("1", source, (Reference("one"),), (pseudo,))], path, fields)
    assert report.not_kept.counts == {f'values of "{name}" of pseudo-references': 1}
    losses = Losses()
    [example] = read(path, fields, losses=losses)
    assert (example.source, example.pseudo_references) == (source, (PseudoReference("two", 97.1),))
    assert not losses


@pytest.mark.parametrize(("pseudo", "column"), [((), "content"), ((PseudoReference("two", 97.1),), "content:json")])
def test_a_key_of_the_name_of_a_judgement_is_json_only_beside_pseudo_references(pseudo, column, tmp_path: Path):
    record = '{"id": "1", "source": "s", "references": ["one"], "content": "good"}'
    example = Example("1", "s", (Reference("one"),), pseudo, record=record)
    write([example], tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text().splitlines()[0].split(",")[-1] == column
    [found] = read(tmp_path / "rows.csv")
    assert found == example
    assert '"content": "good"' in str(found.record)


def test_keys_that_would_be_taken_for_something_else_are_kept_as_json(tmp_path: Path):
    lines = tmp_path / "in.jsonl"
    others = '"weight": "5 kg", "fluency": "good", "ref": "x", "reference7": "y", "n:json": "z"'
    lines.write_text(f'{{"source": "s", "references": ["a"], {others}}}\n')
    for settings in (WriteSettings(), WriteSettings(reference_columns=True)):
        write(read(lines), tmp_path / "out.csv", settings=settings)
        [example] = read(tmp_path / "out.csv")
        assert others in str(example.record)
