"""Compiled: the rules of content of an example, from what is known of its words.

The plain twin is judge/content.py; the tables of words are made by judge/usage.py.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, types, uint8

from polyref.compiled import kernel
from polyref.lattice.compiled.automaton import ARC_WORD
from polyref.lattice.compiled.rules import HEADER, NO_LIMIT, TWICE
from polyref.score.kernels import borrowed

NEGATES, IS_MARK, IS_PAIRED = 1, 2, 4  # bits of what is known of a word
MAY_REPEAT, OFTEN_REPEATED = 1, 2  # bits of what is known of a part of a word
STEM, ENDING = 4, 3  # letters, as the plain twin has them
PART, OF_WORD, NEXT = 0, 1, 2  # the columns of what is spelled


class Tables(NamedTuple):
    """What is known of words and of their parts, one row for each."""

    word_flags: uint8[::1]
    parts_first: int32[::1]  # where the parts of each word begin
    parts: int32[::1]
    part_flags: uint8[::1]
    stems: int32[::1]  # the number of the stem of each part; -1 for none
    letters_first: int32[::1]  # where the letters of each part begin
    letters: int32[::1]
    local: int32[::1]  # the place of each part in an example; -1 everywhere before and after a kernel
    others_first: int64[::1]  # where those begin that stand for each part
    others: int32[::1]
    evidence: float64[::1]  # of each of these


tables_type = types.NamedTuple(list(Tables.__annotations__.values()), Tables)


@kernel("boolean(int32[::1], int32[::1], int64, int64)")
def is_one_stem(letters, letters_first, a, b):
    """Whether two parts share a stem."""
    if letters_first[a + 1] - letters_first[a] > letters_first[b + 1] - letters_first[b]:
        a, b = b, a
    size, longer = letters_first[a + 1] - letters_first[a], letters_first[b + 1] - letters_first[b]
    shared = 0
    while shared < size and letters[letters_first[a] + shared] == letters[letters_first[b] + shared]:
        shared += 1
    return shared >= STEM and longer - shared <= ENDING


@kernel("boolean(int32[::1], int32[::1], int64, int64)")
def comes_before(letters, letters_first, a, b):
    """Whether part a stands before part b in a sorted list."""
    size, other = letters_first[a + 1] - letters_first[a], letters_first[b + 1] - letters_first[b]
    for k in range(min(size, other)):
        letter, other_letter = letters[letters_first[a] + k], letters[letters_first[b] + k]
        if letter != other_letter:
            return letter < other_letter
    return size < other


@kernel(boolean[:, ::1](int32[::1], int64[::1], int64, tables_type))
def relate(known, holding, size, tables):
    """Which parts count as the same: those of one stem, and alternatives with enough evidence."""
    tables = borrowed(tables)
    stems, letters, letters_first = tables.stems, tables.letters, tables.letters_first
    alike = np.zeros((len(known), len(known)), np.bool_)
    for p in range(len(known)):
        row = known[p]
        if stems[row] >= 0:
            for other in range(p):
                if stems[known[other]] == stems[row] and is_one_stem(letters, letters_first, row, known[other]):
                    alike[p, other] = alike[other, p] = True
        if row < len(tables.others_first) - 1:
            for k in range(tables.others_first[row], tables.others_first[row + 1]):
                other = tables.local[tables.others[k]]
                if other >= 0 and holding[p] * holding[other] <= tables.evidence[k] * size:
                    alike[p, other] = True
    return alike


@kernel("void(int32[::1], int64[::1], int32[::1], int32[::1], int32[:, ::1], uint8[::1], boolean[:, ::1])")
def join_linked(words, starts, after, spelled_first, spelled, flags, alike):
    """Parts of different words between the same two states count as the same, but for those that people repeat."""
    between = np.empty(len(words), np.int64)
    for r in range(len(starts) - 1):
        for k in range(starts[r], starts[r + 1]):
            before = np.int64(after[k - 1]) if k > starts[r] else np.int64(0)
            between[k] = (before << np.int64(32)) | np.int64(after[k])
    order = np.argsort(between, kind="mergesort")
    begin = 0
    while begin < len(order):
        end, differ = begin + 1, False
        while end < len(order) and between[order[end]] == between[order[begin]]:
            differ = differ or words[order[end]] != words[order[begin]]
            end += 1
        if differ:
            for one in words[order[begin:end]]:
                for other in words[order[begin:end]]:
                    for k in range(spelled_first[one], spelled_first[one + 1]):
                        for m in range(spelled_first[other], spelled_first[other + 1]):
                            a, b = spelled[k, PART], spelled[m, PART]
                            if a != b and (flags[a] | flags[b]) & MAY_REPEAT == 0:
                                alike[a, b] = alike[b, a] = True
        begin = end


@kernel(types.Tuple([int32[::1], int32[:, ::1], int32[::1], int32[::1]])(int32[::1], tables_type))
def spell(rows, tables):
    """Which words have which parts, and which parts there are, in the order in which they are met.

    Returns where the parts of each word begin; for each of them the part, its word, and where the same part comes next
    (-1: nowhere); where each part comes first; the row of each part.
    """
    tables = borrowed(tables)
    parts_first, parts, local = tables.parts_first, tables.parts, tables.local
    first = np.zeros(len(rows) + 1, np.int32)
    for v in range(len(rows)):
        first[v + 1] = first[v] + parts_first[rows[v] + 1] - parts_first[rows[v]]
    spelled = np.empty((first[-1], 3), np.int32)
    heads, tails = np.empty(len(spelled), np.int32), np.empty(len(spelled), np.int32)
    known = np.empty(len(spelled), np.int32)
    count = np.int32(0)
    for v in range(len(rows)):
        for entry in range(first[v], first[v + 1]):
            row = parts[parts_first[rows[v]] + entry - first[v]]
            if local[row] < 0:
                local[row] = count
                known[count], heads[count] = row, entry
                count += 1
            else:
                spelled[tails[local[row]], NEXT] = entry
            tails[local[row]] = entry
            spelled[entry, PART], spelled[entry, OF_WORD], spelled[entry, NEXT] = local[row], v, -1
    return first, spelled, heads[:count], known[:count]


@kernel(
    "Tuple((int32[:, ::1], int64[::1], int64[::1]))(int32[::1], int64[::1], int32[:, ::1], int32[:, ::1], int64, int64)"
)
def say_parts(words, starts, arcs, spelled, vocabulary, count):
    """How often each reference says each part, how many references say it, and on how many arcs it stands."""
    size = len(starts) - 1
    said = np.zeros((vocabulary, size), np.int32)
    for r in range(size):
        for k in range(starts[r], starts[r + 1]):
            said[words[k], r] += 1
    on_arc = np.zeros(vocabulary, np.int64)
    for k in range(len(arcs)):
        on_arc[arcs[k, ARC_WORD]] += 1
    columns, on_arcs = np.zeros((count, size), np.int32), np.zeros(count, np.int64)
    for entry in range(len(spelled)):
        part, v = spelled[entry, PART], spelled[entry, OF_WORD]
        on_arcs[part] += on_arc[v]
        for r in range(size):
            columns[part, r] += said[v, r]
    holding = np.zeros(count, np.int64)
    for p in range(count):
        for r in range(size):
            holding[p] += columns[p, r] > 0
    return columns, holding, on_arcs


@kernel("int64(int32[:, ::1], int32[::1], int64, int32[::1], int64)", inline=True)
def add_words(spelled, heads, part, words, count):
    """Write the words that have a part behind the first `count`, and return how many there are then."""
    entry = heads[part]
    while entry >= 0:
        words[count] = spelled[entry, OF_WORD]
        count, entry = count + 1, spelled[entry, NEXT]
    return count


@kernel("int64(int32[::1], int64, int64, int64, int32[::1], int64)", inline=True)
def add_rule(rules, place, least, most, words, count):
    """Write a rule, and return where the next one goes."""
    rules[place], rules[place + 1], rules[place + 2], rules[place + 3] = TWICE, least, most, 0
    rules[place + 4], rules[place + 5] = count, 0
    for k in range(count):
        rules[place + HEADER + k] = words[k]
    return place + HEADER + count


@kernel("int64(int32[::1], int64, int64, int32[::1], int64)", inline=True)
def add_shared(shared, place, references, words, count):
    """The same for what so many references say."""
    shared[0] += references
    shared[place], shared[place + 1] = references, count
    for k in range(count):
        shared[place + 2 + k] = words[k]
    return place + 2 + count


@kernel("UniTuple(int64, 2)(int32[:, ::1], int64[::1], int64)", inline=True)
def add_column(columns, sums, part):
    """Add what each reference says of a part to the sums; the most that one says then, and how many say any."""
    most, saying = np.int64(0), np.int64(0)
    for r in range(len(sums)):
        sums[r] += columns[part, r]
        most = max(most, sums[r])
        saying += sums[r] > 0
    return most, saying


@kernel("int64(boolean[:, ::1], int32[::1], int32[::1], int32[::1], int32[::1], int64)", inline=True)
def gather_group(alike, known, letters, letters_first, group, part):
    """The parts that count as the same as one, itself included, in the order of the alphabet; how many they are."""
    members = 0
    for other in range(len(known)):
        if alike[part, other] or other == part:
            place = members
            while place > 0 and comes_before(letters, letters_first, known[other], known[group[place - 1]]):
                group[place] = group[place - 1]
                place -= 1
            group[place] = other
            members += 1
    return members


@kernel("int64(boolean[:, ::1], int64[::1], int64)")
def known_group(alike, limits, part):
    """The part before this one whose group is the same, and has a limit already; the part itself if there is none."""
    for other in range(part):
        if limits[other] >= 0 and alike[part, other]:
            same = True
            for q in range(len(limits)):
                if q != part and q != other and alike[part, q] != alike[other, q]:
                    same = False
                    break
            if same:
                return other
    return part


@kernel("int64(int32[::1], int64, int32[::1], int64[::1], int32[::1], uint8[::1])")
def add_negations(rules, place, words, starts, rows, word_flags):
    """As many negations as gold has."""
    count = 0
    for v in range(len(rows)):
        if word_flags[rows[v]] & NEGATES:
            rules[place + HEADER + count] = v
            count += 1
    if count == 0:
        return place
    least, most = np.int64(NO_LIMIT), np.int64(0)
    for r in range(len(starts) - 1):
        held = np.int64(0)
        for k in range(starts[r], starts[r + 1]):
            held += word_flags[rows[words[k]]] & NEGATES != 0
        least, most = min(least, held), max(most, held)
    return add_rule(rules, place, least, most, rules[place + HEADER :], count)


@kernel(
    types.Tuple([int32[::1], int32[::1], int32[::1]])(
        int32[::1], int64[::1], int32[::1], int32[:, ::1], int32[::1], tables_type
    )
)
def content_rules(words, starts, after, arcs, rows, tables):
    """The rules, as Rules.arrays has them; for each word its own number, -1 for punctuation; what most references say.

    `after` is empty for hard alignment. `rows` has for each word of the example its row in the tables.
    """
    tables = borrowed(tables)
    size = len(starts) - 1
    spelled_first, spelled, heads, known = spell(rows, tables)
    count = len(known)
    columns, holding, on_arcs = say_parts(words, starts, arcs, spelled, len(rows), count)
    alike = relate(known, holding, size, tables)
    for p in range(count):
        tables.local[known[p]] = -1
    if len(after):
        join_linked(words, starts, after, spelled_first, spelled, tables.part_flags[known], alike)

    rules = np.empty((count + 2) * (len(spelled) + len(rows) + 2 * HEADER), np.int32)
    shared = np.empty((count + 1) * (len(spelled) + 2), np.int32)
    shared[0] = 0
    place, shared_place = np.int64(0), np.int64(1)
    limits = np.full(count, -1, np.int64)  # of what counts as the same, at the first part of it
    group, spellings = np.empty(count, np.int32), np.empty(len(spelled), np.int32)
    sums = np.empty(size, np.int64)
    for p in range(count):
        members = gather_group(alike, known, tables.letters, tables.letters_first, group, p)
        if members == 1 and on_arcs[p] == 1 and 2 * holding[p] <= size:
            continue  # what most words are
        sums[:] = 0
        most, _ = add_column(columns, sums, p)
        is_bound = on_arcs[p] > most and tables.part_flags[known[p]] & MAY_REPEAT == 0
        first = known_group(alike, limits, p) if members > 1 else p
        if members == 1:
            if 2 * holding[p] > size and tables.part_flags[known[p]] & OFTEN_REPEATED == 0:
                length = add_words(spelled, heads, p, spellings, 0)
                shared_place = add_shared(shared, shared_place, holding[p], spellings, length)
        elif first < p:
            is_bound = is_bound and limits[first] > most  # what a group is limited to, its words are, too
        else:
            together, saying, length, arcs_of_all, is_needed = np.int64(0), np.int64(0), 0, np.int64(0), True
            sums[:] = 0
            for m in range(members):
                together, saying = add_column(columns, sums, group[m])
                length = add_words(spelled, heads, group[m], spellings, length)
                arcs_of_all += on_arcs[group[m]]
                is_needed = is_needed and holding[group[m]] < size
            is_needed = is_needed and saying == size
            is_bound = is_bound and together > most
            limits[p] = together if arcs_of_all > together else NO_LIMIT
            if is_needed or limits[p] < NO_LIMIT:
                place = add_rule(rules, place, np.int64(is_needed), limits[p], spellings, length)
            if 2 * saying > size:
                shared_place = add_shared(shared, shared_place, saying, spellings, length)
        if is_bound or holding[p] == size:
            length = add_words(spelled, heads, p, spellings, 0)
            limit = most if is_bound else np.int64(NO_LIMIT)
            place = add_rule(rules, place, np.int64(holding[p] == size), limit, spellings, length)
    place = add_negations(rules, place, words, starts, rows, tables.word_flags)
    same = np.empty(len(rows), np.int32)
    for v in range(len(rows)):
        same[v] = -1 if tables.word_flags[rows[v]] & IS_MARK else v
    return rules[:place].copy(), same, shared[: shared_place if shared_place > 1 else 0].copy()
