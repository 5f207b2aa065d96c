"""Sentence BLEU: polyref from token arrays against sacreBLEU, nltk and plain Python.

In:   sentences drawn from the lattices of captions.
Out:  time a sentence.
Not:  the ways to score (bleu_peers.py).
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence

from benchmarks import bleu_peers
from benchmarks.bleu_peers import Case
from benchmarks.clock import one_core, seconds_each
from benchmarks.data import Data, words_of
from benchmarks.table import Peer, Table, ratio_table, shown_ratio, shown_time
from polyref import Lattice

SENTENCES = 100  # of one example, scored together
FEW = 10
CLOSE = 1e-6


def measure(data: Data, quick: bool) -> Table:
    cases = _cases(data, 30 if quick else 200)
    few = [case.first(FEW) for case in cases]
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nltk warns of every score of 0
        ours = _time(bleu_peers.polyref_compiled, cases, 9)
        ours_few = _time(bleu_peers.polyref_compiled, few, 9)
        sacrebleu = _time(bleu_peers.sacrebleu_scores, cases, 3)
        peers = [
            Peer("sacreBLEU, sentence_score", sacrebleu, target=150),
            Peer("nltk, sentence_bleu", _time(bleu_peers.nltk_scores, cases, 3)),
            Peer("plain Python, references' n-grams counted once", _time(bleu_peers.counters, cases, 3)),
            Peer("polyref, plain twin", _time(bleu_peers.polyref_plain, cases, 3)),
        ]
        agreement = _agreement(cases)
    remarks = [
        f"{len(cases)} examples of {data.captions_name}, {SENTENCES} sentences each, drawn from the example's "
        "lattice (those of four words or more); all sentences of an example in one call.",
        "polyref starts from arrays of word numbers, sacreBLEU from texts with spaces between words, nltk from "
        "lists of words. Reading the references' n-grams is in everybody's time: polyref, its twin and plain "
        "Python do it once an example, sacreBLEU and nltk once a sentence, as their interfaces have it. polyref's "
        "scores are worked out from the matches by numpy, all sentences of an example at once.",
        f"With {FEW} sentences an example instead of {SENTENCES}, polyref takes {shown_time(ours_few)} a "
        f"sentence, and sacreBLEU {shown_ratio(sacrebleu / ours_few)} as long.",
        agreement,
    ]
    return ratio_table("Sentence BLEU", "a sentence", Peer("polyref, compiled", ours), peers, remarks)


def _cases(data: Data, count: int) -> list[Case]:
    cases = []
    for example in random.Random(1).sample(data.captions, count):
        texts = [reference.text for reference in example.references]
        drawn = Lattice.from_references(texts, engine="compiled").sample(SENTENCES, seed=1)
        sentences = [list(sentence.words) for sentence in drawn]
        references = [list(tokens.words) for tokens in words_of(example)]
        cases.append(Case.of(references, [words for words in sentences if len(words) >= 4]))
    return cases


def _time(score: Callable[[Case], object], cases: Sequence[Case], repeats: int) -> float:
    """Seconds a sentence."""
    return seconds_each(score, cases, repeats) * len(cases) / sum(len(case.sentences) for case in cases)


def _agreement(cases: Sequence[Case]) -> str:
    peers = bleu_peers
    ways = (peers.polyref_compiled, peers.polyref_plain, peers.nltk_scores, peers.counters)
    total = apart = 0
    for case in cases:
        expected = peers.sacrebleu_scores(case)
        for way in ways:
            apart += sum(abs(a - b) > CLOSE for a, b in zip(way(case), expected, strict=True))
        total += len(expected)
    verdict = "all five agree on every score" if not apart else f"{apart} scores DIFFER from sacreBLEU's"
    return f"{total:,} sentences were checked against sacreBLEU: {verdict} (within {CLOSE:g})."
