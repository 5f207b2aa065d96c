"""Compiled: the trie of reference n-grams, and the matches of many sentences.

The plain twin is NgramTrie in sentence_bleu.py.
"""

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polyref.compiled import kernel

MAX_ORDER = 4
# The columns of a trie: one row per node.
WORD, DEPTH, LINK, LIMIT, FIRST_CHILD, NEXT_SIBLING = 0, 1, 2, 3, 4, 5


@intrinsic
def borrowed(typing, arrays):
    """An array, or a record of arrays, without counts of references: to keep these up in an inner loop takes longer
    than most of what it does.

    For what somebody else refers to until the function that borrows it is left: its caller, or a name used at its end.
    """

    def without_count(context, builder, kind, value):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()

    def without_counts(context, builder, signature, arguments):
        if isinstance(arrays, types.Array):
            return without_count(context, builder, arrays, arguments[0])
        fields = cgutils.unpack_tuple(builder, arguments[0])
        for place, kind in enumerate(arrays.types):
            if isinstance(kind, types.Array):
                fields[place] = without_count(context, builder, kind, fields[place])
        return context.make_tuple(builder, arrays, fields)

    return arrays(arrays), without_counts


@kernel("int32(int32[:, ::1], int32[::1], int32, int32)", inline=True)
def find_child(trie, root, node, word):
    """The node of the n-gram `node` with `word` behind it; 0 if no reference has it."""
    if node == 0:
        return root[word]
    child = trie[node, FIRST_CHILD]
    while child != 0 and trie[child, WORD] != word:
        child = trie[child, NEXT_SIBLING]
    return child


@kernel("Tuple((int32[:, ::1], int32[::1]))(int32[::1], int64[::1], int64)")
def build_trie(words, starts, vocabulary):
    """The trie of all n-grams of the references, and its first level as a table over the vocabulary.

    The table has one place more: a word that no reference has may be numbered `vocabulary`.
    """
    size = np.int32(1)
    kept_trie = np.zeros((1 + MAX_ORDER * len(words), 6), np.int32)
    kept_root = np.zeros(vocabulary + 1, np.int32)
    trie, root = borrowed(kept_trie), borrowed(kept_root)
    counts = np.zeros((len(trie), 2), np.int32)  # within one reference: which one, plus 1, and how often
    path = np.zeros(MAX_ORDER + 1, np.int32)
    for reference in range(len(starts) - 1):
        begin, end = starts[reference], starts[reference + 1]
        # From the last word to the first: then an n-gram without its first word has just been inserted, and path
        # holds the nodes to link to.
        for start in range(end - 1, begin - 1, -1):
            node = shorter = np.int32(0)
            for position in range(start, min(start + MAX_ORDER, end)):
                word = words[position]
                child = find_child(trie, root, node, word)
                if child == 0:
                    child = size
                    size += 1
                    depth = trie[node, DEPTH]
                    trie[child, WORD] = word
                    trie[child, DEPTH] = depth + 1
                    trie[child, LINK] = shorter
                    if node == 0:
                        root[word] = child
                    else:
                        trie[child, NEXT_SIBLING] = trie[node, FIRST_CHILD]
                        trie[node, FIRST_CHILD] = child
                node = child
                if counts[node, 0] != reference + 1:
                    counts[node, 0], counts[node, 1] = reference + 1, 0
                counts[node, 1] += 1
                if counts[node, 1] > trie[node, LIMIT]:
                    trie[node, LIMIT] = counts[node, 1]
                depth = trie[node, DEPTH]
                shorter = path[depth]
                path[depth] = node
    return kept_trie[:size], kept_root


@kernel("int32(int32[:, ::1], int32[::1], int32, int32)", inline=True)
def step(trie, root, context, word):
    """The longest n-gram that ends with `word` behind `context`; 0 if no reference has the word."""
    while context != 0:
        child = find_child(trie, root, context, word)
        if child != 0:
            return child
        context = trie[context, LINK]
    return root[word]


@kernel("int64[:, ::1](int32[:, ::1], int32[::1], int32[::1], int64[::1])")
def match_sentences(trie, root, words, starts):
    """The clipped matches of each order of many sentences: sentence k is words[starts[k]:starts[k + 1]]."""
    trie, root = borrowed(trie), borrowed(root)
    found = np.zeros((len(starts) - 1, MAX_ORDER), np.int64)
    left = trie[:, LIMIT].copy()  # how often each n-gram may still count
    longest = 0
    for sentence in range(len(starts) - 1):
        longest = max(longest, starts[sentence + 1] - starts[sentence])
    touched = np.empty(MAX_ORDER * longest, np.int32)
    for sentence in range(len(starts) - 1):
        context = np.int32(0)
        touches = 0
        for position in range(starts[sentence], starts[sentence + 1]):
            node = step(trie, root, context, words[position])
            depth = trie[node, DEPTH]
            context = trie[node, LINK] if depth == MAX_ORDER else node
            while depth > 0:
                depth -= 1
                if left[node] > 0:
                    found[sentence, depth] += 1
                left[node] -= 1
                touched[touches] = node
                touches += 1
                node = trie[node, LINK]
        for k in range(touches):
            left[touched[k]] += 1
    return found
