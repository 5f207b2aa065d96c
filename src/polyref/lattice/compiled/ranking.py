"""Compiled: exact comparison of scores, and the best sentences so far.

The plain twin of the scores is score/sentence_bleu.py.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int32, int64, types, uint64

from polyref.compiled import kernel
from polyref.lattice.compiled.automaton import ARC_WORD
from polyref.score.kernels import MAX_ORDER

CLOSE = 1e-12
LENGTH, ORDER, PRODUCT, CROSSED = 0, 1, 2, 3  # the columns of counts
U64_A = np.uint64(0x9E3779B97F4A7C15)
U64_B = np.uint64(0xBF58476D1CE4E5B9)
U64_EMPTY = np.uint64(0x243F6A8885A308D3)


class Ranked(NamedTuple):
    """Candidates in slots; index lists the slots, best first, and its last entry is a spare one."""

    index: int32[::1]
    counts: int64[:, ::1]
    logs: float64[::1]
    hashes: uint64[::1]
    cores: uint64[::1]
    paths: int32[:, ::1]


ranked_type = types.NamedTuple(list(Ranked.__annotations__.values()), Ranked)


@kernel(ranked_type(int64, int64))
def new_ranking(size, longest):
    return Ranked(
        np.arange(size + 1).astype(np.int32),
        np.zeros((size + 1, 4), np.int64),
        np.empty(size + 1, np.float64),
        np.empty(size + 1, np.uint64),
        np.empty(size + 1, np.uint64),
        np.empty((size + 1, longest), np.int32),
    )


@kernel("uint64(uint64, uint64)", inline=True)
def mix(value, other):
    value = (value ^ other) * U64_A
    value = (value ^ (value >> np.uint64(32))) * U64_B
    return value ^ (value >> np.uint64(29))


@kernel("int64[:, ::1](int64[::1], int64)")
def length_table(starts, longest):
    """For each length: the closest reference length, and the product of the totals up to each order."""
    table = np.ones((longest + 1, MAX_ORDER + 1), np.int64)
    for length in range(longest + 1):
        closest = np.int64(-1)
        for r in range(len(starts) - 1):
            other = starts[r + 1] - starts[r]
            nearer = abs(other - length) - abs(closest - length)
            if closest < 0 or nearer < 0 or (nearer == 0 and other < closest):
                closest = other
        table[length, 0] = closest
        for order in range(1, MAX_ORDER + 1):
            for n in range(min(order, length)):
                table[length, order] *= length - n
    return table


@kernel("UniTuple(uint64, 2)(int64, int64)", inline=True)
def multiply_wide(a, b):
    """a * b in 128 bits: the high and the low half."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = np.uint64(a), np.uint64(b)
    ll = (x & low) * (y & low)
    lh = (x & low) * (y >> half)
    hl = (x >> half) * (y & low)
    carry = (ll >> half) + (lh & low) + (hl & low)
    return (x >> half) * (y >> half) + (lh >> half) + (hl >> half) + (carry >> half), (carry << half) | (ll & low)


@kernel("int64(int64, int64, int64, int64)", inline=True)
def compare_products(a, b, c, d):
    """Compare a * b with c * d: whole numbers from 0 up to 2**63."""
    left, right = multiply_wide(a, b), multiply_wide(c, d)
    if left[0] != right[0]:
        return 1 if left[0] > right[0] else -1
    if left[1] != right[1]:
        return 1 if left[1] > right[1] else -1
    return 0


@kernel("float64(int64[:, ::1], int64, int64, int64)", inline=True)
def log_score(lengths, order, length, product):
    brevity = min(0.0, 1.0 - lengths[length, 0] / length)
    return brevity + np.log(product / lengths[length, order]) / order


