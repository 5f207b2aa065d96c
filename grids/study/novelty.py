"""What pseudo-references know of what other people say.

    python grids/study/novelty.py data/e2e/train.jsonl 2 8        # two of eight references are given
    python grids/study/novelty.py data/tatoeba-en2fr/train_multi.jsonl 2 4 runs/study/french    # with this encoder

In:   a file, how many references of an example are given, and how many it must have: so many take part, in random order. The
      next one is "one more from people", the others are held out. Pseudo-references are the default's choice of 20, by
      soft alignment.
Out:  in per cent, for each length of n-grams: how many of those of the held-out references the given ones have, how many
      they have with pseudo-references, and with one more from people; and how many of what these two say anew stands in
      a held-out reference.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import polyref
from polyref import AlignSettings, Example, ExpandSettings, TextSettings
from polyref.text import tokenize

ORDERS = (1, 2, 3, 4)
ADDED = ("pseudo-references", "one more from people")


def ngrams(texts: Iterable[str], order: int) -> set[tuple[str, ...]]:
    sentences = [tokenize(text, TextSettings(fold_case=True)).words for text in texts]
    return {words[start : start + order] for words in sentences for start in range(len(words) - order + 1)}


def shares(path: str, given: int, wanted: int, encoder: str | None = None) -> list[tuple[str, list[float]]]:
    whole = [
        replace(example, references=tuple(random.Random(example.id).sample(example.references, wanted)))
        for example in polyref.read(path)
        if len(example.references) >= wanted
    ]
    cut = [Example(one.id, one.source, one.references[:given]) for one in whole]
    found: Counter[tuple[str, int]] = Counter()
    expanded = polyref.expand(
        cut, settings=ExpandSettings(20, align=AlignSettings("soft")), encoder=encoder and polyref.open_encoder(encoder)
    )
    for example, ours in zip(whole, expanded, strict=True):
        texts = [one.text for one in example.references]
        for order in ORDERS:
            known, one_more, others = (
                ngrams(part, order) for part in (texts[:given], [texts[given]], texts[given + 1 :])
            )
            pseudo = ngrams([one.text for one in ours.pseudo_references], order)
            found["held out", order] += len(others)
            found["given", order] += len(others & known)
            for name, more in zip(ADDED, (pseudo, one_more), strict=True):
                found[f"with {name}", order] += len(others & (known | more))
                found[f"new in {name}", order] += len(more - known)
                found[f"new in {name}, and said by others", order] += len((more - known) & others)
    rows = [("given", "held out"), *((f"with {name}", "held out") for name in ADDED)]
    rows += [(f"new in {name}, and said by others", f"new in {name}") for name in ADDED]
    return [(row, [100 * found[row, order] / max(1, found[whole, order]) for order in ORDERS]) for row, whole in rows]


if __name__ == "__main__":
    path, given, wanted, *encoder = sys.argv[1:]
    for name, row in shares(path, int(given), int(wanted), *encoder):
        sys.stdout.write(f"{name:50}" + "".join(f"{share:8.1f}" for share in row) + "\n")
