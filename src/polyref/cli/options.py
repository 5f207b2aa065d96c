"""Options of the verbs: those made from settings, and those that several verbs share.

In:   a verb with parameters that are settings classes.
Out:  the same verb with one option for each setting; what it raises names options.
Not:  what the settings are (each room declares its own), the verbs.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from polyref.align import PRESETS
from polyref.data import Losses
from polyref.data.formats import SourceFormat
from polyref.errors import SettingsError
from polyref.settings import Key, build, contents, keys

ThemeName = Literal["light", "dark", "auto"]  # as the drawings have it; not taken from there, so that help starts fast

Input = Annotated[str, typer.Argument(metavar="FILE", help="Examples, in any format; - reads standard input.")]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Examples: JSON Lines, Parquet, COCO, Karpathy, CSV, TSV or parallel text; - reads standard input.",
    ),
]
SourcesFromOption = Annotated[
    SourceFormat | None, typer.Option("--from", help="Format of the input.  [default: told by the content]")
]
Id = Annotated[str | None, typer.Option("--id", metavar="ID", help="Only the example with this id.")]
PresetOption = Annotated[
    Literal["paper"] | None,
    typer.Option("--preset", help="paper: the paper's raw cosine and penalty 0.6, no veto, no position."),
]
ThemeOption = Annotated[
    ThemeName, typer.Option("--theme", help="Colours of a drawing: light, dark, or as the reader's system.")
]
TitleOption = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of a drawing.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one machine-readable object.")]


# -- options made from settings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """Marks a parameter that takes the settings of this class that were given, as a dictionary by key."""

    group: Any
    default: str = ""  # what the others are, in words


@dataclass(frozen=True, slots=True)
class _Group:
    """The options that a settings class becomes, by the names of the function's parameters."""

    made: Any
    keys: dict[str, Key]
    as_dictionary: bool

    def given(self, values: dict[str, Any]) -> dict[str, Any]:
        """Takes its options out of `values`; returns those that were given, by key."""
        found: dict[str, Any] = {}
        for name, key in self.keys.items():
            value = values.pop(name)
            if value is not None and value is not False:
                table, _, last = key.name.rpartition(".")
                place = found.setdefault(table, {}) if table else found
                place[last] = _parsed(key, value)
        return found


