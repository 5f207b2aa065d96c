"""The cache of compiled kernels: nothing damaged, stale or foreign is ever run, and no run fails because of it."""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from samples import caption_lines

import polyref
from polyref import compiled
from polyref.lattice import AutoEngine, engine_named

PACKAGE = Path(polyref.__file__).parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this test's kernels, which is not there yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return compiled.cache_folder()


def made() -> Any:
    """A small kernel, as at the start of a process."""

    @compiled.kernel("int64(int64)")
    def double(n):
        return n + n

    return double


def is_loaded(kernel: Any) -> bool:
    """Whether a kernel came from the cache. Whatever it came from, it works."""
    assert kernel(21) == 42
    return bool(kernel.stats.cache_hits)


def copy_kernels(folder: Path) -> None:
    """Have all kernels in a folder of the cache, wherever they are."""
    folder.mkdir(0o700, parents=True)
    for name in compiled._kernels():
        content = compiled._read(name)
        assert content is not None
        (folder / name).write_bytes(compiled._seal(name, content, compiled._key()) + content)


def file_in(folder: Path) -> Path:
    """The one file of a cache."""
    (path,) = folder.iterdir()
    return path


class Touch:
    """Pickled: a command that leaves a file behind when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def flip(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


# -- kept and found -------------------------------------------------------------------------------------------------


def test_a_kernel_is_compiled_once(folder: Path):
    assert not is_loaded(made())
    assert is_loaded(made())


def test_a_kernel_may_call_another_one_and_is_loaded_with_it(folder: Path):
    def both() -> Any:
        inner = made()

        @compiled.kernel("int64(int64)")
        def outer(n):
            return inner(n)

        return outer

    assert not is_loaded(both())
    assert is_loaded(both())


def test_the_folder_and_its_files_are_the_users_alone(folder: Path):
    before = os.umask(0o002)
    try:
        made()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_in(folder).stat().st_mode) == 0o600
    assert is_loaded(made())


@pytest.mark.parametrize("what", ["version", "processor", "source"])
def test_another_compiler_processor_or_source_has_another_folder(what: str, monkeypatch: pytest.MonkeyPatch):
    import llvmlite.binding

    here = compiled.cache_folder()
    compiled._key.cache_clear()
    try:
        assert compiled.cache_folder() == here
        compiled._key.cache_clear()
        if what == "version":
            monkeypatch.setattr("importlib.metadata.version", lambda package: "0")
        elif what == "processor":
            monkeypatch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: "abacus")
        else:
            monkeypatch.setattr(compiled, "_sources", lambda: {"align.kernels": b"other"})
        assert compiled.cache_folder() != here
    finally:
        monkeypatch.undo()
        compiled._key.cache_clear()


def test_a_copy_of_polyref_elsewhere_has_the_same_folder(tmp_path: Path):
    shutil.copytree(PACKAGE, tmp_path / "polyref", ignore=shutil.ignore_patterns("__pycache__", "english"))
    code = "import polyref.compiled as it; print(it.__file__, it.cache_folder(), it.is_cached())"
    said = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, check=True
    )
    assert said.stdout.decode().split() == [
        str(tmp_path / "polyref" / "compiled.py"),
        str(compiled.cache_folder()),
        str(compiled.is_cached()),
    ]


# -- damaged --------------------------------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut in its seal": lambda content: content[:10],
    "cut behind its seal": lambda content: content[:32],
    "cut": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "one byte longer": lambda content: content + b"\0",
    "flipped in its seal": lambda content: flip(content, 3),
    "flipped first": lambda content: flip(content, 32),
    "flipped last": lambda content: flip(content, -1),
    "zeros": lambda content: bytes(len(content)),
    "garbage": lambda content: b"not a kernel\n" * 100,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_compiled_again(damage: Callable[[bytes], bytes], folder: Path):
    made()
    path = file_in(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert not is_loaded(made())
    assert is_loaded(made())


@pytest.mark.parametrize("what", ["folder", "full folder", "pipe", "link", "link to nothing", "unreadable"])
def test_what_is_no_file_in_the_place_of_one_is_compiled_again(what: str, folder: Path, tmp_path: Path):
    made()
    path = file_in(folder)
    other = path.rename(tmp_path / "other")
    if what in ("folder", "full folder"):
        path.mkdir()
    if what == "full folder":
        (path / "file").touch()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "link":
        path.symlink_to(other)
    elif what == "link to nothing":
        path.symlink_to(tmp_path / "nothing")
    elif what == "unreadable":
        path.touch(0)
    assert not is_loaded(made())
    assert is_loaded(made())
    assert path.is_file()
    assert not path.is_symlink()


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_foreign_is_unpickled(sealed: bool, folder: Path, tmp_path: Path):
    """Also not with the seal of another kernel, or of another version of this one."""
    made()
    path = file_in(folder)
    foreign = pickle.dumps(Touch(tmp_path / "touched"))
    seal = compiled._seal("another.kernel", foreign, compiled._key())
    path.write_bytes((seal if sealed else b"") + foreign)
    assert not is_loaded(made())
    assert not (tmp_path / "touched").exists()


def test_a_file_of_another_user_is_not_unpickled(folder: Path, monkeypatch: pytest.MonkeyPatch):
    made()
    there = os.fstat
    theirs = os.getuid() + 1
    monkeypatch.setattr(
        compiled.os, "fstat", lambda file: os.stat_result([*there(file)[:4], theirs, *there(file)[5:10]])
    )
    assert not is_loaded(made())


def test_a_kernel_that_cannot_be_rebuilt_is_compiled_again(folder: Path):
    made()
    path = file_in(folder)
    content = pickle.dumps("nothing of numba's")
    path.write_bytes(compiled._seal(path.name, content, compiled._key()) + content)
    assert not is_loaded(made())
    assert is_loaded(made())


# -- where it cannot be kept ------------------------------------------------------------------------------------------


def writable_by_others(folder: Path, patch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)


def writable_by_the_group(folder: Path, patch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o770)


def of_another_user(folder: Path, patch: pytest.MonkeyPatch) -> None:
    theirs = os.getuid() + 1
    patch.setattr(compiled.os, "getuid", lambda: theirs)


def a_link(folder: Path, patch: pytest.MonkeyPatch) -> None:
    folder.symlink_to(folder.rename(folder.parent / "elsewhere"))


@pytest.mark.parametrize("opened", [writable_by_others, writable_by_the_group, of_another_user, a_link])
def test_a_folder_that_others_can_write_to_is_not_used(
    opened: Callable[[Path, pytest.MonkeyPatch], None], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    made()
    before = file_in(folder).stat().st_mtime_ns
    opened(folder, monkeypatch)
    assert not is_loaded(made())
    assert file_in(folder).stat().st_mtime_ns == before
    assert compiled.why_not_kept() == (
        f"{folder} is not a folder that only you can write to; remove it, or set NUMBA_CACHE_DIR to another folder"
    )


def test_where_no_folder_can_be_made_kernels_are_compiled_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    files = set(Path(__file__).parent.rglob("*.nb?"))
    assert not is_loaded(made())
    assert not is_loaded(made())
    assert set(Path(__file__).parent.rglob("*.nb?")) == files  # numba keeps them beside the source by itself
    assert compiled.why_not_kept() == (
        f"{compiled.cache_folder()}: cannot be written (Not a directory); set NUMBA_CACHE_DIR to another folder"
    )


def test_without_a_home_kernels_are_compiled_in_memory(without_package: None, monkeypatch: pytest.MonkeyPatch):
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(compiled, "_at_hand", set[str]())  # what other tests have loaded
    assert not is_loaded(made())
    assert compiled.why_not_kept() == "there is no home folder; set NUMBA_CACHE_DIR to a folder"
    assert not compiled.is_cached()


def test_a_full_disk_stops_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch):
    made()
    file_in(folder).unlink()

    def no_space(*arguments: object) -> None:
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        assert not is_loaded(made())
    assert list(folder.iterdir()) == []
    assert not is_loaded(made())
    assert is_loaded(made())


# In a process of its own: a limit on the size of files is as good as a full disk, and holds for good.
FULL = """
import resource
from polyref import compiled
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

