"""Options of the verbs: those made from settings, and those that several verbs share; what verbs say while they run.

In:   a verb with parameters that are settings classes.
Out:  the same verb with one option for each setting; what it raises names options.
Not:  what the settings are (each room declares its own), the verbs.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass
from functools import wraps
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO, TypeVar, get_args, get_origin, get_type_hints

import typer

from polyref.align import PRESETS, AlignSettings
from polyref.cli.help import MESSAGES
from polyref.data import Losses, ReadSettings
from polyref.data.formats import SourceFormat, format_of_name
from polyref.data.formats.format import NOTES
from polyref.errors import InputError, PolyrefError, SettingsError
from polyref.remote import path_at
from polyref.settings import Key, build, choices, keys, option_name, shown, wanted, words_of
from polyref.settings import counted as counted  # which the verbs use
from polyref.text.terminal import for_terminal
from polyref.text.terminal import printable as printable  # which the verbs use

if TYPE_CHECKING:
    from rich.progress import Progress

    from polyref.fit.loop import Step

Thing = TypeVar("Thing")
Show = Callable[[int, int], None]  # how far we are (in a file: the bytes behind us), and how many are done

_EXAMPLES = typer.Argument(metavar="FILE", help="Examples in any format (see --from); - is standard input.")
Input = Annotated[str, _EXAMPLES]
Inputs = Annotated[list[str], _EXAMPLES]
SourcesFromOption = Annotated[
    SourceFormat | None,
    typer.Option(
        "--from",
        help="Format of the input.  [default: told by the content]",
        rich_help_panel=next(keys(ReadSettings)).group,
    ),
]
PresetOption = Annotated[
    Literal["paper"] | None,
    typer.Option(
        "--preset",
        help="paper: raw cosine, penalty 0.6, no veto.",
        rich_help_panel=next(keys(AlignSettings)).group,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=MESSAGES)]
_QUIET = typer.Option("-q", "--quiet", help="Print results and errors only.", rich_help_panel=MESSAGES)
_VERBOSE = typer.Option(
    "-v", "--verbose", count=True, help="Log what is done; -vv in detail.", show_default=False, rich_help_panel=MESSAGES
)
_OF_EVERY_VERB = [
    inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, _QUIET]),
    inspect.Parameter("verbose", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=Annotated[int, _VERBOSE]),
]


def option(metavar: str, help: str, *names: str) -> Any:
    """An option, named after its parameter unless `names` are given."""
    return typer.Option(*names, metavar=metavar, help=help)


def output(help: str, metavar: str = "FILE") -> Any:
    """The option that names the output."""
    return option(metavar, help, "-o", "--output")


def argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help)


# -- options made from settings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """Marks a parameter that takes the settings of this class that were given, as a dictionary by key."""

    group: Any
    default: str = ""  # what the others are, in words
    needs: str = ""  # the option without which they have no effect


@dataclass(frozen=True, slots=True)
class _Group:
    """The options that a settings class becomes, by the names of the function's parameters."""

    made: Any
    keys: dict[str, Key]
    as_dictionary: bool

    def given(self, values: dict[str, Any]) -> dict[str, Any]:
        """Takes its options out of `values`; returns those that were given, by key."""
        found = [(key, values.pop(name)) for name, key in self.keys.items()]
        return {key.name: _parsed(key, value) for key, value in found if value is not None and value is not False}

    def built(self, given: Mapping[str, Any], preset: Mapping[str, Any]) -> Any:
        """The settings; the keys of a table in one dictionary."""
        tables = {key.name: preset[key.name] for key in self.keys.values() if key.name in preset}
        for name, value in given.items():
            table, _, last = name.rpartition(".")
            (tables.setdefault(table, {}) if table else tables)[last] = value
        return tables if self.as_dictionary else build(self.made, tables)


