"""Alignment of two references of twelve words: polyref against plain Python and Biopython.

In:   similarity matrices of captions, cut to twelve words. Out: time a matrix. Not: merging (pipeline.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice

import numba
import numpy as np
from Bio.Align import PairwiseAligner

from benchmarks import graph_peer
from benchmarks.clock import each, one_core, seconds_in_turn
from benchmarks.data import Data, words_of
from benchmarks.table import Peer, Table, ratio_table, shown_ratio, shown_time
from polyref.align import kernels, whole_units
from polyref.align.alignment import Links, fill, links_of, soft_similarity, trace_back
from polyref.text import Tokens

WORDS = 12
REFERENCES = 5  # as a caption has
ROUNDS = 5
PENALTY = whole_units(0.6)
LEFT, RIGHT = np.arange(WORDS, dtype=np.int32), np.arange(WORDS, 2 * WORDS, dtype=np.int32)


@dataclass(frozen=True)
class Group:
    """Some references of twelve words, and the similarity of all their words."""

    words: np.ndarray
    starts: np.ndarray
    similarity: np.ndarray

    def blocks(self) -> list[np.ndarray]:
        """The matrix of each pair of references."""
        parts = [slice(start, start + WORDS) for start in self.starts[:-1]]
        return [np.ascontiguousarray(self.similarity[left, right]) for left, right in combinations(parts, 2)]


def measure(data: Data, quick: bool) -> Table:
    groups = _groups(data, 30 if quick else 600)
    blocks = [block for group in groups for block in group.blocks()]
    lists = [block.tolist() for block in blocks]
    aligners = [_aligner(block) for block in blocks]
    ways = {
        "ours": partial(align_stack, np.stack(blocks), PENALTY),
        "called": each(lambda block: align_one(block, PENALTY), blocks),
        "together": each(_plan, groups),
        "twin": each(lambda block: align(block, PENALTY), lists),
        "written": each(lambda block: graph_peer.align(block, PENALTY), lists),
        "links": each(_links, aligners),
        "score": each(_score, aligners),
    }
    align_stack(np.stack(blocks[:1]), PENALTY), align_one(blocks[0], PENALTY)  # compiled before the clock starts
    with one_core():
        seconds = {name: total / len(blocks) for name, total in seconds_in_turn(ways, ROUNDS).items()}
    peers = [
        Peer("plain Python, tuned (polyref's plain twin)", seconds["twin"], target=40),
        Peer("plain Python, equation 3 as it is written", seconds["written"]),
        Peer("Biopython, PairwiseAligner.align, one alignment", seconds["links"]),
        Peer("Biopython, PairwiseAligner.score, no alignment", seconds["score"]),
    ]
    remarks = [*_remarks(data, len(blocks), seconds), _agreement(blocks, lists, aligners)]
    title = f"Alignment of {WORDS} x {WORDS} words"
    return ratio_table(
        title, "a matrix", Peer("polyref, compiled, in a compiled loop", seconds["ours"]), peers, remarks
    )


def _remarks(data: Data, blocks: int, seconds: Mapping[str, float]) -> list[str]:
    return [
        f"{blocks:,} different matrices from {data.captions_name} with {data.encoder_name} (rescaled "
        f"cosine, penalty 0.6): all pairs of {REFERENCES} references that follow each other, cut to their first "
        "twelve words.",
        "polyref's kernels (fill and trace_back) are called for one matrix after the other from a compiled loop, as "
        "inside polyref. All peers give the score of the alignment and its links.",
        f"Called from Python for one matrix at a time, polyref takes {shown_time(seconds['called'])}, most of which is "
        f"the call itself (numba unpacks one array and makes another): the plain twin takes "
        f"{shown_ratio(seconds['twin'] / seconds['called'])} as long.",
        f"When one call from Python aligns all pairs of {REFERENCES} references, orders the merges and finds their "
        f"links, as the pipeline does (plan_merges), a pair takes {shown_time(seconds['together'])}, everything "
        f"included: the plain twin takes {shown_ratio(seconds['twin'] / seconds['together'])} as long for the "
        "alignments alone.",
        "Biopython: global mode, gaps cost nothing, each matrix minus the penalty as its own substitution matrix, "
        "set before the clock starts. It maximises the same sum; of equally good alignments it may choose another.",
    ]


def _groups(data: Data, count: int) -> list[Group]:
    """References that follow each other in the data, whatever example they belong to."""
    long = (tokens for example in data.captions for tokens in words_of(example) if len(tokens) >= WORDS)
    return [_group(data, references) for references in islice(_in_groups(long), count)]


def _in_groups(references: Iterator[Tokens]) -> Iterator[list[Tokens]]:
    while len(group := list(islice(references, REFERENCES))) == REFERENCES:
        yield group


def _group(data: Data, references: Sequence[Tokens]) -> Group:
    numbers: dict[str, int] = {}
    cut = [word for tokens in references for word in tokens.words[:WORDS]]
    words = [numbers.setdefault(word, len(numbers)) for word in cut]
    encodings = data.encode(references)
    vectors = np.concatenate([encoding.vectors[:WORDS] for encoding in encodings])
    known = np.concatenate([encoding.known[:WORDS] for encoding in encodings])
    starts = range(0, len(words) + 1, WORDS)
    similarity = soft_similarity(words, vectors, known, data.baseline, starts)
    return Group(np.array(words, np.int32), np.array(starts), similarity)


def align(block: Sequence[Sequence[int]], penalty: int) -> tuple[int, Links]:
    """The plain twin: what the alignment is worth, and its links."""
    opt = fill(block, penalty)
    return opt[-1][-1], links_of(trace_back(opt))


@numba.njit
def align_stack(blocks: np.ndarray, penalty: int) -> int:
    """Align every matrix of a stack; returns how many links there are."""
    rows, columns = blocks.shape[1:]
    opt = np.empty((rows + 1, columns + 1), np.int32)
    links = np.empty((rows, 2), np.int32)
    count = 0
    no_words = np.empty(0, np.int32)
    for k in range(len(blocks)):
        kernels.fill(no_words, blocks[k], 0, rows, 0, columns, penalty, opt)
        count += kernels.trace_back(opt, rows, columns, links, 0)
    return count


@numba.njit
def align_one(block: np.ndarray, penalty: int) -> tuple[int, np.ndarray]:
    """What the alignment of one matrix is worth, and its links."""
    rows, columns = block.shape
    opt = np.empty((rows + 1, columns + 1), np.int32)
    links = np.empty((min(rows, columns), 2), np.int32)
    worth = kernels.fill(np.empty(0, np.int32), block, 0, rows, 0, columns, penalty, opt)
    return worth, links[: kernels.trace_back(opt, rows, columns, links, 0)]


def _plan(group: Group) -> object:
    return kernels.plan_merges(group.words, group.starts, group.similarity, PENALTY, False)


def _aligner(block: np.ndarray) -> PairwiseAligner:
    """An aligner of the numbers 0 to 11 with the numbers 12 to 23, which stand for the two references' words."""
    worth = np.zeros((2 * WORDS, 2 * WORDS))
    worth[:WORDS, WORDS:] = block - PENALTY
    return PairwiseAligner(mode="global", substitution_matrix=worth, gap_score=0.0)


def _links(aligner: PairwiseAligner) -> np.ndarray:
    """Where the first of the best alignments runs, as Biopython tells it: runs of linked words."""
    return aligner.align(LEFT, RIGHT)[0].aligned


def _score(aligner: PairwiseAligner) -> float:
    return aligner.score(LEFT, RIGHT)


def _agreement(
    blocks: Sequence[np.ndarray], lists: Sequence[list[list[int]]], aligners: Sequence[PairwiseAligner]
) -> str:
    apart = 0
    for block, rows, aligner in zip(blocks, lists, aligners, strict=True):
        worth, links = align_one(block, PENALTY)
        ours = worth, [tuple(link) for link in links.tolist()]
        same = ours == align(rows, PENALTY) == graph_peer.align(rows, PENALTY)
        apart += not (same and worth == _score(aligner))
    if apart:
        return f"{apart:,} of {len(blocks):,} matrices: results DIFFER."
    return "On every matrix, polyref and plain Python give the same links, and Biopython the same score."
