"""A file is written whole or not at all."""

import gzip
import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyref.data import open_output
from polyref.data.output import check_output_is_none_of
from polyref.errors import OutputError


def write(path: Path, content: bytes = b"new\n") -> None:
    with open_output(str(path)) as stream:
        stream.write(content)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_the_file_takes_its_name_only_at_the_end(tmp_path: Path):
    target = tmp_path / "out.jsonl"
    with open_output(str(target)) as stream:
        stream.write(b"new\n")
        assert not target.exists()
        [temporary] = tmp_path.iterdir()
    assert target.read_bytes() == b"new\n"
    assert not temporary.exists()


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit, OSError])
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_an_error_leaves_nothing_behind(stop, name, tmp_path: Path):
    with pytest.raises((stop, OutputError)), open_output(str(tmp_path / name)) as stream:
        stream.write(b"half")
        raise stop
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_an_older_file_as_it_was(tmp_path: Path):
    target = tmp_path / "out.jsonl"
    target.write_bytes(b"old\n")
    with pytest.raises(ValueError), open_output(str(target)) as stream:
        stream.write(b"half")
        raise ValueError
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old\n"]


def test_an_older_file_is_replaced(tmp_path: Path):
    target = tmp_path / "out.jsonl"
    target.write_bytes(b"older and longer\n")
    write(target)
    assert target.read_bytes() == b"new\n"


def test_a_name_in_gz_is_compressed_to_the_same_bytes_each_time(tmp_path: Path):
    first, second = tmp_path / "first.gz", tmp_path / "second.jsonl.gz"
    for target in (first, second):
        write(target, b"new\n" * 1000)
    assert gzip.decompress(first.read_bytes()) == b"new\n" * 1000
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()[4:8] == bytes(4)  # gzip's place for the time


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target, link = elsewhere / "target.jsonl", tmp_path / "link.jsonl"
    target.write_bytes(b"old\n")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new\n"
    assert list(elsewhere.iterdir()) == [target]


@pytest.mark.usefixtures("umask")
def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path):
    write(tmp_path / "out.jsonl")
    assert mode_of(tmp_path / "out.jsonl") == 0o640


@pytest.mark.usefixtures("umask")
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path):
    target = tmp_path / "out.jsonl"
    target.write_bytes(b"old\n")
    target.chmod(0o604)
    write(target)
    assert mode_of(target) == 0o604


def test_a_missing_folder_is_refused(tmp_path: Path):
    with pytest.raises(OutputError, match=r"nowhere/out\.jsonl: cannot be written \(No such file or directory\)"):
        write(tmp_path / "nowhere" / "out.jsonl")


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(OutputError, match="this is a folder; name a file"):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match=r"file/out\.jsonl: cannot be written \(Not a directory\)"):
        write(tmp_path / "file" / "out.jsonl")


def test_a_named_pipe_is_written_to_and_stays_one(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join()
    assert received == [b"new\n"]
    assert pipe.is_fifo()


def test_a_pipe_by_its_number_is_written_to():
    """What a shell's >(...) gives, and what /dev/stdout is behind a pipe."""
    reading, writing = os.pipe()
    write(Path(f"/dev/fd/{writing}"))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        assert stream.read() == b"new\n"


def test_a_dash_is_standard_output(capsysbinary: pytest.CaptureFixture[bytes]):
    write(Path("-"))
    assert capsysbinary.readouterr().out == b"new\n"


@pytest.mark.parametrize("spelling", ["model.npz", "other/../model.npz", "./model.npz", "link.npz", "other/link"])
def test_a_file_that_is_read_is_not_written_over(spelling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "model.npz").write_bytes(b"model")
    (tmp_path / "link.npz").symlink_to("model.npz")
    (tmp_path / "other" / "link").symlink_to(tmp_path / "link.npz")
    read = {"the ids": None, "the input": "-", "the features": "gone.npz", "the model": tmp_path / "model.npz"}
    says = f"{spelling}: this is the model; choose another name for the output"
    with pytest.raises(OutputError, match=re.escape(says)):
        check_output_is_none_of(spelling, read)


@pytest.mark.parametrize("output", ["new.npz", "gone.npz", "older.npz", "-", os.devnull, "a" * 300, "nul\0"])
def test_any_other_file_may_be_written_over(output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "older.npz").write_bytes(b"features")
    (tmp_path / "model.npz").write_bytes(b"features")
    read = {"the model": "model.npz", "the features": "gone.npz", "the input": os.devnull, "the ids": "a" * 300}
    check_output_is_none_of(output, read)
