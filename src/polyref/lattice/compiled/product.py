"""Compiled: the automaton walked together with the references' n-grams, and bounds of what may still come.

The plain twin numbers its states alike.
"""

import numpy as np

from polyref.compiled import kernel
from polyref.lattice.compiled.automaton import ARC_WORD, TARGET
from polyref.score.kernels import DEPTH, LINK, MAX_ORDER, WORD, borrowed, step

# The columns of the product's arcs: the last four are the n-grams of each order that end with the arc, 0 where the
# longest one is shorter.
P_TARGET, P_DEPTH, P_ARC, P_WORD, P_NODES, P_COLUMNS = 0, 1, 2, 3, 4, 4 + MAX_ORDER
LANE = 16  # bits: matches are one number of four lanes, an order each, so that stepping back costs nothing


@kernel(
    "UniTuple(int64, 2)(int32[::1], int32[:, ::1], boolean[::1], int32[:, ::1], int32[::1], boolean[::1], boolean[::1],"
    " int32[::1], uint32[:, ::1], boolean[::1], int32[:, ::1])"
)
def multiply_into(first, arcs, final, trie, root, marks, unended, out_first, out_rows, out_final, pairs):
    """Pair each state of the automaton with the contexts in which it can be reached.

    Two marks do not meet that meet in no reference, and none is the end that ends no reference. Fills the last four
    arrays, and returns how many states and arcs there are; 0 where they do not fit. (Arrays that grow inside the loop
    would cost twice its time: each turn, numba counts who refers to them.)
    """
    trie, root, out_rows, pairs = borrowed(trie), borrowed(root), borrowed(out_rows), borrowed(pairs)
    context, following, number = 0, 1, 2  # the columns of pairs: pairs of one state follow each other
    head = np.full(len(final), -1, np.int32)
    tail = np.full(len(final), -1, np.int32)
    head[0] = tail[0] = 0
    pairs[0, context], pairs[0, following] = 0, -1
    known = np.int32(1)
    count = 0
    done = 0
    for state in range(len(final)):
        pair = head[state]
        while pair >= 0:
            pairs[pair, number] = done
            last = trie[pairs[pair, context], WORD]
            out_final[done] = final[state] and (pairs[pair, context] == 0 or not unended[last])
            if count + first[state + 1] - first[state] > len(out_rows):
                return 0, 0
            for arc in range(first[state], first[state + 1]):
                word = arcs[arc, ARC_WORD]
                node = step(trie, root, pairs[pair, context], word)
                if trie[node, DEPTH] == 1 and pairs[pair, context] != 0 and marks[trie[node, WORD]] and marks[last]:
                    continue
                after = trie[node, LINK] if trie[node, DEPTH] == MAX_ORDER else node
                target = arcs[arc, TARGET]
                other = head[target]
                while other >= 0 and pairs[other, context] != after:
                    other = pairs[other, following]
                if other < 0:
                    if known == len(pairs):
                        return 0, 0
                    other = known
                    known += 1
                    pairs[other, context], pairs[other, following] = after, -1
                    if head[target] < 0:
                        head[target] = other
                    else:
                        pairs[tail[target], following] = other
                    tail[target] = other
                depth = trie[node, DEPTH]
                out_rows[count, P_TARGET], out_rows[count, P_DEPTH] = other, depth
                out_rows[count, P_ARC], out_rows[count, P_WORD] = arc, word
                for order in range(MAX_ORDER - 1, -1, -1):
                    out_rows[count, P_NODES + order] = node if order < depth else 0
                    if order < depth:
                        node = trie[node, LINK]
                count += 1
            done += 1
            out_first[done] = count
            pair = pairs[pair, following]
    for k in range(count):
        out_rows[k, P_TARGET] = pairs[out_rows[k, P_TARGET], number]
    return done, count


@kernel(
    "Tuple((int32[::1], uint32[:, ::1], boolean[::1]))"
    "(int32[::1], int32[:, ::1], boolean[::1], int32[:, ::1], int32[::1], boolean[::1], boolean[::1])"
)
def multiply(first, arcs, final, trie, root, marks, unended):
    """The product: where each state's arcs begin, the arcs, and which states are final."""
    room = 4
    while True:
        out_first = np.zeros(room * len(final) + 65, np.int32)
        out_final = np.empty(room * len(final) + 64, np.bool_)
        pairs = np.empty((room * len(final) + 64, 3), np.int32)
        out_rows = np.empty((room * len(arcs) + 64, P_COLUMNS), np.uint32)
        states, count = multiply_into(
            first, arcs, final, trie, root, marks, unended, out_first, out_rows, out_final, pairs
        )
        if states:
            return out_first[: states + 1], out_rows[:count], out_final[:states]
        room *= 4


@kernel("int64[::1](int32[::1], uint32[:, ::1], boolean[::1])")
def bound_starts(first, rows, final):
    """Where each state's bounds begin: one cell for each number of words that may follow, 0 included."""
    states = len(final)
    longest = np.zeros(states, np.int64)
    for state in range(states - 1, -1, -1):
        for k in range(first[state], first[state + 1]):
            longest[state] = max(longest[state], longest[rows[k, P_TARGET]] + 1)
    starts = np.zeros(states + 1, np.int64)
    for state in range(states):
        starts[state + 1] = starts[state] + longest[state] + 1
    return starts


@kernel("uint64[::1](int32[::1], uint32[:, ::1], boolean[::1], int64[::1])")
def suffix_bounds(first, rows, final, starts):
    """The most matches of each order that so many words can still bring, unclipped, in lanes; all bits where there is
    no way.
    """
    bounds = np.full((starts[-1], MAX_ORDER), -1, np.int16)
    for state in range(len(final) - 1, -1, -1):
        here = starts[state]
        if final[state]:
            for order in range(MAX_ORDER):
                bounds[here, order] = 0
        for k in range(first[state], first[state + 1]):
            target = rows[k, P_TARGET]
            depth = rows[k, P_DEPTH]
            cell = here
            for other in range(starts[target], starts[target + 1]):
                cell += 1
                if bounds[other, 0] < 0:
                    continue
                for order in range(MAX_ORDER):
                    value = bounds[other, order] + np.int16(1 if order < depth else 0)
                    if value > bounds[cell, order]:
                        bounds[cell, order] = value
    lanes = np.empty(len(bounds), np.uint64)
    for cell in range(len(bounds)):
        lanes[cell] = np.uint64(0)
        for order in range(MAX_ORDER):
            lanes[cell] |= np.uint64(np.uint16(bounds[cell, order])) << np.uint64(LANE * order)
    return lanes
