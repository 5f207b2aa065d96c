"""Make settings of what a file says: right keys, right kinds of values.

In:   a table of keys and values, and the dataclass that it should become.
Out:  the dataclass; or a message that names the key and what it should be.
Not:  which sections there are (recipe.py), whether values make sense (each dataclass does that itself).
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from polyref.errors import SettingsError

Made = TypeVar("Made")


def nearest(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the first name that is not known, and name the one that was probably meant."""
    choices = list(known)
    for name in given:
        if name not in choices:
            close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
            cure = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(choices)}"
            raise SettingsError(f'unknown {what} "{name}"; {cure}')


def section_of(name: str, content: Mapping[str, Any], make: type[Made], **nested: Any) -> Made:
    """The settings of a section. `nested` are defaults for tables inside it, which need not give every key."""
    known = [one.name for one in fields(make)]  # type: ignore[arg-type]
    nearest(f"key of [{name}]", content, known)
    hints = get_type_hints(make)
    values = {key: _value(f"{name}.{key}", value, hints[key], nested.get(key)) for key, value in content.items()}
    try:
        return make(**values)
    except TypeError:
        missing = [one.name for one in fields(make) if one.name not in values and not _has_default(one)]  # type: ignore[arg-type]
        raise SettingsError(f'"{name}.{missing[0]}" is missing; give it') from None
    except SettingsError as error:
        raise SettingsError(f"[{name}]: {error}") from None


def _has_default(one: Any) -> bool:
    from dataclasses import MISSING

    return one.default is not MISSING or one.default_factory is not MISSING


def _value(key: str, value: Any, wanted: Any, usual: Any) -> Any:
    """The value, if it is of the kind that is wanted."""
    origin, choices = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in choices:
            return None
        kinds = [choice for choice in choices if choice is not type(None)]
        return _value(key, value, kinds[0], usual)
    if origin is Literal:
        if value not in choices:
            raise SettingsError(f'"{key}" is {_shown(value)}; choose one of {", ".join(map(str, choices))}')
        return value
    if is_dataclass(wanted):
        if not isinstance(value, Mapping):
            raise SettingsError(f'"{key}" is {_shown(value)}; give a table')
        start = {} if usual is None else asdict(usual)
        return section_of(key, {**start, **value}, wanted)  # type: ignore[arg-type]
    if origin is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(one, choices[0]) for one in value):
            raise SettingsError(f'"{key}" is {_shown(value)}; give a list of texts')
        return tuple(value)
    return _plain(key, value, wanted)


def _plain(key: str, value: Any, wanted: type) -> Any:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        kind = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[wanted]
        raise SettingsError(f'"{key}" is {_shown(value)}; give {kind}')
    return value


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
