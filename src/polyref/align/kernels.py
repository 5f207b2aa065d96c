"""Compiled: alignment of all pairs of references, and the order of merging.

The plain twins are pairwise.py and merge_order.py.
"""

import numpy as np

from polyref.compiled import kernel

UNIT = 10_000


@kernel("float64(float64[:, ::1], int64, int64)", any_order=True)
def dot(vectors, u, v):
    """Exact, so in any order: see similarity.py."""
    total = 0.0
    for k in range(vectors.shape[1]):
        total += vectors[u, k] * vectors[v, k]
    return total


@kernel("int32[:, ::1](int32[::1], int64[::1], float64[:, ::1], boolean[::1], float64)")
def soft_similarity(words, starts, vectors, known, baseline):
    """The similarity of each two words of different references, the earlier one's words as rows; the rest is 0."""
    count = len(words)
    scaled = np.zeros((count, count), np.int32)
    squares = np.empty(count)
    for u in range(count):
        squares[u] = dot(vectors, u, u)
    scale = UNIT / (1.0 - baseline)
    for r in range(len(starts) - 2):
        for u in range(starts[r], starts[r + 1]):
            for v in range(starts[r + 1], count):
                if known[u] and known[v]:
                    length = np.sqrt(squares[u] * squares[v])
                    cosine = dot(vectors, u, v) / length if length > 0 else 0.0
                    scaled[u, v] = np.rint((cosine - baseline) * scale)
                else:
                    scaled[u, v] = UNIT if words[u] == words[v] else 0
    return scaled


@kernel("void(int32[:, ::1], int32[::1], int64, int64, int64, int64, int32[:, ::1])")
def copy_block(similarity, words, left, left_end, right, right_end, block):
    """The similarity of two references' words; without a matrix, 1 for equal words."""
    if len(similarity):
        for u in range(left, left_end):
            for v in range(right, right_end):
                block[u - left, v - right] = similarity[u, v]
    else:
        for u in range(left, left_end):
            for v in range(right, right_end):
                block[u - left, v - right] = UNIT if words[u] == words[v] else 0


@kernel("int64(int32[:, ::1], int64, int64, int64, int64[:, ::1])")
def fill(block, rows, columns, penalty, opt):
    """Fill opt for the first `rows` x `columns` of the block, and return its last value."""
    for v in range(columns + 1):
        opt[0, v] = 0
    for u in range(rows):
        best = np.int64(0)
        opt[u + 1, 0] = 0
        for v in range(columns):
            linked = opt[u, v] + block[u, v] - penalty
            above = opt[u, v + 1]
            if above > best:
                best = above
            if linked > best:
                best = linked
            opt[u + 1, v + 1] = best
    return opt[rows, columns]


@kernel("int64(int64[:, ::1], int64, int64, int32[:, ::1])")
def trace_back(opt, rows, columns, links):
    """Write the links from left to right, and return how many there are. A tie goes to the gap."""
    u, v, count = rows, columns, 0
    while u > 0 and v > 0:
        if opt[u - 1, v] == opt[u, v]:
            u -= 1
        elif opt[u, v - 1] == opt[u, v]:
            v -= 1
        else:
            u -= 1
            v -= 1
            links[count, 0] = u
            links[count, 1] = v
            count += 1
    for k in range(count // 2):
        other = count - 1 - k
        for side in range(2):
            links[k, side], links[other, side] = links[other, side], links[k, side]
    return count


@kernel("Tuple((int64, int32[:, ::1]))(int32[:, ::1], int64)")
def align(block, penalty):
    """The worth and the links of one similarity matrix."""
    rows, columns = block.shape
    opt = np.empty((rows + 1, columns + 1), np.int64)
    worth = fill(block, rows, columns, penalty, opt)
    links = np.empty((min(rows, columns), 2), np.int32)
    count = trace_back(opt, rows, columns, links)
    return worth, links[:count].copy()


@kernel(
    "Tuple((int32[:, ::1], int64[::1], int32[:, ::1], int64))(int32[::1], int64[::1], int32[:, ::1], int64, boolean)"
)
def plan_merges(words, starts, similarity, penalty, paper):
    """The merged pairs in order, where each one's links begin, all links, and the number of pieces."""
    references = len(starts) - 1
    longest = 0
    for r in range(references):
        longest = max(longest, starts[r + 1] - starts[r])
    block = np.empty((longest, longest), np.int32)
    opt = np.empty((longest + 1, longest + 1), np.int64)

    pairs = references * (references - 1) // 2
    worth = np.empty(pairs, np.int64)
    pair = np.empty((pairs, 2), np.int32)
    k = 0
    for i in range(references):
        for j in range(i + 1, references):
            rows, columns = starts[i + 1] - starts[i], starts[j + 1] - starts[j]
            copy_block(similarity, words, starts[i], starts[i + 1], starts[j], starts[j + 1], block)
            worth[k] = -fill(block, rows, columns, penalty, opt)
            pair[k, 0], pair[k, 1] = i, j
            k += 1
    order = np.argsort(worth, kind="mergesort")

    merges = np.empty((max(references - 1, 0), 2), np.int32)
    link_first = np.zeros(references if references else 1, np.int64)
    links = np.empty((max(references - 1, 0) * longest, 2), np.int32)
    piece = np.arange(references)
    merged = np.zeros(references, np.bool_)
    pieces = references
    count = 0
    for k in order:
        if worth[k] == 0:
            break
        i, j = pair[k, 0], pair[k, 1]
        if (merged[i] and merged[j]) if paper else piece[i] == piece[j]:
            continue
        rows, columns = starts[i + 1] - starts[i], starts[j + 1] - starts[j]
        copy_block(similarity, words, starts[i], starts[i + 1], starts[j], starts[j + 1], block)
        fill(block, rows, columns, penalty, opt)
        found = trace_back(opt, rows, columns, links[link_first[count] :])
        merges[count, 0], merges[count, 1] = i, j
        link_first[count + 1] = link_first[count] + found
        count += 1
        merged[i] = merged[j] = True
        old, new = piece[j], piece[i]
        if old != new:
            pieces -= 1
            for r in range(references):
                if piece[r] == old:
                    piece[r] = new
    return merges[:count].copy(), link_first[: count + 1].copy(), links[: link_first[count]].copy(), pieces