@compiled.kernel("int64(int64)")
def double(n):
    return n + n

print(double(21), compiled.why_not_kept())
"""


def test_a_disk_without_room_for_the_kernels_is_noticed_before_they_are_compiled(folder: Path, tmp_path: Path):
    (tmp_path / "full.py").write_text(FULL)
    done = subprocess.run([sys.executable, tmp_path / "full.py"], capture_output=True, text=True)
    problem = f"{folder}: cannot be written (File too large); set NUMBA_CACHE_DIR to another folder"
    assert (done.stdout, done.stderr) == (f"42 {problem}\n", "")
    assert list(folder.iterdir()) == []


# -- several processes ----------------------------------------------------------------------------------------------

TOGETHER = """
import sys
from polyref import compiled
sys.stdin.readline()

@compiled.kernel("int64(int64)")
def double(n):
    return n + n

print(double(21))
"""


def test_processes_that_compile_at_the_same_time_do_not_disturb_each_other(folder: Path, tmp_path: Path):
    (tmp_path / "together.py").write_text(TOGETHER)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    processes = [subprocess.Popen([sys.executable, tmp_path / "together.py"], **pipes) for _ in range(3)]
    said = [process.communicate(b"\n") for process in processes]
    assert said == [(b"42\n", b"")] * 3
    file_in(folder)  # and nothing else is left


# -- beside a run -----------------------------------------------------------------------------------------------------

# The kernels take a minute to compile: this package has the real cache, and one kernel.
ONE_KERNEL = """
import os
from polyref.compiled import kernel

