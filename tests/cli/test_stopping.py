"""A run that is stopped leaves no half file; a reader that goes away is no fault."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import caption_lines

from polyref.expand import CHUNK

Start = Callable[..., "subprocess.Popen[bytes]"]
LONGEST_WAIT = 60.0  # seconds; only a run that hangs comes near it


def wait_for(is_so: Callable[[], bool]) -> None:
    last = time.monotonic() + LONGEST_WAIT
    while not is_so():
        assert time.monotonic() < last, "waited in vain"
        time.sleep(0.02)


def temporary_files(folder: Path) -> list[Path]:
    return list(folder.glob(".out.jsonl*.part"))


def stop(process: "subprocess.Popen[bytes]", folder: Path, number: int, *, written: int = 0) -> bytes:
    """Signal a run and its workers, as a terminal does, once so many bytes stand in its temporary file."""
    wait_for(lambda: any(path.stat().st_size >= written for path in temporary_files(folder)))
    os.killpg(process.pid, number)
    process.wait(LONGEST_WAIT)
    assert process.stderr is not None
    return process.stderr.read()


SIGNALS = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "TERM"]
)


@SIGNALS
@pytest.mark.parametrize("output", ["out.jsonl", "out.jsonl.gz"])
def test_a_run_that_is_stopped_leaves_no_half_file(output, number, code, start: Start, tmp_path: Path):
    process = start("expand", "-", "-o", tmp_path / output)
    process.stdin.write(caption_lines(3).encode())
    process.stdin.flush()
    said = stop(process, tmp_path, number)
    assert process.returncode == code
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_stopped_leaves_an_older_result_as_it_was(start: Start, tmp_path: Path):
    (tmp_path / "out.jsonl").write_text("older\n")
    process = start("expand", "-", "-o", tmp_path / "out.jsonl")
    stop(process, tmp_path, signal.SIGTERM)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["older\n"]


@SIGNALS
def test_a_run_with_workers_that_is_stopped_leaves_no_half_file(number, code, start: Start, tmp_path: Path):
    process = start("expand", "-", "-o", tmp_path / "out.jsonl", "--workers", 2, "--engine", "plain")
    # More than is kept in flight, so that something is written while the input is still open.
    process.stdin.write(caption_lines(10 * CHUNK).encode())
    process.stdin.flush()
    stop(process, tmp_path, number, written=1)
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("options", [["expand"], ["lattice", "--json"]], ids=["expand", "lattice"])
def test_a_reader_that_goes_away_ends_the_run_quietly(options, lines, start: Start, tmp_path: Path):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(1000))  # the result does not fit into a pipe
    process = start(*options, path, "--engine", "plain")
    read = [process.stdout.readline() for _ in range(lines)]
    process.stdout.close()
    assert process.wait(LONGEST_WAIT) == 0
    assert process.stderr.read() == b""
    assert all(line.startswith(b'{"id": "example 0"') for line in read)


@pytest.mark.parametrize("options", [["expand"], ["lattice"]], ids=["expand", "lattice"])
def test_a_reader_that_goes_away_before_a_short_result_is_no_fault_either(options, start: Start, captions_file):
    process = start(*options, captions_file)
    process.stdout.close()
    assert process.wait(LONGEST_WAIT) == 0
    assert process.stderr.read() == b""


def test_standard_output_can_be_named_as_a_file(run_apart, captions_file):
    done = run_apart("expand", captions_file, "-o", "/dev/stdout")
    assert done.code == 0
    assert done.out.startswith(run_apart("expand", captions_file).out)
