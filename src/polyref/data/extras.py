"""Packages that only some formats need.

In:   the name of a package. Out: the package, or an error that says what to install. Not: what it is used for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from polyref.errors import MissingExtraError


def load(module: str, *, purpose: str, extra: str) -> Any:
    """Import a package that need not be there."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingExtraError(f'{purpose} needs {package}; install it with: pip install "polyref[{extra}]"') from None


def pyarrow(module: str = "pyarrow") -> Any:
    return load(module, purpose="Parquet", extra="parquet")


def zstandard() -> Any:
    return load("zstandard", purpose="zstd compression", extra="zstd")
