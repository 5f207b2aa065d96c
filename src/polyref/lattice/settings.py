"""How sentences are chosen: what a person can choose.

In:   choices. Out: those that make sense. Not: choosing (search.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from polyref.errors import SettingsError

NODE_BUDGET = 10_000_000


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How sentences are chosen.

    `min_bleu` None keeps every sentence that scores above 0; 0 keeps those that score 0 as well. `node_budget` is the
    number of search nodes after which the best sentences so far are taken. Where more than `tie_limit` sentences are
    tied at the cut, they are drawn one by one rather than listed. `unseen_marks` admits sentences in which two
    punctuation marks meet that meet in no reference (", ."), or that end with one that ends no reference (",").
    """

    seed: int = 0
    min_bleu: float | None = None
    node_budget: int = NODE_BUDGET
    tie_limit: int = 10_000
    unseen_marks: bool = False

    def __post_init__(self) -> None:
        if self.min_bleu is not None and not 0 <= self.min_bleu <= 100:
            raise SettingsError(f"min-bleu is {self.min_bleu}; give a number from 0 to 100")
        if not -(2**63) <= self.seed < 2**63:
            raise SettingsError(f"the seed is {self.seed}; give a number of at most 64 bits")
        for name, value in (("node-budget", self.node_budget), ("tie-limit", self.tie_limit)):
            if not 1 <= value < 2**62:
                raise SettingsError(f"{name} is {value}; give 1 or more")
