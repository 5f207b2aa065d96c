"""How good a sentence is against its references, and how good a system's hypotheses are.

In:   hypotheses, and the references of each.
Out:  each metric's result, with its score and its signature.
Not:  files (data/hypotheses.py).

A new metric is a module of its own that makes a `Metric`, its import here and its line in METRICS: docs/scores.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any

from polyref.data.formats.jsonl import is_blank
from polyref.errors import InputError, SettingsError
from polyref.score.bleu import BLEU, BleuSettings, CorpusBleu, bleu_of_counts, corpus_bleu
from polyref.score.cider import CIDER, cider
from polyref.score.metric import CaptionSettings, Metric, Scored, check_texts, transposed
from polyref.score.rouge import ROUGE_L, rouge_l
from polyref.score.sentence_bleu import MAX_ORDER, BleuScale, Matches, NgramTrie, sentence_bleu
from polyref.score.tokens import Tokenizer

__all__ = ["METRICS", "USUAL", "Metric", "Scored", "Tokenizer", "evaluate", "metrics_of", "transposed"]
__all__ += ["BleuSettings", "CaptionSettings", "CorpusBleu", "bleu_of_counts", "cider", "corpus_bleu", "rouge_l"]
__all__ += ["MAX_ORDER", "BleuScale", "Matches", "NgramTrie", "sentence_bleu"]

METRICS: dict[str, Metric] = {"bleu": BLEU, "cider": CIDER, "rouge-l": ROUGE_L}
USUAL = ("bleu", "cider", "rouge-l")  # where none are named


def metrics_of(names: Collection[str], *others: str) -> tuple[str, ...]:
    """The names of these metrics, without aliases; each once, in the order that they were given.

    `others` are known too: what somebody else computes.
    """
    aliases = {alias: name for name, metric in METRICS.items() for alias in metric.aliases}
    known = [*METRICS, *others]
    found = [aliases.get(name.lower(), name.lower()) for name in ([names] if isinstance(names, str) else names)]
    if not found:
        raise SettingsError(f"no metric is named; choose from {', '.join(known)}")
    for name in found:
        if name not in known:
            near = get_close_matches(name, known, 1, 0.5)
            meant = f'did you mean "{near[0]}"? ' if near else ""
            raise SettingsError(f'unknown metric "{name}"', f"{meant}choose from {', '.join(known)}")
    return tuple(dict.fromkeys(found))


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    metrics: Collection[str] = USUAL,
    tokenizer: Tokenizer | None = None,
    fold_case: bool = False,
    allow_empty: bool = False,
) -> dict[str, Scored]:
    """The scores of hypotheses by each metric; references[k] are those of hypotheses[k].

    `tokenizer` None: each metric's own, 13a for BLEU and ptb for CIDEr and ROUGE-L. An empty hypothesis is refused,
    because it mostly is a fault of whatever wrote it, unless `allow_empty` has it scored as no words.
    """
    check_texts(hypotheses, references)
    texts = list(hypotheses)
    for position, text in enumerate(texts):
        if is_blank(text):
            if not allow_empty:
                cure = "give a text, or allow_empty=True to score it as no words"
                raise InputError(f"hypothesis {position} is empty", cure)
            texts[position] = ""
    given: dict[str, Any] = {"fold_case": fold_case} | ({"tokenizer": tokenizer} if tokenizer is not None else {})
    chosen = {name: METRICS[name] for name in metrics_of(metrics)}
    return {name: metric.score(texts, references, metric.settings(**given)) for name, metric in chosen.items()}
