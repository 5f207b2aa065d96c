"""All scores at once: each metric with its own tokens, or all with the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polyref
from polyref.data.formats.jsonl import is_blank
from polyref.errors import InputError, SettingsError
from polyref.score import (
    METRICS,
    BleuSettings,
    CaptionSettings,
    cider,
    corpus_bleu,
    evaluate,
    rouge_l,
)

HYPOTHESES = ["A cat sits on the mat.", "Two dogs run along the beach."]
REFERENCES = [["a cat is sitting on the mat", "The cat sits on a mat."], ["Two dogs run on the beach."]]


def test_each_metric_has_its_own_tokens():
    assert evaluate(HYPOTHESES, REFERENCES) == {
        "bleu": corpus_bleu(HYPOTHESES, REFERENCES),
        "cider": cider(HYPOTHESES, REFERENCES),
        "rouge-l": rouge_l(HYPOTHESES, REFERENCES),
    }
    tokens = [
        scored.signature.partition("tok:")[2].partition("|")[0] for scored in evaluate(HYPOTHESES, REFERENCES).values()
    ]
    assert tokens == ["13a", "ptb", "ptb"]


def test_a_tokenizer_and_case_that_are_given_count_for_all():
    captions = CaptionSettings("intl", fold_case=True)
    assert evaluate(HYPOTHESES, REFERENCES, tokenizer="intl", fold_case=True) == {
        "bleu": corpus_bleu(HYPOTHESES, REFERENCES, BleuSettings("intl", fold_case=True)),
        "cider": cider(HYPOTHESES, REFERENCES, captions),
        "rouge-l": rouge_l(HYPOTHESES, REFERENCES, captions),
    }


def test_metrics_come_in_the_order_of_their_names_and_once():
    assert list(evaluate(HYPOTHESES, REFERENCES, metrics=["rouge-l", "CIDEr-D", "cider"])) == ["rouge-l", "cider"]
    assert list(evaluate(HYPOTHESES, REFERENCES, metrics="bleu")) == ["bleu"]


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        (["meteor"], 'unknown metric "meteor"; choose from bleu, '),
        (["blue"], 'unknown metric "blue"; did you mean "bleu"'),
        ([], "no metric"),
    ],
)
def test_unknown_metrics_are_refused(metrics, says):
    with pytest.raises(SettingsError, match=says):
        evaluate(HYPOTHESES, REFERENCES, metrics=metrics)


def test_an_empty_hypothesis_is_refused_unless_it_is_allowed():
    with pytest.raises(InputError, match="hypothesis 1 is empty; give a text, or allow_empty=True"):
        evaluate(["a cat", " "], REFERENCES)
    assert evaluate(["a cat", " "], REFERENCES, allow_empty=True)["rouge-l"].scores[1] == 0


def test_a_single_text_is_no_list_of_hypotheses():
    with pytest.raises(InputError, match="a single text is given where a list belongs"):
        evaluate("a cat", [["a cat"]])


def test_the_metric_of_the_documentation_needs_nothing_but_a_place_in_the_dict(monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "scores.md").read_text("utf-8")
    module: dict[str, Any] = {}
    exec(page.partition("## Adding a metric")[2].partition("```python\n")[2].partition("```")[0], module)
    monkeypatch.setitem(METRICS, "length-ratio", module["LENGTH_RATIO"])
    found = evaluate(HYPOTHESES, REFERENCES, metrics=["ratio", "bleu"], tokenizer="none")
    assert list(found) == ["length-ratio", "bleu"]
    assert found["length-ratio"].scores.tolist() == [6 / 6.5, 1.0]
    found = evaluate(["A cat", *HYPOTHESES[1:]], REFERENCES, metrics=["ratio"])
    assert found["length-ratio"].score == pytest.approx((2 / 6.5 + 1) / 2)
    assert found["length-ratio"].signature.startswith("nrefs:var|case:lc|tok:ptb|version:polyref-")


@pytest.mark.parametrize("text", ["", " \t\n", "\u00a0\u3000", "\u200b", "\ufeff \u2060\u00ad", "\x00"])
def test_a_text_of_which_nothing_can_be_seen_is_empty(text):
    assert is_blank(text)
    assert not is_blank(text + "." + text)
    with pytest.raises(InputError, match="hypothesis 1 is empty"):
        evaluate(["a cat", text], REFERENCES)
    assert evaluate(["a cat", text], REFERENCES, allow_empty=True)["bleu"].hypothesis_length == 2


def test_evaluate_is_at_the_front():
    assert polyref.evaluate is evaluate
