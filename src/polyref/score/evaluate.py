"""All the scores of a system's hypotheses at once.

In:   hypotheses, and the references of each.
Out:  each metric's result, with its score and its signature.
Not:  the metrics themselves (one module each), files (pairing.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from polyref.errors import InputError
from polyref.score.cider import Cider, cider
from polyref.score.corpus_bleu import CorpusBleu, corpus_bleu
from polyref.score.empty import is_empty
from polyref.score.rouge import RougeL, rouge_l
from polyref.score.settings import METRICS, BleuSettings, CaptionSettings, Metric, Tokenizer, metrics_of

Scored = CorpusBleu | Cider | RougeL


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    metrics: Collection[str] = METRICS,
    tokenizer: Tokenizer | None = None,
    fold_case: bool = False,
    allow_empty: bool = False,
) -> dict[Metric, Scored]:
    """The scores of hypotheses; references[k] are those of hypotheses[k].

    `tokenizer` None: each metric's own, 13a for BLEU and ptb for CIDEr and ROUGE-L. An empty hypothesis is refused,
    because it mostly is a fault of whatever wrote it, unless `allow_empty` has it scored as no words.
    """
    if allow_empty:
        hypotheses = ["" if isinstance(text, str) and is_empty(text) else text for text in hypotheses]
    else:
        _check_not_empty(hypotheses)
    given: dict[str, Any] = {"fold_case": fold_case} | ({"tokenizer": tokenizer} if tokenizer is not None else {})
    found: dict[Metric, Scored] = {}
    for metric in metrics_of(metrics):
        if metric == "bleu":
            found[metric] = corpus_bleu(hypotheses, references, BleuSettings(**given))
        elif metric == "cider":
            found[metric] = cider(hypotheses, references, CaptionSettings(**given))
        else:
            found[metric] = rouge_l(hypotheses, references, CaptionSettings(**given))
    return found


def _check_not_empty(hypotheses: Sequence[str]) -> None:
    for position, text in enumerate(hypotheses):
        if isinstance(text, str) and is_empty(text):
            raise InputError(f"hypothesis {position} is empty", "give a text, or allow_empty=True to score it as none")
