"""polyref report as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_records import change, write_records
from samples import caption_lines

pytest.importorskip("matplotlib")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return write_records(tmp_path / "records")


def test_a_report_is_written_and_said(run, records: Path, tmp_path: Path):
    done = run("report", records, "-o", tmp_path / "report")
    assert (done.code, done.err) == (0, "")
    assert done.out.decode() == f"{tmp_path}/report/report.md: 19 files written\n"


def test_a_case_study_is_added(run, records: Path, tmp_path: Path):
    expanded = tmp_path / "expanded.jsonl"
    assert run("expand", "-", "-o", expanded, stdin=caption_lines(3).encode()).code == 0
    id = json.loads(expanded.read_text().splitlines()[1])["id"]
    done = run("report", records, "-o", tmp_path / "report", "--case", expanded, "--case-id", id)
    assert (done.code, done.err) == (0, "")
    assert "![Lattice of the references](case.svg)" in (tmp_path / "report" / "report.md").read_text("utf-8")
    assert {"case.svg", "case.csv", "case.tex"} <= {path.name for path in (tmp_path / "report").iterdir()}


def test_a_bad_record_is_one_line_and_exit_code_2(run, records: Path, tmp_path: Path):
    change(records / "first-1-seed1.json", seed="one")
    done = run("report", records, "-o", tmp_path / "report")
    cure = "run polyref experiment again, or move the file away"
    says = f'polyref: {records}/first-1-seed1.json: "seed" is not a whole number; {cure}\n'
    assert (done.code, done.out, done.err) == (2, b"", says)
    assert not (tmp_path / "report").exists()


def test_an_id_without_a_file_is_refused(run, records: Path, tmp_path: Path):
    done = run("report", records, "-o", tmp_path / "report", "--case-id", "42")
    assert (done.code, done.err) == (2, "polyref: --case-id has no effect without --case; add that, or leave it out\n")


def test_an_output_that_is_a_file_is_refused(run, records: Path, tmp_path: Path):
    (tmp_path / "report").write_text("")
    done = run("report", records, "-o", tmp_path / "report")
    assert done.code == 2
    assert done.err.startswith(f"polyref: {tmp_path}/report: cannot be written (")
