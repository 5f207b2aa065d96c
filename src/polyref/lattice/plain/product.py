"""The automaton walked together with the references' n-grams, and how many matches may still come.

In:   an automaton of sentences, and the trie of reference n-grams.
Out:  an automaton whose every arc knows the longest n-gram that ends with it; and for each of its states and each
      number of words still to come, an upper bound of the matches of each order.
Not:  the search that uses the bounds (search.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from polyref.lattice.plain.automaton import Automaton
from polyref.score import MAX_ORDER, NgramTrie
from polyref.score.sentence_bleu import ROOT

Bound = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Product:
    """Arcs of state s are arcs first[s] to first[s + 1], in the order of the automaton's arcs."""

    first: list[int]
    target: list[int]
    node: list[int]  # of the trie: the longest n-gram that ends with the arc
    arc: list[int]  # of the automaton
    final: list[bool]

    @property
    def states(self) -> int:
        return len(self.final)


def multiply(automaton: Automaton, trie: NgramTrie, marks: Sequence[bool], ends: Collection[int]) -> Product:
    """Pair each state with the contexts in which it can be reached.

    `marks` says which words are punctuation, `ends` are the words that references end with. Two marks do not meet that
    meet in no reference, and none is the end that ends no reference: neither ", ." nor "," ends a sentence.
    """
    numbers: list[dict[int, int]] = [{} for _ in range(automaton.states)]  # context -> place within the state
    numbers[0][ROOT] = 0
    rows: list[tuple[int, int, int, int]] = []  # target state, target context, node, arc
    first = [0]
    final: list[bool] = []
    base: list[int] = []
    for state in range(automaton.states):
        base.append(len(final))
        for context in numbers[state]:
            for arc in range(automaton.first[state], automaton.first[state + 1]):
                node = trie.step(context, automaton.word[arc])
                if trie.depth[node] == 1 and context != ROOT and marks[trie.word[node]] and marks[trie.word[context]]:
                    continue
                target, after = automaton.target[arc], trie.context(node)
                numbers[target].setdefault(after, len(numbers[target]))
                rows.append((target, after, node, arc))
            first.append(len(rows))
            last = trie.word[context]
            final.append(bool(automaton.final[state]) and (context == ROOT or not marks[last] or last in ends))
    return Product(
        first,
        target=[base[target] + numbers[target][after] for target, after, _, _ in rows],
        node=[node for _, _, node, _ in rows],
        arc=[arc for _, _, _, arc in rows],
        final=final,
    )


def longest_suffixes(product: Product) -> list[int]:
    """For each state, the most words that can follow."""
    longest = [0] * product.states
    for state in range(product.states - 1, -1, -1):
        for arc in range(product.first[state], product.first[state + 1]):
            longest[state] = max(longest[state], longest[product.target[arc]] + 1)
    return longest


def suffix_bounds(product: Product, trie: NgramTrie) -> list[list[Bound | None]]:
    """bounds[s][l]: the most matches of each order that l words from s to an end can bring, without clipping.

    Each order for itself, so the four need not come from one path. None where no l words lead to an end.
    """
    longest = longest_suffixes(product)
    bounds: list[list[Bound | None]] = [[None] * (longest[state] + 1) for state in range(product.states)]
    for state in range(product.states - 1, -1, -1):
        here = bounds[state]
        if product.final[state]:
            here[0] = (0, 0, 0, 0)
        for arc in range(product.first[state], product.first[state + 1]):
            depth = trie.depth[product.node[arc]]
            gain = [1 if order <= depth else 0 for order in range(1, MAX_ORDER + 1)]
            for remaining, bound in enumerate(bounds[product.target[arc]], 1):
                if bound is None:
                    continue
                old = here[remaining] or (0, 0, 0, 0)
                here[remaining] = (
                    max(old[0], bound[0] + gain[0]),
                    max(old[1], bound[1] + gain[1]),
                    max(old[2], bound[2] + gain[2]),
                    max(old[3], bound[3] + gain[3]),
                )
    return bounds
