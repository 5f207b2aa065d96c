"""The pipeline after the encoder: from vectors to the chosen sentences.

In:   captions under 1e5 sentences, encoded before the clock starts.
Out:  time an example: polyref, its plain twin, and networkx with sacreBLEU.
Not:  that last peer (graph_peer.py), encoding, files.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median
from time import perf_counter

from benchmarks import graph_peer
from benchmarks.clock import one_core, say, seconds_each, timed
from benchmarks.data import Data, words_of
from benchmarks.table import Peer, Table, ratio_table, shown_time
from polyref import AlignSettings, Encoding, SearchSettings, TextSettings
from polyref.align import whole_units
from polyref.lattice import CompiledEngine, Engine, Lattice, PlainEngine, merge
from polyref.text import Tokens

PENALTY = 0.6
PER_EXAMPLE = 50  # the paper's K'
MOST_SENTENCES = 100_000
CLOSE = 1e-6

Chosen = list[tuple[float, str]]  # BLEU and text, best first


@dataclass(frozen=True)
class Case:
    """One example as the encoder leaves it."""

    tokens: list[Tokens]
    encodings: list[Encoding]
    baseline: float

    @property
    def wanted(self) -> int:
        return PER_EXAMPLE - len(self.tokens)


def measure(data: Data, quick: bool) -> Table:
    cases, counts = _cases(data, 30 if quick else 300)
    compiled, plain = partial(by_polyref, CompiledEngine()), partial(by_polyref, PlainEngine())
    with one_core():
        ours = seconds_each(compiled, cases, 9)
        twin_chosen, twin = _run("plain twin", plain, cases)
        graph_chosen, graph = _run("networkx + sacreBLEU", by_graph, cases)
        our_chosen = [compiled(case) for case in cases]
    peers = [
        Peer("Python + networkx + sacreBLEU", graph, target=250),
        Peer("polyref, plain twin", twin, target=40),
    ]
    same_scores = sum(map(_same_scores, our_chosen, graph_chosen))
    same_texts = sum(ours == theirs for ours, theirs in zip(our_chosen, twin_chosen, strict=True))
    remarks = [
        f"{len(cases)} examples of {data.captions_name}, drawn at random (seed 1) among those whose lattice has "
        f"fewer than 1e5 sentences; {data.encoder_name}, rescaled, penalty {PENALTY}, K' = {PER_EXAMPLE}. Their "
        f"lattices have {mean(counts):,.0f} sentences on average (median {median(counts):,.0f}, most "
        f"{max(counts):,}).",
        "From vectors to texts with their BLEU: similarity, alignment of all pairs, merge order, lattice, choice. "
        "Cutting into words and encoding come before the clock starts. The two slow ways ran once, polyref nine "
        "times (median).",
        "Python + networkx + sacreBLEU follows the same rules by plain means: numpy for cosines, Python loops for "
        "the alignment, has_path before each merge, a list of all distinct sentences, sentence_score for each new "
        "one. Its time grows with the number of sentences, so large lattices decide the average.",
        f"The scores of the chosen sentences are the same as by networkx + sacreBLEU (within {CLOSE:g}) in "
        f"{same_scores} of {len(cases)} examples; which of equally good sentences are taken may differ. Scores "
        f"and texts are the same as the plain twin's in {same_texts} of {len(cases)}.",
        f"All examples together: polyref {shown_time(ours * len(cases))}, twin {shown_time(twin * len(cases))}, "
        f"networkx + sacreBLEU {shown_time(graph * len(cases))}.",
    ]
    title = "The pipeline after the encoder"
    return ratio_table(title, "an example", Peer("polyref, compiled", ours), peers, remarks)


def _cases(data: Data, count: int) -> tuple[list[Case], list[int]]:
    """The drawn examples, and how many sentences the lattice of each has."""
    engine = CompiledEngine()
    found = []
    for example in data.captions:
        tokens = words_of(example)
        case = Case(tokens, data.encode(tokens), data.baseline)
        sentences = lattice_of(engine, case).count
        if sentences < MOST_SENTENCES:
            found.append((case, sentences))
    drawn = random.Random(1).sample(found, count)
    return [case for case, _ in drawn], [sentences for _, sentences in drawn]


def lattice_of(engine: Engine, case: Case) -> Lattice:
    settings = AlignSettings("soft", "rescaled", PENALTY)
    return merge(
        case.tokens, case.encodings, settings, text=TextSettings(), baseline=case.baseline, engine=engine
    )


def by_polyref(engine: Engine, case: Case) -> Chosen:
    lattice = lattice_of(engine, case)
    found = lattice.search(case.wanted, SearchSettings())
    return list(zip(lattice.bleus(found), lattice.texts(found), strict=True))


def by_graph(case: Case) -> Chosen:
    return graph_peer.best_sentences(
        [tokens.words for tokens in case.tokens],
        [encoding.vectors for encoding in case.encodings],
        [encoding.known for encoding in case.encodings],
        baseline=case.baseline,
        penalty=whole_units(PENALTY),
        wanted=case.wanted,
    )


def _run(name: str, choose: Callable[[Case], Chosen], cases: Sequence[Case]) -> tuple[list[Chosen], float]:
    """What a slow way chooses, and its seconds an example; it is run once."""
    chosen, spent, reported = [], 0.0, perf_counter()
    for done, case in enumerate(cases, 1):
        result, seconds = timed(partial(choose, case))
        chosen.append(result)
        spent += seconds
        if perf_counter() - reported > 10:
            reported = perf_counter()
            say(f"  {name}: {done} of {len(cases)} examples, {spent:.0f} s")
    return chosen, spent / len(cases)


def _same_scores(ours: Chosen, theirs: Chosen) -> bool:
    pairs = zip(ours, theirs, strict=False)
    return len(ours) == len(theirs) and all(abs(a - b) <= CLOSE for (a, _), (b, _) in pairs)
