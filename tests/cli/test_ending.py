"""Faults that no verb foresees: one line that says what is at fault, and exit code 2."""

import errno
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from samples import caption_lines

from polyref.cli.main import ending
from polyref.errors import PolyrefError

OUT_OF_MEMORY = {
    "numpy": MemoryError("Unable to allocate 8.00 EiB for an array"),
    "processor": RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you"),
    "GPU": type("OutOfMemoryError", (RuntimeError,), {})("Tried to allocate 20.00 MiB."),
    "driver": RuntimeError("CUDA error: out of memory"),
    "system": OSError(errno.ENOMEM, "Cannot allocate memory", "data.bin"),
}


@pytest.fixture
def failing(run, monkeypatch: pytest.MonkeyPatch, captions_file: Path):
    """`failing(error)`: a verb in which the error comes up."""

    def run_it(error: BaseException):
        def fail(*given: object) -> None:
            raise error

        monkeypatch.setattr("polyref.cli.stats.statistics", fail)
        return run("stats", captions_file)

    return run_it


@pytest.mark.parametrize("error", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_too_little_memory_is_one_line(failing, error):
    done = failing(error)
    assert done.code == 2
    assert done.err == "polyref: out of memory; free some, or work on smaller parts\n"


@pytest.mark.parametrize("verb", ["expand", "lattice", "encoder train", "generate"])
def test_the_cure_for_too_little_memory_is_one_that_the_verb_has(run, verb):
    def fail() -> None:
        raise MemoryError

    with pytest.raises(PolyrefError, match="out of memory; use ") as raised:
        ending(fail, verb)()
    options = re.findall(r"--[a-z-]+", str(raised.value))
    assert options
    assert set(options) <= set(re.findall(r"--[a-z-]+", run(*verb.split(), "--help").out.decode()))


def test_a_model_that_does_not_fit_into_memory_is_one_line(tmp_path: Path):
    pytest.importorskip("torch")
    pytest.importorskip("tokenizers")
    data = tmp_path / "data.jsonl"
    data.write_text(caption_lines(3))
    (tmp_path / "recipe.toml").write_text(
        f'[data]\ntrain = "{data}"\ndev = "{data}"\n[subwords]\nsource = 280\ntarget = 280\n'
        '[model]\nkind = "translator"\nembedding_size = 30000\nstate_size = 30000\n'
    )

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    arguments = [sys.executable, "-m", "polyref", "train", str(tmp_path / "recipe.toml"), "-o", str(tmp_path / "model")]
    done = subprocess.run(arguments, preexec_fn=little_memory, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    *_, last = done.stderr.splitlines()
    assert last.startswith("polyref: out of memory; make the model or its batches smaller")
    assert "Traceback" not in done.stderr


def test_another_fault_of_the_programme_is_not_taken_for_too_little_memory(failing):
    with pytest.raises(RuntimeError, match="the shapes do not match"):
        failing(RuntimeError("the shapes do not match"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            IsADirectoryError(errno.EISDIR, "Is a directory", "model/recipe.toml"),
            "model/recipe.toml: cannot be read or written (Is a directory); check what is there",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "a file cannot be read or written (No space left on device); check the disk",
        ),
        (OSError("the host\ndoes not answer"), "the host does not answer"),
        (ConnectionError(), "ConnectionError"),
    ],
    ids=["file", "unnamed", "something else", "nothing"],
)
def test_a_fault_of_a_file_is_not_taken_for_one_of_standard_output(failing, error, said):
    done = failing(error)
    assert done.code == 2
    assert done.err == f"polyref: {said}\n"


def test_a_folder_in_the_place_of_a_file_is_named(run_apart, captions_file: Path, tmp_path: Path):
    done = run_apart("expand", captions_file, "-o", tmp_path)
    assert (done.code, done.out) == (2, b"")
    assert str(tmp_path) in done.err
    assert "standard output" not in done.err


ALWAYS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")


@ALWAYS_FULL
@pytest.mark.parametrize(
    ("verb", "count", "unbuffered"), [("stats", 1, ""), ("stream", 1, "1"), ("stream", 3000, "")], ids=str
)
def test_standard_output_that_cannot_be_written_is_named(start, tmp_path: Path, verb, count, unbuffered):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(count))
    with Path("/dev/full").open("wb") as full:
        process = start(verb, path, stdout=full, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said == b"polyref: standard output: cannot be written (No space left on device)\n"


def test_standard_output_may_be_closed(start, captions_file: Path):
    process = start("stats", captions_file, stdout=None, preexec_fn=lambda: os.close(1))
    assert process.wait(60) == 0
    assert process.stderr.read() == b""


@ALWAYS_FULL
def test_nothing_can_be_said_where_standard_error_is_full_as_well(start, tmp_path: Path):
    with Path("/dev/full").open("wb") as full:
        process = start("stats", tmp_path / "gone.jsonl", stderr=full)
        assert process.wait(60) == 2
