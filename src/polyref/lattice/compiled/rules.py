"""Compiled: what a sentence must say and must not say, and how often it changes from one reference to another.

The plain twin leaves out the same branches and sentences. Cores are compared by their hashes.
"""

import numpy as np

from polyref.compiled import kernel
from polyref.lattice.compiled.automaton import ARC_WORD
from polyref.lattice.compiled.product import P_ARC, P_TARGET
from polyref.lattice.compiled.ranking import U64_EMPTY, mix

LEAST, MOST, CAUSE, CEILING, PARITY = 0, 1, 2, 3, 4  # the columns of limits
TWICE, LOST, SAME = 0, 1, 3  # causes, as the plain twin has them
ONE, LAST_BIT = np.uint64(1), np.uint64(63)


@kernel("uint64[::1](int32[::1], int32[:, ::1], int32[:, ::1], uint64[::1])")
def reachable(first, rows, arcs, bits):
    """For each state of the product, the watched rules that can still be served behind it."""
    reach = np.zeros(len(first) - 1, np.uint64)
    if len(bits):
        for state in range(len(first) - 2, -1, -1):
            for k in range(first[state], first[state + 1]):
                reach[state] |= bits[arcs[rows[k, P_ARC], ARC_WORD]] | reach[rows[k, P_TARGET]]
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


@kernel("void(int32[::1], int32[:, ::1], int32[::1], int64)", inline=True)
def unsay(first, moves, held, word):
    for k in range(first[word], first[word + 1]):
        held[moves[k, 0]] -= moves[k, 1]


@kernel(
    "int64(int32[::1], int32[:, ::1], int32[:, ::1], uint64[::1], int32[::1], uint64[::1],"
    " int32[::1], uint64[::1], uint64[::1], uint64[::1], int64, int64, int64)",
    inline=True,
)
def say(first, moves, limits, bits, same, reach, held, said, core, word_hashes, depth, word, target):
    """Say a word behind the first `depth` ones: -1, or why no sentence behind it can pass, and then nothing is said."""
    cause = np.int64(-1)
    for k in range(first[word], first[word + 1]):
        number = moves[k, 0]
        held[number] += moves[k, 1]
        if held[number] > limits[number, CEILING] and cause < 0:
            cause = np.int64(limits[number, CAUSE])
    said[depth + 1] = said[depth] | bits[word]
    # The start state reaches everything that is watched, and what it reaches must be served in the end.
    if cause < 0 and said[depth + 1] | reach[target] != said[len(said) - 1]:
        cause = np.int64(LOST)
    if cause >= 0:
        unsay(first, moves, held, word)
        return cause
    core[depth + 1] = with_word(core[depth], word, same, word_hashes)
    return cause


@kernel(
    "int64(int32[:, ::1], int32[:, ::1], int32[::1], uint64[:, ::1], uint64[:, ::1], int32[::1], int64, int64)",
    inline=True,
)
def cross(arcs, rows, path, places, pieces, crossed, known, depth):
    """Find the pieces of the first `depth` words of the path, where those of `known` words are known; returns depth."""
    while known < depth:
        word = arcs[rows[path[known], P_ARC], ARC_WORD]
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
        known += 1
    return depth


@kernel("int64(int32[:, ::1], int32[::1], uint64[::1], uint64)", inline=True)
def fault(limits, held, known_cores, core):
    """Why a whole sentence is left out; -1 if it is not."""
    for number in range(len(limits)):
        value = held[number] % 2 if limits[number, PARITY] else held[number]
        if value < limits[number, LEAST] or value > limits[number, MOST]:
            is_lost = limits[number, CAUSE] == TWICE and value < limits[number, LEAST]
            return np.int64(LOST if is_lost else limits[number, CAUSE])
    for r in range(len(known_cores)):
        if known_cores[r] == core:
            return np.int64(SAME)
    return np.int64(-1)


@kernel("int64(uint64[:, ::1], uint64[::1], int32[::1], int64)", inline=True)
def crossings(pieces, ends, crossed, depth):
    """The crossings of a sentence that ends here: one more where no reference ends."""
    at_end = np.uint64(0)
    for k in range(len(ends)):
        at_end |= pieces[depth, k] & ends[k]
    return np.int64(crossed[depth]) + (1 if at_end == 0 else 0)
