"""Put the verbs together, and turn whatever ends them into one line and an exit code.

In:   the command line.
Out:  exit code 0; 2 for what a person can mend; 129, 130 and 143 when stopped by a signal.
Not:  what the verbs do, and what they refuse (their own files).
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO

import typer

from polyref import __version__
from polyref.cli.help import HelpCommand, HelpGroup
from polyref.cli.options import printable
from polyref.errors import OutputError, PolyrefError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STANDARD_OUTPUT = "standard output"
_GOES_ON = "stopped; the same command goes on from the last checkpoint"
_WHEN_STOPPED = {"train": _GOES_ON, "experiment": _GOES_ON, "encoder train": _GOES_ON}
_FOR_MEMORY = {
    "expand": "use fewer --workers or a smaller --node-budget",
    "lattice": "use a smaller --node-budget",
    "train": "make the model or its batches smaller, such as model.state_size and batch.pairs",
    "encoder train": "use a smaller --state-size, --vector-size or --words-at-once",
    "generate": "use a smaller --batch or --beam",
}
_FREE_SOME = "free some, or work on smaller parts"
# torch has a class of its own for a GPU's memory only.
_MEMORY_MARKS = ("can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")


class Stopped(SystemExit):
    """A signal has ended the run. It unwinds the stack, so that temporary files go and workers end."""

    def __init__(self, number: int):
        super().__init__(128 + number)
        self.number = number
        self.says = "stopped"


_dropped: list[Stopped] = []  # what Python has dropped
_SOON = 0.01  # seconds until it is raised again


# -- signals ------------------------------------------------------------------------------------------------------


def heed_signals() -> None:
    """Have Ctrl-C, TERM and HUP raise `Stopped`, except those that whoever started us ignores, as nohup does."""
    received = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal received
        received += 1
        # The second one must not cut short what the first one began. The third may: something hangs.
        if received != 2:
            raise Stopped(number)

    _have_signals_do(stop)
    _raise_again_what_is_dropped()


def _raise_again_what_is_dropped() -> None:
    """Python drops what is raised in a destructor, or in a function that a C library calls, as the compiler does."""
    _dropped.clear()
    usual = sys.unraisablehook

    def again(number: int, frame: FrameType | None) -> None:
        raise _dropped[-1]

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if isinstance(what.exc_value, Stopped):
            _dropped.append(Stopped(what.exc_value.number))
            signal.signal(signal.SIGALRM, again)
            signal.setitimer(signal.ITIMER_REAL, _SOON)
        else:
            usual(what)

    sys.unraisablehook = dropped


def leave_at_once_when_stopped() -> None:
    """From here on nothing is left to be cleaned up, and an exception would have nobody who hears of it."""
    _have_signals_do(lambda number, frame: os._exit(128 + number))
    signal.setitimer(signal.ITIMER_REAL, 0)


def _have_signals_do(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


# -- channels -----------------------------------------------------------------------------------------------------


class _StandardOutput(io.FileIO):
    """Errors of other files have no name either, once these are open: these errors get one."""

    before: TextIO  # closes the descriptor when it goes

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = _STANDARD_OUTPUT
            raise


def name_standard_output() -> None:
    """Have errors of writing to standard output say that they are."""
    given = sys.stdout
    if not (isinstance(given, io.TextIOWrapper) and isinstance(getattr(given.buffer, "raw", given.buffer), io.FileIO)):
        return  # somebody else's
    raw = _StandardOutput(given.fileno(), "wb", closefd=False)
    raw.before = given
    is_buffered = hasattr(given.buffer, "raw")  # it is not under python -u
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw) if is_buffered else raw,
        given.encoding,
        given.errors,
        line_buffering=given.line_buffering,
        write_through=given.write_through,
    )


def flush_or_drop(channel: TextIO) -> None:
    """What cannot be written now cannot be written at the end either, and would change the exit code there."""
    try:
        channel.flush()
    except OSError:
        with suppress(OSError):  # no channel of the system's
            os.dup2(os.open(os.devnull, os.O_WRONLY), channel.fileno())


# -- verbs --------------------------------------------------------------------------------------------------------


def ending(verb: Callable[..., None], name: str) -> Callable[..., None]:
    """The verb, with errors in the place of whatever it does not foresee. `name` is how it is called."""

    @wraps(verb)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
            sys.stdout.flush()
        except BaseException as error:
            stopped = _stop_before(error)
            if stopped is not None:
                stopped.says = _WHEN_STOPPED.get(name, stopped.says)
                raise stopped from None
            if isinstance(error, BrokenPipeError):
                flush_or_drop(sys.stdout)
                return
            foreseen = _foreseen(error, name)
            if foreseen is None:
                raise
            raise foreseen from None

    return run


def _stop_before(error: BaseException | None) -> Stopped | None:
    """The signal, also where an error came up during its clean-up, or since it was dropped: it is the cause of that."""
    while error is not None and not isinstance(error, Stopped):
        error = error.__context__
    return error or next(iter(_dropped), None)


def _foreseen(error: BaseException, name: str) -> PolyrefError | None:
    if _is_out_of_memory(error):
        return PolyrefError(f"out of memory; {_FOR_MEMORY.get(name, _FREE_SOME)}")
    if not isinstance(error, OSError):
        return None
    if error.filename is _STANDARD_OUTPUT:
        flush_or_drop(sys.stdout)
        return OutputError(f"{_STANDARD_OUTPUT}: cannot be written ({error.strerror})")
    if error.filename is not None:
        problem = f"cannot be read or written ({error.strerror or error}); check what is there"
        return PolyrefError(f"{os.fsdecode(error.filename)}: {problem}")
    if error.errno is not None:
        return PolyrefError(f"a file cannot be read or written ({error.strerror or error}); check the disk")
    return PolyrefError(str(error) or type(error).__name__)


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, RuntimeError):
        return type(error).__name__ == "OutOfMemoryError" or any(mark in str(error) for mark in _MEMORY_MARKS)
    return isinstance(error, MemoryError)


# -- the command ------------------------------------------------------------------------------------------------------

# A verb's name is that of its module, and of the function in there.
# fmt: off
VERBS = (
    "expand", "stream", "lattice", "align", "explore", "convert", "stats", "score", "train", "generate", "experiment",
    "report", "features", "demo", "compile",
)
# fmt: on
_HELP = "Train text generators on all of an example's references, and on pseudo-references read off their lattice."
_GROUPS = ("encoder", "subwords")
_PLAIN: dict[str, Any] = {"no_args_is_help": True, "rich_markup_mode": None, "cls": HelpGroup}


def made_app(wanted: str = "") -> typer.Typer:
    """The command with one verb; with all of them where that is none. One verb starts twice as fast as all."""
    app = typer.Typer(
        help=_HELP,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **_PLAIN,
    )
    app.callback()(_options)
    chosen = [wanted] if wanted in VERBS + _GROUPS else VERBS + _GROUPS
    for name in chosen:
        module = import_module(f"polyref.cli.{name}")
        if name in VERBS:
            app.command(cls=HelpCommand)(ending(getattr(module, name), name))
            continue
        inner = typer.Typer(help=module.HELP, **_PLAIN)
        for command, verb in module.VERBS.items():
            inner.command(command, cls=HelpCommand)(ending(verb, f"{name} {command}"))
        app.add_typer(inner, name=name)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polyref {__version__}")
        raise typer.Exit


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
    # First: a signal that raises in the midst of an import comes out as whatever the imported package makes of it.
    app = made_app("".join(sys.argv[1:2]))
    try:
        heed_signals()
        name_standard_output()
        for channel in (sys.stdout, sys.stderr):
            if isinstance(channel, io.TextIOWrapper):
                channel.reconfigure(encoding="utf-8", errors="backslashreplace")
        app(prog_name="polyref")
    except PolyrefError as error:
        _fail(str(error), 2)
    except OSError as error:  # of --help and --version, which are no verbs
        _fail(str(_foreseen(error, "")), 2)
    except Stopped as stopped:
        leave_at_once_when_stopped()
        _fail(stopped.says, 128 + stopped.number)
    finally:
        leave_at_once_when_stopped()


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError):  # then there is nobody to say it to
        # A message may quote what stands in a file: one line, whatever that holds.
        sys.stderr.write(f"polyref: {printable(message)}\n")
    for channel in (sys.stdout, sys.stderr):
        flush_or_drop(channel)
    raise SystemExit(code) from None
