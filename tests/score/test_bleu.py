"""Corpus BLEU: sacreBLEU's score and signature, from references that stand with their example."""

from __future__ import annotations

import random

import pytest
import sacrebleu

from polyref.errors import InputError, SettingsError
from polyref.score import BleuSettings, bleu_of_counts, corpus_bleu, transposed

HYPOTHESES = ["The cat sat on the mat.", "Two dogs ran, quickly, along a beach!", "It costs £20."]
REFERENCES = [
    ["The cat sat on a mat.", "A cat was sitting on the mat."],
    ["Two dogs run along the beach.", "Two dogs ran quickly along a sandy beach."],
    ["It costs £20.", "The price is 20 pounds."],
]
RAGGED = [REFERENCES[0], REFERENCES[1][:1], [*REFERENCES[2], "Twenty pounds."]]


def of_sacrebleu(hypotheses, references, **options) -> tuple[float, str]:
    """The same by sacreBLEU's own corpus_score, which wants K lists of N, with None where there are fewer."""
    most = max(map(len, references))
    streams = [[texts[k] if k < len(texts) else None for texts in references] for k in range(most)]
    metric = sacrebleu.BLEU(**options)
    return metric.corpus_score(hypotheses, streams).score, str(metric.get_signature())


@pytest.mark.parametrize("references", [REFERENCES, RAGGED], ids=["two references each", "one to three"])
@pytest.mark.parametrize("tokenizer", ["13a", "intl", "zh", "char", "none"])
@pytest.mark.parametrize("fold_case", [False, True])
def test_score_and_signature_are_those_of_sacrebleu(references, tokenizer, fold_case):
    found = corpus_bleu(HYPOTHESES, references, BleuSettings(tokenizer, fold_case=fold_case))
    score, signature = of_sacrebleu(HYPOTHESES, references, tokenize=tokenizer, lowercase=fold_case)
    assert found.score == pytest.approx(score, abs=1e-10)
    assert found.signature == signature
    assert score > 0


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", ["exp", "none"])
def test_bleu_of_lower_orders_is_that_of_sacrebleu(order, smoothing):
    found = corpus_bleu(HYPOTHESES, RAGGED, BleuSettings(smoothing=smoothing))
    score, _ = of_sacrebleu(HYPOTHESES, RAGGED, smooth_method=smoothing, max_ngram_order=order)
    assert found.orders[order - 1] == pytest.approx(score, abs=1e-10)
    assert len(set(found.orders)) == 4
    assert found.orders[3] == found.score


@pytest.mark.parametrize("smoothing", ["exp", "none"])
def test_random_sentences_score_as_with_sacrebleu(smoothing):
    scores = []
    for seed in range(60):
        generator = random.Random(seed)
        text = lambda g=generator: " ".join(g.choices("ab", k=g.randint(1, 9)))  # noqa: E731
        hypotheses = [text() for _ in range(generator.randint(1, 5))]
        references = [[text() for _ in range(generator.randint(1, 4))] for _ in hypotheses]
        found = corpus_bleu(hypotheses, references, BleuSettings("none", smoothing=smoothing))
        score, signature = of_sacrebleu(hypotheses, references, tokenize="none", smooth_method=smoothing, force=True)
        assert found.score == pytest.approx(score, abs=1e-10)
        assert found.signature == signature
        scores.append(score)
    assert len(set(scores)) > 30


def test_the_counts_of_a_part_are_the_score_of_that_part():
    whole = corpus_bleu(HYPOTHESES, RAGGED)
    part = corpus_bleu(HYPOTHESES[:2], RAGGED[:2])
    assert whole.score != part.score
    assert bleu_of_counts(whole.counts[:2].sum(axis=0)) == pytest.approx(part.score, abs=1e-12)
    assert bleu_of_counts(whole.counts.sum(axis=0)) == pytest.approx(whole.score, abs=1e-12)


def test_a_hypothesis_twice_counts_twice():
    counts = corpus_bleu(HYPOTHESES, RAGGED).counts
    twice = corpus_bleu([*HYPOTHESES, HYPOTHESES[0]], [*RAGGED, RAGGED[0]]).score
    assert bleu_of_counts(counts[[0, 1, 2, 0]].sum(axis=0)) == pytest.approx(twice, abs=1e-12)


def test_ptb_tokens_have_a_signature_of_their_own():
    found = corpus_bleu(["THE CAT , SAT on the Mat !"], [["the cat sat on the mat."]], BleuSettings("ptb"))
    assert found.score == pytest.approx(100)
    assert "|case:lc|" in found.signature
    assert "|tok:ptb|" in found.signature


def test_an_empty_hypothesis_has_no_words():
    found = corpus_bleu([*HYPOTHESES, ""], [*REFERENCES, ["a cat"]])
    assert found.counts[-1].tolist() == [0, 2] + [0] * 8
    assert found.hypothesis_length == corpus_bleu(HYPOTHESES, REFERENCES).hypothesis_length
    assert corpus_bleu([""], [["a cat"]]).score == 0


def test_references_the_other_way_round_are_noticed():
    streams = [[texts[k] for texts in REFERENCES] for k in range(2)]
    with pytest.raises(InputError, match=r"the other way round: 2 lists of 3, for 3 hypotheses; .*transposed"):
        corpus_bleu(HYPOTHESES, streams)
    assert corpus_bleu(HYPOTHESES, transposed(streams)) == corpus_bleu(HYPOTHESES, REFERENCES)


def test_transposing_leaves_out_what_is_not_there():
    assert transposed([["a", "b", "c"], [None, "d", " "]]) == [["a"], ["b", "d"], ["c"]]
    with pytest.raises(InputError, match=r"different lengths \(3, 2\)"):
        transposed([["a", "b", "c"], ["d", "e"]])


@pytest.mark.parametrize(
    ("hypotheses", "references", "says"),
    [
        ([], [], "there are no hypotheses; give at least one"),
        ("a cat", [["a cat"]], "a single text is given where a list belongs"),
        (["a cat"], "a cat", "a single text is given where a list belongs"),
        (["a cat"], ["a cat"], "the references of an example are a text, not a list"),
        (["a", "b"], [["a"]], "there are 2 hypotheses, but references for 1"),
        (["a", "b"], [["a", "b", "c"]], "there are 2 hypotheses, but references for 1"),
        (["a", "b"], [["a"], []], "hypothesis 1 has no reference"),
        (["a", "b"], [["a"], ["b", " "]], "reference 1 of hypothesis 1 is blank; leave it out"),
        (["a", None], [["a"], ["b"]], r"hypothesis 1 is not a string \(NoneType\)"),
        (["a", "b"], [["a"], ["b", 7]], r"reference 1 of hypothesis 1 is not a string \(int\)"),
    ],
)
def test_what_cannot_be_scored_is_refused(hypotheses, references, says):
    with pytest.raises(InputError, match=says):
        corpus_bleu(hypotheses, references)


def test_unknown_choices_are_refused():
    with pytest.raises(SettingsError, match='tokenizer is "14a"; did you mean 13a'):
        BleuSettings("14a")
    with pytest.raises(SettingsError, match='smoothing is "add"; choose one of exp, none'):
        BleuSettings(smoothing="add")
