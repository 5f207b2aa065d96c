"""Torch and all other extras may be missing, and the compiler; nothing that is slow to load is loaded without need."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Finished
from made_records import write_records
from samples import caption_lines

from polyref import AlignSettings

EXTRAS = (
    "torch transformers huggingface_hub tokenizers matplotlib pyarrow pandas zstandard resvg_py scipy psutil nltk "
    "starlette uvicorn"
)
# Python runs a module of this name at its start, in workers, too.
AT_START = """
import atexit, os, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ["MISSING"].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def tell():
    with open(os.environ["LOADED"], "a") as file:
        file.write(" ".join(name for name in sys.modules if "." not in name) + "\\n")

if os.environ.get("MISSING"):
    sys.meta_path.insert(0, Missing())
atexit.register(tell)
"""
Run = Callable[..., tuple[Finished, set[str]]]


@pytest.fixture
def run_watched(run_apart, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a command in a process of its own, without extras if wanted; gives the packages it has loaded, too."""
    folder = tmp_path_factory.mktemp("start")
    (folder / "sitecustomize.py").write_text(AT_START)

    def run_it(*arguments: object, missing: bool = True, stdin: bytes = b"") -> tuple[Finished, set[str]]:
        loaded = folder / "loaded.txt"
        loaded.write_text("")
        paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {"PYTHONPATH": paths, "LOADED": str(loaded), "MISSING": EXTRAS if missing else ""}
        done = run_apart(*arguments, stdin=stdin, environment=environment)
        return done, set(loaded.read_text().split())

    return run_it


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """So many words that compiled kernels are worth it."""
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(300))
    return path


SOFT = ["--align", "soft"]
FLUENT = ["--fluency", "0.25"]


def test_extras_are_missing_in_these_tests(run_watched, tmp_path: Path):
    (tmp_path / "given.parquet").write_bytes(b"PAR1")
    done, loaded = run_watched("stats", tmp_path / "given.parquet")
    assert done.code == 2
    assert "pyarrow" in done.err
    assert "pyarrow" not in loaded


@pytest.mark.parametrize(
    "options",
    [[], FLUENT, SOFT, [*SOFT, *FLUENT], [*SOFT, *FLUENT, "--workers", "2", "--engine", "plain"]],
    ids=lambda options: " ".join(options) or "hard",
)
def test_a_file_is_expanded_without_extras_to_the_same_bytes(options, run, run_watched, many, tmp_path: Path):
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    assert run("expand", many, "-o", here, *options).code == 0
    done, _ = run_watched("expand", many, "-o", there, *options)
    assert (done.code, done.err) == (0, "")
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.parametrize("arguments", [["lattice", "--json"], ["align", "--json"]], ids=lambda given: given[0])
def test_lattices_are_looked_at_without_extras(arguments, run, run_watched):
    verb, *options = arguments
    stdin = caption_lines(2).encode()
    done, _ = run_watched(verb, "-", *SOFT, *options, stdin=stdin)
    assert (done.code, done.err) == (0, "")
    assert done.out == run(verb, "-", *SOFT, *options, stdin=stdin).out
    assert f'"penalty": {AlignSettings().penalty}'.encode() in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["explore", "--no-browser"], 'pip install "polyref[explore]"'),
        (["encoder", "train", "captions.txt", "-o", "folder"], 'pip install "polyref[torch]"'),
        (["expand", "-", *SOFT, "--encoder", "huggingface:bert-base-uncased"], 'pip install "polyref[huggingface]"'),
    ],
    ids=["explore", "train", "huggingface"],
)
def test_what_needs_an_extra_names_it(arguments, says, run_watched):
    done, _ = run_watched(*arguments, stdin=caption_lines(2).encode())
    assert (done.code, done.out) == (2, b"")
    assert says in done.err


def test_what_is_slow_to_load_is_not_loaded_for_help(run_watched):
    for arguments in (
        ["--help"],
        ["expand", "--help"],
        ["report", "--help"],
        ["explore", "--help"],
        ["encoder", "--help"],
        ["encoder", "train", "--help"],
    ):
        done, loaded = run_watched(*arguments, missing=False)
        assert done.code == 0
        assert not sorted(loaded & {*EXTRAS.split(), "numba", "llvmlite", "sacrebleu", "rich"})


def test_a_report_names_what_figures_need_and_loads_no_torch(run_watched, tmp_path: Path):
    records = write_records(tmp_path / "records")
    done, _ = run_watched("report", records, "-o", tmp_path / "report")
    assert (done.code, done.out) == (2, b"")
    assert done.err.endswith('a figure needs matplotlib; install it with: pip install "polyref[report]"\n')
    assert not (tmp_path / "report").exists()
    done, loaded = run_watched("report", records, "-o", tmp_path / "report", missing=False)
    assert done.code == 0
    assert "torch" not in loaded


@pytest.mark.parametrize("options", [[], SOFT, [*SOFT, *FLUENT]], ids=["hard", "soft", "soft and fluent"])
def test_a_few_examples_load_neither_extras_nor_the_compiler(options, run_watched):
    done, loaded = run_watched("expand", "-", *options, missing=False, stdin=caption_lines(3).encode())
    assert done.code == 0
    assert not sorted(loaded & {*EXTRAS.split(), "numba", "llvmlite"})


def test_soft_alignment_of_many_examples_does_not_load_torch(run_watched, many):
    done, loaded = run_watched("expand", many, *SOFT, *FLUENT, missing=False)
    assert done.code == 0
    assert "numba" in loaded
    assert not sorted(loaded & set(EXTRAS.split()) - {"scipy"})  # the compiler looks whether there is one


# -- the compiler ---------------------------------------------------------------------------------------------------

# The command, as if the work were so much that compiling would pay.
LARGE = """
from polyref.lattice import engine
engine._CELLS_BEFORE_LOADING = engine._CELLS_BEFORE_COMPILING = 1000
from polyref.__main__ import run
run()
"""
SLOWLY = (
    "polyref: running in plain Python, with the same results but about 60 times slower: "
    "numba cannot be loaded (No module named 'numba'); install it with: pip install numba\n"
)


@pytest.fixture
def run_without_compiler(tmp_path: Path) -> Callable[..., Finished]:
    (tmp_path / "sitecustomize.py").write_text(AT_START)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"PYTHONPATH": paths, "LOADED": os.devnull, "MISSING": "numba llvmlite"}

    def run_it(*arguments: object) -> Finished:
        command = [sys.executable, "-c", LARGE, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, env={**os.environ, **environment})
        return Finished(done.returncode, done.stdout, done.stderr.decode())

    return run_it


@pytest.mark.parametrize(
    "arguments",
    [
        ["expand"],
        ["expand", *SOFT, *FLUENT, "--workers", "2"],
        ["lattice", "--json", *SOFT],
    ],
    ids=" ".join,
)
def test_without_a_compiler_a_command_says_once_that_it_is_slow_and_gives_the_same_bytes(
    arguments, run, run_without_compiler, many
):
    verb, *options = arguments
    many.write_text(caption_lines(150))  # more than one chunk
    done = run_without_compiler(verb, many, *options)
    assert (done.code, done.err.count(SLOWLY)) == (0, 1)
    assert done.out == run(verb, many, *options).out


def test_without_a_compiler_there_is_no_compiled_engine(run_without_compiler, many):
    done = run_without_compiler("lattice", many, "--engine", "compiled")
    assert (done.code, done.out) == (2, b"")
    assert done.err == (
        "polyref: there is no compiled engine: numba cannot be loaded (No module named 'numba'); "
        "install it with: pip install numba\n"
    )
