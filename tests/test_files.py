"""Files are written whole or not at all; what the system says is put into words."""

import errno
import fcntl
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from polyref.errors import InputError, OutputError
from polyref.files import (
    check_not_mixed,
    finish_renames,
    passing_folder,
    reading,
    taken,
    whole_files,
    whole_folder,
    whole_path,
    words_of,
    write_whole,
    writing,
)


def by_stream(path: Path, content: bytes = b"new\n", stop: BaseException | None = None) -> None:
    with whole_files([path]) as [stream]:
        stream.write(content)
        if stop is not None:
            raise stop


def by_path(path: Path, content: bytes = b"new\n", stop: BaseException | None = None) -> None:
    with whole_path(path) as new:
        new.write_bytes(content)
        if stop is not None:
            raise stop


both_ways = pytest.mark.parametrize("write", [by_stream, by_path])
Write = Callable[..., None]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@both_ways
@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_an_error_leaves_nothing_behind_and_an_older_file_as_it_was(write: Write, stop, tmp_path: Path):
    (tmp_path / "old").write_bytes(b"old\n")
    for name in ("old", "new"):
        with pytest.raises(stop):
            write(tmp_path / name, b"half", stop())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"old": b"old\n"}


@both_ways
def test_an_older_file_is_replaced_and_its_link_stays(write: Write, tmp_path: Path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"older and longer\n")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new\n"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("umask")
@both_ways
def test_a_new_file_has_the_permissions_that_the_umask_leaves_and_a_replaced_one_its_own(write: Write, tmp_path: Path):
    (tmp_path / "old").write_bytes(b"old\n")
    (tmp_path / "old").chmod(0o604)
    write(tmp_path / "old")
    write(tmp_path / "new")
    assert (mode_of(tmp_path / "old"), mode_of(tmp_path / "new")) == (0o604, 0o640)


@both_ways
def test_a_file_that_goes_while_it_is_replaced_leaves_its_permissions(write: Write, tmp_path: Path):
    path = tmp_path / "old"
    path.write_bytes(b"old\n")
    path.chmod(0o604)
    with whole_files([path]) if write is by_stream else whole_path(path):
        path.unlink()
    assert mode_of(path) == 0o604


@both_ways
def test_a_folder_or_a_pipe_is_not_replaced(write: Write, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(OSError):
            write(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_none_of_several_files_is_there_before_all_are_complete(tmp_path: Path):
    paths = [tmp_path / "a", tmp_path / "b"]
    with whole_files(paths) as streams:
        for stream in streams:
            stream.write(b"new\n")
        assert not any(path.exists() for path in paths)
    assert [path.read_bytes() for path in paths] == [b"new\n", b"new\n"]


def test_what_a_killed_process_left_is_written_over(tmp_path: Path):
    (tmp_path / "x.partial").write_bytes(b"much more than there will be")
    (tmp_path / "y.partial").mkdir()
    (tmp_path / "y.partial" / "half").write_bytes(b"")
    write_whole(tmp_path / "x", b"new\n")
    with whole_folder(tmp_path / "y") as new:
        (new / "whole").write_bytes(b"")
    assert (tmp_path / "x").read_bytes() == b"new\n"
    assert [path.name for path in (tmp_path / "y").iterdir()] == ["whole"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


@pytest.mark.usefixtures("umask")
def test_what_safetensors_writes_may_be_read_by_those_who_may_read_other_files(tmp_path: Path):
    with whole_path(tmp_path / "a.safetensors") as new:
        save_file({"a": np.zeros(3)}, new)
    with whole_folder(tmp_path / "folder") as folder:
        save_file({"a": np.zeros(3)}, folder / "b.safetensors")
    for path in (tmp_path / "a.safetensors", tmp_path / "folder" / "b.safetensors"):
        assert mode_of(path) == 0o640
        assert load_file(path)["a"].shape == (3,)


def test_a_folder_is_replaced_as_a_whole_or_stays_as_it_was(tmp_path: Path):
    for name in ("first", "second"):
        with whole_folder(tmp_path / "out") as new:
            (new / name).write_bytes(b"")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["second"]
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "out") as new:
        (new / "third").write_bytes(b"")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "second"]


# -- signals and kills ----------------------------------------------------------------------------------------------

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["INT", "TERM", "HUP"])


class StoppedError(Exception):
    pass


