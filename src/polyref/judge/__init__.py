"""Judge the sentences of a lattice: do they say what the references say, and read as people write?

A module imports only from those before it in this order:

    usage      what a file tells about its words
    content    the rules of an example, which the search applies
    seams      how well a sentence holds together, by a language model
    choice     the best sentences that pass, or that the rules leave out
    together   the best sentences of many examples at once
"""

from polyref.judge.choice import (
    CAUSES_IN_WORDS,
    LOOKED_AT,
    Chosen,
    LanguageModel,
    LeftOut,
    Reader,
    choose,
    choose_read,
    judged,
    left_out,
    written,
)
from polyref.judge.content import Judge, JudgeSettings, explain, kept_rules, restored_rules, rules_of
from polyref.judge.seams import LIMIT
from polyref.judge.together import OfOne, Together
from polyref.judge.usage import EXAMPLES_READ, Usage

__all__ = [
    "CAUSES_IN_WORDS",
    "EXAMPLES_READ",
    "LIMIT",
    "LOOKED_AT",
    "Chosen",
    "Judge",
    "JudgeSettings",
    "LanguageModel",
    "LeftOut",
    "OfOne",
    "Reader",
    "Together",
    "Usage",
    "choose",
    "choose_read",
    "explain",
    "judged",
    "kept_rules",
    "left_out",
    "restored_rules",
    "rules_of",
    "written",
]
