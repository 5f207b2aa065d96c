"""The control of the study: as many pseudo-references as the judged choice has, drawn at random from those of BLEU.

    python grids/study/control.py recipes/study/e2e.toml OUT.jsonl data.examples=1000 data.references=2 \\
        expand.per_example=20 expand.align=soft

In:   a recipe whose last stage expands, with some keys changed.
Out:  its training set with the control's pseudo-references.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from polyref.data import read, write
from polyref.example import Example
from polyref.experiment.inputs import expanded
from polyref.experiment.reading import read_recipe


def control(recipe: str, changes: list[str], folder: Path, seed: int = 0) -> Iterator[Example]:
    stage = read_recipe(recipe, changes).stages[-1]
    settings = stage.expand.settings
    by_bleu = replace(settings, judging=replace(settings.judging, judge="bleu"))
    stages = stage, replace(stage, expand=replace(stage.expand, settings=by_bleu))
    judged, chosen_by_bleu = (read(expanded(each, folder)) for each in stages)
    draw = random.Random(seed)
    for ours, theirs in zip(judged, chosen_by_bleu, strict=True):
        count = min(len(ours.pseudo_references), len(theirs.pseudo_references))
        places = sorted(draw.sample(range(len(theirs.pseudo_references)), count))
        yield replace(theirs, pseudo_references=tuple(theirs.pseudo_references[place] for place in places))


if __name__ == "__main__":
    recipe, output, *changes = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        write(control(recipe, changes, Path(folder)), output)
