"""ROUGE-L against any number of references, as pycocoevalcap computes it.

In:   hypotheses, and the references of each.
Out:  the score of each hypothesis, 0 to 1, and their mean.
Not:  tokens (tokens.py); ROUGE's other members.

Precision and recall are the longest common subsequence as a share of the hypothesis and of the reference. The best
precision and the best recall count, though they may be against two references; recall weighs 1.2 squared.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyref.score.metric import CaptionSettings, MeanScore, Metric, Tokens, mean_score

BETA = 1.2


def rouge_l(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], settings: CaptionSettings | None = None
) -> MeanScore:
    """ROUGE-L of all hypotheses; references[k] are those of hypotheses[k]."""
    return mean_score(
        lambda texts, others: list(map(rouge_l_score, texts, others)), hypotheses, references, settings, beta=BETA
    )


ROUGE_L = Metric("ROUGE-L", "0 to 1", rouge_l, aliases=("rouge", "rouge_l"))


def rouge_l_score(hypothesis: Tokens, references: Sequence[Tokens]) -> float:
    """The score of one hypothesis."""
    # A text without tokens is one empty token there: two such texts are the same.
    words = hypothesis or [""]
    others = [reference or [""] for reference in references]
    shared = common_lengths(words, others)
    precision = max(shared) / len(words)
    recall = max(length / len(other) for length, other in zip(shared, others, strict=True))
    if not precision:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def common_lengths(words: Sequence[str], others: Sequence[Sequence[str]]) -> list[int]:
    """The length of the longest common subsequence with each of the others.

    A row of the dynamic programme is the bits of one whole number (Hyyrö 2004): bit k is 0 where the length grows by
    one at word k. Each word of the other text is then one addition, instead of a step for each pair of words.
    """
    places: dict[str, int] = {}
    for position, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << position
    every = (1 << len(words)) - 1
    found = []
    for other in others:
        row = every
        for word in other:
            matching = row & places.get(word, 0)
            row = (row + matching | row - matching) & every
        found.append(len(words) - row.bit_count())
    return found
