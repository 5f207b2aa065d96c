"""Compiled: alignment of all pairs of references, and the order of merging.

The plain twin is alignment.py.
"""

import numpy as np

from polyref.compiled import kernel

UNIT = 10_000


@kernel("UniTuple(float64, 4)(float64[:, ::1], int64, int64)", inline=True, any_order=True)
def four_dots(vectors, u, v):
    """The products of two vectors that follow each other with two others: exact, so in any order (see alignment.py).

    Each number is loaded once for two products, so that four take little longer than two.
    """
    uv = uw = xv = xw = 0.0
    for k in range(vectors.shape[1]):
        of_u, of_x, of_v, of_w = vectors[u, k], vectors[u + 1, k], vectors[v, k], vectors[v + 1, k]
        uv += of_u * of_v
        uw += of_u * of_w
        xv += of_x * of_v
        xw += of_x * of_w
    return uv, uw, xv, xw


@kernel("float64[:, ::1](float64[:, ::1])")
def products(vectors):
    """The product of each two vectors, the earlier one as row. Their number is even."""
    found = np.empty((len(vectors), len(vectors)))
    for u in range(0, len(vectors), 2):
        for v in range(u, len(vectors), 2):
            found[u, v], found[u, v + 1], found[u + 1, v], found[u + 1, v + 1] = four_dots(vectors, u, v)
    return found


@kernel("float64[:, ::1](uint16[:, ::1], int32[::1])")
def widen(halves, rows):
    """Some rows of float16 numbers, given as their bits, as float64, and a row of 0 behind an odd number of them."""
    # The exponents of the two formats differ by 1008, so shifted bits times 2**1008 are the number: tiny ones, too.
    bits = np.zeros((len(rows) + len(rows) % 2, halves.shape[1]), np.uint64)
    numbers = bits.view(np.float64)
    for u in range(len(rows)):
        row, wide, number = halves[rows[u]], bits[u], numbers[u]
        for k in range(len(row)):
            half = np.uint64(row[k])
            wide[k] = ((half & np.uint64(0x8000)) << np.uint64(48)) | ((half & np.uint64(0x7FFF)) << np.uint64(42))
        for k in range(len(row)):
            number[k] *= 2.0**1008
    return numbers


@kernel("UniTuple(int32[::1], 2)(int32[::1], uint16[:, ::1])")
def distinct_vectors(words, halves):
    """For each word the number of its vector, and for each such number a word that has it.

    A word that occurs again has the same vector again where they come from a table; then it is worked with once.
    """
    number = np.empty(len(words), np.int32)
    bearer = np.empty(len(words), np.int32)
    most = np.int32(0)
    for word in words:
        most = max(most, word)
    last = np.full(most + 1, -1, np.int32)  # the number of the vector that each word had when it was last seen
    count = 0
    for v in range(len(words)):
        same = last[words[v]]
        if same >= 0:
            row, other, differ = halves[v], halves[bearer[same]], np.uint16(0)
            for k in range(len(row)):
                differ |= row[k] ^ other[k]
            if differ:
                same = np.int32(-1)
        if same < 0:
            same = np.int32(count)
            bearer[count] = v
            count += 1
        last[words[v]] = same
        number[v] = same
    return number, bearer[:count]


@kernel("int32[:, ::1](int32[::1], int64[::1], uint16[:, ::1], boolean[::1], float64)")
def soft_similarity(words, starts, halves, known, baseline):
    """The similarity of each two words of different references, the earlier one's words as rows; the rest is 0.

    The vectors come as the bits of float16 numbers, none of which is infinite.
    """
    number, bearer = distinct_vectors(words, halves)
    dots = products(widen(halves, bearer))
    scale = UNIT / (1.0 - baseline)
    squares = np.empty(len(bearer))
    for u in range(len(bearer)):
        squares[u] = dots[u, u]
    alike = np.empty((len(bearer), len(bearer)), np.int32)
    for u in range(len(bearer)):
        for v in range(u, len(bearer)):  # by itself, so that the processor takes several at a time
            length = np.sqrt(squares[u] * squares[v])
            cosine = dots[u, v] / length if length > 0 else 0.0
            alike[u, v] = np.int32(np.rint((cosine - baseline) * scale))
        for v in range(u + 1, len(bearer)):
            alike[v, u] = alike[u, v]
    count = len(words)
    scaled = np.zeros((count, count), np.int32)
    for r in range(len(starts) - 2):
        later = starts[r + 1]
        later_words, later_known, later_number = words[later:], known[later:], number[later:]
        for u in range(starts[r], later):
            row, of_u = scaled[u, later:], alike[number[u]]
            for k in range(len(row)):
                if known[u] and later_known[k]:
                    row[k] = of_u[later_number[k]]
                else:
                    row[k] = UNIT if words[u] == later_words[k] else 0
    return scaled


@kernel("int32[::1](int64[::1], int64)")
def places(starts, weight):
    """The places of all words."""
    place = np.empty(starts[-1], np.int32)
    for r in range(len(starts) - 1):
        steps = starts[r + 1] - starts[r] - 1
        for u in range(steps + 1):
            place[starts[r] + u] = (2 * weight * u + steps) // (2 * steps) if steps else weight // 2
    return place


