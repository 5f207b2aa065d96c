"""Make settings of what a file says: right keys, right kinds of values, and the key named that is wrong.

In:   a table of keys and values, and the dataclass that it should become.
Out:  the dataclass; or a message that names the key and what it should be.
Not:  which sections there are (recipe.py), in which file a key was set (origins.py), whether values make sense (each
      dataclass does that itself).
"""

from __future__ import annotations

import difflib
import math
import os
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from polyref.errors import SettingsError

Made = TypeVar("Made")
Key = tuple[str, ...]  # ("fit", "decay", "factor")
Place = tuple[str | int, ...]  # a key, or ("stage", 1, "fit", "epochs")
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_MOST = 2**32  # of whole numbers; far more than anything here can be, and less than what libraries stumble over


class RecipeError(SettingsError):
    """What is wrong with a recipe, in which keys, and in which of its stages, counted from 0, where it is one's own."""

    def __init__(self, text: str, *keys: Place, stage: int | None = None):
        super().__init__(text)
        self.keys = keys
        self.stage = stage


def nearest(what: str, given: Iterable[str], known: Iterable[str], at: Key = ()) -> None:
    """Refuse the first name that is not known, and name the one that was probably meant. `at` is where they are."""
    choices = list(known)
    for name in given:
        if name not in choices:
            close = difflib.get_close_matches(str(name), choices, n=1, cutoff=0.5)
            cure = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(choices)}"
            raise RecipeError(f'unknown {what} "{name}"; {cure}', (*at, name))


def section_of(name: str, content: Mapping[str, Any], make: type[Made], **nested: Any) -> Made:
    """The settings of a section. `nested` are defaults for tables inside it, which need not give every key."""
    at = tuple(name.split("."))
    needed = {one.name: not _has_default(one) for one in fields(make)}  # type: ignore[arg-type]
    nearest(f"key of [{name}]", content, needed, at)
    hints = get_type_hints(make)
    values = {key: _value((*at, key), value, hints[key], nested.get(key)) for key, value in content.items()}
    for key, is_needed in needed.items():
        if is_needed and key not in values:
            raise RecipeError(f'"{name}.{key}" is missing; give it', (*at, key))
    try:
        return make(**values)
    except SettingsError as error:
        text = _with_keys(str(error), needed)
        blamed = _blamed(make, values, needed, text)
        keys = [(*at, key) for key in blamed] or [at]
        raise RecipeError(_said(name, blamed, text), *keys) from None


def _has_default(one: Any) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


# -- which key is to blame ------------------------------------------------------------------------------------------


def _blamed(make: Any, values: dict[str, Any], needed: Mapping[str, bool], text: str) -> list[str]:
    """The keys without which all would be well; those that cannot be left out are known by what is said."""
    found = [key for key in values if not needed[key] and _passes(make, _without(values, [key]))]
    if found:
        return found
    must = [key for key in values if needed[key]]
    if len(must) > 1 or (must and _passes(make, _without(values, [key for key in values if not needed[key]]))):
        return [key for key in values if _begins_with(key, text)]
    return must


def _without(values: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


def _passes(make: Any, values: dict[str, Any]) -> bool:
    try:
        make(**values)
    except SettingsError:
        return False
    return True


def _said(name: str, blamed: list[str], text: str) -> str:
    """What a room says of its settings, in the words of a recipe: `[fit] epochs is 0; give 1 or more`."""
    if len(blamed) != 1:
        return f"[{name}]: {text}"
    begun = _begins_with(blamed[0], text)
    return f"[{name}] {blamed[0]}{text[begun.end() :]}" if begun else f"[{name}] {blamed[0]}: {text}"


def _begins_with(key: str, text: str) -> re.Match[str] | None:
    return re.match(rf"(the )?{re.escape(key).replace('_', '[_ ]')}\b(?!-)", text)


def _with_keys(text: str, known: Iterable[str]) -> str:
    """Rooms call their settings as commands do, with hyphens; a recipe has underscores."""
    for key in known:
        text = re.sub(rf"\b{key.replace('_', '-')}\b", key, text) if "_" in key else text
    return text


# -- values ---------------------------------------------------------------------------------------------------------


def _value(key: Key, value: Any, wanted: Any, usual: Any) -> Any:
    """The value, if it is of the kind that is wanted."""
    origin, choices = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in choices:
            return None
        kinds = [choice for choice in choices if choice is not type(None)]
        return _value(key, value, kinds[0], usual)
    if origin is Literal:
        if value not in choices:
            raise _refused(key, value, f"choose one of {', '.join(map(str, choices))}")
        return value
    if is_dataclass(wanted):
        if not isinstance(value, Mapping):
            raise _refused(key, value, "give a table")
        start = {} if usual is None else asdict(usual)
        return section_of(".".join(key), {**start, **value}, wanted)  # type: ignore[arg-type]
    if origin is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(one, choices[0]) for one in value):
            raise _refused(key, value, "give a list of texts")
        return tuple(_plain(key, one, choices[0]) for one in value)
    return _plain(key, value, wanted)


def _plain(key: Key, value: Any, wanted: type) -> Any:
    if wanted is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bool) and wanted is not bool:
        raise _refused(key, value, f"give {_KINDS[wanted]}")
    if isinstance(value, int | float | str):
        check_plain(key, value)
    if wanted is float and isinstance(value, int):
        return float(value)
    if not isinstance(value, wanted):
        raise _refused(key, value, f"give {_KINDS[wanted]}")
    return value


def check_plain(key: Key, value: int | float | str) -> None:
    """Refuse what no key can have: numbers without end, texts that no file can hold."""
    if isinstance(value, str):
        if "\0" in value or not _is_unicode(value):
            name = value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
            raise _refused(key, name, "give a text of Unicode characters")
    elif isinstance(value, float) and not math.isfinite(value):
        raise _refused(key, value, "give a finite number")
    elif isinstance(value, int) and abs(value) >= _MOST:
        raise RecipeError(f'"{".".join(key)}" is too large or too small a number; give one of fewer digits', key)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(key: Key, value: Any, cure: str) -> RecipeError:
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return RecipeError(f'"{".".join(key)}" is {shown}; {cure}', key)
