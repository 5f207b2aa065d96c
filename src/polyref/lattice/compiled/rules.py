"""Compiled: what a sentence must say and must not say, and how often it changes from one reference to another.

The plain twin leaves out the same branches and sentences. Cores are compared by their hashes.
"""

import numpy as np

from polyref.compiled import kernel
from polyref.lattice.compiled.automaton import ARC_WORD
from polyref.lattice.compiled.product import P_TARGET, P_WORD
from polyref.lattice.compiled.ranking import U64_EMPTY, mix

# Of each rule, the plain twin's arrays have six numbers, the words that add and the words that take away.
CAUSE, LEAST, MOST, PARITY, ADDED, TAKEN, HEADER = 0, 1, 2, 3, 4, 5, 6
TWICE, LOST, MARKS, SAME = 0, 1, 2, 3  # causes, as the plain twin has them
BEGIN, FULL, OF_MARKS = 0, 1, 2  # the rows of lanes
NO_LIMIT, MOST_WATCHED = 2**31 - 1, 64
ONE, LAST_BIT = np.uint64(1), np.uint64(63)


@kernel("Tuple((uint64[:, ::1], uint64[:, ::1], uint64[::1], boolean))(int32[::1], int64)")
def tables_of(rules, vocabulary):
    """The rules as a walk asks for them: what each word adds to the lanes; the lanes; for each word, the watched rules
    that it serves, one bit each; whether some rules can be told at the end only.

    Counters that only grow are lanes of a few numbers, in the order of the rules: stepping back costs nothing. What a
    lane begins with makes its highest bit tell that it holds too much.
    """
    bits, at_end, size = np.zeros(vocabulary, np.uint64), False, 0
    adding, lanes = np.zeros((vocabulary, 0), np.uint64), np.zeros((3, 0), np.uint64)
    for is_sized in range(2):  # how many numbers the lanes take is known when all have been placed
        if is_sized:
            adding, lanes = np.zeros((vocabulary, size), np.uint64), np.zeros((3, size), np.uint64)
        used, watched, place = 0, 0, 0
        while place < len(rules):
            least, most, taken = rules[place + LEAST], rules[place + MOST], rules[place + TAKEN]
            begin = place + HEADER
            end = begin + rules[place + ADDED]
            falls = taken > 0 or rules[place + PARITY] > 0
            is_watched = least > 0 and not falls and watched < MOST_WATCHED and end > begin
            at_end = at_end or falls or least > 1 or (least > 0 and not is_watched)
            if is_watched:
                for k in range(begin, end):
                    bits[rules[k]] |= ONE << np.uint64(watched)
            watched += least > 0 and not falls
            if most < NO_LIMIT and not falls:
                width = 1
                while most >> (width - 1) or end - begin > 1 << (width - 1):
                    width += 1
                used += 64 - used % 64 if used % 64 + width > 64 else 0
                if is_sized:
                    cell, shift, top = used // 64, np.uint64(used % 64), np.uint64(used % 64 + width - 1)
                    for k in range(begin, end):
                        adding[rules[k], cell] += ONE << shift
                    lanes[BEGIN, cell] |= (ONE << top) - ((np.uint64(most) + ONE) << shift)
                    lanes[FULL, cell] |= ONE << top
                    lanes[OF_MARKS, cell] |= (ONE << top) if rules[place + CAUSE] == MARKS else np.uint64(0)
                used += width
            place = end + taken
        size = (used + 63) // 64
    return adding, lanes, bits, at_end


@kernel("uint64[::1](int32[::1], uint32[:, ::1], uint64[::1])")
def reachable(first, rows, bits):
    """For each state of the product, the watched rules that can still be served behind it."""
    reach = np.zeros(len(first) - 1, np.uint64)
    if len(bits):
        for state in range(len(first) - 2, -1, -1):
            for k in range(first[state], first[state + 1]):
                reach[state] |= bits[rows[k, P_WORD]] | reach[rows[k, P_TARGET]]
    return reach


@kernel("uint64(uint64, int64, int32[::1], uint64[::1])", inline=True)
def with_word(core, word, same, word_hashes):
    """The hash of a core with a word more."""
    return core if same[word] < 0 else mix(core, word_hashes[same[word]])


@kernel("uint64[::1](int32[::1], int64[::1], int32[::1], uint64[::1], int64)")
def cores_of(words, starts, same, word_hashes, room):
    """The hashes of the references' cores, and behind them room for others, where the first one stands."""
    references = len(starts) - 1
    cores = np.full(references + room if len(same) else 0, U64_EMPTY, np.uint64)
    for r in range(references if len(same) else 0):
        for k in range(starts[r], starts[r + 1]):
            cores[r] = with_word(cores[r], words[k], same, word_hashes)
    cores[references:] = cores[0] if len(cores) else U64_EMPTY
    return cores


