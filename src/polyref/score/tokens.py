"""Cut texts into the tokens that scores compare.

In:   a text as a person reads it.
Out:  its tokens, with single spaces between them.
Not:  the words of a lattice (text/tokens.py), the rules of "ptb" (penn_treebank.py).

"13a", "intl", "zh", "char" and "none" are sacreBLEU's: mteval-v13a's rules, mteval-v14's, Chinese by the character,
every character, and spaces only. "ptb" is what captions are scored on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from polyref.score.settings import Tokenizer

Cut = Callable[[str], str]


def tokenizer(name: Tokenizer, *, fold_case: bool = False) -> Cut:
    """The function that cuts a text. "ptb" is in small letters whatever `fold_case` says."""
    if name == "ptb":
        from polyref.score.penn_treebank import penn_treebank

        return penn_treebank
    cut = _of_sacrebleu(name)
    return (lambda text: cut(text.lower().rstrip())) if fold_case else (lambda text: cut(text.rstrip()))


@lru_cache
def _of_sacrebleu(name: Tokenizer) -> Cut:
    from sacrebleu.metrics.bleu import BLEU

    cut: Cut = BLEU(tokenize=name).tokenizer
    return cut
