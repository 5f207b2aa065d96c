"""Compiled: merging states, determinising, counting. The plain twin numbers states and arcs alike."""

import numpy as np

from polyref.align.kernels import order_of, plan_merges
from polyref.compiled import kernel
from polyref.score.kernels import borrowed

TARGET, ARC_WORD, ORIGIN = 0, 1, 2  # the columns of arcs


@kernel("int64(int32[::1], int64)", inline=True)
def find(parent, state):
    while parent[state] != state:
        state = parent[state]
    return state


@kernel("boolean(uint64[:, ::1], int64, int64)", inline=True)
def reaches(reach, state, other):
    return (reach[state, other >> 6] >> np.uint64(other & 63)) & np.uint64(1) != 0


@kernel("void(int32[::1], uint64[:, ::1], int64, int64)")
def merge(parent, reach, first, second):
    """Make two states one, unless one of them reaches the other."""
    first, second = find(parent, first), find(parent, second)
    keep, drop = min(first, second), max(first, second)
    if keep == drop or reaches(reach, keep, drop) or reaches(reach, drop, keep):
        return
    parent[drop] = keep
    blocks = reach.shape[1]
    for b in range(blocks):
        reach[keep, b] |= reach[drop, b]
    for state in range(len(reach)):
        if parent[state] == state and (reaches(reach, state, keep) or reaches(reach, state, drop)):
            for b in range(blocks):
                reach[state, b] |= reach[keep, b]
            reach[state, keep >> 6] |= np.uint64(1) << np.uint64(keep & 63)


@kernel("int64(uint64)", inline=True)
def bits(value):
    count = 0
    while value:
        value &= value - np.uint64(1)
        count += 1
    return count


@kernel("Tuple((int32[::1], int64))(int64[::1], int32[:, ::1], int64[::1], int32[:, ::1])")
def build(starts, merges, link_first, links):
    """The state behind each word, and the number of states."""
    size = starts[-1] + 1
    parent = np.arange(size).astype(np.int32)
    blocks = (size + 63) >> 6
    reach = np.zeros((size, blocks), np.uint64)
    for r in range(len(starts) - 1):
        for state in range(starts[r + 1] - 1, starts[r], -1):
            later = state + 1
            for b in range(blocks):
                reach[state, b] = reach[later, b]
            reach[state, later >> 6] |= np.uint64(1) << np.uint64(later & 63)
    for state in range(1, size):
        reach[0, state >> 6] |= np.uint64(1) << np.uint64(state & 63)

    for m in range(len(merges)):
        left, right = starts[merges[m, 0]], starts[merges[m, 1]]
        for k in range(link_first[m], link_first[m + 1]):
            u, v = links[k, 0], links[k, 1]
            merge(parent, reach, left + u if u else 0, right + v if v else 0)
            merge(parent, reach, left + u + 1, right + v + 1)

    # Number the states by how many others they reach, most first: so an arc always goes upwards.
    alive = np.zeros(blocks, np.uint64)
    kept = np.empty(size, np.int32)
    count = 0
    for state in range(size):
        if parent[state] == state:
            alive[state >> 6] |= np.uint64(1) << np.uint64(state & 63)
            kept[count] = state
            count += 1
    reached = np.zeros(count, np.int64)
    for k in range(count):
        for b in range(blocks):
            reached[k] += bits(reach[kept[k], b] & alive[b])
    number = np.empty(size, np.int32)
    order = order_of(reached)
    for k in range(count):
        number[kept[order[k]]] = k
    after = np.empty(size - 1, np.int32)
    for state in range(1, size):
        after[state - 1] = number[find(parent, state)]
    return after, count


@kernel("void(int32[:, ::1], int64, int64)")
def sort_arcs(arcs, first, end):
    """Sort rows by word, target and origin, in place."""
    for k in range(first + 1, end):
        word, target, origin = arcs[k, ARC_WORD], arcs[k, TARGET], arcs[k, ORIGIN]
        place = k
        while place > first:
            p = place - 1
            if arcs[p, ARC_WORD] < word:
                break
            if arcs[p, ARC_WORD] == word:
                if arcs[p, TARGET] < target:
                    break
                if arcs[p, TARGET] == target and arcs[p, ORIGIN] <= origin:
                    break
            arcs[place, 0], arcs[place, 1], arcs[place, 2] = arcs[p, 0], arcs[p, 1], arcs[p, 2]
            place = p
        arcs[place, TARGET], arcs[place, ARC_WORD], arcs[place, ORIGIN] = target, word, origin


