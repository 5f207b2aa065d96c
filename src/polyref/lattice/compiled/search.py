"""Compiled: the search for the best sentences.

Walks through the product automaton with clipped counts visit the same sentences in the same order as the plain twin.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int32, int64, types, uint32, uint64

from polyref.compiled import kernel
from polyref.lattice.compiled.automaton import ARC_WORD
from polyref.lattice.compiled.product import (
    LANE,
    P_ARC,
    P_NODES,
    P_TARGET,
    P_WORD,
    bound_starts,
    multiply,
    suffix_bounds,
)
from polyref.lattice.compiled.ranking import (
    CROSSED,
    LENGTH,
    ORDER,
    PRODUCT,
    U64_EMPTY,
    compare_scores,
    copy_candidate,
    insert,
    is_taken,
    is_worse,
    least_product,
    length_table,
    mix,
    needed,
    new_ranking,
    ranked_type,
    take,
)
from polyref.lattice.compiled.rules import (
    BEGIN,
    cores_of,
    cover,
    cross,
    crossings,
    fault,
    places_of,
    reachable,
    say,
    tables_of,
    with_word,
)
from polyref.score.kernels import LIMIT, MAX_ORDER, borrowed, build_trie

LANE_MASK = np.uint64(2**LANE - 1)
NO_WAY = np.uint64(2**64 - 1)
FINE, TOO_LARGE, UNDECIDED = 0, 1, 2  # how a search ends
SPENT, NODES, TIED = 0, 1, 2  # the cells of Walk.tally
DONE, OVER_BUDGET, ENOUGH = 0, 1, 2  # how an exploration ends
FIND_BEST, FIND_CUT, LIST_TIED, DRAW = 0, 1, 2, 3  # what a sentence is visited for


class Ground(NamedTuple):
    """What does not change during a search."""

    words: int32[::1]  # the references
    starts: int64[::1]
    arcs: int32[:, ::1]  # of the automaton
    first: int32[::1]  # the product: where the arcs of a state begin, the arcs, the final states
    rows: uint32[:, ::1]
    final: boolean[::1]
    bound_first: int64[::1]
    bounds: uint64[::1]
    lengths: int64[:, ::1]  # length_table
    word_hashes: uint64[::1]
    floors: int64[::1]  # the least product wanted at each length
    limits: int64[::1]  # the node budget, and how many tied sentences are listed
    rules: int32[::1]  # as the plain twin's arrays have them: empty where there are none
    same: int32[::1]
    adding: uint64[:, ::1]  # tables_of
    lanes: uint64[:, ::1]
    bits: uint64[::1]
    at_end: boolean
    reach: uint64[::1]  # reachable
    known_cores: uint64[::1]  # cores_of: those of gold references, and of what was found in higher orders
    places: uint64[:, ::1]  # places_of
    ends: uint64[::1]


class Walk(NamedTuple):
    """Where a search stands: the path, its clipped counts, and the arcs still to follow at each word."""

    path: uint32[::1]
    path_hash: uint64[::1]  # the hash of the first words of the path, for each number of words
    left: int32[::1]  # how often each n-gram may still count
    matches: uint64[::1]  # of the first words of the path, for each number of words
    frame_bound: int64[:, ::1]
    frame_arc: uint32[:, ::1]
    frame_size: int32[::1]
    tally: int64[::1]
    cut: int64[::1]  # the length, product and crossings of the last one ranked
    undecided: boolean[::1]
    spoken: int32[::1]  # for each word, 0
    load: uint64[:, ::1]  # what the rules' counters hold; this and the next four are for each number of words
    said: uint64[::1]  # the watched rules that are served; behind the last one, all of them
    core: uint64[::1]  # the hash of the path's core
    pieces: uint64[:, ::1]  # where the path's last piece may end in the references
    crossed: int32[::1]
    left_out: int64[::1]  # by cause


ground_type = types.NamedTuple(list(Ground.__annotations__.values()), Ground)
walk_type = types.NamedTuple(list(Walk.__annotations__.values()), Walk)


@kernel("uint64(uint32[:, ::1], int32[::1], uint64, uint32)", inline=True)
def forward(rows, left, matches, arc):
    """Count the n-grams that end with an arc, and return the matches then. left: how often each may still count."""
    # All four orders always, without a branch: where there is none, node 0 stands, of which nothing is ever left.
    for order in range(MAX_ORDER):
        node = rows[arc, P_NODES + order]
        matches += np.uint64(left[node] > 0) << np.uint64(LANE * order)
        left[node] -= 1
    return matches


@kernel("void(uint32[:, ::1], int32[::1], uint32)", inline=True)
def back(rows, left, arc):
    for order in range(MAX_ORDER):
        left[rows[arc, P_NODES + order]] += 1


@kernel("void(uint32[:, ::1], uint32[::1], int32[::1], int64)")
def rewind(rows, path, left, depth):
    while depth > 0:
        depth -= 1
        back(rows, left, path[depth])


@kernel("int64(uint64, int64)", inline=True)
def matches_of(matches, order):
    return np.int64((matches >> np.uint64(LANE * order)) & LANE_MASK)


@kernel("int64(uint32[:, ::1], uint64, int32[::1], uint64, int64, int64, uint32)", inline=True)
def bound_product(rows, to_come, left, matches, order, orders, arc):
    """The most that the product of matches can become behind an arc; -1 if the sentence belongs to a higher order."""
    gained = np.uint64(0)
    for n in range(MAX_ORDER):
        # Node 0 stands for no n-gram, and has nothing left to count.
        gained |= np.uint64(left[rows[arc, P_NODES + n]] > 0) << np.uint64(LANE * n)
    matches += gained
    if order < MAX_ORDER and matches_of(matches, order) > 0:
        return -1
    matches += to_come
    best = np.int64(1)
    for n in range(MAX_ORDER):
        best *= matches_of(matches, n) if n < orders else 1
    return best


@kernel("boolean(uint32[:, ::1], uint32[::1], int64, int32[::1], int64[::1])", inline=True)
def is_gold(rows, path, length, words, starts):
    """Whether a person wrote the path's sentence."""
    for r in range(len(starts) - 1):
        if starts[r + 1] - starts[r] == length:
            k = 0
            while k < length and rows[path[k], P_WORD] == words[starts[r] + k]:
                k += 1
            if k == length:
                return True
    return False


