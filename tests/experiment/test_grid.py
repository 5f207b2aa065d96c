"""A grid file becomes cells, each with its recipe; what trains the same is one job."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyref.errors import PolyrefError, SettingsError
from polyref.experiment.grid import Grid, cell_name, read_grid

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


def test_cells_that_differ_in_a_picked_axis_are_one_group(read):
    grid = read(
        "recipe='recipe.toml'\noutput='out'\npick=['b']\n[axis.a]\nx={}\ny={}\n[axis.b]\n1={}\n2={batch.pairs=2}\n"
    )
    assert grid.groups() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("output='out'", "recipe is missing"),
        ("recipe='recipe.toml'\noutput='out'\nseeds=[1, 1]", "grid.toml:3: seeds is [1, 1]; give a list of different"),
        ("recipe='recipe.toml'\noutput='out'\nseed=[1]", 'grid.toml:3: seed is not a known key; did you mean "seeds"?'),
        (AXES + "[axis.empty]\n", "axis.empty has no values"),
        (AXES + "[axis.bad]\n'a/b'={}\n", "axis.bad.a/b cannot be a name; use letters"),
        (AXES + "[axis.bad]\nall={}\n", "axis.bad.all cannot be a name"),
        (AXES + "[[cells]]\nmethode='first'\n", 'cells.methode is not a known axis; did you mean "method"?'),
        (AXES + "[[cells]]\nmethod='last'\n", "cells.method.last is not a known value"),
        (AXES + "[[cells]]\nmethod=['first', 'first']\n", "the cell first is there twice; name it once"),
        (AXES + "[axis.wrong]\nx={fit.epoch=3}\n", "grid.toml: axis.wrong.x: fit.epoch is not a known key"),
        (AXES + "[report]\nrows=['size']\n", "report.size is not a known axis"),
        (AXES + "[report]\nbaseline={method='last'}\n", "report.method.last is not a known value"),
        (
            AXES + "[[cells]]\nmethod='first'\n[report]\nbaseline={method='shuffle'}\n",
            "there is no cell shuffle; name one of the cells",
        ),
    ],
)
def test_what_is_wrong_with_a_grid_is_said_with_its_place(read, text, said):
    with pytest.raises(SettingsError) as refused:
        read(text)
    assert said in str(refused.value)


def test_a_recipe_that_is_not_there_is_named(read):
    with pytest.raises(PolyrefError, match=r"gone\.toml: cannot be opened"):
        read("recipe='gone.toml'\noutput='out'\n")
