"""A setting is declared once: its default, its help, its bounds and its choices.

In:   a class with annotated fields, each given by `setting` or `required`, or by `part` where it is a group of them.
Out:  a frozen dataclass that checks its own values; a list of its keys, from which options, recipes and docs are made.
Not:  options (cli/options.py), recipes (experiment/recipe.py), what the settings do (their rooms).

    @settings(group="Search")
    class SearchSettings:
        seed: int = setting(0, "Decides between equal scores.", at_least=-(2**63), below=2**63)

A field of another settings class is a table with keys of its own (`decay.factor`). The keys of a `part` are among those
of the class that holds it: `ExpandSettings().align.penalty` has the key `penalty`. A class may have a method
`check_together` for what depends on several settings. Help shows the options of a group together.
"""

from __future__ import annotations

import math
import os
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from polyref.errors import SettingsError

Made = TypeVar("Made")
_KNOWN: dict[Any, tuple[tuple[Any, Declared, Any], ...]] = {}
_RIGHT: set[int] = set()  # the fields whose default was found to be right, by id: they are kept for good
_GROUPS: dict[Any, str] = {}
_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
_LONGEST = 200  # characters of a value that messages quote
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # halves of surrogate pairs have no place in Unicode
_LARGEST = 2**64  # no library that numbers are passed on to takes larger ones


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared about a setting beside its type and default."""

    help: str = ""  # one line of a help page
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    more: str = ""  # what the table of keys adds to the help
    hint: str = ""  # added to the cure of a wrong value
    unset: str = ""  # what happens where the value is None
    key: str = ""  # its name outside the class, if not that of the field
    off: str = ""  # help of the option that switches it off, if it is on by default
    option: str = ""  # its name on the command line, if not made from the key
    short: str = ""  # a second, short name there
    metavar: str = ""  # what stands for its value in help
    needs: tuple[str, Any] | None = None  # (key, value): without this one it has no effect
    clean: Callable[[Any], Any] | None = None  # brings a string, or a list of them, into its one spelling
    is_part: bool = False


def setting(default: Any, help: str = "", **declared: Any) -> Any:
    """A setting; `declared` are fields of `Declared`."""
    return field(default=default, metadata={"declared": Declared(help, **declared)})


def required(help: str, **declared: Any) -> Any:
    """A setting without a default: it must be given."""
    return field(metadata={"declared": Declared(help, **declared)})


def part(group: type[Made], **usual: Any) -> Made:
    """A group of settings whose keys are among those of the class that holds it; `usual` are other defaults there."""
    made: Made = field(default_factory=lambda: group(**usual), metadata={"declared": Declared(is_part=True)})
    return made


@overload
def settings(made: type[Made]) -> type[Made]: ...
@overload
def settings(*, group: str) -> Callable[[type[Made]], type[Made]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(required,))
def settings(made: Any = None, *, group: str = "") -> Any:
    """Make a frozen dataclass whose values are checked. `group` is the heading of its options in help."""

    def make(made: Any) -> Any:
        made.__post_init__ = _check
        made = dataclass(frozen=True, slots=True)(made)
        _GROUPS[made] = group
        return made

    return make if made is None else make(made)


@dataclass(frozen=True, slots=True)
class Key:
    """A setting as seen from outside. `table` is set for a key that holds a table; its own keys follow it."""

    name: str  # "penalty", or "decay.factor" inside a table
    kind: Any
    default: Any
    declared: Declared
    table: Any = None
    group: str = ""  # the heading in help


def keys(group: Any, usual: Any = None, heading: str = "") -> Iterator[Key]:
    """All keys of a settings class. `usual` is an instance whose values are the defaults.

    A class without a group of its own belongs to that of the class that holds it, `heading`.
    """
    heading = _GROUPS.get(group) or heading
    for one, declared, kind in _declared(group):
        if declared.is_part:
            yield from keys(kind, one.default_factory() if usual is None else getattr(usual, one.name), heading)
            continue
        default = one.default if usual is None else getattr(usual, one.name)
        name = declared.key or one.name
        table = next(filter(is_dataclass, choices(kind)), None)
        yield Key(name, kind, None if default is MISSING else default, declared, table, heading)
        if table is not None:
            inner = default if is_dataclass(default) else None
            yield from (replace(key, name=f"{name}.{key.name}") for key in keys(table, inner, heading))


def option_name(key: Key) -> str:
    """The option of a setting: `--penalty-start` of penalty_start."""
    return key.declared.option or "--" + key.name.replace("_", "-").replace(".", "-")


def build(group: type[Made], given: Mapping[str, Any], usual: Made | None = None) -> Made:
    """Settings from keys and their values. What is not given is as in `usual`, or has its default."""
    refuse_unknown("key", given, [key.name for key in keys(group) if "." not in key.name])
    return _build(group, given, usual)


def _build(group: type[Made], given: Mapping[str, Any], usual: Made | None) -> Made:
    values: dict[str, Any] = {}
    for one, declared, kind in _declared(group):
        before = getattr(usual, one.name) if usual is not None else MISSING
        name = declared.key or one.name
        if declared.is_part:
            values[one.name] = _build(kind, given, one.default_factory() if before is MISSING else before)
        elif name in given:
            values[one.name] = _table(given[name], kind, before if before is not MISSING else one.default, name)
        elif before is not MISSING:
            values[one.name] = before
        elif one.default is MISSING:
            raise SettingsError("is missing", "give it", key=name)
    return group(**values)


def _table(value: Any, kind: Any, usual: Any, name: str) -> Any:
    """The settings of a table that sets some of its keys; any other value as it is."""
    table = next(filter(is_dataclass, choices(kind)), None)
    if table is None or not isinstance(value, Mapping):
        return value
    with within(name):
        return build(cast(Any, table), value, usual if isinstance(usual, cast(Any, table)) else None)


def check(key: Key, value: Any) -> None:
    """Refuse a value that a setting cannot have."""
    _checked(key.name, _table(value, key.kind, key.default, key.name), key.kind, key.declared)


def contents(made: Any) -> dict[str, Any]:
    """The values of settings by their keys; tables are dictionaries."""
    found: dict[str, Any] = {}
    for one, declared, _ in _declared(type(made)):
        value = getattr(made, one.name)
        if declared.is_part:
            found |= contents(value)
        else:
            found[declared.key or one.name] = contents(value) if is_dataclass(value) else value
    return found


@contextmanager
def within(table: str) -> Iterator[None]:
    """Errors that pass name their keys with the name of the table before them."""
    try:
        yield
    except SettingsError as error:
        error.key = error.key and f"{table}.{error.key}"
        error.also = tuple(f"{table}.{key}" for key in error.also)
        raise


def refuse_unknown(what: str, given: Sequence[str] | Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse the first name that is not known, and suggest the one that was probably meant."""
    for name in given:
        if name not in known:
            near = get_close_matches(str(name), known, 1, 0.5)
            all_known = ", ".join(one for one in known if "." not in one)
            cure = f'did you mean "{near[0]}"?' if near else f"choose from {all_known}"
            raise SettingsError(f"is not a known {what}", cure, key=str(name))