@kernel("int64(int64)")
def double(n):
    return n + n

double(1)  # what is kept is loaded when it is first called
with open(os.environ["NOTES"], "a") as notes:
    notes.write("loaded\\n" if double.stats.cache_hits else "compiled\\n")
"""
BESIDE = """
import os, signal, sys, time
from polyref import compiled
said = []
assert compiled.compiles_beside(said.append) or compiled.is_cached()
process = compiled._beside[0]
print(process.pid, flush=True)
wanted = sys.argv[1]
if wanted == "be killed":
    os.kill(os.getpid(), signal.SIGKILL)
if wanted == "kill it":
    process.kill()
while compiled.compiles_beside(said.append):
    time.sleep(0.01)
with compiled.alone():
    from polyref.kernels import double
print(double(21), said == [said[0]], compiled.is_cached())
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with the cache and one kernel, which notes how it was made; the folder of an empty cache."""
    (tmp_path / "polyref").mkdir()
    for name in ("compiled.py", "files.py", "errors.py"):
        shutil.copy(PACKAGE / name, tmp_path / "polyref")
    (tmp_path / "polyref" / "__init__.py").touch()
    (tmp_path / "polyref" / "kernels.py").write_text(ONE_KERNEL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    return tmp_path / "polyref"


@pytest.fixture
def beside(small: Path, tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    """Starts a program that compiles the one kernel in a process beside it."""
    (tmp_path / "program.py").write_text(BESIDE)
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    return lambda wanted: subprocess.Popen([sys.executable, tmp_path / "program.py", wanted], text=True, **pipes)


def is_running(process: str) -> bool:
    state = Path("/proc", process, "stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_process_beside_the_run_compiles_and_the_run_loads(beside: Callable[[str], subprocess.Popen[str]], tmp_path):
    out, said = beside("wait").communicate()
    assert (out.splitlines()[1], said) == ("42 True True", "")
    assert (tmp_path / "notes").read_text() == "compiled\nloaded\n"


def test_of_several_runs_that_start_together_only_one_compiles(
    beside: Callable[[str], subprocess.Popen[str]], tmp_path: Path
):
    runs = [beside("wait") for _ in range(3)]
    assert [run.communicate()[0].splitlines()[1] for run in runs] == ["42 True True"] * 3
    assert sorted((tmp_path / "notes").read_text().splitlines()) == ["compiled"] + ["loaded"] * 5


def test_a_process_beside_the_run_that_dies_leaves_it_to_the_run(
    beside: Callable[[str], subprocess.Popen[str]], tmp_path: Path
):
    out, said = beside("kill it").communicate()
    assert (out.splitlines()[1], said) == ("42 True True", "")
    assert (tmp_path / "notes").read_text() == "compiled\n"


def test_the_process_beside_a_run_ends_with_it_also_if_that_is_killed(beside: Callable[[str], subprocess.Popen[str]]):
    out, said = beside("be killed").communicate()
    last = time.monotonic() + 60
    while is_running(out.strip()):
        assert time.monotonic() < last
        time.sleep(0.01)
    assert said == ""


def test_there_is_no_process_beside_a_run_where_kernels_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    said: list[str] = []
    assert not compiled.compiles_beside(said.append)
    assert (said, compiled._beside) == ([], [])


# -- whether it is cached ---------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_the_kernels_are_known_by_their_sources():
    for module in {name.rpartition(".")[0] for name in compiled._kernels()}:
        importlib.import_module(module)
    assert sorted(compiled._kernels()) == sorted(name for name in compiled._at_hand if name.startswith("polyref."))
    assert len(compiled._kernels()) > 50


@pytest.mark.compiled
def test_kernels_are_cached_if_every_file_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    compiled.compile_all()
    assert compiled.is_cached()
    monkeypatch.setattr(compiled, "_at_hand", set())  # as in a new process
    assert compiled.is_cached()
    copy_kernels(tmp_path / compiled.cache_folder().name)
    request.getfixturevalue("without_package")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    assert not compiled.is_cached()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert compiled.is_cached()
    path = compiled.cache_folder() / "polyref.align.kernels.fill"
    path.write_bytes(path.read_bytes()[:-1])
    assert not compiled.is_cached()


@pytest.mark.compiled
def test_one_that_compiles_says_so_and_one_that_does_not_does_not(monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    engine_named("compiled", said.append)
    assert said == []
    monkeypatch.setattr(compiled, "is_cached", lambda: False)
    monkeypatch.setattr(compiled, "why_not_kept", lambda: "no room")
    engine_named("compiled", said.append)
    auto = AutoEngine(said.append)
    auto.choose([[1] * 3000] * 2)
    auto.choose([[1] * 3000] * 2)
    assert said == ["compiling the kernels, for this run only (about a minute): no room"] * 2


@pytest.mark.compiled
def test_a_run_with_damaged_kernels_says_that_it_compiles_and_ends_well(tmp_path: Path, request: pytest.FixtureRequest):
    compiled.compile_all()
    (tmp_path / "captions.jsonl").write_text(caption_lines(2))
    copy = tmp_path / compiled.cache_folder().name
    copy_kernels(copy)
    request.getfixturevalue("without_package")
    damaged = [
        copy / f"polyref.{name}" for name in ("align.kernels.products", "score.kernels.step", "align.kernels.fill")
    ]

    def run(engine: str) -> tuple[int, bytes, bytes]:
        command = [sys.executable, "-m", "polyref", "lattice", tmp_path / "captions.jsonl", "--engine", engine]
        done = subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    expected = run("plain")
    damaged[0].write_bytes(b"")
    damaged[1].write_bytes(damaged[1].read_bytes()[:-100])
    damaged[2].unlink()
    damaged[2].mkdir()
    notice = b"polyref: compiling the kernels, once on this machine (about a minute)\n"
    assert run("compiled") == (0, expected[1], notice)
    assert run("compiled") == (0, expected[1], b"")


@pytest.mark.parametrize("home", ["file", "unset"])
def test_a_run_without_a_folder_for_kernels_says_why_they_are_not_kept(
    home: str, tmp_path: Path, without_package: None
):
    """Also one that is no command, such as a program that imports polyref: as a warning of its log."""
    code = "from polyref import compiled; compiled.before_loading(compiled.log)"
    (tmp_path / "file").touch()
    environment = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "HOME")}
    environment["XDG_CACHE_HOME"] = str(tmp_path / ("file" if home == "file" else "cache"))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if home == "unset":
        assert done.stderr == "compiling the kernels, once on this machine (about a minute)\n"
    else:
        assert done.stderr.startswith(f"compiling the kernels, for this run only (about a minute): {tmp_path}")
        assert done.stderr.endswith("cannot be written (Not a directory); set NUMBA_CACHE_DIR to another folder\n")


def test_a_kernel_that_others_may_write_is_not_run(folder: Path):
    made()
    file_in(folder).chmod(0o666)
    assert not is_loaded(made())
    assert is_loaded(made())


THREADS = """
import sys
from threading import Barrier, Thread
import polyref
from polyref.lattice import CompiledEngine
sys.setswitchinterval(1e-6)
engine, together, done = CompiledEngine(), Barrier(6), []
def work():
    together.wait()
    done.extend(polyref.expand([["a cat sat on a mat", "the cat sat on the mat"]], 8, engine=engine))
