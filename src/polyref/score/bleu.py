"""Corpus BLEU against any number of references, as sacreBLEU counts and signs it.

In:   hypotheses, and the references of each.
Out:  the score, 0 to 100, its signature, and the counts of each hypothesis that it was summed from.
Not:  BLEU of one sentence without smoothing, which ranks pseudo-references (sentence_bleu.py).

The counts are kept apart from the score: those of any part of the hypotheses, or of a bootstrap sample with some of
them twice, are summed and scored by `bleu_of_counts` without looking at a text again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from polyref.score.metric import Metric, Scored, check_texts, references_per_example
from polyref.score.sentence_bleu import MAX_ORDER
from polyref.score.tokens import Tokenizer, tokenizer
from polyref.settings import setting, settings

if TYPE_CHECKING:
    from sacrebleu.metrics import bleu as sacrebleu

# One row per hypothesis: its length, the closest length of a reference, then matches and n-grams of orders 1 to 4.
Counts = npt.NDArray[np.int64]


@settings
class BleuSettings:
    """Corpus BLEU-4 as sacreBLEU has it by default."""

    tokenizer: Tokenizer = setting("13a", "Tokens that are counted.")
    fold_case: bool = setting(False, "Score without case (ptb always does).")
    smoothing: Literal["exp", "none"] = setting("exp", "What becomes of an order without matches.")


@dataclass(frozen=True, slots=True)
class CorpusBleu(Scored):
    """`score` is from 0 to 100, and is BLEU-4, the last of `orders`: BLEU-1 to BLEU-4, of n-grams up to that order. The
    precisions of orders 1 to 4 are smoothed where the score is.
    """

    orders: tuple[float, ...]
    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int
    counts: Counts = field(repr=False, compare=False)

    def details(self) -> dict[str, Any]:
        names = ("orders", "precisions", "brevity_penalty", "hypothesis_length", "reference_length")
        return {name: getattr(self, name) for name in names}


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], settings: BleuSettings | None = None
) -> CorpusBleu:
    """BLEU of all hypotheses together; references[k] are those of hypotheses[k]. An empty hypothesis has no words."""
    settings = settings or BleuSettings()
    check_texts(hypotheses, references)
    counts = _counts(hypotheses, references, settings)
    totals = counts.sum(axis=0)
    scored = _scored(totals, settings)
    signature = _signature(references_per_example(references), settings)
    orders = tuple([float(_scored(totals, settings, order).score) for order in range(1, MAX_ORDER + 1)])
    precisions, lengths = tuple(map(float, scored.precisions)), (int(scored.sys_len), int(scored.ref_len))
    return CorpusBleu(float(scored.score), signature, orders, precisions, float(scored.bp), *lengths, counts)


BLEU = Metric("BLEU", "0 to 100", corpus_bleu, settings=BleuSettings, digits=2)


def bleu_of_counts(totals: Counts, settings: BleuSettings | None = None) -> float:
    """The score of counts that have been summed: one row of ten."""
    return float(_scored(totals, settings or BleuSettings()).score)


def _counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]], settings: BleuSettings) -> Counts:
    # sacreBLEU scores one sentence against its references as they are here: nothing is transposed. What is taken are
    # its counts; no smoothing, because one of the methods adds to them.
    metric = _metric(settings, smooth_method="none", effective_order=True)
    cut = tokenizer("ptb") if settings.tokenizer == "ptb" else str
    counts = np.zeros((len(hypotheses), 2 + 2 * MAX_ORDER), np.int64)
    for row, hypothesis, texts in zip(counts, hypotheses, references, strict=True):
        found = metric.sentence_score(cut(hypothesis), [cut(text) for text in texts])
        row[:] = [found.sys_len, found.ref_len, *found.counts, *found.totals]
    return counts


def _scored(totals: Counts, settings: BleuSettings, order: int = MAX_ORDER) -> sacrebleu.BLEUScore:
    """The score of n-grams up to an order."""
    from sacrebleu.metrics import bleu as sacrebleu

    length, closest, *ngrams = totals.tolist()
    matches, counted = ngrams[:order], ngrams[MAX_ORDER : MAX_ORDER + order]
    return sacrebleu.BLEU.compute_bleu(
        matches, counted, length, closest, smooth_method=settings.smoothing, max_ngram_order=order
    )


def _metric(settings: BleuSettings, **more: Any) -> sacrebleu.BLEU:
    from sacrebleu.metrics import bleu as sacrebleu

    tokenize = "none" if settings.tokenizer == "ptb" else settings.tokenizer
    return sacrebleu.BLEU(lowercase=settings.fold_case, tokenize=tokenize, force=True, **more)


def _signature(references: int | None, settings: BleuSettings) -> str:
    metric = _metric(settings, smooth_method=settings.smoothing)
    metric.num_refs = references or -1
    signature = metric.get_signature()
    if settings.tokenizer == "ptb":
        signature.update("case", "lc")
        signature.update("tok", "ptb")
    return signature.format()
