"""Run the small training again and again, and kill it each time at another moment, until it is through.

A program of its own: `killed_runs.py FOLDER updates-5 files-20 ...`. It forks: a killed child is as dead as a killed
command, and starts in no time. It prints what each series of runs ended with.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from small_runs import train, weights_of

FILE_EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_a_child(work: Callable[[], None]) -> bool:
    """Whether the child got through."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or not status, status
    return not os.WIFSIGNALED(status)


def die_at_update(count: int) -> Callable[[object], None]:
    left = [count]

    def on_step(step: object) -> None:
        left[0] -= 1
        if not left[0]:
            die()

    return on_step


def die_at_file(count: int, folder: Path) -> None:
    """Die right before the so many-th time that something in the folder is opened, made, renamed or removed."""
    left = [count]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in FILE_EVENTS and str(folder) in str(arguments[0]):
            left[0] -= 1
            if not left[0]:
                die()

    sys.addaudithook(hook)


def run(folder: Path, how: str, life: int) -> None:
    if how == "files":
        die_at_file(life, folder)
        model, _ = train(folder)
    else:
        model, _ = train(folder, on_step=die_at_update(life))
    (folder / "ended").write_bytes(weights_of(model))


def killed_again_and_again(folder: Path, how: str, life: int) -> int:
    """Run until it is through, killed each time after so many steps, a few more each time; how often it was killed."""
    deaths = 0
    while not in_a_child(partial(run, folder, how, life + (life // 3 + 1) * deaths)):
        deaths += 1
    return deaths


def main() -> None:
    torch.set_num_threads(1)
    place = Path(sys.argv[1])
    os.fsync = lambda handle: None  # the machine lives on
    train(place / "warm")  # what torch loads when it is first used, the children need not
    found = []
    for series in sys.argv[2:]:
        how, _, life = series.partition("-")
        deaths = killed_again_and_again(place / series, how, int(life))
        found.append({"series": series, "deaths": deaths, "ended": (place / series / "ended").read_bytes().hex()})
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
