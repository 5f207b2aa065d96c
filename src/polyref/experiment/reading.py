"""Read a recipe from TOML, override it, and write it down whole.

In:   files; `section.key=value` from the command line.
Out:  a Recipe, or an error that names the file and line where a key was set; TOML text; a table of all keys.
Not:  which keys there are (recipe.py).
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from polyref.errors import InputError, SettingsError
from polyref.experiment.recipe import (
    SECTIONS,
    STAGED,
    Place,
    Recipe,
    RecipeError,
    Stage,
    blamed,
    find_key,
    has,
    keys_of,
    leaves,
    recipe_of,
    stages_of,
)
from polyref.files import reading
from polyref.model.settings import KINDS
from polyref.settings import refuse_unknown, shown

Tables = Mapping[str, Any]
Key = tuple[str, ...]
Origins = dict[Place, tuple[int, Place]]  # of keys that a layer over the recipe sets: its number, and where there
_NAME = r"""\s*(?:"[^"]+"|'[^']+'|[^\s."'=\[\]{}#]+)\s*"""  # a part of a key, perhaps in quotes
_SETTING = re.compile(rf"({_NAME}(?:\.{_NAME})+)=(.*)", re.DOTALL)
_MOST_CHARACTERS, _MOST_LEVELS = 2**16, 32  # no recipe needs more, and more can take hours to parse
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+\s*\.\s*){{{_MOST_LEVELS}}}")


def read_recipe(
    recipe: str | PathLike[str] | Mapping[str, Any],
    overrides: Iterable[str] = (),
    override_files: Sequence[str | PathLike[str]] = (),
    layers: Sequence[Layer] = (),
) -> Recipe:
    """Read a recipe, or take its tables. `override_files` come over it one after the other, then `layers`, then
    `overrides` such as "fit.epochs=3".

    They change a key wherever the recipe sets it, else for all stages; "stage.pretrain.fit.epochs=3" is for one stage.
    An empty value takes a key out.
    """
    base = Layer("", recipe) if isinstance(recipe, Mapping) else read_layer(recipe)
    layers = [base, *map(read_layer, override_files), *layers, *(Layer(one[:200], _setting(one)) for one in overrides)]
    content = _copied(base.tables)
    origins: Origins = {}
    for number, layer in enumerate(layers[1:], 1):
        try:
            for place, at, value in list(_changes(content, layer.tables)):
                _put(content, place, value)
                origins[place] = number, at
        except RecipeError as error:
            raise SettingsError(layer.blamed(str(error), error.places)) from None
    try:
        return recipe_of(content)
    except RecipeError as error:
        raise SettingsError(_with_place(error, content, layers, origins)) from None


def _copied(value: Any) -> Any:
    """Tables and lists of its own: what a caller gave stays as it is."""
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list | tuple) else value


# -- overriding -----------------------------------------------------------------------------------------------------


def _changes(content: Tables, changes: Tables) -> Iterator[tuple[Place, Place, Any]]:
    """What to put where, and its place among the changes: each key wherever the recipe sets it, at the top or in
    stages; for all stages where it does not. Changes under a stage's name are for that stage alone."""
    listed = content.get("stage")
    stages: list[Any] = listed if isinstance(listed, list) else []
    for key, value in leaves({section: table for section, table in changes.items() if section != "stage"}):
        _check_removal(key, value, list(SECTIONS))
        setting = [number for number, stage in enumerate(stages) if has(stage, key)]
        for number in setting:
            yield ("stage", number, *key), key, value
        if not setting or has(content, key):
            yield key, key, value
    names = [str(stage.get("name", "")) if isinstance(stage, Mapping) else "" for stage in stages]
    for at, name, own in _by_stage(changes.get("stage", {})):
        if not name or name not in names:
            raise RecipeError(f'there is no stage "{name}" to change; name one of the recipe', [at])
        for key, value in leaves(own):
            _check_removal(key, value, list(STAGED))
            yield ("stage", names.index(name), *key), (*at, *key), value


