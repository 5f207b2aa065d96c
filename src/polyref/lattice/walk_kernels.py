"""Compiled: walks through the product automaton with clipped counts, listing all sentences or those worth it.

The plain twin is _Walker in search.py: the same sentences are visited in the same order.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, int16, int32, int64, types, uint64

from polyref.compiled import kernel
from polyref.lattice.kernels import ARC_WORD
from polyref.lattice.product_kernels import P_ARC, P_NODES, P_TARGET
from polyref.lattice.ranking_kernels import (
    CLOSE,
    LENGTH,
    ORDER,
    PRODUCT,
    U64_EMPTY,
    compare_scores,
    compare_words,
    insert,
    least_product,
    log_score,
    mix,
    ranked_type,
)
from polyref.score.kernels import MAX_ORDER

SPENT, NODES, TIED = 0, 1, 2  # the cells of Walk.tally
DONE, OVER_BUDGET, ENOUGH = 0, 1, 2  # how an exploration ends
FIND_BEST, FIND_CUT, LIST_TIED, DRAW = 0, 1, 2, 3  # what a sentence is visited for
# The matches of a path are one number of four lanes, an order each: stepping back costs nothing.
LANE = 16
LANE_MASK = np.uint64(0xFFFF)


class Ground(NamedTuple):
    """What does not change during a search."""

    words: Any  # the references
    starts: Any
    arcs: Any  # of the automaton
    first: Any  # the product: where the arcs of a state begin, the arcs, the final states
    rows: Any
    final: Any
    bound_first: Any
    bounds: Any
    lengths: Any  # length_table
    word_hashes: Any
    floors: Any  # the least product wanted at each length; empty: 1
    limits: Any  # the node budget, and how many tied sentences are listed


class Walk(NamedTuple):
    """Where a search stands: the path, its clipped counts, and the arcs still to follow at each word."""

    path: Any
    path_hash: Any  # the hash of the first words of the path, for each number of words
    left: Any  # how often each n-gram may still count
    matches: Any  # of the first words of the path, for each number of words
    frame_bound: Any
    frame_arc: Any
    frame_size: Any
    tally: Any
    cut: Any  # the length and product of the last one ranked
    undecided: Any


ground_type = types.NamedTuple(
    [
        int32[::1], int64[::1], int32[:, ::1], int32[::1], int32[:, ::1], boolean[::1],
        int64[::1], int16[:, ::1], int64[:, ::1], uint64[::1], int64[::1], int64[::1],
    ],
    Ground,
)  # fmt: skip
walk_type = types.NamedTuple(
    [
        int32[::1], uint64[::1], int32[::1], uint64[::1], int64[:, ::1], int32[:, ::1], int32[::1], int64[::1],
        int64[::1], boolean[::1],
    ],
    Walk,
)  # fmt: skip


@kernel("boolean(int32[:, ::1], int32[:, ::1], int32[::1], int64, int32[::1], int64[::1])", inline=True)
def is_gold(arcs, rows, path, length, words, starts):
    """Whether a person wrote the path's sentence."""
    for r in range(len(starts) - 1):
        if starts[r + 1] - starts[r] == length:
            k = 0
            while k < length and arcs[rows[path[k], P_ARC], ARC_WORD] == words[starts[r] + k]:
                k += 1
            if k == length:
                return True
    return False


@kernel("boolean(int32[::1], int64[:, ::1], float64[::1], int64, int64[:, ::1], int64, int64, int64)", inline=True)
def is_clearly_worse(index, counts, logs, filled, lengths, order, length, product):
    """The same without the hash that decides among equals."""
    size = len(index) - 1
    if filled < size:
        return False
    last = index[size - 1]
    if order != counts[last, ORDER]:
        return order < counts[last, ORDER]
    if length == counts[last, LENGTH]:
        return product < counts[last, PRODUCT]
    return log_score(lengths, order, length, product) < logs[last] - CLOSE


@kernel("uint64(int32[:, ::1], int32[:, ::1], int32[::1], int64, uint64[::1])", inline=True)
def hash_of(arcs, rows, path, length, word_hashes):
    """The hash of the path's sentence."""
    hashed = U64_EMPTY
    for k in range(length):
        hashed = mix(hashed, word_hashes[arcs[rows[path[k], P_ARC], ARC_WORD]])
    return hashed


