"""Pseudo-references for the training set of a recipe, made once.

In:   a file, and how a recipe wants it expanded.
Out:  the path of what is trained on: the file itself, or the expanded one in the folder of the run.
Not:  expanding (expand.py), workers (scale/).
"""

from __future__ import annotations

from pathlib import Path

from polyref.data import Fields
from polyref.expand import ExpandSettings
from polyref.experiment.recipe import ExpandSection
from polyref.scale.workers import Job, expand_file

EXPANDED = "expanded.jsonl"


def expanded(path: str, folder: Path, settings: ExpandSection, fields: Fields) -> str:
    """The file to train on. What is expanded already, by a run that was stopped, is not expanded again."""
    if settings.per_example is None:
        return path
    output = folder / EXPANDED
    if not output.exists():
        expand_file(
            Job(
                path,
                str(output),
                ExpandSettings(
                    settings.per_example,
                    fluency=settings.fluency,
                    keep_lattice=settings.keep_lattice,
                    align=settings.alignment(),
                ),
                fields,
                encoder=settings.encoder or None,
                workers=settings.workers,
            )
        )
    return str(output)