threads = [Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done))
"""


@pytest.mark.compiled
def test_threads_that_load_a_kernel_at_the_same_time_all_have_it():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    assert done.stdout == "6\n", done.stderr


# -- kernels that came with the package -----------------------------------------------------------------------------

OF_PACKAGE = """
from polyref import compiled
print(compiled.is_cached(), compiled.is_in_package())
from polyref.kernels import double
"""


def in_package(small: Path) -> Path:
    """Compile the one kernel into its package: its file there."""
    code = "from polyref import compiled; print(compiled.compile_for_package(), compiled.package_folder())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, folder = done.stdout.split()
    assert (count, done.stderr, Path(folder).parent) == ("1", "", small / "kernels")
    assert Path(os.environ["NOTES"]).read_text() == "compiled\n"
    assert not Path(os.environ["NUMBA_CACHE_DIR"]).exists()
    return file_in(Path(folder))


def first_use() -> str:
    """In a process of its own, whether kernels are there, and came with the package; how the one was made."""
    done = subprocess.run([sys.executable, "-c", OF_PACKAGE], capture_output=True, text=True, check=True)
    return f"{done.stdout.strip()} {Path(os.environ['NOTES']).read_text().split()[-1]}{done.stderr}"


def test_kernels_of_the_package_are_there_at_first_use_and_nothing_is_written(small: Path):
    path = in_package(small)
    before = path.stat().st_mtime_ns
    assert first_use() == "True True loaded"
    assert path.stat().st_mtime_ns == before
    assert not Path(os.environ["NUMBA_CACHE_DIR"]).exists()


def test_kernels_of_the_package_can_be_read_by_all_its_users_and_written_by_nobody_else(small: Path):
    path = in_package(small)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o644, 0o755]
    path.parent.chmod(0o777)
    assert first_use() == "False False compiled"


def test_a_damaged_kernel_of_the_package_is_left_alone_and_compiled_again(small: Path):
    path = in_package(small)
    path.write_bytes(flip(path.read_bytes(), -1))
    assert first_use() == "False False compiled"
    assert first_use() == "True False loaded"
    assert path.exists()


def test_kernels_of_another_version_leave_the_package(small: Path):
    older = in_package(small)
    (small / "kernels.py").write_text(f"{ONE_KERNEL}\n# changed\n")
    assert first_use() == "False False compiled"
    shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])
    Path(os.environ["NOTES"]).unlink()
    assert in_package(small).parent != older.parent
    assert not older.parent.exists()


def test_whoever_asks_for_a_processor_gets_kernels_for_that_one(small: Path, monkeypatch: pytest.MonkeyPatch):
    in_package(small)
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert first_use() == "False False compiled"


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_kernels_of_the_package_have_the_same_modes_whatever_the_umask(umask: int, small: Path):
    before = os.umask(umask)
    try:
        path = in_package(small)
    finally:
        os.umask(before)
    places = path, path.parent, path.parent.parent
    assert [stat.S_IMODE(each.stat().st_mode) for each in places] == [0o644, 0o755, 0o755]
    assert first_use() == "True True loaded"


@pytest.mark.parametrize("which", ["kernels", "kernels of this version"])
def test_a_link_in_the_place_of_the_packages_kernels_is_refused_and_nothing_behind_it_changes(
    which: str, small: Path, tmp_path: Path
):
    path = in_package(small)
    private = tmp_path / "private"
    (private / "kernels-0123456789abcdef").mkdir(parents=True)
    (private / "file").touch(0o600)
    link = path.parent.parent if which == "kernels" else path.parent
    shutil.rmtree(link)
    link.symlink_to(private)
    assert first_use() == "False False compiled"
    code = "from polyref import compiled; compiled.compile_for_package()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.endswith(f"OutputError: {link} is a link; remove it\n")
    assert sorted(each.name for each in private.iterdir()) == ["file", "kernels-0123456789abcdef"]
    assert stat.S_IMODE((private / "file").stat().st_mode) == 0o600


def test_what_else_lies_beside_the_packages_kernels_stays(small: Path):
    other = in_package(small).parent.parent / "notes"
    other.mkdir()
    (other.parent / "kernels-of-mine").touch()
    (small / "kernels.py").write_text(f"{ONE_KERNEL}\n# changed\n")
    Path(os.environ["NOTES"]).unlink()
    path = in_package(small)
    assert sorted(each.name for each in path.parent.parent.iterdir()) == sorted(
        [path.parent.name, "kernels-of-mine", "notes"]
    )


def test_where_compiling_is_switched_off_everything_runs_in_plain_python(tmp_path: Path):
    (tmp_path / "captions.jsonl").write_text(caption_lines(200))
    for setting in ("0", "1"):
        command = [sys.executable, "-m", "polyref", "expand", "captions.jsonl", "-o", f"{setting}.jsonl", "--quiet"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "NUMBA_DISABLE_JIT": setting}, check=True)
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()
