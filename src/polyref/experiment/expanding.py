"""Pseudo-references for the training set of a recipe, made once.

In:   a file, and how a recipe wants it expanded.
Out:  the path of what is trained on: the file itself, or the expanded one in a folder that stages and runs may share.
Not:  expanding (expand.py), workers (scale/).
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from polyref.data import Fields, Input
from polyref.errors import InputError
from polyref.experiment.cures import in_recipe_words
from polyref.experiment.recipe import ExpandSection
from polyref.fit.settings import fingerprint
from polyref.scale.workers import Job, expand_file


@in_recipe_words()
def expanded(path: str, folder: Path, settings: ExpandSection, fields: Fields) -> str:
    """The file to train on. What is expanded already, by another stage or by a run that was stopped, is not expanded
    again: a file takes its name when it is whole, and the name tells all that it was made from."""
    if settings.per_example is None:
        return path
    encoder = settings.encoder if settings.align == "soft" else ""  # hard alignment asks none
    # Another way to expand, or another file, is another name; how many processes do it changes nothing.
    how = asdict(replace(settings, workers=1, encoder=encoder))
    files = Input.of(path).parallel_files() or [path]
    name = fingerprint(how, asdict(fields), path, [_stamp(Path(file)) for file in files], _encoder_stamps(encoder))
    output = folder / f"expanded-{name}.jsonl"
    if not output.exists():
        job = Job(path, str(output), settings.settings(), fields, encoder=encoder or None, workers=settings.workers)
        expand_file(job)
    return str(output)


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=str(path)) from None
    return path.name, found.st_size, found.st_mtime_ns


def _encoder_stamps(name: str) -> list[tuple[str, int, int]]:
    """Of the files of an encoder that is in a folder: it may be trained anew under the same name."""
    place = Path(name.removeprefix("vectors:"))
    if not name or not place.exists():
        return []
    return [_stamp(path) for path in (sorted(place.iterdir()) if place.is_dir() else [place])]