@kernel("int64(int64[:, ::1], int64, int64, int64, int64, int64, float64, boolean[::1])", inline=True)
def settle(lengths, order, length, product, other_length, other_product, apart, undecided):
    """Compare two scores whose logarithms are `apart`.

    Where they are too close to tell and whole numbers cannot decide, undecided[0] is set, and the caller asks the
    plain twin.
    """
    if apart > CLOSE:
        return 1
    if apart < -CLOSE:
        return -1
    # The shortfalls (r - l) / l as fractions: 0 where the sentence is long enough.
    short = max(lengths[length, 0] - length, 0)
    other_short = max(lengths[other_length, 0] - other_length, 0)
    if short * other_length != other_short * length:
        undecided[0] = True
        return 1 if apart > 0 else -1
    return compare_products(product, lengths[other_length, order], other_product, lengths[length, order])


@kernel("int64(int64[:, ::1], int64, int64, int64, int64, int64, boolean[::1])", inline=True)
def compare_scores(lengths, order, length, product, other_length, other_product, undecided):
    """1 if the first score is the higher one, -1 if the second, 0 only if they are equal."""
    if length == other_length:
        return 1 if product > other_product else (-1 if product < other_product else 0)
    apart = log_score(lengths, order, length, product) - log_score(lengths, order, other_length, other_product)
    return settle(lengths, order, length, product, other_length, other_product, apart, undecided)


@kernel("UniTuple(int64, 2)(int64[:, ::1], int64, int64, int64, int64, boolean[::1])")
def least_product(lengths, order, length, than_length, than_product, undecided):
    """The least product with which a sentence of `length` scores as high as the other; and 0 if it scores the same."""
    if length == than_length:
        return than_product, np.int64(0)
    behind = log_score(lengths, order, than_length, than_product) - min(0.0, 1.0 - lengths[length, 0] / length)
    totals = lengths[length, order]
    if behind > 1e-6:
        return totals + 1, np.int64(1)  # more than any sentence has
    wanted = totals * np.exp(order * behind)
    product = max(np.int64(1), np.int64(wanted * (1 - 1e-12)) - 1)
    if wanted < 1e8:  # rounding is far below 1e-3, so that only the nearest whole number may score the same
        nearest = np.int64(np.rint(wanted))
        if abs(nearest - wanted) > 1e-3:
            return max(np.int64(1), np.int64(np.ceil(wanted))), np.int64(1)
        product = max(np.int64(1), nearest)
    rank = compare_scores(lengths, order, length, product, than_length, than_product, undecided)
    while rank < 0:
        product += 1
        rank = compare_scores(lengths, order, length, product, than_length, than_product, undecided)
    return product, rank


@kernel("int64(int32[:, ::1], int32[:, ::1], int64[:, ::1], int64, int64)", inline=True)
def compare_words(arcs, paths, counts, slot, other):
    """Above 0 if the sentence in `slot` comes first; 0 if the two have the same words."""
    for k in range(min(counts[slot, LENGTH], counts[other, LENGTH])):
        word, other_word = arcs[paths[slot, k], ARC_WORD], arcs[paths[other, k], ARC_WORD]
        if word != other_word:
            return 1 if word < other_word else -1
    return counts[other, LENGTH] - counts[slot, LENGTH]


@kernel(
    "int64(int32[::1], int64[:, ::1], float64[::1], uint64[::1], uint64[::1], int32[:, ::1], int64, int32[:, ::1],"
    " int64, int64[:, ::1], boolean, boolean[::1])",
    inline=True,
)
def insert(index, counts, logs, hashes, cores, paths, filled, arcs, slot, lengths, judged, undecided):
    """Rank the candidate in the spare `slot` among the first `filled`; return how many there are now.

    The first six arrays are a Ranked. A sentence that is there already is left out; if it is `judged`, the worse one of
    two with the same core is.
    """
    length, order, product, hashed = counts[slot, LENGTH], counts[slot, ORDER], counts[slot, PRODUCT], hashes[slot]
    logs[slot] = log_score(lengths, order, length, product)
    low, high = 0, filled
    while low < high:
        middle = (low + high) // 2
        other = index[middle]
        rank = order - counts[other, ORDER]
        if rank == 0:
            other_length, other_product = counts[other, LENGTH], counts[other, PRODUCT]
            if length == other_length:
                rank = product - other_product
            else:
                apart = logs[slot] - logs[other]
                rank = settle(lengths, order, length, product, other_length, other_product, apart, undecided)
        if rank == 0:
            rank = counts[other, CROSSED] - counts[slot, CROSSED]
        if rank == 0 and hashed != hashes[other]:
            rank = 1 if hashed < hashes[other] else -1
        if rank == 0:
            rank = compare_words(arcs, paths, counts, slot, other)
            if rank == 0:
                return filled
        if rank > 0:
            high = middle
        else:
            low = middle + 1
    if judged:
        for place in range(filled):
            other = index[place]
            if cores[other] == cores[slot]:
                if place < low:
                    return filled
                filled -= 1
                for k in range(place, filled):
                    index[k] = index[k + 1]
                index[filled] = other
                break
    size = len(index) - 1
    if low == size:
        return filled
    # The slot that falls out, or the first unused one, becomes the spare.
    last = min(filled, size - 1)
    spare = index[last]
    for place in range(last, low, -1):
        index[place] = index[place - 1]
    index[low] = slot
    index[size] = spare
    return min(filled + 1, size)


