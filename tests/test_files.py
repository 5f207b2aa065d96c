"""Files are written whole or not at all; what the system says is put into words."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from polyref.errors import InputError, OutputError
from polyref.files import reading, whole_files, whole_folder, whole_path, words_of, write_whole, writing


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


def test_errors_of_the_system_become_one_line(tmp_path: Path):
    missing = tmp_path / "nowhere" / "file"
    gone = r"\(No such file or directory\)"
    with (
        pytest.raises(OutputError, match=rf"file: cannot be written {gone}; mend that$"),
        writing(missing, "mend that"),
    ):
        write_whole(missing, b"")
    with pytest.raises(InputError, match=rf"file: cannot be opened {gone}; check the path$"), reading(missing):
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
