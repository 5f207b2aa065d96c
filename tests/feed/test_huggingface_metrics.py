"""Scores against all references, while a Seq2SeqTrainer evaluates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_t5 import Encode, arguments, tiny_t5, word_tokenizer
from transformers import DataCollatorForSeq2Seq, EvalPrediction, Seq2SeqTrainer

from polyref import Example, InputError, PseudoReference, Reference, SettingsError
from polyref.feed import stream
from polyref.feed.huggingface import multi_reference_metrics
from polyref.feed.pytorch import PairDataset
from polyref.score import BleuSettings, cider, corpus_bleu, rouge_l

REFERENCES = [["a cat sat on the mat", "the cat sat down"], ["two dogs ran along the beach"]]
SAID = ["the cat sat on the mat", "two dogs ran on the beach"]
TOKENIZER = word_tokenizer([text for texts in REFERENCES for text in texts] + SAID)


def evaluated(texts: list[str], *, padding: int = -100) -> EvalPrediction:
    tokens = [[TOKENIZER.pad_token_id, *TOKENIZER(text)["input_ids"]] for text in texts]
    width = max(map(len, tokens)) + 2
    padded = np.array([row + [padding] * (width - len(row)) for row in tokens])
    return EvalPrediction(predictions=padded, label_ids=padded)


@pytest.mark.parametrize("padding", [-100, 0], ids=["ignored", "pad token"])
def test_the_score_is_that_of_the_texts(padding):
    found = multi_reference_metrics(REFERENCES, TOKENIZER)(evaluated(SAID, padding=padding))
    assert found == {"bleu": corpus_bleu(SAID, REFERENCES).score}
    assert 40 < found["bleu"] < 100


def test_every_reference_counts():
    said = ["the cat sat down", "two dogs ran along the beach"]
    assert multi_reference_metrics(REFERENCES, TOKENIZER)(evaluated(said))["bleu"] == pytest.approx(100)
    firsts = [texts[:1] for texts in REFERENCES]
    assert multi_reference_metrics(firsts, TOKENIZER)(evaluated(said))["bleu"] < 90


def test_of_an_example_the_gold_references_count():
    pseudo = (PseudoReference("the cat sat on the mat", 100.0),)
    examples = [Example("1", "s", tuple(map(Reference, REFERENCES[0])), pseudo), Example("2", "t", (Reference("x"),))]
    texts = [REFERENCES[0], ["x"]]
    given = evaluated(SAID)
    assert multi_reference_metrics(examples, TOKENIZER)(given) == multi_reference_metrics(texts, TOKENIZER)(given)


def test_settings_are_those_of_corpus_bleu():
    settings = BleuSettings("char")
    found = multi_reference_metrics(REFERENCES, TOKENIZER, {"bleu": settings})(evaluated(SAID))
    assert found["bleu"] == corpus_bleu(SAID, REFERENCES, settings).score


def test_any_of_the_metrics_is_computed():
    found = multi_reference_metrics(REFERENCES, TOKENIZER, ["rouge", "cider-d"])(evaluated(SAID))
    assert found == {"rouge-l": rouge_l(SAID, REFERENCES).score, "cider": cider(SAID, REFERENCES).score}
    with pytest.raises(SettingsError, match='unknown metric "blue"; did you mean "bleu"'):
        multi_reference_metrics(REFERENCES, TOKENIZER, ["blue"])


def test_tokens_that_come_with_something_else_are_found():
    plain = evaluated(SAID)
    both = EvalPrediction(predictions=(plain.predictions, np.zeros(3)), label_ids=plain.label_ids)
    compute = multi_reference_metrics(REFERENCES, TOKENIZER)
    assert compute(both) == compute(plain)


def test_another_number_of_predictions_is_refused():
    with pytest.raises(InputError, match="there are 1 predictions, but references for 2 examples; give"):
        multi_reference_metrics(REFERENCES, TOKENIZER)(evaluated(SAID[:1]))


def test_scores_in_the_place_of_tokens_are_refused():
    scores = EvalPrediction(predictions=np.zeros((2, 5, 9), np.float32), label_ids=np.zeros((2, 5)))
    with pytest.raises(SettingsError, match="scores, not tokens; set predict_with_generate=True"):
        multi_reference_metrics(REFERENCES, TOKENIZER)(scores)


def test_a_trainer_reports_it(tmp_path: Path):
    examples = [
        Example(f"{n}", "a beach", tuple(map(Reference, references))) for n, references in enumerate(REFERENCES)
    ]
    model = tiny_t5(TOKENIZER)
    trainer = Seq2SeqTrainer(
        model=model,
        args=arguments(tmp_path, predict_with_generate=True, generation_max_length=8, per_device_eval_batch_size=1),
        eval_dataset=PairDataset(stream(examples, "first"), Encode(TOKENIZER)),
        data_collator=DataCollatorForSeq2Seq(TOKENIZER, model=model),
        processing_class=TOKENIZER,
        compute_metrics=multi_reference_metrics(examples, TOKENIZER),
    )
    assert 0 <= trainer.evaluate()["eval_bleu"] <= 100
