"""Experiments: train what a recipe describes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyref.experiment.training import Trained


def train(
    recipe: str | Path | Mapping[str, Any],
    *,
    overrides: Iterable[str] = (),
    override_files: Sequence[str | Path] = (),
    say: Callable[[str], None] = lambda line: None,
) -> list[Trained]:
    """Train a recipe, a TOML file or its tables; gives what each stage came to, the wanted model last.

    `overrides` change single keys, such as "fit.epochs=3"; `override_files` are TOML files that change it before. A run
    that was stopped goes on where it was. `say` is given lines for a person: `say=print`. Needs torch:
    pip install "polyref[torch]".
    """
    from polyref.errors import load_extra

    load_extra("torch", purpose="training", extra="torch")
    from polyref.experiment.reading import read_recipe
    from polyref.experiment.training import train_recipe

    return train_recipe(read_recipe(recipe, overrides, override_files), say=say)
