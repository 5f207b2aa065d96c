"""Read a recipe from TOML, override it, and write it down whole.

In:   files; `section.key=value` from the command line.
Out:  a Recipe; TOML text.
Not:  which keys there are (recipe.py), in which file and line a key was set (origins.py).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from polyref.errors import InputError, SettingsError
from polyref.experiment.checking import Key, Place, RecipeError, nearest
from polyref.experiment.origins import Layer, Origins, line_of, parts_of, said_of
from polyref.experiment.recipe import SECTIONS, STAGED, Recipe, Stage, keys_of, recipe_of

Tables = dict[str, Any]
_SETTING = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=])*)=(.*)""", re.DOTALL)
_NO_STAGES = '"stage" is no list of tables; begin each stage with [[stage]]'


def read_recipe(
    recipe: str | PathLike[str] | Mapping[str, Any],
    *,
    overrides: Sequence[str | PathLike[str]] = (),
    settings: Iterable[str] = (),
) -> Recipe:
    """Read a recipe, or take its tables. Files of `overrides` come over it one after the other, then `settings` such as
    "fit.epochs=3".

    They change a key wherever the recipe sets it, else for all stages; "stage.pretrain.fit.epochs=3" is for one stage.
    An empty value takes a key out.
    """
    base, content = (Layer(0, ""), _copied(recipe)) if isinstance(recipe, Mapping) else _read(recipe, 0)
    origins = Origins()
    origins.note_all(base, content)
    layers = [_read(path, number) for number, path in enumerate(overrides, 1)]
    layers += [
        (Layer(number, f"--set {setting}"), _setting(setting))
        for number, setting in enumerate(settings, len(layers) + 1)
    ]
    for layer, changes in layers:
        _override(content, changes, layer, origins)
    try:
        return recipe_of(content)
    except RecipeError as error:
        raise SettingsError(origins.blamed(error, base)) from None


def _copied(value: Any) -> Any:
    """Tables and lists of its own: what a caller gave stays as it is."""
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list | tuple) else value


# -- overriding -----------------------------------------------------------------------------------------------------


def _override(content: Tables, changes: Tables, layer: Layer, origins: Origins) -> None:
    """Change a recipe: each key wherever the recipe sets it, at the top or in stages; for all stages where it does not.

    Tables are merged key by key. Changes under a stage's name are for that stage alone.
    """
    try:
        for place, at, value in list(_changes(content, changes)):
            _put(content, place, value)
            origins.note(place, layer, at)
    except RecipeError as error:
        lines = {line_of(layer.text, key) for key in error.keys}
        raise SettingsError(said_of(layer, str(error), lines.pop() if len(lines) == 1 else None)) from None


def _changes(content: Tables, changes: Tables) -> Iterator[tuple[Place, Place, Any]]:
    """What to put where; and where it stands among the changes."""
    listed = content.get("stage")
    stages: list[Any] = listed if isinstance(listed, list) else []
    everywhere = {section: table for section, table in changes.items() if section != "stage"}
    for key, value in _leaves(everywhere):
        if value is None:
            _check_known(key, list(SECTIONS))
        setting = [number for number, stage in enumerate(stages) if _has(stage, key)]
        for number in setting:
            yield ("stage", number, *key), key, value
        if not setting or _has(content, key):
            yield key, key, value
    names = [str(stage.get("name", "")) if isinstance(stage, Mapping) else "" for stage in stages]
    for name, at, own in _by_stage(changes.get("stage", {})):
        if not name or name not in names:
            raise RecipeError(f'there is no stage "{name}" to change; name one of the recipe', at)
        for key, value in _leaves(own):
            if value is None:
                _check_known(key, list(STAGED))
            yield ("stage", names.index(name), *key), (*at, *key), value