def from_settings(**left_out: tuple[str, ...]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace each parameter of a verb that is a settings class by options; `left_out` are keys without one."""

    def derive(verb: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(verb, include_extras=True)
        parameters: list[inspect.Parameter] = []
        groups: dict[str, _Group] = {}
        names: dict[str, str] = {}
        for one in inspect.signature(verb).parameters.values():
            hint = hints[one.name]
            given = next((mark for mark in get_args(hint)[1:] if isinstance(mark, Given)), None)
            if given is None and not is_dataclass(hint):
                parameters.append(one.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
                names[one.name] = _own_name(one.name, hint)
                continue
            made = hint if given is None else given.group
            chosen = [key for key in keys(made) if key.table is None and key.name not in left_out.get(one.name, ())]
            groups[one.name] = _Group(made, {_parameter_name(key): key for key in chosen}, given is not None)
            parameters += [_parameter(key, given or Given(made)) for key in chosen]
            names = {key.name: option_name(key) for key in chosen} | names
            names |= {f"{made.__name__}.{key.name}": option_name(key) for key in chosen}

        @wraps(verb)
        def run(*, quiet: bool = False, verbose: int = 0, **values: Any) -> None:
            preset = PRESETS[values["preset"]] if values.get("preset") else {}
            values.pop("preset", None)
            try:
                given = {name: group.given(values) for name, group in groups.items()}
                _check_needs(groups, given, preset, names)
                settings = {name: group.built(given[name], preset) for name, group in groups.items()}
                with _saying(quiet, verbose):
                    verb(**values, **settings)
            except (SettingsError, InputError) as error:
                raise _with_options(error, names) from None

        parameters += _OF_EVERY_VERB
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return derive


def _parameter_name(key: Key) -> str:
    return option_name(key).lstrip("-").replace("-", "_") + "_"  # one behind it: no other parameter has such a name


def _own_name(name: str, hint: Any) -> str:
    """The option, or the argument, of a parameter that is not a setting."""
    info = get_args(hint)[1]
    if isinstance(info, typer.models.ArgumentInfo):
        return str(info.metavar)
    long = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str) and one.startswith("--")]
    return long[0] if long else "--" + name.replace("_", "-")


def _parameter(key: Key, given: Given) -> inspect.Parameter:
    declared, kinds = key.declared, choices(key.kind)
    is_switch = isinstance(key.default, bool)
    default = given.default or _default(key)
    help = declared.off if key.default is True else declared.help
    help = f"{given.needs}: {help[:1].lower()}{help[1:]}" if given.needs else help
    help += f"  [default: {default}]" if default and not is_switch else ""
    names = [name for name in (declared.short, option_name(key)) if name]
    group, values = key.group or None, words_of(kinds)
    number = "N" if int in kinds else "FLOAT" if float in kinds else None
    option = typer.Option(
        *names,
        metavar=declared.metavar or "|".join(values) or number,
        help=help,
        show_default=False,
        rich_help_panel=group,
        autocompletion=(lambda: values) if values else None,
    )
    annotation = Annotated[bool, option] if is_switch else Annotated[str | None, option]  # numbers are read below
    empty = False if is_switch else None
    return inspect.Parameter(_parameter_name(key), inspect.Parameter.KEYWORD_ONLY, default=empty, annotation=annotation)


def _default(key: Key) -> str:
    if isinstance(key.default, tuple):
        return ",".join(map(str, key.default)) or "none"
    if isinstance(key.default, float):
        return f"{key.default:g}"
    return key.declared.unset if key.default is None else str(key.default).replace("_", "-")


def _parsed(key: Key, value: Any) -> Any:
    """The value of a setting from what typer makes of an option."""
    if isinstance(key.default, bool):
        return not key.default
    if not isinstance(value, str):
        return value
    kinds = choices(key.kind)
    listed = next((get_args(kind) for kind in kinds if get_origin(kind) is tuple), None)
    if listed is None:
        return _number(value, int) if int in kinds else _number(value, float) if float in kinds else value
    words = value.replace(",", " ").split()
    if float in listed:
        return tuple(_number(word, float) for word in words)
    if not words or ("none" in words and len(words) > 1):
        cure = f"{wanted(key.kind, key.declared)}, with commas between them, or none alone"
        raise SettingsError(f"is {shown(value)}", cure, key=key.name)
    return () if words == ["none"] else tuple(words)


def _number(text: str, kind: type[int | float]) -> float | str:
    """The number, or the text, of which the settings class then says what is wrong with it."""
    try:
        return kind(text)
    except ValueError:
        return text


def _check_needs(
    groups: Mapping[str, _Group], given: Mapping[str, Any], preset: Mapping[str, Any], names: Mapping[str, str]
) -> None:
    """Refuse an option that has no effect without another one."""
    values: dict[str, Any] = {}
    for name, group in groups.items():
        usual = {} if group.as_dictionary else {key.name: key.default for key in group.keys.values()}
        values |= usual | {key: value for key, value in preset.items() if key in usual} | given[name]
    for name, group in groups.items():
        for key in group.keys.values():
            if key.name not in given[name] or key.declared.needs is None:
                continue
            needed, value = key.declared.needs
            inside = f"{key.name.rpartition('.')[0]}.{needed}"
            needed = inside if inside in values else needed
            if needed in values and (values[needed] is None if value is None else values[needed] != value):
                option = f"{names[needed]}{'' if value is None else f' {value}'}"
                raise SettingsError(f"has no effect without {option}", "add that, or leave it out", key=key.name)


def _with_options(error: SettingsError | InputError, names: Mapping[str, str]) -> PolyrefError:
    """The error with options in the place of the settings' own names."""

    def named(text: str) -> str:
        return re.sub(r"(?<=\bset )[\w.]+|\b[a-z]+_[a-z_]+\b", lambda found: names.get(found[0], found[0]), text)

    error.cure = named(error.cure)
    if isinstance(error, InputError) or not error.key:
        return error
    return SettingsError(f"{names.get(error.key, error.key)} {named(error.problem)}", error.cure)


# -- what verbs say ---------------------------------------------------------------------------------------------------


_is_quiet = ContextVar("_is_quiet", default=False)


class _Logged(logging.Handler):
    """Records of the library as lines on standard error; a bar stays below them."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            _write_line(f"{record.relativeCreated / 1000:7.2f} s  {self.format(record)}")


class _Notes(logging.Handler):
    """Says what files were taken for, each note once: some files are read twice."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._said:
            self._said.add(text)
            say(text)


@contextmanager
def _saying(quiet: bool, verbose: int) -> Iterator[None]:
    """Within, a verb says as much as is asked for."""
    logger, handler, before = logging.getLogger("polyref"), _Logged(), _is_quiet.set(quiet)
    level, notes, said = logger.level, logging.getLogger(NOTES), _Notes()
    notes.addHandler(said)
    notes.propagate = False
    notes.setLevel(logging.INFO)
    if verbose:
        handler.setFormatter(logging.Formatter("%(message)s" if verbose == 1 else "%(name)s: %(message)s"))
        logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
        logger.addHandler(handler)
    elif quiet:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        notes.removeHandler(said)
        notes.propagate = True
        logger.removeHandler(handler)
        logger.setLevel(level)
        _is_quiet.reset(before)


def say(text: str) -> None:
    """One line on standard error, whatever the text quotes; none under --quiet."""
    note(f"polyref: {text}")


def note(line: str) -> None:
    """A line on standard error without the name of the command; none under --quiet."""
    if not _is_quiet.get():
        _write_line(line)


def _write_line(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")  # what sys.stderr is now: a bar puts something else there, and moves down
    sys.stderr.flush()


def summarise(facts: Mapping[str, Any], text: str, *, as_json: bool, stream: TextIO | None = None) -> None:
    """Print what a run came to: for a person, unless --quiet, or as JSON. Where results go, no summary goes."""
    if as_json or not _is_quiet.get():
        (stream or sys.stdout).write(one_object(facts) if as_json else text)


def say_usual_format(output: str, usual: str, option: str = "") -> None:
    """Tell a person what is written where the name of an output tells nothing."""
    if format_of_name(output) is None and (Path(output).is_file() or not Path(output).exists()) and output != "-":
        say(f"{output}: written as {usual}" + (f"; {option} gives another format" if option else ""))


def say_losses(name: str, verb: str, losses: Losses) -> None:
    """Tell a person what a format cannot hold."""
    if losses:
        say(f"{name}: {verb}: {losses}")


def tell(text: str) -> None:
    """Print a result. What a person reads has been made `printable`; of JSON, a terminal gets no control characters."""
    sys.stdout.write(for_terminal(text) if sys.stdout.isatty() else text)


def one_object(facts: Mapping[str, Any]) -> str:
    """A line of JSON."""
    return json.dumps(facts, ensure_ascii=False) + "\n"


def is_standard_output(path: str) -> bool:
    """Whether a path names what standard output goes to, as /dev/stdout does."""
    try:
        return path == "-" or os.path.samestat(Path(path).stat(), os.fstat(1))
    except (OSError, ValueError):
        return False


def beside(output: str) -> TextIO:
    """Where a summary goes: not where the result goes."""
    return sys.stderr if is_standard_output(output) else sys.stdout


def has_bar() -> bool:
    """Whether progress is shown: on a terminal, unless --quiet."""
    return sys.stderr.isatty() and not _is_quiet.get()


def bar_of(before: str, *behind: str) -> Progress:
    """A bar on standard error, with text around it and the time left; hidden when that is not a terminal, or quiet."""
    from rich import progress as p
    from rich.console import Console

    texts = [p.TextColumn(text) for text in behind]
    columns = [p.TextColumn(before), p.BarColumn(), *texts, p.TimeElapsedColumn(), p.TextColumn("left")]
    columns.append(p.TimeRemainingColumn())
    return p.Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # results move the bar down on a terminal; in a file they stay results
        disable=not has_bar(),
        speed_estimate_period=300,
    )


@contextmanager
def training_bar() -> Iterator[Callable[[Step], None]]:
    """How far a training is, told of its steps."""
    with bar_of(
        "epoch {task.fields[epoch]}", "{task.completed:,} updates, perplexity {task.fields[perplexity]}"
    ) as bar:
        task = bar.add_task("train", total=None, epoch=1, perplexity="-")

        def show(step: Step) -> None:
            perplexity = f"{exp(min(step.loss, 50)):.2f}"
            bar.update(task, total=step.planned, completed=step.updates, epoch=step.epoch + 1, perplexity=perplexity)

        yield show


def large(number: str) -> str:
    """A number for a person: with commas, or as a power of ten where it is long."""
    whole, _, rest = number.partition(".")
    if not whole.isdecimal():
        return number
    if len(whole) > 12:
        return f"{whole[0]}.{whole[1:3]}e{len(whole) - 1}"
    return f"{int(whole):,}" + (f".{rest}" if rest.strip("0") else "")


def short_names(paths: list[str]) -> list[str]:
    """The last part of each path, and the folder too where that is needed to tell them apart."""
    names = [Path(path).name for path in paths]
    return [
        printable(str(Path(Path(path).parent.name, name)) if names.count(name) > 1 else name)
        for path, name in zip(paths, names, strict=True)
    ]


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Columns side by side; numbers stand at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        [cell.ljust(w) if k in left else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))]
        for row in rows
    ]
    return ["  ".join(row).rstrip() for row in cells]


@contextmanager
def progress_bar(whole: str | int, doing: str, counted: str, rate_digits: int = 0) -> Iterator[Show]:
    """A bar with rate and time left; silent when standard error is not a terminal. `whole`: the file, or how many."""
    if not has_bar():
        yield lambda position, done: None
        return
    file = None if isinstance(whole, int) else path_at(whole)
    size = file.stat().st_size if file is not None and file.is_file() else None
    rate = f"{{task.fields[rate]:,.{rate_digits}f}}/s"
    with bar_of(doing, "{task.percentage:>3.0f}%", f"{{task.fields[done]:,}} {counted}", rate) as bar:
        task = bar.add_task(doing, total=whole if isinstance(whole, int) else size, done=0, rate=0.0)

        def show(position: int, done: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            bar.update(task, completed=position, done=done, rate=done / elapsed if elapsed else 0.0)

        yield show


def with_bar(things: Iterable[Thing], whole: int, doing: str, counted: str) -> Iterator[Thing]:
    """The same things; a bar says how many of them are done."""
    with progress_bar(whole, doing, counted) as show:
        for number, thing in enumerate(things, 1):
            yield thing
            show(number, number)
