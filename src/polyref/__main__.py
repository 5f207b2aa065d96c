"""The command `polyref`, also as `python -m polyref`: it heeds signals before it loads what takes a while."""

import os
import signal


def run() -> None:
    """Run the command."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)
    from polyref.cli import main

    main()


def _leave(number: int, frame: object) -> None:
    try:
        os.write(2, b"polyref: stopped\n")
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    run()