@kernel(
    "boolean(int32[::1], int64[:, ::1], float64[::1], uint64[::1], int64, int64[:, ::1], int64, int64, int64, uint64)",
    inline=True,
)
def is_worse(index, counts, logs, hashes, filled, lengths, order, length, product, hashed):
    """Whether a sentence clearly ranks behind a full ranking: what most sentences do, so it is asked first."""
    size = len(index) - 1
    if filled < size:
        return False
    last = index[size - 1]
    if order != counts[last, ORDER]:
        return order < counts[last, ORDER]
    if length == counts[last, LENGTH]:
        last_product = counts[last, PRODUCT]
        return product < last_product or (product == last_product and hashed > hashes[last])
    return log_score(lengths, order, length, product) < logs[last] - CLOSE


@kernel(
    "void(int32[:, ::1], int32[::1], int64[:, ::1], uint64[::1], int32[:, ::1], int64, int64, int64, int64, uint64)",
    inline=True,
)
def write(rows, path, counts, hashes, paths, slot, length, order, product, hashed):
    """Write the path's sentence into a slot of a ranking."""
    for k in range(length):
        paths[slot, k] = rows[path[k], P_ARC]
    counts[slot, LENGTH], counts[slot, ORDER], counts[slot, PRODUCT] = length, order, product
    hashes[slot] = hashed


@kernel("uint64(int32[:, ::1], int32[::1], uint64, int64)", inline=True)
def forward(rows, left, matches, arc):
    """Count the n-grams that end with an arc, and return the matches then. left: how often each may still count."""
    # All four orders always, without a branch: where there is none, node 0 stands, of which nothing is ever left.
    for order in range(MAX_ORDER):
        node = rows[arc, P_NODES + order]
        matches += np.uint64(left[node] > 0) << np.uint64(LANE * order)
        left[node] -= 1
    return matches


@kernel("void(int32[:, ::1], int32[::1], int64)", inline=True)
def back(rows, left, arc):
    for order in range(MAX_ORDER):
        left[rows[arc, P_NODES + order]] += 1


@kernel("int64(uint64, int64)", inline=True)
def matches_of(matches, order):
    return np.int64((matches >> np.uint64(LANE * order)) & LANE_MASK)


@kernel("void(int32[:, ::1], int32[::1], int32[::1], int64)")
def rewind(rows, path, left, depth):
    while depth > 0:
        depth -= 1
        back(rows, left, path[depth])


@kernel(int64(ground_type, walk_type, ranked_type, int64))
def list_all(ground, walk, ranked, lowest_order):
    """Rank every sentence. Returns how many are ranked."""
    words, starts, arcs, lengths, word_hashes = (
        ground.words, ground.starts, ground.arcs, ground.lengths, ground.word_hashes,
    )  # fmt: skip
    first, rows, final, floors = ground.first, ground.rows, ground.final, ground.floors
    path, left, matches, undecided = walk.path, walk.left, walk.matches, walk.undecided
    index, counts, logs, hashes, paths = ranked.index, ranked.counts, ranked.logs, ranked.hashes, ranked.paths
    size = len(index) - 1
    waiting = np.empty(len(path) + 1, np.int64)
    end = np.empty(len(path) + 1, np.int64)
    waiting[0], end[0] = first[0], first[1]
    filled = 0
    depth = 0
    while depth >= 0:
        if waiting[depth] == end[depth]:
            depth -= 1
            if depth >= 0:
                back(rows, left, path[depth])
            continue
        arc = waiting[depth]
        waiting[depth] += 1
        path[depth] = arc
        matches[depth + 1] = forward(rows, left, matches[depth], arc)
        depth += 1
        target = rows[arc, P_TARGET]
        waiting[depth], end[depth] = first[target], first[target + 1]
        if not final[target]:
            continue
        order = 0
        while order < MAX_ORDER and matches_of(matches[depth], order):
            order += 1
        if order == depth:
            order = MAX_ORDER
        if order < lowest_order:
            continue
        product = np.int64(1)
        for n in range(min(order, depth)):
            product *= matches_of(matches[depth], n)
        if len(floors) and product < floors[depth]:
            continue
        if is_clearly_worse(index, counts, logs, filled, lengths, order, depth, product):
            continue
        hashed = hash_of(arcs, rows, path, depth, word_hashes)
        if is_worse(index, counts, logs, hashes, filled, lengths, order, depth, product, hashed):
            continue
        # A gold reference matches everywhere.
        if product < lengths[depth, MAX_ORDER] or not is_gold(arcs, rows, path, depth, words, starts):
            slot = index[size]
            write(rows, path, counts, hashes, paths, slot, depth, order, product, hashed)
            filled = insert(index, counts, logs, hashes, paths, filled, arcs, slot, lengths, undecided)
    return filled


