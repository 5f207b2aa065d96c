"""Records of a grid: what is planned, what is there, and what does not fit together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from made_records import JOB, change, grid, record, write_records

from polyref.errors import InputError
from polyref.report.records import matching, read_records


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    planned = grid()
    planned["seeds"] = [1, 2]
    planned["cells"] = planned["cells"][:4]
    planned["report"] |= {"test": planned["cells"][:2], "curves": []}
    return write_records(tmp_path / "records", planned)


def changed_report(folder: Path, **values: Any) -> None:
    planned = json.loads((folder / "grid.json").read_text())
    change(folder / "grid.json", report={**planned["report"], **values})


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as error:
        read_records(folder)
    return str(error.value).removeprefix(f"{folder}/")


def test_runs_are_found_by_cell_and_in_the_order_of_the_seeds(folder: Path):
    records = read_records(folder)
    assert [group.cell["method"] for group in records.groups] == ["first", "sample-one", "uniform", "shuffle"]
    assert [run.seed for run in records.groups[0].runs] == [1, 2]
    assert (len(records.runs), records.planned) == (8, 8)


def test_cells_may_have_fewer_seeds_than_others(folder: Path):
    planned = json.loads((folder / "grid.json").read_text())
    fewer = next(name for name in planned["jobs"] if name.endswith("-seed2"))
    del planned["jobs"][fewer]
    (folder / "grid.json").write_text(json.dumps(planned))
    records = read_records(folder)
    assert (len(records.runs), records.planned, records.left_out) == (7, 7, 1)


def test_a_record_that_is_missing_leaves_its_cell_with_fewer_seeds(folder: Path):
    (folder / "shuffle-5-seed2.json").unlink()
    assert [run.seed for run in read_records(folder).groups[-1].runs] == [1]


def test_without_rows_all_axes_make_them(folder: Path):
    planned = json.loads((folder / "grid.json").read_text())
    del planned["report"]["rows"], planned["report"]["columns"]
    change(folder / "grid.json", report=planned["report"])
    records = read_records(folder)
    assert (records.rows, records.columns) == (("method", "references"), ())


def test_the_test_table_has_all_cells_with_a_test_where_none_are_named(folder: Path):
    changed_report(folder, test=[])
    assert [group.cell["method"] for group in read_records(folder).test] == ["first", "sample-one"]


def test_a_cell_without_an_axis_belongs_to_all_its_values(folder: Path):
    records = read_records(folder)
    assert len(list(matching(records.groups, {"align": "soft"}))) == 4
    assert len(list(matching(records.groups, {"align": "soft", "references": "1"}))) == 1


# -- picking --------------------------------------------------------------------------------------------------------


@pytest.fixture
def picking(tmp_path: Path) -> Path:
    """Two cells, each with two sizes of a batch; only the first seed has both."""
    planned = grid()
    planned["axes"]["batch"] = ["100", "200"]
    planned |= {"pick": ["batch"], "seeds": [1, 2], "expansions": []}
    planned["cells"] = [
        {"method": method, "references": "5", "batch": batch}
        for method in ("sample-one", "shuffle")
        for batch in ("100", "200")
    ]
    planned["report"] |= {"test": [{"method": "shuffle", "references": "5"}], "curves": []}
    folder = write_records(tmp_path / "records", planned)
    for method, batch, bleu in (("shuffle", "100", 20.0), ("shuffle", "200", 21.0)):
        change(folder / f"{method}-5-{batch}-seed1.json", best={"updates": 250, "scores": {"bleu": bleu, "cider": 0.5}})
    (folder / "shuffle-5-100-seed2.json").unlink()
    return folder


def test_the_best_on_the_first_seed_is_picked(picking: Path):
    records = read_records(picking)
    shuffle = records.groups[-1]
    assert (shuffle.cell, shuffle.picked) == ({"method": "shuffle", "references": "5"}, {"batch": "200"})
    assert [run.cell["batch"] for run in shuffle.runs] == ["200", "200"]
    assert records.planned == 6  # four cells with the first seed, two with the second


def test_where_a_low_score_is_good_the_lowest_is_picked(picking: Path):
    change(picking / "grid.json", goal="perplexity")
    for path in picking.glob("*seed1.json"):
        scores = {"bleu": 1.0, "cider": 0.1, "perplexity": 7.0 if "-100-" in path.name else 8.0}
        change(path, best={"updates": 250, "scores": scores})
    assert [group.picked["batch"] for group in read_records(picking).groups] == ["100", "100"]


def test_nothing_is_picked_before_the_first_seed_of_all_is_there(picking: Path):
    next(picking.glob("shuffle-*seed1.json")).unlink()
    shuffle = read_records(picking).groups[-1]
    assert (shuffle.picked, shuffle.runs) == ({}, ())


# -- what does not fit ----------------------------------------------------------------------------------------------


def test_a_folder_without_a_grid_is_refused(tmp_path: Path):
    for path, says in (
        (tmp_path, f"there is no {'grid.json'} in this folder"),
        (tmp_path / "x", "there is no such folder"),
    ):
        with pytest.raises(InputError, match=f"{path.name}: {says}; give a folder that polyref experiment has written"):
            read_records(path)


def test_the_output_of_a_grid_stands_for_its_records(folder: Path, tmp_path: Path):
    shutil.copytree(folder, tmp_path / "grid/records")
    assert read_records(tmp_path / "grid").runs[0].file == str(tmp_path / "grid/records/first-1-seed1.json")


def test_a_record_that_is_not_json_is_refused_with_its_line(folder: Path):
    (folder / "shuffle-5-seed1.json").write_text('{"cell":\n oops}')
    says = "run polyref experiment again, or move the file away"
    assert refused(folder) == f"shuffle-5-seed1.json:2: broken JSON: Expecting value at column 2; {says}"


RECORDS: dict[str, tuple[dict[str, Any], str]] = {
    "no seed": ({"seed": None}, '"seed" is missing'),
    "a seed in words": ({"seed": "one"}, '"seed" is not a whole number'),
    "true for a seed": ({"seed": True}, '"seed" is not a whole number'),
    "no best": ({"best": None}, '"best" is missing'),
    "a score in words": ({"best": {"updates": 1, "scores": {"bleu": "high"}}}, '"best.scores.bleu" is not a number'),
    "a curve without updates": ({"curve": [{"epoch": 1, "scores": {}}]}, '"curve.1.updates" is missing'),
    "a curve of numbers": ({"curve": [3]}, '"curve" holds what is not an object'),
    "a test of a list": ({"test": [1]}, '"test" is not an object or null'),
}  # fmt: skip


@pytest.mark.parametrize(("values", "says"), RECORDS.values(), ids=RECORDS)
def test_a_record_that_cannot_be_used_is_refused(folder: Path, values, says):
    change(folder / "shuffle-5-seed1.json", **values)
    assert refused(folder) == f"shuffle-5-seed1.json: {says}; run polyref experiment again, or move the file away"


@pytest.mark.parametrize("values", [{"seed": 2}, {"cell": {"method": "uniform", "references": "5"}}], ids=str)
def test_a_record_under_the_name_of_another_is_refused(folder: Path, values):
    change(folder / "shuffle-5-seed1.json", **values)
    name = "shuffle-5-seed2" if "seed" in values else "uniform-5-seed1"
    assert refused(folder).startswith(f"shuffle-5-seed1.json: this is the record of {name}; run polyref experiment")


@pytest.mark.parametrize("values", [{"job": "fedcba9876543210"}, {"inputs": "other data"}], ids=str)
def test_a_record_of_other_settings_or_data_is_left_out(folder: Path, values):
    before = read_records(folder)
    change(folder / "shuffle-5-seed1.json", **values)
    found = read_records(folder)
    assert (before.left_out, found.left_out) == (0, 1)
    assert len(found.runs) == len(before.runs) - 1


@pytest.mark.parametrize("name", ["shuffle-5-seed7.json", "none-5-seed1.json", "copy of shuffle-5-seed1.json"])
def test_a_record_of_a_cell_or_a_seed_that_is_not_planned_is_left_out(folder: Path, name):
    (folder / name).write_text((folder / "shuffle-5-seed1.json").read_text())
    found = read_records(folder)
    assert (len(found.runs), found.left_out) == (8, 1)


GRIDS: dict[str, tuple[dict[str, Any], str]] = {
    "no cells": ({"cells": None}, '"cells" is missing; run polyref experiment again'),
    "empty cells": ({"cells": []}, '"cells" is empty; run polyref experiment again'),
    "no seeds": ({"seeds": []}, '"seeds" is empty; run polyref experiment again'),
    "an unknown axis to pick from": (
        {"pick": ["batch"]},
        '"pick.batch" is not a known axis; choose from method, references, align',
    ),
    "no jobs": ({"jobs": None}, '"jobs" is missing; run polyref experiment again'),
    "a job without inputs": (
        {"jobs": {"first-1-seed1": {"job": "0123456789abcdef"}}},
        '"jobs.first-1-seed1.inputs" is missing; run polyref experiment again',
    ),
    "a cell off the axes": (
        {"cells": [{"method": "last"}]},
        '"cells.1.method" is "last", which "axes" of grid.json does not have; run polyref experiment again',
    ),
    "possible numbers": (
        {"expansions": [{"cells": [], "per_example": 5, "short": 0, "possible": {"3": 1}}]},
        '"expansions.1.possible" has the key "3", which is not a power of two; run polyref experiment again',
    ),
}


@pytest.mark.parametrize(("values", "says"), GRIDS.values(), ids=GRIDS)
def test_a_grid_that_cannot_be_used_is_refused(folder: Path, values, says):
    change(folder / "grid.json", **values)
    assert refused(folder) == f"grid.json: {says}"


REPORTS: dict[str, tuple[dict[str, Any], str]] = {
    "an axis twice": (
        {"columns": ["method"]},
        '"report.columns" has method, which is in rows too; leave one of them out',
    ),
    "a row that is no axis": (
        {"rows": ["size"]},
        '"report.rows.size" is not a known axis; choose from method, references, align',
    ),
    "cells in one place": (
        {"rows": ["references"]},
        '"report.rows" and columns do not tell sample-one-5 from uniform-5; add an axis to one of them',
    ),
    "no metrics": ({"metrics": []}, '"report.metrics" is empty; name at least one'),
    "a baseline that is several": (
        {"baseline": {"references": "5"}},
        '"report.baseline" is 5, which several cells are; name one of the cells',
    ),
    "a baseline that is none": (
        {"baseline": {"method": "first", "references": "5"}},
        '"report.baseline" is first-5, which no cell is; name one of the cells',
    ),
    "curves along nothing": (
        {"curves": [{"title": "t", "lines": "method", "x": "time"}]},
        '"report.curves.1.x" is "time"; choose from updates, epochs, method, references, align',
    ),
}


@pytest.mark.parametrize(("values", "says"), REPORTS.values(), ids=REPORTS)
def test_a_wish_that_cannot_be_met_is_refused(folder: Path, values, says):
    changed_report(folder, **values)
    assert refused(folder) == f"grid.json: {says}"


def test_tests_on_other_examples_are_refused(folder: Path):
    found = record({"method": "first", "references": "1"}, 1, tested=True)["test"]
    change(folder / "first-1-seed1.json", test={**found, "examples": 39})
    assert refused(folder).startswith(
        'first-1-seed1.json: "test.per_example.bleu" is for 40 examples, and there are 39'
    )
    change(folder / "first-1-seed1.json", test={**found, "examples": 39, "per_example": {}})
    says = "the test set has 40 examples, and that of first-1-seed1.json 39; test all cells on the same examples"
    assert refused(folder) == f"first-1-seed2.json: {says}"


def test_tests_on_other_contents_are_refused(folder: Path):
    found = record({"method": "first", "references": "1"}, 2, tested=True)["test"]
    change(folder / "first-1-seed2.json", test={**found, "inputs": "other"})
    jobs = json.loads((folder / "grid.json").read_text())["jobs"]
    change(folder / "grid.json", jobs={**jobs, "first-1-seed2": {**JOB, "test_set": "other"}})
    says = "the test set has other contents than that of first-1-seed1.json; run polyref experiment again"
    assert refused(folder) == f"first-1-seed2.json: {says}"


def test_a_test_on_what_the_test_set_was_before_is_left_out(folder: Path):
    found = record({"method": "first", "references": "1"}, 1, tested=True)["test"]
    change(folder / "first-1-seed1.json", test={**found, "inputs": "old"})
    assert [run.test for run in read_records(folder).runs if run.file.endswith("/first-1-seed1.json")] == [None]


def test_a_figure_without_a_metric_shows_the_goal(folder: Path):
    changed_report(folder, curves=[{"title": "t", "lines": "method"}, {"title": "", "lines": "method", "metric": ""}])
    assert [one.metric for one in read_records(folder).curves] == ["bleu", "bleu"]