@kernel(
    "void(uint32[:, ::1], uint32[::1], int64[:, ::1], uint64[::1], uint64[::1], int32[:, ::1], int64, int64, int64,"
    " int64, int64, uint64, uint64)",
    inline=True,
)
def write(rows, path, counts, hashes, cores, paths, slot, length, order, product, crossed, hashed, core):
    """Write the path's sentence into a slot of a ranking."""
    for k in range(length):
        paths[slot, k] = rows[path[k], P_ARC]
    counts[slot, LENGTH], counts[slot, ORDER] = length, order
    counts[slot, PRODUCT], counts[slot, CROSSED] = product, crossed
    hashes[slot], cores[slot] = hashed, core


@kernel(int64(ground_type, walk_type, ranked_type, int64))
def list_all(ground, walk, ranked, lowest_order):
    """Rank every sentence. Returns how many are ranked."""
    ground, walk, ranked = borrowed(ground), borrowed(walk), borrowed(ranked)
    words, starts, arcs, lengths, word_hashes = (
        ground.words, ground.starts, ground.arcs, ground.lengths, ground.word_hashes,
    )  # fmt: skip
    first, rows, final, floors = ground.first, ground.rows, ground.final, ground.floors
    path, path_hash, left, matches, undecided = walk.path, walk.path_hash, walk.left, walk.matches, walk.undecided
    index, counts, logs, hashes, paths = ranked.index, ranked.counts, ranked.logs, ranked.hashes, ranked.paths
    rules, adding, lanes, bits, at_end = ground.rules, ground.adding, ground.lanes, ground.bits, ground.at_end
    same, reach, places, known_cores = ground.same, ground.reach, ground.places, ground.known_cores
    spoken, load, said, core = walk.spoken, walk.load, walk.said, walk.core
    pieces, crossed, ends, left_out = walk.pieces, walk.crossed, ground.ends, walk.left_out
    cores, judged = ranked.cores, len(ground.same) > 0
    size = len(index) - 1
    waiting = np.empty(len(path) + 1, np.uint32)
    end = np.empty(len(path) + 1, np.uint32)
    waiting[0], end[0] = first[0], first[1]
    # For each length, a product that was not enough. Less never is, as the ranking only gets better: logarithms saved.
    beaten = np.zeros(len(path) + 1, np.int64)
    filled = 0
    depth = 0
    known = np.int64(0)  # words of the path whose crossings are known
    while depth >= 0:
        if waiting[depth] == end[depth]:
            depth -= 1
            known = min(known, depth)
            if depth >= 0:
                back(rows, left, path[depth])
            continue
        arc = waiting[depth]
        waiting[depth] = arc + 1
        word = rows[arc, P_WORD]
        if judged:
            cause = say(adding, lanes, bits, reach, load, said, depth, word, rows[arc, P_TARGET])
            if cause >= 0:
                left_out[cause] += 1
                continue
        path[depth] = arc
        path_hash[depth + 1] = mix(path_hash[depth], word_hashes[word])
        matches[depth + 1] = forward(rows, left, matches[depth], arc)
        depth += 1
        target = rows[arc, P_TARGET]
        waiting[depth], end[depth] = first[target], first[target + 1]
        if not final[target]:
            continue
        order, product = MAX_ORDER, np.int64(1)
        for n in range(MAX_ORDER):
            product *= matches_of(matches[depth], n)
        if product == 0:  # seldom
            order, product = 0, 1
            while order < MAX_ORDER and matches_of(matches[depth], order):
                product *= matches_of(matches[depth], order)
                order += 1
            if order == depth:
                order = MAX_ORDER
        if order < lowest_order or product < floors[depth]:
            continue
        hashed, is_full = path_hash[depth], order == MAX_ORDER
        is_beaten = is_full and product < beaten[depth]
        if not judged and (
            is_beaten or is_worse(index, counts, logs, hashes, filled, lengths, order, depth, product, 0, hashed)
        ):
            beaten[depth] = max(beaten[depth], product if is_full else 0)
            continue
        # A gold reference matches everywhere.
        if product == lengths[depth, MAX_ORDER] and is_gold(rows, path, depth, words, starts):
            continue
        all_crossings = np.int64(0)
        if judged:
            known = cross(rows, path, places, same, word_hashes, pieces, crossed, core, known, depth)
            cause = fault(rules, at_end, rows, path, spoken, said, known_cores, core, depth)
            if cause >= 0:
                left_out[cause] += 1
                continue
            all_crossings = crossings(pieces, ends, crossed, depth)
            if is_beaten or is_worse(
                index, counts, logs, hashes, filled, lengths, order, depth, product, all_crossings, hashed
            ):
                beaten[depth] = max(beaten[depth], product if is_full else 0)
                continue
        slot = index[size]
        write(rows, path, counts, hashes, cores, paths, slot, depth, order, product, all_crossings, hashed, core[depth])
        filled = insert(index, counts, logs, hashes, cores, paths, filled, arcs, slot, lengths, judged, undecided)
    return filled


