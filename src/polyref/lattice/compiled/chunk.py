"""Compiled: all steps from words to chosen sentences, for many examples in one call.

Each example goes through the same kernels as alone. What is saved is the way between them through Python, a dozen times
per example.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, types, uint16, uint64

from polyref.align.kernels import restrain, soft_similarity
from polyref.compiled import kernel
from polyref.lattice.compiled.automaton import ORIGIN, compress
from polyref.lattice.compiled.content import IS_MARK, IS_PAIRED, content_rules, tables_type
from polyref.lattice.compiled.ranking import LENGTH, ORDER
from polyref.lattice.compiled.search import FINE, search
from polyref.score.kernels import MAX_ORDER

# What is told of each example. PENALTY: which of them was taken; HAS_LOWER: whether too few were found, and others have
# a BLEU of 0; DISTINCT: references; SHARED: the sum of the counts of what most references share; LEFT_OUT: the first of
# four causes, how many beginnings each left out.
IS_CHOSEN, COUNT, PENALTY, IS_EXACT, FOUND, HAS_LOWER, PATH, DISTINCT, SHARED, LEFT_OUT = range(10)
COLUMNS = LEFT_OUT + 4
LINE_END, SPACE, EIGHT = np.uint64(10), np.uint64(32), np.uint64(8)
CLOSEST = ORDER  # of a sentence: all are of the highest order, so that the closest reference length has this column


class Chunk(NamedTuple):
    """The references of many examples: words are numbered over all of them."""

    words: int32[::1]
    starts: int64[::1]  # where each reference begins
    firsts: int64[::1]  # the first reference of each example
    wanted: int64[::1]  # sentences of each example
    hashes: uint64[::1]  # of each word
    rows: int32[::1]  # of each word in the tables of content.py
    codes: int64[::1]  # of each word, for restrain; none if nothing is restrained
    contrasts: boolean[:, ::1]
    halves: uint16[:, ::1]  # the vectors of all words; none for hard alignment
    known: boolean[::1]


class How(NamedTuple):
    """How sentences are chosen."""

    baseline: float64
    position: int64
    penalties: int64[::1]
    enough: int64  # sentences of a lattice; with fewer, the next penalty is tried
    by_paper: boolean  # the order of merges
    judged: boolean
    limits: int64[::1]  # as `search` takes them
    lower_limits: int64[::1]  # the same where only others with a lower BLEU are looked for
    is_cut: boolean  # the node budget is a smaller one than that of an example alone
    most_states: int64
    most_listed: int64  # sentences; of more, not all are looked at
    most_bounds: int64
    most_words: int64  # of an example


def type_of(fields):
    return types.NamedTuple(list(fields.__annotations__.values()), fields)


@kernel("Tuple((int32[::1], int64[::1], int64[::1], int32[::1]))(int32[::1], int64[::1], int64, int64, int32[::1])")
def number(words, starts, first, end, numbers):
    """The distinct ones of some references: their words in numbers of their own, where each begins among these and
    among all words, and which words these numbers stand for. `numbers` is -1 everywhere before and after.
    """
    own = np.empty(starts[end] - starts[first], np.int32)
    own_starts = np.zeros(end - first + 1, np.int64)
    begins = np.empty(end - first, np.int64)
    vocabulary = np.empty(len(own), np.int32)
    met = np.int32(0)
    count = 0
    for r in range(first, end):
        begin, size = starts[r], starts[r + 1] - starts[r]
        is_known = False
        for d in range(count):
            if not is_known and own_starts[d + 1] - own_starts[d] == size:
                k = 0
                while k < size and words[begins[d] + k] == words[begin + k]:
                    k += 1
                is_known = k == size
        if is_known:
            continue
        place = own_starts[count]
        for k in range(size):
            word = words[begin + k]
            if numbers[word] < 0:
                numbers[word] = met
                vocabulary[met] = word
                met += 1
            own[place + k] = numbers[word]
        begins[count] = begin
        count += 1
        own_starts[count] = place + size
    for v in range(met):
        numbers[vocabulary[v]] = -1
    return own[: own_starts[count]], own_starts[: count + 1], begins[:count], vocabulary[:met]


@kernel(int32[:, ::1](type_of(Chunk), type_of(How), int32[::1], int64[::1], int64[::1], int32[::1]))
def similarity_of(chunk, how, words, starts, begins, vocabulary):
    """The similarity by which an example's words are aligned; nothing for hard alignment."""
    if len(chunk.halves) == 0:
        return np.empty((0, 0), np.int32)
    place, size = begins[0], len(words)
    halves, known = chunk.halves[place : place + size], chunk.known[place : place + size]
    if begins[-1] - place != starts[len(begins) - 1]:  # there are gaps, where references equal others
        halves, known = np.empty((size, halves.shape[1]), np.uint16), np.empty(size, np.bool_)
        for d in range(len(begins)):
            for k in range(starts[d], starts[d + 1]):
                place = begins[d] + k - starts[d]
                known[k] = chunk.known[place]
                for n in range(halves.shape[1]):
                    halves[k, n] = chunk.halves[place, n]
    similarity = soft_similarity(words, starts, halves, known, how.baseline)
    if len(chunk.codes):
        restrain(words, starts, similarity, chunk.codes[vocabulary], chunk.contrasts, how.position)
    return similarity


