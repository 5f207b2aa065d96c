"""Compiled: one step of an LSTM, behind its matrix product; and the vectors of words from its states.

The plain twins are in network.py. No operation here may be fused or reordered: the results are the same, bit by bit.
"""

import numpy as np

from polyref.compiled import kernel


@kernel("float32(float32)", inline=True)
def tanh(x):
    """See network.py."""
    t = min(max(x * np.float32(0.5), np.float32(-4.5)), np.float32(4.5))
    s = t * t
    above = t * (
        np.float32(34459425.0) + s * (np.float32(4729725.0) + s * (np.float32(135135.0) + s * (np.float32(990.0) + s)))
    )
    below = np.float32(34459425.0) + s * (
        np.float32(16216200.0) + s * (np.float32(945945.0) + s * (np.float32(13860.0) + s * np.float32(45.0)))
    )
    half = above / below
    return np.float32(2.0) * half / (np.float32(1.0) + half * half)


@kernel("float32(float32)", inline=True)
def sigmoid(x):
    return np.float32(0.5) + np.float32(0.5) * tanh(x * np.float32(0.5))


@kernel("void(float32[:, ::1], float32[:, ::1], int64[::1], float32[:, ::1], float32[:, ::1])")
def step(product, read, rows, cell, state):
    """From the product of the last states with their weights, and what each row reads, to the next cells and states."""
    count, size = product.shape[0], cell.shape[1]
    one_step = np.float32(2.0**-12)
    steps = np.float32(2.0**12)
    for n in range(count):
        a, b = product[n], read[rows[n]]
        c, h = cell[n], state[n]
        for k in range(size):
            enter = sigmoid(a[k] + b[k])
            keep = sigmoid(a[size + k] + b[size + k])
            new = tanh(a[2 * size + k] + b[2 * size + k])
            leave = sigmoid(a[3 * size + k] + b[3 * size + k])
            kept = keep * c[k] + enter * new
            c[k] = kept
            h[k] = np.rint(leave * tanh(kept) * steps) * one_step


@kernel("float64(float32[::1])", any_order=True)
def sum_of_squares(row):
    """Exact, so in any order: see network.py."""
    total = 0.0
    for k in range(len(row)):
        total += np.float64(row[k]) * np.float64(row[k])
    return total


@kernel("void(float32[:, ::1], float32[::1], float64, int64[::1], uint16[:, ::1], int64)")
def place_scaled(rows, centre, length, places, halves, first):
    """Rows less the centre, scaled to this length, as the bits of float16 numbers: each in its places."""
    size = rows.shape[1]
    scaled = np.empty((rows.shape[0], size), np.uint16)
    row = np.empty(size, np.float32)
    sum_with_half = np.empty(size, np.float32)
    bits, low_bits = row.view(np.uint32), sum_with_half.view(np.uint32)
    for n in range(rows.shape[0]):
        for k in range(size):
            row[k] = rows[n, k] - centre[k]
        factor = np.float32(length / np.sqrt(max(sum_of_squares(row), 1e-30)))
        for k in range(size):
            row[k] *= factor
            # Below 2**-14 the steps of float16 are 2**-24, which is what float32 rounds to from 0.5 on.
            sum_with_half[k] = abs(row[k]) + np.float32(0.5)
        for k in range(size):
            of_number = bits[k] & np.uint32(0x7FFFFFFF)
            even = of_number + np.uint32(0xFFF) + ((of_number >> np.uint32(13)) & np.uint32(1))
            usual = (even - np.uint32(0x38000000)) >> np.uint32(13)
            tiny = low_bits[k] - np.uint32(0x3F000000)
            half = tiny if of_number < np.uint32(0x38800000) else usual
            scaled[n, k] = np.uint16(half | ((bits[k] >> np.uint32(16)) & np.uint32(0x8000)))
    for place in range(len(places)):
        n = places[place]
        for k in range(size):
            halves[place, first + k] = scaled[n, k]