@kernel(
    "void(int32[::1], uint32[:, ::1], int64[::1], uint64[::1], uint64[::1],"
    " int32[::1], uint64, int64[:, ::1], uint32[:, ::1], int32[::1], uint32, int64, int64, int64, int64, int64)",
    inline=True,
)
def branch(
    first, rows, bound_first, bounds, word_hashes, left, matches, frame_bound, frame_arc, frame_size,
    state, depth, length, order, need, draw,
):  # fmt: skip
    """Put the arcs worth following into the frame of this depth, the best one last; by hash if draw is not -1."""
    orders = min(order, length)
    found = 0
    for arc in range(np.uint32(first[state]), np.uint32(first[state + 1])):
        target = rows[arc, P_TARGET]
        cell = bound_first[target] + length - depth - 1
        if cell >= bound_first[target + 1] or bounds[cell] == NO_WAY:
            continue
        best = bound_product(rows, bounds[cell], left, matches, order, orders, arc)
        if best < need:
            continue
        place = found
        if draw >= 0:
            key = mix(np.uint64(draw), word_hashes[rows[arc, P_WORD]])
            while place > 0:
                other = frame_arc[depth, place - 1]
                if mix(np.uint64(draw), word_hashes[rows[other, P_WORD]]) >= key:
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


@kernel(
    types.UniTuple(int64, 2)(
        ground_type, walk_type, ranked_type, int64, int64, int64, int64, int64, int64, boolean, int64, boolean
    ),
    inline=True,
)
def explore_as(ground, walk, ranked, filled, mode, length, order, need, draw, ties_here, at_need, judged):
    """Visit the sentences of one length whose product can reach `need`, depth first.

    Returns what ended it, and how many are ranked now. A draw is written into slot `filled`. `ties_here` says whether
    a sentence that just reaches `need` scores as the cut does; then it may have `at_need` crossings at most.
    """
    ground, walk, ranked = borrowed(ground), borrowed(walk), borrowed(ranked)
    words, starts, arcs, lengths, limits = ground.words, ground.starts, ground.arcs, ground.lengths, ground.limits
    first, rows, word_hashes = ground.first, ground.rows, ground.word_hashes
    bound_first, bounds = ground.bound_first, ground.bounds
    path, path_hash, left, matches, undecided = walk.path, walk.path_hash, walk.left, walk.matches, walk.undecided
    frame_bound, frame_arc, frame_size = walk.frame_bound, walk.frame_arc, walk.frame_size
    index, counts, logs, hashes, paths = ranked.index, ranked.counts, ranked.logs, ranked.hashes, ranked.paths
    floors, tally, cut = ground.floors, walk.tally, walk.cut
    rules, adding, lanes, bits, at_end = ground.rules, ground.adding, ground.lanes, ground.bits, ground.at_end
    same, reach, places, known_cores = ground.same, ground.reach, ground.places, ground.known_cores
    spoken, load, said, core = walk.spoken, walk.load, walk.said, walk.core
    pieces, crossed, ends = walk.pieces, walk.crossed, ground.ends
    cores, left_out = ranked.cores, walk.left_out
    counts_ties = mode == FIND_BEST
    if mode == LIST_TIED:
        counts_ties = True
    size = len(index) - 1
    last_length = last_product = last_crossed = np.int64(-1)  # what `need` was reckoned from
    spent, budget, status = np.int64(0), limits[0] - tally[SPENT], DONE
    depth = 0
    known = np.int64(0)  # words of the path whose crossings are known
    state = np.uint32(0)
    entering = True
    while True:
        if entering:
            entering = False
            branch(
                first, rows, bound_first, bounds, word_hashes, left, matches[depth],
                frame_bound, frame_arc, frame_size, state, depth, length, order, need, draw,
            )  # fmt: skip
        if frame_size[depth] == 0:
            if depth == 0:
                break
            depth -= 1
            known = min(known, depth)
            back(rows, left, path[depth])
            continue
        frame_size[depth] -= 1
        best = frame_bound[depth, frame_size[depth]]
        arc = frame_arc[depth, frame_size[depth]]
        if best < need:
            continue
        if ties_here and best == need:
            if judged:
                known = cross(rows, path, places, same, word_hashes, pieces, crossed, core, known, depth)
            if crossed[depth] > at_need:
                continue
        spent += 1
        if spent > budget:
            status = OVER_BUDGET
            break
        word = rows[arc, P_WORD]
        if judged:
            cause = say(adding, lanes, bits, reach, load, said, depth, word, rows[arc, P_TARGET])
            if cause >= 0:
                left_out[cause] += 1
                continue
        matches[depth + 1] = forward(rows, left, matches[depth], arc)
        path[depth] = arc
        path_hash[depth + 1] = mix(path_hash[depth], word_hashes[word])
        depth += 1
        if depth < length:
            state = rows[arc, P_TARGET]
            entering = True
            continue
        enough = False
        hashed = path_hash[length]
        passes = best < lengths[length, MAX_ORDER] or not is_gold(rows, path, length, words, starts)
        all_crossings = np.int64(0)
        if judged and passes:
            known = cross(rows, path, places, same, word_hashes, pieces, crossed, core, known, length)
            cause = fault(rules, at_end, rows, path, spoken, said, known_cores, core, length)
            if cause >= 0:
                left_out[cause] += 1
                passes = False
            all_crossings = crossings(pieces, ends, crossed, length)
        if passes:
            if mode == DRAW:
                write(
                    rows, path, counts, hashes, cores, paths, filled, length, order, best,
                    all_crossings, hashed, core[length],
                )  # fmt: skip
                enough = best == need and all_crossings == at_need
                enough = enough and not is_taken(arcs, paths, counts, hashes, cores, judged, filled, filled)
            elif not is_worse(index, counts, logs, hashes, filled, lengths, order, length, best, all_crossings, hashed):
                slot = index[size]
                write(
                    rows, path, counts, hashes, cores, paths, slot, length, order, best,
                    all_crossings, hashed, core[length],
                )  # fmt: skip
                filled = insert(
                    index, counts, logs, hashes, cores, paths, filled, arcs, slot, lengths, judged, undecided
                )
            if mode <= FIND_CUT and filled == size:
                last = index[size - 1]
                if (
                    counts[last, LENGTH] != last_length
                    or counts[last, PRODUCT] != last_product
                    or counts[last, CROSSED] != last_crossed
                ):
                    last_length, last_product = counts[last, LENGTH], counts[last, PRODUCT]
                    last_crossed = counts[last, CROSSED]
                    need, ties_here = needed(index, counts, filled, length, order, lengths, floors, undecided)
                    at_need = last_crossed - mode
                    # Another sentence like it may have been the last one of an earlier length.
                    if last_length != cut[0] or last_product != cut[1] or last_crossed != cut[2]:
                        cut[0], cut[1], cut[2] = last_length, last_product, last_crossed
                        tally[TIED] = 0
            if counts_ties and ties_here and best == need and all_crossings == cut[2]:
                tally[TIED] += 1
                enough = tally[TIED] > limits[1]
        if enough:
            status = ENOUGH
            break
        depth -= 1
        known = min(known, depth)
        back(rows, left, arc)
    rewind(rows, path, left, depth)
    tally[SPENT] += spent
    tally[NODES] += spent
    return status, filled


