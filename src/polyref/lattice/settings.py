"""How sentences are chosen: what a person can choose.

In:   choices. Out: those that make sense. Not: choosing (search.py).
"""

from __future__ import annotations

from polyref.settings import setting, settings

NODE_BUDGET = 10_000_000


@settings
class SearchSettings:
    """How sentences are chosen."""

    seed: int = setting(0, "Decides between sentences with equal scores.", at_least=-(2**63), below=2**63, metavar="N")
    min_bleu: float | None = setting(
        None,
        "Keep sentences from this BLEU on; 0 also keeps those that score 0.",
        unset="all that score above 0",
        at_least=0,
        at_most=100,
        metavar="B",
    )
    node_budget: int = setting(
        NODE_BUDGET,
        "Search nodes per example before the best sentences so far are taken.",
        at_least=1,
        below=2**62,
        metavar="N",
    )
    tie_limit: int = setting(
        10_000,
        "Draw between sentences with equal scores, instead of listing them, where there are more.",
        at_least=1,
        below=2**62,
        metavar="N",
    )
    unseen_marks: bool = setting(
        False, 'Keep sentences with punctuation as in no reference: ", ." inside, or "," at the end.'
    )
