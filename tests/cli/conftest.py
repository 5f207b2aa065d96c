"""Run commands: inside this process for speed, or in one of their own."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Finished, Run, command
from samples import caption_lines

from polyref.cli import main


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Iterator[Run]:
    """`run("expand", path, "-k", 5, stdin=b"...")` inside this process."""

    def run_it(*arguments: object, stdin: bytes = b"") -> Finished:
        monkeypatch.setattr(sys, "argv", ["polyref", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsysbinary.readouterr()
        return Finished(stopped.value.code or 0, out, err.decode())

    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    }
    yield run_it
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def run_apart() -> Run:
    """The same in a process of its own; `environment` is added to ours."""

    def run_it(*arguments: object, stdin: bytes = b"", environment: dict[str, str] | None = None) -> Finished:
        done = subprocess.run(
            command(*arguments), input=stdin, capture_output=True, env={**os.environ, **(environment or {})}
        )
        return Finished(done.returncode, done.stdout, done.stderr.decode())

    return run_it


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a command in a process group of its own, with pipes, and go on; it ends with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start_it(*arguments: object, **pipes: Any) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | pipes
        # Ctrl-C is ignored by what a shell starts in the background, and by its children: here it must count.
        choices = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), "start_new_session": True}
        started.append(subprocess.Popen(command(*arguments), **{**choices, **pipes}))
        return started[-1]

    yield start_it
    for process in started:
        with process:  # closes the pipes, and waits
            process.kill()


@pytest.fixture
def captions_file(tmp_path: Path) -> Path:
    """Three examples, alone in their folder."""
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(3))
    return path
