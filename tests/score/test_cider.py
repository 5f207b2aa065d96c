"""CIDEr: what its formula says, by hand; agreement with pycocoevalcap is in agree/."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polyref.errors import InputError
from polyref.score import CaptionSettings, cider
from polyref.score.cider import SCALE, _sorted_places

HYPOTHESES = ["a cat sits on the mat", "two dogs run along the beach", "a man rides a red bicycle"]
REFERENCES = [
    ["a cat is sitting on the mat", "the cat sits on a mat"],
    ["dogs run along a beach", "two brown dogs run on the beach", "two dogs at the sea"],
    ["a man on a red bicycle"],
]


def cider_scores(hypotheses: list[str], references: list[list[str]]) -> np.ndarray:
    return cider(hypotheses, references, CaptionSettings("none")).scores


def test_a_hypothesis_that_is_its_only_reference_scores_ten():
    texts = ["a b c d e", "f g h i j"]
    assert cider_scores(texts, [[text] for text in texts]) == pytest.approx([SCALE, SCALE])


def test_a_pair_of_words_by_hand():
    # Two examples: "a" is in both and weighs nothing, "b" weighs log 2. Of orders 1 and 2, each cosine is 1 or 0.
    scores = cider_scores(["a b", "a c"], [["a b"], ["a d"]])
    assert scores == pytest.approx([SCALE * 2 / 4, 0])


def test_counts_above_the_reference_are_clipped():
    # Order 1: the hypothesis says b three times, its reference twice, and nothing else has weight in either.
    scores = cider_scores(["b b b", "z"], [["b b"], ["z"]])
    one = min(3, 2) * 2 / (3 * 2)
    two = min(2, 1) * 1 / (2 * 1)
    assert scores[0] == pytest.approx(SCALE * math.exp(-1 / 72) * (one + two) / 4)


def test_a_length_that_is_off_is_punished():
    # Six words more than the reference. They are words of all examples, so that they weigh nothing by themselves.
    scores = cider_scores(["q w e r x x x x x x", "x"], [["q w e r", "x x x x x x"], ["x x x x x x"]])
    one = 1.0  # q, w, e and r are all that has weight, in both
    assert scores[0] > 0
    without = cider_scores(["q w e r", "x"], [["q w e r", "x x x x x x"], ["x x x x x x"]])
    assert without[0] == pytest.approx(SCALE / 2)
    # Of orders 2 to 4 the hypothesis has one, two and three n-grams more, those across the seam.
    cosines = [one, 3 / math.sqrt(3 * 4), 2 / math.sqrt(2 * 4), 1 / math.sqrt(1 * 4)]
    assert scores[0] == pytest.approx(SCALE / 2 * math.exp(-36 / 72) * sum(cosines) / 4)


def test_the_mean_is_over_references():
    both = cider_scores(["a b c d", "z"], [["a b c d", "e f g h"], ["z"]])
    assert both[0] == pytest.approx(SCALE / 2)


def test_the_score_of_one_example_alone_is_zero():
    assert cider(["a cat"], [["a cat"]]).score == 0


def test_an_empty_hypothesis_scores_zero_and_others_as_before():
    scores = cider(["", *HYPOTHESES[1:]], REFERENCES).scores
    assert scores[0] == 0
    assert scores[1:] == pytest.approx(cider(HYPOTHESES, REFERENCES).scores[1:])


def test_texts_without_any_token_score_zero():
    assert cider(["!", "?"], [["."], [";"]]).score == 0


def test_the_score_is_the_mean_of_the_scores():
    found = cider(HYPOTHESES, REFERENCES)
    assert found.score == pytest.approx(found.scores.mean())
    assert found.scores.shape == (3,)
    assert found.score > 0


def test_weights_come_from_all_examples():
    alone = cider(HYPOTHESES[:2], REFERENCES[:2]).scores
    assert not np.allclose(alone, cider(HYPOTHESES, REFERENCES).scores[:2])


def test_the_signature_tells_what_the_score_depends_on():
    assert cider(HYPOTHESES, REFERENCES).signature.startswith("nrefs:var|case:lc|tok:ptb|n:4|sigma:6|version:polyref-")
    plain = cider(HYPOTHESES, [texts[:1] for texts in REFERENCES], CaptionSettings("13a"))
    assert plain.signature.startswith("nrefs:1|case:mixed|tok:13a|")
    assert "|case:lc|" in cider(HYPOTHESES, REFERENCES, CaptionSettings("13a", fold_case=True)).signature


def test_tokens_and_case_are_those_of_the_settings():
    capitals = [text.upper() for text in HYPOTHESES]
    assert cider(capitals, REFERENCES).score == pytest.approx(cider(HYPOTHESES, REFERENCES).score)
    assert cider(capitals, REFERENCES, CaptionSettings("none")).score == 0
    folded = cider(capitals, REFERENCES, CaptionSettings("none", fold_case=True))
    assert folded.score == pytest.approx(cider(HYPOTHESES, REFERENCES).score)


def test_references_the_other_way_round_are_noticed():
    with pytest.raises(InputError, match="the other way round: 1 lists of 3"):
        cider(HYPOTHESES, [["a", "b", "c"]])


@pytest.mark.parametrize("large", [0, 1 << 61], ids=["packed into one number", "too large for that"])
def test_equal_keys_stay_in_order(large):
    keys = np.array([5, 3, 5, 3, 3, 9, 5]) + large
    assert _sorted_places(keys).tolist() == [1, 3, 4, 0, 2, 6, 5]
