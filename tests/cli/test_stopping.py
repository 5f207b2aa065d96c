"""A run that is stopped says so and leaves no half file; a reader that goes away is no fault."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import caption_lines

from polyref.expansion import CHUNK

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
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["Ctrl-C", "TERM", "HUP"],
)


@SIGNALS
@pytest.mark.parametrize("output", ["out.jsonl", "out.jsonl.gz"])
def test_a_run_that_is_stopped_leaves_no_half_file(output, number, code, start: Start, tmp_path: Path):
    process = start("expand", "-", "-o", tmp_path / output)
    process.stdin.write(caption_lines(3).encode())
    process.stdin.flush()
    said = stop(process, tmp_path, number)
    assert process.returncode == code
    assert said == b"polyref: stopped\n"
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
    assert stop(process, tmp_path, number, written=1) == b"polyref: stopped\n"
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_killed_run_left_goes_with_the_next_run(workers, run_apart, start: Start, tmp_path: Path):
    """Only the main process is killed: its workers end by themselves."""
    output, options = tmp_path / "out.jsonl", ("--workers", workers, "--engine", "plain")
    process, other = (start("expand", "-", "-o", output, *options) for _ in range(2))
    process.stdin.write(caption_lines(10 * CHUNK).encode())
    process.stdin.flush()
    wait_for(lambda: len(temporary_files(tmp_path)) == 2 and any(p.stat().st_size for p in temporary_files(tmp_path)))
    process.kill()
    process.wait(LONGEST_WAIT)
    process.stdin.close()
    wait_for(lambda: process.stderr.read() is not None)  # until no worker has it open
    assert run_apart("expand", "-", "-o", output, stdin=caption_lines(3).encode()).code == 0
    assert len(temporary_files(tmp_path)) == 1  # that of the run that goes on
    assert other.communicate(caption_lines(4).encode(), LONGEST_WAIT) and other.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert len(output.read_text().splitlines()) == 4


@pytest.mark.parametrize("times", [2, 20])
def test_pressing_again_and_again_while_it_cleans_up_is_no_fault(times, start: Start, tmp_path: Path):
    process = start("expand", "-", "-o", tmp_path / "out.jsonl", "--workers", 2, "--engine", "plain")
    process.stdin.write(caption_lines(10 * CHUNK).encode())
    process.stdin.flush()
    wait_for(lambda: any(path.stat().st_size for path in temporary_files(tmp_path)))
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.01)
    # Python lets go of its handlers at its very end: a signal then ends the process, which a shell calls 130 as well.
    assert process.wait(LONGEST_WAIT) in (130, -signal.SIGINT)
    assert process.stderr.read() in (b"polyref: stopped\n", b"")  # nothing, if the last one came before the line
    if times == 2:
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT], ids=["nohup", "in the background"])
def test_a_signal_that_whoever_started_us_ignores_is_ignored(number, start: Start, tmp_path: Path):
    ignoring = {"preexec_fn": lambda: signal.signal(number, signal.SIG_IGN)}
    process = start("expand", "-", "-o", tmp_path / "out.jsonl", **ignoring)
    wait_for(lambda: bool(temporary_files(tmp_path)))
    os.killpg(process.pid, number)
    _, said = process.communicate(caption_lines(3).encode(), LONGEST_WAIT)
    assert process.returncode == 0, said
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_a_run_whose_terminal_is_gone_ends_all_the_same(start: Start, captions_file: Path, tmp_path: Path):
    """A terminal that is closed sends HUP, and then nothing can be said to it."""
    theirs, ours = pty.openpty()
    process = start("expand", "-", "-o", tmp_path / "out.jsonl", stdout=ours, stderr=ours)
    os.close(ours)
    wait_for(lambda: bool(temporary_files(tmp_path)))
    os.close(theirs)
    os.killpg(process.pid, signal.SIGHUP)
    assert process.wait(LONGEST_WAIT) == 129
    assert list(tmp_path.iterdir()) == [captions_file]


COMPILING = """
import ctypes, os, sys, time

@ctypes.CFUNCTYPE(None)
def called_back():  # as the compiler does: what is raised in here, Python drops
    os.kill(os.getpid(), NUMBER)

def work(*given):
    called_back()
    WORK

