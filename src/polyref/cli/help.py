"""Help pages: options in the groups of their settings, one line each where they fit into 80 columns.

In:   a verb's parameters; `rich_help_panel` is the group of an option.
Out:  plain text, as wide as the terminal up to 120 columns.
Not:  what the texts say (each setting has its own), which options there are (options.py).

Rich could draw the groups as boxes. Plain help starts twice as fast, and leaves more room for texts.
"""

from __future__ import annotations

import re
import shutil
from typing import Any

from typer.core import TyperCommand, TyperGroup

MESSAGES = "Messages"  # the group of what verbs print beside their results
_WIDEST = 120
_COLUMN = 28  # of names and their values; longer ones have a line of their own


class _Page:
    """How a verb, or a group of verbs, shows its help."""

    def get_help(self: Any, ctx: Any) -> str:
        formatter = ctx.make_formatter()
        formatter.width = max(50, min(shutil.get_terminal_size().columns, _WIDEST))
        self.format_help(ctx, formatter)
        return str(formatter.getvalue()).rstrip("\n")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]

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

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)
