"""What can go wrong, as a tree; every message says where it happened and what cures it.

In:   the file, the line, the problem and its cure.
Out:  exceptions whose text is the one line that a person should read.
Not:  printing or exiting (cli/ does that).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class PolyrefError(Exception):
    """Anything that polyref refuses to do; its text is one clear line."""


class SettingsError(PolyrefError):
    """A setting, or several together, that cannot be used: `penalty is 2; give a number from 0 to 1`.

    `key` is the setting that the text begins with, `also` others that may be the cause. The command line and recipes
    write keys in their own way (`said`).
    """

    def __init__(self, problem: str, cure: str = "", *, key: str = "", also: tuple[str, ...] = ()):
        self.problem = problem
        self.cure = cure
        self.key = key
        self.also = also
        super().__init__(problem, cure)

    def said(self, name: Callable[[str], str]) -> str:
        """The text, with the key written as `name` writes it."""
        text = f"{name(self.key)} {self.problem}" if self.key else self.problem
        return f"{text}; {self.cure}" if self.cure else text

    def __str__(self) -> str:
        return self.said(str)


class MissingExtraError(PolyrefError):
    """An optional package is needed that is not installed."""


def load_extra(module: str, *, purpose: str, extra: str) -> Any:
    """Import a package that need not be there; a MissingExtraError says what to install."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingExtraError(f'{purpose} needs {package}; install it with: pip install "polyref[{extra}]"') from None


class InputError(PolyrefError):
    """Something in a file is wrong: `captions.jsonl:17: "references" is empty; give at least one`."""

    def __init__(self, problem: str, cure: str = "", *, file: str | None = None, line: int | None = None):
        self.problem = problem
        self.cure = cure
        self.file = file
        self.line = line
        super().__init__(problem, cure, file, line)

    def __str__(self) -> str:
        text = f"{self.problem}; {self.cure}" if self.cure else self.problem
        if self.file is None:
            return text
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {text}"

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default way from a worker process to its parent.
        return (_input_error, (self.problem, self.cure, self.file, self.line))


def _input_error(problem: str, cure: str, file: str | None, line: int | None) -> InputError:
    return InputError(problem, cure, file=file, line=line)


class OutputError(PolyrefError):
    """The result cannot be written where it was asked for."""