def table_of(value: Any, key: str, *, inline: bool = False) -> dict[str, Any]:
    """The table that a key of a TOML file has; anything else is refused. `inline`: one that is written in braces."""
    if not isinstance(value, Mapping):
        cure = f"write it as {key} = {{...}}" if inline else f"write it as [{key}]"
        raise SettingsError("is not a table", cure, key=key)
    return {str(name): one for name, one in value.items()}


# -- checking -------------------------------------------------------------------------------------------------------


def _declared(group: Any) -> tuple[tuple[Any, Declared, Any], ...]:
    """The fields of a settings class, what is declared about them, and their types."""
    if group not in _KNOWN:
        kinds = get_type_hints(group)
        _KNOWN[group] = tuple((one, one.metadata["declared"], kinds[one.name]) for one in fields(group))
    return _KNOWN[group]


def _check(self: Any) -> None:
    for one, declared, kind in _declared(type(self)):
        value = getattr(self, one.name)
        if declared.is_part:
            if not isinstance(value, kind):
                raise SettingsError(f"is {shown(value)}", f"give {kind.__name__}(...)", key=one.name)
            continue
        if value is one.default and id(one) in _RIGHT:
            continue
        checked = _checked(declared.key or one.name, value, kind, declared)
        if checked is not value:
            object.__setattr__(self, one.name, checked)
        elif value is one.default:
            _RIGHT.add(id(one))
    if hasattr(self, "check_together"):
        self.check_together()


