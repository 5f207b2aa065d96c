"""Read a recipe from TOML, override it, and write it down whole.

In:   files; `section.key=value` from the command line.
Out:  a Recipe, or an error that names the file and line where a key was set; TOML text; a table of all keys.
Not:  which keys there are (recipe.py).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from polyref.errors import InputError, SettingsError
from polyref.experiment.recipe import (
    BEAMS,
    SECTIONS,
    STAGED,
    Place,
    Recipe,
    RecipeError,
    Stage,
    has,
    keys_of,
    names_of,
    recipe_of,
    stages_of,
)
from polyref.settings import refuse_unknown

Tables = dict[str, Any]
Key = tuple[str, ...]
_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s."'=\[\]{}#]+))\s*(\.|$)""")
_HEADER = re.compile(r"(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=#])+)=\s*(.)""")


_SETTING = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=])*)=(.*)""", re.DOTALL)


def read_recipe(
    recipe: str | PathLike[str] | Mapping[str, Any],
    overrides: Iterable[str] = (),
    override_files: Sequence[str | PathLike[str]] = (),
) -> Recipe:
    """Read a recipe, or take its tables. `override_files` come over it one after the other, then `overrides` such as
    "fit.epochs=3".

    They change a key wherever the recipe sets it, else for all stages; "stage.pretrain.fit.epochs=3" is for one stage.
    An empty value takes a key out.
    """
    base, content = (Layer(0, ""), _copied(recipe)) if isinstance(recipe, Mapping) else _read(recipe, 0)
    origins = Origins()
    origins.note_all(base, content)
    layers = [_read(path, number) for number, path in enumerate(override_files, 1)]
    layers += [
        (Layer(number, f"--set {setting}"), _setting(setting))
        for number, setting in enumerate(overrides, len(layers) + 1)
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
    except SettingsError as error:
        lines = {line_of(layer.text, tuple(key.split("."))) for key in (error.key, *error.also) if key}
        raise SettingsError(said_of(layer, str(error), lines.pop() if len(lines) == 1 else None)) from None


def _changes(content: Tables, changes: Tables) -> Iterator[tuple[Place, Place, Any]]:
    """What to put where; and where it stands among the changes."""
    listed = content.get("stage")
    stages: list[Any] = listed if isinstance(listed, list) else []
    everywhere = {section: table for section, table in changes.items() if section != "stage"}
    for key, value in _leaves(everywhere):
        if value is None:
            _check_known(key, [*SECTIONS, "grid"])
        setting = [number for number, stage in enumerate(stages) if has(stage, key)]
        for number in setting:
            yield ("stage", number, *key), key, value
        if not setting or has(content, key):
            yield key, key, value
    names = [str(stage.get("name", "")) if isinstance(stage, Mapping) else "" for stage in stages]
    for name, at, own in _by_stage(changes.get("stage", {})):
        if not name or name not in names:
            also = (".".join(map(str, at)),)
            raise SettingsError(f'there is no stage "{name}" to change', "name one of the recipe", also=also)
        for key, value in _leaves(own):
            if value is None:
                _check_known(key, list(STAGED))
            yield ("stage", names.index(name), *key), (*at, *key), value


def _by_stage(given: Any) -> Iterator[tuple[str, Place, Tables]]:
    """Changes of single stages, whether they come as [[stage]] or as stage.NAME."""
    if not isinstance(given, Mapping):
        given = stages_of({"stage": given})
    if isinstance(given, list):
        yield from ((str(one.get("name", "")), ("stage", number), one) for number, one in enumerate(given))
        return
    for name, table in given.items():
        if not isinstance(table, Mapping):
            cure = f"give a table, or a key such as stage.{name}.fit.epochs"
            raise SettingsError(f"is {table}", cure, key=f"stage.{name}")
        yield name, ("stage", name), dict(table)


def _leaves(table: Mapping[str, Any], at: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Keys that hold values. An empty table is one: it may switch something on."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*at, name))
        else:
            yield (*at, name), value


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
    refuse_unknown("section", key[:1], sections)
    if key[0] != "grid" and len(key) > 1:
        refuse_unknown(f"key of [{key[0]}]", [".".join(key[1:])], names_of(key[0]))


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
        raise InputError("is not text", "give a recipe in TOML", file=str(path)) from None
    except ValueError as error:  # of TOML, and of numbers with thousands of digits
        raise InputError(f"is not TOML ({error})", "repair it", file=str(path)) from None


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


# -- the table of keys ----------------------------------------------------------------------------------------------


def table_of_keys() -> str:
    """All keys in a Markdown table with their defaults and meanings, for docs and `polyref train --keys`."""
    rows = ["| key | default | |", "|---|---|---|"]
    for name, (defaults, help) in _described().items():
        default = " or ".join(f"`{toml_value(one)}`" for one in defaults if one is not None)
        rows.append(f"| `{name}` | {default} | {help} |")
    return "\n".join(rows) + "\n"


def _described() -> dict[str, tuple[list[Any], str]]:
    """Each key with its defaults (both where those of the two models differ) and its meaning."""
    found: dict[str, tuple[list[Any], str]] = {}
    for section in SECTIONS:
        if section == "model":
            found["model.kind"] = ["translator"], "translator or captioner."
        for key in keys_of(section):
            name, declared = f"{section}.{key.name}", key.declared
            unset = f" Without it: {declared.unset}." if declared.unset else ""
            defaults, _ = found.setdefault(name, ([], declared.help + unset))
            default = [getattr(beam, key.name) for beam in BEAMS.values()] if section == "beam" else [key.default]
            defaults += [one for one in default if key.table is None and one not in defaults]
    found["expand.per_example"] = [], f"{found['expand.per_example'][1]} Without it, the training set is used as it is."
    return found


# -- where keys are set ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layer:
    """Something that sets keys. The later one has the higher number; `text` is a file's content."""

    number: int
    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Origins:
    """For each place in a recipe, the layer that set it last, and where in that layer."""

    found: dict[Place, tuple[Layer, Place]] = field(default_factory=dict)

    def note(self, place: Place, layer: Layer, at: Place) -> None:
        self.found[place] = layer, at
        for size in range(1, len(place)):  # its tables are whoever's who began them
            self.found.setdefault(place[:size], (layer, at[: max(0, len(at) - len(place) + size)]))

    def note_all(self, layer: Layer, content: Mapping[str, Any]) -> None:
        for place in _places(content):
            self.found[place] = layer, place

    def blamed(self, error: RecipeError, recipe: Layer) -> str:
        """The error with the file and the line that it lies in, those of the recipe itself if nothing else is known."""
        stage: Place = () if error.stage is None else ("stage", error.stage)
        origins = [self.found.get((*stage, *key)) or self.found.get(key) for key in error.places]
        known = [origin for origin in origins if origin is not None]
        layer = max((layer for layer, _ in known), key=lambda layer: layer.number, default=recipe)
        lines = {line_of(layer.text, at) for one, at in known if one is layer}
        return said_of(layer, str(error), lines.pop() if len(lines) == 1 else None)