@kernel("Tuple((uint64[:, ::1], uint64[::1], uint64[::1]))(int32[::1], int64[::1], int64)")
def places_of(words, starts, vocabulary):
    """For each word, its places in the references, one bit each; where a piece stands before a reference; the ends.

    Nothing where there is no vocabulary.
    """
    size = (len(words) + len(starts)) // 64 + 1 if vocabulary else 0
    places = np.zeros((vocabulary, size), np.uint64)
    before, ends = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    place = 1
    for r in range(len(starts) - 1 if vocabulary else 0):
        before[(place - 1) // 64] |= ONE << np.uint64((place - 1) % 64)
        for k in range(starts[r], starts[r + 1]):
            places[words[k], place // 64] |= ONE << np.uint64(place % 64)
            place += 1
        ends[(place - 1) // 64] |= ONE << np.uint64((place - 1) % 64)
        place += 1
    return places, before, ends


@kernel(
    "int64(uint64[:, ::1], uint64[:, ::1], uint64[::1], uint64[::1], uint64[:, ::1], uint64[::1], int64, int64, int64)",
    inline=True,
)
def say(adding, lanes, bits, reach, load, said, depth, word, target):
    """Say a word behind the first `depth` ones: -1, or why no sentence behind it can pass."""
    for k in range(lanes.shape[1]):
        load[depth + 1, k] = load[depth, k] + adding[word, k]
        full = load[depth + 1, k] & lanes[FULL, k]
        if full:
            return np.int64(MARKS if full & (~full + ONE) & lanes[OF_MARKS, k] else TWICE)
    said[depth + 1] = said[depth] | bits[word]
    # The start state reaches everything that is watched, and what it reaches must be served in the end.
    return np.int64(-1 if said[depth + 1] | reach[target] == said[len(said) - 1] else LOST)


@kernel(
    "int64(uint32[:, ::1], uint32[::1], uint64[:, ::1], int32[::1], uint64[::1], uint64[:, ::1], int32[::1],"
    " uint64[::1], int64, int64)",
    inline=True,
)
def cross(rows, path, places, same, word_hashes, pieces, crossed, core, known, depth):
    """Find the pieces and the core of the first `depth` words of the path, where those of `known` are known; returns
    depth.
    """
    while known < depth:
        word = rows[path[known], P_WORD]
        goes_on, carried = np.uint64(0), np.uint64(0)
        for k in range(places.shape[1]):
            here = pieces[known, k]
            pieces[known + 1, k] = ((here << ONE) | carried) & places[word, k]
            carried = here >> LAST_BIT
            goes_on |= pieces[known + 1, k]
        crossed[known + 1] = crossed[known]
        if goes_on == 0:
            crossed[known + 1] += 1
            for k in range(places.shape[1]):
                pieces[known + 1, k] = places[word, k]
        core[known + 1] = with_word(core[known], word, same, word_hashes)
        known += 1
    return depth


@kernel("int64(int32[::1], uint32[:, ::1], uint32[::1], int32[::1], int64)")
def broken(rules, rows, path, spoken, length):
    """Why a whole sentence is left out by the first rule that it breaks; -1 if it breaks none. `spoken` is all 0."""
    for k in range(length):
        spoken[rows[path[k], P_WORD]] += 1
    cause, place = np.int64(-1), 0
    while cause < 0 and place < len(rules):
        taking = place + HEADER + rules[place + ADDED]
        end = taking + rules[place + TAKEN]
        held = 0
        for k in range(place + HEADER, end):
            held += spoken[rules[k]] if k < taking else -spoken[rules[k]]
        if rules[place + PARITY]:
            held %= 2
        if held < rules[place + LEAST] or held > rules[place + MOST]:
            is_lost = rules[place + CAUSE] == TWICE and held < rules[place + LEAST]
            cause = np.int64(LOST if is_lost else rules[place + CAUSE])
        place = end
    for k in range(length):
        spoken[rows[path[k], P_WORD]] = 0
    return cause


@kernel(
    "int64(int32[::1], boolean, uint32[:, ::1], uint32[::1], int32[::1], uint64[::1], uint64[::1], uint64[::1], int64)",
    inline=True,
)
def fault(rules, at_end, rows, path, spoken, said, known_cores, core, length):
    """Why a whole sentence is left out; -1 if it is not."""
    if at_end or said[length] != said[len(said) - 1]:
        cause = broken(rules, rows, path, spoken, length)
        if cause >= 0:
            return cause
    for other in known_cores:
        if other == core[length]:
            return np.int64(SAME)
    return np.int64(-1)


@kernel("int64(uint64[:, ::1], uint64[::1], int32[::1], int64)", inline=True)
def crossings(pieces, ends, crossed, depth):
    """The crossings of a sentence that ends here: one more where no reference ends."""
    at_end = np.uint64(0)
    for k in range(len(ends)):
        at_end |= pieces[depth, k] & ends[k]
    return np.int64(crossed[depth]) + (1 if at_end == 0 else 0)


@kernel("void(int64[:, ::1], int32[:, ::1], int64, int32[:, ::1], int64, int32[::1])")
def cover(counts, paths, count, arcs, vocabulary, shared):
    """Count for each sentence what it says of what most references share, into the last column of counts."""
    column, blocks, place, number = counts.shape[1] - 1, len(shared) // 128 + 1, 1, 0
    bits, said = np.zeros((vocabulary, blocks), np.uint64), np.empty(blocks, np.uint64)
    while place < len(shared):
        for k in range(place + 2, place + 2 + shared[place + 1]):
            bits[shared[k], number // 64] |= ONE << np.uint64(number % 64)
        place, number = place + 2 + shared[place + 1], number + 1
    for sentence in range(count if len(shared) else 0):
        said[:] = 0
        for k in range(counts[sentence, 0]):
            word = arcs[paths[sentence, k], ARC_WORD]
            for b in range(blocks):
                said[b] |= bits[word, b]
        place, number = 1, 0
        while place < len(shared):
            if (said[number // 64] >> np.uint64(number % 64)) & ONE:
                counts[sentence, column] += shared[place]
            place, number = place + 2 + shared[place + 1], number + 1
