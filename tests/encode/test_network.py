"""Sums that come out the same in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_encoders import WORDS, open_small, write_encoder

from polyref.encode import kernels
from polyref.encode.network import (
    EXACT,
    EXPECTATION_STEP,
    INPUT_STEP,
    LARGEST_EXPECTATION,
    STATE_STEP,
    for_expectations,
    for_states,
    for_vectors,
    on_grid,
    place_scaled,
    plain_step,
)

SCALES = st.sampled_from([1e-4, 0.05, 0.3, 1.0, 7.0, 100.0])


def in_another_order(left: np.ndarray, right: np.ndarray, order: np.ndarray) -> np.ndarray:
    """A product whose sums are taken one term after the other, each rounded to float32."""
    total = np.zeros((len(left), right.shape[1]), np.float32)
    for k in order:
        total = (total + (left[:, k : k + 1] * right[k : k + 1]).astype(np.float32)).astype(np.float32)
    return total


def products_agree(left: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> bool:
    exact = left.astype(np.float64) @ right.astype(np.float64)
    orders = [np.arange(left.shape[1]), np.arange(left.shape[1])[::-1], rng.permutation(left.shape[1])]
    found = [left @ right, *(in_another_order(left, right, order) for order in orders)]
    return all((one.astype(np.float64) == exact).all() for one in found)


@given(seed=st.integers(0, 1000), size=st.integers(1, 400), scale=SCALES)
def test_products_with_states_are_exact_in_any_order(seed, size, scale):
    rng = np.random.default_rng(seed)
    weights = for_states(rng.normal(size=(8, size)) * scale)
    states = on_grid(np.clip(rng.normal(size=(5, size)), -1, 1), STATE_STEP)
    states[0] = np.sign(weights[0]) + (weights[0] == 0)  # the largest sum that there can be
    assert products_agree(states, weights.astype(np.float32).T, rng)


@given(seed=st.integers(0, 1000), size=st.integers(1, 300), scale=SCALES)
def test_products_with_unit_vectors_are_exact_in_any_order(seed, size, scale):
    rng = np.random.default_rng(seed)
    weights = for_vectors(rng.normal(size=(8, size)) * scale)
    vectors = rng.normal(size=(5, size))
    vectors[0] = weights[0].astype(np.float64) + 1e-12  # the direction of the largest sum
    vectors = on_grid(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), INPUT_STEP)
    assert products_agree(vectors, weights.astype(np.float32).T, rng)


@given(seed=st.integers(0, 1000), size=st.integers(1, 300), scale=SCALES)
def test_products_with_expectations_are_exact_in_any_order(seed, size, scale):
    rng = np.random.default_rng(seed)
    weights = for_expectations(rng.normal(size=(8, size)) * scale)
    drawn = np.clip(4 * rng.normal(size=(5, size)), -LARGEST_EXPECTATION, LARGEST_EXPECTATION)
    expected = on_grid(drawn, EXPECTATION_STEP)
    expected[0] = np.where(weights[0] < 0, -LARGEST_EXPECTATION, LARGEST_EXPECTATION)  # the largest sum
    assert products_agree(expected, weights.astype(np.float32).T, rng)


def test_weights_that_are_not_on_a_grid_would_not_do():
    """The other tests can fail."""
    rng = np.random.default_rng(0)
    states = on_grid(np.clip(rng.normal(size=(5, 300)), -1, 1), STATE_STEP)
    assert not products_agree(states, rng.normal(size=(300, 8)).astype(np.float32), rng)


def finest_steps(weights: np.ndarray) -> np.ndarray:
    """For each row the least power of two of which no product with states comes to 2**24 times; a little is spared."""
    largest_sums = np.abs(weights).sum(1) * 1.01 + weights.shape[1] * 2.0**-12
    return 2.0 ** np.ceil(np.log2(largest_sums / (STATE_STEP * EXACT)))


@pytest.mark.parametrize("size", [497, 609, 785, 868, 966, 1100])
@pytest.mark.parametrize("level", [0, 5, 9])
def test_many_weights_that_are_all_rounded_up_are_still_exact(size, level):
    """Their sum stays just below a power of two before they are rounded, and does not behind."""
    weights = np.full((1, size), 0.9999 * (2.0**level - size * 2.0**-12) / (1.01 * size))
    rounded = for_states(weights)
    nearly_one = np.full((1, size), 1 - STATE_STEP, np.float32)  # an odd number of steps, so no sum is round by chance
    assert products_agree(nearly_one, rounded.astype(np.float32).T, np.random.default_rng(0))
    # At worst, half a step of the grid that is twice as wide.
    assert np.abs(rounded - weights).max() <= finest_steps(weights)[0]


@given(seed=st.integers(0, 1000), size=st.integers(1, 400), scale=SCALES)
def test_rounded_weights_are_near_to_the_ones_before(seed, size, scale):
    weights = np.random.default_rng(seed).normal(size=(6, size)) * scale
    rounded = for_states(weights).astype(np.float64)
    steps = finest_steps(weights)[:, None]
    # Half a step of the grid, and half of float16's own.
    assert (np.abs(rounded - weights) <= steps / 2 + np.abs(weights) * 2.0**-10 + 2.0**-25).all()


def test_zeros_are_on_every_grid():
    assert (for_states(np.zeros((3, 5))) == 0).all()


@pytest.mark.parametrize("value", [0.3, -0.3, 1.0, 0.0, 2.0**-12])
def test_a_value_on_the_grid_is_the_nearest_multiple(value):
    [found] = on_grid(np.array([value]), INPUT_STEP)
    assert found / INPUT_STEP == np.rint(value / INPUT_STEP)
    assert np.float16(found) == found


def test_what_an_encoder_multiplies_is_exact(tmp_path):
    """States and vectors of the encoder itself, with the weights of its folder."""
    encoder = open_small(write_encoder(tmp_path, states=64, size=32, strength=2.0))
    weights = {name: array.astype(np.float32) for name, array in encoder._weights.items()}
    rng = np.random.default_rng(1)
    words = [*WORDS, "zebra", "giraffe"]
    forward, backward = encoder.states([words])[0]
    for side, states in (("forward", forward), ("backward", backward)):
        assert products_agree(states, weights[f"{side}.state"].T, rng)
        assert products_agree(encoder.word_vectors(words), weights[f"{side}.read"].T, rng)
    assert products_agree(np.concatenate([forward, backward], 1), weights["projection.weight"].T, rng)


# One step of the LSTM


def gates(seed: int, count: int, size: int, scale: float) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    product = (rng.normal(size=(count, 4 * size)) * scale).astype(np.float32)
    read = (rng.normal(size=(5, 4 * size)) * scale).astype(np.float32)
    return product, read, rng.integers(0, 5, count), (rng.normal(size=(count, size)) * scale).astype(np.float32)


@pytest.mark.compiled
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 9),
    size=st.integers(1, 40),
    scale=st.sampled_from([1e-6, 0.1, 1.0, 5.0, 40.0]),
)
def test_the_compiled_step_gives_the_same_bits_as_the_plain_one(seed, count, size, scale):
    product, read, rows, cell = gates(seed, count, size, scale)
    found = []
    for step in (plain_step, kernels.step):
        next_cell, state = cell.copy(), np.empty_like(cell)
        step(product, read, rows, next_cell, state)
        found.append((next_cell.tobytes(), state.tobytes()))
    assert found[0] == found[1]


@pytest.mark.compiled
@given(seed=st.integers(0, 10_000), count=st.integers(1, 6), size=st.integers(1, 40), first=st.integers(0, 3))
def test_compiled_vectors_have_the_same_bits_as_plain_ones(seed, count, size, first):
    rng = np.random.default_rng(seed)
    rows = on_grid(rng.normal(size=(count, size)) * rng.choice([0.0, 1e-3, 0.3], (count, size)), STATE_STEP)
    centre = (rng.normal(size=size) * 0.05).astype(np.float16).astype(np.float32)
    centre[rng.random(size) < 0.3] = 0  # so that some numbers are 0, and some rows nothing else
    places, length = rng.integers(0, count, 8), float(rng.choice([1.0, 0.4, 1e-3]))
    found = []
    for place in (place_scaled, kernels.place_scaled):
        halves = np.full((8, size + 4), 7, np.uint16)
        place(rows, centre, length, places, halves, first)
        found.append(halves.tobytes())
    assert found[0] == found[1]


def test_vectors_are_of_the_length_asked_for_and_stand_in_their_places():
    rows = on_grid(np.random.default_rng(1).normal(size=(3, 50)) * 0.3, STATE_STEP)
    halves = np.zeros((4, 60), np.uint16)
    place_scaled(rows, np.full(50, 0.125, np.float32), 0.5, np.array([2, 0, 1, 2]), halves, 6)
    vectors = halves.view(np.float16).astype(np.float64)
    assert not vectors[:, :6].any() and not vectors[:, 56:].any()
    exact = (rows[[2, 0, 1, 2]] - 0.125).astype(np.float64)
    exact *= 0.5 / np.sqrt((exact**2).sum(1, keepdims=True))
    assert np.abs(vectors[:, 6:56] - exact).max() < 2**-12


def test_the_step_is_that_of_an_lstm():
    product, read, rows, cell = gates(1, 4, 8, 2.0)
    before, state = cell.astype(np.float64), np.empty_like(cell)
    plain_step(product, read, rows, cell, state)
    enter, keep, new, leave = np.split(product.astype(np.float64) + read[rows], 4, axis=1)
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    expected = sigmoid(keep) * before + sigmoid(enter) * np.tanh(new)
    assert np.abs(cell - expected).max() < 1e-5
    assert np.abs(state - sigmoid(leave) * np.tanh(expected)).max() <= 2**-13 + 1e-5
    assert (state * 4096 == np.rint(state * 4096)).all()
