"""Compile a kernel once, and keep it on disk, in a folder that only the user can write to.

In:   a function of numbers and arrays, with its fixed signature.
Out:  the same function as machine code, from the disk cache where it has been compiled before; a process that compiles
      beside this one; what to tell a person who waits for it, or who must do without.
Not:  the kernels themselves (kernels.py, or a folder named compiled, in the room that needs them).

Kept kernels are pickles and machine code: whoever writes them decides what runs. Numba's own cache unpickles whatever
it finds, also beside the sources if its folder cannot be written; and it does not notice when a function that a kernel
calls has changed in another file. So polyref has a cache of its own: a folder named after all that the machine code
depends on, with one file per kernel, whose seal (a SHA-256) is checked before it is unpickled.

A second such folder may have come with the package, made when that was installed or built (`compile_for_package`), for
a kind of processor instead of one. It is as safe as the code beside it.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import platform
import re
import shutil
import stat
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

from polyref.errors import OutputError
from polyref.files import locked, whole_files, words_of

if TYPE_CHECKING:
    from subprocess import Popen

Function = TypeVar("Function", bound=Callable[..., Any])

_ROOM = 1 << 24  # bytes: all kernels take less
_SEAL = hashlib.sha256().digest_size
_TIMES_SLOWER = 60  # docs/benchmarks.md, the pipeline after the encoder
# The processor that kernels of the package are for, as numba calls it, if this one has what it has.
_KIND = "x86-64-v3"
_KIND_HAS = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_at_hand: set[str] = set()  # the names of the kernels that this process has compiled, or can load
_whole: list[frozenset[tuple[str, int, int]]] = []  # files of kernels that this process has found whole
_told: set[str] = set()  # what this process need not be told again
_beside: list[Popen[bytes] | None] = []  # the process that compiles beside this one; None if it did not start


def kernel(signature: Any, *, inline: bool = False, any_order: bool = False) -> Callable[[Function], Function]:
    """Compile the decorated function for one signature: a text, or a numba signature.

    `inline` puts its code into the kernels that call it: for what runs in their innermost loops. `any_order` allows
    sums to be taken in any order: only for sums that are exact.
    """
    import numba

    def compile_it(function: Function) -> Function:
        compiled: Any = numba.njit(
            error_model="numpy",
            forceinline=inline,
            nogil=True,  # text/interruptible.py
            fastmath={"reassoc", "contract"} if any_order else False,
        )(function)
        if compiled is not function:  # it is under NUMBA_DISABLE_JIT
            name = f"{function.__module__}.{function.__qualname__}"
            compiled._cache = _Kept(name)
            if _read(name) is None:
                _load(compiled, signature)
            else:
                _load_when_asked(compiled, signature)
            _at_hand.add(name)
        return cast(Function, compiled)

    return compile_it


def _load(compiled: Any, signature: Any) -> None:
    """Have the machine code of a kernel, from the disk or from the compiler; no other signature is compiled."""
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        if not compiled.overloads:  # another thread may have been here
            compiled.compile(signature)
            compiled.disable_compile()


def _load_when_asked(compiled: Any, signature: Any) -> None:
    """Have it when the kernel is first called, by Python or by a kernel that is compiled.

    Most kernels are parts of others, whose machine code has theirs in it: to load these as well would take longer than
    all else that a short run does.
    """

    def load() -> None:
        _load(compiled, signature)
        for name in ("_compile_for_args", "get_call_template"):  # another thread may have been here
            vars(compiled).pop(name, None)

    def called(*arguments: Any, **named: Any) -> Any:
        load()
        return compiled  # which is then called with them

    def compiled_into(arguments: Any, named: Any) -> Any:
        load()
        return compiled.get_call_template(arguments, named)

    # What numba's dispatcher asks, in C and while it compiles, when it knows no signature yet.
    compiled._compile_for_args, compiled.get_call_template = called, compiled_into


def log(notice: str) -> None:
    """Tell whoever runs a program that uses polyref: a warning, which Python shows unless the program decides."""
    import logging

    logging.getLogger("polyref").warning(notice)


def is_usable(say: Callable[[str], None]) -> bool:
    """Whether there can be kernels. `say` is told once if there can be none."""
    reason = why_none()
    if reason and reason not in _told:
        _told.add(reason)
        say(f"running in plain Python, with the same results but about {_TIMES_SLOWER} times slower: {reason}")
    return not reason


@cache
def why_none() -> str:
    """Why there can be no kernels on this machine, and the cure; nothing if there can."""
    try:
        import numba
    except (ImportError, OSError) as error:  # the latter where the compiler's library cannot be loaded
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return f"numba cannot be loaded ({reason}); install it with: pip install numba"
    return "NUMBA_DISABLE_JIT is set; unset it" if getattr(numba.config, "DISABLE_JIT", 0) else ""


def before_loading(say: Callable[[str], None]) -> None:
    """Tell a person why nothing happens for a while, if the kernels must be compiled, unless that was told."""
    if is_cached() or _is_beside():
        return
    reason = why_not_kept()
    how_often = f"for this run only (about a minute): {reason}" if reason else "once on this machine (about a minute)"
    say(f"compiling the kernels, {how_often}")


@contextmanager
def alone() -> Iterator[None]:
    """Compile within this. One process at a time does; others wait for it, and then have the kernels from the disk."""
    is_needed = not is_cached() and not why_not_kept()
    with locked(cache_folder(), os.O_RDONLY | os.O_DIRECTORY) if is_needed else nullcontext():
        yield


def compile_all() -> int:
    """Have all kernels on disk, those of the encoder too: how many there are."""
    with alone():
        for module in dict.fromkeys(name.rpartition(".")[0] for name in _kernels()):
            import_module(module)
    return len(_kernels())


def compile_for_package() -> int:
    """Have all kernels in the package, for everyone who uses it, and none of other versions: how many there are."""
    folder, (name, features) = package_folder(), _kind()
    for place in (folder.parent, folder):
        if place.is_symlink():
            raise OutputError(f"{place} is a link; remove it")
        place.mkdir(exist_ok=True)
        if place.stat().st_uid == os.getuid():
            place.chmod(0o755)  # whatever the umask says: all users of the package read it, and only its owner writes
    if problem := _why_unusable(folder, "leave --in-package out"):
        raise OutputError(problem)
    # In a process of its own: numba learns of the processor when it is loaded.
    settings = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(folder.parent)}
    process = _started(settings)
    if process is None or process.wait() or not is_in_package():
        raise OutputError(f"{folder}: the kernels could not be compiled; compile them without --in-package to see why")
    for other in folder.parent.iterdir():
        if re.fullmatch("kernels-[0-9a-f]{16}", other.name) and other != folder and not other.is_symlink():
            shutil.rmtree(other, ignore_errors=True)
    return len(_kernels())


def compiles_beside(say: Callable[[str], None]) -> bool:
    """Whether a process beside this one compiles the kernels; it is started if there was none, and `say` is told.

    There is none where kernels cannot be kept, and none any more when it has ended, however it did.
    """
    if not _beside:
        if why_none() or why_not_kept():
            return False
        _beside.append(_started())
        if _is_beside():
            say("compiling the kernels beside this run, once on this machine (about a minute); until then it is slower")
    return _is_beside()


def _is_beside() -> bool:
    return any(process is not None and process.poll() is None for process in _beside)


def _started(settings: Mapping[str, str] | None = None) -> Popen[bytes] | None:
    """A process that compiles all kernels, with these variables of its environment; None if there can be none."""
    from subprocess import DEVNULL, PIPE, Popen

    # The same modules as here, wherever they were found.
    code = f"import sys; sys.path[:] = {sys.path!r}; from polyref import compiled; compiled._compile_for_another()"
    command, environment = [sys.executable, "-c", code], {**os.environ, **(settings or {})}
    try:
        # In a group of its own: Ctrl-C is for the run, with which it ends.
        process = Popen(command, env=environment, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, process_group=0)
    except OSError:  # no memory, no more processes
        return None
    atexit.register(_end, process)
    return process


def _end(process: Popen[bytes]) -> None:
    """A process that is not needed any more. What it has compiled is kept, and the next one goes on after it."""
    process.kill()
    process.wait()


def _compile_for_another() -> None:
    """What the process beside a run does. It ends with that run, however that ends: so does its standard input."""

    def end() -> None:
        os.read(0, 1)  # by the system, not by Python: a stream that is being read cannot be closed at the end
        os._exit(0)

    Thread(target=end, daemon=True).start()
    compile_all()


def is_cached() -> bool:
    """Whether the kernels need not be compiled: all of them are on disk, whole, or loaded.

    Those of the encoder do not count: they take a moment, and most runs do without them.
    """
    names = {name for name in _kernels() if not name.startswith("polyref.encode.")} - _at_hand
    if not names:
        return True
    files = _files_in(cache_folder) | _files_in(package_folder)
    # By their names first: this is asked again and again while some are missing.
    if not names <= {name for name, _, _ in files}:
        return False
    if files not in _whole and all(map(_read, names)):
        _whole.append(files)
    return files in _whole


def _files_in(folder: Callable[[], Path]) -> frozenset[tuple[str, int, int]]:
    """The files of a folder: their names, when they were written, and their sizes."""
    with suppress(ImportError, OSError, RuntimeError), os.scandir(folder()) as entries:
        found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        return frozenset((name, about.st_mtime_ns, about.st_size) for name, about in found)
    return frozenset()


def is_in_package() -> bool:
    """Whether all kernels came with the package, whole."""
    return all(map(_of_package, _kernels()))


def why_not_kept() -> str:
    """Why kernels that are compiled now cannot be kept on disk, and the cure; nothing if they can."""
    try:
        folder = cache_folder()
    except RuntimeError:
        return "there is no home folder; set NUMBA_CACHE_DIR to a folder"
    return _why_unusable(folder, "set NUMBA_CACHE_DIR to another folder")


def _why_unusable(folder: Path, cure: str) -> str:
    """Why kernels cannot be kept in a folder, which is made, and the cure; nothing if they can."""
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return f"{folder} is not a folder that only you can write to; remove it, or {cure}"
        _try_room(folder)
    except OSError as error:
        return f"{folder}: cannot be written ({words_of(error)}); {cure}"
    return ""


# -- where ----------------------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where compiled kernels are kept: under NUMBA_CACHE_DIR if that is set, else in the user's cache folder."""
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "polyref"
    )
    return Path(base, f"kernels-{_key()[:16]}")


