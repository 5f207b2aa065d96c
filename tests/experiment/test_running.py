"""A grid trains every job once, goes on after any end, and leaves one record for each cell and seed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from polyref.errors import InputError, PolyrefError
from polyref.experiment import running
from polyref.experiment.grid import read_grid
from polyref.experiment.reading import read_recipe, toml_of, toml_value
from polyref.experiment.records import _data
from polyref.experiment.running import Run, run_grid
from polyref.report.records import read_records

GRID = """
recipe = "recipe.toml"
output = "{output}"
seeds = [1, 2]
pick = ["batch"]
[axis.method]
first = {{schedule.name = "first"}}
shuffle = {{schedule.name = "shuffle"}}
[axis.references]
gold = {{}}
6 = {{expand.per_example = 6}}
[axis.batch]
8 = {{batch.pairs = 8}}
16 = {{batch.pairs = 16}}
[[cells]]
method = "first"
references = "gold"
batch = 8
[[cells]]
method = "shuffle"
references = 6
batch = "all"
[report]
rows = ["references", "method"]
baseline = {{method = "first", references = "gold"}}
[[report.curves]]
title = "Methods"
lines = "method"
"""
TIMES = ("seconds",)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = made_up.translation(tmp_path, 24)
    data["test"] = made_up.write(tmp_path / "test.jsonl", made_up.records(5, seed=2))
    recipe = made_up.recipe(tmp_path, data, fit={"epochs": None, "updates": 12, "validate_every": 4, "average": 0.9})
    lines = []
    for section, values in recipe.items():
        lines += [
            f"[{section}]",
            *(f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None),
        ]
    (tmp_path / "recipe.toml").write_text("\n".join(lines))
    return tmp_path


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items() if key not in TIMES}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def grid_file(name: str) -> str:
    Path(f"{name}.toml").write_text(GRID.format(output=name))
    return f"{name}.toml"


def records(folder: str) -> dict[str, Any]:
    """All records, without what may differ between two runs."""
    return {path.name: timeless(json.loads(path.read_text())) for path in sorted(Path(folder, "records").iterdir())}


def test_a_grid_leaves_a_record_for_every_cell_that_was_picked_and_every_seed(here: Path):
    said: list[str] = []
    run = Run.of(read_grid(grid_file("one")))
    run_grid(run, say=said.append)
    found = records("one")
    picked = [name for name in found if found[name].get("test") is not None]
    assert len(found) == 1 + 2 + 3  # the grid; the first cell; the second, its two batches with the first seed
    assert len(picked) == 4
    record = found["first-gold-8-seed1.json"]
    assert record["cell"] == {"method": "first", "references": "gold", "batch": "8"}
    assert [point["updates"] for point in record["curve"]] == [4, 8, 12]
    assert record["updates"] == 12
    assert record["best"]["scores"]["bleu"] == max(point["scores"]["bleu"] for point in record["curve"])
    assert len(record["test"]["per_example"]["bleu"]) == 5
    assert found["grid.json"]["data"][-1] == {"part": "test", "examples": 5, "references": 15, "least": 3, "most": 3}
    [expansion] = found["grid.json"]["expansions"]
    assert expansion["per_example"] == 6
    assert sum(expansion["possible"].values()) == 24
    assert len(list(Path("one").glob("expanded-*.jsonl"))) == 1
    [figure] = read_records("one/records").curves
    assert (figure.metric, figure.where) == ("bleu", {})
    before = {path: path.stat().st_mtime_ns for path in Path("one").rglob("*")}
    run_grid(Run.of(read_grid("one.toml")))
    changed = {path for path in Path("one").rglob("*") if before.get(path) != path.stat().st_mtime_ns}
    assert {path.name for path in changed} <= {"grid.json", "records"}  # what is done is not done again


def test_test_scores_follow_from_what_each_example_adds(here: Path):
    from polyref.score import bleu_of_counts

    run_grid(Run.of(read_grid(grid_file("one")), ["first-*"]))
    test = records("one")["first-gold-8-seed1.json"]["test"]
    rows = [[*row, *(max(0, row[0] - order) for order in range(4))] for row in test["per_example"]["bleu"]]
    assert bleu_of_counts(np.array(rows).sum(axis=0)) == pytest.approx(test["scores"]["bleu"]["score"], abs=1e-5)
    assert np.mean(test["per_example"]["cider"]) == pytest.approx(test["scores"]["cider"]["score"], abs=1e-5)


def test_what_is_not_on_this_machine_stays_in_the_record_of_the_grid(here: Path):
    run_grid(Run.of(read_grid(grid_file("one"))))
    whole = records("one")["grid.json"]
    for path in Path("one").glob("expanded-*"):
        path.unlink()
    run_grid(Run.of(read_grid("one.toml"), ["first-*"]))
    assert records("one")["grid.json"] == whole
    Path("gone.jsonl").write_text(Path("train.jsonl").read_text())
    grid = Path("one.toml").read_text().replace("6 = {", '6 = {data.train = "gone.jsonl", ')
    Path("one.toml").write_text(grid)
    run_grid(Run.of(read_grid("one.toml")))
    whole = records("one")["grid.json"]
    Path("gone.jsonl").unlink()
    run_grid(Run.of(read_grid("one.toml"), ["first-*"]))
    assert records("one")["grid.json"]["jobs"] == whole["jobs"]
    assert not read_records("one/records").left_out


def test_a_new_seed_leaves_what_is_not_on_this_machine(here: Path):
    run_grid(Run.of(read_grid(grid_file("one"))))
    whole = records("one")["grid.json"]
    for path in Path("one").glob("expanded-*"):
        path.unlink()
    Path("one.toml").write_text(Path("one.toml").read_text().replace("seeds = [1, 2]", "seeds = [1, 2, 3]"))
    run_grid(Run.of(read_grid("one.toml"), ["first-*"]))
    found = records("one")["grid.json"]
    assert (found["expansions"], found["data"]) == (whole["expansions"], whole["data"])
    assert len(found["jobs"]) == 9


def test_a_cell_that_is_gone_is_gone_from_the_record_of_the_grid(here: Path):
    text = Path(grid_file("one")).read_text()
    more = text.replace("\n6 = {", "\nfewer = {data.examples = 10}\n6 = {").replace(
        '"gold"\nbatch', '["gold", "fewer"]\nbatch', 1
    )
    Path("one.toml").write_text(more)
    run_grid(Run.of(read_grid("one.toml")))
    parts = [one["part"] for one in records("one")["grid.json"]["data"]]
    assert "train first fewer 8" in parts
    Path("one.toml").write_text(text)
    run_grid(Run.of(read_grid("one.toml")))
    assert [one["part"] for one in records("one")["grid.json"]["data"]] == ["train", "dev", "test"]


def test_cells_with_fewer_seeds_are_trained_with_the_first_ones_only(here: Path):
    Path("fewer.toml").write_text(GRID.format(output="fewer").replace("batch = 8\n", "batch = 8\nseeds = 1\n"))
    run_grid(Run.of(read_grid("fewer.toml"), ["first-*"]))
    assert set(records("fewer")) == {"grid.json", "first-gold-8-seed1.json"}
    assert read_records("fewer/records").planned == 1 + 2 + 1  # the other cell: two to pick from, and the second seed


def test_a_grid_that_is_killed_again_and_again_ends_with_the_same_records(here: Path):
    command = [sys.executable, "-m", "polyref", "experiment", grid_file("killed"), "--jobs", "2", "--quiet"]
    draw = random.Random()
    kills, wanted = 0, int(os.environ.get("POLYREF_KILLS", "4"))  # make trust kills it more often
    while True:
        process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, start_new_session=True)
        try:
            # First as soon as a run has begun, so that even a fast machine is not done by then; later at any moment.
            while not kills and process.poll() is None and not list(Path("killed/runs").glob("*/begun.json")):
                time.sleep(0.01)
            assert process.wait((3 + 4 * draw.random() if kills else 0.1) if kills < wanted else 300) == 0
            break
        except subprocess.TimeoutExpired:
            # All of it; or the parent alone, whose workers see the end of their connection, and end as well.
            draw.choice((os.kill, os.killpg))(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            time.sleep(0.5)
    assert kills
    run_grid(Run.of(read_grid(grid_file("whole"))))
    killed, whole = records("killed"), records("whole")
    for found in (killed, whole):
        found["grid.json"].pop("name")
        found["grid.json"]["report"].pop("title")
    assert killed == whole


def one_cell(more: str = "", only: Sequence[str] = ()) -> Run:
    """A grid that is quickly trained."""
    Path("one.toml").write_text(f"recipe='recipe.toml'\noutput='one'\n[set]\nfit.updates=4\n{more}")
    return Run.of(read_grid("one.toml"), only)


def same_size(path: str, old: str, new: str) -> None:
    """Change what a file says, but not its length."""
    text = Path(path).read_text()
    assert len(old) == len(new)
    assert old in text
    Path(path).write_text(text.replace(old, new))


def test_what_reads_other_contents_is_done_again_and_nothing_else(here: Path):
    run_grid(one_cell())
    before = records("one")["only-seed1.json"]
    weights = next(Path("one/runs").glob("*/weights.safetensors"))
    trained = weights.stat().st_mtime_ns
    same_size("test.jsonl", "sits", "lies")
    run_grid(one_cell())
    tested = records("one")["only-seed1.json"]
    assert tested["test"]["inputs"] != before["test"]["inputs"]
    assert tested["curve"] == before["curve"]
    assert weights.stat().st_mtime_ns == trained
    same_size("train.jsonl", "sits", "lies")
    run = one_cell()
    run_grid(run)
    assert not run.failed
    again = records("one")["only-seed1.json"]
    assert again["job"] == before["job"]
    assert again["inputs"] != before["inputs"]
    assert weights.stat().st_mtime_ns != trained


def test_a_run_that_was_stopped_begins_anew_if_what_it_reads_has_changed(here: Path):
    run = one_cell()
    run_grid(run)
    folder = Path(run.job(0, 1).stage.run.output)
    (folder / "done.json").unlink()  # as if it had been killed
    (folder / "left").touch()
    same_size("train.jsonl", "sits", "lies")
    run_grid(one_cell())
    assert not (folder / "left").exists()
    assert (folder / "done.json").exists()


DAMAGED: list[Any] = [None, [], {}, {"best": []}, {"best": {"scores": {}}}, {"best": {"scores": {"bleu": "high"}}}]
DAMAGED += [
    {"updates": 0},
    {"updates": 10**400},
    {"seconds": "1"},
    {"seconds": float("nan")},
    {"curve": None},
    {"versions": []},
    {"cell": {"a": "b"}},
    {"seed": 2},
    {"test": {}},
    {"test": {"inputs": "", "examples": 1, "scores": {}, "per_example": {"cider": [10**400]}, "extra": {}}},
    {"test": {"inputs": "", "examples": 5, "scores": {"bleu": 1}}},
]


@pytest.mark.parametrize("damage", DAMAGED, ids=str)
def test_a_record_that_is_not_one_is_written_anew(here: Path, damage: Any):
    run_grid(one_cell())
    path = Path("one/records/only-seed1.json")
    whole = path.read_text()
    path.write_text("" if damage is None else json.dumps({**json.loads(whole), **damage} if damage else damage))
    assert one_cell().record(0, 1) is None
    run_grid(one_cell())
    assert path.read_text() == whole


@pytest.mark.parametrize("name", ["done.json", "test.json"])
def test_a_run_whose_end_is_not_told_ends_again(here: Path, name: str):
    run_grid(one_cell())
    [path] = Path("one/runs").glob(f"*/{name}")
    whole = timeless(json.loads(path.read_text()))
    path.write_text('{"inputs": "' + whole["inputs"] + '"}')
    Path("one/records/only-seed1.json").unlink()
    assert not next(one_cell().wanted())[2].is_done
    run_grid(one_cell())
    assert timeless(json.loads(path.read_text())) == whole


def test_a_model_that_is_lost_is_trained_again_if_it_is_needed(here: Path):
    run_grid(one_cell())
    whole = records("one")
    [weights] = Path("one/runs").glob("*/weights.safetensors")
    weights.unlink()
    run_grid(one_cell())
    assert not weights.exists()  # the record is there
    Path("one/records/only-seed1.json").unlink()
    run_grid(one_cell())
    assert weights.exists()
    assert records("one") == whole


def test_a_stage_that_is_lost_is_not_trained_again_where_the_last_one_is_there(here: Path):
    stages = "\n[[stage]]\nname='one'\n[[stage]]\nname='two'\n"
    Path("recipe.toml").write_text(Path("recipe.toml").read_text() + stages)
    run = one_cell()
    run_grid(run)
    first, last = run.job(0, 1).before, run.job(0, 1)
    assert first is not None
    weights = [Path(job.stage.run.output, "weights.safetensors") for job in (first, last)]
    weights[0].unlink()
    same_size("test.jsonl", "sits", "lies")
    run_grid(one_cell())
    assert [path.exists() for path in weights] == [False, True]
    Path("one/records/only-seed1.json").unlink()
    weights[1].unlink()
    run_grid(one_cell())
    assert all(path.exists() for path in weights)


def test_records_need_no_log(here: Path):
    run_grid(one_cell())
    whole = records("one")
    [log] = Path("one/runs").glob("*/log.jsonl")
    log.write_text('{"wh')
    Path("one/records/only-seed1.json").unlink()
    run_grid(one_cell())
    assert records("one") == whole


def test_a_run_whose_end_has_been_changed_is_trained_again(here: Path):
    run_grid(one_cell())
    whole = records("one")
    [path] = Path("one/runs").glob("*/done.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "best": {}}))
    Path("one/records/only-seed1.json").unlink()
    run_grid(one_cell())
    assert records("one") == whole


@pytest.mark.parametrize("damage", [{"jobs": []}, {"jobs": {"a": 1}}, {"data": [{}]}, {"expansions": [1]}], ids=str)
def test_a_damaged_grid_is_written_anew(here: Path, damage: Any):
    run_grid(one_cell())
    path = Path("one/records/grid.json")
    whole = path.read_text()
    path.write_text(json.dumps({**json.loads(whole), **damage}))
    run_grid(one_cell())
    assert path.read_text() == whole


def test_records_of_a_grid_whose_runs_are_there_are_all_written(here: Path):
    run_grid(Run.of(read_grid(grid_file("one"))))
    whole = records("one")
    for path in Path("one/records").iterdir():
        path.unlink()
    run_grid(Run.of(read_grid("one.toml")))
    assert records("one") == whole


def test_two_grids_do_not_share_their_records(here: Path):
    run_grid(Run.of(read_grid(grid_file("one")), ["first-*"]))
    whole = records("one")
    Path("two.toml").write_text(Path("one.toml").read_text())
    with pytest.raises(InputError, match="one/records: these are the records of the grid one; give `records` another"):
        run_grid(Run.of(read_grid("two.toml"), ["first-*"]))
    assert records("one") == whole


def test_the_plan_of_a_grid_counts_what_will_be_trained(here: Path):
    run = Run.of(read_grid(grid_file("one")))
    assert len(run.planned()) == 2 + 2 + 1  # the first cell; two batches with the first seed, and one with the second
    run_grid(run)
    done = Run.of(read_grid("one.toml"))
    assert sorted(done.planned()) == sorted((cell, seed) for cell, seed, _ in done.wanted())
    assert done.seconds_left(1) == 0


def test_a_changed_encoder_or_start_changes_what_a_job_reads(here: Path):
    Path("french").mkdir()
    Path("french/weights.safetensors").write_text("old")
    more = "expand={per_example=6, align='soft', encoder='french'}\n"
    job = one_cell(more).job(0, 1)
    Path("french/weights.safetensors").write_text("new")
    assert one_cell(more).job(0, 1).name == job.name
    assert one_cell(more).job(0, 1).inputs != job.inputs


def test_processes_are_no_part_of_a_job(here: Path):
    jobs = [
        one_cell(f"expand={{per_example=6{more}}}\n").job(0, 1).name for more in ("", ", workers=3", ", engine='plain'")
    ]
    assert len(set(jobs)) == 1


def test_some_cells_need_no_files_of_others(here: Path):
    more = "[axis.a]\nx={}\ny={data.train='gone.jsonl'}\nz={expand.per_example=6}\n"
    said: list[str] = []
    run_grid(one_cell(more, ["x"]), say=said.append)
    assert "x-seed1.json" in records("one")
    assert records("one")["grid.json"]["expansions"] == []
    assert not [line for line in said if "expanding" in line]
    run_grid(one_cell(more, ["z"]))
    run_grid(one_cell(more, ["x"]))
    assert [one["cells"] for one in records("one")["grid.json"]["expansions"]] == [[{"a": "z"}]]


def test_training_sets_of_several_sizes_are_told_apart(here: Path):
    grid = one_cell("[axis.size]\n5={data.examples=5}\n9={data.examples=9}\n[axis.rate]\nx={}\ny={fit.clip=2.0}\n").grid
    Path("one").mkdir()
    parts = [(one["part"], one["examples"]) for one in _data(grid, range(4))]
    assert sorted(parts) == [("dev", 6), ("test", 5), ("train 5", 5), ("train 9", 9)]


def test_no_more_processes_are_started_than_there_are_jobs(here: Path, monkeypatch: pytest.MonkeyPatch):
    started = []

    def as_done(*given: Any, workers: int, **more: Any) -> Any:
        started.append(workers)
        return original(*given, workers=workers, **more)

    original = running.as_done
    monkeypatch.setattr(running, "as_done", as_done)
    run_grid(one_cell(), jobs=1000)
    run_grid(one_cell(), jobs=1000)
    assert started == [1]


def test_where_validation_is_by_perplexity_alone_the_test_set_has_the_usual_scores(here: Path):
    run_grid(one_cell("validation={metrics=['perplexity'], goal='perplexity'}\n"))
    assert list(records("one")["only-seed1.json"]["test"]["scores"]) == ["bleu", "cider", "rouge-l"]


def test_a_captioner_is_tested_with_features_whose_ids_are_in_another_file(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = made_up.images(tmp_path, 12)
    with np.load(data["features"]) as found:
        np.save("features.npy", found["feats"])
        Path("ids.txt").write_text("".join(f"{id}\n" for id in found["ids"]))
    data |= {"features": "features.npy", "feature_ids": "ids.txt", "test": data["dev"]}
    [stage] = read_recipe(made_up.recipe(tmp_path / "model", data)).stages
    Path("recipe.toml").write_text(toml_of(stage))
    run = one_cell()
    run_grid(run)
    assert not run.failed
    assert records("one")["only-seed1.json"]["test"]["examples"] == 6


def test_a_training_set_of_which_nothing_is_left_is_refused(here: Path):
    with pytest.raises(PolyrefError, match=r"train\.jsonl: no example has as many references as data\.at_least"):
        run_grid(one_cell("data.at_least=9\n"))


def test_a_cell_that_fails_does_not_end_the_others(here: Path):
    Path("wild.toml").write_text(
        "recipe='recipe.toml'\noutput='wild'\n[axis.rate]\nwild={fit={learning_rate=100, clip=1e30}}\nusual={}\n"
    )
    run = Run.of(read_grid("wild.toml"))
    said: list[str] = []
    run_grid(run, say=said.append)
    assert "usual-seed1.json" in records("wild")
    assert len(run.failed) + ("wild-seed1.json" in records("wild")) == 1


def test_the_time_left_is_known_as_soon_as_a_cell_has_begun(here: Path):
    run = one_cell("[axis.a]\nx={}\ny={fit.clip=2.0}\n")
    folder = Path(run.job(0, 1).stage.run.output)
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_text('{"what": "update", "updates": 1, "seconds": 8.0}\n')
    assert run.seconds_left(1) == pytest.approx((3 + 4) * 8.0)


def test_a_plan_counts_updates_before_anything_is_made(here: Path):
    run = Run.of(read_grid(grid_file("plan")))
    assert [run.updates_of(run.job(cell, 1)) for cell in run.cells] == [12, 12, 12]
    assert run.seconds_left(1) is None
    assert not Path("plan").exists()