@pytest.fixture
def stopping() -> Iterator[None]:
    """Signals raise an error, as in the command."""

    def stop(number: int, frame: object) -> None:
        raise StoppedError

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def at_rename(monkeypatch: pytest.MonkeyPatch, which: int, do: Callable[[], object]) -> None:
    """Do something right before a rename, counted from 0."""
    count = 0

    def noted(rename: Callable[..., object]) -> Callable[..., object]:
        def renamed(*arguments: object) -> object:
            nonlocal count
            count += 1
            if count == which + 1:
                do()
            return rename(*arguments)

        return renamed

    for name in ("replace", "rename"):
        monkeypatch.setattr(Path, name, noted(getattr(Path, name)))


def write_set(folder: Path, content: bytes, names: str = "abc") -> None:
    with whole_files([folder / name for name in names]) as streams:
        for stream in streams:
            stream.write(content)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@SIGNALS
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.usefixtures("stopping")
def test_a_signal_waits_until_all_files_have_their_names(number, which, tmp_path: Path, monkeypatch):
    write_set(tmp_path, b"old")
    before = signal.getsignal(number)
    at_rename(monkeypatch, which, lambda: os.kill(os.getpid(), number))
    with pytest.raises(StoppedError):
        write_set(tmp_path, b"new")
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("stopping")
def test_a_signal_that_another_thread_receives_waits_as_well(tmp_path: Path, monkeypatch):
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:

        def signalled() -> None:
            signal.pthread_kill(thread.ident, signal.SIGTERM)
            time.sleep(0.5)  # until the other thread has it: that takes a moment on a busy machine

        at_rename(monkeypatch, 1, signalled)
        with pytest.raises(StoppedError):
            write_set(tmp_path, b"new")
    finally:
        ended.set()
        thread.join()
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


def test_files_are_written_by_other_threads_too(tmp_path: Path):
    thread = threading.Thread(target=write_set, args=(tmp_path, b"new"))
    thread.start()
    thread.join()
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path, monkeypatch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        at_rename(monkeypatch, 1, lambda: os.kill(os.getpid(), signal.SIGHUP))
        write_set(tmp_path, b"new")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


def killed(what: str, folder: Path, at: int | None = None) -> None:
    """Run some lines in a process that is killed at a rename, or that kills itself."""
    lines = f"""
import os, signal, sys
from pathlib import Path
from polyref.files import passing_folder, whole_files, whole_folder
folder, count = Path({str(folder)!r}), 0
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
def counted(rename):
    def renamed(*arguments):
        global count
        count += 1
        if count - 1 == {at}:
            kill()
        return rename(*arguments)
    return renamed
Path.replace, Path.rename = counted(Path.replace), counted(Path.rename)
{what}
"""
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


WRITE_SET = """
with whole_files([folder / name for name in "abc"]) as streams:
    for stream in streams:
        stream.write(b"new")
"""


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("is_there", [False, True])
def test_files_that_a_killed_process_was_renaming_get_their_names_from_whoever_reads(at, is_there, tmp_path: Path):
    if is_there:
        write_set(tmp_path, b"old")
    killed(WRITE_SET, tmp_path, at)
    paths = [tmp_path / name for name in "abc"]
    with pytest.raises(InputError, match="some are new, some old"):
        check_not_mixed(paths[2:])
    finish_renames(paths[0])
    check_not_mixed(paths)
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


@pytest.mark.parametrize("at", [0, 1, 2])
def test_files_that_a_killed_process_was_renaming_get_their_names_from_whoever_writes(at, tmp_path: Path):
    write_set(tmp_path, b"old")
    killed(WRITE_SET, tmp_path, at)
    with suppress(KeyError), whole_files([tmp_path / name for name in "abc"]):
        raise KeyError
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_note_that_was_cut_off_came_before_the_first_rename(length, tmp_path: Path):
    write_set(tmp_path, b"old")
    killed(WRITE_SET, tmp_path, 0)
    os.truncate(tmp_path / ".a.renaming", length)
    finish_renames(tmp_path / "a")
    write_set(tmp_path, b"newer", "ab")
    assert contents(tmp_path) == {"a": b"newer", "b": b"newer", "c": b"old"}