def _by_stage(given: Any) -> Iterator[tuple[str, Place, Tables]]:
    """Changes of single stages, whether they come as [[stage]] or as stage.NAME."""
    if not isinstance(given, Mapping | list) or (
        isinstance(given, list) and not all(isinstance(one, Mapping) for one in given)
    ):
        raise RecipeError(_NO_STAGES, ("stage",))
    if isinstance(given, list):
        yield from ((str(one.get("name", "")), ("stage", number), one) for number, one in enumerate(given))
        return
    for name, table in given.items():
        if not isinstance(table, Mapping):
            raise RecipeError(
                f'"stage.{name}" is {table}; give a table, or a key such as stage.{name}.fit.epochs', ("stage", name)
            )
        yield name, ("stage", name), dict(table)


def _leaves(table: Mapping[str, Any], at: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Keys that hold values. An empty table is one: it may switch something on."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*at, name))
        else:
            yield (*at, name), value


def _has(table: Any, key: Key) -> bool:
    for name in key:
        if not isinstance(table, Mapping) or name not in table:
            return False
        table = table[name]
    return True


def _put(content: Any, place: Place, value: Any) -> None:
    """Set a key, or take it out if the value is None."""
    *tables, last = place
    for name in tables:
        content = content[name] if isinstance(name, int) else content.setdefault(name, {})
        if not isinstance(content, dict | list):
            return  # no table, which the recipe will be told
    if value is None:
        content.pop(last, None)
    elif not (value == {} and isinstance(content.get(last), dict)):
        content[last] = value


def _check_known(key: Key, sections: list[str]) -> None:
    """What is taken out need not be there, but there must be such a key."""
    nearest("section", key[:1], sections)
    if key[0] != "grid" and len(key) > 1:
        nearest(f"key of [{key[0]}]", [".".join(key[1:])], keys_of(key[0]))


# -- reading --------------------------------------------------------------------------------------------------------


def _setting(text: str) -> Tables:
    """`a.b=value` as tables; a value that is no TOML is a text."""
    parts = _SETTING.fullmatch(text)
    names = parts_of(parts[1].strip()) if parts else None
    if parts is None or names is None or len(names) < 2 or not all(names):
        raise SettingsError(f'"{text}" sets nothing; write section.key=value, such as fit.epochs=3')
    found: Any = None
    if parts[2].strip():
        try:
            found = tomllib.loads(f"value = {parts[2]}")["value"]
        except ValueError:  # no TOML, or a number with thousands of digits
            found = parts[2].strip()
    for name in reversed(names):
        found = {name: found}
    tables: Tables = found
    return tables


def _read(path: str | PathLike[str], number: int) -> tuple[Layer, Tables]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        return Layer(number, str(path), text), tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", "check the path", file=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is no text", "give a recipe in TOML", file=str(path)) from None
    except ValueError as error:  # of TOML, and of numbers with thousands of digits
        raise InputError(f"is no TOML ({error})", "repair it", file=str(path)) from None


# -- writing --------------------------------------------------------------------------------------------------------


def toml_of(stage: Stage) -> str:
    """A stage as a recipe of its own: every key, with its value."""
    return "\n".join(_section(name, values) for name, values in stage.content().items())


def recipe_toml(recipe: Recipe) -> str:
    """A recipe as one file: every key with its value, for all stages where they agree, else in each."""
    first = recipe.stages[0]
    contents = [stage.content() for stage in recipe.stages]
    shared = {
        section: {key: value for key, value in values.items() if all(one[section][key] == value for one in contents)}
        for section, values in contents[0].items()
    }
    shared["run"] |= {"output": recipe.output, "init_from": first.run.init_from}
    texts = [_section(name, values) for name, values in shared.items() if values]
    if first.name:
        for stage, content in zip(recipe.stages, contents, strict=True):
            texts.append(f"[[stage]]\nname = {toml_value(stage.name)}\n")
            for section in STAGED:
                own = {key: value for key, value in content[section].items() if key not in shared[section]}
                texts += [_section(f"stage.{section}", own)] if own else []
    if recipe.grid:
        texts.append(_section("grid", recipe.grid))
    return "\n".join(texts)


def _section(name: str, values: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {toml_value(value)}\n" for key, value in values.items() if value is not None]
    return "".join([f"[{name}]\n", *lines])


def toml_value(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{_key(key)} = {toml_value(one)}" for key, one in value.items() if one is not None) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    # Texts, numbers and truths are written alike in JSON, but for one sign.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_value(name)