@kernel(
    types.UniTuple(int64, 2)(
        ground_type, walk_type, ranked_type, int64, int64, int64, int64, int64, int64, boolean, int64
    )
)
def explore(ground, walk, ranked, filled, mode, length, order, need, draw, ties_here, at_need):
    """The same: once compiled with rules and once without, which is faster than to ask again at each word."""
    if len(ground.same):
        return explore_as(ground, walk, ranked, filled, mode, length, order, need, draw, ties_here, at_need, True)
    return explore_as(ground, walk, ranked, filled, mode, length, order, need, draw, ties_here, at_need, False)


@kernel(int64[:, ::1](ground_type, walk_type, int64))
def root_bounds(ground, walk, order):
    """Each possible length with the bound of its product; most promising first."""
    longest, bounds, lengths, undecided = len(walk.path), ground.bounds, ground.lengths, walk.undecided
    roots = np.empty((longest, 2), np.int64)
    count = 0
    for length in range(1, longest + 1):
        if bounds[length] == NO_WAY or (order < MAX_ORDER and length <= order):
            continue
        best = np.int64(1)
        for n in range(min(order, length)):
            best *= matches_of(bounds[length], n)
        if best < ground.floors[length]:
            continue
        place = count
        while place > 0:
            other_length, other = roots[place - 1, 0], roots[place - 1, 1]
            if compare_scores(lengths, order, length, best, other_length, other, undecided) <= 0:
                break
            roots[place, 0], roots[place, 1] = other_length, other
            place -= 1
        roots[place, 0], roots[place, 1] = length, best
        count += 1
    return roots[:count].copy()


