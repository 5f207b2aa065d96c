"""The pipeline after the encoder as one would write it with numpy, networkx and sacreBLEU.

In:   the references of one example as words, and their vectors.
Out:  the best new sentences with their scores.
Not:  polyref: only its rules are used here, none of its code; which words are never linked, it is told.

Every step is the plain one: a Python loop for the alignment, a graph that is asked for a path before each
merge, a list of all sentences, and a score from sacreBLEU for each.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

import networkx as nx
import numpy as np
from networkx.utils import UnionFind
from sacrebleu.metrics import BLEU

Words = tuple[str, ...]
Links = list[tuple[int, int]]
State = tuple[int, int]  # a reference, and how many of its words stand before the state

UNIT = 10_000
START: State = (0, 0)
SACREBLEU = BLEU(smooth_method="none", tokenize="none", effective_order=True)


def best_sentences(
    references: Sequence[Words],
    vectors: Sequence[np.ndarray],
    known: Sequence[np.ndarray],
    *,
    baseline: float,
    vetoed: Callable[[str, str], bool],
    position: int,
    penalty: int,
    wanted: int,
) -> list[tuple[float, str]]:
    """The best new sentences, best first, each with its BLEU against the references."""
    gold = set(references)
    distinct = {words: n for n, words in reversed(list(enumerate(references)))}
    kept = sorted(distinct.values())
    references = [references[n] for n in kept]
    similarity = similarities(references, [vectors[n] for n in kept], [known[n] for n in kept], baseline)
    for (i, j), matrix in similarity.items():
        restrain(matrix, references[i], references[j], vetoed, position)
    graph, finals = merge(references, spanning_tree(similarity, len(references), penalty))
    texts = [" ".join(reference) for reference in references]
    scored = []
    for words in set(sentences(graph, finals)) - gold:
        text = " ".join(words)
        score = SACREBLEU.sentence_score(text, texts).score
        if score > 0:
            scored.append((score, text))
    return heapq.nlargest(wanted, scored)


def similarities(
    references: Sequence[Words], vectors: Sequence[np.ndarray], known: Sequence[np.ndarray], baseline: float
) -> dict[tuple[int, int], np.ndarray]:
    """For each pair of references, the rescaled cosine of each two words, in units of 1e-4."""
    exact = np.concatenate(vectors).astype(np.float64)
    squares = np.einsum("ij,ij->i", exact, exact)
    lengths = np.sqrt(squares[:, None] * squares[None, :])
    cosines = np.divide(exact @ exact.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    scaled = np.rint((cosines - baseline) * (UNIT / (1 - baseline))).astype(int)
    words = np.array([word for reference in references for word in reference])
    has_vector = np.concatenate(known)
    equal = np.where(words[:, None] == words[None, :], UNIT, 0)
    scaled = np.where(has_vector[:, None] & has_vector[None, :], scaled, equal)
    starts = np.cumsum([0, *map(len, references)])
    parts = [slice(*bounds) for bounds in pairwise(starts)]
    return {(i, j): scaled[parts[i], parts[j]] for i, j in combinations(range(len(parts)), 2)}


def restrain(
    similarity: np.ndarray, left: Words, right: Words, vetoed: Callable[[str, str], bool], position: int
) -> None:
    """Words of different places lose what these differ by, `position` at most; what is never linked is put to -1."""
    similarity -= np.abs(places(left, position)[:, None] - places(right, position)[None, :])
    for u, word in enumerate(left):
        for v, other in enumerate(right):
            if vetoed(word, other):
                similarity[u, v] = -UNIT


def places(words: Words, position: int) -> np.ndarray:
    last = len(words) - 1
    return (2 * position * np.arange(last + 1) + last) // (2 * last) if last else np.array([position // 2])


def spanning_tree(
    similarity: dict[tuple[int, int], np.ndarray], references: int, penalty: int
) -> list[tuple[int, int, Links]]:
    """Align all pairs, and take the best ones that join references which nothing joins yet."""
    aligned = {pair: align(matrix.tolist(), penalty) for pair, matrix in similarity.items()}
    joined = UnionFind(range(references))
    tree = []
    for left, right in sorted(aligned, key=lambda pair: (-aligned[pair][0], pair)):
        worth, links = aligned[left, right]
        if worth > 0 and joined[left] != joined[right]:
            joined.union(left, right)
            tree.append((left, right, links))
    return tree


def align(similarity: list[list[int]], penalty: int) -> tuple[int, Links]:
    """The dynamic programme of the paper's equation 3, with its links; a tie goes to the gap."""
    rows, columns = len(similarity), len(similarity[0])
    opt = [[0] * (columns + 1) for _ in range(rows + 1)]
    for u in range(1, rows + 1):
        for v in range(1, columns + 1):
            linked = opt[u - 1][v - 1] + similarity[u - 1][v - 1] - penalty
            opt[u][v] = max(linked, opt[u - 1][v], opt[u][v - 1])
    links = []
    u, v = rows, columns
    while u and v:
        if opt[u - 1][v] == opt[u][v]:
            u -= 1
        elif opt[u][v - 1] == opt[u][v]:
            v -= 1
        else:
            u, v = u - 1, v - 1
            links.append((u, v))
    return opt[rows][columns], links[::-1]


def merge(references: Sequence[Words], tree: Sequence[tuple[int, int, Links]]) -> tuple[nx.MultiDiGraph, set[State]]:
    """The lattice and its final states. A word is its arc's key: equal words between two states are one arc."""
    graph = nx.MultiDiGraph()
    graph.add_node(START)
    for n, reference in enumerate(references):
        for position, word in enumerate(reference):
            graph.add_edge((n, position) if position else START, (n, position + 1), key=word)
    now: dict[State, State] = {}  # what a state has become
    for left, right, links in tree:
        for u, v in links:
            for step in (0, 1):
                merge_states(graph, now, (left, u + step), (right, v + step))
    return graph, {current(now, (n, len(reference))) for n, reference in enumerate(references)}


def current(now: dict[State, State], state: State) -> State:
    if state[1] == 0:
        return START
    while state in now:
        state = now[state]
    return state


def merge_states(graph: nx.MultiDiGraph, now: dict[State, State], first: State, second: State) -> None:
    """Make two states one, unless that closes a cycle."""
    keep, drop = sorted((current(now, first), current(now, second)), key=lambda state: state != START)
    if keep == drop or nx.has_path(graph, keep, drop) or nx.has_path(graph, drop, keep):
        return
    for source, _, word in list(graph.in_edges(drop, keys=True)):
        graph.add_edge(source, keep, key=word)
    for _, target, word in list(graph.out_edges(drop, keys=True)):
        graph.add_edge(keep, target, key=word)
    graph.remove_node(drop)
    now[drop] = keep


def sentences(graph: nx.MultiDiGraph, finals: set[State]) -> Iterator[Words]:
    """The words of every path from the start to a final state, depth first."""
    waiting: list[tuple[State, Words]] = [(START, ())]
    while waiting:
        state, words = waiting.pop()
        if state in finals:
            yield words
        for _, target, word in graph.out_edges(state, keys=True):
            waiting.append((target, (*words, word)))