@kernel("void(int64[:, ::1], int64[::1])")
def add_closest(sentences, starts):
    """Write the closest reference length of each sentence; the shorter one if two are as close."""
    for k in range(len(sentences)):
        length, closest = sentences[k, LENGTH], starts[1] - starts[0]
        for r in range(1, len(starts) - 1):
            size = starts[r + 1] - starts[r]
            apart, least = abs(size - length), abs(closest - length)
            if apart < least or (apart == least and size < closest):
                closest = size
        sentences[k, CLOSEST] = closest


@kernel("uint8[::1](int32[::1], uint8[::1], uint8[::1])")
def written(path, letters, marks):
    """The sentences of a path, -1 and a line's end behind each: words with spaces between them, but none before a mark.

    A line's end stands behind the letters of each word. Eight letters at a time are written, as one number whose lowest
    byte is the first one.
    """
    words = np.int64(0)
    for letter in letters:
        words += letter == LINE_END
    firsts = np.empty(words, np.int64)  # where the numbers of each word begin
    sizes = np.empty(words, np.int64)  # letters of each word, with a space before them
    glued = np.zeros(words, np.int64)
    packed = np.zeros(len(letters) // 8 + words + 1, np.uint64)
    packed[0], word, count, size = SPACE, 0, 0, 1
    for letter in letters:
        if letter == LINE_END:
            firsts[word], sizes[word] = count, size
            for mark in marks:
                glued[word] |= size == 2 and packed[count] >> EIGHT == mark
            word, count, size = word + 1, count + (size + 7) // 8, 1
            packed[count] = SPACE
        else:
            packed[count + size // 8] |= np.uint64(letter) << np.uint64(size % 8 * 8)
            size += 1
    size = np.int64(0)
    for place in path:
        size += sizes[place] if place >= 0 else 0
    text = np.empty(size // 8 + 2, np.uint64)
    full, last, used = 0, np.uint64(0), 0  # numbers written; the next one, and its letters so far
    begins = True
    for place in path:
        if place < 0:
            begins = True
            continue
        left, at = sizes[place], firsts[place]
        here = packed[at]
        if begins:
            here, begins = here ^ SPACE ^ LINE_END, False  # which ends the sentence before it
        else:
            here, left = here >> np.uint64(8 * glued[place]), left - glued[place]
        while True:
            # No branches here: nobody could foresee where a number is full.
            last |= here << np.uint64(8 * used)
            text[full] = last
            rest = here >> np.uint64(56 - 8 * used) >> EIGHT
            used += min(left, 8)
            last = rest if used >= 8 else last
            full, used = full + used // 8, used % 8
            left -= 8
            if left <= 0:
                break
            at += 1
            here = packed[at]
    text[full] = last | (np.uint64(LINE_END) << np.uint64(8 * used))
    return text.view(np.uint8)[1 : 8 * full + used + 1]


@kernel(types.Tuple([int64[:, ::1], int64[:, ::1], int32[::1], int32[::1]])(type_of(Chunk), type_of(How), tables_type))
def choose_all(chunk, how, tables):
    """The best new sentences of each example.

    Returns what is told of each example; of all sentences their lengths, closest reference lengths, products, crossings
    and what they cover; the places of their words in chunk.words, -1 behind each sentence; and the state behind each
    word of the distinct references. Examples that are not chosen from need what this kernel does not have.
    """
    told = np.zeros((len(chunk.firsts) - 1, COLUMNS), np.int64)
    room = np.int64(0)
    for wanted in chunk.wanted:
        room += max(wanted, 0)
    sentences = np.empty((room, 5), np.int64)
    found, used = np.int64(0), np.int64(0)
    path = np.empty(16 * len(sentences) + 1, np.int32)
    after = np.full(len(chunk.words), -1, np.int32)
    numbers = np.full(len(chunk.rows), -1, np.int32)
    nothing = np.empty(0, np.int32)
    for e in range(len(told)):
        words, starts, begins, vocabulary = number(
            chunk.words, chunk.starts, chunk.firsts[e], chunk.firsts[e + 1], numbers
        )
        rows = chunk.rows[vocabulary]
        flags = tables.word_flags[rows]
        told[e, DISTINCT], told[e, PATH] = len(begins), used
        met_flags = np.uint8(0)
        for flag in flags:
            met_flags |= flag
        if len(words) > how.most_words or (how.judged and met_flags & IS_PAIRED):
            continue
        similarity = similarity_of(chunk, how, words, starts, begins, vocabulary)
        for tried in range(len(how.penalties)):
            own_after, first, arcs, final, deterministic, count = compress(
                words, starts, similarity, how.penalties[tried], how.by_paper, how.most_states
            )
            told[e, PENALTY] = tried
            if count == 0 or count >= how.enough:
                break
        if not deterministic or count == 0:
            continue
        told[e, COUNT] = count
        shift = np.empty(len(words), np.int64)  # from a place in the example to one in the chunk
        for d in range(len(begins)):
            shift[starts[d] : starts[d + 1]] = begins[d] - starts[d]
        for k in range(len(words)):
            after[k + shift[k]] = own_after[k]
        wanted = min(chunk.wanted[e], count - len(begins))
        if wanted < 1:
            told[e, IS_CHOSEN] = told[e, IS_EXACT] = 1
            continue
        rules = same = shared = nothing
        if how.judged:
            linked = own_after if len(similarity) else nothing
            rules, same, shared = content_rules(words, starts, linked, arcs, rows, tables)
        is_listed, floors = count <= how.most_listed, np.ones(len(words) + 1, np.int64)
        hashes, marks = chunk.hashes[vocabulary], flags & IS_MARK != 0
        status, counts, arcs_found, nodes, exact, left_out = search(
            words, starts, len(vocabulary), first, arcs, final,
            wanted, is_listed, MAX_ORDER, floors, hashes, marks, how.limits, how.most_bounds, rules, same, shared,
        )  # fmt: skip
        if status != FINE or (how.is_cut and nodes > how.limits[0]):
            continue
        if exact and len(counts) < wanted:
            status, lower, _, _, _, _ = search(
                words, starts, len(vocabulary), first, arcs, final,
                len(counts) + 1, is_listed, 1, floors, hashes, marks, how.lower_limits, how.most_bounds,
                rules, same, shared,
            )  # fmt: skip
            if status != FINE:
                continue
            told[e, HAS_LOWER] = len(lower) > len(counts)
        add_closest(counts, starts)
        told[e, IS_CHOSEN], told[e, IS_EXACT], told[e, FOUND] = 1, exact, len(counts)
        for cause in range(len(left_out)):
            told[e, LEFT_OUT + cause] = left_out[cause]
        if len(shared):
            told[e, SHARED] = shared[0]
        for k in range(len(counts)):
            for column in range(counts.shape[1]):
                sentences[found, column] = counts[k, column]
            found += 1
        needed = used + len(arcs_found)
        if needed > len(path):
            path = np.concatenate((path, np.empty(needed, np.int32)))
        for arc in arcs_found:
            origin = arcs[arc, ORIGIN] if arc >= 0 else -1
            path[used] = origin + shift[origin] if arc >= 0 else -1
            used += 1
    return told, sentences[:found], path[:used], after
