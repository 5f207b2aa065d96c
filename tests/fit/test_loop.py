"""The training loop: what it keeps, when it slows down, when it ends."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from small_runs import BATCHES, SETTINGS, Line, batch_at, batches, train, weights_of  # noqa: E402

from polyref.errors import PolyrefError, SettingsError  # noqa: E402
from polyref.fit import Decay, FitSettings  # noqa: E402
from polyref.fit.loop import Step, fit, why_over  # noqa: E402


def steps_of(folder: Path, **choices: object) -> list[Step]:
    told: list[Step] = []
    train(folder, on_step=told.append, **choices)
    return told


def epochs_of(folder: Path, **choices: object) -> list[Step]:
    return [step for step in steps_of(folder, **choices) if step.what == "epoch"]


def test_the_loss_falls(tmp_path: Path):
    losses = [step.loss for step in epochs_of(tmp_path, epochs=8)]
    assert losses[-1] < 0.7 * losses[0]


def test_every_update_and_every_epoch_is_told(tmp_path: Path):
    told = steps_of(tmp_path, epochs=2)
    expected = [("update", 0, n) for n in range(1, BATCHES + 1)] + [("epoch", 0, BATCHES)]
    expected += [("update", 1, BATCHES + n) for n in range(1, BATCHES + 1)] + [("epoch", 1, 2 * BATCHES)]
    assert [(step.what, step.epoch, step.updates) for step in told] == expected


def test_the_loss_is_the_mean_over_the_items_of_this_epoch(tmp_path: Path):
    model, seen = Line(), []

    def cost(batch):
        loss, items = model.cost(batch)
        seen.append(float(loss.detach()))
        return loss, items

    told: list[Step] = []
    fit(
        model,
        batches=batches,
        cost=cost,
        validate=lambda: 1.0,
        settings=FitSettings(epochs=2),
        folder=tmp_path,
        run="run",
        on_step=told.append,
    )
    last = [step for step in told if step.what == "epoch"][-1]
    assert last.loss == pytest.approx(sum(seen[BATCHES:]) / (8 * BATCHES))


@pytest.mark.parametrize(
    ("goal", "validations", "best"),
    [
        ("lowest", [3.0, 1.0, 2.0, 1.5], 1),
        ("lowest", [1.0, 3.0, 2.0, 1.5], 0),
        ("lowest", [4.0, 3.0, 2.0, 1.0], 3),
        ("highest", [1.0, 3.0, 2.0, 3.0], 1),
        ("highest", [-3.0, -1.0, -2.0, -4.0], 1),
    ],
)
def test_the_model_ends_with_its_best_weights_not_its_last(tmp_path: Path, goal, validations, best):
    model, counters = train(tmp_path / "all", validations=validations, goal=goal, decay=Decay(factor=1.0))
    assert (counters.best, counters.best_epoch) == (validations[best], best)
    # A run that ends where the best one was has the same weights.
    shorter, _ = train(
        tmp_path / "shorter",
        validations=[1.0, 2.0, 3.0, 4.0] if goal == "highest" else [4.0, 3.0, 2.0, 1.0],
        goal=goal,
        decay=Decay(factor=1.0),
        epochs=best + 1,
    )
    assert weights_of(model) == weights_of(shorter)


def test_the_model_is_left_ready_for_use(tmp_path: Path):
    model, _ = train(tmp_path)
    assert not model.training


@pytest.mark.parametrize(
    ("validations", "gain", "rates"),
    [
        ([4.0, 3.0, 2.0, 1.0], 0.01, [1, 1, 1, 1]),
        ([4.0, 4.0, 2.0, 2.0], 0.01, [1, 0.5, 0.5, 0.25]),
        ([4.0, 5.0, 6.0, 7.0], 0.01, [1, 0.5, 0.25, 0.125]),
        # Better by less than the gain: kept as the best, and still no gain.
        ([4.0, 3.9, 3.8, 3.7], 0.1, [1, 0.5, 0.25, 0.125]),
        ([4.0, 3.9, 3.8, 3.7], 0.0, [1, 1, 1, 1]),
        # A tie is no gain, however little is asked for.
        ([4.0, 4.0, 3.9, 3.9], 0.0, [1, 0.5, 0.5, 0.25]),
        ([0.0, 0.0, 0.0, 0.0], 0.0, [1, 0.5, 0.25, 0.125]),
    ],
)
def test_the_learning_rate_decays_after_an_epoch_without_gain(tmp_path: Path, validations, gain, rates):
    told = steps_of(tmp_path, validations=validations, decay=Decay(gain=gain))
    ends = [step for step in told if step.what == "epoch"]
    assert [step.learning_rate / SETTINGS.learning_rate for step in ends] == rates
    # The updates of an epoch go by the rate that the epoch before left.
    used = {step.epoch: step.learning_rate / SETTINGS.learning_rate for step in told if step.what == "update"}
    assert list(used.values()) == [1, *rates[:-1]]


def test_the_optimiser_goes_by_the_decayed_rate(tmp_path: Path):
    """After the second epoch the rate is a millionth, so the weights hardly move."""
    choices = {"validations": [1.0, 2.0, 0.5], "optimiser": "sgd"}
    # The second epoch is no better than the first; the third is, and its weights are kept.
    second, _ = train(tmp_path / "second", epochs=2, validations=[2.0, 1.0], optimiser="sgd")
    slow, _ = train(tmp_path / "slow", epochs=3, decay=Decay(factor=1e-6), **choices)
    fast, _ = train(tmp_path / "fast", epochs=3, decay=Decay(factor=1.0), **choices)
    assert torch.allclose(second.layer.weight, slow.layer.weight, atol=1e-4)
    assert not torch.allclose(second.layer.weight, fast.layer.weight, atol=1e-2)


def test_slightly_better_weights_are_kept_although_they_are_no_gain(tmp_path: Path):
    _, counters = train(tmp_path, validations=[4.0, 3.9, 3.8, 3.7], decay=Decay(gain=0.5))
    assert counters.best == 3.7


@pytest.mark.parametrize(("stop_after", "epochs"), [(1, 2), (2, 4), (3, 5), (4, 6)])
def test_so_many_epochs_without_gain_in_all_end_the_run(tmp_path: Path, stop_after, epochs):
    validations = [4.0, 4.0, 1.0, 2.0, 3.0, 4.0]
    told = epochs_of(tmp_path, validations=validations, decay=Decay(stop_after=stop_after), epochs=6)
    assert len(told) == epochs


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ({"epochs": 2}, "all 2 epochs are done"),
        ({"updates": 3}, "all 3 updates are done"),
        ({"decay": Decay(stop_after=2)}, "2 validations brought no gain (fit.decay.stop_after)"),
        ({"recent": 1, "patience": 1}, "the last 1 validations brought no gain (fit.patience)"),
    ],
    ids=["epochs", "updates", "decay", "patience"],
)
def test_a_run_says_why_it_ended(tmp_path: Path, choices, why):
    _, counters = train(tmp_path, validations=[4.0] * 9, **choices)
    assert why_over(counters, replace(SETTINGS, **choices)) == why


def test_ties_end_the_run_as_well(tmp_path: Path):
    told = epochs_of(tmp_path, validations=[4.0] * 6, decay=Decay(gain=0.0, stop_after=2), epochs=6)
    assert len(told) == 3


@pytest.mark.parametrize("validate_every", [None, 3])
def test_the_steps_say_which_validations_were_the_best_so_far(tmp_path: Path, validate_every):
    """A tie is not better; what was no validation is not the best."""
    validations = [4.0, 3.0, 3.0, 5.0, 2.9, 4.0, 2.0]
    choices = {"validate_every": validate_every, "decay": Decay(gain=0.5, stop_after=99)}
    told = steps_of(tmp_path, validations=validations, epochs=7 if validate_every is None else 3, **choices)
    judged = [step for step in told if step.validation is not None]
    assert [step.is_best for step in judged] == [True, True, False, False, True, False, True]
    assert [step.validation for step in judged if step.is_best] == [4.0, 3.0, 2.9, 2.0]
    assert not any(step.is_best for step in told if step.validation is None)


def test_the_step_is_no_longer_than_the_clip(tmp_path: Path):
    """Plain gradient descent at a rate of 1 moves the weights by the gradient itself."""

    def position(model: Line) -> torch.Tensor:
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    lengths = {}
    for clip in (0.01, 0.5, 1e6):
        moved: list[float] = []
        model = Line()

        def note(step: Step, model=model, moved=moved) -> None:
            moved.append(float((position(model) - position(Line())).norm()))

        fit(
            model,
            batches=lambda epoch, start: iter([batch_at(0, 0)][start:]),
            cost=model.cost,
            validate=lambda: 1.0,
            settings=FitSettings(epochs=1, optimiser="sgd", learning_rate=1.0, clip=clip),
            folder=tmp_path / str(clip),
            run="run",
            on_step=note,
        )
        lengths[clip] = moved[0]
    assert lengths[0.01] == pytest.approx(0.01, rel=1e-3)
    assert lengths[0.5] == pytest.approx(0.5, rel=1e-3)
    assert lengths[1e6] > 1.0


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path: Path, optimiser):
    one, other, third = (
        weights_of(train(tmp_path / name, optimiser=optimiser, seed=seed)[0])
        for name, seed in (("one", 1), ("other", 1), ("third", 2))
    )
    assert one == other != third


def test_each_update_draws_anew_and_by_the_seed(tmp_path: Path):
    drawn: dict[int, list[float]] = {}
    for seed in (1, 2):
        model, numbers = Line(), drawn.setdefault(seed, [])

        def cost(batch, model=model, numbers=numbers):
            numbers.append(float(torch.rand(1)))
            return model.cost(batch)

        fit(
            model,
            batches=batches,
            cost=cost,
            validate=lambda: 1.0,
            settings=FitSettings(epochs=2, seed=seed),
            folder=tmp_path / str(seed),
            run="run",
        )
    assert len({*drawn[1], *drawn[2]}) == 4 * BATCHES


def test_a_run_does_not_touch_the_randomness_of_its_caller(tmp_path: Path):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(tmp_path)
    assert torch.equal(torch.rand(3), expected)


def test_weights_that_need_no_gradient_stay(tmp_path: Path):
    model = Line()
    model.layer.weight.requires_grad = False
    before = model.layer.weight.clone()
    fit(
        model,
        batches=batches,
        cost=model.cost,
        validate=lambda: 1.0,
        settings=FitSettings(epochs=1, weight_decay=0.5),
        folder=tmp_path,
        run="run",
    )
    assert torch.equal(model.layer.weight, before)
    assert not torch.equal(model.layer.bias, Line().layer.bias)


def test_a_loss_that_is_no_number_ends_the_run_with_a_cure(tmp_path: Path):
    model = Line()
    with pytest.raises(PolyrefError, match="the loss is not a number after 0 updates; lower the learning rate"):
        fit(
            model,
            batches=batches,
            cost=lambda batch: (model.cost(batch)[0] * math.nan, len(batch)),
            validate=lambda: 1.0,
            settings=FitSettings(epochs=1),
            folder=tmp_path,
            run="run",
        )


def test_a_validation_that_is_no_number_is_not_taken_for_the_best(tmp_path: Path):
    with pytest.raises(PolyrefError, match=f"the validation is not a number after {BATCHES} updates; lower the"):
        train(tmp_path, validations=[math.nan, 1.0, 1.0, 1.0])


# -- validation inside epochs, early stopping, averages ---------------------------------------------------------------


def test_validation_comes_every_so_many_updates_and_at_the_end(tmp_path: Path):
    told = steps_of(tmp_path, epochs=3, validate_every=4, decay=Decay(stop_after=99))
    assert [step.updates for step in told if step.what == "validation"] == [4, 8, 12, 16, 20]
    assert all(step.validation is None for step in told if step.what == "epoch")
    assert [step.updates for step in told if step.what == "end"] == [21]  # the last are validated, too


@pytest.mark.parametrize(
    ("validations", "recent", "patience", "updates"),
    [
        ([5.0, 4.0, 3.0, 2.0, 1.0, 0.5], 1, 1, 12),
        ([5.0, 6.0, 3.0, 2.0, 1.0, 0.5], 1, 1, 4),
        # One bad validation among good ones does not end the run: the mean still falls.
        ([5.0, 3.0, 3.5, 2.0, 1.0, 0.5], 2, 1, 12),
        ([5.0, 3.0, 9.0, 9.0, 1.0, 0.5], 2, 1, 6),
        ([5.0, 3.0, 9.0, 9.0, 1.0, 0.5], 2, 2, 8),
    ],
)
def test_the_run_ends_when_the_mean_of_recent_validations_is_no_better(
    tmp_path: Path, validations, recent, patience, updates
):
    choices = {"validate_every": 2, "recent": recent, "patience": patience, "decay": Decay(factor=1, stop_after=99)}
    told: list[Step] = []
    train(tmp_path, epochs=2, validations=[*validations, 0.4], on_step=told.append, **choices)
    assert max(step.updates for step in told) == (updates if updates < 12 else 14)
    # A run that has ended stays ended.
    again: list[Step] = []
    train(tmp_path, epochs=2, validations=[1.0], on_step=again.append, **choices)
    assert not again


def test_the_average_of_the_weights_is_what_is_validated_and_kept(tmp_path: Path):
    """Worked out by hand, from the weights after each update."""
    seen: list[torch.Tensor] = []
    model = Line()
    validated: list[torch.Tensor] = []

    def validate() -> float:
        validated.append(model.layer.weight.detach().clone())
        return -float(len(validated))

    fit(
        model,
        batches=batches,
        cost=model.cost,
        validate=validate,
        settings=FitSettings(epochs=1, average=0.5, learning_rate=0.1),
        folder=tmp_path,
        run="run",
        on_step=lambda step: seen.append(model.layer.weight.detach().clone()),
    )
    expected = Line().layer.weight.detach().clone()
    for number, weight in enumerate(seen[:BATCHES], 1):
        keep = min(0.5, (1 + number) / (10 + number))
        expected = keep * expected + (1 - keep) * weight
    assert torch.allclose(validated[0], expected, atol=1e-6)
    assert torch.allclose(model.layer.weight, expected, atol=1e-6)
    assert not torch.allclose(seen[BATCHES - 1], expected, atol=1e-3)
    assert torch.equal(seen[-1], seen[BATCHES - 1])  # the weights are back after validation


def test_a_gradient_that_is_no_number_never_reaches_the_weights(tmp_path: Path):
    model = Line()

    def cost(batch):
        loss, items = model.cost(batch)
        return loss + (model.layer.bias * 0).sqrt().sum(), items  # 0, with a gradient that is none

    with pytest.raises(PolyrefError, match="the gradient is not a number after 0 updates; lower the learning rate"):
        fit(
            model,
            batches=batches,
            cost=cost,
            validate=lambda: 1.0,
            settings=FitSettings(epochs=1),
            folder=tmp_path,
            run="run",
        )
    assert torch.equal(model.layer.weight, Line().layer.weight)


def test_a_precision_that_the_processor_may_die_of_is_refused(tmp_path: Path):
    with pytest.raises(SettingsError, match='the precision is "bfloat16", which is for newer GPUs, not for this cpu'):
        train(tmp_path, precision="bfloat16")