def _by_stage(given: Any) -> Iterator[tuple[Place, str, Tables]]:
    """Changes of single stages, whether they come as [[stage]] or as stage.NAME: where, its name, and what."""
    if isinstance(given, Mapping):
        for name, table in given.items():
            if not isinstance(table, Mapping):
                text = f"stage.{name} is {shown(table)}; give a table, or a key such as stage.{name}.fit.epochs"
                raise RecipeError(text, [("stage", name)])
            yield ("stage", name), name, dict(table)
        return
    with blamed():
        stages = stages_of({"stage": given})
    yield from ((("stage", number), str(one.get("name", "")), one) for number, one in enumerate(stages))


def _check_removal(key: Key, value: Any, sections: list[str]) -> None:
    """What is taken out need not be there, but there must be such a key."""
    if value is None:
        with blamed():
            refuse_unknown("section", key[:1], sections)
            if len(key) > 1:
                find_key(key[0], ".".join(key[1:]))


def _put(content: Any, place: Place, value: Any) -> None:
    """Set a key, or take it out if the value is None."""
    *tables, last = place
    for name in tables:
        content = content[name] if isinstance(name, int) else content.setdefault(name, {})
        if not isinstance(content, dict | list):
            return  # not a table, which the recipe will be told
    if value is None:
        content.pop(last, None)
    elif not (value == {} and isinstance(content.get(last), dict)):
        content[last] = value


# -- reading --------------------------------------------------------------------------------------------------------


def _setting(text: str) -> Tables:
    """`a.b=value` as tables; a value that is not TOML is a string."""
    parts = _SETTING.fullmatch(text)
    if parts is None:
        raise SettingsError(f'"{text}" sets nothing; write section.key=value, such as fit.epochs=3')
    found: Any = None
    if parts[2].strip():
        try:
            found = _parsed(f"value = {parts[2]}")["value"]
        except ValueError:  # not TOML, or a number with thousands of digits
            found = parts[2].strip()
    for name in reversed(re.findall(_NAME, parts[1])):
        found = {name.strip().strip("\"'"): found}
    tables: Tables = found
    return tables


def read_layer(path: str | PathLike[str]) -> Layer:
    """The tables of a TOML file."""
    try:
        with reading(path):
            text = Path(path).read_text(encoding="utf-8-sig")
        return Layer(str(path), _parsed(text), text)
    except UnicodeDecodeError:
        raise InputError("is not text", "give a recipe in TOML", file=str(path)) from None
    except _TooMuchError as error:
        raise InputError(str(error), "give a recipe", file=str(path)) from None
    except ValueError as error:  # of TOML, and of numbers with thousands of digits
        raise InputError(f"is not TOML ({error})", "repair it", file=str(path)) from None


class _TooMuchError(ValueError):
    """Perhaps TOML, but no recipe."""


def _parsed(text: str) -> dict[str, Any]:
    """The tables of a text in TOML; a ValueError if it is not, or if no recipe looks like that."""
    if len(text) > _MOST_CHARACTERS:
        raise _TooMuchError(f"has more than {_MOST_CHARACTERS:,} characters")
    with suppress(RecursionError):
        if not _DEEP_KEY.search(text) and _levels(found := tomllib.loads(text)) <= _MOST_LEVELS:
            return found
    raise _TooMuchError(f"has more than {_MOST_LEVELS} levels of tables and lists")


def _levels(value: Any) -> int:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return 1 + max(map(_levels, inner), default=0)


# -- writing --------------------------------------------------------------------------------------------------------


def toml_of(stage: Stage) -> str:
    """A stage as a recipe of its own: every key, with its value."""
    return "\n".join(_section(name, values) for name, values in stage.content().items())


