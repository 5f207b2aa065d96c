"""The command line: one file a verb."""

from polyref.cli.main import main

__all__ = ["main"]
