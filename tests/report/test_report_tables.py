"""The tables of a report: what stands where, and what the numbers are."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from made_records import change, grid, write_records

from polyref.errors import InputError
from polyref.report import tables
from polyref.report.forms import Table, as_markdown
from polyref.report.records import Records, read_records
from polyref.score.significance import compare


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return read_records(write_records(tmp_path_factory.mktemp("records")))


def small(tmp_path: Path, cells: list[dict[str, str]], **report: Any) -> Records:
    """The records of a grid with these cells; all BLEU scores are 20, and that of the last cell 21."""
    planned = grid()
    planned |= {"cells": cells, "seeds": [1, 2], "expansions": []}
    planned["report"] = {**planned["report"], "test": [], "curves": [], **report}
    del planned["report"]["baseline"]
    folder = write_records(tmp_path / "records", planned)
    last = "-".join(cells[-1].values())
    for path in folder.glob("*seed*"):
        bleu = 21.0 if path.name.startswith(f"{last}-seed") else 20.0
        change(path, best={"updates": 250, "scores": {"bleu": bleu, "cider": bleu / 40}})
    return read_records(folder)


def lines(table: Table | None) -> list[str]:
    assert table is not None
    return [line.strip("| ") for line in as_markdown(table).splitlines() if line.startswith("|")]


def test_the_data_are_shown_by_part(records: Records):
    assert lines(tables.data_table(records)) == [
        "Train | Dev | Test",
        "--- | ---: | ---: | ---:",
        "Examples | 1,000 | 200 | 40",
        "References | 5,000 | 1,010 | 200",
        "References per example | 5 | 4 to 9 (mean 5.05) | 5",
    ]


def test_expansion_says_who_fell_short_and_how_large_lattices_are(records: Records):
    assert lines(tables.expansions_table(records))[2] == "10 | hard | 10 | 31 (3.1%) | 64 to 127"


def test_a_score_is_the_mean_and_deviation_over_seeds(records: Records):
    table = tables.validation_table(records)
    assert table is not None
    scores = [run.best.scores["bleu"] for run in records.groups[0].runs]
    assert table.rows[0][2].text == f"{fmean(scores):.2f} ± {stdev(scores):.2f}"
    [first, *_] = table.numbers
    assert (first["mean"], first["deviation"], first["seeds"]) == (fmean(scores), stdev(scores), 3)
    assert first["updates"] == 3000


def test_rows_and_columns_are_in_the_order_of_their_axes(records: Records):
    table = tables.validation_table(records)
    assert table is not None
    assert [cell.text for cell in table.header[1]][2:4] == ["hard", "soft"]
    labels = [(row[0].text, row[1].text) for row in table.rows]
    assert labels[:4] == [("1", "first"), ("5", "sample-one*"), ("5", "uniform"), ("5", "shuffle")]
    assert labels[4:6] == [("10", "sample-one"), ("10", "uniform")]
    assert list(table.rules) == [1, 4, 7, 10]


def test_a_cell_without_the_columns_axis_spans_them(records: Records):
    table = tables.validation_table(records)
    assert table is not None
    assert [cell.span for cell in table.rows[0]] == [1, 1, 2, 2, 2]
    assert [cell.span for cell in table.rows[4]] == [1] * 8
    assert all(sum(cell.span for cell in row) == table.width for row in (*table.header, *table.rows))


def test_a_baseline_in_one_column_has_its_star_there(tmp_path: Path):
    planned = grid()
    planned["report"]["baseline"] = {"method": "shuffle", "references": "20", "align": "soft"}
    table = tables.validation_table(read_records(write_records(tmp_path / "records", planned)))
    assert table is not None
    [row] = [row for row in table.rows if (row[0].text, row[1].text) == ("20", "shuffle")]
    assert [cell.text.endswith("*") for cell in row] == [False, False, False, True, False, True, False, False]


def test_gold_and_expanded_references_of_one_number_have_two_rows(tmp_path: Path):
    cells = [{"method": "shuffle", "references": "5", "align": "hard"}, {"method": "shuffle", "references": "5"}]
    cells.append({"method": "shuffle", "references": "5", "align": "soft"})
    table = tables.validation_table(small(tmp_path, cells, metrics=["bleu"]))
    assert [line.split(" | ")[2:4] for line in lines(table)[2:]] == [
        ["20.00 ± 0.00", "←"],  # all alike in the first column: none is best
        ["20.00 ± 0.00", "**21.00 ± 0.00**"],
    ]


def test_a_column_that_would_be_alone_is_part_of_the_rows(tmp_path: Path):
    cells = [{"method": "shuffle", "references": "5", "align": "hard"}, {"method": "shuffle", "references": "5"}]
    table = tables.validation_table(small(tmp_path, cells, metrics=["bleu"]))
    assert [line.split(" | ")[:4] for line in lines(table)] == [
        ["References", "Method", "Align", "BLEU"],
        ["---", "---", "---", "---:"],
        ["5", "shuffle", "", "**21.00 ± 0.00**"],
        ["5", "shuffle", "hard", "20.00 ± 0.00"],
    ]


def test_a_column_axis_that_only_some_have_gives_them_columns_of_their_own(tmp_path: Path):
    cells = [{"method": "shuffle", "align": "hard"}, {"method": "shuffle", "references": "10", "align": "soft"}]
    table = tables.validation_table(small(tmp_path, cells, rows=["method"], columns=["align", "references"]))
    assert table is not None
    assert [cell.text for cell in table.header[1]][:3] == ["Method", "hard", "soft, 10"]
    assert [cell.text for cell in table.rows[0]][:3] == ["shuffle", "20.00 ± 0.00", "21.00 ± 0.00"]


def test_the_best_of_a_column_is_bold_and_equals_are_alike(tmp_path: Path):
    cells = [{"method": method, "references": "5"} for method in ("sample-one", "uniform", "shuffle")]
    table = tables.validation_table(small(tmp_path, cells, rows=["method"], columns=[]))
    assert table is not None
    assert [[cell.bold for cell in row] for row in table.rows] == [[False] * 4, [False] * 4, [False, True, True, False]]
    alone = tables.validation_table(small(tmp_path / "alone", cells[:1], rows=["method"], columns=[]))
    assert alone is not None
    assert not any(cell.bold for cell in alone.rows[0])


def test_a_missing_cell_is_empty_and_a_missing_seed_is_said(tmp_path: Path):
    cells = [{"method": method, "references": "10", "align": align} for method in METHODS for align in ("hard", "soft")]
    records = small(tmp_path, cells)
    folder = Path(records.file).parent
    for name in ("uniform-10-hard-seed1", "uniform-10-hard-seed2", "uniform-10-soft-seed2"):
        (folder / f"{name}.json").unlink()
    table = tables.validation_table(read_records(folder))
    assert table is not None
    [row] = [row for row in table.rows if row[1].text == "uniform"]
    assert [cell.text for cell in row[2:]] == ["", "20.00 (1 seed)", "", "0.500 (1 seed)", "", "250 of 3,000"]
    assert lines(table)[2] == "10 | uniform |  | 20.00 (1 seed) |  | 0.500 (1 seed) |  | 250 of 3,000"


METHODS = ("uniform", "shuffle")


@pytest.mark.parametrize(
    ("seeds", "says", "scores"),
    [
        ({"uniform": 0, "shuffle": 0}, "Mean ± standard deviation over 3 seeds.", ["", ""]),
        ({"uniform": 0, "shuffle": 1}, "One seed.", ["", "20.00"]),
        ({"uniform": 1, "shuffle": 2}, "Mean ± standard deviation over 2 seeds.", ["20.00 (1 seed)", "20.00 ± 0.00"]),
        ({"uniform": 2, "shuffle": 2}, "Mean ± standard deviation over 2 seeds.", ["20.00 ± 0.00", "20.00 ± 0.00"]),
    ],
)
def test_of_an_unfinished_grid_a_table_counts_the_seeds_of_the_fullest_cell(tmp_path: Path, seeds, says, scores):
    cells = [{"method": method, "references": "5"} for method in METHODS]
    planned = grid() | {"cells": cells, "expansions": []}
    del planned["report"]["baseline"]
    planned["report"] |= {"columns": [], "metrics": ["bleu"], "test": cells, "curves": []}
    folder = write_records(tmp_path / "records", planned)
    for method, there in seeds.items():
        for seed in (1, 2, 3):
            path = folder / f"{method}-5-seed{seed}.json"
            tested = read_tested(folder, path.name)
            tested["scores"]["bleu"]["score"] = 20.0
            change(path, best={"updates": 250, "scores": {"bleu": 20.0}}, test=tested)
            if seed > there:
                path.unlink()
    records = read_records(folder)
    made = [tables.validation_table(records), tables.test_table(records) if any(seeds.values()) else None]
    for table in filter(None, made):
        assert table.notes[0].startswith(f"{says} Updates")
        assert [row[2].text for row in table.rows] == scores


def test_what_validation_picked_is_named(tmp_path: Path):
    planned = grid()
    planned["axes"]["batch"] = ["100", "200"]
    planned |= {"pick": ["batch"], "expansions": []}
    planned["cells"] = [{"method": "shuffle", "references": "5", "batch": batch} for batch in ("100", "200")]
    planned["report"] |= {"baseline": {"method": "shuffle", "references": "5"}, "test": [], "curves": []}
    folder = write_records(tmp_path / "records", planned)
    change(folder / "shuffle-5-200-seed1.json", best={"updates": 250, "scores": {"bleu": 99.0, "cider": 0.5}})
    table = tables.validation_table(read_records(folder))
    assert table is not None
    assert table.rows[0][-1].text == "200"
    assert table.numbers[0]["picked batch"] == "200"
    assert "Batch: the best by BLEU on the validation set, seed 1." in table.notes[0]


def test_a_metric_that_was_not_computed_is_an_error(tmp_path: Path):
    records = small(tmp_path, [{"method": "first", "references": "1"}], metrics=["bleu", "rouge-l"])
    with pytest.raises(
        InputError, match=r"first-1-seed1.json: \"best.scores\" has no \"rouge-l\", which grid.json asks"
    ):
        tables.validation_table(records)


# -- test -----------------------------------------------------------------------------------------------------------


def test_the_test_table_has_the_gain_over_the_baseline(records: Records):
    table = tables.test_table(records)
    assert table is not None
    assert table.title == "BLEU and CIDEr on the test set of 40 examples."
    means = [fmean(run.test.scores["bleu"] for run in group.tested if run.test) for group in records.test]
    gain = means[3] - means[1]
    assert table.rows[3][3].text.endswith(f"({'+' if gain > 0 else '−'}{abs(gain):.2f})")
    assert "(" not in table.rows[1][3].text
    assert table.rows[1][1].text == "sample-one*"
    assert [cell.text for cell in table.header[0]][-2:] == ["CIDEr", "Updates"]
    assert table.fine_print[0] == "BLEU: nrefs:5|case:lc|tok:13a|version:2.6.0"


def test_a_score_of_nothing_is_a_score(tmp_path: Path):
    folder = write_records(tmp_path / "records")
    for path in folder.glob("*seed*"):
        tested = json.loads(path.read_text())["test"]
        if tested is not None:
            tested["scores"]["bleu"]["score"] = 0
            change(path, test=tested)
    table = tables.test_table(read_records(folder))
    assert table is not None
    assert table.rows[0][3].text == "0.00 ± 0.00 (+0.00)"
    assert not any(row[3].bold for row in table.rows)


def test_scores_with_different_signatures_are_said_to_be(tmp_path: Path):
    folder = write_records(tmp_path / "records")
    path = folder / "first-1-seed1.json"
    tested = read_tested(folder, "first-1-seed1.json")
    tested["scores"]["bleu"]["signature"] = "other"
    change(path, test=tested)
    table = tables.test_table(read_records(folder))
    assert table is not None
    assert table.fine_print[0].startswith("BLEU: other; nrefs:5")
    assert table.fine_print[0].endswith("(several: do not compare their scores)")
    assert "(" not in table.rows[0][3].text  # no gain
    assert "(" in table.rows[0][4].text
    compared = tables.comparisons_table(read_records(folder))
    assert compared is not None
    assert [(one["method"], one["metric"]) for one in compared.numbers][:2] == [("first", "cider"), ("shuffle", "bleu")]


def test_with_one_seed_each_a_comparison_says_nothing_about_seeds(tmp_path: Path):
    folder = write_records(tmp_path / "records", grid() | {"seeds": [1]})
    table = tables.comparisons_table(read_records(folder))
    assert table is not None
    assert table.notes[0].startswith(
        "One seed each: examples are drawn; whether other seeds would differ is not tested."
    )


def read_tested(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / name).read_text())["test"]


def test_there_is_no_test_table_without_tests(tmp_path: Path):
    records = small(tmp_path, [{"method": "first", "references": "1"}])
    assert tables.test_table(records) is None
    assert tables.comparisons_table(records) is None


def test_a_comparison_is_over_the_seeds_of_both(records: Records):
    table = tables.comparisons_table(records)
    assert table is not None
    assert records.baseline is not None
    ours, theirs = (
        [test.per_example["cider"] for test in group.tests] for group in (records.test[3], records.baseline)
    )
    found = compare(ours, theirs)
    line = table.numbers[-1]
    assert (line["method"], line["align"], line["metric"]) == ("shuffle", "soft", "cider")
    assert (line["difference"], line["p_randomisation"]) == (found.difference, found.p_randomisation)
    assert len(table.rows) == 6  # three cells beside the baseline, two metrics


def test_named_pairs_are_compared_as_well(tmp_path: Path):
    planned = grid()
    first, best = {"method": "first", "references": "1"}, {"method": "shuffle", "references": "20", "align": "soft"}
    planned["report"]["pairs"] = [[best, first]]
    found = read_records(write_records(tmp_path / "records", planned))
    table = tables.comparisons_table(found)
    assert table is not None
    assert len(table.rows) == 8  # those with the baseline, and one pair by two metrics
    cells = [[run.test.scores["bleu"] for run in group.tested if run.test] for group in found.pairs[0]]
    assert table.numbers[-2]["difference"] == pytest.approx(fmean(cells[0]) - fmean(cells[1]), abs=1e-3)
    assert [one["against"] for one in table.numbers] == ["sample-one-5"] * 6 + ["first-1"] * 2
    assert lines(table)[-2].split(" | ")[:5] == ["20", "shuffle", "soft", "method first, references 1", "BLEU"]


def test_pairs_alone_make_a_table(tmp_path: Path):
    planned = grid()
    first, best = {"method": "first", "references": "1"}, {"method": "shuffle", "references": "20", "align": "soft"}
    planned["report"]["pairs"] = [[best, first]]
    del planned["report"]["baseline"]
    table = tables.comparisons_table(read_records(write_records(tmp_path / "records", planned)))
    assert table is not None
    assert len(table.rows) == 2


def test_statistics_that_are_none_are_refused_with_their_file(tmp_path: Path):
    folder = write_records(tmp_path / "records")
    tested = read_tested(folder, "first-1-seed1.json")
    tested["per_example"]["bleu"] = [[1, 2]] * 40
    change(folder / "first-1-seed1.json", test=tested)
    with pytest.raises(
        InputError, match=r'first-1-seed1.json: "test.per_example.bleu": these are not statistics of bleu'
    ):
        tables.comparisons_table(read_records(folder))


def test_an_expansion_is_named_by_the_cells_that_use_it(tmp_path: Path):
    planned = grid()
    users = [{"method": method, "references": "20", "align": "hard"} for method in ("uniform", "shuffle")]
    one = {"per_example": 20, "short": 0, "possible": {"1": 3}}
    other = {"method": "shuffle", "references": "20", "align": "soft"}
    planned["expansions"] = [one | {"cells": users}, one | {"cells": [other]}]
    table = tables.expansions_table(read_records(write_records(tmp_path / "records", planned)))
    assert lines(table)[2:4] == [
        "uniform, shuffle | hard | 20 | 0 (0.0%) | 1",
        "shuffle | soft | 20 | 0 (0.0%) | 1",
    ]


def test_what_else_is_known_of_outputs_has_a_table_of_its_own(records: Records):
    found = tables.outputs_table(records)
    assert found is not None
    group = next(group for group in records.test if group.tested)
    seen = [run.test.extra["distinct outputs"] for run in group.tested if run.test]
    assert lines(found)[0].endswith("| Distinct outputs")
    assert found.numbers[0]["distinct outputs"] == fmean(seen)
    assert all("Distinct" not in line for line in lines(tables.test_table(records)))


def test_a_small_negative_number_stays_negative():
    assert [tables._signed(number, 3) for number in (-0.0004, 0.0004, -1.5, 0.0)] == [
        "−0.000",
        "+0.000",
        "−1.500",
        "+0.000",
    ]


@pytest.mark.parametrize(("values", "shown"), [([11, 12], "11.5"), ([11, 13], "12"), ([0.5, 0.25], "0.375"), ([], "")])
def test_a_mean_of_whole_numbers_is_not_rounded_away(values: list[float], shown: str):
    assert tables._mean_of(values) == shown
