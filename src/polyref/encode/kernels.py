"""Compiled: one step of an LSTM, behind its matrix product.

The plain twin is in network.py. No operation here may be fused or reordered: the results are the same, bit by bit.
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
