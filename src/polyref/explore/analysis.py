"""Look at one example: its lattice, its map and its sentences; two of its references side by side; other penalties.

In:   a Question, or a Ranking of some examples.
Out:  an answer of plain values, as JSON has them; or a file to download.
Not:  the web (server.py), processes (crew.py), what may be asked (asking.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import log10
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from polyref.align import UNIT, is_vetoed
from polyref.align.alignment import blocks, soft_similarity
from polyref.align.veto import VetoKind
from polyref.data import render
from polyref.data.formats.jsonl import decimal_text
from polyref.draw.aligned import Comparison, compare
from polyref.draw.figure import Figure, Panel, check_size, draw_one, size_of
from polyref.draw.layout import Map, lay_out
from polyref.draw.matrix import CELL, draw_matrix
from polyref.draw.network import Network, network_of, reference_texts, way_of, word_twice
from polyref.draw.page import runs_of
from polyref.draw.style import letter, runs_leftward
from polyref.draw.svg import as_png, as_svg, way_path
from polyref.encode import DEFAULT, Encoder, Encoding, default_encoder, open_encoder
from polyref.errors import InputError, SettingsError
from polyref.example import JUDGEMENTS, Example, LatticeSummary
from polyref.expansion import Tools, usage_of
from polyref.explore.asking import MOST_WORDS, Kind, LookSettings, Question
from polyref.judge import CAUSES_IN_WORDS, Chosen, Usage, choose, choose_read, left_out, rules_of
from polyref.lattice import AutoEngine, Lattice, Sentence, merge, prepare, tokenized
from polyref.text import Tokens

_KEPT = 64  # examples whose encodings are kept
_WAYS = 100  # sentences whose way through the map is sent along
_LEFT_OUT = 20  # sentences that are shown
_CURVE = [n * UNIT // 40 for n in range(41)]  # penalties
_WHY: dict[VetoKind, str] = {
    "numbers": "they are different numbers",
    "negation": "one of them negates",
    "marks": "they are different punctuation, or only one is punctuation",
    "contrasts": "they exclude each other",
}


class _Prepared(NamedTuple):
    """References before they are aligned."""

    tokens: list[Tokens]
    encodings: list[Encoding] | None
    baseline: float


class Download(NamedTuple):
    """A file that somebody has asked for."""

    name: str
    kind: str
    content: bytes


class Ranked(NamedTuple):
    """What examples are sorted by. `worst`: the lowest BLEU that is kept."""

    sentences: int
    worst: float | None
    left_out: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """Asks for what some examples are sorted by."""

    examples: Sequence[Example]
    settings: LookSettings


class Analyst:
    """Answers questions, one at a time. It keeps what the last examples were encoded to.

    `first` are the first examples of a file: they tell about its words.
    """

    def __init__(self, first: Sequence[Example]):
        self._engine = AutoEngine(lambda notice: None)  # nobody waits for kernels here, so nobody is told of them
        self._usage = cache(partial(usage_of, first))
        self._opened = cache(open_encoder)
        self._prepared: OrderedDict[Any, _Prepared] = OrderedDict()

    def warm_up(self) -> None:
        """Load the kernels and the built-in encoder in the background; meanwhile all runs in plain Python."""

        def load() -> None:
            default_encoder()
            self._engine.load()

        Thread(target=load, daemon=True).start()

    def answer(self, asked: Question | Ranking | None) -> Any:
        """The answer to anything that is asked. None: get ready."""
        if asked is None:
            return self.warm_up()
        if isinstance(asked, Ranking):
            return self.rank(asked.examples, asked.settings)
        answers: dict[Kind, Callable[[Question], Any]] = {
            "look": self.look,
            "left-out": self.left_out,
            "matrix": self.matrix,
            "curve": self.curve,
            "export": self.export,
        }
        return answers[asked.kind](asked)

    # -- from references to sentences ---------------------------------------------------------------------------------

    def _encoder(self, settings: LookSettings) -> Encoder | None:
        if settings.expand.align.align == "hard":
            return None
        return self._opened(settings.tools.encoder or DEFAULT, settings.tools.vectors)

    def _prepare(self, example: Example, settings: LookSettings) -> _Prepared:
        """The words of an example and, for soft alignment, their vectors: what a move of the penalty leaves alone."""
        expand, texts = settings.expand, tuple(reference.text for reference in example.references)
        align = expand.align
        key: tuple[Any, ...] = (texts, expand.text, align.align)
        if align.align == "soft":
            key += (settings.tools.encoder, settings.tools.vectors, align.similarity, align.baseline)
        if key not in self._prepared:
            tokens = tokenized(texts, expand.text)
            if (words := sum(map(len, tokens))) > MOST_WORDS:
                problem = f"these references have {words:,} words"
                raise InputError(problem, f"give at most {MOST_WORDS:,} here; expand takes more")
            baseline, encodings = prepare(align, self._encoder(settings), tokens)
            self._prepared[key] = _Prepared(tokens, None if encodings is None else list(encodings), baseline)
            if len(self._prepared) > _KEPT:
                self._prepared.popitem(last=False)
        self._prepared.move_to_end(key)
        return self._prepared[key]

    def _lattice(self, example: Example, settings: LookSettings, *, is_own: bool) -> tuple[Lattice, Usage]:
        expand, prepared = settings.expand, self._prepare(example, settings)
        lattice = merge(
            prepared.tokens,
            prepared.encodings,
            expand.align,
            text=expand.text,
            baseline=prepared.baseline,
            engine=self._engine,
        )
        usage = Usage()
        if expand.judging.judge != "bleu":
            usage = usage_of([example], expand.text) if is_own else self._usage(expand.text)
            lattice.rules = rules_of(lattice, usage)
        return lattice, usage

    def _chosen(self, lattice: Lattice, usage: Usage, example: Example, settings: LookSettings) -> Chosen:
        """What `expand` chooses."""
        expand, wanted = settings.expand, settings.expand.per_example - len(example.references)
        reader = Tools(self._engine, self._encoder(settings), None, usage).reader(expand) if expand.reads else None
        if reader is None:
            return choose(lattice, wanted, expand.search)
        [chosen] = choose_read([lattice], [wanted], reader, expand.search)
        return chosen

    # -- answers ------------------------------------------------------------------------------------------------------

    def look(self, question: Question) -> dict[str, Any]:
        """An example as the page shows it."""
        example, settings = question.example, question.settings
        lattice, usage = self._lattice(example, settings, is_own=question.is_own)
        chosen = self._chosen(lattice, usage, example, settings)
        texts = reference_texts(lattice)
        network = network_of(lattice)
        drawn, why_not = _laid_out(lattice, network, question.width)
        sentences = []
        for number, pseudo in enumerate(chosen.pseudo_references):
            judgements = {name: getattr(pseudo, name) for name in JUDGEMENTS}
            sentence = lattice.sentence(pseudo.text)
            shown = {} if sentence is None else _shown(lattice, network, drawn if number < _WAYS else None, sentence)
            sentences.append({"text": pseudo.text, "bleu": round(pseudo.bleu, 2), **judgements, **shown})
        return {
            "references": [{"text": text, "nodes": way} for text, way in zip(texts, network.lines, strict=True)],
            "direction": "rtl" if runs_leftward(texts) else "ltr",
            "size": _size(lattice),
            "penalty": lattice.penalty,
            "exact": chosen.exact,
            "wanted": max(0, settings.expand.per_example - len(example.references)),
            "left_out": {cause: count for cause, count in chosen.left_out.items() if cause in CAUSES_IN_WORDS},
            "map": None if drawn is None else _drawn(lattice, drawn),
            "why_no_map": why_not,
            "twice": word_twice(network),
            "words": _words(lattice, network),
            "sentences": sentences,
        }

    def left_out(self, question: Question) -> dict[str, Any]:
        """The best sentences that the rules leave out, with the reason."""
        lattice, _ = self._lattice(question.example, question.settings, is_own=question.is_own)
        network = network_of(lattice)
        drawn, _ = _laid_out(lattice, network, question.width)
        found = []
        for out in left_out(lattice, _LEFT_OUT, question.settings.expand.search):
            sentence = lattice.sentence(out.text)
            shown = {} if sentence is None else _shown(lattice, network, drawn, sentence)
            found.append({"text": out.text, "bleu": round(out.bleu, 2), "reason": out.reason, **shown})
        return {"sentences": found}

    def matrix(self, question: Question) -> dict[str, Any]:
        """Two references side by side, with the alignment."""
        settings = question.settings
        lattice, _ = self._lattice(question.example, settings, is_own=question.is_own)
        comparison = compare(lattice, *question.pair, drawn=True)
        prepared = self._prepare(question.example, settings)
        kinds = settings.expand.align.veto
        left, right = (lattice.tokens[gold].words for gold in comparison.pair)
        never = [
            [u, v, next((_WHY[kind] for kind in kinds if is_vetoed(left[u], right[v], [kind])), "")]
            for u, v in sorted(comparison.vetoed)
        ]
        return {
            "svg": draw_matrix(comparison, in_page=True),
            "cell": CELL,
            "pair": comparison.pair,
            "left": comparison.left,
            "right": comparison.right,
            "similarity": comparison.similarity,
            "before": _before(comparison, lattice, prepared),
            "penalty": comparison.penalty,
            "links": comparison.links,
            "worth": comparison.worth,
            "caption": comparison.caption("grey:"),
            "never": never,
        }

    def curve(self, question: Question) -> dict[str, Any]:
        """How many sentences there are at each penalty; none for hard alignment, which does not depend on it."""
        if question.settings.expand.align.align == "hard":
            return {"points": []}
        align = replace(question.settings.expand.align, penalty=0.5)
        settings = replace(question.settings, expand=replace(question.settings.expand, align=align))
        lattice, _ = self._lattice(question.example, settings, is_own=question.is_own)
        assert lattice.aligned is not None
        points = []
        for penalty in _CURVE:
            _, automaton = lattice.engine.merged(
                lattice.numbering, lattice.aligned.similarity, penalty, align.merge_order
            )
            points.append([penalty / UNIT, decimal_text(automaton.count), round(log10(automaton.count), 3)])
        return {"points": points}

    def export(self, question: Question) -> Download:
        """The map as a picture, or the example as `expand` writes it."""
        example, settings = question.example, question.settings
        lattice, usage = self._lattice(example, settings, is_own=question.is_own)
        if question.form == "jsonl":
            chosen = self._chosen(lattice, usage, example, settings)
            summary = LatticeSummary(lattice.count, lattice.penalty, chosen.exact)
            expanded = replace(example, pseudo_references=chosen.pseudo_references, lattice=summary)
            return Download("expanded.jsonl", "application/x-ndjson", f"{render(expanded)}\n".encode())
        theme = "light" if question.form == "png" and question.theme == "auto" else question.theme
        svg = as_svg(draw_one(lattice, question.sentence, None), theme)
        if question.form == "png":
            return Download("map.png", "image/png", as_png(svg))
        return Download("map.svg", "image/svg+xml", svg.encode())

    def rank(self, examples: Sequence[Example], settings: LookSettings) -> list[Ranked | None]:
        """What examples are sorted by; None for one that cannot be looked at."""
        found: list[Ranked | None] = []
        for example in examples:
            try:
                lattice, usage = self._lattice(example, settings, is_own=False)
                chosen = self._chosen(lattice, usage, example, settings)
            except (InputError, SettingsError):
                found.append(None)
                continue
            worst = min((pseudo.bleu for pseudo in chosen.pseudo_references), default=None)
            found.append(Ranked(lattice.count, worst, sum(chosen.left_out.values())))
        return found


def answering(first: Sequence[Example]) -> Callable[[Question | Ranking | None], Any]:
    """What answers, in a worker process, about a file that begins with these examples."""
    return Analyst(first).answer


def _size(lattice: Lattice) -> dict[str, Any]:
    return {
        "sentences": decimal_text(lattice.count),
        "new": decimal_text(lattice.new),
        "log10": round(log10(lattice.count), 2),
        "words": sum(map(len, lattice.tokens)),
        "states": lattice.states,
        "arcs": len(lattice.arcs),
        "pieces": lattice.pieces,
        "deterministic": lattice.deterministic,
    }


def _laid_out(lattice: Lattice, network: Network, width: float) -> tuple[Map | None, str | None]:
    """The map of a lattice, or why there is none."""
    try:
        check_size(lattice)
        return lay_out(network, width - 8), None
    except SettingsError as error:
        return None, str(error)


def _drawn(lattice: Lattice, drawn: Map) -> str:
    figure = Figure(drawn.width + 8, drawn.height + 16, size_of(lattice), [Panel(4, 8, drawn)])
    return as_svg(figure, "auto", ways=())


def _shown(lattice: Lattice, network: Network, drawn: Map | None, sentence: Sentence) -> dict[str, Any]:
    """A sentence in parts, each with a reference that says it; and its way through the map."""
    way = way_of(lattice, network, sentence.words)
    parts = [[text, reference, letter(reference)] for text, reference in runs_of(sentence)]
    return {"parts": parts, "nodes": way, "path": None if drawn is None else way_path(drawn, way)}


def _before(comparison: Comparison, lattice: Lattice, prepared: _Prepared) -> list[list[float]] | None:
    """How alike the vectors alone are: without what is never linked, and without what places take away."""
    if prepared.encodings is None:
        return None
    numbering = lattice.numbering
    pair = [numbering.same[gold] for gold in comparison.pair]
    words = [word for distinct in pair for word in numbering.references[distinct]]
    encodings = [prepared.encodings[gold] for gold in comparison.pair]
    vectors, known = (np.concatenate([getattr(one, part) for one in encodings]) for part in ("vectors", "known"))
    rows = len(comparison.left)
    alike = soft_similarity(words, vectors, known, prepared.baseline, [0, rows, len(words)])
    return [[value / UNIT for value in row] for row in alike[:rows, rows:].tolist()]


def _words(lattice: Lattice, network: Network) -> dict[int, dict[str, Any]]:
    """By their nodes in the map: which references say a word, and by what similarity they were linked."""
    found: dict[int, dict[str, Any]] = {}
    for arc, node in zip(lattice.arcs, network.word_nodes, strict=True):
        found[node] = {"word": network.nodes[node].label, "references": list(arc.references), "links": []}
    aligned, numbering = lattice.aligned, lattice.numbering
    if aligned is None:
        return found
    block = blocks(numbering.references, aligned.similarity)
    for left, right, links in lattice.engine.merges(
        numbering, aligned.similarity, aligned.penalty, aligned.merge_order
    ):
        alike, pair = block(left, right), (numbering.firsts[left], numbering.firsts[right])
        for places in links:
            ways = [lattice.ways[gold][place] for gold, place in zip(pair, places, strict=True)]
            words = [lattice.tokens[gold].surfaces[place] for gold, place in zip(pair, places, strict=True)]
            link = [pair[0], words[0], pair[1], words[1], int(alike[places]) / UNIT]
            for node in {network.word_nodes[arc] for arc in ways}:
                found[node]["links"].append(link)
    return found
