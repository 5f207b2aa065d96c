"""A report as a whole: its files, that they are the same tomorrow, and that a bad record leaves none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_records import change, grid, write_records

pytest.importorskip("matplotlib")

from polyref.errors import InputError
from polyref.report import write_report

TABLES = ("data", "expansions", "validation", "test", "outputs", "comparisons")
FIGURES = ("possible", "curves-1", "curves-2")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_records(tmp_path_factory.mktemp("records"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_report_has_its_tables_and_figures_and_links_to_all(records: Path, tmp_path: Path):
    files = write_report([records], tmp_path / "report")
    expected = {f"captions-{name}.{form}" for name in TABLES for form in ("csv", "tex")}
    expected |= {f"captions-{name}.{form}" for name in FIGURES for form in ("svg", "png")}
    assert {path.name for path in files} == {*expected, "report.md"} == set(contents(tmp_path / "report"))
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert set(re.findall(r"\]\(([^)]*)\)", text)) == expected
    assert "66 of 66 planned runs are there (seeds 1, 2, 3). Versions: polyref 0.1.0, torch 2.13.0." in text


def test_the_same_records_give_the_same_bytes(records: Path, tmp_path: Path):
    for name in ("one", "two"):
        write_report([records], tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_several_grids_are_several_sections(records: Path, tmp_path: Path):
    planned = grid() | {"name": "other grid"}
    planned["report"]["title"] = "Another"
    planned["cells"] = planned["cells"][:4]
    planned["report"] |= {"test": [], "curves": []}
    other = write_records(tmp_path / "other", planned)
    write_report([records, other], tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert re.findall(r"^## .*", text, re.MULTILINE) == ["## Captions", "## Another"]
    assert (tmp_path / "report" / "other-grid-validation.tex").exists()


def test_grids_of_one_name_are_refused(records: Path, tmp_path: Path):
    with pytest.raises(
        InputError, match=r'grid.json: "name" is "captions" in two of the grids; rename one of the grid files'
    ):
        write_report([records, records], tmp_path / "report")


def test_nothing_is_written_where_a_record_cannot_be_used(tmp_path: Path):
    records = write_records(tmp_path / "records")
    write_report([records], tmp_path / "report")
    before = contents(tmp_path / "report")
    change(records / "shuffle-50-soft-seed3.json", updates=None)
    for output in (tmp_path / "report", tmp_path / "new"):
        with pytest.raises(InputError, match=r'shuffle-50-soft-seed3.json: "updates" is missing'):
            write_report([records], output)
    assert contents(tmp_path / "report") == before
    assert not (tmp_path / "new").exists()


def test_an_experiment_that_has_just_begun_has_a_report(tmp_path: Path):
    records = write_records(tmp_path / "records")
    for path in records.glob("*seed*"):
        path.unlink()
    write_report([records], tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "0 of 66 planned runs are there" in text
    assert "| 5 | sample-one\\* |  |  |" in text