def choices(kind: Any) -> tuple[Any, ...]:
    """The types that a value may have."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _checked(name: str, value: Any, kind: Any, declared: Declared) -> Any:
    """The value as it is kept; or an error that says what the setting takes."""
    kinds, given, verb = [one for one in choices(kind) if one is not type(None)], value, "is"
    takes_list = any(get_origin(one) is tuple for one in kinds)
    if declared.clean is not None and _is_text(value, in_list=takes_list):
        value = declared.clean(value)
    if value is None and type(None) in choices(kind):
        return None
    for one in kinds:
        taken = _taken(value, one, declared)
        if taken is not None:
            return taken
    words = words_of(kinds)
    if isinstance(value, list | tuple) and (items := [get_args(one)[0] for one in kinds if get_origin(one) is tuple]):
        wrong = [item for item in value if _taken(item, items[0], declared) is None]
        verb, given = ("holds", wrong[0]) if wrong else (verb, value)
        value = given
    near = get_close_matches(value, words, 1, 0.6) if isinstance(value, str) else []
    meant = f"did you mean {near[0]}? " if near and near[0] != value else ""
    cure = wanted(kind, declared)
    if isinstance(given, str) and str in kinds:
        cure = "give a string of Unicode characters, without \\0"
    elif value == math.inf and declared.at_most is declared.below is None:
        cure = cure.replace("a number", "a finite number")
    raise SettingsError(f"{verb} {shown(given)}", meant + cure, key=name)


def _is_text(value: Any, *, in_list: bool) -> bool:
    if not in_list:
        return isinstance(value, str)
    return isinstance(value, list | tuple | set | frozenset) and all(isinstance(one, str) for one in value)


def _taken(value: Any, kind: Any, declared: Declared) -> Any:
    """The value if it is one of this type and within bounds, else None."""
    if get_origin(kind) is Literal:
        same = [name for name in get_args(kind) if isinstance(value, str) and _plain(name) == _plain(value)]
        return same[0] if same else None
    if get_origin(kind) is tuple:
        if isinstance(value, str) or not isinstance(value, Sequence):
            return None
        inner = tuple(_taken(one, get_args(kind)[0], declared) for one in value)
        return None if None in inner else inner
    if kind is str:
        value = os.fspath(value) if isinstance(value, os.PathLike) else value
        return value if isinstance(value, str) and not _NO_TEXT.search(value) else None
    if kind is bool or is_dataclass(kind):
        return value if isinstance(value, kind) else None  # type: ignore[arg-type]
    if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
        return None
    return kind(value) if _is_within(value, declared) else None


def _plain(name: str) -> str:
    """A name as people may type it: "Sample_One" is sample-one."""
    return name.lower().replace("_", "-")


def _is_within(value: Any, declared: Declared) -> bool:
    if (not isinstance(value, float) and abs(value) >= _LARGEST) or not math.isfinite(value):
        return False
    bounds = (ge, declared.at_least), (le, declared.at_most), (gt, declared.above), (lt, declared.below)
    return all(bound is None or holds(value, bound) for holds, bound in bounds)


def words_of(kinds: Sequence[Any]) -> list[str]:
    """The names that a setting may be set to."""
    inner = [get_args(kind)[0] if get_origin(kind) is tuple else kind for kind in kinds]
    return [word.replace("_", "-") for kind in inner if get_origin(kind) is Literal for word in get_args(kind)]


def wanted(kind: Any, declared: Declared) -> str:
    """What a setting takes, as a cure: `give a number from 0 to 1, or adaptive`."""
    kinds = [one for one in choices(kind) if one is not type(None)]
    words = ", ".join(words_of(kinds))
    hint = f"{', ' if declared.hint.startswith('such') else ': '}{declared.hint}" if declared.hint else ""
    first = kinds[0]
    if get_origin(first) is Literal:
        return f"choose one of {words}{hint}"
    if get_origin(first) is tuple:
        inner = get_args(first)[0]
        plain = {int: "of whole numbers", float: "of numbers"}.get(inner, "of strings")
        listed = f"with any of {words}" if words else plain
        return f"give a list {listed}{_bounds(declared)}{hint}"
    if is_dataclass(first):
        return f"give a table{hint}"
    return f"give {_NAMES[first]}{_bounds(declared)}{f', or {words}' if words else ''}{hint}"


def _bounds(declared: Declared) -> str:
    bounds = declared.at_least, declared.at_most, declared.above, declared.below
    least, most, above, below = (_bound(one) for one in bounds)
    if least and (most or below):
        return f" from {least} to {most or f'less than {below}'}"
    if least:
        return f", {least} or more"
    end = f" and at most {most}" if most else f" and below {below}" if below else ""
    return f" above {above}{end}" if above else end.removeprefix(" and")


def _bound(value: float | None) -> str:
    """A bound in words; powers of two that nobody knows by heart as such."""
    if isinstance(value, int) and abs(value) >= 2**31 and abs(value).bit_count() == 1:
        return f"{'-' if value < 0 else ''}2^{abs(value).bit_length() - 1}"
    return "" if value is None else f"{value:,}"


def counted(number: int, what: str, several: str = "") -> str:
    """A number with its noun: `1 text`, `2,000 texts`."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def shown(value: Any) -> str:
    """A value in a message: strings in quotes, and what cannot be printed escaped."""
    if isinstance(value, str):
        text = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
        return '"' + text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0") + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return "a number with too many digits"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return repr(value) if isinstance(value, float) else str(value)
