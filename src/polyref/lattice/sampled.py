"""The best of some sentences drawn at random: for a lattice too large to be searched.

In:   an automaton of sentences, and a way to draw from it.
Out:  the best sentences drawn; never exact.
Not:  the exact search (search.py), drawing (lattice.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyref.lattice.determinise import Automaton
from polyref.lattice.hashing import sentence_hash
from polyref.lattice.ranking import Candidate, Ranking
from polyref.lattice.sampling import Admission
from polyref.lattice.task import Found, Task
from polyref.score import Matches, NgramTrie

_DRAWS = 1000


def best_of_sample(
    automaton: Automaton, references: Sequence[tuple[int, ...]], draw: Callable[[], list[int]], task: Task
) -> Found:
    """The best of a fixed number of drawn sentences that the exact search would have admitted."""
    ranking = Ranking(task.wanted, [len(reference) for reference in references])
    hashes = task.word_hashes.tolist()
    admission, trie = Admission(references, task.marks.tolist()), NgramTrie(references)
    for _ in range(_DRAWS):
        path = draw()
        words = tuple([automaton.word[arc] for arc in path])
        matches = Matches(len(words), trie.matches(words))
        if words not in admission or matches.order < task.lowest_order:
            continue
        if task.floors is not None and matches.product() < task.floors[matches.length]:
            continue
        ranking.add(Candidate(tuple(path), matches.order, matches.product(), sentence_hash(words, hashes), words))
    return Found.of(ranking.best, exact=False, nodes=0)
