"""Compiled: the search for the best sentences.

The plain twin is search.py.
"""

import numpy as np
from numba import boolean, int32, int64, types

from polyref.compiled import kernel
from polyref.lattice.product_kernels import bound_starts, multiply, suffix_bounds
from polyref.lattice.ranking_kernels import (
    LENGTH,
    PRODUCT,
    U64_EMPTY,
    compare_scores,
    least_product,
    length_table,
    mix,
    new_ranking,
    ranked_type,
)
from polyref.lattice.walk_kernels import (
    DONE,
    DRAW,
    ENOUGH,
    FIND_BEST,
    FIND_CUT,
    LIST_TIED,
    NODES,
    OVER_BUDGET,
    SPENT,
    TIED,
    Ground,
    Walk,
    explore,
    ground_type,
    is_taken,
    list_all,
    needed,
    walk_type,
)
from polyref.score.kernels import LIMIT, MAX_ORDER, build_trie

FINE, TOO_LARGE, UNDECIDED = 0, 1, 2  # how a search ends


@kernel(int64[:, ::1](ground_type, walk_type, int64))
def root_bounds(ground, walk, order):
    """Each possible length with the bound of its product; most promising first."""
    longest = len(walk.path)
    roots = np.empty((longest, 2), np.int64)
    count = 0
    for length in range(1, longest + 1):
        if ground.bounds[length, 0] < 0 or (order < MAX_ORDER and length <= order):
            continue
        best = np.int64(1)
        for n in range(min(order, length)):
            best *= ground.bounds[length, n]
        if best < (ground.floors[length] if len(ground.floors) else 1):
            continue
        place = count
        while place > 0 and (
            compare_scores(
                ground.lengths, order, length, best, roots[place - 1, 0], roots[place - 1, 1], walk.undecided
            )
            > 0
        ):
            roots[place, 0], roots[place, 1] = roots[place - 1, 0], roots[place - 1, 1]
            place -= 1
        roots[place, 0], roots[place, 1] = length, best
        count += 1
    return roots[:count].copy()


@kernel(types.UniTuple(int64, 2)(ground_type, walk_type, ranked_type, int64[:, ::1], int64, int64))
def find(ground, walk, ranked, roots, order, mode):
    """Rank the best sentences. Returns what ended it, and how many there are.

    FIND_BEST ranks all that are tied at the cut, too, and gives up where they are too many; FIND_CUT passes over them.
    """
    walk.tally[SPENT] = 0
    walk.tally[TIED] = 0
    walk.cut[0] = walk.cut[1] = -1
    filled = np.int64(0)
    for r in range(len(roots)):
        length = roots[r, 0]
        need = needed(
            ranked.index, ranked.counts, filled, length, order, ground.lengths, ground.floors, mode, walk.undecided
        )
        if roots[r, 1] >= need:
            status, filled = explore(ground, walk, ranked, filled, mode, length, order, need, -1, False)
            if status != DONE:
                return status, filled
    return DONE, filled


@kernel(types.UniTuple(int64, 2)(ground_type, walk_type, ranked_type, int64[:, ::1], int64, int64, int64))
def list_tied(ground, walk, ranked, roots, order, cut_length, cut_product):
    """Second pass: everything that reaches the cut, ranked. Returns what ended it, and how many are ranked."""
    walk.tally[SPENT] = 0
    walk.tally[TIED] = 0
    filled = np.int64(0)
    for r in range(len(roots)):
        length = roots[r, 0]
        need = least_product(ground.lengths, order, length, cut_length, cut_product, 0, walk.undecided)
        if roots[r, 1] >= need:
            ties_here = (
                compare_scores(ground.lengths, order, length, need, cut_length, cut_product, walk.undecided) == 0
            )
            status, filled = explore(ground, walk, ranked, filled, LIST_TIED, length, order, need, -1, ties_here)
            if status != DONE:
                return status, filled
    return DONE, filled


