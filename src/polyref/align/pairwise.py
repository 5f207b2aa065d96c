"""Align two references word by word (equation 3 of the paper).

In:   a similarity matrix; one row a word of the left reference, one column a word of the right.
Out:  links in order, and what they are worth after the penalty.
Not:  which pairs to align (merge_order.py), merging states (lattice/build.py).
"""

from __future__ import annotations

from collections.abc import Sequence

Links = list[tuple[int, int]]
Table = list[list[int]]


def align(similarity: Sequence[Sequence[int]], penalty: int) -> tuple[int, Links]:
    """The best score of any alignment, and the links of the one that is chosen among the best."""
    opt = fill(similarity, penalty)
    return opt[-1][-1], trace_back(opt)


def fill(similarity: Sequence[Sequence[int]], penalty: int) -> Table:
    """opt[u][v] is the worth of the best alignment of the first u words on the left with the first v on the right."""
    above = [0] * (len(similarity[0]) + 1)
    opt = [above]
    for row in similarity:
        best = 0
        here = [0]
        for v, alike in enumerate(row):
            # max(), written out: this is the innermost line of everything.
            linked = above[v] + alike - penalty
            if above[v + 1] > best:
                best = above[v + 1]
            if linked > best:
                best = linked
            here.append(best)
        opt.append(here)
        above = here
    return opt


def trace_back(opt: Table) -> Links:
    """The links, from the last word to the first and then turned round.

    A tie goes to the gap: a link worth nothing is no evidence that two words mean the same. The left word is
    dropped if that loses nothing, else the right one.
    """
    links = []
    u, v = len(opt) - 1, len(opt[0]) - 1
    while u > 0 and v > 0:
        if opt[u - 1][v] == opt[u][v]:
            u -= 1
        elif opt[u][v - 1] == opt[u][v]:
            v -= 1
        else:
            u, v = u - 1, v - 1
            links.append((u, v))
    links.reverse()
    return links