@pytest.mark.parametrize("names", [[["b", "a"]], [["PART", "../a"]], [["../x", "a"]], [["PART", "/etc/a"]], [3], {}, 3])
def test_a_note_of_somebody_else_renames_nothing(names, tmp_path: Path):
    write_set(tmp_path, b"old", "ab")
    part = ".a.0123456789abcdef.part"
    (tmp_path / part).write_bytes(b"new")
    (tmp_path / ".a.renaming").write_text(json.dumps(names).replace("PART", part))
    finish_renames(tmp_path / "a")
    assert contents(tmp_path) | {".a.renaming": b""} == {"a": b"old", "b": b"old", part: b"new", ".a.renaming": b""}


def test_a_rename_that_fails_is_done_later(tmp_path: Path, monkeypatch):
    def fail() -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    for which, found in ((0, b"old"), (1, b"new")):
        write_set(tmp_path, b"old")
        with monkeypatch.context() as patch, pytest.raises(PermissionError):
            at_rename(patch, which, fail)
            write_set(tmp_path, b"new")
        finish_renames(tmp_path / "a")
        assert contents(tmp_path) == dict.fromkeys("abc", found)


def test_files_that_another_process_renames_now_are_left_to_it(tmp_path: Path):
    write_set(tmp_path, b"old")
    killed(WRITE_SET, tmp_path, 1)
    with (tmp_path / ".a.renaming").open("r+") as note:
        fcntl.flock(note, fcntl.LOCK_EX)
        finish_renames(tmp_path / "a")
        with pytest.raises(InputError, match="some are new, some old"):
            check_not_mixed([tmp_path / "b"])
    finish_renames(tmp_path / "a")
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