def said_of(layer: Layer, text: str, line: int | None = None) -> str:
    """A message with where it comes from; tables that are given in Python have no name."""
    place = layer.name if line is None else f"{layer.name}:{line}"
    return f"{place}: {text}" if place else text


def _places(content: Any, at: Place = ()) -> Iterator[Place]:
    if at:
        yield at
    inner = content.items() if isinstance(content, Mapping) else enumerate(content) if _is_stages(at, content) else []
    for key, value in inner:
        yield from _places(value, (*at, key))


def _is_stages(at: Place, content: Any) -> bool:
    return at == ("stage",) and isinstance(content, list)


# -- lines of TOML --------------------------------------------------------------------------------------------------


def line_of(text: str, place: Place) -> int | None:
    """The line of TOML that sets a key or begins a table; None where that is not plain."""
    if '"""' in text or "'''" in text:
        return None  # lines of a long text may look like anything
    lines = [number for number, at, is_table in _settings(text) if at == place or (is_table and at == place[: len(at)])]
    return lines[0] if len(lines) == 1 else None


def _settings(text: str) -> Iterator[tuple[int, Place, bool]]:
    """The lines that set a key or begin a table: number, place, and whether the value is a table in that line."""
    table: Place = ()
    stages = -1
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.fullmatch(line.strip())
        if header:
            names = parts_of(header[2]) or []
            stages += header[1] == "[[" and names == ["stage"]
            table = ("stage", stages, *names[1:]) if names[:1] == ["stage"] and stages >= 0 else tuple(names)
            yield number, table, False
            continue
        key = _KEY.match(line)
        names = (parts_of(key[1]) or []) if key else []
        if key and names:
            yield number, (*table, *names), key[2] == "{"


def parts_of(key: str) -> list[str] | None:
    """The parts of a key with dots, some of them perhaps in quotes; None if it is no key."""
    parts: list[str] = []
    end = 0
    while True:
        found = _PART.match(key, end)
        if found is None:
            return None
        parts.append(next(part for part in found.groups()[:3] if part is not None))
        end = found.end()
        if found[4] != ".":
            return parts if end == len(key) else None
