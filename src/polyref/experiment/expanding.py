"""Pseudo-references for the training set of a recipe, made once.

In:   a file, and how a recipe wants it expanded.
Out:  the path of what is trained on: the file itself, or the expanded one in the folder of the run.
Not:  expanding (expand.py), workers (scale/).
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from polyref.data import Fields
from polyref.errors import InputError
from polyref.expand import ExpandSettings
from polyref.experiment.recipe import ExpandSection
from polyref.fit.settings import fingerprint
from polyref.scale.workers import Job, expand_file


def expanded(path: str, folder: Path, settings: ExpandSection, fields: Fields) -> str:
    """The file to train on. What is expanded already, by a run that was stopped, is not expanded again."""
    if settings.per_example is None:
        return path
    try:
        found = Path(path).stat()
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=path) from None
    # Another way to expand, or another file, is another name; how many processes do it changes nothing.
    name = fingerprint(asdict(replace(settings, workers=1)), path, found.st_size, found.st_mtime_ns)
    output = folder / f"expanded-{name}.jsonl"
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
