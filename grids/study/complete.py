"""Of gold and judged references, those that leave out no more facts than the most complete gold one of the input does.

    python grids/study/complete.py recipes/study/e2e.toml OUT.jsonl data.examples=300 data.references=2 \\
        expand.per_example=20 expand.align=soft

In:   a recipe whose last stage expands, with some keys changed; sources are facts (`name[XNAME], food[French]`).
Out:  its training set without the other references.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from polyref.data import read, write
from polyref.example import Example
from polyref.experiment.inputs import expanded
from polyref.experiment.reading import read_recipe
from polyref.score.facts import missing_of

LITERAL = {"name", "eatType", "food", "area", "near"}  # slots of E2E whose values people write word by word


def missing(source: object, text: str) -> int:
    return len(LITERAL.intersection(missing_of(source, text)))


def complete(recipe: str, changes: list[str], folder: Path) -> Iterator[Example]:
    for example in read(expanded(read_recipe(recipe, changes).stages[-1], folder)):
        least = min(missing(example.source, reference.text) for reference in example.references)
        gold = tuple(one for one in example.references if missing(example.source, one.text) == least)
        pseudo = tuple(one for one in example.pseudo_references if missing(example.source, one.text) <= least)
        yield replace(example, references=gold, pseudo_references=pseudo)


if __name__ == "__main__":
    recipe, output, *changes = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        write(complete(recipe, changes, Path(folder)), output)
