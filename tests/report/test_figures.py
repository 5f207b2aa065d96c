"""The figures of a report: which lines they have, and that they are the same tomorrow."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import METHODS, change, grid, write_records

pytest.importorskip("matplotlib")

from polyref.errors import InputError
from polyref.report import figures
from polyref.report.records import Curves, Expansion, Records, read_records

BY_METHOD = Curves("", "method", {"references": "20", "align": "soft"}, "updates", "bleu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_records(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def records(folder: Path) -> Records:
    return read_records(folder)


def test_figures_are_well_formed_and_have_the_same_bytes_again(records: Records):
    first, second = list(figures.figures_of(records)), list(figures.figures_of(records))
    assert [figure.name for figure in first] == ["possible", "curves-1", "curves-2"]
    assert first == second
    for figure in first:
        assert ElementTree.fromstring(figure.svg).tag.endswith("svg")
        assert figure.png.startswith(b"\x89PNG")
        assert b"<dc:date>" not in figure.svg


def test_nothing_of_matplotlib_is_changed(records: Records):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    list(figures.figures_of(records))
    assert dict(mpl.rcParams) == before


def test_a_curve_is_the_mean_over_seeds_between_the_lowest_and_the_highest(records: Records):
    lines = list(figures._lines(records, BY_METHOD))
    assert [line.label for line in lines] == ["sample-one", "uniform", "shuffle"]
    group = next(group for group in records.groups if group.cell == {"method": "shuffle", **BY_METHOD.where})
    values = [run.curve[3].scores["bleu"] for run in group.runs]
    assert lines[2].x[:4] == [250, 500, 750, 1000]
    assert (lines[2].y[3], lines[2].low[3], lines[2].high[3]) == (fmean(values), min(values), max(values))


def test_a_curve_ends_with_its_shortest_seed(tmp_path: Path):
    folder = write_records(tmp_path / "records")
    path = folder / "shuffle-20-soft-seed2.json"
    change(path, curve=[{"updates": n, "epoch": 0, "scores": {"bleu": 1.0}} for n in (250, 500, 777)])
    lines = list(figures._lines(read_records(folder), BY_METHOD))
    assert lines[2].x == [250, 500]


def test_epochs_are_counted_from_one_and_have_their_last_validation(tmp_path: Path):
    planned = grid()
    planned |= {"cells": [{"method": "first", "references": "1"}], "seeds": [1], "expansions": []}
    planned["report"] |= {"baseline": None, "test": []}
    folder = write_records(tmp_path / "records", planned)
    curve = [{"updates": 10 * n, "epoch": n // 2, "scores": {"bleu": float(n)}} for n in range(4)]
    change(folder / "first-1-seed1.json", curve=curve)
    [line] = figures._lines(read_records(folder), Curves("", "method", {}, "epochs", "bleu"))
    assert (line.x, line.y) == ([1, 2], [1, 3])


def test_lines_that_share_a_value_are_told_apart_by_the_others(records: Records):
    lines = figures._lines(records, Curves("", "align", {"method": "shuffle"}, "updates", "bleu"))
    assert [line.label for line in lines] == [f"{align}, {size}" for align in ("hard", "soft") for size in (10, 20, 50)]


def test_along_an_axis_a_point_is_the_best_validation_of_a_cell(records: Records):
    lines = list(figures._lines(records, Curves("", "method", {"align": "soft"}, "references", "bleu")))
    assert {line.label: line.x for line in lines} == {
        "first": [0],
        "sample-one": [1, 2, 3, 4],
        "uniform": [1, 2, 3, 4],
        "shuffle": [1, 2, 3, 4],
    }
    assert lines[0].y == [fmean(run.best.scores["bleu"] for run in records.groups[0].runs)]


def test_a_metric_that_curves_do_not_have_is_an_error(records: Records):
    with pytest.raises(
        InputError, match=r'sample-one-20-soft-seed1.json: "curve" has no "meteor"; name another metric'
    ):
        list(figures._lines(records, Curves("", "method", BY_METHOD.where, "updates", "meteor")))


BAND = "the band reaches from the lowest to the highest."
SEEDS: dict[str, tuple[list[str], str]] = {
    "all": ([], f" Mean over 3 seeds; {BAND}"),
    "fewer of one line": (["shuffle-20-soft-seed3"], f" Mean over 2 to 3 seeds; {BAND}"),
    "fewer of another figure": (["shuffle-10-soft-seed3"], f" Mean over 3 seeds; {BAND}"),
    "fewer of all lines": ([f"{method}-20-soft-seed2" for method in METHODS[1:]], f" Mean over 2 seeds; {BAND}"),
    "one": ([f"{method}-20-soft-seed{seed}" for method in METHODS[1:] for seed in (1, 3)], " One seed."),
}


@pytest.mark.parametrize(("missing", "says"), SEEDS.values(), ids=SEEDS)
def test_a_caption_has_the_number_of_seeds_that_lines_have(tmp_path: Path, missing, says):
    folder = write_records(tmp_path / "records")
    for name in missing:
        (folder / f"{name}.json").unlink()
    lines = list(figures._lines(read_records(folder), BY_METHOD))
    assert figures._caption(BY_METHOD, lines) == f"Learning curves on the validation set by method.{says}"


def test_many_lines_have_no_bands(records: Records):
    from matplotlib.figure import Figure

    lines = list(figures._lines(records, BY_METHOD))
    for drawn, has_bands in ((lines, True), ([*lines, *lines], False)):
        axes = Figure().subplots()
        figures._draw_lines(axes, drawn, records, BY_METHOD)
        assert bool(axes.collections) is has_bands
        assert ("the band" in figures._caption(BY_METHOD, drawn)) is has_bands


def test_a_caption_has_the_number_of_seeds_at_all_places_along_an_axis(tmp_path: Path):
    folder = write_records(tmp_path / "records")
    (folder / "shuffle-10-soft-seed3.json").unlink()
    wanted = Curves("Sizes", "method", {"align": "soft"}, "references", "bleu")
    lines = list(figures._lines(read_records(folder), wanted))
    assert figures._caption(wanted, lines) == f"Sizes. Mean over 2 to 3 seeds; {BAND}"


def test_figures_without_a_line_are_left_out(tmp_path: Path):
    planned = grid()
    folder = write_records(tmp_path / "records", planned)
    for path in folder.glob("*-20-soft-*"):
        path.unlink()
    change(folder / "grid.json", expansions=[])
    assert [figure.name for figure in figures.figures_of(read_records(folder))] == ["curves-2"]


def test_a_score_that_is_good_when_low_and_a_single_point_are_drawn(tmp_path: Path):
    planned = grid()
    planned |= {"cells": [{"method": "first", "references": "1"}], "goal": "perplexity", "expansions": []}
    planned["report"] |= {"baseline": None, "test": [], "curves": [{"title": "t", "lines": "method", "where": {}}]}
    folder = write_records(tmp_path / "records", planned)
    for path in folder.glob("*seed*"):
        change(path, curve=[{"updates": 5, "epoch": 0, "scores": {"perplexity": 9.0}}])
    assert len(list(figures.figures_of(read_records(folder)))) == 1


def test_expansions_with_the_same_lattices_are_drawn_once(records: Records):
    drawn = figures._distinct(records)
    assert [(label, one.per_example) for one, label in drawn] == [("hard", 50), ("soft", 50)]


def test_lattices_are_named_by_the_axis_that_tells_them_apart(records: Records):
    gold = {"method": ("first", "shuffle"), "references": ("1", "50"), "align": ("soft",)}
    soft = Expansion(gold, 50, 0, {3: 1})
    hard = Expansion({"method": ("shuffle",), "references": ("50",), "align": ("hard",)}, 50, 0, {2: 1})
    drawn = figures._distinct(replace(records, expansions=(soft, hard)))
    assert [label for _, label in drawn] == ["soft", "hard"]


def test_lattices_that_no_axis_tells_alone_are_named_by_all_that_differ(records: Records):
    some = [
        Expansion({"method": ("shuffle",), "references": sizes, "align": ()}, 50, 0, {len(sizes): 1})
        for sizes in (("10", "20"), ("20",))
    ]
    drawn = figures._distinct(replace(records, expansions=tuple(some)))
    assert [label for _, label in drawn] == ["10, 20", "20"]


def test_an_expansion_that_nobody_has_read_is_not_drawn(records: Records):
    alone, unread = (Expansion(dict.fromkeys(records.axes, ()), 20, 0, held) for held in ({0: 1}, {}))
    assert figures._distinct(replace(records, expansions=(alone, unread))) == [(alone, "")]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8).map(sorted), st.floats(0.5, 10))
def test_names_are_moved_apart_in_their_order(heights, apart):
    found = figures._moved_apart(heights, apart, -1000, 1000)
    assert all(above - below >= apart * 0.999 for below, above in pairwise(found))
    if all(above - below >= apart for below, above in pairwise(heights)):
        assert found == pytest.approx(heights)
    assert fmean(found) == pytest.approx(fmean(heights), abs=1e-6)
