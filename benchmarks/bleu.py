"""Sentence BLEU: polyref from token arrays against sacreBLEU, nltk and plain Python.

In:   sentences drawn from the lattices of captions.
Out:  time a sentence.
Not:  the ways to score (bleu_peers.py).
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence

from benchmarks import bleu_peers
from benchmarks.bleu_peers import Case
from benchmarks.clock import each, one_core, seconds_in_turn
from benchmarks.data import Data, words_of
from benchmarks.table import Peer, Table, ratio_table, shown_ratio, shown_time
from polyref import Lattice

SENTENCES = 100  # of one example, scored together
FEW = 10
CLOSE = 1e-6
ROUNDS = 5

OURS, SACREBLEU = "polyref, compiled", "sacreBLEU, sentence_score"
FEW_AT_ONCE = f"{OURS}, {FEW} at once"
WAYS = {
    OURS: bleu_peers.polyref_compiled,
    SACREBLEU: bleu_peers.sacrebleu_scores,
    "nltk, sentence_bleu": bleu_peers.nltk_scores,
    "plain Python, references' n-grams counted once": bleu_peers.counters,
    "polyref, plain twin": bleu_peers.polyref_plain,
}


def measure(data: Data, quick: bool) -> Table:
    cases = _cases(data, 30 if quick else 200)
    few = [case.first(FEW) for case in cases]
    ways = {name: each(way, cases) for name, way in WAYS.items()}
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nltk warns of every score of 0
        totals = seconds_in_turn({**ways, FEW_AT_ONCE: each(WAYS[OURS], few)}, ROUNDS)
        agreement = _agreement(cases)
    few_seconds = totals.pop(FEW_AT_ONCE) / _sentences(few)
    seconds = {name: total / _sentences(cases) for name, total in totals.items()}
    peers = [Peer(name, seconds[name], target=150 if name == SACREBLEU else None) for name in WAYS if name != OURS]
    remarks = [
        f"{len(cases)} examples of {data.captions_name}, {SENTENCES} sentences each, drawn from the example's "
        "lattice (those of four words or more); all sentences of an example in one call.",
        "polyref starts from arrays of word numbers, sacreBLEU from texts with spaces between words, nltk from "
        "lists of words. Counting the references' n-grams is part of every time: polyref, its twin and plain "
        "Python do it once per example, sacreBLEU and nltk once per sentence, as their interfaces require. numpy "
        "computes polyref's scores from the matches, for all sentences of an example at once.",
        f"With {FEW} sentences per example instead of {SENTENCES}, polyref takes {shown_time(few_seconds)} per "
        f"sentence, and sacreBLEU {shown_ratio(seconds[SACREBLEU] / few_seconds)} as long.",
        agreement,
    ]
    return ratio_table("Sentence BLEU", "a sentence", Peer(OURS, seconds[OURS]), peers, remarks)


def _cases(data: Data, count: int) -> list[Case]:
    cases = []
    for example in random.Random(1).sample(data.captions, count):
        texts = [reference.text for reference in example.references]
        drawn = Lattice.from_references(texts, engine="compiled").sample(SENTENCES, seed=1)
        sentences = [list(sentence.words) for sentence in drawn]
        references = [list(tokens.words) for tokens in words_of(example)]
        cases.append(Case.of(references, [words for words in sentences if len(words) >= 4]))
    return cases


def _sentences(cases: Sequence[Case]) -> int:
    return sum(len(case.sentences) for case in cases)


def _agreement(cases: Sequence[Case]) -> str:
    apart = 0
    for case in cases:
        expected = WAYS[SACREBLEU](case)
        for way in WAYS.values():
            apart += sum(abs(a - b) > CLOSE for a, b in zip(way(case), expected, strict=True))
    verdict = "all five agree on every score" if not apart else f"{apart} scores DIFFER from sacreBLEU's"
    return f"{_sentences(cases):,} sentences were checked against sacreBLEU: {verdict} (within {CLOSE:g})."