import polyref.stats
polyref.stats.statistics = work
from polyref.cli import main
main()
"""


@SIGNALS
@pytest.mark.parametrize("work", ["time.sleep(60)", "raise RuntimeError('for want of what was dropped')"])
def test_a_signal_that_comes_while_a_library_calls_back_is_not_lost(work, number, code, captions_file: Path):
    program = COMPILING.replace("NUMBER", str(int(number))).replace("WORK", work)
    done = subprocess.run([sys.executable, "-c", program, "stats", captions_file], capture_output=True)
    assert (done.returncode, done.stderr) == (code, b"polyref: stopped\n")


@pytest.mark.compiled
@SIGNALS
def test_a_run_that_is_stopped_while_it_compiles_says_so(
    number, code, start: Start, captions_file, tmp_path: Path, without_package: None
):
    cache = {"env": {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}}
    process = start("lattice", captions_file, "--engine", "compiled", **cache)
    assert process.stderr.readline() == b"polyref: compiling the kernels, once on this machine (about a minute)\n"
    wait_for(lambda: any((tmp_path / "cache").glob("*/polyref.*")))
    os.killpg(process.pid, number)
    assert process.wait(LONGEST_WAIT) == code
    assert process.stderr.read() == b"polyref: stopped\n"
    assert not any((tmp_path / "cache").glob("*/.*"))  # no half file


def test_a_training_that_is_stopped_says_how_it_goes_on(start: Start, tmp_path: Path):
    pytest.importorskip("torch")
    pytest.importorskip("tokenizers")
    data = tmp_path / "data.jsonl"
    data.write_text(caption_lines(30))
    sizes = ("model.embedding_size=4", "model.state_size=4", "model.layers=1", "subwords.source=280")
    choices = (f"data.train={data}", f"data.dev={data}", "subwords.target=280", "fit.epochs=100000", *sizes)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[model]\nkind = "translator"\n')
    log = tmp_path / "model" / "log.jsonl"
    options = [part for choice in choices for part in ("--set", choice)]
    process = start("train", recipe, "--quiet", "-o", log.parent, *options)
    wait_for(lambda: process.poll() is not None or (log.exists() and log.stat().st_size > 0))
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(LONGEST_WAIT) == 130
    assert process.stderr.read() == b"polyref: stopped; the same command goes on from the last checkpoint\n"


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


SIGNALLED_WHILE_LOADING = """
import os, sys

class Signal:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), int(sys.argv[2]))

sys.meta_path.insert(0, Signal())
from polyref.__main__ import run
run()
"""


@SIGNALS
@pytest.mark.parametrize("module", ["polyref.cli", "numpy", "polyref.lattice", "typer"])
def test_a_signal_while_modules_are_loaded_is_one_line(module, number, code):
    command = [sys.executable, "-c", SIGNALLED_WHILE_LOADING, module, str(int(number)), "--version"]
    done = subprocess.run(command, capture_output=True, timeout=LONGEST_WAIT)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"polyref: stopped\n")


@SIGNALS
def test_a_signal_after_the_end_changes_nothing(number, code):
    """Python runs last what was registered first; after that it would take its handlers away."""
    late = f"import atexit, os; atexit.register(os.kill, os.getpid(), {int(number)})\n"
    program = f"{late}import sys; sys.argv[1:] = ['--version']\nfrom polyref.__main__ import run\nrun()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=LONGEST_WAIT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"polyref ")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["expand", "--help"]], ids=" ".join)
def test_help_to_a_full_device_is_one_line(arguments):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "polyref", *arguments], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"polyref: standard output: cannot be written (No space left on device)\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "TERM"])
def test_a_picture_that_takes_long_can_be_stopped(number, code, start: Start, captions_file: Path, tmp_path: Path):
    """Drawing pixels is native code, which sees no signal."""
    place, started = tmp_path / "place", tmp_path / "started"
    (place / "resvg_py").mkdir(parents=True)
    (place / "resvg_py" / "__init__.py").write_text(
        "import os, pathlib, signal, time\n"
        "def svg_to_bytes(**choices):\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})\n"
        f"    pathlib.Path({str(started)!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    )
    paths = os.pathsep.join([str(place), *filter(None, [os.environ.get("PYTHONPATH")])])
    output = tmp_path / "drawn" / "out.png"
    output.parent.mkdir()
    process = start(
        "lattice", captions_file, "--id", "example 0", "-o", output, env={**os.environ, "PYTHONPATH": paths}
    )
    wait_for(lambda: process.poll() is not None or (started.exists() and started.read_text() != ""))
    process.send_signal(number)
    assert process.wait(LONGEST_WAIT) == code
    assert process.stderr.read() == b"polyref: stopped\n"
    assert list(output.parent.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
