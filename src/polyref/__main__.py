"""The command `polyref`, also as `python -m polyref`: it heeds signals before it loads what takes a while."""

# What `signal` is made of: that loads much, and meanwhile a signal would end us in its own way.
import _signal as signal  # type: ignore[import-not-found]
import atexit
import os

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run() -> None:
    """Run the command."""
    _have_signals_do(_leave)
    atexit.register(_have_signals_do, signal.SIG_IGN)
    from polyref.cli import main

    main()


def _have_signals_do(handler: object) -> None:
    """At the very end, Python takes its handlers away, but leaves signals ignored. What was registered first runs last:
    by then all is done, and the exit code is known."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, handler)


def _leave(number: int, frame: object) -> None:
    try:
        os.write(2, b"polyref: stopped\n")
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    run()