@kernel("Tuple((int32[::1], int32[:, ::1], boolean[::1]))(int32[::1], int64[::1], int32[::1], int64)")
def lattice_arcs(words, starts, after, states):
    """The lattice's arcs by the state that they leave, without doubles; and which states are final."""
    count = len(words)
    source = np.empty(count, np.int32)
    first = np.zeros(states + 2, np.int32)
    final = np.zeros(states, np.bool_)
    for r in range(len(starts) - 1):
        state = np.int32(0)
        for k in range(starts[r], starts[r + 1]):
            source[k] = state
            first[state + 2] += 1
            state = after[k]
        final[state] = True
    for state in range(states):
        first[state + 2] += first[state + 1]
    rows = np.empty((count, 3), np.int32)
    for k in range(count):
        place = first[source[k] + 1]
        first[source[k] + 1] += 1
        rows[place, TARGET], rows[place, ARC_WORD], rows[place, ORIGIN] = after[k], words[k], k
    # first[s] is now where the rows of state s begin.
    kept_first = np.zeros(states + 1, np.int32)
    kept = 0
    for state in range(states):
        sort_arcs(rows, first[state], first[state + 1])
        begin = kept
        for k in range(first[state], first[state + 1]):
            if (
                kept > begin
                and rows[kept - 1, ARC_WORD] == rows[k, ARC_WORD]
                and rows[kept - 1, TARGET] == rows[k, TARGET]
            ):
                continue
            rows[kept, 0], rows[kept, 1], rows[kept, 2] = rows[k, 0], rows[k, 1], rows[k, 2]
            kept += 1
        kept_first[state + 1] = kept
    return kept_first, rows[:kept].copy(), final


