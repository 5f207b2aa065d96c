"""The best of some sentences drawn at random: for a lattice too large to be searched.

In:   an automaton of sentences, and a way to draw from it.
Out:  the best sentences drawn; never exact.
Not:  the exact search (search.py), drawing (lattice.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from polyref.lattice.determinise import Automaton
from polyref.lattice.hashing import sentence_hash
from polyref.lattice.ranking import Candidate, Ranking
from polyref.lattice.task import Found, Task
from polyref.score import Matches, NgramTrie

_DRAWS = 1000


def best_of_sample(
    automaton: Automaton, references: Sequence[tuple[int, ...]], draw: Callable[[], list[int]], task: Task
) -> Found:
    """The best of a fixed number of drawn sentences that the exact search would have admitted."""
    ranking = Ranking(task.wanted, [len(reference) for reference in references])
    trie, gold = NgramTrie(references), set(references)
    ends = {reference[-1] for reference in references}
    hashes, marks = task.word_hashes.tolist(), task.marks.tolist()
    for _ in range(_DRAWS):
        path = draw()
        words = tuple([automaton.word[arc] for arc in path])
        matches = Matches(len(words), trie.matches(words))
        if words in gold or matches.order < task.lowest_order:
            continue
        if task.floors is not None and matches.product() < task.floors[matches.length]:
            continue
        if marks[words[-1]] and words[-1] not in ends:
            continue
        if any(marks[last] and marks[word] and (last, word) not in trie for last, word in pairwise(words)):
            continue
        ranking.add(Candidate(tuple(path), matches.order, matches.product(), sentence_hash(words, hashes), words))
    return Found.of(ranking.best, exact=False, nodes=0)