def package_folder() -> Path:
    """Where kernels are that came with the package, if any did."""
    return Path(__file__).parent / "kernels" / f"kernels-{_key(*_kind())[:16]}"


@cache
def _kind() -> tuple[str, str]:
    """The name and the features of the processor that kernels of the package are for: this one, if it is no other."""
    import llvmlite.binding as llvm

    here = _processor()
    has = llvm.get_host_cpu_features() if platform.machine() == "x86_64" else {}
    # Whoever asks numba for a processor wants that one.
    is_asked = any(os.environ.get(f"NUMBA_CPU_{choice}") for choice in ("NAME", "FEATURES"))
    return (_KIND, "") if not is_asked and all(has.get(feature) for feature in _KIND_HAS) else here


def _processor() -> tuple[str, str]:
    """The name and the features of the processor that numba compiles for."""
    import llvmlite.binding as llvm

    name, features = (os.environ.get(f"NUMBA_CPU_{choice}") for choice in ("NAME", "FEATURES"))
    if features is None:
        with suppress(RuntimeError):  # unknown on some processors
            features = llvm.get_host_cpu_features().flatten()
    return name or llvm.get_host_cpu_name(), features or ""


@cache
def _key(name: str = "", features: str = "") -> str:
    """What the machine code depends on: the same wherever polyref is installed. For a processor, or for this one."""
    from importlib.metadata import version  # which loads much, and only kernels need it

    import llvmlite.binding as llvm

    parts = [platform.python_version(), str(sysconfig.get_config_var("SOABI")), llvm.get_process_triple()]
    parts += [f"{package} {version(package)}" for package in ("numba", "llvmlite", "numpy")]
    parts += (name, features) if name else _processor()
    digest = hashlib.sha256(repr(parts).encode())
    for module, source in _sources().items():
        digest.update(f"\n{module} {len(source)}\n".encode() + source)
    return digest.hexdigest()