def recipe_toml(recipe: Recipe) -> str:
    """A recipe as one file: every key with its value, for all stages where they agree, else in each."""
    first = recipe.stages[0]
    contents = [stage.content() for stage in recipe.stages]
    shared = {
        section: {
            key: value for key, value in values.items() if all((key, value) in one[section].items() for one in contents)
        }
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
    return "\n".join(texts)


def _section(name: str, values: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {toml_value(value)}\n" for key, value in values.items() if value is not None]
    return "".join([f"[{name}]\n", *lines])


def toml_value(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        inner = [f"{_key(key)} = {toml_value(one)}" for key, one in value.items() if one is not None]
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    # Texts, numbers and truths are written alike in JSON, but for one sign.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_value(name)


# -- the table of keys ----------------------------------------------------------------------------------------------


def table_of_keys() -> str:
    """All keys in a Markdown table with their defaults and meanings, as the page about recipes has it."""
    rows = ["| key | default | |", "|---|---|---|"]
    for name, (defaults, help) in _described().items():
        default = " or ".join(f"`{toml_value(one)}`" for one in defaults if one is not None)
        rows.append(f"| `{name}` | {default} | {help} |")
    return "\n".join(rows) + "\n"


def _described() -> dict[str, tuple[list[Any], str]]:
    """Each key with its defaults (both where those of the two models differ) and its meaning."""
    found: dict[str, tuple[list[Any], str]] = {}
    for section in SECTIONS:
        for key in keys_of(section):
            if section == "validation" and key.name.startswith("beam."):
                continue  # the same as in [beam]
            unset = f" Without it: {key.declared.unset}." if key.declared.unset else ""
            meaning = f"{key.declared.help} {key.declared.more}".rstrip() + unset
            known, _ = found.setdefault(f"{section}.{key.name}", ([], meaning))
            of_key = [getattr(kind.beam, key.name) for kind in KINDS.values()] if section == "beam" else [key.default]
            known += [] if key.table is not None else [one for one in dict.fromkeys(of_key) if one not in known]
    found["expand.per_example"] = [], f"{found['expand.per_example'][1]} Without it, the training set is used as it is."
    return found


# -- where keys are set ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layer:
    """Something that sets keys: tables, and for a file its text, where they may be under another table. Tables that
    are given in Python have no name."""

    name: str
    tables: Tables
    text: str = ""
    under: Place = ()

    def blamed(self, text: str, places: Iterable[Place]) -> str:
        """A message with the name of the layer, and the line where that is plain."""
        lines = set(map(self.line_of, places))
        where = self.name + (f":{line}" if len(lines) == 1 and (line := lines.pop()) else "")
        return f"{where}: {text}" if where else text

    def line_of(self, place: Place) -> int:
        """The line of a file that sets a key or begins a table: the first one with which the text has it; 0: none."""
        lines = self.text.split("\n")

        def is_set(count: int) -> bool:
            for end in range(count, len(lines)):
                with suppress(ValueError):  # it ends inside a value of several lines
                    return has(tomllib.loads("\n".join(lines[:end])), (*self.under, *place))
            return has(self.tables, place)

        return bisect_left(range(len(lines) + 1), True, key=is_set) if self.text and has(self.tables, place) else 0


def _with_place(error: RecipeError, content: Tables, layers: Sequence[Layer], origins: Origins) -> str:
    """The error with the file and the line that it lies in: those of the recipe itself if nothing else is known."""
    found: list[tuple[int, Place]] = []
    for key in error.places:
        in_stage: Place = ("stage", -1 if error.stage is None else error.stage, *key)
        place = in_stage if in_stage in origins or has(content, in_stage) else key
        if place in origins:
            found.append(origins[place])
        elif has(layers[0].tables, place):
            found.append((0, place))
        else:  # a table is whoever's who began it
            begun = [(*origins[one], len(one)) for one in origins if one[: len(place)] == place]
            found += [(number, at[: len(at) - length + len(place)]) for number, at, length in begun[:1]]
    last = max((number for number, _ in found), default=0)
    return layers[last].blamed(str(error), [place for number, place in found if number == last])
