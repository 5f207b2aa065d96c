"""The pipeline after the encoder: from vectors to the chosen sentences.

In:   captions under 1e5 sentences, encoded before the clock starts.
Out:  time an example: polyref, its plain twin, and networkx with sacreBLEU.
Not:  that last peer (graph_peer.py), encoding, files.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import eq
from statistics import mean, median

from benchmarks import graph_peer
from benchmarks.clock import one_core, say, seconds_in_turn, timed
from benchmarks.data import Data, words_of
from benchmarks.table import Peer, Table, ratio_table, shown_time
from polyref import AlignSettings, Encoding, SearchSettings, TextSettings
from polyref.align import is_vetoed, whole_units
from polyref.example import PseudoReference
from polyref.judge import Together
from polyref.lattice import CompiledEngine, Engine, Lattice, PlainEngine, merge
from polyref.scale.pool import collect_seldom
from polyref.text import Tokens

PENALTY = 0.6
SOFT = AlignSettings("soft", "rescaled", PENALTY)
TEXT, SEARCH = TextSettings(), SearchSettings()  # made once, as a run does
PER_EXAMPLE = 50  # the paper's K'
MOST_SENTENCES = 100_000
CLOSE = 1e-6
BLOCK = 100  # examples; a run takes 128 together
REPEATS = 5

VETOED = cache(partial(is_vetoed, kinds=SOFT.veto))  # the lists of words are data, which the peer may use

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


@dataclass
class Taken:
    """Seconds of all examples, and how many of them polyref and a peer agree on."""

    ours: float = 0.0
    twin: float = 0.0
    graph: float = 0.0
    same_scores: int = 0
    same_texts: int = 0


def measure(data: Data, quick: bool) -> Table:
    cases, counts = _cases(data, 30 if quick else 300)
    with one_core():
        taken = _take_turns(cases)
    ours, twin, graph = (total / len(cases) for total in (taken.ours, taken.twin, taken.graph))
    peers = [
        Peer("Python + networkx + sacreBLEU", graph, target=1000),
        Peer("polyref, plain twin", twin, target=60),
    ]
    remarks = [
        f"{len(cases)} examples of {data.captions_name}, drawn at random (seed 1) among those whose lattice has "
        f"fewer than 1e5 sentences; {data.encoder_name}, rescaled, penalty {PENALTY}, K' = {PER_EXAMPLE}. Their "
        f"lattices have {mean(counts):,.0f} sentences on average (median {median(counts):,.0f}, most "
        f"{max(counts):,}).",
        "From vectors to texts with their BLEU: similarity, alignment of all pairs, merge order, lattice, choice. "
        f"Tokenising and encoding come before the clock starts. The three took turns after {BLOCK} examples, which "
        "polyref takes in one call (a run takes 128); "
        f"polyref ran {REPEATS} times each turn (median), the two slow ones once. Python's garbage collector runs as "
        "seldom as in the command, for all three.",
        "Python + networkx + sacreBLEU follows the same rules by simple means: numpy for cosines, polyref's own list "
        "of words that are never linked (cached from pair to pair), Python loops for "
        "the alignment, has_path before each merge, a list of all distinct sentences, sentence_score for each new "
        "one. Its time grows with the number of sentences, so large lattices decide the average.",
        f"The scores of the chosen sentences are the same as by networkx + sacreBLEU (within {CLOSE:g}) in "
        f"{taken.same_scores} of {len(cases)} examples; which of equally good sentences are taken may differ. Scores "
        f"and texts are the same as the plain twin's in {taken.same_texts} of {len(cases)}.",
        f"All examples together: polyref {shown_time(taken.ours)}, twin {shown_time(taken.twin)}, "
        f"networkx + sacreBLEU {shown_time(taken.graph)}.",
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
    return merge(case.tokens, case.encodings, SOFT, text=TEXT, baseline=case.baseline, engine=engine)


def alone(engine: Engine, case: Case) -> Chosen:
    lattice = lattice_of(engine, case)
    found = lattice.search(case.wanted, SEARCH)
    return list(zip(lattice.bleus(found), lattice.texts(found), strict=True))


def together(engine: CompiledEngine, cases: Sequence[Case]) -> list[Sequence[PseudoReference] | Chosen]:
    """As a run does it: all in one call, and those alone that this cannot treat."""
    tokens, encodings = [case.tokens for case in cases], [one for case in cases for one in case.encodings]
    wanted = [case.wanted for case in cases]
    found = Together(engine, SOFT, TEXT, SEARCH, usage=None).choose(tokens, encodings, cases[0].baseline, wanted)
    return [
        alone(engine, case) if of_one is None else of_one.chosen.pseudo_references
        for case, of_one in zip(cases, found, strict=True)
    ]


def _as_chosen(found: Sequence[PseudoReference] | Chosen) -> Chosen:
    return [(one.bleu, one.text) if isinstance(one, PseudoReference) else one for one in found]


def by_graph(case: Case) -> Chosen:
    return graph_peer.best_sentences(
        [tokens.words for tokens in case.tokens],
        [encoding.vectors for encoding in case.encodings],
        [encoding.known for encoding in case.encodings],
        baseline=case.baseline,
        vetoed=VETOED,
        position=whole_units(SOFT.position),
        penalty=whole_units(PENALTY),
        wanted=case.wanted,
    )


def _take_turns(cases: Sequence[Case]) -> Taken:
    """Each way does some examples, then the next way the same ones, and so on."""
    compiled, plain = CompiledEngine(), partial(alone, PlainEngine())
    taken = Taken()
    collect_seldom()  # as the command does; for all three
    for start in range(0, len(cases), BLOCK):
        block = cases[start : start + BLOCK]
        taken.ours += seconds_in_turn({"ours": partial(together, compiled, block)}, REPEATS)["ours"]
        by_twin, seconds = timed(partial(_all, plain, block))
        taken.twin += seconds
        by_networkx, seconds = timed(partial(_all, by_graph, block))
        taken.graph += seconds
        ours = list(map(_as_chosen, together(compiled, block)))
        taken.same_texts += sum(map(eq, ours, by_twin))
        taken.same_scores += sum(map(_same_scores, ours, by_networkx))
        say(f"  {start + len(block)} of {len(cases)} examples; networkx + sacreBLEU: {taken.graph:.0f} s")
    return taken


def _all(choose: Callable[[Case], Chosen], cases: Sequence[Case]) -> list[Chosen]:
    return [choose(case) for case in cases]


def _same_scores(ours: Chosen, theirs: Chosen) -> bool:
    pairs = zip(ours, theirs, strict=False)
    return len(ours) == len(theirs) and all(abs(a - b) <= CLOSE for (a, _), (b, _) in pairs)
