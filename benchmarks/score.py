"""CIDEr and ROUGE-L of a whole set: polyref against pycocoevalcap.

In:   captions, the first reference of each as its hypothesis. Out: time for the set. Not: tokens, which both are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from benchmarks.clock import one_core, seconds_in_turn, timed
from benchmarks.data import Data
from benchmarks.table import Table, against, shown_ratio, shown_time
from polyref.score import CaptionSettings, cider, rouge_l
from polyref.score.tokens import penn_treebank

BY_SPACES = CaptionSettings("none")
CIDER_TARGET = 10
CLOSE = 1e-6
ROUNDS = 5


def measure(data: Data, quick: bool) -> Table:
    hypotheses, references = _captions(data, 500 if quick else 5000)
    texts, truth = {n: [text] for n, text in enumerate(hypotheses)}, dict(enumerate(references))
    ours: dict[str, Callable[[], object]] = {
        "CIDEr": lambda: cider(hypotheses, references, BY_SPACES),
        "ROUGE-L": lambda: rouge_l(hypotheses, references, BY_SPACES),
    }
    theirs: dict[str, Callable[[], object]] = {
        "CIDEr": lambda: Cider().compute_score(truth, texts),
        "ROUGE-L": lambda: Rouge().compute_score(truth, texts),
    }
    ways = {(who, name): work for who, both in (("ours", ours), ("theirs", theirs)) for name, work in both.items()}
    agreement = _agreement(hypotheses, references)  # first: what is imported late is there when the clock runs
    with one_core():
        seconds = seconds_in_turn(ways, 1 if quick else ROUNDS)
    rows = []
    for name, target in (("CIDEr", CIDER_TARGET), ("ROUGE-L", None)):
        taken, peer = seconds["ours", name], seconds["theirs", name]
        ratio = peer / taken
        rows.append([name, shown_time(taken), shown_time(peer), shown_ratio(ratio), *against(ratio, target)])
    remarks = [
        f"{len(hypotheses):,} examples of {data.captions_name} with {sum(map(len, references)):,} references; the "
        "first reference of each is the hypothesis, the others its references. Both start from texts with spaces "
        "between the tokens.",
        agreement,
        _tokens(data, len(hypotheses)),
    ]
    columns = ["", "polyref", "pycocoevalcap", "polyref is faster by", "target", "reached"]
    return Table("Scores of a set", columns, rows, remarks)


def _captions(data: Data, count: int) -> tuple[list[str], list[list[str]]]:
    cut = [[penn_treebank(reference.text) for reference in example.references] for example in data.captions[:count]]
    several = [texts for texts in cut if len(texts) > 1]
    return [texts[0] for texts in several], [texts[1:] for texts in several]


def _agreement(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> str:
    apart = 0.0
    for ours, theirs in ((cider, Cider()), (rouge_l, Rouge())):
        found = ours(hypotheses, references, BY_SPACES).scores
        _, expected = theirs.compute_score(dict(enumerate(references)), {n: [h] for n, h in enumerate(hypotheses)})
        apart = max(apart, abs(found - expected).max())
    verdict = "all scores agree" if apart <= CLOSE else "the scores DIFFER"
    return f"{2 * len(hypotheses):,} scores of single hypotheses were compared: {verdict} (within {CLOSE:g})."


def _tokens(data: Data, count: int) -> str:
    texts = [reference.text for example in data.captions[:count] for reference in example.references]
    penn_treebank.cache_clear()
    _, seconds = timed(lambda: [penn_treebank(text) for text in texts])
    return f"Tokenising the {len(texts):,} texts takes polyref another {shown_time(seconds)}."
