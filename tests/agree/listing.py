"""Compare polyref with full listing by the independent implementation, on examples of your own.

    python tests/agree/listing.py examples.jsonl... [--every 5] [--vectors glove.npz] [--most 100000]

For each example: every sentence of the oracle's lattice listed, every new one scored by sacreBLEU; then states, arcs,
pieces, the number of sentences and the twenty best scores are compared. Exits with 1 where anything differs. It takes
hours for what the tests do in seconds on made-up examples, so it is run by hand: see docs/exactness.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from heapq import nlargest
from itertools import islice

import numpy as np
import oracle
from sacrebleu.metrics.bleu import BLEU

from polyref import AlignSettings, Example, Lattice, SearchSettings, TextSettings, WordVectors, read
from polyref.align import is_vetoed
from polyref.align.alignment import soft_similarity
from polyref.text import tokenize

BEST = 20
CLOSE = 1e-6
PENALTY = 0.6
SOFT = AlignSettings("soft", "rescaled", PENALTY)
SACREBLEU = BLEU(smooth_method="none", tokenize="none", effective_order=True)


def naive(words: Sequence[tuple[str, ...]], vectors: WordVectors | None) -> oracle.NaiveLattice:
    """The oracle's lattice of distinct references; by GloVe, rescaled, where vectors are given."""
    if vectors is None:
        return oracle.lattice(words, None)
    encodings = vectors.encode(words)
    numbers: dict[str, int] = {}

    def similarity(i: int, j: int) -> oracle.Matrix:
        numbered = [numbers.setdefault(word, len(numbers)) for word in (*words[i], *words[j])]
        both = [encodings[i], encodings[j]]
        square = soft_similarity(
            numbered,
            np.concatenate([e.vectors for e in both]),
            np.concatenate([e.known for e in both]),
            vectors.baseline,
            [0, len(words[i]), len(numbered)],
        )
        rows: oracle.Matrix = square[: len(words[i]), len(words[i]) :].tolist()
        return oracle.restrained(words[i], words[j], rows, is_vetoed, round(SOFT.position * oracle.ONE))

    return oracle.lattice(words, similarity, round(PENALTY * oracle.ONE))


def differences(example: Example, vectors: WordVectors | None, most: int) -> tuple[int, list[str]]:
    """How many sentences were listed (0: too many), and what differs."""
    align = AlignSettings("hard") if vectors is None else SOFT
    texts = [reference.text for reference in example.references]
    ours = Lattice.from_references(texts, align=align, encoder=vectors, engine="compiled")
    if ours.count >= most:
        return 0, []
    gold = list(dict.fromkeys(tuple(tokenize(text, TextSettings()).words) for text in texts))
    theirs = naive(gold, vectors)
    sentences = oracle.sentences(theirs)
    references = [" ".join(words) for words in gold]
    scores = [
        SACREBLEU.sentence_score(" ".join(words), references).score for words in sentences if words not in set(gold)
    ]
    expected = [score for score in nlargest(BEST, scores) if score > 0]
    found = [sentence.bleu for sentence in ours.best(BEST, SearchSettings(unseen_marks=True))]
    facts = {
        "states": (ours.states, theirs.states),
        "arcs": (len(ours.arcs), len(theirs.arcs)),
        "pieces": (ours.pieces, theirs.pieces),
        "sentences": (ours.count, len(sentences)),
        "scores found": (len(found), len(expected)),
    }
    wrong = [f"{name}: {mine}, should be {right}" for name, (mine, right) in facts.items() if mine != right]
    wrong += [f"score {a}, should be {b}" for a, b in zip(found, expected, strict=False) if abs(a - b) > CLOSE]
    return len(sentences), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--vectors")
    parser.add_argument("--most", type=int, default=100_000)
    settings = parser.parse_args()
    vectors = WordVectors.load(settings.vectors) if settings.vectors else None
    listed = compared = passed = differing = 0
    for name in settings.files:
        for example in islice(read(name), 0, None, settings.every):
            sentences, wrong = differences(example, vectors, settings.most)
            passed += not sentences
            compared += bool(sentences)
            listed += sentences
            differing += bool(wrong)
            for line in wrong:
                print(f"{name}: {example.id}: {line}", flush=True)
        print(f"{name}: {compared} compared, {passed} passed over, {listed} sentences, {differing} differ", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