@cache
def _sources() -> dict[str, bytes]:
    """This module and those of the kernels, by their names."""
    package = Path(__file__).parent
    paths = [path for path in package.rglob("*.py") if path.name == "kernels.py" or path.parent.name == "compiled"]
    paths = [Path(__file__), *sorted(paths)]
    return {".".join(path.relative_to(package.parent).with_suffix("").parts): path.read_bytes() for path in paths}


@cache
def _kernels() -> list[str]:
    """The names of all kernels, without compiling any."""
    decorated = re.compile(rb"^@kernel\(.*?^def (\w+)", re.DOTALL | re.MULTILINE)
    return [f"{module}.{name.decode()}" for module, source in _sources().items() for name in decorated.findall(source)]


def _is_private(folder: Path) -> bool:
    """Whether this is a folder that only the user can write to."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


@cache
def _try_room(folder: Path) -> None:
    """Raise what is raised when all kernels are written: better before they are compiled than after."""
    with TemporaryFile(dir=folder) as room:
        room.write(bytes(_ROOM))


# -- files ----------------------------------------------------------------------------------------------------------


class _Kept:
    """The cache of one kernel: what numba asks before it compiles, and tells after."""

    cache_path = None  # numba's statistics have it

    def __init__(self, name: str):
        self._name = name

    def load_overload(self, signature: Any, target: Any) -> Any:
        from numba.core.compiler import CompileResult
        from numba.core.runtime.nrt import rtsys

        # All that machine code needs to run. target.refresh() loads all that it takes to compile, too: 0.3 seconds.
        rtsys.initialize(target)
        content = _read(self._name)
        try:
            return None if content is None else CompileResult._rebuild(target, *pickle.loads(content))
        except Exception:  # whatever it is, the sources are there
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        from numba.core.serialize import dumps

        if why_not_kept():
            return
        content = dumps(result._reduce())
        with suppress(OSError), whole_files([cache_folder() / self._name]) as (stream,):
            os.fchmod(stream.fileno(), 0o644 if cache_folder() == package_folder() else 0o600)
            stream.write(_seal(self._name, content, _key()) + content)


def _read(name: str) -> bytes | None:
    """What is kept of a kernel; None if there is nothing. A file that is not as it was written is removed."""
    try:
        path = cache_folder() / name
        if _is_private(path.parent):
            path.lstat()
            content = _content(path, _key(), lambda found: found.st_uid == os.getuid() and not found.st_mode & 0o022)
            if content is not None:
                return content
            with suppress(OSError):
                path.unlink()
            shutil.rmtree(path, ignore_errors=True)  # a folder
    except (OSError, RuntimeError):
        pass
    return _of_package(name)


def _of_package(name: str) -> bytes | None:
    """What came with the package of a kernel. Whoever can write there can write the code beside it, too."""
    try:
        path, code = package_folder() / name, Path(__file__).stat()

        def is_as_safe(found: os.stat_result) -> bool:
            return found.st_uid in (code.st_uid, 0) and not found.st_mode & ~code.st_mode & 0o022

        # A link has a mode that is never safe.
        is_safe = all(is_as_safe(folder.lstat()) for folder in (path.parent.parent, path.parent))
        return _content(path, _key(*_kind()), is_as_safe) if is_safe else None
    except OSError:
        return None


def _content(path: Path, key: str, is_safe: Callable[[os.stat_result], bool]) -> bytes | None:
    """What a file holds behind its seal; None if it is not as it was written, or not safe."""
    with suppress(OSError):
        # A pipe must not hold us up.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            found = os.fstat(stream.fileno())
            seal, content = stream.read(_SEAL), stream.read()
        if is_safe(found) and seal == _seal(path.name, content, key):
            return content
    return None


def _seal(name: str, content: bytes, key: str) -> bytes:
    """Of another kernel, or another version of this one, the same content has another seal."""
    return hashlib.sha256(f"{key} {name}\n".encode() + content).digest()
