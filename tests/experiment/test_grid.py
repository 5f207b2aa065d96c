"""A grid file becomes cells, each with its recipe; what trains the same is one job."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from polyref.errors import SettingsError
from polyref.experiment.grid import Grid, read_grid
from polyref.experiment.layout import cell_name, layout_of

RECIPE = """
[run]
output = "elsewhere"
[data]
train = "train.jsonl"
dev = "dev.jsonl"
"""
AXES = """
recipe = "recipe.toml"
output = "out"
[axis.method]
first = {schedule.name = "first"}
shuffle = {schedule.name = "shuffle"}
[axis.references]
1 = {}
5 = {schedule.limit = 5}
10 = {expand.per_example = 10}
[axis.align]
hard = {expand.align = "hard"}
soft = {expand.align = "soft"}
"""
CURVE = "[[report.curves]]\ntitle='Curves'\nlines='method'\n"


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("recipe.toml").write_text(RECIPE)

    def made(text: str) -> Grid:
        Path("grid.toml").write_text(text)
        return read_grid("grid.toml")

    return made


def names(grid: Grid) -> list[str]:
    return [cell_name(cell) for cell in grid.cells]


def test_without_cells_a_grid_is_the_product_of_its_axes(read):
    grid = read(AXES)
    assert len(grid.cells) == 2 * 3 * 2
    assert names(grid)[:3] == ["first-1-hard", "first-1-soft", "first-5-hard"]


def test_cells_are_the_products_of_what_each_block_names(read):
    grid = read(
        AXES
        + '[[cells]]\nmethod="first"\nreferences=1\n'
        + '[[cells]]\nmethod="shuffle"\nreferences=5\n'
        + '[[cells]]\nmethod="shuffle"\nreferences=10\nalign="all"\n'
    )
    assert names(grid) == ["first-1", "shuffle-5", "shuffle-10-hard", "shuffle-10-soft"]
    schedules = [recipe.stages[0].schedule.schedule.schedule for recipe in grid.recipes]
    assert schedules == ["first", "shuffle", "shuffle", "shuffle"]
    assert [recipe.stages[0].expands for recipe in grid.recipes] == [False, False, True, True]


def test_what_is_set_for_all_cells_comes_over_the_recipe_and_below_the_cells(read):
    grid = read(
        "recipe='recipe.toml'\noutput='out'\n[set]\nfit={updates=7, clip=2.0}\n[axis.a]\nx={fit.clip=3.0}\ny={}\n"
    )
    assert [recipe.stages[0].fit.updates for recipe in grid.recipes] == [7, 7]
    assert [recipe.stages[0].fit.clip for recipe in grid.recipes] == [3.0, 2.0]


def test_all_cells_learn_their_subwords_from_the_training_set_of_the_first(read):
    grid = read("recipe='recipe.toml'\noutput='out'\n[axis.data]\nwhole={}\npart={data.train='part.jsonl'}\n")
    assert [recipe.stages[0].data.train for recipe in grid.recipes] == ["train.jsonl", "part.jsonl"]
    assert {recipe.stages[0].subwords.learn_from for recipe in grid.recipes} == {"train.jsonl"}


def test_cells_that_train_the_same_are_one_job(read):
    grid = read(AXES + '[[cells]]\nmethod="shuffle"\nreferences=1\nalign=["hard", "soft"]\n')
    hard, soft = (grid.jobs(cell, 1)[-1].name for cell in (0, 1))
    assert hard != soft  # as far as settings can tell
    same = read("recipe='recipe.toml'\noutput='out'\n[axis.a]\nx={fit.clip=3.0}\ny={fit.clip=3.0}\nz={fit.clip=4.0}\n")
    first, second, third = (same.jobs(cell, 1)[-1].name for cell in range(3))
    assert first == second != third
    assert same.jobs(0, 2)[-1].name != first


def test_a_job_is_known_by_what_is_chosen_and_not_by_what_is_usual(read):
    grid = read(
        "recipe='recipe.toml'\noutput='out'\n[axis.a]\nx={}\ny={fit={clip=1.0, tensorboard=true}}\nz={fit.clip=2.0}\n"
    )
    usual, same, other = (grid.jobs(cell, 1)[-1].name for cell in range(3))
    assert usual == same != other


def test_stages_before_the_last_are_shared_by_cells_and_seeds(read):
    Path("recipe.toml").write_text(RECIPE + "[[stage]]\nname='one'\n[[stage]]\nname='two'\n")
    grid = read("recipe='recipe.toml'\noutput='out'\nseeds=[1, 2]\n[axis.a]\nx={}\ny={stage.two.fit.clip=3.0}\n")
    jobs = [grid.jobs(cell, seed) for cell in (0, 1) for seed in (1, 2)]
    assert len({one.name for one, _ in jobs}) == 1
    assert len({two.name for _, two in jobs}) == 4
    assert all(two.stage.run.init_from == one.stage.run.output for one, two in jobs)


def test_some_cells_have_the_first_seeds_only(read):
    cells = "[[cells]]\nmethod='first'\n[[cells]]\nmethod='shuffle'\nreferences=[1, 5]\nseeds=2\n"
    grid = read("seeds=[7, 3, 5]\n" + AXES + cells)
    assert dict(zip(names(grid), grid.seeds, strict=True)) == {
        "first": (7, 3, 5),
        "shuffle-1": (7, 3),
        "shuffle-5": (7, 3),
    }


@pytest.mark.parametrize(("count", "seeds"), [(1, [0, 0, 5]), (2, [0, 5, 5]), (3, [5, 5, 5]), (9, [5, 5, 5])])
def test_a_seed_is_for_as_many_stages_as_the_grid_says(read, count, seeds):
    Path("recipe.toml").write_text(RECIPE + "".join(f"[[stage]]\nname='{name}'\n" for name in ("a", "b", "c")))
    grid = read(f"recipe='recipe.toml'\noutput='out'\nseeds=[5, 6]\nseeded_stages={count}\n[axis.a]\nx={{}}\n")
    assert [job.stage.run.seed for job in grid.jobs(0, 5)] == seeds
    shared = [one.name == other.name for one, other in zip(grid.jobs(0, 5), grid.jobs(0, 6), strict=True)]
    assert shared == [seed == 0 for seed in seeds]


def test_cells_that_differ_in_a_picked_axis_are_one_group(read):
    grid = read(
        "recipe='recipe.toml'\noutput='out'\npick=['b']\n[axis.a]\nx={}\ny={}\n[axis.b]\n1={}\n2={batch.pairs=2}\n"
    )
    assert grid.groups() == [[0, 1], [2, 3]]


def test_a_figure_without_a_metric_leaves_the_choice_to_the_report(read):
    [figure] = read(AXES + CURVE + "where={align='hard', references=5}\n").report["curves"]
    assert figure == {
        "title": "Curves",
        "lines": "method",
        "x": "updates",
        "where": {"align": "hard", "references": "5"},
    }


def test_a_cell_of_the_report_leaves_out_what_validation_picks(read):
    grid = read("pick=['align']\n" + AXES + "[report]\nbaseline={method='first', references=1}\n")
    assert grid.report["baseline"] == {"method": "first", "references": "1"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("output='out'", "recipe is missing"),
        ("recipe='recipe.toml'\noutput='out'\nseeds=[1, 1]", "grid.toml:3: seeds is [1, 1]; give different numbers"),
        ("recipe='recipe.toml'\noutput='out'\nseed=[1]", 'grid.toml:3: seed is not a known key; did you mean "seeds"?'),
        (AXES + "[axis.empty]\n", "axis.empty has no values"),
        (AXES + "[axis.bad]\n'a/b'={}\n", "axis.bad.a/b cannot be a name; use letters"),
        (AXES + "[axis.bad]\nall={}\n", "axis.bad.all cannot be a name"),
        (AXES + "[[cells]]\nmethode='first'\n", 'cells.1.methode is not a known axis; did you mean "method"?'),
        (AXES + "[[cells]]\nmethod='last'\n", "cells.1.method.last is not a known value"),
        (
            AXES + "[[cells]]\nmethod=['first', 'first']\n",
            ":14: cells name the cell first twice; name it once",
        ),
        (AXES + "[axis.wrong]\nx={fit.epoch=3}\n", "grid.toml:15: fit.epoch is not a known key"),
        (AXES + "[report]\nrows=['size']\n", "report.rows.size is not a known axis"),
        (AXES + "[report]\nbaseline={method='last'}\n", "report.baseline.method.last is not a known value"),
        ("cells=[]\n" + AXES, "grid.toml:1: cells names no cell; name at least one"),
        (AXES + "[[cells]]\nmethod=[]\n", "cells.1.method is empty; name at least one value"),
        ("set=[1]\n" + AXES, "grid.toml:1: set is not a table; write it as [set]"),
        ("seeds=[-1]\n" + AXES, "grid.toml:1: seeds holds -1; give numbers from 0 to 4294967295"),
        (
            AXES + "[[cells]]\nseeds=2\n",
            "cells.1.seeds is 2; say how many of the grid's seeds these cells have, from 1 to 1",
        ),
        (AXES + "[[cells]]\nseeds=[1]\n", "cells.1.seeds is [1]; say how many"),
        ("seeds=[4294967296]\n" + AXES, "grid.toml:1: seeds holds 4294967296"),
        ("pick=['metod']\n" + AXES, 'grid.toml:1: pick.metod is not a known axis; did you mean "method"?'),
        (AXES + "[axis.updates]\nx={}\n", "axis.updates is a word of reports; choose another name"),
        (AXES + '[axis."a b"]\nx={}\n', "axis.a b cannot be a name; use letters"),
        (AXES + f"[axis.long]\n{'a' * 300}={{}}\n", "cells give a cell a name of more than 200 letters"),
        (
            AXES + "[axis.more]\nfirst={}\n[[cells]]\nmethod='first'\n[[cells]]\nmore='first'\n",
            "cells give two cells the name first; give one of their values another name",
        ),
        (AXES + "[report]\nmetrics=['blue']\n", 'report.metrics holds "blue"; choose from bleu, cider'),
        (AXES + "[report]\nrows=['method']\ncolumns=['method']\n", "report.columns has method, which is in rows too"),
        (
            AXES + "[report]\nrows=['method']\ncolumns=['align']\n",
            "report.rows and columns do not tell first-1-hard",
        ),
        (AXES + "[report]\npairs=[{method='first'}]\n", "report.pairs holds what is not two cells; name two"),
        (AXES + "[report]\npairs={}\n", "report.pairs is not a list; write it as pairs = [...]"),
        (AXES + "[report]\npairs=[[{}, {method='first'}]]\n", "report.pairs names no axis; name one of the cells"),
        (
            AXES + "[[cells]]\nmethod=['first', 'shuffle']\nalign='soft'\n"
            "[report]\npairs=[[{method='first'}, {method='first', align='soft'}]]\n",
            "report.pairs holds what is not two cells; name two different ones in each",
        ),
        (AXES + "[[cells]]\nmethod='first'\n[[cells]]\nmethod='last'\n", "grid.toml:17: cells.2.method.last is not"),
        (AXES + CURVE + CURVE + "x='time'\n", "grid.toml:20: report.curves.2.x is"),
        (AXES + CURVE + "wher={align='soft'}\n", 'report.curves.1.wher is not a known key; did you mean "where"?'),
        ("pick=['align', 'align']\n" + AXES, 'grid.toml:1: pick has "align" twice; name it once'),
        (AXES + "[report]\nrows=['method', 'method']\n", 'report.rows has "method" twice; name it once'),
        (AXES + "[report]\nmetrics=['bleu', 'bleu']\n", 'report.metrics has "bleu" twice; name it once'),
        (
            "pick=['align']\n" + AXES + "[report]\nrows=['method', 'align']\n",
            "report.rows.align is not a known axis; choose from method, references",
        ),
        (AXES + "[set]\nfit.clip=2.0\nfit.epoch=3\n", "grid.toml:16: fit.epoch is not a known key"),
        (AXES + "[report]\npairs=[[]]\n", "report.pairs holds what is not two cells; name two different ones in each"),
        (AXES + "[report]\nbaseline=['first']\n", "report.baseline is not a table; write it as baseline = {...}"),
        (AXES + "[report]\nbaseline={method='first'}\n", "report.baseline is first, which several cells are"),
        (AXES + "[report]\ntest=[{method='all', references=1}]\n", "report.test.method.all is not a known value"),
        (AXES + CURVE + "where={size=1}\n", "report.curves.1.where.size is not a known axis"),
        (AXES + CURVE + "where={align=[]}\n", "report.curves.1.where.align is []; name one value"),
        (AXES + CURVE + "where={align='all'}\n", "report.curves.1.where.align.all is not a known value"),
        (AXES + CURVE + "where=[1]\n", "report.curves.1.where is not a table; write it as where = {...}"),
        ("pick=['method']\n" + AXES + CURVE, 'report.curves.1.lines is "method"; choose from references, align'),
        (AXES + CURVE + "x='time'\n", 'report.curves.1.x is "time"; choose from updates, epochs, method'),
        (AXES + CURVE + "metric='blue'\n", 'report.curves.1.metric is "blue"; choose from bleu, cider'),
        (
            AXES + "[[cells]]\nmethod='first'\n[report]\nbaseline={method='shuffle'}\n",
            "report.baseline is shuffle, which no cell is; name one of the cells",
        ),
    ],
)
def test_what_is_wrong_with_a_grid_is_said_with_its_place(read, text, said):
    with pytest.raises(SettingsError) as refused:
        read(text)
    assert said in str(refused.value)


def test_the_grid_of_the_page_about_experiments_can_be_read(read):
    page = Path(__file__).parents[2] / "docs" / "experiments.md"
    grid = read("\n".join(re.findall("```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)))
    assert "shuffle-20-32" in names(grid)
    assert set(grid.report) == {"title", "rows", "columns", "metrics", "baseline", "pairs", "test", "curves"}
    assert grid.seeds[-1] == grid.top.seeds[:2]


@pytest.mark.parametrize("title", ["Curves", ""])
def test_what_is_let_in_from_a_grid_file_is_let_in_from_the_records(read, title):
    report = "[report]\nrows=['method', 'references']\nbaseline={method='first', references=1}\n"
    figure = CURVE.replace("Curves", title) + "where={references=5}\nx='references'\nmetric='cider'\n"
    grid = read("pick=['align']\n" + AXES + report + figure)
    kept = json.loads(json.dumps(grid.report))
    assert layout_of(kept, grid.axes, grid.cells, grid.top.pick) == grid.report


def test_a_recipe_that_is_not_there_is_named(read):
    with pytest.raises(SettingsError, match=r"grid\.toml:1: recipe is .gone\.toml., and there is no such file"):
        read("recipe='gone.toml'\noutput='out'\n")