@kernel(types.UniTuple(int64, 2)(ground_type, walk_type, ranked_type, int64[:, ::1], int64, int64))
def find(ground, walk, ranked, roots, order, mode):
    """Rank the best sentences. Returns what ended it, and how many there are.

    FIND_BEST ranks all that are tied at the cut, too, and gives up where they are too many; FIND_CUT passes over them.
    LIST_TIED knows the cut that FIND_CUT has found, and ranks everything that reaches it.
    """
    index, counts, lengths, cut, undecided = ranked.index, ranked.counts, ground.lengths, walk.cut, walk.undecided
    walk.tally[SPENT] = walk.tally[TIED] = 0
    if mode != LIST_TIED:
        cut[0] = cut[1] = cut[2] = -1
    filled = np.int64(0)
    for r in range(len(roots)):
        length, at_need = roots[r, 0], cut[2]
        if mode == LIST_TIED:
            need, rank = least_product(lengths, order, length, cut[0], cut[1], undecided)
            ties_here = rank == 0
        else:
            need, ties_here = needed(index, counts, filled, length, order, lengths, ground.floors, undecided)
        if roots[r, 1] >= need:
            if mode != LIST_TIED and filled == len(index) - 1:
                at_need = counts[index[filled - 1], CROSSED] - mode
            status, filled = explore(ground, walk, ranked, filled, mode, length, order, need, -1, ties_here, at_need)
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


