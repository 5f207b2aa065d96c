"""A run that was killed goes on exactly; what is not that run's is refused, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from small_runs import BATCHES, SETTINGS, Line, checkpoint_in, content_of, stopped, train, weights_of  # noqa: E402

from polyref.errors import InputError, SettingsError  # noqa: E402
from polyref.fit import Decay  # noqa: E402
from polyref.fit.checkpoint import (  # noqa: E402
    Counters,
    State,
    has_checkpoint,
    load_checkpoint,
    save_best,
    save_checkpoint,
    where_it_stands,
)
from polyref.fit.loop import Step, check_run, is_finished  # noqa: E402
from polyref.fit.processes import Processes  # noqa: E402


def new_state() -> State:
    model = Line()
    return State(model, torch.optim.AdamW(model.parameters()), {})


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return weights_of(train(tmp_path_factory.mktemp("whole"))[0])


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
@pytest.mark.parametrize("updates", [1, 3, 4, BATCHES - 1, BATCHES, BATCHES + 1, 2 * BATCHES + 3, 4 * BATCHES])
def test_a_run_that_was_stopped_ends_with_the_same_weights(tmp_path: Path, optimiser, updates):
    whole, counters = train(tmp_path / "whole", optimiser=optimiser)
    stopped(tmp_path / "stopped", updates, optimiser=optimiser)
    resumed, counters_too = train(tmp_path / "stopped", optimiser=optimiser)
    assert weights_of(resumed) == weights_of(whole)
    assert counters_too == counters


def test_a_run_that_was_killed_at_any_moment_ends_with_the_same_weights(tmp_path: Path, uninterrupted: bytes):
    """`files`: right before the so many-th file is opened, renamed or removed, so also within a checkpoint."""
    script = Path(__file__).with_name("killed_runs.py")
    series = ["updates-5", "updates-19", *(f"files-{life}" for life in (22, 27, 31, 59))]
    done = subprocess.run([sys.executable, script, tmp_path, *series], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert [one["series"] for one in found] == series
    assert all(one["deaths"] for one in found)
    assert {one["ended"] for one in found} == {uninterrupted.hex()}


def test_a_resumed_run_does_no_work_twice(tmp_path: Path):
    told: list[Step] = []
    train(stopped(tmp_path, 10), on_step=told.append)
    assert told[0].updates == 10  # of the checkpoint behind update 9
    assert told[-1].updates == SETTINGS.epochs * BATCHES


def test_a_run_that_is_through_can_be_made_longer(tmp_path: Path):
    train(tmp_path / "first", epochs=2)
    longer, _ = train(tmp_path / "first", epochs=4)
    whole, _ = train(tmp_path / "whole", epochs=4)
    assert weights_of(longer) == weights_of(whole)


# Validations lower the learning rate, and none ends the run: one too many would be seen in the weights.
SLOWING = Decay(factor=0.8, gain=0.9, stop_after=99)


@pytest.mark.parametrize("average", [None, 0.9])
@pytest.mark.parametrize("validate_every", [None, 5])
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"updates": 3}, {"updates": 30}),
        ({"updates": 10}, {"updates": 30}),
        ({"updates": BATCHES}, {"updates": 30}),
        ({"updates": 2 * BATCHES + 1}, {"updates": None, "epochs": 4}),
        ({"epochs": 2}, {"epochs": 4}),
        ({"epochs": 1, "updates": 100}, {"epochs": 100, "updates": 30}),
    ],
)
def test_a_run_that_ended_at_its_limit_goes_on_as_if_it_had_not(tmp_path: Path, first, then, validate_every, average):
    choices = {"validate_every": validate_every, "average": average, "decay": SLOWING, "save_every": 1000}
    train(tmp_path / "longer", **choices, **{"epochs": None, **first})
    longer, counters = train(tmp_path / "longer", **choices, **{"epochs": None, **then})
    whole, counters_too = train(tmp_path / "whole", **choices, **{"epochs": None, **then})
    assert weights_of(longer) == weights_of(whole)
    assert counters == counters_too


@pytest.mark.parametrize("validate_every", [None, 5])
@pytest.mark.parametrize("updates", [3, 10, BATCHES, 2 * BATCHES + 1, 100])
def test_a_run_ends_after_its_updates_with_a_validation_and_a_checkpoint(tmp_path: Path, updates, validate_every):
    choices = {"epochs": None, "updates": updates, "validate_every": validate_every, "save_every": 1000}
    told: list[Step] = []
    falling = [1 / n for n in range(1, 99)]
    model, counters = train(tmp_path, on_step=told.append, validations=falling, **choices)
    assert counters.updates == counters.best_updates == updates
    assert told[-1].updates == updates
    assert told[-1].validation == counters.best
    assert where_it_stands(tmp_path).updates == updates
    assert is_finished(tmp_path, replace(SETTINGS, **choices))
    # It has ended: nothing is done again, and the model is the same.
    again, counters_too = train(tmp_path, on_step=told.append, validations=[], **choices)
    assert (weights_of(again), counters_too, told[-1].updates) == (weights_of(model), counters, updates)


def test_a_worse_validation_at_the_end_leaves_the_best_weights(tmp_path: Path):
    best, _ = train(tmp_path / "best", validations=[1.0], epochs=1)
    ended, counters = train(tmp_path / "ended", validations=[1.0, 2.0], epochs=None, updates=BATCHES + 2)
    assert weights_of(ended) == weights_of(best)
    assert (counters.best, counters.history) == (1.0, [1.0, 2.0])


@pytest.mark.parametrize(
    ("choices", "updates"),
    [
        ({"epochs": 2, "updates": 100}, 2 * BATCHES),
        ({"epochs": 2, "updates": 3}, 3),
        ({"epochs": None, "updates": 200}, 200),  # no limit of epochs
        ({"epochs": None}, 20 * BATCHES),
    ],
)
def test_the_limit_that_comes_first_counts(tmp_path: Path, choices, updates):
    assert train(tmp_path, decay=SLOWING, **choices)[1].updates == updates


def test_how_often_it_saves_does_not_change_a_run(tmp_path: Path):
    one, other = (weights_of(train(tmp_path / str(every), save_every=every)[0]) for every in (1, 1000))
    assert one == other


def test_only_the_newest_checkpoint_is_kept(tmp_path: Path):
    for updates in (4, 8, 11):
        stopped(tmp_path, updates)
        assert checkpoint_in(tmp_path)
    assert checkpoint_in(tmp_path).name == "000000009-0001-0000002"


def test_there_is_no_checkpoint_before_the_first(tmp_path: Path):
    stopped(tmp_path, 2)
    assert not has_checkpoint(tmp_path)
    assert load_checkpoint(tmp_path, new_state(), "run") is None
    assert where_it_stands(tmp_path) is None


def test_another_run_in_the_folder_is_refused_and_nothing_is_lost(tmp_path: Path):
    before = content_of(stopped(tmp_path, 11))
    with pytest.raises(SettingsError, match="holds a run with other settings or other data; give those again"):
        train(tmp_path, run="another run")
    assert content_of(tmp_path) == before


def test_a_checkpoint_that_was_not_finished_is_passed_over_and_removed(tmp_path: Path, uninterrupted: bytes):
    stopped(tmp_path, 11)
    unfinished = tmp_path / "checkpoints" / "000000012-0001-0000005.partial"
    unfinished.mkdir()
    (unfinished / "model.safetensors").write_bytes(b"half")
    resumed, _ = train(tmp_path)
    assert weights_of(resumed) == uninterrupted
    assert not unfinished.exists()


def test_a_checkpoint_that_was_being_replaced_stands_for_the_new_one_until_that_is_there(
    tmp_path: Path, uninterrupted: bytes
):
    stopped(tmp_path, 11)
    [last] = (tmp_path / "checkpoints").iterdir()
    shutil.copytree(last, f"{last}.older")
    (tmp_path / "best.safetensors.partial").write_bytes(b"half")
    (last / "counters.json").write_text("damaged")
    with pytest.raises(InputError, match="the checkpoint cannot be read"):
        where_it_stands(tmp_path)
    shutil.rmtree(last)
    resumed, _ = train(tmp_path)
    assert weights_of(resumed) == uninterrupted
    assert not list(tmp_path.rglob("*.older")) and not list(tmp_path.rglob("*.partial"))


def test_an_older_checkpoint_that_was_not_quite_removed_is_passed_over(tmp_path: Path, uninterrupted: bytes):
    stopped(tmp_path, 11)
    (tmp_path / "checkpoints" / "000000006-0000-0000006").mkdir()
    (tmp_path / "checkpoints" / "a note").write_text("not ours")
    assert weights_of(train(tmp_path)[0]) == uninterrupted


def test_counters_come_back_as_they_were(tmp_path: Path):
    counters = Counters(3, 5, 77, 0.1 / 3, 2.0 / 3, 1, 70, 2, 0.7, 4, 76, 1e-17 + 1, 9, [1.5, 0.1])
    state = new_state()
    save_best(tmp_path, state.model)
    save_checkpoint(tmp_path, state, counters, "run")
    assert load_checkpoint(tmp_path, new_state(), "run") == counters
    assert where_it_stands(tmp_path) == counters


@pytest.mark.parametrize("updates", [2, 5, BATCHES, BATCHES + 2])
def test_a_run_with_an_average_and_frequent_validation_goes_on_exactly(tmp_path: Path, updates):
    choices = {"average": 0.9, "validate_every": 2, "patience": 5}
    whole, counters = train(tmp_path / "whole", **choices)
    stopped(tmp_path / "stopped", updates, **choices)
    resumed, counters_too = train(tmp_path / "stopped", **choices)
    assert weights_of(resumed) == weights_of(whole)
    assert counters_too == counters


# -- runs that end before they have validated -------------------------------------------------------------------------

NEVER = {"validate_every": 100_000}


@pytest.mark.parametrize("updates", [2 * BATCHES + 1, 2 * BATCHES + 4], ids=["between epochs", "inside an epoch"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_run_that_is_over_before_it_has_validated_validates_once(tmp_path: Path, updates, epochs):
    stopped(tmp_path, updates, epochs=50, **NEVER)
    told: list[Step] = []
    _, counters = train(tmp_path, epochs=epochs, validations=[3.5], on_step=told.append, **NEVER)
    assert (counters.best, counters.history, counters.best_updates) == (3.5, [3.5], counters.updates)
    [step] = told
    assert (step.what, step.validation, step.is_best, step.updates) == ("end", 3.5, True, counters.updates)
    assert step.epoch == counters.best_epoch == (1 if updates == 2 * BATCHES + 1 else 2)
    # Once: it is written down.
    assert train(tmp_path, epochs=epochs, validations=[], **NEVER)[1] == counters


def test_a_run_that_is_cut_short_ends_like_one_that_was_meant_to_be_short(tmp_path: Path):
    short, counters = train(tmp_path / "short", epochs=2, average=0.9, **NEVER)
    stopped(tmp_path / "long", 2 * BATCHES + 1, epochs=50, average=0.9, **NEVER)
    cut_short, counters_too = train(tmp_path / "long", epochs=2, average=0.9, **NEVER)
    assert weights_of(cut_short) == weights_of(short)
    assert counters_too == counters


# -- looking before anything is touched -------------------------------------------------------------------------------


def test_a_look_at_a_folder_without_a_checkpoint_finds_nothing_and_makes_nothing(tmp_path: Path):
    check_run(tmp_path / "none", "run", Processes())
    assert not is_finished(tmp_path / "none", SETTINGS)
    assert not (tmp_path / "none").exists()
    stopped(tmp_path, 2)
    check_run(tmp_path, "another run", Processes())
    assert not is_finished(tmp_path, SETTINGS)


def test_a_look_refuses_another_run_and_another_number_of_processes(tmp_path: Path):
    before = content_of(stopped(tmp_path, 11))
    check_run(tmp_path, "run", Processes())
    for run, processes in (("another run", Processes()), ("run", Processes(0, 2)), ("run", Processes(1, 3))):
        with pytest.raises(SettingsError, match="holds a run with other settings or other data; give those again"):
            check_run(tmp_path, run, processes)
    assert content_of(tmp_path) == before


def test_a_run_of_two_processes_is_one_for_two_processes_again(tmp_path: Path):
    save_checkpoint(tmp_path, new_state(), Counters(), "run 2 processes")
    check_run(tmp_path, "run", Processes(1, 2))
    with pytest.raises(SettingsError, match="holds a run with other settings"):
        check_run(tmp_path, "run", Processes())


def test_a_run_is_finished_when_its_epochs_are_over(tmp_path: Path):
    stopped(tmp_path, 11)
    assert not is_finished(tmp_path, SETTINGS)
    train(tmp_path)
    before = content_of(tmp_path)
    assert is_finished(tmp_path, SETTINGS)
    assert is_finished(tmp_path, replace(SETTINGS, epochs=1))
    assert not is_finished(tmp_path, replace(SETTINGS, epochs=5))
    assert content_of(tmp_path) == before


@pytest.mark.parametrize(
    "choices", [{"decay": Decay(stop_after=1)}, {"recent": 1, "patience": 1}], ids=["decay", "patience"]
)
def test_a_run_that_was_ended_early_is_finished(tmp_path: Path, choices):
    _, counters = train(tmp_path, validations=[1.0, 2.0], epochs=9, **choices)
    assert counters.epoch == 2
    assert is_finished(tmp_path, replace(SETTINGS, epochs=9, **choices))


def test_a_run_that_has_yet_to_validate_is_not_finished(tmp_path: Path):
    settings = replace(SETTINGS, epochs=2, **NEVER)
    stopped(tmp_path, 2 * BATCHES + 1, epochs=50, **NEVER)
    assert not is_finished(tmp_path, settings)
    train(tmp_path, settings)
    assert is_finished(tmp_path, settings)


def test_others_may_read_a_checkpoint_if_they_may_read_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        train(tmp_path)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()}
    assert "best.safetensors" in modes
    assert set(modes.values()) == {0o640}