@kernel(
    "boolean(int32[::1], int64[:, ::1], float64[::1], uint64[::1], int64, int64[:, ::1], int64, int64, int64, int64,"
    " uint64)",
    inline=True,
)
def is_worse(index, counts, logs, hashes, filled, lengths, order, length, product, crossed, hashed):
    """Whether a sentence clearly ranks behind a full ranking: what most sentences do, so it is asked first."""
    size = len(index) - 1
    if filled < size:
        return False
    last = index[size - 1]
    if order != counts[last, ORDER]:
        return order < counts[last, ORDER]
    if length == counts[last, LENGTH]:
        if product != counts[last, PRODUCT]:
            return product < counts[last, PRODUCT]
        if crossed != counts[last, CROSSED]:
            return crossed > counts[last, CROSSED]
        return hashed > hashes[last]
    return log_score(lengths, order, length, product) < logs[last] - CLOSE


@kernel(
    "Tuple((int64, boolean))(int32[::1], int64[:, ::1], int64, int64, int64, int64[:, ::1], int64[::1], boolean[::1])",
    inline=True,
)
def needed(index, counts, filled, length, order, lengths, floors, undecided):
    """The product that a sentence must reach to be ranked, and whether it then scores as the last one of those that
    fill the ranking.
    """
    need, ties = floors[length], False
    if filled == len(index) - 1:
        last = index[filled - 1]
        least, rank = least_product(lengths, order, length, counts[last, LENGTH], counts[last, PRODUCT], undecided)
        need, ties = max(need, least), rank == 0 and least >= need
    return need, ties


@kernel("boolean(int32[:, ::1], int32[:, ::1], int64[:, ::1], uint64[::1], uint64[::1], boolean, int64, int64)")
def is_taken(arcs, paths, counts, hashes, cores, judged, slot, taken):
    """Whether the sentence in a slot stands in one of the first `taken` slots, too; if `judged`, by its core."""
    for other in range(taken):
        if judged and cores[other] == cores[slot]:
            return True
        if hashes[other] == hashes[slot] and compare_words(arcs, paths, counts, other, slot) == 0:
            return True
    return False


@kernel(types.void(ranked_type, int64, int64, int64[:, ::1], int32[:, ::1], int64))
def take(ranked, first, end, out_counts, out_paths, place):
    """Copy the candidates ranked from `first` to `end` to the result."""
    for k in range(first, end):
        slot = ranked.index[k]
        for column in range(4):
            out_counts[place, column] = ranked.counts[slot, column]
        for p in range(ranked.counts[slot, LENGTH]):
            out_paths[place, p] = ranked.paths[slot, p]
        place += 1


@kernel(types.void(ranked_type, int64, ranked_type, int64))
def copy_candidate(ranked, slot, other, other_slot):
    """Copy a candidate to a slot of another ranking."""
    for column in range(4):
        other.counts[other_slot, column] = ranked.counts[slot, column]
    for p in range(ranked.counts[slot, LENGTH]):
        other.paths[other_slot, p] = ranked.paths[slot, p]
    other.hashes[other_slot], other.cores[other_slot] = ranked.hashes[slot], ranked.cores[slot]