@kernel("void(int32[::1], int64[::1], int32[:, ::1], int64[::1], boolean[:, ::1], int64)")
def restrain(words, starts, similarity, codes, table, weight):
    """Take from each similarity what the places of the two words differ by; vetoed pairs become -1. In place."""
    place = places(starts, weight)
    code = codes[words]
    companies, values, rows = code >> 40, (code >> 16) & 0xFFFFFF, code & 0xFFFF
    for r in range(len(starts) - 2):
        later = starts[r + 1]
        later_place, later_companies = place[later:], companies[later:]
        for u in range(starts[r], later):
            company, value, row = companies[u], values[u], table[rows[u]]
            if value == 0 and rows[u] == 0:  # most words, so their loop is one that needs no branches
                alike, here = similarity[u, later:], place[u]
                for k in range(len(alike)):
                    apart = abs(here - later_place[k])
                    alike[k] = alike[k] - apart if later_companies[k] == company else -UNIT
                continue
            for v in range(later, len(words)):
                differ = value != values[v] and value > 0 and values[v] > 0
                if company != companies[v] or differ or row[rows[v]]:
                    similarity[u, v] = -UNIT
                else:
                    similarity[u, v] -= abs(place[u] - place[v])


@kernel("int64(int32[::1], int32[:, ::1], int64, int64, int64, int64, int64, int32[:, ::1])")
def fill(words, similarity, left, left_end, right, right_end, penalty, opt):
    """Fill opt for rows left to left_end and columns right to right_end, and return its last value.

    Without a similarity, equal words are alike and all others are not.
    """
    hard = len(similarity) == 0
    least, worth = np.int32(penalty), np.int32(UNIT - penalty)
    best = np.int32(0)
    for v in range(right_end - right + 1):
        opt[0, v] = 0
    for u in range(left_end - left):
        best = diagonal = np.int32(0)
        opt[u + 1, 0] = 0
        for v in range(right_end - right):
            # What does not depend on `best` comes first, so that the processor can do it ahead: four times as fast.
            if hard:
                gain = worth if words[left + u] == words[right + v] else np.int32(0)
            else:
                gain = np.int32(similarity[left + u, right + v] - least)
            above = opt[u, v + 1]
            without_left = max(above, np.int32(diagonal + gain))
            diagonal = above
            best = max(best, without_left)
            opt[u + 1, v + 1] = best
    return best


@kernel("int64(int32[:, ::1], int64, int64, int32[:, ::1], int64)")
def trace_back(opt, rows, columns, links, first):
    """Write the links from left to right, behind the first ones, and return where they end. A tie goes to the gap."""
    u, v, count = rows, columns, 0
    while u > 0 and v > 0:
        here = opt[u, v]
        if opt[u - 1, v] == here:
            u -= 1
        elif opt[u, v - 1] == here:
            v -= 1
        else:
            u -= 1
            v -= 1
            links[first + count, 0] = u
            links[first + count, 1] = v
            count += 1
    for k in range(count // 2):
        here, other = first + k, first + count - 1 - k
        for side in range(2):
            links[here, side], links[other, side] = links[other, side], links[here, side]
    return first + count


@kernel("int64[::1](int64[::1])")
def order_of(worth):
    """The positions of the numbers, highest first; equals stay in order."""
    if len(worth) > 64:
        return np.argsort(-worth, kind="mergesort")
    order = np.empty(len(worth), np.int64)
    for k in range(len(worth)):
        place = k
        while place > 0 and worth[order[place - 1]] < worth[k]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = k
    return order


@kernel("Tuple((int32[:, ::1], int64[::1], int32[:, ::1]))(int32[::1], int64[::1], int32[:, ::1], int64, boolean)")
def plan_merges(words, starts, similarity, penalty, paper):
    """The merged pairs in order, where each one's links begin, and all links."""
    references = len(starts) - 1
    longest = 0
    for r in range(references):
        longest = max(longest, starts[r + 1] - starts[r])
    opt = np.empty((longest + 1, longest + 1), np.int32)

    worth = np.empty(references * (references - 1) // 2, np.int64)
    pair = np.empty((len(worth), 2), np.int32)
    k = 0
    for i in range(references):
        for j in range(i + 1, references):
            worth[k] = fill(words, similarity, starts[i], starts[i + 1], starts[j], starts[j + 1], penalty, opt)
            pair[k, 0], pair[k, 1] = i, j
            k += 1

    merges = np.empty((max(references - 1, 0), 2), np.int32)
    link_first = np.zeros(max(references, 1), np.int64)
    links = np.empty((max(references - 1, 0) * longest, 2), np.int32)
    piece = np.arange(references)
    merged = np.zeros(references, np.bool_)
    count = 0
    for k in order_of(worth):
        i, j = pair[k, 0], pair[k, 1]
        if worth[k] == 0:
            break
        if (merged[i] and merged[j]) if paper else piece[i] == piece[j]:
            continue
        fill(words, similarity, starts[i], starts[i + 1], starts[j], starts[j + 1], penalty, opt)
        rows, columns = starts[i + 1] - starts[i], starts[j + 1] - starts[j]
        link_first[count + 1] = trace_back(opt, rows, columns, links, link_first[count])
        merges[count, 0], merges[count, 1] = i, j
        count += 1
        merged[i] = merged[j] = True
        old, new = piece[j], piece[i]
        for r in range(references):
            if piece[r] == old:
                piece[r] = new
    return merges[:count], link_first[: count + 1], links[: link_first[count]]
