"""Put the verbs together, and turn errors into one line and an exit code.

In:   the command line. Out: exit code 0; 2 for what a person can mend; 129, 130 and 143 when stopped by a signal.
Not:  what the verbs do (their own files), what they do not foresee (ending.py).
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import typer

from polyref import __version__
from polyref.cli.align import align
from polyref.cli.convert import convert
from polyref.cli.demo import demo
from polyref.cli.encoder import VERBS as ENCODER_VERBS
from polyref.cli.encoder import app as encoder_app
from polyref.cli.ending import (
    Stopped,
    ending,
    flush_or_drop,
    heed_signals,
    leave_at_once_when_stopped,
    name_standard_output,
)
from polyref.cli.expand import expand
from polyref.cli.features import features
from polyref.cli.generate import generate
from polyref.cli.lattice import lattice
from polyref.cli.options import printable
from polyref.cli.score import score
from polyref.cli.stats import stats
from polyref.cli.stream import stream
from polyref.cli.subwords import VERBS as SUBWORDS_VERBS
from polyref.cli.subwords import app as subwords_app
from polyref.cli.train import train
from polyref.errors import PolyrefError

app = typer.Typer(
    help="Train text generators on all of an example's references, and on pseudo-references read off their lattice.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help starts twice as fast
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


for verb in (expand, stream, lattice, align, convert, stats, score, train, generate, features, demo):
    app.command()(ending(verb, verb.__name__))
for name, verb in ENCODER_VERBS.items():
    encoder_app.command(name)(ending(verb, f"encoder {name}"))
app.add_typer(encoder_app, name="encoder")
for name, verb in SUBWORDS_VERBS.items():
    subwords_app.command(name)(ending(verb, f"subwords {name}"))
app.add_typer(subwords_app, name="subwords")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polyref {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_show_version, is_eager=True),
) -> None:
    pass


def main() -> None:
    """The command `polyref`."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us, as by 2>&-
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115
    # Threads that wait for each other must not spin: on a busy machine that made a small model ten times as slow.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    heed_signals()
    name_standard_output()
    for channel in (sys.stdout, sys.stderr):
        if isinstance(channel, io.TextIOWrapper):
            channel.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app(standalone_mode=True)
    except PolyrefError as error:
        _fail(str(error), 2)
    except Stopped as stopped:
        leave_at_once_when_stopped()
        _fail(stopped.says, 128 + stopped.number)


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError):  # then there is nobody to say it to
        # A message may quote what stands in a file: one line, whatever that holds.
        sys.stderr.write(f"polyref: {printable(message)}\n")
    for channel in (sys.stdout, sys.stderr):
        flush_or_drop(channel)
    raise SystemExit(code) from None