@kernel(int64(ground_type, walk_type, ranked_type, int64[:, ::1], int64, int64, int64))
def draw_tied(ground, walk, drawn, roots, order, count, wanted):
    """Draw from what is tied at the cut, one walk after the other, behind `count` slots; how many are filled then."""
    lengths, cut, undecided = ground.lengths, walk.cut, walk.undecided
    walk.tally[SPENT] = 0
    tied = np.empty((len(roots), 2), np.int64)
    count_tied = 0
    for r in range(len(roots)):
        length = roots[r, 0]
        need, rank = least_product(lengths, order, length, cut[0], cut[1], undecided)
        if roots[r, 1] >= need and rank == 0:
            tied[count_tied, 0], tied[count_tied, 1] = length, need
            count_tied += 1
    for draw in range(wanted - count):
        sort_by_draw(tied, count_tied, draw)
        for t in range(count_tied):
            status, _ = explore(ground, walk, drawn, count, DRAW, tied[t, 0], order, tied[t, 1], draw, True, cut[2])
            if status == OVER_BUDGET:
                return count
            if status == ENOUGH:
                count += 1
                break
    return count


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
    listed = new_ranking(wanted, len(walk.path))
    status, filled = find(ground, walk, listed, roots, order, LIST_TIED)
    if status == DONE:
        take(listed, 0, filled, out_counts, out_paths, taken)
        return taken + filled, True
    lengths, cut, undecided, better = ground.lengths, walk.cut, walk.undecided, 0
    drawn, judged = new_ranking(wanted, len(walk.path)), len(ground.same) > 0
    for slot in ranked.index[:wanted]:
        length, product = ranked.counts[slot, LENGTH], ranked.counts[slot, PRODUCT]
        is_tied = compare_scores(lengths, order, length, product, cut[0], cut[1], undecided) == 0
        if not is_tied or ranked.counts[slot, CROSSED] != cut[2]:
            copy_candidate(ranked, slot, drawn, better)
            better += 1
    count = draw_tied(ground, walk, drawn, roots, order, better, wanted)
    take(drawn, 0, count, out_counts, out_paths, taken)
    # Out of budget: fill up with the tied that the first pass came across.
    total = count
    for k in range(better, wanted):
        if total < wanted:
            copy_candidate(ranked, ranked.index[k], drawn, wanted)
            if not is_taken(ground.arcs, drawn.paths, drawn.counts, drawn.hashes, drawn.cores, judged, wanted, count):
                take(ranked, k, k + 1, out_counts, out_paths, taken + total)
                total += 1
    return taken + total, True


