"""Read a recipe from TOML, override it, and write it down whole.

In:   files; `section.key=value` from the command line.
Out:  a Recipe; TOML text.
Not:  which keys there are (recipe.py).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from polyref.errors import InputError, SettingsError
from polyref.experiment.recipe import Recipe, Stage, recipe_of

Tables = dict[str, Any]


def read_recipe(
    recipe: str | Path | Mapping[str, Any], *, overrides: Sequence[str | Path] = (), settings: Iterable[str] = ()
) -> Recipe:
    """Read a recipe, or take its tables. Files of `overrides` come over it one after the other, then `settings` such as
    "fit.epochs=3".

    They change a key wherever the recipe sets it, else for all stages; "stage.pretrain.fit.epochs=3" is for one stage.
    An empty value takes a key out.
    """
    content = deepcopy(dict(recipe)) if isinstance(recipe, Mapping) else _read(recipe)
    for other in overrides:
        override(content, _read(other))
    for setting in settings:
        override(content, _setting(setting))
    try:
        return recipe_of(content)
    except SettingsError as error:
        raise SettingsError(str(error) if isinstance(recipe, Mapping) else f"{recipe}: {error}") from None


def override(content: Tables, changes: Mapping[str, Any]) -> None:
    """Change a recipe: each key wherever the recipe sets it, at the top or in stages; for all stages where it does not.

    Tables are merged key by key. Changes under a stage's name are for that stage alone.
    """
    changes = dict(changes)
    own = _by_name(changes.pop("stage", []))
    stages = [stage for stage in _list(content) if isinstance(stage, dict)]
    for section, values in changes.items():
        if not isinstance(values, Mapping):
            _merge(content, {section: values})
            continue
        for key, value in values.items():
            setting = [stage for stage in stages if key in stage.get(section, {})]
            for stage in setting:
                _merge(stage, {section: {key: value}})
            if not setting or key in content.get(section, {}):
                _merge(content, {section: {key: value}})
    for name, change in own.items():
        found = next((stage for stage in stages if stage.get("name") == name), None)
        if found is None:
            raise SettingsError(f'there is no stage "{name}" to change; name one of the recipe')
        _merge(found, change)


def _list(content: Tables) -> list[Any]:
    stages = content.get("stage", [])
    return stages if isinstance(stages, list) else []


def _by_name(given: Any) -> Tables:
    """Stages by name, whether they come as [[stage]] or as stage.NAME."""
    if isinstance(given, Mapping):
        return dict(given)
    return {str(one.get("name", "")): one for one in given}


def _merge(content: Tables, changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if value is None:
            content.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(content.get(key), dict):
            _merge(content[key], value)
        elif isinstance(value, Mapping):
            content[key] = {}
            _merge(content[key], value)
        else:
            content[key] = value


def _setting(text: str) -> Tables:
    """`a.b=value` as tables; a value that is no TOML is a text."""
    key, equals, value = text.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or len(names) < 2 or not all(names):
        raise SettingsError(f'"{text}" sets nothing; write section.key=value, such as fit.epochs=3')
    found: Any = None
    if value.strip():
        try:
            found = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found = value.strip()
    for name in reversed(names):
        found = {name: found}
    tables: Tables = found
    return tables


def _read(path: str | Path) -> Tables:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is no text", "give a recipe in TOML", file=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is no TOML ({error})", "repair it", file=str(path)) from None


# -- writing --------------------------------------------------------------------------------------------------------


def toml_of(stage: Stage) -> str:
    """A stage as a recipe of its own: every key, with its value."""
    lines: list[str] = []
    for section, values in stage.content().items():
        lines += [
            f"[{section}]",
            *(f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None),
        ]
        lines.append("")
    return "\n".join(lines)


def toml_value(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml_value(one)}" for key, one in value.items() if one is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # texts, numbers and truths are written alike in JSON