def from_settings(**left_out: tuple[str, ...]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace each parameter of a verb that is a settings class by options; `left_out` are keys without one."""

    def derive(verb: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(verb, include_extras=True)
        parameters: list[inspect.Parameter] = []
        groups: dict[str, _Group] = {}
        for one in inspect.signature(verb).parameters.values():
            hint = hints[one.name]
            given = next((mark for mark in get_args(hint)[1:] if isinstance(mark, Given)), None)
            if given is None and not is_dataclass(hint):
                parameters.append(one.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            made = hint if given is None else given.group
            chosen = [key for key in keys(made) if key.table is None and key.name not in left_out.get(one.name, ())]
            groups[one.name] = _Group(made, {_parameter_name(key): key for key in chosen}, given is not None)
            parameters += [_parameter(key, "" if given is None else given.default) for key in chosen]
        names = {key.name: option_name(key) for group in groups.values() for key in group.keys.values()}

        @wraps(verb)
        def run(**values: Any) -> None:
            try:
                given = {name: group.given(values) for name, group in groups.items()}
                preset = PRESETS[values.pop("preset")] if values.get("preset") else {}
                values.pop("preset", None)
                made = {
                    name: given[name] if group.as_dictionary else _built(group, given[name], preset)
                    for name, group in groups.items()
                }
                _check_needs(groups, given, made, names)
                verb(**values, **made)
            except SettingsError as error:
                raise SettingsError(error.said(lambda key: names.get(key, key))) from None

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return derive


def _built(group: _Group, given: dict[str, Any], preset: Mapping[str, Any]) -> Any:
    known = [key.name for key in group.keys.values()]
    return build(group.made, {**{key: value for key, value in preset.items() if key in known}, **given})


def _parameter_name(key: Key) -> str:
    return option_name(key).lstrip("-").replace("-", "_") + "_"  # one behind it: no other parameter has such a name


def option_name(key: Key) -> str:
    """The option of a setting: `--penalty-start` of penalty_start."""
    return key.declared.option or "--" + key.name.replace("_", "-").replace(".", "-")


def _parameter(key: Key, usual: str) -> inspect.Parameter:
    declared, kind = key.declared, _kind(key)
    default = f"  [default: {usual or _default(key)}]" if kind is not bool and (usual or _default(key)) else ""
    help = declared.off if key.default is True else declared.help + default
    names = [name for name in (declared.short, option_name(key)) if name]
    option = typer.Option(*names, metavar=declared.metavar or None, help=help, show_default=False)
    annotation = Annotated[kind if kind is bool else kind | None, option]  # type: ignore[valid-type]
    name = _parameter_name(key)
    empty = False if kind is bool else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=empty, annotation=annotation)


def _kind(key: Key) -> Any:
    """The type of a setting that typer knows; text where only the settings class can tell what it means."""
    kinds = [kind for kind in get_args(key.kind) or (key.kind,) if kind is not type(None)]
    if get_origin(key.kind) is Literal:
        kinds = [key.kind]
    is_simple = len(kinds) == 1 and (kinds[0] in (int, float, bool) or get_origin(kinds[0]) is Literal)
    return kinds[0] if is_simple and key.declared.clean is None else str


def _default(key: Key) -> str:
    if isinstance(key.default, tuple):
        return ",".join(map(str, key.default)) or "none"
    return key.declared.unset if key.default is None else str(key.default).replace("_", "-")


def _parsed(key: Key, value: Any) -> Any:
    """The value of a setting from what typer makes of an option."""
    if isinstance(key.default, bool):
        return not key.default
    kinds = get_args(key.kind) or (key.kind,)
    listed = next((kind for kind in (key.kind, *kinds) if get_origin(kind) is tuple), None)
    if listed is not None and isinstance(value, str):
        words = value.replace(",", " ").split()
        return (
            () if words == ["none"] else tuple(_number(word) if float in get_args(listed) else word for word in words)
        )
    return _number(value) if float in kinds and isinstance(value, str) else value


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _check_needs(
    groups: dict[str, _Group], given: Mapping[str, Any], made: Mapping[str, Any], names: Mapping[str, str]
) -> None:
    """Refuse an option that has no effect without another one."""
    values: dict[str, Any] = {}
    for name, group in groups.items():
        known = made[name] if group.as_dictionary else contents(made[name])
        values |= {
            **known,
            **{inner: one for table in known.values() if isinstance(table, dict) for inner, one in table.items()},
        }
    for name, group in groups.items():
        for key in group.keys.values():
            table, _, last = key.name.rpartition(".")
            if last not in (given[name].get(table, {}) if table else given[name]) or key.declared.needs is None:
                continue
            needed, value = key.declared.needs
            if needed in values and (values[needed] != value if value is not None else values[needed] is None):
                wanted = f"{names.get(needed, '--' + needed)}{'' if value is None else f' {value}'}"
                raise SettingsError(f"has no effect without {wanted}", "add that, or leave it out", key=key.name)


# -- what verbs say ---------------------------------------------------------------------------------------------------


def say_compiling() -> None:
    """Tell a person why nothing happens for a while."""
    sys.stderr.write("polyref: compiling the kernels, once on this machine (about a minute)\n")
    sys.stderr.flush()


def say_losses(name: str, verb: str, losses: Losses) -> None:
    """Tell a person what a format cannot hold."""
    if losses:
        sys.stderr.write(f"polyref: {printable(f'{name}: {verb}: {losses}')}\n")


def printable(text: str) -> str:
    """One line, whatever a text quotes."""
    return "".join([character if character.isprintable() else " " for character in text])


def is_standard_output(path: str) -> bool:
    """Whether a path names what standard output goes to, as /dev/stdout does."""
    try:
        return path == "-" or os.path.samestat(Path(path).stat(), os.fstat(1))
    except (OSError, ValueError):
        return False
