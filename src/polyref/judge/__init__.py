"""Judge the sentences of a lattice: do they say what the references say, and read as people write?"""

from polyref.judge.content import Judge, JudgeSettings, explain, kept_rules, restored_rules, rules_of
from polyref.judge.usage import EXAMPLES_READ, Usage

__all__ = [
    "EXAMPLES_READ",
    "Judge",
    "JudgeSettings",
    "Usage",
    "explain",
    "kept_rules",
    "restored_rules",
    "rules_of",
]