@kernel("void(int64[:, ::1], int64, int64)")
def sort_by_draw(tied, count, draw):
    """The lengths in the order of this draw."""
    for k in range(1, count):
        length, product = tied[k, 0], tied[k, 1]
        key = mix(mix(np.uint64(draw), np.uint64(length)), np.uint64(1))
        place = k
        while place > 0:
            other = mix(mix(np.uint64(draw), np.uint64(tied[place - 1, 0])), np.uint64(1))
            if other < key or (other == key and tied[place - 1, 0] < length):
                break
            tied[place, 0], tied[place, 1] = tied[place - 1, 0], tied[place - 1, 1]
            place -= 1
        tied[place, 0], tied[place, 1] = length, product


@kernel(int64(ground_type, walk_type, ranked_type, int64[:, ::1], int64, int64, int64, int64))
def draw_tied(ground, walk, drawn, roots, order, cut_length, cut_product, wanted):
    """Third pass: draw from what is tied, one walk after the other, into slots 0, 1, ...; returns how many."""
    walk.tally[SPENT] = 0
    tied = np.empty((len(roots), 2), np.int64)
    lengths = 0
    for r in range(len(roots)):
        length = roots[r, 0]
        need = least_product(ground.lengths, order, length, cut_length, cut_product, 0, walk.undecided)
        if roots[r, 1] >= need and (
            compare_scores(ground.lengths, order, length, need, cut_length, cut_product, walk.undecided) == 0
        ):
            tied[lengths, 0], tied[lengths, 1] = length, need
            lengths += 1
    count = np.int64(0)
    for draw in range(wanted):
        sort_by_draw(tied, lengths, draw)
        for t in range(lengths):
            status, _ = explore(ground, walk, drawn, count, DRAW, tied[t, 0], order, tied[t, 1], draw, False)
            if status == OVER_BUDGET:
                return count
            if status == ENOUGH:
                count += 1
                break
    return count


@kernel(types.void(ranked_type, int64, int64, int64[:, ::1], int32[:, ::1], int64))
def take(ranked, first, end, out_counts, out_paths, place):
    """Copy the candidates ranked from `first` to `end` to the result."""
    for k in range(first, end):
        slot = ranked.index[k]
        for column in range(3):
            out_counts[place, column] = ranked.counts[slot, column]
        for p in range(ranked.counts[slot, LENGTH]):
            out_paths[place, p] = ranked.paths[slot, p]
        place += 1


@kernel(types.Tuple([int64, boolean])(ground_type, walk_type, int64, int64, int64[:, ::1], int32[:, ::1], int64))
def best_of_order(ground, walk, order, wanted, out_counts, out_paths, taken):
    """Write the best sentences of one order behind those taken; how many are taken now, and whether it was exact."""
    roots = root_bounds(ground, walk, order)
    ranked = new_ranking(wanted, len(walk.path))
    status, filled = find(ground, walk, ranked, roots, order, FIND_BEST)
    if status == DONE:
        take(ranked, 0, filled, out_counts, out_paths, taken)
        return taken + filled, True
    ranked = new_ranking(wanted, len(walk.path))
    status, filled = find(ground, walk, ranked, roots, order, FIND_CUT)
    if status != DONE or filled < wanted:
        take(ranked, 0, filled, out_counts, out_paths, taken)
        return taken + filled, status == DONE
    last = ranked.index[wanted - 1]
    cut_length, cut_product = ranked.counts[last, LENGTH], ranked.counts[last, PRODUCT]
    listed = new_ranking(wanted, len(walk.path))
    status, filled = list_tied(ground, walk, listed, roots, order, cut_length, cut_product)
    if status == DONE:
        take(listed, 0, filled, out_counts, out_paths, taken)
        return taken + filled, True
    better = 0
    while (
        compare_scores(
            ground.lengths, order, ranked.counts[ranked.index[better], LENGTH],
            ranked.counts[ranked.index[better], PRODUCT], cut_length, cut_product, walk.undecided,
        )
        > 0
    ):  # fmt: skip
        better += 1
    take(ranked, 0, better, out_counts, out_paths, taken)
    drawn = new_ranking(wanted, len(walk.path))
    count = draw_tied(ground, walk, drawn, roots, order, cut_length, cut_product, wanted - better)
    take(drawn, 0, count, out_counts, out_paths, taken + better)
    # Out of budget: fill up with the tied that the first pass came across.
    total = better + count
    for k in range(better, wanted):
        slot = ranked.index[k]
        if total < wanted:
            for p in range(ranked.counts[slot, LENGTH]):
                drawn.paths[wanted, p] = ranked.paths[slot, p]
            drawn.counts[wanted, LENGTH] = ranked.counts[slot, LENGTH]
            drawn.hashes[wanted] = ranked.hashes[slot]
            if not is_taken(ground.arcs, drawn.paths, drawn.counts, drawn.hashes, wanted, count):
                take(ranked, k, k + 1, out_counts, out_paths, taken + total)
                total += 1
    return taken + total, True