@kernel("int64(uint64[:, ::1], int64, int32[::1])", inline=True)
def find_subset(subsets, wanted, table):
    """The slot of the hash table that holds the subset in row `wanted`, or the free slot where it belongs."""
    blocks = subsets.shape[1]
    mixed = np.uint64(0)
    for b in range(blocks):
        mixed = (mixed ^ subsets[wanted, b]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    mask = len(table) - 1
    slot = np.int64(mixed & np.uint64(mask))
    while table[slot] >= 0:
        same = True
        for b in range(blocks):
            if subsets[table[slot], b] != subsets[wanted, b]:
                same = False
                break
        if same:
            return slot
        slot = (slot + 1) & mask
    return slot


@kernel(
    "UniTuple(int64, 2)(int32[::1], int32[:, ::1], boolean[::1],"
    " int32[::1], int32[:, ::1], boolean[::1], uint64[:, ::1], int32[:, ::1], int32[::1], int32[:, ::1])"
)
def determinise_into(first, arcs, final, out_first, out, out_final, subsets, chain, table, gathered):
    """The subset construction, in the order of each subset's lowest state.

    Fills the arrays from out_first on, and returns how many states and arcs there are. Where they do not fit, it
    returns 0 states, and 0 or 1 arcs: it was the states or the arcs that had too little room. The last row of subsets
    is where the next subset is put together.
    """
    subsets, table, gathered = borrowed(subsets), borrowed(table), borrowed(gathered)
    following, number = 0, 1  # the columns of chain: subsets with the same lowest state follow each other
    states, blocks = len(final), subsets.shape[1]
    head = np.full(states, -1, np.int32)
    tail = np.full(states, -1, np.int32)
    spare = len(subsets) - 1
    for b in range(blocks):
        subsets[0, b] = np.uint64(0)
    subsets[0, 0] = np.uint64(1)
    table[find_subset(subsets, 0, table)] = 0
    chain[0, following] = -1
    head[0] = tail[0] = 0
    known = np.int32(1)
    done = 0
    count = 0
    for lowest in range(states):
        subset = head[lowest]
        while subset >= 0:
            chain[subset, number] = done
            size = 0
            is_final = False
            for b in range(blocks):
                block = subsets[subset, b]
                state = b << 6
                while block:
                    if block & np.uint64(1):
                        is_final = is_final or final[state]
                        for k in range(first[state], first[state + 1]):
                            for column in range(3):
                                gathered[size, column] = arcs[k, column]
                            size += 1
                    block >>= np.uint64(1)
                    state += 1
            out_final[done] = is_final
            if count + size > len(out):
                return 0, 1
            sort_arcs(gathered, 0, size)
            k = 0
            while k < size:
                word, low, origin = gathered[k, ARC_WORD], gathered[k, TARGET], gathered[k, ORIGIN]
                for b in range(blocks):
                    subsets[spare, b] = np.uint64(0)
                while k < size and gathered[k, ARC_WORD] == word:
                    target = gathered[k, TARGET]
                    subsets[spare, target >> 6] |= np.uint64(1) << np.uint64(target & 63)
                    origin = min(origin, gathered[k, ORIGIN])
                    k += 1
                slot = find_subset(subsets, spare, table)
                after = table[slot]
                if after < 0:
                    if known == spare:
                        return 0, 0
                    after = known
                    known += 1
                    for b in range(blocks):
                        subsets[after, b] = subsets[spare, b]
                    table[slot] = after
                    chain[after, following] = -1
                    if head[low] < 0:
                        head[low] = after
                    else:
                        chain[tail[low], following] = after
                    tail[low] = after
                out[count, TARGET], out[count, ARC_WORD], out[count, ORIGIN] = after, word, origin
                count += 1
            done += 1
            out_first[done] = count
            subset = chain[subset, following]
    for k in range(count):
        out[k, TARGET] = chain[out[k, TARGET], number]
    return done, count


@kernel("Tuple((int32[::1], int32[:, ::1], boolean[::1], boolean))(int32[::1], int32[:, ::1], boolean[::1], int64)")
def determinise(first, arcs, final, max_states):
    """The automaton of distinct sentences, and True; the lattice itself and False where it has too many states."""
    blocks = (len(final) + 63) >> 6
    room, arc_room = 2 * len(final) + 16, 4 * len(arcs) + 16
    gathered = np.empty((len(arcs), 3), np.int32)
    while True:
        room = min(room, max_states)
        size = 64
        while size < 3 * room:
            size *= 2
        table = np.full(size, -1, np.int32)
        out_first = np.zeros(room + 1, np.int32)
        out_final = np.empty(room, np.bool_)
        subsets = np.empty((room + 1, blocks), np.uint64)
        chain = np.empty((room, 2), np.int32)
        out = np.empty((arc_room, 3), np.int32)
        states, count = determinise_into(first, arcs, final, out_first, out, out_final, subsets, chain, table, gathered)
        if states:
            return out_first[: states + 1], out[:count], out_final[:states], True
        if count:
            arc_room *= 4
        elif room == max_states:
            return first, arcs, final, False
        else:
            room *= 4


@kernel("int64(int32[::1], int32[:, ::1], boolean[::1])")
def count_paths(first, arcs, final):
    """The number of paths; 0 where it does not fit into 63 bits."""
    counts = np.zeros(len(final), np.int64)
    limit = np.int64(1) << np.int64(62)
    for state in range(len(final) - 1, -1, -1):
        total = np.int64(1) if final[state] else np.int64(0)
        for k in range(first[state], first[state + 1]):
            total += counts[arcs[k, TARGET]]
            if total >= limit:
                return 0
        counts[state] = total
    return counts[0]


@kernel(
    "Tuple((int32[::1], int32[::1], int32[:, ::1], boolean[::1], boolean, int64))"
    "(int32[::1], int64[::1], int32[:, ::1], int64, boolean, int64)"
)
def compress(words, starts, similarity, penalty, paper, max_states):
    """From words to sentences: merge, build, determinise, count."""
    merges, link_first, links = plan_merges(words, starts, similarity, penalty, paper)
    after, states = build(starts, merges, link_first, links)
    first, arcs, final = lattice_arcs(words, starts, after, states)
    d_first, d_arcs, d_final, deterministic = determinise(first, arcs, final, max_states)
    count = count_paths(d_first, d_arcs, d_final)
    return after, d_first, d_arcs, d_final, deterministic, count