@kernel(
    "Tuple((int64, int64[:, ::1], int32[::1], int64, boolean, int64[::1]))"
    "(int32[::1], int64[::1], int64, int32[::1], int32[:, ::1], boolean[::1],"
    " int64, boolean, int64, int64[::1], uint64[::1], boolean[::1], int64[::1], int64,"
    " int32[::1], int32[::1], int32[::1])"
)
def search(
    words, starts, vocabulary, first, arcs, final,
    wanted, list_everything, lowest_order, floors, word_hashes, marks, limits, max_bounds,
    rules, same, shared,
):  # fmt: skip
    """The best sentences. Returns how it ended (FINE, TOO_LARGE, UNDECIDED), the sentences' lengths, orders, products,
    crossings and what they cover of what is shared, all their arcs behind each other with -1 behind each sentence, the
    nodes visited, whether the search went to its end, and how many beginnings were left out by each cause.
    """
    trie, root = build_trie(words, starts, vocabulary)
    unended = marks.copy()  # the marks that end no reference
    for r in range(len(starts) - 1):
        unended[words[starts[r + 1] - 1]] = False
    p_first, rows, p_final = multiply(first, arcs, final, trie, root, marks, unended)
    bound_first = bound_starts(p_first, rows, p_final)
    longest = bound_first[1] - 1
    lengths = length_table(starts, longest)
    out_counts = np.zeros((wanted, 5), np.int64)
    out_paths = np.empty((wanted, longest), np.int32)
    too_large = bound_first[-1] > max_bounds and not list_everything
    if list_everything or too_large:
        bounds = np.empty(0, np.uint64)
    else:
        bounds = suffix_bounds(p_first, rows, p_final, bound_first)
    widest = 1
    for s in range(len(p_final)):
        widest = max(widest, p_first[s + 1] - p_first[s])
    adding, lanes, bits, at_end = tables_of(rules, len(same))
    reach = reachable(p_first, rows, bits)
    known_cores = cores_of(words, starts, same, word_hashes, wanted if lowest_order < MAX_ORDER else 0)
    places, before, ends = places_of(words, starts, vocabulary if len(same) else 0)
    said = np.zeros(longest + 2, np.uint64)
    for served in bits:
        said[longest + 1] |= served
    load = np.empty((longest + 1, lanes.shape[1]), np.uint64)
    for lane in range(lanes.shape[1]):
        load[0, lane] = lanes[BEGIN, lane]
    pieces = np.empty((longest + 1 if len(same) else 1, len(ends)), np.uint64)
    for part in range(len(ends)):
        pieces[0, part] = before[part]
    kept_ground = Ground(
        words, starts, arcs, p_first, rows, p_final, bound_first, bounds, lengths, word_hashes, floors, limits,
        rules, same, adding, lanes, bits, at_end, reach, known_cores, places, ends,
    )  # fmt: skip
    kept_walk = Walk(
        np.empty(longest, np.uint32),
        np.full(longest + 1, U64_EMPTY, np.uint64),
        trie[:, LIMIT].copy(),
        np.zeros(longest + 1, np.uint64),
        np.empty((longest + 1, widest), np.int64),
        np.empty((longest + 1, widest), np.uint32),
        np.empty(longest + 1, np.int32),
        np.zeros(3, np.int64),
        np.zeros(3, np.int64),
        np.zeros(1, np.bool_),
        np.zeros(len(same), np.int32),
        load,
        said,
        np.full(longest + 1, U64_EMPTY, np.uint64),
        pieces,
        np.zeros(longest + 1, np.int32),
        np.zeros(4, np.int64),
    )
    ground, walk = borrowed(kept_ground), borrowed(kept_walk)  # which are named again below, so that they stay
    taken = np.int64(0)
    exact = not too_large
    if list_everything:
        ranked = new_ranking(wanted, longest)
        taken = list_all(ground, walk, ranked, lowest_order)
        take(ranked, 0, taken, out_counts, out_paths, 0)
    elif not too_large:
        for order in range(MAX_ORDER, lowest_order - 1, -1):
            if taken < wanted:
                known = taken
                taken, complete = best_of_order(ground, walk, order, wanted - taken, out_counts, out_paths, taken)
                exact = exact and complete
                if order > lowest_order and len(same):
                    for k in range(known, taken):
                        core = U64_EMPTY
                        for p in range(out_counts[k, LENGTH]):
                            core = with_word(core, arcs[out_paths[k, p], ARC_WORD], same, word_hashes)
                        known_cores[len(starts) - 1 + k] = core
    status = TOO_LARGE if too_large else (UNDECIDED if walk.undecided[0] else FINE)
    place = taken
    for k in range(taken):
        place += out_counts[k, LENGTH]
    out_arcs = np.empty(place, np.int32)
    place = 0
    for k in range(taken):
        for p in range(out_counts[k, LENGTH]):
            out_arcs[place] = out_paths[k, p]
            place += 1
        out_arcs[place] = -1
        place += 1
    cover(out_counts, out_paths, taken, kept_ground.arcs, vocabulary, shared)
    return status, out_counts[:taken], out_arcs, kept_walk.tally[NODES], exact, kept_walk.left_out
