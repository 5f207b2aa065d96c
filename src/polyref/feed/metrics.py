"""BLEU against all references, for `Seq2SeqTrainer(compute_metrics=...)`.

In:   the references of the evaluation set; what the trainer hands over: generated tokens, padded with -100.
Out:  {"bleu": ...}, from 0 to 100, which the trainer logs as "eval_bleu".
Not:  BLEU itself (score/corpus_bleu.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polyref.errors import InputError, SettingsError
from polyref.example import Example
from polyref.score import BleuSettings, corpus_bleu

_IGNORED = -100  # what trainers pad with, and no token


def multi_reference_bleu(
    references: Sequence[Sequence[str] | Example], tokenizer: Any, settings: BleuSettings | None = None
) -> Callable[[Any], dict[str, float]]:
    """A function for `compute_metrics`, to be used with `predict_with_generate=True`.

    `references` has an item for each row of the evaluation set, in its order: texts, or an example, whose gold
    references count.
    """
    texts = [_texts(item) for item in references]
    padding = _padding(tokenizer)

    def compute(evaluated: Any) -> dict[str, float]:
        tokens = _tokens(evaluated)
        if len(tokens) != len(texts):
            problem = f"there are {len(tokens):,} predictions, but references for {len(texts):,} examples"
            raise InputError(problem, "give the references of the set that is evaluated, one item a row")
        whole = np.where(tokens == _IGNORED, padding, tokens)
        said = tokenizer.batch_decode(whole, skip_special_tokens=True)
        return {"bleu": corpus_bleu([text.strip() for text in said], texts, settings).score}

    return compute


def _texts(item: Sequence[str] | Example) -> Sequence[str]:
    return [reference.text for reference in item.references] if isinstance(item, Example) else item


def _padding(tokenizer: Any) -> int:
    for token in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    raise SettingsError("the tokenizer has neither a pad token nor an end token; give it one")


def _tokens(evaluated: Any) -> np.ndarray[Any, Any]:
    predictions = evaluated.predictions
    # Some models give more than the tokens; those come first.
    tokens = np.asarray(predictions[0] if isinstance(predictions, tuple) else predictions)
    if tokens.ndim != 2 or not np.issubdtype(tokens.dtype, np.integer):
        raise SettingsError("the predictions are scores, not tokens; set predict_with_generate=True")
    return tokens
