"""polyref experiment as a command: what it plans, what it shows, how it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import made_up

from polyref.experiment.reading import read_recipe, toml_of


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    [stage] = read_recipe(made_up.recipe(tmp_path / "model", made_up.translation(tmp_path, 16))).stages
    Path("recipe.toml").write_text(toml_of(stage))
    path = tmp_path / "grid.toml"
    path.write_text(
        "recipe='recipe.toml'\noutput='out'\n[axis.method]\nfirst={schedule.name='first'}\nshuffle={}\n"
        "[axis.rate]\nlow={fit.learning_rate=0.001}\nhigh={}\n"
    )
    return path


def test_a_plan_shows_cells_and_updates_and_makes_nothing(run, grid: Path):
    done = run("experiment", grid, "--dry-run")
    assert done.code == 0
    assert done.out.decode().splitlines()[1:3] == ["first-low     4", "first-high    4"]
    assert "4 cells, 1 seed, 4 different jobs; time unknown: run one cell first, with --only" in done.out.decode()
    assert not Path("out").exists()


def test_some_cells_are_trained_and_their_scores_shown(run, grid: Path):
    done = run("experiment", grid, "--only", "first-low", "--only", "*-high", "--dry-run")
    assert [line.split()[0] for line in done.out.decode().splitlines()[1:-1]] == [
        "first-low",
        "first-high",
        "shuffle-high",
    ]
    done = run("experiment", grid, "--only", "first-*")
    assert done.code == 0
    assert "first-low seed 1: bleu" in done.err
    shown = run("experiment", grid, "--status").out.decode().splitlines()
    assert [line.split()[:4] for line in shown[1:]] == [
        ["first-low", "1", "of", "1"],
        ["first-high", "1", "of", "1"],
        ["shuffle-low", "0", "of", "1"],
        ["shuffle-high", "0", "of", "1"],
    ]
    assert "left with 1 at a time" in run("experiment", grid, "--dry-run").out.decode()


def test_what_was_tested_on_another_test_set_is_not_done(run, grid: Path):
    grid.write_text("recipe='recipe.toml'\noutput='out'\n[set]\ndata.test='test.jsonl'\n")
    test = Path(made_up.write(Path("test.jsonl"), made_up.records(4, seed=2)))
    assert run("experiment", grid).code == 0
    assert "only  1 of 1" in run("experiment", grid, "--status").out.decode()
    test.write_text("".join(test.read_text().splitlines(keepends=True)[:3]))
    assert "only  0 of 1" in run("experiment", grid, "--status").out.decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "0"], "--jobs is 0; give a number from 1 to 1024"),
        (
            ["--only", "first-*", "--only", "last-*"],
            '"last-*" is the name of no cell; give a pattern for names such as first-low',
        ),
    ],
)
def test_what_cannot_be_run_is_refused(run, grid: Path, arguments, said):
    done = run("experiment", grid, *arguments, "--dry-run")
    assert done.code == 2
    assert said in done.err


def test_files_that_are_not_there_are_refused_before_anything_is_made(run, grid: Path):
    Path("dev.jsonl").unlink()
    done = run("experiment", grid)
    assert done.code == 2
    assert "data.dev" in done.err
    assert not Path("out").exists()


def test_a_grid_without_axes_has_one_cell_with_a_name(run, grid: Path):
    grid.write_text("recipe='recipe.toml'\noutput='out'\n")
    for option in ("--status", "--dry-run"):
        assert run("experiment", grid, option).out.decode().splitlines()[1].split()[0] == "only"


def test_a_plan_counts_stages_that_are_trained_first(run, grid: Path):
    Path("recipe.toml").write_text(Path("recipe.toml").read_text() + "[[stage]]\nname='one'\n[[stage]]\nname='two'\n")
    plan = run("experiment", grid, "--dry-run").out.decode().splitlines()
    assert [line.split()[0] for line in plan[1:6]] == ["(before:"] * 4 + ["first-low"]
    assert plan[1].startswith("(before: one-")
    assert plan[1].endswith("  4")
