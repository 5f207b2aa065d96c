"""Is everything there that a recipe names?

In:   a recipe.
Out:  nothing; or a message that names the key and the file that is not there.
Not:  what the files hold: that is found out by reading them (training.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from polyref.data import Input
from polyref.data.opening import open_input
from polyref.encode.opening import is_encoder
from polyref.errors import InputError
from polyref.experiment.recipe import Recipe, Stage

_GONE = "there is no such file"


def check_files(recipe: Recipe) -> None:
    """Refuse a recipe that names a file which is not there. What a stage leaves to the next one need not be there."""
    for number, stage in enumerate(recipe.stages):
        for key, path, problem in _missing(stage, is_first=number == 0):
            where = f'stage "{stage.name}": {key}' if stage.name else key
            raise InputError(problem, "check the path", file=f"{where}: {path}")


def _missing(stage: Stage, *, is_first: bool) -> Iterator[tuple[str, str, str]]:
    """Keys, what they name, and what is wrong with that."""
    for key in ("train", "dev"):
        path = getattr(stage.data, key)
        problem = _unreadable(path)
        if problem:
            yield f"data.{key}", path, problem
    for key in ("features", "feature_ids"):
        path = getattr(stage.data, key)
        if path and not Path(path).is_file():
            yield f"data.{key}", path, _GONE
    if stage.expand.encoder and not is_encoder(stage.expand.encoder):
        yield "expand.encoder", stage.expand.encoder, "there is no such encoder"
    if is_first and stage.run.init_from and not Path(stage.run.init_from).is_dir():
        yield "run.init_from", stage.run.init_from, "there is no such folder"


def _unreadable(path: str) -> str:
    """What keeps a data set from being opened. It may be several files of parallel text with one name."""
    try:
        for file in Input.of(path).parallel_files() or [path]:
            if file != "-":
                with open_input(file):
                    pass
    except InputError as error:
        return error.problem
    return ""