@kernel("int64(int32[:, ::1], int16[:, ::1], int32[::1], uint64, int64, int64, int64, int64)", inline=True)
def bound_product(rows, bounds, left, matches, order, orders, arc, cell):
    """The most that the product of matches can become behind an arc; -1 if the sentence belongs to a higher order."""
    if order < MAX_ORDER and matches_of(matches, order) + (left[rows[arc, P_NODES + order]] > 0) > 0:
        return -1
    best = np.int64(1)
    for n in range(orders):
        # Node 0 stands for no n-gram, and has nothing left to count.
        best *= matches_of(matches, n) + bounds[cell, n] + (left[rows[arc, P_NODES + n]] > 0)
    return best


@kernel(
    "void(int32[::1], int32[:, ::1], int32[:, ::1], int64[::1], int16[:, ::1], uint64[::1],"
    " int32[::1], uint64, int64[:, ::1], int32[:, ::1], int32[::1], int64, int64, int64, int64, int64, int64)",
    inline=True,
)
def branch(
    first, rows, arcs, bound_first, bounds, word_hashes, left, matches, frame_bound, frame_arc, frame_size,
    state, depth, length, order, need, draw,
):  # fmt: skip
    """Put the arcs worth following into the frame of this depth, the best one last; by hash if draw is not -1."""
    orders = min(order, length)
    found = 0
    for arc in range(first[state], first[state + 1]):
        target = rows[arc, P_TARGET]
        cell = bound_first[target] + length - depth - 1
        if cell >= bound_first[target + 1] or bounds[cell, 0] < 0:
            continue
        best = bound_product(rows, bounds, left, matches, order, orders, arc, cell)
        if best < need:
            continue
        place = found
        if draw >= 0:
            key = mix(np.uint64(draw), word_hashes[arcs[rows[arc, P_ARC], ARC_WORD]])
            while place > 0:
                other = frame_arc[depth, place - 1]
                if mix(np.uint64(draw), word_hashes[arcs[rows[other, P_ARC], ARC_WORD]]) >= key:
                    break
                frame_bound[depth, place], frame_arc[depth, place] = frame_bound[depth, place - 1], other
                place -= 1
        else:
            while place > 0 and frame_bound[depth, place - 1] >= best:
                frame_bound[depth, place] = frame_bound[depth, place - 1]
                frame_arc[depth, place] = frame_arc[depth, place - 1]
                place -= 1
        frame_bound[depth, place], frame_arc[depth, place] = best, arc
        found += 1
    frame_size[depth] = found


@kernel("boolean(int32[:, ::1], int32[:, ::1], int64[:, ::1], uint64[::1], int64, int64)")
def is_taken(arcs, paths, counts, hashes, slot, taken):
    """Whether the sentence in a slot stands in one of the first `taken` slots, too."""
    for other in range(taken):
        if hashes[other] == hashes[slot] and compare_words(arcs, paths, counts, other, slot) == 0:
            return True
    return False


@kernel(
    "int64(int32[::1], int64[:, ::1], int64, int64, int64, int64[:, ::1], int64[::1], int64, boolean[::1])", inline=True
)
def needed(index, counts, filled, length, order, lengths, floors, above, undecided):
    """What a sentence must reach to be ranked: as much as the last one of a full ranking, or (above 1) more."""
    need = floors[length] if len(floors) else np.int64(1)
    if filled == len(index) - 1:
        last = index[filled - 1]
        last_length, last_product = counts[last, LENGTH], counts[last, PRODUCT]
        need = max(need, least_product(lengths, order, length, last_length, last_product, above, undecided))
    return need


