"""CIDEr, ROUGE-L and their tokens against pycocoevalcap, from which published scores come."""

from __future__ import annotations

import random
import shutil

import pytest
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge, my_lcs
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from polyref import sample_examples
from polyref.score import CaptionSettings, cider, rouge_l
from polyref.score.rouge import common_lengths
from polyref.score.tokens import penn_treebank

CORPORA = 120
CLOSE = 1e-9  # the requirement is 1e-6
BY_SPACES = CaptionSettings("none")


def random_corpus(seed: int) -> tuple[list[str], list[list[str]]]:
    """Hypotheses and references over few words or many, so that n-grams repeat, or hardly do."""
    generator = random.Random(seed)
    alphabet = [chr(ord("a") + k) for k in range(generator.choice([2, 5, 20]))]

    def text(words: list[str]) -> str:
        return " ".join(generator.choices(words, k=generator.randint(1, generator.choice([3, 12, 30]))))

    hypotheses = [text([*alphabet, "unheard"]) for _ in range(generator.randint(2, 12))]
    references = [[text(alphabet) for _ in range(generator.randint(1, 6))] for _ in hypotheses]
    if generator.random() < 0.5:
        references[0][0] = hypotheses[0]
    return hypotheses, references


def theirs(metric: Cider | Rouge, hypotheses: list[str], references: list[list[str]]) -> tuple[float, list[float]]:
    score, scores = metric.compute_score(dict(enumerate(references)), {n: [h] for n, h in enumerate(hypotheses)})
    return float(score), scores.tolist()


def test_cider_of_random_corpora() -> None:
    seen = set()
    for seed in range(CORPORA):
        hypotheses, references = random_corpus(seed)
        found = cider(hypotheses, references, BY_SPACES)
        score, scores = theirs(Cider(), hypotheses, references)
        assert found.score == pytest.approx(score, abs=CLOSE)
        assert found.scores.tolist() == pytest.approx(scores, abs=CLOSE)
        seen |= {round(one, 6) for one in scores}
    assert len(seen) > 3 * CORPORA
    assert max(seen) > 5


def test_rouge_l_of_random_corpora() -> None:
    seen = set()
    for seed in range(CORPORA):
        hypotheses, references = random_corpus(seed)
        found = rouge_l(hypotheses, references, BY_SPACES)
        score, scores = theirs(Rouge(), hypotheses, references)
        assert found.score == pytest.approx(score, abs=CLOSE)
        assert found.scores.tolist() == pytest.approx(scores, abs=CLOSE)
        seen |= {round(one, 6) for one in scores}
    assert len(seen) > CORPORA


@pytest.mark.parametrize("hypothesis", ["", "a", "a b", "zebra"])
def test_scores_of_what_is_short_or_empty(hypothesis: str) -> None:
    hypotheses, references = [hypothesis, "a b c d e"], [["a", "a b c"], ["b c d e", "a b c d e f"]]
    for ours, metric in ((cider, Cider()), (rouge_l, Rouge())):
        found = ours(hypotheses, references, BY_SPACES)
        assert found.scores.tolist() == pytest.approx(theirs(metric, hypotheses, references)[1], abs=CLOSE)


def test_common_subsequences_are_as_long() -> None:
    for seed in range(300):
        generator = random.Random(seed)
        one, other = ("".join(generator.choices("abc", k=generator.randint(1, 80))) for _ in range(2))
        assert common_lengths(one, [other]) == [my_lcs(one, other)]


@pytest.mark.skipif(shutil.which("java") is None, reason="their tokenizer is a Java program")
def test_tokens_of_the_sample_are_the_same() -> None:
    every = {reference.text for example in sample_examples() for reference in example.references}
    texts = sorted(text for text in every if text.isascii())  # the rules are for English
    numbered = dict(enumerate(texts))
    cut = PTBTokenizer().tokenize({number: [{"caption": text}] for number, text in numbered.items()})
    differing = [text for number, text in numbered.items() if cut[number] != [penn_treebank(text)]]
    assert len(texts) > 100
    assert not differing