@kernel(
    "Tuple((int64, int64[:, ::1], int32[::1], int64, boolean))"
    "(int32[::1], int64[::1], int64, int32[::1], int32[:, ::1], boolean[::1],"
    " int64, boolean, int64, int64[::1], uint64[::1], boolean[::1], int64[::1], int64)"
)
def search(
    words, starts, vocabulary, first, arcs, final,
    wanted, list_everything, lowest_order, floors, word_hashes, marks, limits, max_bounds,
):  # fmt: skip
    """The best sentences. Returns how it ended (FINE, TOO_LARGE, UNDECIDED), the sentences' lengths, orders and
    products, all their arcs behind each other with -1 behind each sentence, the nodes visited, and whether the search
    went to its end.
    """
    trie, root = build_trie(words, starts, vocabulary)
    unended = marks.copy()  # the marks that end no reference
    for r in range(len(starts) - 1):
        unended[words[starts[r + 1] - 1]] = False
    p_first, rows, p_final = multiply(first, arcs, final, trie, root, marks, unended)
    bound_first = bound_starts(p_first, rows, p_final)
    longest = bound_first[1] - 1
    lengths = length_table(starts, longest)
    out_counts = np.zeros((wanted, 3), np.int64)
    out_paths = np.empty((wanted, longest), np.int32)
    too_large = bound_first[-1] > max_bounds and not list_everything
    if list_everything or too_large:
        bounds = np.empty((0, MAX_ORDER), np.int16)
    else:
        bounds = suffix_bounds(p_first, rows, p_final, bound_first)
    widest = 1
    for s in range(len(p_final)):
        widest = max(widest, p_first[s + 1] - p_first[s])
    ground = Ground(
        words, starts, arcs, p_first, rows, p_final, bound_first, bounds, lengths, word_hashes, floors, limits
    )
    walk = Walk(
        np.empty(longest, np.int32),
        np.full(longest + 1, U64_EMPTY, np.uint64),
        trie[:, LIMIT].copy(),
        np.zeros(longest + 1, np.uint64),
        np.empty((longest + 1, widest), np.int64),
        np.empty((longest + 1, widest), np.int32),
        np.empty(longest + 1, np.int32),
        np.zeros(3, np.int64),
        np.zeros(2, np.int64),
        np.zeros(1, np.bool_),
    )
    taken = np.int64(0)
    exact = not too_large
    if list_everything:
        ranked = new_ranking(wanted, longest)
        taken = list_all(ground, walk, ranked, lowest_order)
        take(ranked, 0, taken, out_counts, out_paths, 0)
    elif not too_large:
        for order in range(MAX_ORDER, lowest_order - 1, -1):
            if taken < wanted:
                taken, complete = best_of_order(ground, walk, order, wanted - taken, out_counts, out_paths, taken)
                exact = exact and complete
    status = TOO_LARGE if too_large else (UNDECIDED if walk.undecided[0] else FINE)
    out_arcs = np.empty(out_counts[:taken, LENGTH].sum() + taken, np.int32)
    place = 0
    for k in range(taken):
        for p in range(out_counts[k, LENGTH]):
            out_arcs[place] = out_paths[k, p]
            place += 1
        out_arcs[place] = -1
        place += 1
    return status, out_counts[:taken], out_arcs, walk.tally[NODES], exact
