"""Help pages, with options in the groups of their settings; and one line for a command that is mistyped.

In:   a verb's parameters; `rich_help_panel` is the group of an option.
Out:  plain text, as wide as the terminal up to 120 columns; most options have one line of 80.
Not:  what the texts say (each setting has its own), which options there are (options.py).

Rich could draw the groups as boxes. Plain help starts twice as fast, and leaves more room for texts.
"""

from __future__ import annotations

import re
import shutil
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from polyref.errors import PolyrefError

MESSAGES = "Messages"  # the group of what verbs print beside their results
_WIDEST = 120
_COLUMN = 28  # of names and their values; longer ones have a line of their own
_UsageError: Any = typer.BadParameter.__mro__[1]  # which typer gives no name


class _Page:
    """How a verb, or a group of verbs, shows its help, and what it says of what it cannot take."""

    def make_context(self: Any, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        wants_help = not args and isinstance(self, TyperGroup)
        try:
            return super().make_context(info_name, args, parent, **extra)  # type: ignore[misc]
        except _UsageError as error:
            if wants_help:
                raise
            above = "" if parent is None else f"{parent.command_path} "
            raise PolyrefError(_in_one_line(error, f"{above}{info_name}")) from None

    def get_help(self: Any, ctx: Any) -> str:
        formatter = ctx.make_formatter()
        formatter.width = max(50, min(shutil.get_terminal_size().columns, _WIDEST))
        self.format_help(ctx, formatter)
        return str(formatter.getvalue()).rstrip("\n")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]
        return [piece.removesuffix("...") if " " in piece else piece for piece in pieces]  # FILE... OUT

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}  # these come first
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                groups.setdefault(_group(param), []).append(_row(param, *record))
        if MESSAGES in groups:
            groups[MESSAGES].append(groups["Options"].pop())  # --help, which is the last one
        groups = {title: rows for title, rows in groups.items() if rows}
        options = [row for title, rows in groups.items() if title != "Arguments" for row in rows]
        width = min(_COLUMN, max(len(name) for name, _ in options))
        for title, rows in groups.items():
            with formatter.section(title):
                inside = 0 if title == "Arguments" else width
                formatter.write_dl([(name.ljust(inside), help) for name, help in rows], col_max=_COLUMN)
        if any(help.endswith("]") for _, help in options):
            formatter.write_paragraph()
            formatter.write_text("Defaults are in brackets.")


def _in_one_line(error: Any, command: str) -> str:
    """What is wrong with a command line, and what to do."""
    if hasattr(error, "possibilities"):  # an option that there is not
        near = get_close_matches(error.option_name, error.possibilities or [], 1, 0.7)
        return f"no option {error.option_name}; " + (f"did you mean {near[0]}?" if near else f"{command} -h lists them")
    problem = error.format_message().removesuffix(".")
    if "valid integer" in problem:
        return f"{error.param.opts[-1]} is not a whole number; give one"
    problem = problem[:1].lower() + problem[1:]
    return problem if problem.endswith("?") else f"{problem}; {command} -h shows how"


def _group(param: Any) -> str:
    if param.param_type_name == "argument":
        return "Arguments"
    return getattr(param, "rich_help_panel", None) or "Options"


def _row(param: Any, name: str, help: str) -> tuple[str, str]:
    """A parameter and its text, without what takes room and says little: types, and the word "default"."""
    is_argument = param.param_type_name == "argument"
    name = re.sub(r" ?<.*>$", "", name) if is_argument else re.sub(r"[<\[](\S+)[>\]]$", r"\1", name)
    help = re.sub(r"  \[required\]$", "" if is_argument else " (required)", help)
    return name, re.sub(r"  \[default: (.*)\]$", r" [\1]", help)


class HelpCommand(_Page, TyperCommand):
    """A verb."""


class HelpGroup(_Page, TyperGroup):
    """Several verbs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except _UsageError as error:
            raise PolyrefError(_in_one_line(error, ctx.command_path)) from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)
