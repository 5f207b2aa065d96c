"""How texts are scored: what a person can choose.

In:   choices. Out: one frozen dataclass a metric. Not: cutting (tokens.py), scoring (one module a metric).
"""

from __future__ import annotations

from typing import Literal

from polyref.settings import setting, settings

Tokenizer = Literal["13a", "intl", "zh", "char", "none", "ptb"]
Smoothing = Literal["exp", "none"]


@settings
class BleuSettings:
    """Corpus BLEU-4 as sacreBLEU has it by default."""

    tokenizer: Tokenizer = setting("13a", "Tokens that are counted.")
    fold_case: bool = setting(False, "Score without case (ptb always does).")
    smoothing: Smoothing = setting("exp", "What becomes of an order without matches.")


@settings
class CaptionSettings:
    """CIDEr and ROUGE-L, on the tokens that captions are scored on; those are always in lower case."""

    tokenizer: Tokenizer = setting("ptb", "Tokens that are counted.")
    fold_case: bool = setting(False, "Score without case (ptb always does).")