@kernel(
    types.UniTuple(int64, 2)(ground_type, walk_type, ranked_type, int64, int64, int64, int64, int64, int64, boolean)
)
def explore(ground, walk, ranked, filled, mode, length, order, need, draw, ties_here):
    """Visit the sentences of one length whose product can reach `need`, depth first.

    Returns what ended it, and how many are ranked now. A draw is written into slot `filled`. `ties_here` says whether
    a sentence that just reaches `need` is tied at the cut.
    """
    # Unpacked once: a field of a record costs a reference count each time it is taken out.
    words, starts, arcs, lengths, limits = ground.words, ground.starts, ground.arcs, ground.lengths, ground.limits
    first, rows, word_hashes = ground.first, ground.rows, ground.word_hashes
    bound_first, bounds = ground.bound_first, ground.bounds
    path, path_hash, left, matches, undecided = walk.path, walk.path_hash, walk.left, walk.matches, walk.undecided
    frame_bound, frame_arc, frame_size = walk.frame_bound, walk.frame_arc, walk.frame_size
    index, counts, logs, hashes, paths = ranked.index, ranked.counts, ranked.logs, ranked.hashes, ranked.paths
    floors, tally, cut = ground.floors, walk.tally, walk.cut
    size = len(index) - 1
    last_length = last_product = np.int64(-1)  # what `need` was reckoned from
    depth = 0
    state = np.int32(0)
    entering = True
    while True:
        if entering:
            entering = False
            branch(
                first, rows, arcs, bound_first, bounds, word_hashes, left, matches[depth],
                frame_bound, frame_arc, frame_size, state, depth, length, order, need, draw,
            )  # fmt: skip
        if frame_size[depth] == 0:
            if depth == 0:
                return DONE, filled
            depth -= 1
            back(rows, left, path[depth])
            continue
        frame_size[depth] -= 1
        best = frame_bound[depth, frame_size[depth]]
        arc = frame_arc[depth, frame_size[depth]]
        if best < need:
            continue
        tally[NODES] += 1
        tally[SPENT] += 1
        if tally[SPENT] > limits[0]:
            rewind(rows, path, left, depth)
            return OVER_BUDGET, filled
        matches[depth + 1] = forward(rows, left, matches[depth], arc)
        path[depth] = arc
        path_hash[depth + 1] = mix(path_hash[depth], word_hashes[arcs[rows[arc, P_ARC], ARC_WORD]])
        depth += 1
        if depth < length:
            state = rows[arc, P_TARGET]
            entering = True
            continue
        enough = False
        hashed = path_hash[length]
        if best < lengths[length, MAX_ORDER] or not is_gold(arcs, rows, path, length, words, starts):
            if mode == DRAW:
                write(rows, path, counts, hashes, paths, filled, length, order, best, hashed)
                enough = best == need and not is_taken(arcs, paths, counts, hashes, filled, filled)
            elif not is_worse(index, counts, logs, hashes, filled, lengths, order, length, best, hashed):
                slot = index[size]
                write(rows, path, counts, hashes, paths, slot, length, order, best, hashed)
                filled = insert(index, counts, logs, hashes, paths, filled, arcs, slot, lengths, undecided)
            if mode <= FIND_CUT and filled == size:
                last = index[size - 1]
                if counts[last, LENGTH] != last_length or counts[last, PRODUCT] != last_product:
                    last_length, last_product = counts[last, LENGTH], counts[last, PRODUCT]
                    need = needed(index, counts, filled, length, order, lengths, floors, mode, undecided)
                    ties_here = compare_scores(lengths, order, length, need, last_length, last_product, undecided) == 0
                    # Another sentence of the same length and product may have been the last one of an earlier length.
                    if last_length != cut[0] or last_product != cut[1]:
                        cut[0], cut[1] = last_length, last_product
                        tally[TIED] = 0
                if mode == FIND_BEST and ties_here and best == need:
                    tally[TIED] += 1
                    enough = tally[TIED] > limits[1]
            elif mode == LIST_TIED and ties_here and best == need:
                tally[TIED] += 1
                enough = tally[TIED] > limits[1]
        if enough:
            rewind(rows, path, left, depth)
            return ENOUGH, filled
        depth -= 1
        back(rows, left, arc)