def test_of_two_that_replace_the_same_files_at_once_all_files_are_of_one(tmp_path: Path):
    for _ in range(5):
        threads = [threading.Thread(target=write_set, args=(tmp_path, b"%d" % n, "abcdefgh")) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(contents(tmp_path)) == [*"abcdefgh"]
        assert len(set(contents(tmp_path).values())) == 1


@pytest.mark.parametrize("names", ["abc", "ab", "a"])
def test_what_a_killed_process_left_goes_when_the_same_file_is_written(names, tmp_path: Path):
    killed(WRITE_SET + "    streams[0].flush(); kill()\n", tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    write_set(tmp_path, b"new", "b")  # by the first of them
    write_set(tmp_path, b"new", "xab")
    assert len(list(tmp_path.glob(".a.*.part"))) == 3
    write_set(tmp_path, b"new", names)
    assert not list(tmp_path.glob(".*"))


def test_what_a_process_is_still_writing_stays(tmp_path: Path):
    (tmp_path / ".a.0123456789abcdef.part").write_bytes(b"left")
    (tmp_path / ".a.mine.part").write_bytes(b"of somebody else")
    with whole_files([tmp_path / "a"]) as [slow]:
        slow.write(b"slow")
        slow.flush()
        write_set(tmp_path, b"fast", "a")
        assert (tmp_path / "a").read_bytes() == b"fast"
    assert contents(tmp_path) == {"a": b"slow", ".a.mine.part": b"of somebody else"}


def test_a_note_that_goes_right_after_a_look_at_it_is_no_error(tmp_path: Path, monkeypatch):
    look, seen = os.stat, []

    def overtaken(path, **how):
        found = look(path, **how)
        if str(path).endswith(".a.renaming"):
            seen.append(path)
            Path(path).unlink()
        return found

    monkeypatch.setattr(os, "stat", overtaken)
    write_set(tmp_path, b"new", "ab")
    monkeypatch.undo()
    assert seen
    assert contents(tmp_path) == {"a": b"new", "b": b"new"}


def test_a_file_that_is_swept_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch):
    from polyref import files

    lock, swept = files.fcntl.flock, []

    def overtaken(handle: int, how: int) -> None:
        if not swept:
            swept.extend(tmp_path.glob(".a.*.part"))
            swept[0].unlink()
        lock(handle, how)

    monkeypatch.setattr(files.fcntl, "flock", overtaken)
    write_set(tmp_path, b"new", "a")
    assert len(swept) == 1
    assert contents(tmp_path) == {"a": b"new"}


def test_without_locks_files_are_written_and_none_is_swept(tmp_path: Path, monkeypatch):
    def none(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    (tmp_path / ".a.0123456789abcdef.part").write_bytes(b"perhaps at work")
    write_set(tmp_path, b"new")
    assert set(contents(tmp_path)) == {"a", "b", "c", ".a.0123456789abcdef.part"}


WRITE_FOLDER = """
with whole_folder(folder / "out") as new:
    (new / "second").write_bytes(b"")
"""


@pytest.mark.parametrize("at", [0, 1])
def test_a_folder_is_never_lost(at, tmp_path: Path):
    with whole_folder(tmp_path / "out") as new:
        (new / "first").write_bytes(b"")
    killed(WRITE_FOLDER, tmp_path, at)
    there = "out" if at == 0 else "out.older"
    assert sorted(path.name for path in tmp_path.iterdir()) == [there, "out.partial"]
    assert [path.name for path in (tmp_path / there).iterdir()] == ["first"]
    with suppress(KeyError), whole_folder(tmp_path / "out"):
        raise KeyError
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "first"]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.usefixtures("stopping")
def test_a_signal_between_two_renames_of_folders_waits(which, tmp_path: Path, monkeypatch):
    for name in ("first", "second"):
        with monkeypatch.context() as patch, suppress(StoppedError), whole_folder(tmp_path / "out") as new:
            (new / name).write_bytes(b"")
            if name == "second":
                at_rename(patch, which, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "second"]


def test_a_passing_folder_goes_and_takes_those_of_killed_processes_with_it(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    killed("with passing_folder() as new:\n    (new / 'big').write_bytes(b'x')\n    kill()\n", tmp_path)
    [left] = tmp_path.iterdir()
    assert re.fullmatch("polyref-[0-9a-f]{16}", left.name)
    (tmp_path / "polyref-examples").mkdir()
    with passing_folder() as one, passing_folder() as other:
        assert sorted(tmp_path.iterdir()) == sorted([one, other, tmp_path / "polyref-examples"])
    assert [path.name for path in tmp_path.iterdir()] == ["polyref-examples"]


def test_a_folder_is_taken_by_one_process_at_a_time(tmp_path: Path):
    refused = pytest.raises(OutputError, match="another run trains in this folder; wait until it ends")
    with taken(tmp_path), refused, taken(tmp_path):
        pass
    with taken(tmp_path):
        pass


# -- errors in words ------------------------------------------------------------------------------------------------


def test_errors_of_the_system_become_one_line(tmp_path: Path):
    missing = tmp_path / "nowhere" / "file"
    with (
        pytest.raises(OutputError, match=r"file: cannot be written \(there is no folder .*/nowhere\); make it first$"),
        writing(missing, "mend that"),
    ):
        write_whole(missing, b"")
    with pytest.raises(InputError, match=r"file: there is no such file; check the path$"), reading(missing):
        missing.read_bytes()


def test_an_error_that_safetensors_has_wrapped_is_one_of_the_system(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="No such file or directory"), whole_path(tmp_path / "x") as new:
        save_file({"a": np.zeros(3)}, new.parent / "nowhere" / "x")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/a/path"), "No space left on device"),
        (OSError("bad\ndata"), "bad data"),
        (RuntimeError("I/O error: out of room (os error 28)"), "No space left on device"),
        (OSError(), "OSError"),
    ],
)
def test_words_of_an_error(error, words):
    assert words_of(error) == words


def test_a_signal_ends_the_wait_for_another_process_that_renames(tmp_path: Path):
    """Signals wait only while this process renames."""
    program = (
        "import sys\nfrom polyref.files import whole_files\n"
        "with whole_files(sys.argv[1:]) as streams:\n    print(flush=True)\n"
    )
    with (tmp_path / ".a.renaming").open("w") as marker:
        fcntl.flock(marker, fcntl.LOCK_EX)
        command = [sys.executable, "-c", program, str(tmp_path / "a"), str(tmp_path / "b")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None and process.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
        process.stdout.close()
    assert [path.name for path in tmp_path.iterdir()] == [".a.renaming"]


def test_a_pipe_in_the_place_of_a_marker_holds_nobody_up(tmp_path: Path):
    os.mkfifo(tmp_path / ".a.renaming")
    check_not_mixed([tmp_path / "a"])
    refused = pytest.raises(OutputError, match=r"\.a\.renaming beside it is not a file")
    with refused, writing(tmp_path / "a"), whole_files([tmp_path / "a", tmp_path / "b"]):
        pass
