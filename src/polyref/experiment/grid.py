"""The grid of a recipe: values of keys that a series of runs goes through.

In:   its table, the names of the stages, and which keys there are.
Out:  a list of values for each key; or a message that names the key that does not exist.
Not:  whether each value makes sense in its place (recipe.py, once it is there), running the series.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polyref.experiment.checking import Key, RecipeError, check_plain, nearest


def grid_of(grid: Mapping[str, Any], stages: list[str], known: Mapping[str, list[str]]) -> dict[str, list[Any]]:
    """The grid with keys such as "fit.decay.factor". `known` has the keys of each section."""
    found: dict[str, list[Any]] = {}
    for at, values in _flat(grid, ("grid",)):
        key = ".".join(at[1:])
        try:
            _check_key(key.split("."), stages, known)
        except RecipeError as error:
            raise RecipeError(str(error), at) from None
        if not isinstance(values, list) or not values:
            raise RecipeError(f'"grid.{key}" is no list of values; give [one, other]', at)
        _check_values(at, values)
        found[key] = values
    return found


def _flat(grid: Mapping[str, Any], at: Key) -> Iterator[tuple[Key, Any]]:
    """Keys with dots may be written in quotes, or as tables."""
    for key, value in grid.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*at, str(key)))
        else:
            yield (*at, str(key)), value


def _check_key(path: list[str], stages: list[str], known: Mapping[str, list[str]]) -> None:
    if path[0] == "stage" and len(path) > 3:
        nearest("stage of the grid", [path[1]], stages)
        path = path[2:]
    nearest("section of the grid", [path[0]], known)
    nearest(f'key of the grid in "{path[0]}"', [".".join(path[1:])], known[path[0]])


def _check_values(at: Key, value: Any) -> None:
    if isinstance(value, list):
        for one in value:
            _check_values(at, one)
    elif isinstance(value, Mapping):
        _check_values(at, list(value.values()))
    elif isinstance(value, str | int | float):
        check_plain(at, value)
    else:
        raise RecipeError(f'"{".".join(at)}" has {value}; give texts, numbers, true or false', at)
